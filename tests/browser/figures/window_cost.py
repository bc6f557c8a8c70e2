"""What attention costs as pictures grow."""

from typing import Any

from attnlab.widgets import WindowCost
from attnlab.widgets.base import LiveFigure


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    side, e = state["size"] // state["patch"], state["width"]
    n, area = side**2, min(state["window"], side) ** 2
    return {
        "tokens": n, "everywhere": n**2, "inside": area * n,
        "globalCost": 4 * n * e**2 + 2 * n**2 * e, "windowCost": 4 * n * e**2 + 2 * area * n * e,
    }  # fmt: skip


def examples() -> list[LiveFigure]:
    return [
        WindowCost(),
        WindowCost(size=896, patch=8, window=12, width=128),
        WindowCost(size=112, patch=16, window=16),  # 7 × 7 tokens: smaller than a window
    ]


def rogue(words: list[str]) -> LiveFigure:
    return WindowCost(title=words[0])
