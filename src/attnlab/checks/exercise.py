"""Exercise: named properties, known mistakes, and how a failure becomes a sentence."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from attnlab.checks import safely
from attnlab.checks.answer import Answer, Call, tensor_of
from attnlab.checks.compare import a_kind_of, close, is_number
from attnlab.checks.draw import Draw
from attnlab.checks.explain import Mistake, Unfinished, blank, shorten, where, words_of
from attnlab.checks.picture import tables
from attnlab.checks.slips import few_steps, slips
from attnlab.checks.verdict import Verdict

Property = Callable[[Answer], None]
Suspects = Sequence[tuple[str, Callable[..., Any]]]  # the words, and the wrong answer itself

EXERCISES: dict[str, Exercise] = {}  # filled as the chapters' modules are imported

DRAWS = 16  # fresh inputs at the end of a check
LAST = "other sizes and values as well"  # what this last property is called
MORE = range(500, 512)  # seeds of the inputs on which a suspect is tried before it is named
PATIENCE = 0.25  # seconds for calling an answer again, to find out what its mistake is called
LOOKING = 0.6  # seconds for trying slips


class Exercise:
    """What an answer must satisfy. See the package's docstring for an example."""

    def __init__(
        self,
        id: str,
        *,
        title: str,
        call: str,
        returns: str = "",
        reference: Callable[..., Any] | None = None,
        suspects: Suspects = (),
        lesson: str = "",
    ) -> None:
        self.id = id
        self.title = title
        self.call = call
        self.returns = returns
        self.reference = reference
        self.suspects = tuple(suspects)
        self.lesson = lesson
        self.properties: dict[str, Property] = {}
        self._known: list[tuple[str, Callable[..., Any]]] = []  # slips made so far
        self._next: Iterator[tuple[str, Callable[..., Any]]] | None = None
        self._asked: dict[tuple[int, ...], list[tuple[Any, ...]]] = {}
        self.drawing: Callable[[Draw], tuple[Any, ...]] | None = None
        EXERCISES[id] = self

    def property(self, function: Property) -> Property:
        """Add a property. Its name is the function's: `rows_sum_to_one` reads "rows sum to one"."""
        self.properties[function.__name__.strip("_").replace("_", " ")] = function
        return function

    def draws(self, function: Callable[[Draw], tuple[Any, ...]]) -> Callable[..., Any]:
        """Set how fresh inputs are drawn: the last property is that an answer is right on them."""
        self.drawing = function

        def drawn(answer: Answer) -> None:
            for seed in range(DRAWS):
                draw = Draw(seed)
                given = function(draw)
                answer.must_match(*given, likely=draw.note)

        self.properties[LAST] = drawn
        return function

    def inputs(self, seeds: Sequence[int] = ()) -> list[tuple[Any, ...]]:
        """Arguments for an answer: those that its check hands over, and drawn ones."""
        if tuple(seeds) in self._asked:
            return list(self._asked[tuple(seeds)])
        found: list[tuple[Any, ...]] = []
        good = self.reference or self.plain()
        if good is not None:
            right = Answer(good, self.call, self.returns, self.reference)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name, holds in self.properties.items():
                    if name != LAST:
                        holds(right)
            found = [call.given for call in right.calls]
        if self.drawing is not None:
            found += [self.drawing(Draw(seed)) for seed in seeds]
        self._asked[tuple(seeds)] = found
        return list(found)

    def plain(self) -> Callable[..., Any] | None:
        """The answer that slips are made of, if the chapter has one in `plain/`."""
        chapter = self.id.partition(".")[0]
        name = f"ch{chapter}" if chapter.isdigit() else "capstone"
        module = f"attnlab.checks.plain.{name}"
        if importlib.util.find_spec(module) is None:
            return None
        return getattr(importlib.import_module(module), self.call.split("(")[0], None)

    def judge(self, function: Any) -> Verdict:
        """Run every property until one fails, within the time limit, and say what was found."""
        verdict = Verdict(self.id, self.title, passed=False, message="", total=len(self.properties))
        if not callable(function):
            name = self.call.split("(")[0]
            verdict.unfinished = function is ...
            verdict.message = (
                f"`check` was given {a_kind_of(function) if function is not None else 'None'}, "
                "not a function. "
                f'Write `check("{self.id}", {name})`, without brackets after `{name}`.'
            )
            return verdict
        progress = safely.Progress()
        outcome = safely.run(lambda: self._report(function, progress), safely.SECONDS, progress)
        verdict.printed = outcome.printed
        if outcome.ended and not outcome.error:
            for name, value in outcome.value.items():
                setattr(verdict, name, value)
            return verdict
        verdict.held = progress.held
        verdict.failed = [*self.properties, ""][progress.held]
        name, place = self.call.split("(")[0], where(outcome.stack)
        if outcome.error:  # not the answer's own: that has been turned into a Mistake
            verdict.message = (
                f"The check stumbled over what `{name}` returned: {shorten(outcome.error, 160)}. "
                f"Expected {self.returns or 'something else'}."
            )
        elif outcome.died:
            verdict.message = (
                f"`{name}` {outcome.died}. Your notebook is unharmed: the check ran in a process "
                "of its own. An answer ends with `return`."
            )
        else:
            verdict.message = (
                f"`{name}` was still running after {safely.SECONDS} s"
                f"{f', at {place}' if place else ''}. These inputs are tiny: "
                "a loop may never end, or go round far too often."
            )
            if outcome.left_behind:
                verdict.message += " It cannot be stopped from here: restart the kernel."
        return verdict

    def _report(self, function: Any, progress: safely.Progress) -> dict[str, Any]:
        """In the worker: the verdict as plain values, so that it can leave its process."""
        answer = Answer(function, self.call, self.returns, self.reference, progress=progress)
        verdict = Verdict(self.id, self.title, passed=False, message="", total=len(self.properties))
        with answer.guard.ours():
            self._run(answer, verdict)
        return {
            name: getattr(verdict, name)
            for name in ("passed", "message", "failed", "held", "unfinished", "picture")
        }

    def _run(self, answer: Answer, verdict: Verdict) -> None:
        """In the worker: the properties in order. Fills in the verdict."""
        for name, holds in self.properties.items():
            verdict.failed = name
            try:
                holds(answer)
            except Mistake as mistake:
                unwritten = blank(answer.function, anywhere=_untold(answer))
                if unwritten or isinstance(mistake, Unfinished):
                    verdict.unfinished = True
                    verdict.message = (
                        f"In `{answer.name}` {unwritten}." if unwritten else mistake.seen
                    )
                else:
                    cause = ""
                    if self.reference is not None or not mistake.likely:
                        cause = self._convict(answer) or _dice(answer)
                    verdict.message = _sentences(mistake.seen, cause, mistake.likely)
                    verdict.picture = mistake.picture or self._picture(answer)
                return
            verdict.held += 1
            answer.progress.held = verdict.held
        verdict.failed = ""
        verdict.passed = True
        verdict.message = self.lesson

    def _picture(self, answer: Answer) -> dict[str, Any] | None:
        """Of the last call, where a property has words of its own for what it saw there."""
        last = answer.calls[-1] if answer.calls else None
        if self.reference is None or last is None or last.error is not None:
            return None
        expected = self.reference(*last.given)
        return None if close(last.seen, expected) else tables(last.seen, expected)

    def _convict(self, answer: Answer) -> str:
        """The words of the suspect that does on every input what the answer does, if there is one.

        On the last call, the one that failed, it must also have been wrong. First come the
        suspects of the chapter, then the slips of its plain answer.
        """
        calls = answer.calls
        if not calls:
            return ""
        last = calls[-1]
        if last.error is None:
            if not _comparable(last.seen):
                return ""  # nothing in it to recognise a mistake by
            if self.reference is not None and close(last.seen, self.reference(*last.given)):
                return ""  # the values were right, something else was not
        alike = [
            (words, suspect)
            for words, suspect in self.suspects
            if all(_same_doing(suspect, call) for call in reversed(calls))
        ]
        if last.error is not None and not alike:
            return ""
        more = self._more(answer)
        for words, suspect in alike:
            if all(_same_doing(suspect, call) for call in more):
                return words
        if last.error is None:
            known = [*reversed(calls), *more]
            started = time.monotonic()
            for words, slip in self._slips():
                if all(_same_doing(slip, call) for call in known):
                    return words
                if time.monotonic() - started > LOOKING:
                    break
        again = _redrawn(answer) if alike else []
        for words, suspect in alike:  # a second mistake may hide elsewhere: this one is here
            if all(_same_doing(suspect, call) for call in again) and self._mostly(suspect, more):
                return words
        return ""

    def _mostly(self, suspect: Callable[..., Any], calls: list[Call]) -> bool:
        """Where the answer gave wrong numbers, did the suspect do so, too, every other time?

        Where its result had another shape, there is a second mistake: that says nothing here.
        """
        if self.reference is None:
            return True
        wrong = []
        for call in calls:
            right = self.reference(*call.given)
            if isinstance(right, tuple) or getattr(call.seen, "shape", 0) != getattr(
                right, "shape", 0
            ):
                continue
            if not close(call.seen, right):
                wrong.append(call)
        return 2 * sum(_same_doing(suspect, call) for call in wrong) >= len(wrong)

    def _more(self, answer: Answer) -> list[Call]:
        """What the answer does on inputs that it has not seen yet, for as long as it is quick."""
        return _asked(answer, self.inputs(seeds=MORE))

    def _slips(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Every slip of the plain answer, made when it is asked for and kept."""
        self._next = self._next or self._make_slips()
        yield from list(self._known)
        for one in self._next:
            self._known.append(one)
            yield one

    def _make_slips(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        right = self.plain()
        if right is None:
            return
        for slip in slips(right):
            try:
                function = slip.function(right.__globals__)
            except SyntaxError:
                continue
            yield slip.words, _stopping(function)


def _redrawn(answer: Answer) -> list[Call]:
    """What the answer does on its last inputs with their values in another order."""
    last = answer.calls[-1].given

    def other(value: Any) -> Any:
        if isinstance(value, Tensor) and value.numel() > 1 and value.is_floating_point():
            order = torch.randperm(value.numel())
            return value.flatten()[order].reshape(value.shape)
        return value

    return _asked(answer, [tuple(map(other, last)) for _ in range(3)])


def _asked(answer: Answer, inputs: list[tuple[Any, ...]]) -> list[Call]:
    calls: list[Call] = []
    started = time.monotonic()
    for given in inputs:
        call = Call(given)
        try:
            call.seen = tensor_of(answer.run(*copy.deepcopy(given)))
            calls.append(call)
        except safely.Stopped:
            raise
        except BaseException:  # another mistake, perhaps: it says nothing about this one
            pass
        if time.monotonic() - started > PATIENCE:
            break
    return calls


def _sentences(seen: str, cause: str, likely: str) -> str:
    """The mistake, if it is known, then what was seen; if not, what was seen, then a guess.

    Together they are at most four lines of 96 characters.
    """
    words = cause or likely
    room = 4 * 92 - len(words) - 1
    if len(seen) > room:  # the cause matters more than the last of many numbers
        seen = f"{seen[: max(room - 1, 90)].rstrip()}…"
    return (f"{cause} {seen}" if cause else f"{seen} {likely}").strip()


def _stopping(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*given: Any) -> Any:
        with few_steps():
            return function(*given)

    return run


def _untold(answer: Answer) -> bool:
    """No real result came back: then a `...` anywhere in the code is what is wrong with it."""
    last = answer.calls[-1] if answer.calls else None
    if last is None or last.error is not None or last.seen is None or last.seen is ...:
        return True
    return isinstance(last.seen, list | tuple) and any(one is ... for one in last.seen)


def _dice(answer: Answer) -> str:
    """Words for an answer that does not give the same twice."""
    last = answer.calls[-1] if answer.calls else None
    if last is None or last.error is not None or not _comparable(last.seen):
        return ""
    try:
        again = tensor_of(answer.run(*copy.deepcopy(last.given)))
    except safely.Stopped:
        raise
    except BaseException:
        return ""
    if close(again, last.seen):
        return ""
    return "Called twice with the same arguments it gives two results: something in it is random."


def _comparable(value: Any) -> bool:
    """Numbers and words; two other objects may count as different, however alike they are."""
    if isinstance(value, Tensor):
        return value.numel() > 0
    if isinstance(value, list | tuple):
        return all(map(_comparable, value))
    return isinstance(value, Tensor | bool | str) or is_number(value)


def _same_doing(suspect: Callable[..., Any], call: Call) -> bool:
    """Does the suspect return, or raise, what the answer did?"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = tensor_of(suspect(*copy.deepcopy(call.given)))
    except Exception as error:
        other = call.error
        return type(error) is type(other) and words_of(error) == words_of(other or error)
    return call.error is None and _equal(call.seen, value)


def _equal(seen: Any, value: Any) -> bool:
    """Close, and measured by the numbers themselves: 1e-7 is no zero."""
    if not close(seen, value):
        return False
    if isinstance(seen, Tensor) and not isinstance(value, Tensor):
        return seen.numel() == 1  # a whole tensor of threes is not the number 3
    if isinstance(seen, Tensor) and seen.is_floating_point():
        finite = seen.detach().double()[seen.isfinite()]
        other = value.detach().double()[value.isfinite()] if finite.numel() else finite
        if finite.shape != other.shape or not finite.numel():
            return finite.shape == other.shape
        return float((finite - other).abs().max()) <= 1e-3 * float(finite.abs().max())
    return True
