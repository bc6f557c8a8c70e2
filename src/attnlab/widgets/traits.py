"""What a live figure can be given: arrays, words and numbers, checked as they come in.

    class Map(LiveFigure):
        weights = Array(ndim=(2, 3))               # lists, NumPy or torch; travels as raw bytes
        tokens = Words()
        temperature = Temperature()

        @together("weights", "tokens")             # whichever changes, both must fit
        def _fits(self, weights, tokens): ...

What cannot be drawn is refused with a `FigureError`, which says how to mend it.
"""

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import traitlets
from traitlets import validate


class FigureError(traitlets.TraitError, ValueError):
    """A live figure was given something it cannot draw. The message says what and how to fix it."""


def pack(array: np.ndarray | None, _widget: object = None) -> dict[str, Any] | None:
    """An array as it is sent to the page."""
    if array is None:
        return None
    data = np.ascontiguousarray(array)
    return {"shape": list(data.shape), "dtype": data.dtype.name, "data": data.tobytes()}


def unpack(value: dict[str, Any] | None, _widget: object = None) -> np.ndarray | None:
    """And back."""
    if value is None:
        return None
    return np.frombuffer(bytes(value["data"]), dtype=value["dtype"]).reshape(value["shape"]).copy()


def as_array(name: str, value: Any, dtype: str = "float32") -> np.ndarray:
    """Lists, NumPy, torch or a `masks.Mask` as a finite float or bool array, or say why not."""
    if hasattr(value, "dense"):
        value = value.dense()
    if hasattr(value, "detach"):  # a torch tensor, maybe with a gradient, maybe on a GPU
        value = value.detach().cpu()
        value = (value.double() if value.is_floating_point() else value).numpy()
    try:
        given = np.asarray(value)
        if given.dtype.kind == "c":  # astype would drop the imaginary part with a mere warning
            raise TypeError("it holds complex numbers")
        array = given.astype(dtype)
    except (TypeError, ValueError) as error:
        raise FigureError(
            f"{name} must be an array of numbers (nested lists, NumPy or torch), "
            f"but could not be read as one: {error}."
        ) from None
    if dtype == "bool" and given.dtype.kind != "b":
        raise FigureError(
            f"{name} holds {given.dtype} numbers, but a mask is bool with True = may attend. "
            "From 0 and 1, use (mask == 1); from 0 and -inf, use (mask == 0)."
        )
    if dtype != "bool" and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise FigureError(
            f"{name} holds {array[where]} at {where}: a live figure needs finite numbers."
        )
    return array


def recorded(maps: Any) -> np.ndarray:
    """What `attnlab.record.record` gave on one text, as weights (N, H, L, S) of N layers, H heads.

    Taken are the dict of maps, one of its maps (1, H, L, S), or maps that were stacked.
    """
    if not isinstance(maps, Mapping):
        array = as_array("maps", maps)
        return array[None] if array.ndim == 3 else array
    if not maps:
        raise FigureError("maps is empty: run the model inside of `with record(model) as maps:`.")
    layers = []
    for path, one in maps.items():
        if isinstance(one, list):
            raise FigureError(
                f"maps[{path!r}] is a list, since it called attention {len(one)} times: run the "
                "model once in the block, or give weights=."
            )
        array = as_array(f"maps[{path!r}]", one)
        if array.ndim != 4 or len(array) != 1:
            raise FigureError(
                f"maps[{path!r}] has shape {array.shape}, but a figure shows one text, (1, heads, "
                "queries, keys): run the model on one text, or give stack(maps)[0]."
            )
        layers.append(array[0])
    if len({one.shape for one in layers}) > 1:
        raise FigureError(
            "maps have different shapes: record a part of the model, such as "
            'record(model, "encoder.*").'
        )
    return np.stack(layers)


class Words(traitlets.TraitType):
    """A list of labels: anything that turns into text, one label each."""

    info_text = "a list of labels"

    def __init__(self, **kwargs: Any):
        super().__init__([], **kwargs)
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> list[str]:
        if isinstance(value, str | bytes):
            raise FigureError(
                f"{self.name} is one string, {value[:20]!r}: give a list, "
                f"for instance {self.name}=text.split()."
            )
        try:
            words = [str(word) for word in value]
        except TypeError:
            raise FigureError(
                f"{self.name} is a {type(value).__name__}: give a list of strings."
            ) from None
        # A lone surrogate (half a character) cannot be sent as UTF-8.
        return [word.encode("utf-8", "replace").decode("utf-8") for word in words]


