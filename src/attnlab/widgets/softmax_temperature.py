"""Softmax bars with a temperature slider."""

from collections.abc import Sequence
from typing import Any

from attnlab.widgets.base import (
    FigureError,
    LiveFigure,
    Numbers,
    Temperature,
    Words,
    bundle,
    stylesheet,
    together,
)


class SoftmaxTemperature(LiveFigure):
    """Drag the temperature, or any score, and watch the weights.

    SoftmaxTemperature(["film A", "film B"], [2.0, 0.5], temperature=1.0)
    """

    figure = "softmax_temperature"
    _esm, _css = bundle("softmax_temperature"), stylesheet("softmax_temperature")

    labels = Words()
    scores = Numbers()
    temperature = Temperature("Near 0 the softmax becomes a hard choice, so try 0.05.")

    def __init__(self, labels: Sequence[str], scores: Sequence[float], **traits: Any):
        super().__init__(
            labels=labels,
            scores=scores,
            **{
                "alt": "Bars of softmax weights with a temperature slider: "
                "cold sharpens, hot flattens.",
                **traits,
            },
        )

    @together("labels", "scores")
    def _one_each(self, labels: list[str], scores: list[float]) -> None:
        if len(labels) != len(scores) or not labels:
            raise FigureError(
                f"{len(labels)} labels and {len(scores)} scores: give one label for each score, "
                "both at once with figure.change(...)."
            )
