"""The timeline."""

from typing import Any

from attnlab.widgets import Timeline
from attnlab.widgets.base import LiveFigure

YEARS = (1986, 1997, 2014, 2014, 2017, 2020)


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    events, thread = state["events"], state["thread"]
    shown = [i for i, event in enumerate(events) if thread in ("", event["thread"])]
    at = max((n for n, place in enumerate(shown) if place <= state["selected"]), default=0)
    years = [events[place]["year"] for place in shown]
    return {
        "shown": shown,
        "at": at,
        "year": years[at],
        "gap": years[at] - years[at - 1] if at else 0,
        "since": years[at] - years[0],
    }


def examples() -> list[LiveFigure]:
    events = [
        {"year": year, "name": f"Event {i}", "text": "What changed.", "thread": "ab"[i % 2]}
        for i, year in enumerate(YEARS)
    ]
    return [Timeline(events, selected=1)]


def lecture() -> LiveFigure:
    """More events than a slide is wide: the line scrolls."""
    names = ("Attention", "Transformer", "Sequence to sequence")
    events = [
        {"year": 2000 + i, "name": names[i % 3], "text": "What changed.", "thread": "ab"[i % 2]}
        for i in range(18)
    ]
    return Timeline(events, selected=3)


def rogue(words: list[str]) -> LiveFigure:
    events = [
        {"year": 2000 + i, "name": word, "text": word, "thread": word, "paper": word}
        for i, word in enumerate(words)
    ]
    return Timeline(events, title=words[0], caption=words[1])
