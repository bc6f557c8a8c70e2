"""Learning curves of many runs, two of them compared: by steps, or by seconds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from traitlets import Enum, Int

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    Numbers,
    Words,
    bundle,
    stylesheet,
    together,
)


class LadderExplorer(LiveFigure):
    """Choose two rungs; read how far each gets, and when one passes the other's last loss.

    LadderExplorer(ladder, labels={"2017": "2017"})        what `training/ladder.py` wrote

    Lines are means over the seeds, bands go from the best to the worst seed.
    """

    figure = "ladder_explorer"
    made = ("names", "steps", "curves", "seconds")
    _esm, _css = bundle("ladder_explorer"), stylesheet("ladder_explorer")

    names = Words()
    steps = Numbers()  # at which the loss was measured
    curves = Array(ndim=(3,))  # (runs, seeds, steps)
    seconds = Numbers()  # of one step, for each run
    first = Int(0).tag(sync=True)
    second = Int(0).tag(sync=True)
    axis = Enum(("steps", "seconds"), "steps").tag(sync=True)

    def __init__(
        self, ladder: Mapping[str, Any], labels: Mapping[str, str] | None = None, **traits: Any
    ):
        if not isinstance(ladder, Mapping) or not ladder:
            raise FigureError("the ladder is empty or no mapping: give name -> runs (ladder.json).")
        curves = [[run["valid"] for run in rung["runs"]] for rung in ladder.values()]
        if len({np.shape(one) for one in curves}) > 1:
            raise FigureError("every rung needs the same number of seeds and of measurements.")
        super().__init__(
            names=[(labels or {}).get(name, name) for name in ladder],
            steps=next(iter(ladder.values()))["runs"][0]["steps"],
            curves=curves,
            seconds=[rung["step_seconds"] for rung in ladder.values()],
            **{
                "second": len(ladder) - 1,
                "alt": "Loss on held-out text of many runs against steps or seconds, two lit.",
                **traits,
            },
        )

    @together("names", "first", "second")
    def _fits(self, names: list[str], first: int, second: int) -> None:
        for name, value in (("first", first), ("second", second)):
            if names and not 0 <= value < len(names):
                raise FigureError(f"{name} is {value}, but there are {len(names)} runs, from 0.")
