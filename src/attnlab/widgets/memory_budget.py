"""What training a model takes on each GPU: weights, gradients, optimiser, activations."""

from typing import Any

from traitlets import Bool, Float, Int, Unicode

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet, together

OPTIMISERS = {"sgd": 0, "adamw": 2, "soap": 2}  # numbers of float32 kept per parameter
LIMITS = {
    "layers": (1, 200), "width": (64, 20_000), "vocabulary": (0, 300_000), "length": (16, 131_072),
    "batch": (1, 512), "gpus": (1, 1024), "card": (4, 300),
}  # fmt: skip


class MemoryBudget(LiveFigure):
    """Move sizes and the number of GPUs; see what each must hold, with DDP and with FSDP.

    MemoryBudget(layers=32, width=4096, vocabulary=32_000, gpus=8, card=80)

    Counted as in `attnlab.training.memory`, which gives the rules. `card` is in GiB.
    """

    figure = "memory_budget"
    _esm, _css = bundle("memory_budget"), stylesheet("memory_budget")

    layers = Int(32).tag(sync=True)
    width = Int(4096).tag(sync=True)
    vocabulary = Int(32_000).tag(sync=True)
    length = Int(2048).tag(sync=True)
    batch = Int(1).tag(sync=True)  # sequences on one GPU at a time
    gpus = Int(8).tag(sync=True)
    card = Float(80.0).tag(sync=True)
    optimiser = Unicode("adamw").tag(sync=True)
    mixed = Bool(True).tag(sync=True)  # compute in bfloat16, keep float32 beside it
    recompute = Bool(False).tag(sync=True)  # keep only what enters each block

    def __init__(self, **traits: Any):
        super().__init__(
            **{"alt": "What each GPU holds in training, with DDP and with FSDP.", **traits}
        )

    @together(*LIMITS, "optimiser")
    def _fits(self, **now: Any) -> None:
        for name, (low, high) in LIMITS.items():
            if not low <= now[name] <= high:
                raise FigureError(f"{name} is {now[name]}, but it must be from {low} to {high}.")
        if now["optimiser"] not in OPTIMISERS:
            raise FigureError(
                f"optimiser is {now['optimiser']!r}, but it must be one of {', '.join(OPTIMISERS)}."
            )
