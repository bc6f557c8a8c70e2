"""The network that every token passes on its own, after it has looked at the others.

B batch, L length, E model width, F hidden width.
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # as GPT-2 computes it
}


class FeedForward(nn.Module):
    """The same two-layer network at every position: wide, a kink, and narrow again.

    No dropout inside, as in the paper (§5.4); `torch.nn.Transformer` has some.
    """

    def __init__(
        self, width: int, hidden: int, activation: str = "relu", bias: bool = True
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation is {activation!r}, but it must be one of {', '.join(ACTIVATIONS)}."
            )
        self.wide = nn.Linear(width, hidden, bias)
        self.narrow = nn.Linear(hidden, width, bias)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(self.activation(self.wide(x)))  # (B, L, F) inside


GATES: dict[str, Callable[[Tensor], Tensor]] = {"swiglu": F.silu, "geglu": F.gelu}


class GatedFeedForward(nn.Module):
    """SwiGLU or GeGLU: the kink decides how much of a second, straight projection passes.

    Shazeer 2020. Three matrices instead of two: with two thirds of the hidden width (`gated_width`)
    it has as many weights as `FeedForward`.
    """

    def __init__(self, width: int, hidden: int, gate: str = "swiglu", bias: bool = False) -> None:
        super().__init__()
        if gate not in GATES:
            raise ValueError(f"gate is {gate!r}, but it must be one of {', '.join(GATES)}.")
        self.gate = nn.Linear(width, hidden, bias)
        self.wide = nn.Linear(width, hidden, bias)
        self.narrow = nn.Linear(hidden, width, bias)
        self.opening = GATES[gate]

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(self.opening(self.gate(x)) * self.wide(x))  # (B, L, F) inside


def gated_width(hidden: int) -> int:
    """The hidden width at which three matrices weigh as much as two of width `hidden`."""
    return round(hidden * 2 / 3)
