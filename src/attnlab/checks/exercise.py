"""Exercise: named properties, known mistakes, and how a failure becomes a sentence."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from attnlab.checks import safely
from attnlab.checks.answer import Answer, Call, tensor_of
from attnlab.checks.compare import a_kind_of, close, is_number
from attnlab.checks.explain import Mistake, Unfinished, blank, shorten, where, words_of
from attnlab.checks.verdict import Verdict

Property = Callable[[Answer], None]
Suspects = Sequence[tuple[str, Callable[..., Any]]]  # the words, and the wrong answer itself

EXERCISES: dict[str, Exercise] = {}  # filled as the chapters' modules are imported


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
        EXERCISES[id] = self

    def property(self, function: Property) -> Property:
        """Add a property. Its name is the function's: `rows_sum_to_one` reads "rows sum to one"."""
        self.properties[function.__name__.strip("_").replace("_", " ")] = function
        return function

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
            for name in ("passed", "message", "failed", "held", "unfinished")
        }

    def _run(self, answer: Answer, verdict: Verdict) -> None:
        """In the worker: the properties in order. Fills in the verdict."""
        for name, holds in self.properties.items():
            verdict.failed = name
            try:
                holds(answer)
            except Mistake as mistake:
                unwritten = blank(answer.function)
                if unwritten or isinstance(mistake, Unfinished):
                    verdict.unfinished = True
                    verdict.message = (
                        f"In `{answer.name}` {unwritten}." if unwritten else mistake.seen
                    )
                else:
                    words = self._convict(answer.calls) or _dice(answer) or mistake.likely
                    verdict.message = f"{mistake.seen} {words}".strip()
                return
            verdict.held += 1
            answer.progress.held = verdict.held
        verdict.failed = ""
        verdict.passed = True
        verdict.message = self.lesson

    def _convict(self, calls: list[Call]) -> str:
        """The words of the suspect that did on every call what the answer did, if there is one.

        On the last call, the one that failed, it must also have been wrong.
        """
        if self.reference is None or not calls:
            return ""
        last = calls[-1]
        if last.error is None and close(last.seen, self.reference(*last.given)):
            return ""  # the values were right, something else was not
        for words, suspect in self.suspects:
            if all(_same_doing(suspect, call) for call in reversed(calls)):
                return words
        return ""


def _dice(answer: Answer) -> str:
    """Words for an answer that does not give the same twice."""
    last = answer.calls[-1] if answer.calls else None
    if last is None or last.error is not None or not _comparable(last.seen):
        return ""
    try:
        again = tensor_of(answer.run(*copy.deepcopy(last.given)))
    except Exception:
        return ""
    if close(again, last.seen):
        return ""
    return "Called twice with the same arguments it gives two results: something in it is random."


def _comparable(value: Any) -> bool:
    """Numbers and words; two other objects may count as different, however alike they are."""
    if isinstance(value, list | tuple):
        return all(map(_comparable, value))
    return isinstance(value, Tensor | bool | str) or is_number(value)


def _same_doing(suspect: Callable[..., Any], call: Call) -> bool:
    """Does the suspect return, or raise, what the answer did?"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = suspect(*copy.deepcopy(call.given))
    except Exception as error:
        other = call.error
        return type(error) is type(other) and words_of(error) == words_of(other or error)
    return call.error is None and close(call.seen, value)
