"""How far a training may go, and what happened on the way."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Budget:
    """Steps, CPU seconds, or both: whichever is spent first."""

    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not (self.steps or self.seconds):
            raise ValueError("fit needs a budget: give steps=…, seconds=… (CPU time), or both.")


@dataclass
class History:
    """What happened. `stopped` says why it ended: "steps", "seconds", "bar", "interrupted" or
    "data".
    """

    budget: Budget
    losses: list[float] = field(default_factory=list)  # one per step
    scores: list[dict[str, float]] = field(default_factory=list)  # each with "step" and "seconds"
    seconds: float = 0.0  # CPU time of the steps alone
    stopped: str = ""

    @property
    def steps(self) -> int:
        return len(self.losses)

    @property
    def done(self) -> float:
        """How much of the budget is spent, 0…1: of the steps or the seconds, whichever is further
        along.
        """
        shares = [self.steps / self.budget.steps] if self.budget.steps else []
        shares += [self.seconds / self.budget.seconds] if self.budget.seconds else []
        return min(max(shares), 1.0)

    def add(self, loss: float, seconds: float) -> None:
        """One more step; the last that the budget allows stops the training."""
        self.losses.append(loss)
        self.seconds += seconds
        if self.done == 1:
            self.stopped = "steps" if self.steps == self.budget.steps else "seconds"

    def smooth(self, last: int = 50) -> float:
        """Mean of the last losses: one batch says little."""
        recent = self.losses[-last:]
        return sum(recent) / len(recent) if recent else math.nan
