"""Accuracy of several encodings at lengths they were, and were not, trained on."""

from typing import Any

import numpy as np
from traitlets import Bool, Int, List, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, Words, bundle, stylesheet, together


class ExtrapolationPlot(LiveFigure):
    """Choose encodings, slide the test length, read the ranking.

    ExtrapolationPlot(
        ["RoPE", "ALiBi"], lengths=[16, 32, 64], accuracy=scores, trained=32, tasks=["echo"]
    )

    `accuracy` is (tasks, encodings, seeds, lengths), 0 to 1; `at` is the slider's index in
    `lengths`, and `shown` says for each encoding whether its curve is drawn.
    """

    figure = "extrapolation_plot"
    _esm, _css = bundle("extrapolation_plot"), stylesheet("extrapolation_plot")

    names = Words()
    tasks = Words()
    lengths = Array(ndim=(1,))
    accuracy = Array(ndim=(4,))
    trained = Int(1).tag(sync=True)
    task = Int(0).tag(sync=True)
    at = Int(0).tag(sync=True)
    shown = List(Bool()).tag(sync=True)

    def __init__(self, names: Any, lengths: Any, accuracy: Any, trained: int, **traits: Any):
        super().__init__(
            names=names,
            lengths=lengths,
            accuracy=accuracy,
            trained=trained,
            **{
                "tasks": ["task"],
                "alt": "Accuracy of several positional encodings against the length of the test "
                "sequence, with the trained length marked: some curves stay up beyond it, others "
                "fall at once.",
                **traits,
            },
        )
        if "at" not in traits:
            self.at = len(self.lengths) - 1
        if "shown" not in traits:
            self.shown = [True] * len(self.names)

    @together("names", "lengths", "accuracy", "tasks", "shown")
    def _fits(self, **now: Any) -> None:
        _check(**now)

    @validate("trained", "task", "at")
    def _counted(self, proposal: Any) -> int:
        least = 1 if proposal["trait"].name == "trained" else 0
        if proposal["value"] < least:
            raise FigureError(
                f"{proposal['trait'].name} is {proposal['value']}: give {least} or more."
            )
        return proposal["value"]


def _check(
    names: list[str],
    lengths: np.ndarray,
    accuracy: np.ndarray,
    tasks: list[str],
    shown: list[bool],
) -> None:
    if 0 in accuracy.shape:
        raise FigureError(
            f"accuracy has shape {accuracy.shape}: give (tasks, encodings, seeds, lengths)."
        )
    expected = (len(tasks), len(names), accuracy.shape[2], lengths.size)
    if accuracy.shape != expected:
        raise FigureError(
            f"accuracy has shape {accuracy.shape}, but {len(tasks)} tasks, {len(names)} names and "
            f"{lengths.size} lengths were given: make it {expected}."
        )
    if shown and len(shown) != len(names):
        raise FigureError(
            f"shown has {len(shown)} entries for {len(names)} names: give True or False for each."
        )
    if accuracy.min() < 0 or accuracy.max() > 1:
        raise FigureError(
            f"accuracy goes from {accuracy.min():.2f} to {accuracy.max():.2f}: give shares, 0 to 1."
        )
    if (np.diff(lengths) <= 0).any() or lengths[0] <= 0:
        raise FigureError("lengths must be positive and grow: sort them, and drop repetitions.")
