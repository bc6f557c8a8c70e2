"""Exercise: named properties, known mistakes, and how a failure becomes a sentence."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import Tensor

from attnlab.checks import safely
from attnlab.checks.answer import Answer, Call, argument_names, tensor_of
from attnlab.checks.compare import a_kind_of, close, is_number, kind
from attnlab.checks.draw import Draw
from attnlab.checks.explain import Mistake, Unfinished, blank, shorten, where, words_of
from attnlab.checks.picture import tables
from attnlab.checks.repair import Repair, repair, unused
from attnlab.checks.slips import few_steps, slips
from attnlab.checks.verdict import Verdict

Property = Callable[[Answer], None]
Suspects = Sequence[tuple[str, Callable[..., Any]]]  # the words, and the wrong answer itself

EXERCISES: dict[str, Exercise] = {}  # filled as the chapters' modules are imported

DRAWS = 16  # fresh inputs at the end of a check
LAST = "other sizes and values as well"  # what this last property is called
MORE = range(500, 524)  # seeds of the inputs on which a suspect is tried before it is named
PATIENCE = 0.2  # seconds for calling an answer again, to find out what its mistake is called
_BEYOND = (RecursionError, MemoryError, SystemExit, KeyboardInterrupt, StopIteration)
LOOKING = 0.3  # seconds for trying slips
MENDING = 0.35  # seconds for trying repairs


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
        self.repaired: Repair | None = None  # by the last search; the tests look at it
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
        outcome = safely.run(
            lambda draft: self._report(function, progress, draft), safely.SECONDS, progress
        )
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
                f"`{name}` was still running after {outcome.took:.1f} s"
                f"{f', at {place}' if place else ''}. These inputs are tiny: "
                "a loop may never end, or go round far too often."
            )
            if outcome.left_behind:
                verdict.message += " It cannot be stopped from here: restart the kernel."
        return verdict

    def _report(
        self,
        function: Any,
        progress: safely.Progress,
        draft: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> dict[str, Any]:
        """In the worker: the verdict as plain values, so that it can leave its process.

        What was seen is handed to `draft` before the cause is looked for: should the search hang
        or crash, that is the verdict.
        """
        answer = Answer(function, self.call, self.returns, self.reference, progress=progress)
        verdict = Verdict(self.id, self.title, passed=False, message="", total=len(self.properties))

        def values() -> dict[str, Any]:
            names = ("passed", "message", "failed", "held", "unfinished", "picture")
            return {name: getattr(verdict, name) for name in names}

        with answer.guard.ours():
            mistake = self._run(answer, verdict)
            if mistake is not None:
                draft(values())
                cause = self._cause_or_nothing(answer)
                likely = mistake.likely or ("" if cause else unused(answer.function))
                if cause and self.repaired is None:
                    likely = ""  # the cause says it all
                verdict.message = _sentences(mistake.seen, cause, likely)
        return values()

    def _run(self, answer: Answer, verdict: Verdict) -> Mistake | None:
        """The properties in order. Fills in the verdict; a mistake may have a cause to be found."""
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
                    return None
                verdict.message = _sentences(mistake.seen, "", mistake.likely)
                verdict.picture = mistake.picture or self._picture(answer)
                return mistake
            verdict.held += 1
            answer.progress.held = verdict.held
        verdict.failed = ""
        verdict.passed = True
        verdict.message = self.lesson
        return None

    def _picture(self, answer: Answer) -> dict[str, Any] | None:
        """Of the last call, where a property has words of its own for what it saw there."""
        last = answer.calls[-1] if answer.calls else None
        if self.reference is None or last is None or last.error is not None:
            return None
        expected = self.reference(*last.given)
        return None if close(last.seen, expected) else tables(last.seen, expected)

    def _cause_or_nothing(self, answer: Answer) -> str:
        """A search that stumbles finds nothing; what was seen stands anyway."""
        try:
            return self._cause(answer)
        except Exception:
            self.repaired = None
            return ""

    def _cause(self, answer: Answer) -> str:
        """The words for what is wrong with the answer, if that can be told for certain.

        First come the suspects of the chapter, then the slips of its plain answer: named is only
        what does the same as the answer on every input, and was wrong on the last. Then the answer
        itself is changed until it is right, and in the end its code is read.
        """
        self.repaired = None
        if answer.calls and isinstance(answer.calls[-1].error, _BEYOND):
            return ""  # the error says it all, and to try again would take long
        if self.reference is None:  # many are right: nothing can be compared, but mended
            self.repaired = repair(answer.function, self._judge([]), self.plain(), MENDING)
            return self.repaired.words if self.repaired else ""
        calls = answer.calls
        if not calls or self._beside_the_values(calls[-1]):
            return ""
        if calls[-1].error is None and not _comparable(calls[-1].seen):
            return ""  # nothing in it to know a mistake by: the answer is not called again
        known = [*reversed(calls), *self._more(answer)]
        words = self._accuse(known) or _dice(answer)
        if words:
            return words
        flags = [
            name
            for name, value in zip(argument_names(self.call), calls[-1].given, strict=True)
            if isinstance(value, Tensor) and kind(value) == "bool"
        ]
        self.repaired = repair(answer.function, self._judge(known), self.plain(), MENDING, flags)
        return self.repaired.words if self.repaired else ""

    def _accuse(self, known: list[Call]) -> str:
        """The words of the suspect, or of the slip, that did the same in all these calls."""
        raises = known[0].error is not None  # by that, one slip can hardly be told from another
        if not raises and not _comparable(known[0].seen):
            return ""  # nothing in it to know a mistake by
        for words, suspect in self.suspects:
            if all(_same_doing(suspect, call) for call in known):
                return words
        started = time.thread_time()
        for words, slip in () if raises else self._slips():
            if all(_same_doing(slip, call) for call in known):
                return words
            if time.thread_time() - started > LOOKING:
                break
        return ""

    def _beside_the_values(self, last: Call) -> bool:
        """The values were right, something else was not."""
        if last.error is not None or self.reference is None:
            return False
        return close(last.seen, self.reference(*last.given))

    def _judge(self, calls: list[Call]) -> Callable[[Callable[..., Any]], bool]:
        """Is a function right on these inputs? Without a reference: has it every property?"""
        if self.reference is None:

            def holds(function: Callable[..., Any]) -> bool:
                try:
                    one = Answer(function, self.call, self.returns)
                    for holds in self.properties.values():
                        holds(one)
                except Exception:
                    return False
                return True

            return holds
        reference = self.reference
        pairs = [(call.given, reference(*copy.deepcopy(call.given))) for call in calls]

        def right(function: Callable[..., Any]) -> bool:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for given, expected in pairs:
                    try:
                        seen = tensor_of(function(*copy.deepcopy(given)))
                        if not close(seen, expected):
                            return False
                    except Exception:
                        return False
            return True

        return right

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


def _asked(answer: Answer, inputs: list[tuple[Any, ...]]) -> list[Call]:
    calls: list[Call] = []
    started = time.monotonic()
    for given in inputs:
        call = Call(given, checked=False)
        try:
            call.seen = tensor_of(answer.run(*copy.deepcopy(given)))
        except safely.Stopped:
            raise
        except BaseException as error:
            call.error = error.with_traceback(None)
        calls.append(call)
        if time.monotonic() - started > PATIENCE:
            break
    return calls


def _sentences(seen: str, cause: str, likely: str) -> str:
    """The mistake, if it is known, then what was seen and what it may mean: at most four lines.

    The last of many numbers goes first, then the guess, if there is a cause.
    """
    while True:
        whole = " ".join(part for part in (cause, seen, likely) if part)
        if len(textwrap.wrap(whole, 94)) <= 4 or len(seen) < 40:
            return whole
        if cause and likely and len(seen) < 120:
            likely = ""
        else:
            seen = f"{seen[:-12].rstrip('… ')}…"


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
        if other is None or not call.checked:
            return other is not None
        return type(error) is type(other) and words_of(error) == words_of(other)
    return call.error is None and _equal(call.seen, value)


def _equal(seen: Any, value: Any) -> bool:
    """The same up to rounding, measured by the largest number: 1e-7 is no zero among such."""
    if isinstance(seen, Tensor) and isinstance(value, Tensor):
        if seen.shape != value.shape or kind(seen) != kind(value):
            return False
        if seen.is_floating_point():
            a, b = seen.detach().double(), value.detach().double()
            odd = ~a.isfinite()
            if bool((odd != ~b.isfinite()).any()) or not close(a[odd], b[odd]):
                return False
            a, b = a[~odd], b[~odd]
            return not a.numel() or float((a - b).abs().max()) <= 1e-3 * float(a.abs().max())
    elif isinstance(seen, Tensor) and seen.numel() != 1:
        return False  # a whole tensor of threes is not the number 3
    elif isinstance(seen, list | tuple) and isinstance(value, list | tuple):
        return len(seen) == len(value) and all(map(_equal, seen, value))
    return close(seen, value)


def again(suspects: Suspects, words: str, *functions: Callable[..., Any]) -> Suspects:
    """The suspects, and other ways to make the mistake that is told in these words."""
    told = next(one for one, _ in suspects if words in one)
    return [*suspects, *((told, function) for function in functions)]
