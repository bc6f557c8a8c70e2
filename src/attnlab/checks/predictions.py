"""What exercises that ask for predictions share: True or False for each case, and what comes true.

    true_or_false(prediction, CHANGES, each="change")
    come_true(prediction, CHANGES, stays, what="the cosines")

The cases come with the reason why each turns out as it does; `stays` tries one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attnlab.checks.answer import Answer
from attnlab.checks.compare import a_kind_of
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake


def true_or_false(exercise: Exercise, cases: Mapping[str, str], *, each: str) -> None:
    """A property: there is a prediction for each case."""
    name = exercise.call.split("(")[0]

    def holds(answer: Answer) -> None:
        for case in cases:
            said = answer(case)
            if not isinstance(said, bool):
                raise Mistake(
                    f'`{name}("{case}")` returned {a_kind_of(said)}, expected True or False.',
                    likely=f"Fill in a prediction for every {each}.",
                )

    holds.__name__ = f"it_says_yes_or_no_for_each_{each}"
    exercise.property(holds)


def come_true(
    exercise: Exercise,
    cases: Mapping[str, str],
    stays: Callable[[str], bool],
    *,
    what: str,
    when: str = "",
) -> None:
    """A property: what is predicted happens; the first that does not is named, with its reason."""

    def the_predictions_come_true(answer: Answer) -> None:
        for case, why in cases.items():
            said, seen = answer(case), stays(case)
            if said != seen:
                happened = "stayed the same" if seen else "changed"
                raise Mistake(
                    f"With {case}, you predicted {said}, but {what} {happened}{when}.",
                    likely=why,
                    sure=True,  # with yes and no, many a change turns one into the other
                )

    exercise.property(the_predictions_come_true)
