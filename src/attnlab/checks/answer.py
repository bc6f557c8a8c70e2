"""Answer: calls a learner's function with care, and looks at what comes back."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlab.checks.compare import a_kind_of, close, difference, is_number, kind, numbers
from attnlab.checks.explain import Mistake, Unfinished, parameters, raised, shorten, takes
from attnlab.checks.picture import tables
from attnlab.checks.safely import Progress, Stopped
from attnlab.checks.state import Guard
from attnlab.masks import Mask

# The words for an answer that was right until the scores became large.
OVERFLOWS = (
    "`exp` of a large score overflows, and of a very low one it is 0: subtract the largest score "
    "of each row first, or use `softmax`."
)


@dataclass
class Call:
    """One call of the answer: what went in, and what came out or was raised."""

    given: tuple[Any, ...]
    seen: Any = None
    error: BaseException | None = None
    checked: bool = True  # by a property; False: only to find out what a mistake is called


@dataclass
class Answer:
    """A learner's function, as the properties of an exercise see it.

    `answer(q, k)` calls it on copies and returns what it returned, after these have been looked at:
    it took the arguments, did not raise, did not change its inputs, and returned the type, shape
    and dtype that the reference returns, without stray NaN. Whatever is wrong is raised as a
    `Mistake`.
    """

    function: Callable[..., Any]
    call: str  # "my_weights(q, k)"
    returns: str = ""
    reference: Callable[..., Any] | None = None
    calls: list[Call] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    guard: Guard = field(default_factory=Guard)

    @property
    def name(self) -> str:
        return self.call.split("(")[0]

    def __call__(self, *given: Any) -> Any:
        return self._call(given, copy.deepcopy(given))

    def _call(self, given: tuple[Any, ...], copies: tuple[Any, ...]) -> Any:
        names = argument_names(self.call)
        if not takes(self.function, len(given)):
            raise Mistake(
                f"`{self.name}` is called as `{self.call}`, with "
                f"{_count(len(given), 'argument')}, but yours takes {parameters(self.function)}.",
                likely="Keep the first line of the stub as it was.",
            )
        call = Call(given)
        # Before the answer has had a chance to touch anything.
        expected = None if self.reference is None else self.reference(*copy.deepcopy(given))
        self.calls.append(call)
        try:
            call.seen = tensor_of(self.run(*copies))
        except Stopped:
            raise
        except BaseException as error:
            mistake = raised(error, self.name, describe(names, given))
            call.error = error.with_traceback(None)  # no frames are kept
            raise mistake from None
        if isinstance(call.seen, Tensor) and (
            call.seen.is_meta or call.seen.layout != torch.strided
        ):
            what = "a tensor without data" if call.seen.is_meta else "a sparse tensor"
            call.seen = None
            raise Mistake(f"`{self.name}` returned {what}, expected an ordinary one.")
        if _bottomless(call.seen):
            call.seen = None
            raise Mistake(
                f"`{self.name}` returned a list that contains itself.",
                likely="`out.append(out)`, perhaps? Append the parts, not the whole.",
            )
        for name, before, after in zip(names, given, copies, strict=True):
            if not _untouched(before, after):
                raise Mistake(
                    f"`{self.name}` changed its argument `{name}` in place, and whoever called "
                    "it still needs it.",
                    likely=_instead(name, before),
                )
        if call.seen is None:
            raise Mistake(
                f"`{self.name}` returned None.", likely="Does every way through it end in `return`?"
            )
        if call.seen is ...:
            raise Unfinished("It returned `...`.")
        if self.reference is not None:
            self._look(call.seen, expected, describe(names, given))
        return call.seen

    def run(self, *given: Any) -> Any:
        """One call of the learner's function, on its clock, and everything put back after it."""
        with self.guard.answering():
            self.progress.running = True
            try:
                return self.function(*given)
            finally:
                self.guard.python_back()
                self.progress.running = False

    def must_match(self, *given: Any, likely: str = "") -> None:
        """Every value equals the reference's."""
        seen = self(*given)
        assert self.reference is not None, f"{self.call}: must_match needs a reference"
        expected = self.reference(*given)
        if not close(seen, expected):
            names = argument_names(self.call)
            mistake = Mistake(
                f"With {describe(names, given)}, {difference(seen, expected)}.", likely
            )
            mistake.picture = tables(seen, expected)
            raise mistake

    def must_survive(self, *given: Any, likely: str) -> None:
        """Every value equals the reference's on extreme inputs; `likely` explains nan as well."""
        try:
            self.must_match(*given)
        except Mistake as mistake:
            if self.calls[-1].error is not None:  # it raised, and that has words of its own
                raise
            mistake.likely = likely
            raise

    def gradients_must_match(self, *given: Any) -> None:
        """Training can go through it: the gradients of float arguments are finite and right."""
        assert self.reference is not None, f"{self.call}: gradients need a reference"
        leaves = _leaves(given)
        seen = self._call(given, leaves)
        if not seen.requires_grad:
            raise Mistake(
                "No gradient flows back: the result is cut off from the arguments.",
                likely="`.detach()`, `.data`, `.item()`, `.numpy()`, `torch.tensor(…)` and "
                "`no_grad` all cut it.",
            )
        others = _leaves(given)
        expected = _gradients(self.reference(*others), others)
        try:
            found = _gradients(seen, leaves)
        except RuntimeError as error:
            raise Mistake(
                "The result is right, but going backwards failed: "
                f"{str(error).split('.')[0].strip()}.",
                likely="Something was changed in place after a later step had used it: make a "
                "new tensor instead.",
            ) from None
        names = argument_names(self.call)
        for i, one in found.items():
            name, other = names[i], expected[i]
            if not bool(one.isfinite().all()):
                raise Mistake(
                    f"The result is right, but the gradient of `{name}` has nan in it.",
                    likely="A nan that you replace afterwards still counts on the way back, "
                    "since 0 · nan is nan. It must not arise, or no gradient may pass where it "
                    "does.",
                )
            if not close(one, other):
                raise Mistake(
                    f"The result is right, but in the gradient of `{name}` "
                    f"{difference(one, other)}.",
                    likely="Is a part of it cut off by `.detach()` or `no_grad`, or rounded?",
                )

    def _look(self, seen: Any, expected: Any, given: str) -> None:
        """Type, shape, dtype and NaN, against what the reference returned."""
        wanted = f"expected {self.returns}" if self.returns else f"expected {a_kind_of(expected)}"
        if isinstance(expected, Tensor) and isinstance(seen, Tensor):
            look_at_tensor(
                seen,
                tuple(expected.shape),
                expected.dtype,
                given=given,
                wanted=wanted,
                name=self.name,
            )
            if kind(expected) == "float" and not bool(expected.isnan().any()):
                look_for_nan(seen, given)
        elif isinstance(expected, Tensor) or not _alike(seen, expected):
            likely = ""
            if isinstance(seen, tuple | list) and any(isinstance(x, Tensor) for x in seen):
                likely = "Return that one tensor and nothing else."
            elif isinstance(seen, Mask):
                likely = "A `Mask` becomes a bool tensor when you call `.dense()`."
            elif isinstance(expected, Tensor):
                likely = "Stay in torch from beginning to end."
            raise Mistake(f"`{self.name}` returned {a_kind_of(seen)}, {wanted}.", likely)