class Numbers(traitlets.TraitType):
    """A short list of finite numbers, from lists, NumPy or torch; the page gets a list."""

    info_text = "a list of numbers"

    def __init__(self, **kwargs: Any):
        super().__init__([], **kwargs)
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> list[float]:
        array = as_array(self.name or "the list", _given(self, value), "float64")
        if array.ndim != 1:
            raise FigureError(f"{self.name} has shape {array.shape}: give a list of numbers.")
        return [float(number) for number in array]


class Temperature(traitlets.Float):
    """What scores are divided by: a finite number above 0. `instead` says what to do near 0."""

    def __init__(self, instead: str = "", **kwargs: Any):
        super().__init__(1.0, **kwargs)
        self.instead = instead
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> float:
        if getattr(value, "ndim", None) == 0:  # one number, of NumPy or torch
            value = as_array(self.name or "the temperature", value, "float64").item()
        number = super().validate(obj, float(value) if isinstance(value, numbers.Real) else value)
        if not 0 < number < math.inf:
            raise FigureError(
                f"{self.name} is {value}: it must be above 0 and finite. {self.instead}".rstrip()
            )
        return float(number)


class Array(traitlets.TraitType):
    """An array trait: takes lists, NumPy and torch, travels as raw bytes (float32 or bool).

    It begins as None, but None can be given only with allow_none=True.
    """

    info_text = "an array of numbers (nested lists, NumPy or torch)"

    def __init__(self, ndim: tuple[int, ...] = (1, 2, 3), dtype: str = "float32", **kwargs: Any):
        super().__init__(None, **kwargs)
        self.ndims, self.dtype = ndim, dtype
        self.tag(sync=True, to_json=pack, from_json=unpack)

    def validate(self, obj: Any, value: Any) -> np.ndarray | None:
        if value is None:
            return None
        array = as_array(self.name or "the array", value, self.dtype)
        if array.ndim not in self.ndims:
            allowed = " or ".join(str(n) for n in self.ndims)
            batch = array.ndim > max(self.ndims)
            raise FigureError(
                f"{self.name} has shape {array.shape}, {array.ndim} axes; "
                f"this figure takes {allowed}."
                + (f" Is the first axis a batch? Then give {self.name}[0]." if batch else "")
            )
        return array

    def _validate(self, obj: Any, value: Any) -> np.ndarray | None:
        # traitlets shows no None to @validate, but q=None may fit as little as any other q.
        value = self.validate(obj, value)
        return value if obj._cross_validation_lock else self._cross_validate(obj, value)

    def __set__(self, obj: Any, value: Any) -> None:
        # Not in `set`: that is how traitlets takes a change back, to None as well.
        super().__set__(obj, value if self.allow_none else _given(self, value))

    def set(self, obj: Any, value: Any) -> None:
        # traitlets compares old and new with ==, which arrays answer element by element.
        new = self._validate(obj, value)
        old = obj._trait_values.get(self.name)
        obj._trait_values[self.name] = new
        same = (old is None and new is None) or (
            old is not None and new is not None and np.array_equal(old, new)
        )
        if not same:
            obj._notify_trait(self.name, old, new)


def _given(trait: traitlets.TraitType, value: Any) -> Any:
    if value is None:
        raise FigureError(f"{trait.name} is None: give {trait.info_text}.")
    return value


def together(*names: str) -> Callable[[Callable[..., None]], Any]:
    """For a method that is given these traits, as they would be, and says what does not fit.

    traitlets calls it for each one that changes; inside `change()` only when all have changed.
    """

    def checked(check: Callable[..., None]) -> Any:
        @validate(*names)
        def fits(self: Any, proposal: Any) -> Any:
            now = {name: getattr(self, name) for name in names}
            check(self, **(now | {proposal["trait"].name: proposal["value"]}))
            return proposal["value"]

        return fits

    return checked
