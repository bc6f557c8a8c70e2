"""Recurrent cells by hand: h_t = f(h_{t-1}, x_t). Equal to torch's cells on the same weights.

B batch, T time, I input width, H hidden width. The weights have torch's names, shapes and order
of gates, so `cell.load_state_dict(nn.GRUCell(I, H).state_dict())` works, and vice versa.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Cell(nn.Module):
    """Two linear maps, of the input and of the last state; each cell mixes their `gates` blocks
    in its own way.
    """

    gates: int

    def __init__(self, input_width: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        rows = self.gates * hidden
        self.weight_ih = nn.Parameter(torch.empty(rows, input_width))
        self.weight_hh = nn.Parameter(torch.empty(rows, hidden))
        self.bias_ih = nn.Parameter(torch.empty(rows))
        self.bias_hh = nn.Parameter(torch.empty(rows))
        for parameter in self.parameters():  # as torch does
            nn.init.uniform_(parameter, -1 / math.sqrt(hidden), 1 / math.sqrt(hidden))

    def start(self, batch: int) -> Tensor:
        """The state before anything was read: zeros, (B, H)."""
        return self.weight_hh.new_zeros(batch, self.hidden)


class RNNCell(Cell):
    """The vanilla cell (Elman 1990): h' = tanh(W x + U h + b)."""

    gates = 1

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """(B, I), (B, H) -> (B, H)."""
        return torch.tanh(
            F.linear(x, self.weight_ih, self.bias_ih) + F.linear(h, self.weight_hh, self.bias_hh)
        )


class LSTMCell(Cell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): a memory c that is added to, not
    overwritten.

    i, f, o = σ(…)                 what to write, what to keep, what to show
    g       = tanh(…)              what could be written
    c'      = f ⊙ c + i ⊙ g
    h'      = o ⊙ tanh(c')
    """

    gates = 4

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """(B, I), ((B, H), (B, H)) -> (h', c')."""
        h, c = state
        mixed = F.linear(x, self.weight_ih, self.bias_ih) + F.linear(
            h, self.weight_hh, self.bias_hh
        )
        i, f, g, o = mixed.chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class GRUCell(Cell):
    """Gated recurrent unit (Cho et al. 2014): one state, mixed from the old one and a candidate.

    r, z = σ(…)                              reset, update
    n    = tanh(W x + r ⊙ (U h))             the candidate
    h'   = (1 − z) ⊙ n + z ⊙ h

    The reset acts on U h, as in torch and cuDNN; in the paper it acts on h itself.
    """

    gates = 3

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """(B, I), (B, H) -> (B, H)."""
        return self.mix(F.linear(x, self.weight_ih, self.bias_ih), h)

    def mix(self, of_input: Tensor, h: Tensor) -> Tensor:
        """The step when W x + b is known already: (B, 3H), (B, H) -> (B, H)."""
        of_state = F.linear(h, self.weight_hh, self.bias_hh)
        width = 2 * self.hidden
        gates = torch.sigmoid(of_input[:, :width] + of_state[:, :width])  # r and z in one go
        r, z = gates.chunk(2, dim=-1)
        n = torch.tanh(torch.addcmul(of_input[:, width:], r, of_state[:, width:]))
        return torch.lerp(n, h, z)  # n + z ⊙ (h − n)


def unroll(cell: RNNCell | GRUCell, x: Tensor, h: Tensor | None = None) -> Tensor:
    """Run a cell along time: (B, T, I) -> all states (B, T, H)."""
    h = cell.start(len(x)) if h is None else h
    states = []
    for now in x.unbind(1):
        h = cell(now, h)
        states.append(h)
    return torch.stack(states, dim=1)


def unroll_lstm(
    cell: LSTMCell, x: Tensor, state: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Run an LSTM along time: (B, T, I) -> all states and all memories, (B, T, H) each."""
    state = (cell.start(len(x)), cell.start(len(x))) if state is None else state
    shown, kept = [], []
    for now in x.unbind(1):
        state = cell(now, state)
        shown.append(state[0])
        kept.append(state[1])
    return torch.stack(shown, dim=1), torch.stack(kept, dim=1)


def gradient_over_distance(cell: RNNCell | LSTMCell | GRUCell, x: Tensor) -> Tensor:
    """How much the last state still feels each input: mean ‖∂h_T/∂x_t‖ over the batch, (T,).

    The last state is read along one random direction; entry t is the norm of its gradient at
    input t. The curve falls to the left where gradients vanish.
    """
    x = x.detach().requires_grad_()
    states = unroll_lstm(cell, x)[0] if isinstance(cell, LSTMCell) else unroll(cell, x)
    last = states[:, -1]  # (B, H)
    direction = torch.randn(last.shape, generator=torch.Generator().manual_seed(0)).to(last)
    (gradient,) = torch.autograd.grad((last * direction).sum(), x)
    return gradient.norm(dim=-1).mean(0)
