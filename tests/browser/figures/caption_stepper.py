"""The captioner's steps."""

import math
from typing import Any

import numpy as np
import torch

from attnlab import attention
from attnlab.widgets import CaptionStepper
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import entropy, random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    scene = state["scenes"][state["scene"]]
    word = min(state["word"], len(scene["words"]) - 1)
    rows, columns = scene["grid"]
    scores = torch.tensor(scene["scores"][word], dtype=torch.float64)
    weights = attention.softmax(scores / state["temperature"], None)
    width, height = scene["size"]
    y = (torch.arange(rows) + 0.5)[:, None] * height / rows
    x = (torch.arange(columns) + 0.5)[None, :] * width / columns
    cells = torch.zeros(rows, columns, dtype=torch.bool)
    for left, top, right, bottom in scene["boxes"][word]:
        cells |= (y >= top) & (y < bottom) & (x >= left) & (x < right)
    peak = int(weights.argmax())
    hit = "inside" if cells.flatten()[peak] else "outside"
    return {
        "scene": state["scene"],
        "word": word,
        "said": scene["words"][word],
        "temperature": state["temperature"],
        "weights": weights.view(rows, columns),
        "peak": [peak // columns, peak % columns],
        "largest": weights.max(),
        "entropy": entropy(weights),
        "inside": weights.view(rows, columns)[cells].sum(),
        "hit": hit if scene["boxes"][word] else "no object word",
    }


def scene(words: list[str], rows: int, columns: int, **more: Any) -> dict[str, Any]:
    """A picture of stripes, 60 by 48 pixels, with random weights."""
    stripes = np.arange(60)[None, :, None] * np.array([4, 1, 2]) + np.arange(48)[:, None, None]
    weights = (3 * random(len(words), rows * columns)).softmax(-1).view(-1, rows, columns)
    return {"picture": stripes.astype(np.uint8), "words": words, "weights": weights, **more}


def examples() -> list[LiveFigure]:
    cat = ["a", "cat", "on", "sand"]
    two = ["two", "red", "cars", "above", "an", "owl"]
    boxes = {1: [(0, 0, 30, 30)]}
    return [
        CaptionStepper(
            [
                scene(cat, 4, 5, boxes=boxes, right=cat),
                scene(
                    two, 3, 5, boxes={1: [(0, 0, 20, 20), (30, 4, 50, 28)], 5: [(30, 30, 60, 48)]}
                ),
                scene(cat, 4, 5, boxes=boxes, right=["a", "dog", "on", "sand"]),
            ],
            word=1,
        )
    ]


def rogue(words: list[str]) -> LiveFigure:
    return CaptionStepper(
        [scene(words, 3, 4, right=words), scene(words[::-1], 2, 3, right=words)],
        title=words[0],
        caption=words[1],
        alt=words[2],
        temperature=math.e,
    )
