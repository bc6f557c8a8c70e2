"""Exercise: named properties, known mistakes, and how a failure becomes a sentence."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attnlab.checks import safely
from attnlab.checks.answer import Answer
from attnlab.checks.cause import agreed, cause_of
from attnlab.checks.compare import a_kind_of, close
from attnlab.checks.draw import Draw
from attnlab.checks.explain import Mistake, Unfinished, blank, shorten, where
from attnlab.checks.picture import tables
from attnlab.checks.repair import Repair, left_over, unused
from attnlab.checks.slips import few_steps, slips
from attnlab.checks.verdict import Verdict

Property = Callable[[Answer], None]
Suspects = Sequence[tuple[str, Callable[..., Any]]]  # the words, and the wrong answer itself

EXERCISES: dict[str, Exercise] = {}  # filled as the chapters' modules are imported

DRAWS = 16  # fresh inputs at the end of a check
LAST = "other sizes and values as well"  # what this last property is called


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
                try:
                    answer.must_match(*given, likely=draw.note)
                except Mistake as mistake:  # also where it raised an error
                    mistake.likely = mistake.likely or draw.note
                    raise

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
                cause = "" if mistake.sure else self._cause_or_nothing(answer)
                likely = mistake.likely
                if not cause and not mistake.sure:
                    likely = (
                        left_over(answer.function)
                        or self._agreed(answer, likely)
                        or unused(answer.function)
                    )
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
        """A search that stumbles finds nothing; what was seen still stands."""
        collects = gc.isenabled()
        gc.disable()  # looking through a large notebook just once takes longer than this search may
        try:
            words, self.repaired = cause_of(self, answer)
        except Exception:
            words, self.repaired = "", None
        finally:
            if collects:
                gc.enable()
        return words

    def _agreed(self, answer: Answer, likely: str) -> str:
        """Likewise, a guess that cannot be asked about is not made."""
        try:
            return agreed(self, answer, likely)
        except Exception:
            return ""

    def slips(self) -> Iterator[tuple[str, Callable[..., Any]]]:
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


def again(suspects: Suspects, words: str, *functions: Callable[..., Any]) -> Suspects:
    """The suspects, and other ways to make the mistake that these words describe."""
    told = next(one for one, _ in suspects if words in one)
    return [*suspects, *((told, function) for function in functions)]
