"""Cells by hand equal torch's on the same weights: forwards and backwards."""

import pytest
import torch
from torch import nn

from attnlab.models.recurrent import (
    GRUCell,
    LSTMCell,
    RNNCell,
    gradient_over_distance,
    unroll,
    unroll_lstm,
)

B, T, I, H = 3, 5, 4, 7  # noqa: E741
PAIRS = [(RNNCell, nn.RNNCell), (LSTMCell, nn.LSTMCell), (GRUCell, nn.GRUCell)]


def twins(ours, theirs):
    torch.manual_seed(0)
    one, other = ours(I, H).double(), theirs(I, H).double()
    one.load_state_dict(other.state_dict())
    return one, other


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_step_equals_torch_forwards_and_backwards(ours, theirs):
    one, other = twins(ours, theirs)
    results = []
    for cell in (one, other):
        torch.manual_seed(1)
        x = torch.randn(B, I, dtype=torch.double, requires_grad=True)
        h = torch.randn(B, H, dtype=torch.double, requires_grad=True)
        c = torch.randn(B, H, dtype=torch.double, requires_grad=True)
        out = cell(x, (h, c)) if ours is LSTMCell else cell(x, h)
        outs = out if isinstance(out, tuple) else (out,)
        sum((o * torch.randn(o.shape, dtype=o.dtype)).sum() for o in outs).backward()
        inputs = (x, h, c) if ours is LSTMCell else (x, h)
        results.append([*outs, *(i.grad for i in inputs), *(p.grad for p in cell.parameters())])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


def test_unrolled_gru_equals_torch_gru():
    one, _ = twins(GRUCell, nn.GRUCell)
    layer = nn.GRU(I, H, batch_first=True).double()
    layer.load_state_dict({f"{name}_l0": value for name, value in one.state_dict().items()})
    x, h = torch.randn(B, T, I, dtype=torch.double), torch.randn(B, H, dtype=torch.double)
    torch.testing.assert_close(unroll(one, x, h), layer(x, h[None])[0])
    torch.testing.assert_close(unroll(one, x), layer(x)[0])


def test_unrolled_lstm_equals_torch_lstm():
    one, _ = twins(LSTMCell, nn.LSTMCell)
    layer = nn.LSTM(I, H, batch_first=True).double()
    layer.load_state_dict({f"{name}_l0": value for name, value in one.state_dict().items()})
    x = torch.randn(B, T, I, dtype=torch.double)
    shown, kept = unroll_lstm(one, x)
    states, (_, memory) = layer(x)
    torch.testing.assert_close(shown, states)
    torch.testing.assert_close(kept[:, -1], memory[0])


def test_gradients_vanish_in_the_vanilla_cell_and_less_so_in_an_lstm_that_keeps():
    torch.manual_seed(0)
    x = torch.randn(8, 30, I)
    vanilla, lstm = RNNCell(I, 16), LSTMCell(I, 16)
    with torch.no_grad():
        lstm.bias_ih[16:32] = 3.0  # forget gates open
    fall, keep = gradient_over_distance(vanilla, x), gradient_over_distance(lstm, x)
    assert fall.shape == keep.shape == (30,)
    assert fall[0] / fall[-1] < 1e-3
    assert keep[0] / keep[-1] > 10 * fall[0] / fall[-1]


def test_new_cells_start_within_torchs_bounds():
    cell = GRUCell(3, 16)
    assert all(p.abs().max() <= 0.25 for p in cell.parameters())
    assert cell.start(2).shape == (2, 16)
