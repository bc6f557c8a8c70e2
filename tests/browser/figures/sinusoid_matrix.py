"""The matrix of sinusoids and the binary counter."""

import math
from typing import Any

import torch

from attnlab.layers.positions import frequencies, sinusoidal
from attnlab.widgets import SinusoidMatrix
from attnlab.widgets.base import LiveFigure


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    length, width, base = state["length"], state["width"], state["base"]
    if state["view"] == "binary":
        digits = [f"{place:b}"[::-1] for place in range(length)]
        count = len(digits[-1])
        matrix = torch.tensor([[int(c) for c in text.ljust(count, "0")] for text in digits])
    else:
        matrix = sinusoidal(length, width, base=base)
    place = min(state["place"], length - 1)
    dim = min(state["dim"], matrix.shape[1] - 1)
    wavelength = (
        2 ** (dim + 1)
        if state["view"] == "binary"
        else 2 * math.pi / frequencies(width, base)[dim // 2]
    )
    return {
        "view": state["view"],
        "place": place,
        "dim": dim,
        "base": base,
        "value": matrix[place, dim],
        "wavelength": wavelength,
        "row": matrix[place],
        "wave": matrix[:, dim],
        "matrix": matrix,
    }


def examples() -> list[LiveFigure]:
    return [
        SinusoidMatrix(length=23, width=12, place=5, dim=3),
        SinusoidMatrix(length=16, width=8, view="binary", base=100),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return SinusoidMatrix(length=9, width=6, place=2, title=words[0], caption=words[6])
