"""What a training costs, against the library's formulas."""

import math
from typing import Any

from attnlab.training import cost
from attnlab.widgets import ScalingCalculator
from attnlab.widgets.base import LiveFigure


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    n, d, device = state["parameters"], state["tokens"], cost.DEVICES[state["device"]]
    flops = cost.operations(n, d)
    time = cost.seconds(
        flops, device, count=state["count"], utilisation=state["utilisation"]
    )  # seconds
    best = cost.best_size(flops)
    return {
        "log_flops": math.log10(flops),
        "log_seconds": math.log10(time),
        "log_memory": math.log10(cost.BYTES * n),
        "devices_for_memory": math.ceil(cost.BYTES * n / device.memory),
        "log_cost": math.log10(1 + time / 3600 * state["count"] * state["price"]),
        "per_parameter": d / n,
        "log_best": math.log10(best),
        "loss": cost.published_loss(n, d),
        "best_loss": cost.published_loss(best, cost.PER_PARAMETER * best),
    }


def examples() -> list[LiveFigure]:
    return [
        ScalingCalculator("Gopher", device="TPU v3 chip", count=4096),
        ScalingCalculator("", parameters=1.3e8, tokens=2e9, device="T4", utilisation=0.3),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return ScalingCalculator("ours", title=words[0], caption=words[-1])
