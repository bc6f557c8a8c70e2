"""Who may see whom in three families."""

from typing import Any

from attnlab.training.corruption import views
from attnlab.widgets import FamilyMasks
from attnlab.widgets.base import LiveFigure
from tests.browser.live import Live
from tests.browser.twins import WORDS


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    family, words, hidden = state["family"], state["words"], state["hidden"]
    view = views(words, hidden, family)
    row = min(state["row"], len(view.reads) - 1)
    asks = {
        "GPT": [1] * len(view.reads),
        "BERT": [0, *map(int, hidden), 0],
        "T5": [int(place >= view.encoder) for place in range(len(view.reads))],
    }[family]
    return {
        "reads": view.reads,
        "says": view.says,
        "mask": view.mask,
        "encoder": view.encoder,
        "row": row,
        "seen": int(view.mask[row].sum()),
        "asks": asks,
        "asked": sum(asks),
    }


def examples() -> list[LiveFigure]:
    return [
        FamilyMasks(WORDS, hidden=[1, 2, 5], family="T5", row=3),
        FamilyMasks(WORDS[:4], hidden=[0], family="BERT"),
    ]


def lecture() -> LiveFigure:
    """Five words: their rows fit on a slide."""
    return FamilyMasks(WORDS[:5], hidden=[1, 2], family="T5", row=5)


def rogue(words: list[str]) -> LiveFigure:
    return FamilyMasks(words, hidden=[1], family="T5")


def move(live: Live) -> None:
    """There is no slider: choose the first token's row, or the second's."""
    rows = live.controls("button.al-fm-left")
    rows[1 if rows[0].get_attribute("aria-pressed") == "true" else 0].click()
