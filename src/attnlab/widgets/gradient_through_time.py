"""How much gradient is left after so many steps: a vanilla RNN and an LSTM, with their knobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Float, Int, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, bundle, stylesheet

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    import torch

SCALE = (0.3, 1.6)  # beyond, a tanh network is so chaotic that two computers disagree
FORGET = (-2.0, 6.0)
LENGTH = (10, 80)


class GradientThroughTime(LiveFigure):
    """Drag the size of the recurrent weights, or the bias of the forget gate.

    The vanilla network is h_t = tanh(W x_t + s · Q h_{t-1}) with an orthogonal Q, so that s alone
    says how long a vector gets in one step. The LSTM has torch's random weights, and `forget` is
    added to its forget gates. Both read the same random numbers. Drawn is the gradient of the last
    state at the input `d` steps back, divided by the one at the last input.

    GradientThroughTime(scale=0.9, forget=1.0, distance=20)
    """

    figure = "gradient_through_time"
    _esm, _css = bundle("gradient_through_time"), stylesheet("gradient_through_time")
    made = ("x", "direction", "rnn_ih", "rnn_hh", "lstm_ih", "lstm_hh")

    scale = Float(0.9).tag(sync=True)
    forget = Float(0.0).tag(sync=True)
    distance = Int(20).tag(sync=True)
    linear = Bool(False).tag(sync=True)
    x = Array(ndim=(2,))  # (T, I)
    direction = Array(ndim=(1,))  # (H,): the question that is asked of the last state
    rnn_ih = Array(ndim=(2,))  # (H, I)
    rnn_hh = Array(ndim=(2,))  # (H, H), orthogonal
    lstm_ih = Array(ndim=(2,))  # (4H, I)
    lstm_hh = Array(ndim=(2,))  # (4H, H)

    def __init__(
        self,
        scale: float = 0.9,
        forget: float = 0.0,
        distance: int = 20,
        *,
        length: int = 50,
        hidden: int = 16,
        seed: int = 0,
        **traits: Any,
    ):
        if not LENGTH[0] <= length <= LENGTH[1] or not 1 <= hidden <= 64:
            raise FigureError(
                f"length is {length} and hidden {hidden}: the figure takes {LENGTH[0]} to "
                f"{LENGTH[1]} steps and 1 to 64 numbers in a state."
            )
        super().__init__(
            **_weights(length, hidden, seed),
            **{
                "alt": "Two falling curves on a logarithmic scale: the share of the gradient that "
                "is left against the distance in steps, for a vanilla RNN and an LSTM. Sliders "
                "change the recurrent weights and the forget gate.",
                **traits,
            },
        )
        self.scale, self.forget, self.distance = scale, forget, distance

    @validate("scale", "forget")
    def _within(self, proposal: Any) -> float:
        name, value = proposal["trait"].name, float(proposal["value"])
        low, high = SCALE if name == "scale" else FORGET
        if not low <= value <= high:
            raise FigureError(f"{name} is {value:g}: the slider goes from {low:g} to {high:g}.")
        return value

    @validate("distance")
    def _far(self, proposal: Any) -> int:
        last = LENGTH[1] - 1 if self.x is None else len(self.x) - 1
        if not 0 <= proposal["value"] <= last:
            raise FigureError(
                f"distance is {proposal['value']}: with {last + 1} steps, 0 to {last} exist."
            )
        return int(proposal["value"])


def _weights(length: int, hidden: int, seed: int) -> dict[str, torch.Tensor]:
    import torch

    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(hidden)

    def uniform(*shape: int) -> torch.Tensor:
        return (2 * torch.rand(*shape, generator=generator) - 1) * bound

    return {
        "x": torch.randn(length, hidden, generator=generator),
        "direction": torch.randn(hidden, generator=generator),
        "rnn_ih": uniform(hidden, hidden),
        "rnn_hh": torch.linalg.qr(torch.randn(hidden, hidden, generator=generator))[0],
        "lstm_ih": uniform(4 * hidden, hidden),
        "lstm_hh": uniform(4 * hidden, hidden),
    }
