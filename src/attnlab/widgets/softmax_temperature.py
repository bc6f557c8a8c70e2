"""Softmax bars with a temperature slider."""

import math
from collections.abc import Sequence
from typing import Any

from traitlets import Float, List, validate

from attnlab.widgets.base import FigureError, LiveFigure, Temperature, Words, bundle, stylesheet


class SoftmaxTemperature(LiveFigure):
    """Drag the temperature, or any score, and watch the weights.

    SoftmaxTemperature(["film A", "film B"], [2.0, 0.5], temperature=1.0)
    """

    figure = "softmax_temperature"
    _esm, _css = bundle("softmax_temperature"), stylesheet("softmax_temperature")

    labels = Words()
    scores = List(Float()).tag(sync=True)
    temperature = Temperature("Near 0 the softmax becomes a hard choice, so try 0.05.")

    def __init__(self, labels: Sequence[str], scores: Sequence[float], **traits: Any):
        if len(labels) != len(scores) or not len(labels):
            raise FigureError(
                f"{len(labels)} labels and {len(scores)} scores: give one label for each score."
            )
        super().__init__(
            labels=labels,
            scores=[float(score) for score in scores],
            **{
                "alt": "Bars of softmax weights with a temperature slider: "
                "cold sharpens, hot flattens.",
                **traits,
            },
        )

    @validate("scores")
    def _finite(self, proposal: Any) -> list[float]:
        for place, score in enumerate(proposal["value"]):
            if not math.isfinite(score):
                raise FigureError(
                    f"score {place} is {score}: this figure needs finite numbers. "
                    "To leave an entry out, drop it and its label."
                )
        return list(proposal["value"])
