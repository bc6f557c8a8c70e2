"""LayerNorm and BatchNorm on a small batch."""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from attnlab.widgets import NormAxes
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    x = torch.tensor(state["x"]).double()
    loud = x.clone()
    loud[0] *= state["volume"]

    def normalised(values: torch.Tensor) -> torch.Tensor:
        if state["norm"] == "layer":
            return F.layer_norm(values, values.shape[-1:])
        return F.batch_norm(values.flatten(0, 1), None, None, training=True).view_as(values)

    out = normalised(loud)
    rows, width = x.shape[0] * x.shape[1], x.shape[2]
    table = torch.arange(rows * width).view(rows, width)
    row, column = state["row"], state["column"]
    group = table[row] if state["norm"] == "layer" else table[:, column]
    values = loud.flatten()[group]
    return {
        "x": loud.flatten(),
        "out": out.flatten(),
        "group": group,
        "mean": values.mean(),
        "variance": values.var(correction=0),
        "moved": (out - normalised(x))[1:].abs().max() if len(x) > 1 else 0.0,
        "picked": row * width + column,
    }


def examples() -> list[LiveFigure]:
    words = ["the", "cat", "sleeps", "a", "dog", "runs"]
    return [
        NormAxes(random(2, 3, 5), tokens=words, row=4, column=2),
        NormAxes(random(3, 2, 4) + 1, norm="batch", volume=3.0),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return NormAxes(random(1, len(words), 3), tokens=words)
