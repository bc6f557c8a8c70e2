"""Softmax bars."""

from typing import Any

import torch

from attnlab.widgets import SoftmaxTemperature
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import WORDS, entropy


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    scores = torch.tensor(state["scores"], dtype=torch.float64)
    weights = (scores / state["temperature"]).softmax(-1)
    return {
        "weights": weights,
        "temperature": state["temperature"],
        "entropy": entropy(weights),
        "largest": torch.nonzero(scores == scores.max())[:, 0],
    }


def examples() -> list[LiveFigure]:
    return [SoftmaxTemperature(WORDS[:4], [2.0, 1.0, 0.5, -1.0])]


def rogue(words: list[str]) -> LiveFigure:
    return SoftmaxTemperature(words, list(range(len(words))))
