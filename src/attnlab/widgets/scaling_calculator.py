"""What a training costs: parameters and tokens in, operations, days, memory and money out."""

from typing import Any

from traitlets import Float, Int, Unicode, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet, together

RANGES = {
    "parameters": (1e3, 1e13),
    "tokens": (1e3, 1e15),
    "count": (1, 2**17),
    "utilisation": (0.01, 1.0),
    "price": (0.0, 100.0),
}


class ScalingCalculator(LiveFigure):
    """Parameters N, tokens D, a device -> 6ND operations, days, memory, cost.

    ScalingCalculator("Gopher", device="TPU v3 chip", count=4096)
    ScalingCalculator("", parameters=1e8, tokens=2e9)
    """

    figure = "scaling_calculator"
    _esm, _css = bundle("scaling_calculator"), stylesheet("scaling_calculator")

    preset = Unicode("").tag(sync=True)  # "" for your own sizes
    parameters = Float(1e9).tag(sync=True)
    tokens = Float(2e10).tag(sync=True)
    device = Unicode("A100").tag(sync=True)
    count = Int(1).tag(sync=True)
    utilisation = Float(0.4).tag(sync=True)  # share of the peak that is reached
    price = Float(1.0).tag(sync=True)  # dollars per hour and device

    def __init__(self, preset: str = "Gopher", **traits: Any):
        from attnlab.training.cost import PRESETS  # torch comes with it

        if preset and preset not in PRESETS:
            raise FigureError(
                f"there is no preset {preset!r}: choose one of {', '.join(PRESETS)}, or ''."
            )
        sizes = dict(zip(("parameters", "tokens"), PRESETS.get(preset, ()), strict=False))
        alt = "A calculator: the operations, days, memory and price of training a model of a "
        super().__init__(preset=preset, **{"alt": alt + "given size.", **sizes, **traits})

    @validate("device")
    def _known(self, proposal: Any) -> str:
        from attnlab.training.cost import DEVICES

        if proposal["value"] not in DEVICES:
            raise FigureError(
                f"device is {proposal['value']!r}: choose one of {', '.join(DEVICES)}."
            )
        return str(proposal["value"])

    @together(*RANGES)
    def _in_range(self, **now: float) -> None:
        for name, (low, high) in RANGES.items():
            if not low <= now[name] <= high:
                raise FigureError(f"{name} is {now[name]:g}: it goes from {low:g} to {high:g}.")
