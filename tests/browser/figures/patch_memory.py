"""What the attention weights of a picture take in memory."""

from typing import Any

from attnlab.widgets import PatchMemory
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    side = state["size"] // state["patch"]
    one = 4 * side**4
    return {
        "side": side, "tokens": side**2, "numbers": 3 * state["patch"] ** 2, "one": one,
        "all": one * state["layers"] * state["heads"],
    }  # fmt: skip


def examples() -> list[LiveFigure]:
    image = random(40, 40, 3).sigmoid()
    return [
        PatchMemory(image=image, size=128, patch=1),
        PatchMemory(image=image, size=224, patch=16, layers=12, heads=6),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return PatchMemory(image=random(8, 8, 3).sigmoid(), title=words[0])
