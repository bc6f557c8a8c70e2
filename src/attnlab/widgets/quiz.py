"""A self-test: questions that answer back, with a reason for every choice."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from traitlets import Dict, Int, List, Unicode, observe, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet


class Quiz(LiveFigure):
    """Questions with instant feedback.

    Quiz(
        [
            {
                "question": "What does softmax(*z*) sum to?",
                "choices": [
                    {"text": "`1`", "correct": True, "why": "Each weight is a share of a whole."},
                    {"text": "`n`", "why": "That would be the sum of `n` ones."},
                ],
            },
        ],
        title="Self-test",
        key="03",
    )

    Words may hold `code` and *emphasis*; everything else is shown as it is written. A question
    may have several correct choices: the reader is told how many to find. `key` names the place
    in the browser where answers are kept; without one they are forgotten with the page.
    `shuffle=True` mixes the choices, in the same way for every reader.

    `answers` maps a question's number (as text, from "0") to the choices tried, in order;
    `score` counts the questions answered right without a wrong try.
    """

    figure = "quiz"
    _esm, _css = bundle("quiz"), stylesheet("quiz")

    questions = List(Dict()).tag(sync=True)
    key = Unicode("").tag(sync=True)
    answers = Dict().tag(sync=True)
    score = Int(0).tag(sync=True)

    def __init__(
        self,
        questions: Sequence[Mapping[str, Any]],
        title: str = "Test yourself",
        key: str = "",
        *,
        shuffle: bool = False,
        **traits: Any,
    ):
        if isinstance(questions, str | Mapping) or not isinstance(questions, Sequence):
            raise FigureError("questions is a list of dicts with 'question' and 'choices'.")
        read = [_question(number, one) for number, one in enumerate(questions, start=1)]
        if shuffle:
            for question in read:
                random.Random(question["question"]).shuffle(question["choices"])
        few = "1 question" if len(read) == 1 else f"{len(read)} questions"
        super().__init__(
            questions=read,
            title=title,
            key=key,
            **{"alt": f"{title}: a self-test with {few}.", **traits},
        )

    @validate("questions")
    def _valid(self, proposal: Any) -> list[dict[str, Any]]:
        if not proposal["value"]:
            raise FigureError("questions is empty: a quiz needs at least one question.")
        return [_question(number, one) for number, one in enumerate(proposal["value"], start=1)]

    @validate("answers")
    def _known(self, proposal: Any) -> dict[str, list[int]]:
        answers = {}
        for place, tried in proposal["value"].items():
            number = str(place)
            if not number.isdigit() or int(number) >= len(self.questions):
                raise FigureError(
                    f"answers has the question {place!r}: the questions are numbered "
                    f'"0" to "{len(self.questions) - 1}".'
                )
            count = len(self.questions[int(number)]["choices"])
            if not isinstance(tried, Sequence):
                raise FigureError(
                    f"answers[{number!r}] is {tried!r}: give a list of the choices that were tried."
                )
            for choice in tried:
                if not isinstance(choice, int) or not 0 <= choice < count:
                    raise FigureError(
                        f"answers[{number!r}] has the choice {choice!r}: "
                        f"that question's choices are numbered 0 to {count - 1}."
                    )
            answers[number] = list(dict.fromkeys(tried))
        return answers

    @observe("answers", "questions")
    def _count(self, _change: Any) -> None:
        self.score = sum(
            _right_at_once(question["choices"], self.answers.get(str(number), []))
            for number, question in enumerate(self.questions)
        )


def _right_at_once(choices: Sequence[Mapping[str, Any]], tried: Sequence[int]) -> bool:
    """Were all correct choices found before any wrong one? The twin of `grade` in quiz.js."""
    missing = {place for place, choice in enumerate(choices) if choice["correct"]}
    for place in tried:
        if not missing:
            break
        if place not in missing:
            return False
        missing.discard(place)
    return not missing


def _question(number: int, given: Any) -> dict[str, Any]:
    """One question as plain dicts, or an error that says what is missing and where."""
    if not isinstance(given, Mapping):
        raise FigureError(
            f"Question {number} is a {type(given).__name__}: "
            "give a dict with 'question' and 'choices'."
        )
    words = _words(given, "question", f"Question {number}")
    here = f"Question {number} ({words[:40]!r})"
    _only(given, {"question", "choices"}, here)
    choices = given.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or len(choices) < 2:
        raise FigureError(f"{here} needs a list of at least two 'choices'.")
    read: list[dict[str, Any]] = []
    for place, choice in enumerate(choices, start=1):
        spot = f"{here}, choice {place}"
        if not isinstance(choice, Mapping):
            raise FigureError(
                f"{spot} is a {type(choice).__name__}: "
                "give a dict with 'text', 'why' and, for a right one, 'correct': True."
            )
        _only(choice, {"text", "correct", "why"}, spot)
        correct = choice.get("correct", False)
        if not isinstance(correct, bool):
            raise FigureError(f"{spot}: 'correct' is {correct!r}, but must be True or False.")
        text, why = _words(choice, "text", spot), _words(choice, "why", spot)
        read.append({"text": text, "correct": correct, "why": why})
    right = sum(choice["correct"] for choice in read)
    if right == 0:
        raise FigureError(f"{here} has no correct choice: give one of them 'correct': True.")
    if right == len(read):
        raise FigureError(f"{here} has only correct choices, so there is nothing to choose.")
    if len({choice["text"] for choice in read}) < len(read):
        raise FigureError(f"{here} has two choices with the same text.")
    return {"question": words, "choices": read}


def _words(given: Mapping[str, Any], name: str, here: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        reason = "explain every choice, right or wrong" if name == "why" else "it cannot be empty"
        raise FigureError(f"{here} has no {name!r} text: {reason}.")
    return value.encode("utf-8", "replace").decode("utf-8")  # half a character cannot travel


def _only(given: Mapping[str, Any], allowed: set[str], here: str) -> None:
    extra = sorted(set(map(str, given)) - allowed)
    if extra:
        raise FigureError(
            f"{here} has the key {extra[0]!r}; the keys are {', '.join(sorted(allowed))}."
        )
