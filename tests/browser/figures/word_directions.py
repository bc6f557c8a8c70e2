"""Word arithmetic."""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from attnlab.widgets import WordDirections
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import WORDS, random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    vectors = torch.from_numpy(state["vectors"].copy()).double()
    three = [state[name] for name in ("start", "away", "towards")]
    a, b, c = vectors[three]
    point = a + state["amount"] * (c - b)
    cosines = F.cosine_similarity(point[None], vectors, dim=-1)
    ranked = cosines.clone()
    if state["leave_out"]:
        ranked[three] = -torch.inf
    count = min(6, int(ranked.isfinite().sum()))
    nearest = ranked.sort(descending=True, stable=True).indices[:count]
    along = _unit(c - b)
    across = _unit(a - (a @ along) * along)
    plane = torch.stack([along, across], dim=1)  # (width, 2)
    return {
        "nearest": nearest,
        "cosines": cosines[nearest],
        "amount": state["amount"],
        "plane": {
            "start": a @ plane,
            "away": b @ plane,
            "towards": c @ plane,
            "point": point @ plane,
            "nearest": vectors[nearest] @ plane,
        },
    }


def _unit(vector: torch.Tensor) -> torch.Tensor:
    size = vector.norm()
    return vector / size if size else vector


def examples() -> list[LiveFigure]:
    words = [f"{word} {i}" for i, word in enumerate(WORDS)]
    return [WordDirections(words, random(7, 5), start=words[1], away=words[4], towards=words[2])]


def rogue(words: list[str]) -> LiveFigure:
    return WordDirections(
        words, random(len(words), 4), start=words[0], away=words[1], towards=words[2]
    )
