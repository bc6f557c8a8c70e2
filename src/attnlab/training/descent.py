"""How a model walks downhill: the size of the steps, how it changes, and what bounds them.

Descent(lr=3e-3)                                        # Adam, up for a moment, then down
Descent(lr=1e-3, schedule=inverse_sqrt, clip=None)
Descent(optimizer=torch.optim.SGD(model.parameters(), lr=0.1), schedule=constant)
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnlab.training.schedules import Schedule, cosine


@dataclass(frozen=True)
class Descent:
    """A recipe, which any number of trainings may share.

    - `lr` is the highest learning rate; `schedule` says which share of it holds when.
    - `clip` bounds the norm of the gradient.
    - `optimizer`: Adam with learning rate `lr`, unless given with a rate of its own.
    - `scaler`: for losses in float16, whose small gradients would vanish (Micikevicius et al.
      2018).
    """

    lr: float = 3e-3
    schedule: Schedule = cosine
    clip: float | None = 1.0
    optimizer: torch.optim.Optimizer | None = None
    scaler: torch.amp.GradScaler | None = None


class Walk:
    """A descent under way, with the weights of one model."""

    def __init__(self, descent: Descent, model: nn.Module) -> None:
        self.weights = list(model.parameters())
        on_cpu = all(weight.device.type == "cpu" for weight in self.weights)
        self.optimizer = descent.optimizer or torch.optim.Adam(
            self.weights, lr=descent.lr, fused=on_cpu
        )
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.schedule, self.clip = descent.schedule, descent.clip
        self.scaler = descent.scaler or torch.amp.GradScaler("cpu", enabled=False)

    def step(self, loss: Tensor, done: float) -> None:
        """Backwards from `loss`, then one move; `done` of the training, 0…1, is over."""
        self._set_rates(self.schedule(done))
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        if self.clip is not None:
            self.scaler.unscale_(self.optimizer)  # the bound is for gradients of their true size
            nn.utils.clip_grad_norm_(self.weights, self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def end(self) -> None:
        """An optimizer that was given goes back with the rates it came with."""
        self._set_rates(1.0)

    def _set_rates(self, factor: float) -> None:
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
