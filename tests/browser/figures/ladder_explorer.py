"""Learning curves: means, ranges, and where one run passes another."""

from typing import Any

import numpy as np

from attnlab.widgets import LadderExplorer
from attnlab.widgets.base import LiveFigure
from tests.browser.live import Live
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    curves = np.asarray(state["curves"], dtype=float)  # (runs, seeds, steps)
    mean, steps = curves.mean(1), state["steps"]
    first, second = state["first"], state["second"]
    goal = mean[first, -1]
    under = np.flatnonzero(mean[second] <= goal)
    passed = steps[under[0]] if len(under) else 0
    return {
        "mean": mean.tolist(),
        "low": curves.min(1).tolist(),
        "high": curves.max(1).tolist(),
        "goal": goal,
        "end": mean[second, -1],
        "passed": passed,
        "share": passed / steps[-1],
        "time": passed * state["seconds"][second],
        "budget": steps[-1] * state["seconds"][first],
    }


def ladder(names: list[str]) -> dict[str, Any]:
    falls = 2.0 + 1.0 / (1 + np.arange(5))
    noise = 0.1 * random(len(names), 3, 5).numpy()
    return {
        name: {
            "runs": [
                {"steps": [20, 40, 60, 80, 100], "valid": (falls + noise[i, s] - 0.1 * i).tolist()}
                for s in range(3)
            ],
            "step_seconds": 0.02 + 0.01 * i,
        }
        for i, name in enumerate(names)
    }


def examples() -> list[LiveFigure]:
    made = ladder(["2017", "+ RoPE", "+ SOAP", "++"])
    return [
        LadderExplorer(made),
        LadderExplorer(made, first=3, second=0, axis="seconds"),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return LadderExplorer(ladder(list(dict.fromkeys(words))), title=words[0])


def move(live: Live) -> None:
    """Compare with another run."""
    other = "1" if live.state()["second"] != 1 else "2"
    live.controls("select")[1].select_option(other)