def look_at_tensor(
    seen: Any, shape: tuple[int, ...], dtype: torch.dtype, *, given: str, wanted: str, name: str
) -> None:
    """Raise a Mistake unless `seen` is a tensor of this shape and dtype."""
    if not isinstance(seen, Tensor):
        raise Mistake(f"`{name}` returned {a_kind_of(seen)}, {wanted}.")
    if tuple(seen.shape) != shape:
        likely = ""
        if len(shape) > 1 and tuple(seen.mT.shape if seen.ndim > 1 else ()) == shape:
            likely = "The last two axes are swapped."
        elif sorted(n for n in seen.shape if n > 1) == sorted(n for n in shape if n > 1):
            likely = "An axis of size 1 is too many or missing."
        raise Mistake(
            f"With {given}, the result has shape {tuple(seen.shape)}, not {shape}; {wanted}.",
            likely,
        )
    if seen.dtype != dtype and not _as_good(seen.dtype, dtype):
        short, long = (str(d).removeprefix("torch.") for d in (seen.dtype, dtype))
        raise Mistake(f"The result holds {short} values, expected {long}.")


def _as_good(seen: torch.dtype, dtype: torch.dtype) -> bool:
    """More digits than asked for are no mistake, and whole numbers are whole numbers."""
    whole = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    return (seen is torch.float64 and dtype is torch.float32) or (seen in whole and dtype in whole)


def look_for_nan(seen: Tensor, given: str) -> None:
    bad = int((~seen.isfinite()).sum())
    if bad:
        word = "nan" if bool(seen.isnan().any()) else "inf"
        raise Mistake(
            f"With {given}, {bad} of {seen.numel()} numbers in the result are {word}.",
            likely="0/0 and inf − inf give nan; `exp` of anything above 88 is inf in float32.",
        )


