"""Layer normalisation against batch normalisation: whose numbers make the mean?"""

import math
from typing import Any

from traitlets import Enum, Float, Int, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, Words, bundle, stylesheet, together

NORMS = ("layer", "batch")
LARGEST = (6, 8, 12)  # sentences, tokens, features that still fit on a page


class NormAxes(LiveFigure):
    """Three sentences of vectors. Pick a number and see which others share its mean and variance.

    NormAxes(x, tokens=["the", "cat", …])            x (sentences, tokens, features)
    """

    figure = "norm_axes"
    _esm, _css = bundle("norm_axes"), stylesheet("norm_axes")

    x = Array(ndim=(3,))
    tokens = Words()  # row after row: one per token of each sentence, or none
    norm = Enum(NORMS, "layer").tag(sync=True)
    volume = Float(1.0).tag(sync=True)  # of the first sentence
    row = Int(0).tag(sync=True)  # sentence · tokens + token
    column = Int(0).tag(sync=True)

    def __init__(self, x: Any, **traits: Any):
        super().__init__(
            x=x,
            **{
                "alt": "Tables of numbers, one per sentence, normalised over a token's features "
                "(LayerNorm) or over all tokens of the batch (BatchNorm).",
                **traits,
            },
        )

    @together("x", "tokens", "row", "column")
    def _fits(self, x: Any, tokens: list[str], row: int, column: int) -> None:
        if 0 in x.shape or any(n > m for n, m in zip(x.shape, LARGEST, strict=True)):
            raise FigureError(
                f"x has shape {x.shape}, but (sentences, tokens, features) up to {LARGEST} is "
                "expected, none of them 0: show a part of it."
            )
        count = x.shape[0] * x.shape[1]
        if tokens and len(tokens) != count:
            raise FigureError(
                f"{len(tokens)} tokens were given for {count} rows of x: give one word for each "
                "row of each sentence, or none."
            )
        if not 0 <= row < count or not 0 <= column < x.shape[2]:
            raise FigureError(
                f"row {row}, column {column} was chosen, but there are {count} rows and "
                f"{x.shape[2]} columns, counted from 0."
            )

    @validate("volume")
    def _loud(self, proposal: Any) -> float:
        if not 0.1 <= proposal["value"] <= 10 or not math.isfinite(proposal["value"]):
            raise FigureError(f"volume is {proposal['value']}: it must lie between 0.1 and 10.")
        return float(proposal["value"])
