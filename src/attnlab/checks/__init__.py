"""Exercises that answer back: `check("03.2", my_function)`.

A check runs the named properties of an exercise in order and stops at the first that fails. It says
what was seen, what was expected, and which mistake is likely. It never raises for a learner's
mistake, never shows the solution, and takes less than two and a half seconds, even when the answer
never ends or crashes Python: it runs in a process of its own where the system has one to give.

    exercise.py   Exercise: properties, suspects, and how a failure becomes a sentence
    cause.py      what a mistake is called, if that can be told for certain
    answer.py     Answer: calls a learner's function with care and looks at what comes back
    arguments.py  what goes into an answer; look.py: what comes out of it
    safely.py     runs a job with a time limit, in a process of its own (forked.py) or in a thread
    state.py      what an answer may change for others, and how it is put back
    explain.py    a learner's exception, or an unfinished stub, in one sentence
    compare.py    are two values the same, and if not, where do they differ?
    draw.py       Draw: fresh inputs of unequal and degenerate sizes, with ties and extremes
    slips.py      a right answer with one thing changed, made from the answers in `plain/`:
                  slip_calls.py, slip_kinds.py have the changes and words (axes.py, rewrite.py)
    repair.py     the learner's own code (own_code.py) with one thing changed, until it is right
                  (remedies.py, additions.py); quoted.py: does the code have what words quote?
                  tried.py: does the change that they name help?
    verdict.py    Verdict: one result, as text and as HTML
    picture.py    expected, seen and difference, drawn as small maps
    watching.py   what torch does while an answer runs: the largest tensor, products counted
    ch03.py …     one module per chapter, found by the id, and its imports; its known mistakes in
                  ch03_suspects.py
    capstone.py   C.1, C.2, …: the parts of the learner's own model, and the whole of it

**Writing a check.** The whole of it, for an exercise `my_mean(x)` with id 04.1, in `ch04.py`:

    mean = Exercise(
        "04.1",
        title="The mean of each row",            # as in the heading of the exercise
        call="my_mean(x)",                       # name and arguments, for messages
        returns="one mean per row, shape (L,)",  # shown when type or shape is wrong
        reference=lambda x: x.mean(dim=-1),      # what a right answer returns
        suspects=[                               # known mistakes: the words, the wrong answer
            ("This is the sum: divide by the length.", lambda x: x.sum(dim=-1)),
            ("This is the mean of the columns: a row is the last axis.", lambda x: x.mean(dim=0)),
        ],
        lesson="A mean is a sum with equal weights.",   # said when everything holds
    )

    @mean.property
    def a_constant_row_keeps_its_value(answer):  # this name is what the learner reads
        seen = answer(torch.full((3, 4), 7.0))   # type, shape, dtype, NaN: as the reference
        if not close(seen, 7.0):
            raise Mistake(f"A row of sevens gave {seen[0]:.2f}, not 7.", likely="Divided by 4?")

    @mean.property
    def equals_the_formula(answer):
        answer.must_match(numbers(5, 3))         # every value, against the reference

    @mean.draws
    def rows(draw):                              # the last property: right on a dozen of these
        return (draw.numbers(draw.size(), draw.size(1, 9)),)

When a property fails, each suspect runs on the same inputs and on several others. If one returns
exactly what the learner's function returned, its words come first and replace the `likely` of the
property. After the suspects come the slips of the plain answer, then repairs of the learner's own
code. So properties say *what* is wrong, the others say *why*; nothing is said that an input
contradicts. An exercise with many right answers has no `reference`: its
properties look at the effect of the answer (see 03.5).

The tests hold every exercise to this: `tests/exercises/answers_NN.py` gives wrong answers with the
words they must get and right answers written differently, and every suspect must be named by its
own words.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

from attnlab.checks.answer import Answer
from attnlab.checks.compare import close, numbers
from attnlab.checks.exercise import EXERCISES, Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.verdict import Verdict

__all__ = ["Answer", "Exercise", "Mistake", "Verdict", "check", "close", "exercises", "numbers"]

CAPSTONE = "capstone"


def check(id: str, answer: Any) -> Verdict:
    """Check `answer` against exercise `id`, show the verdict, and return it (true when passed)."""
    exercise = _find(id)
    if exercise is None:
        known = ", ".join(sorted(exercises())) or "none yet"
        verdict = Verdict(
            id=str(id),
            title="",
            passed=False,
            message=f"There is no exercise {id!r}. Known ids: {known}.",
        )
    else:
        verdict = exercise.judge(answer)
    verdict.show()
    return verdict


def exercises() -> dict[str, Exercise]:
    """Every exercise of every chapter, by id."""
    for chapter in _chapters():
        importlib.import_module(f"{__name__}.{chapter}")
    return EXERCISES


def _find(id: object) -> Exercise | None:
    """The exercise called "03.2"; "3.2" is understood too. Imports only its own chapter."""
    match = re.fullmatch(r"\s*(\d{1,2}|[Cc])\.(\w+)\s*", str(id))
    if match is None:
        return None
    code, number = match[1].upper(), match[2]
    code = code if code == "C" else code.zfill(2)
    module = CAPSTONE if code == "C" else f"ch{code}"
    if module not in _chapters():
        return None
    importlib.import_module(f"{__name__}.{module}")
    return EXERCISES.get(f"{code}.{number}")


def _chapters() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return [name for name in names if re.fullmatch(rf"ch\d\d|{CAPSTONE}", name)]