def two_matrices(
    seen: Any, call: str, rows: int, *, given: str, likely: str
) -> tuple[Tensor, Tensor]:
    """w_q and w_k as float32, if `seen` is two matrices of shape (rows, D) that fit together."""
    if not isinstance(seen, tuple | list) or len(seen) != 2:
        raise Mistake(
            f"`{call}` returned {a_kind_of(seen)}, expected two matrices.",
            likely="End with `return w_q, w_k`.",
        )
    for name, w in zip(("w_q", "w_k"), seen, strict=True):
        if not isinstance(w, Tensor):
            raise Mistake(
                f"`{name}` is {a_kind_of(w)}, expected a tensor of shape ({rows}, D).",
                likely="Use `torch.tensor`.",
            )
        if w.ndim != 2 or w.shape[0] != rows or w.shape[1] == 0:
            raise Mistake(
                f"`{name}` has shape {tuple(w.shape)}, expected ({rows}, D).", likely=likely
            )
        if not w.is_floating_point():
            raise Mistake(
                f"`{name}` holds {str(w.dtype).removeprefix('torch.')} values, expected float.",
                likely="Write 1.0 instead of 1.",
            )
        look_for_nan(w, given)
    w_q, w_k = (w.detach().float() for w in seen)
    if w_q.shape != w_k.shape:
        raise Mistake(
            f"`w_q` has shape {tuple(w_q.shape)} and `w_k` {tuple(w_k.shape)}, expected the same "
            "D for both.",
            likely="A query and a key meet in a dot product, so they are equally wide.",
        )
    return w_q, w_k


def _odd(seen: Any) -> str:
    """A tensor that cannot be looked into."""
    if not isinstance(seen, Tensor) or (seen.layout == torch.strided and not seen.is_meta):
        return ""
    return "a tensor without data" if seen.is_meta else "a sparse tensor"


def _bottomless(value: Any, depth: int = 0) -> bool:
    """Lists in lists in lists …, without end."""
    if depth > 20:
        return True
    return isinstance(value, list | tuple) and any(_bottomless(v, depth + 1) for v in value)


def argument_names(call: str) -> list[str]:
    """ "my_weights(q, k)" → ["q", "k"]"""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call), f"{call!r} is not a call"
    return [ast.unparse(arg) for arg in tree.args]


def describe(names: list[str], given: tuple[Any, ...]) -> str:
    """The arguments in short: "q (3, 4), k (5, 4)" or "L = 2, S = 5"."""
    pairs = list(zip(names, given, strict=True))
    told = [(n, v) for n, v in pairs if not (callable(v) or is_dataclass(v) or _nested(v))]
    return ", ".join(_describe(name, value) for name, value in told or pairs)


def _nested(value: Any) -> bool:
    """Tensors in tuples, such as the cache of a model: too long for a sentence."""
    return isinstance(value, list | tuple) and any(
        isinstance(one, Tensor) or _nested(one) for one in value
    )


def _describe(name: str, value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{name} {tuple(value.shape)}"
    if callable(value):
        return f"{name} = a function"
    return f"{name} = {shorten(repr(value), 60)}"


def tensor_of(value: Any) -> Any:
    """NumPy's arrays and numbers as tensors: the arithmetic counts, not who did it."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        return torch.as_tensor(np.array(value))
    if type(value) in (tuple, list) and any(isinstance(x, np.ndarray) for x in value):
        return type(value)(map(tensor_of, value))
    return value


def _instead(name: str, value: Any) -> str:
    """How to make a new tensor or list where an old one was changed."""
    if isinstance(value, Tensor) and kind(value) == "bool":
        return (
            f"`{name} = {name} | other` makes a new mask; `{name}[0] = True` changes the old one."
        )
    if isinstance(value, list):
        return (
            f"`out = list({name})` makes a new list; `{name}[0] = …`, `append`, `pop` and `del` "
            "change the old one."
        )
    return (
        f"`{name} = {name} / 2` makes a new tensor; `{name} /= 2`, `{name}[0] = 2` and "
        f"`{name}.div_(2)` change the old one."
    )


def _leaves(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies that ask for gradients where they can."""
    return tuple(
        value.detach().clone().requires_grad_(value.is_floating_point())
        if isinstance(value, Tensor)
        else value
        for value in given
    )


def _gradients(result: Tensor, leaves: tuple[Any, ...]) -> dict[int, Tensor]:
    """The gradient of a fixed mixture of all results, for every leaf that asks for one."""
    total = (result * numbers(*result.shape, seed=99)).sum()
    asking = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.requires_grad]
    found = torch.autograd.grad(total, [leaves[i] for i in asking], materialize_grads=True)
    return dict(zip(asking, found, strict=True))


def _untouched(before: Any, after: Any) -> bool:
    """Exactly as it was: a change in the last digit is one, too."""
    if isinstance(before, Tensor):
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        return bool(((before == after) | ((before != before) & (after != after))).all())
    return bool(before == after) if isinstance(before, list | dict | set) else True


def _alike(seen: Any, expected: Any) -> bool:
    if is_number(expected):
        return is_number(seen)
    if isinstance(expected, list | tuple):
        return isinstance(seen, list | tuple) and len(seen) == len(expected)
    return isinstance(seen, type(expected))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
