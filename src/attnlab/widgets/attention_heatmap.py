"""An attention map to play with: temperature, masks, heads, scaled or not."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import traitlets
from traitlets import Bool, Int, Unicode, observe, validate

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    Temperature,
    Words,
    as_array,
    bundle,
    recorded,
    stylesheet,
    together,
)
from attnlab.widgets.traits import pack, unpack

PRESETS = ("none", "causal", "padding", "window")
MOST = 256  # tokens per side; beyond that a cell is smaller than a pixel


class Masks(traitlets.TraitType):
    """A dict of masks by name: bool, True = may attend, anything that broadcasts to (L, S)."""

    info_text = "a dict from names to bool masks"

    def __init__(self) -> None:
        super().__init__({})
        self.tag(
            sync=True,
            to_json=lambda value, _: {name: pack(mask) for name, mask in value.items()},
            from_json=lambda value, _: {name: unpack(mask) for name, mask in value.items()},
        )

    def validate(self, obj: Any, value: Any) -> dict[str, np.ndarray]:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise FigureError(
                f"masks is a {type(value).__name__}: give a dict from names to bool (L, S) masks, "
                'for instance masks={"no cat": mask}.'
            )
        taken = sorted(set(value) & set(PRESETS))
        if taken:
            raise FigureError(f"{taken[0]!r} is the name of a built-in mask: choose another name.")
        made = {str(k): as_array(f"masks[{k!r}]", v, "bool") for k, v in value.items()}
        return {name: _two_axes(mask) for name, mask in made.items()}


def _two_axes(mask: np.ndarray) -> np.ndarray:
    """(1, 1, 1, S), as `masks.padding` makes for one sequence, becomes (1, S)."""
    while mask.ndim > 2 and mask.shape[0] == 1:
        mask = mask[0]
    return mask.reshape(1, -1) if mask.ndim < 2 else mask


class AttentionHeatmap(LiveFigure):
    """Who attends to whom, all of it recomputed in the browser.

    AttentionHeatmap(maps=maps, tokens=words)       # what record(model) gave on one text
    AttentionHeatmap(q=q, k=k, tokens=words)        # q (H, L, D), k (H, S, D), or without H
    AttentionHeatmap(weights, tokens=words)         # weights (H, L, S) or (L, S), from anywhere

    Maps of several layers become heads called 0.0, 0.1, …: layer, then head.
    With weights the temperature acts on their logarithms; rows are divided by their sum.
    `masks` adds masks of your own to the presets none, causal, padding (the last `padding` keys)
    and window (`radius` positions each side). The reader may block cells one by one: then
    `edited` holds the whole mask as drawn, else None; `allowed` is the mask in force.
    """

    figure = "attention_heatmap"
    _esm, _css = bundle("attention_heatmap"), stylesheet("attention_heatmap")

    weights = Array((2, 3), allow_none=True)
    q = Array((2, 3), allow_none=True)
    k = Array((2, 3), allow_none=True)
    tokens = Words()
    key_tokens = Words()
    masks = Masks()
    temperature = Temperature("Near 0 the softmax picks the best key, far above 1 it is even.")
    scaled = Bool(True).tag(sync=True)
    mask = Unicode("none").tag(sync=True)
    radius = Int(1).tag(sync=True)
    padding = Int(1).tag(sync=True)
    head = Int(0).tag(sync=True)
    head_names = Words()
    edited = Array((2,), "bool", allow_none=True)

    def __init__(
        self,
        weights: Any = None,
        *,
        tokens: Iterable[Any],
        q: Any = None,
        k: Any = None,
        maps: Any = None,
        key_tokens: Iterable[Any] | None = None,
        masks: Mapping[str, Any] | None = None,
        head_names: Iterable[Any] | None = None,
        **traits: Any,
    ):
        if maps is not None:
            if weights is not None:
                raise FigureError("weights and maps were both given: give one of them.")
            layers = recorded(maps)  # (N, H, L, S)
            weights = layers.reshape(-1, *layers.shape[-2:])
            if head_names is None and len(layers) > 1:
                head_names = [f"{n}.{h}" for n, h in np.ndindex(*layers.shape[:2])]
        super().__init__(
            weights=weights,
            q=q,
            k=k,
            tokens=tokens,
            key_tokens=[] if key_tokens is None else key_tokens,
            masks=masks,
            head_names=[] if head_names is None else head_names,
            **traits,
        )
        if not self.alt:
            heads, queries, keys = self.shape
            self.alt = (
                f"Attention map of {queries} queries over {keys} keys, {heads} "
                f"{'head' if heads == 1 else 'heads'}, with temperature and masks to play with."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """(H, L, S): heads, queries, keys."""
        return _shape(self.weights, self.q, self.k)

    @property
    def allowed(self) -> np.ndarray:
        """The mask in force, bool (L, S): the edited one, or the chosen preset."""
        from attnlab import masks

        if self.edited is not None:
            return self.edited
        _, L, S = self.shape  # noqa: N806
        if self.mask in self.masks:
            return np.broadcast_to(self.masks[self.mask], (L, S)).copy()
        if self.mask == "causal":
            return masks.causal(L, S).dense().numpy()
        if self.mask == "window":
            return masks.window(L, self.radius, S).dense().numpy()
        real = S - self.padding if self.mask == "padding" else S
        return np.broadcast_to(np.arange(S) < real, (L, S)).copy()

    @together("weights", "q", "k", "tokens", "key_tokens", "masks", "head_names", "mask", "head")
    def _fits(self, **now: Any) -> None:
        _check(now)

    @validate("radius", "padding")
    def _not_negative(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise FigureError(
                f"{proposal['trait'].name} is {proposal['value']}: it must be 0 or more."
            )
        return int(proposal["value"])

    @validate("edited")
    def _whole_mask(self, proposal: Any) -> np.ndarray | None:
        value = proposal["value"]
        _check_source(self.weights, self.q, self.k)  # without one the map has no size
        if value is not None and value.shape != self.shape[1:]:
            raise FigureError(
                f"edited has shape {value.shape}, but the map is {self.shape[1:]}: queries × keys."
            )
        return value

    @observe("weights")
    def _sums(self, _change: Any) -> None:
        if self.weights is not None:
            _warn_of_sums(self.weights)

    # What was drawn by hand belongs to the map and the preset it was drawn on.
    @observe("weights", "q", "k", "edited", "mask", "radius", "padding")
    def _forget_edits(self, _change: Any) -> None:
        drawn_on = (self.shape, self.mask, self.radius, self.padding)
        old, old_on = self._drawn
        stale = drawn_on != old_on and np.array_equal(old, self.edited)
        self._drawn = (self.edited, drawn_on)
        if stale:
            self.edited = None

    _drawn: tuple[Any, Any] = (None, None)


def _shape(weights: Any, q: Any, k: Any) -> tuple[int, int, int]:
    if weights is not None:
        heads, queries, keys = weights.shape if weights.ndim == 3 else (1, *weights.shape)
    else:
        heads = q.shape[0] if q.ndim == 3 else 1
        queries, keys = q.shape[-2], k.shape[-2]
    return heads, queries, keys


def _check(now: dict[str, Any]) -> None:
    """Say what does not fit together."""
    weights, q, k = now["weights"], now["q"], now["k"]
    _check_source(weights, q, k)
    heads, queries, keys = _shape(weights, q, k)
    source = f"weights {weights.shape}" if weights is not None else f"q {q.shape} and k {k.shape}"
    together = "Change both at once with figure.change(...)."
    if not now["tokens"]:
        raise FigureError("tokens is empty: give one label for each query.")
    if max(queries, keys) > MOST:
        raise FigureError(
            f"{source} make a map of {queries} × {keys}, more than a screen can show: "
            f"slice to at most {MOST} tokens a side, for instance [..., :{MOST}, :]."
        )
    if len(now["tokens"]) != queries:
        raise FigureError(
            f"{len(now['tokens'])} tokens but {queries} queries ({source}): "
            f"give one token for each query. {together}"
        )
    labels = now["key_tokens"] or now["tokens"]
    if len(labels) != keys:
        raise FigureError(
            f"{len(labels)} {'key_tokens' if now['key_tokens'] else 'tokens'} but {keys} keys "
            f"({source}): give key_tokens, one for each key. {together}"
        )
    if now["head_names"] and len(now["head_names"]) != heads:
        raise FigureError(
            f"{len(now['head_names'])} head_names but {heads} heads ({source}): "
            f"give one name for each head. {together}"
        )
    if not 0 <= now["head"] < heads:
        raise FigureError(
            f"head is {now['head']}, but {source} have heads 0 to {heads - 1}: choose one."
        )
    for name, mask in now["masks"].items():
        try:
            np.broadcast_to(mask, (queries, keys))
        except ValueError:
            raise FigureError(
                f"masks[{name!r}] has shape {mask.shape}, but the map is ({queries}, {keys}): "
                f"queries × keys. {together}"
            ) from None
    names = [*PRESETS, *now["masks"]]
    if now["mask"] not in names:
        raise FigureError(f"mask is {now['mask']!r}: choose one of {', '.join(map(repr, names))}.")


def _check_source(weights: Any, q: Any, k: Any) -> None:
    if (weights is None) == (q is None and k is None):
        raise FigureError(
            "give either weights, or q and k: "
            + ("weights and queries were both given." if weights is not None else "none was given.")
        )
    if weights is None:
        _check_vectors(q, k)
    else:
        _check_weights(weights)


def _check_vectors(q: Any, k: Any) -> None:
    if q is None or k is None:
        raise FigureError(f"only {'k' if q is None else 'q'} was given: scores need both q and k.")
    if q.ndim != k.ndim or (q.ndim == 3 and q.shape[0] != k.shape[0]):
        hint = ""
        if q.ndim == k.ndim and k.shape[0] and q.shape[0] % k.shape[0] == 0:
            hint = f" Shared key heads? k.repeat_interleave({q.shape[0] // k.shape[0]}, 0)."
        raise FigureError(
            f"q {q.shape} and k {k.shape} do not have the same heads: "
            f"give q (H, L, D) and k (H, S, D).{hint}"
        )
    if q.shape[-1] != k.shape[-1]:
        raise FigureError(
            f"q {q.shape} and k {k.shape} differ in their last axis: a dot product needs "
            "queries and keys of one width D."
        )
    if 0 in q.shape or 0 in k.shape:
        raise FigureError(f"q {q.shape} or k {k.shape} is empty: give at least one of each axis.")


def _check_weights(weights: np.ndarray) -> None:
    if 0 in weights.shape:
        raise FigureError(f"weights has shape {weights.shape}: there is nothing to draw.")
    if weights.min() < 0:
        where = tuple(int(i) for i in np.argwhere(weights < 0)[0])
        raise FigureError(
            f"weights holds {weights[where]:.4g} at {where}: attention weights are not negative. "
            "Are these scores? Then give q and k, or take the softmax first."
        )


def _warn_of_sums(weights: np.ndarray) -> None:
    sums = weights.sum(-1)
    wrong = (np.abs(sums - 1) > 1e-2) & (sums > 0)
    if wrong.any():
        warnings.warn(
            f"rows of weights sum to {sums.min():.3f} … {sums.max():.3f}, not 1: "
            "the figure shows each row divided by its sum.",
            stacklevel=2,
        )
