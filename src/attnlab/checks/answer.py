"""Answer: calls a learner's function with care, and looks at what comes back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnlab.checks.arguments import (
    argument_names,
    asking_for_gradients,
    counted,
    describe,
    gradients,
    instead,
    untouched,
)
from attnlab.checks.arguments import tensor_of as tensor_of
from attnlab.checks.compare import a_kind_of, close, difference, kind
from attnlab.checks.explain import Mistake, Unfinished, own_line, parameters, raised, takes
from attnlab.checks.look import alike, bottomless, look_at_tensor, look_for_nan
from attnlab.checks.look import two_matrices as two_matrices
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
    line: int = 0  # of the answer's source, the first being 1, where it raised the error


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
                f"{counted(len(given), 'argument')}, but yours takes {parameters(self.function)}.",
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
            call.line = own_line(error, self.function)
            call.error = error.with_traceback(None)  # no frames are kept
            raise mistake from None
        one_number = isinstance(expected, Tensor) and expected.ndim == 0
        if one_number and isinstance(call.seen, float):
            call.seen = torch.tensor(call.seen)  # no matter who computed it
        if isinstance(call.seen, Tensor) and (
            call.seen.is_meta or call.seen.layout != torch.strided
        ):
            what = "a tensor without data" if call.seen.is_meta else "a sparse tensor"
            call.seen = None
            raise Mistake(f"`{self.name}` returned {what}, expected an ordinary one.")
        if bottomless(call.seen):
            call.seen = None
            raise Mistake(
                f"`{self.name}` returned a list that contains itself.",
                likely="`out.append(out)`, perhaps? Append the parts, not the whole.",
            )
        for name, before, after in zip(names, given, copies, strict=True):
            if not untouched(before, after):
                raise Mistake(
                    f"`{self.name}` changed its argument `{name}` in place, and whoever called "
                    "it still needs it.",
                    likely=instead(name, before),
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
        leaves = asking_for_gradients(given)
        seen = self._call(given, leaves)
        if not seen.requires_grad:
            raise Mistake(
                "No gradient flows back: the result is cut off from the arguments.",
                likely="`.detach()`, `.data`, `.item()`, `.numpy()`, `torch.tensor(…)` and "
                "`no_grad` all cut it.",
            )
        others = asking_for_gradients(given)
        expected = gradients(self.reference(*others), others)
        try:
            found = gradients(seen, leaves)
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
        elif isinstance(expected, Tensor) or not alike(seen, expected):
            likely = ""
            if isinstance(seen, tuple | list) and any(isinstance(x, Tensor) for x in seen):
                likely = "Return that one tensor and nothing else."
            elif isinstance(seen, Mask):
                likely = "A `Mask` becomes a bool tensor when you call `.dense()`."
            elif isinstance(expected, Tensor):
                likely = "Stay in torch from beginning to end."
            raise Mistake(f"`{self.name}` returned {a_kind_of(seen)}, {wanted}.", likely)
