"""Gradients through time, against autograd through the cells of the library."""

from typing import Any

import torch

from attnlab.models.recurrent import LSTMCell, RNNCell, unroll, unroll_lstm
from attnlab.widgets import GradientThroughTime
from attnlab.widgets.base import LiveFigure


def tensor(array: Any) -> torch.Tensor:
    return torch.tensor(array).double()


def shares(last: torch.Tensor, x: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    """log10 of the gradient at distance 0, 1, 2 …, relative to the first."""
    (gradient,) = torch.autograd.grad((last * direction).sum(), x)
    sizes = gradient[0].norm(dim=-1).flip(0)
    return (sizes / sizes[0]).log10()


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    direction, x = tensor(state["direction"]), tensor(state["x"])[None].requires_grad_()
    hidden, inputs = len(direction), x.shape[-1]
    ih, hh = tensor(state["rnn_ih"]), state["scale"] * tensor(state["rnn_hh"])
    if state["linear"]:
        h = torch.zeros(1, hidden, dtype=torch.double)
        for now in x.unbind(1):
            h = now @ ih.T + h @ hh.T
    else:
        cell = RNNCell(inputs, hidden).double()
        zeros = torch.zeros(hidden)
        cell.load_state_dict({"weight_ih": ih, "weight_hh": hh, "bias_ih": zeros, "bias_hh": zeros})
        h = unroll(cell, x)[:, -1]
    rnn = shares(h, x, direction)
    gated = LSTMCell(inputs, hidden).double()
    bias = torch.zeros(4, hidden)
    bias[1] = state["forget"]  # i, f, g, o
    gated.load_state_dict(
        {
            "weight_ih": tensor(state["lstm_ih"]),
            "weight_hh": tensor(state["lstm_hh"]),
            "bias_ih": bias.flatten(),
            "bias_hh": torch.zeros(4 * hidden),
        }
    )
    lstm = shares(unroll_lstm(gated, x)[0][:, -1], x, direction)
    d = state["distance"]

    def below(curve: torch.Tensor) -> int:
        small = (curve < -2).nonzero()
        return int(small[0]) if len(small) else -1

    return {
        "rnn": rnn,
        "lstm": lstm,
        "distance": d,
        "left": {"rnn": rnn[d], "lstm": lstm[d]},
        "hundredth": {"rnn": below(rnn), "lstm": below(lstm)},
    }


def examples() -> list[LiveFigure]:
    return [
        GradientThroughTime(scale=0.9, forget=1.0),
        GradientThroughTime(scale=1.2, length=30, hidden=5, distance=7, linear=True),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return GradientThroughTime(title=words[0], caption=words[-1], alt=words[1])
