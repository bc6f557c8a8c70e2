"""Similarity of positional encodings."""

from typing import Any

import torch

from attnlab.layers.positions import sinusoidal, sinusoidal_2d
from attnlab.widgets import PositionSimilarity
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    shapes, chosen = state["shapes"], min(state["chosen"], len(state["shapes"]) - 1)
    sizes = [torch.Size(shape).numel() for shape in shapes]
    flat = torch.tensor(state["tables"]).split(sizes)[chosen]
    table = torch.nn.functional.normalize(flat.reshape(shapes[chosen]).double(), dim=-1)
    grid = table.dim() == 3
    shared = {"chosen": chosen, "grid": grid, "shape": shapes[chosen]}
    if grid:
        row, column = min(state["row"], len(table) - 1), min(state["column"], table.shape[1] - 1)
        similarity = (table @ table[row, column]).flatten()
        return {**shared, "row": row, "column": column, "similarity": similarity}
    place = min(state["place"], len(table) - 1)
    matrix = table @ table.T
    return {**shared, "place": place, "similarity": matrix[place], "matrix": matrix}


def examples() -> list[LiveFigure]:
    encodings = {
        "sinusoids": sinusoidal(20, 8),
        "random": random(13, 6),
        "2-D": sinusoidal_2d(5, 7, 16),
    }
    image = random(10, 14, 3).sigmoid()
    return [
        PositionSimilarity(encodings, place=4),
        PositionSimilarity(encodings, image=image, chosen=2, row=1, column=2),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return PositionSimilarity({word: sinusoidal(9, 4) for word in words}, title=words[0])
