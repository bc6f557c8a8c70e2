"""The quiz."""

from typing import Any

from attnlab.widgets import Quiz
from attnlab.widgets.base import LiveFigure
from tests.browser.live import Live


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    """The Python side counts again from the answers given."""
    figure = Quiz(state["questions"])
    figure.answers = state["answers"]
    found = 0
    for number, question in enumerate(state["questions"]):
        right = {i for i, choice in enumerate(question["choices"]) if choice["correct"]}
        found += right <= set(state["answers"].get(str(number), ()))
    assert figure.score == state["score"], "the page and Python count the score differently"
    return {"answered": found, "correct": figure.score, "total": len(state["questions"])}


def examples() -> list[LiveFigure]:
    question = "What do the weights of one query sum to?"
    choices = [
        {"text": "`1`", "correct": True, "why": "Softmax divides by the sum."},
        {"text": "`n`", "why": "That is the sum of *n* ones."},
    ]
    second = {"question": f"And again: {question}", "choices": choices[::-1]}
    return [Quiz([{"question": question, "choices": choices}, second], title="Test")]


def rogue(words: list[str]) -> LiveFigure:
    choices = [
        {"text": words[0], "correct": True, "why": words[2]},
        {"text": words[6], "why": words[1]},
    ]
    return Quiz([{"question": words[1], "choices": choices}])


def move(live: Live) -> None:
    """A quiz has no slider: open the choices of the first question one by one."""
    for choice in live.controls("[role=group][aria-label^=Choices] button"):
        choice.click()
