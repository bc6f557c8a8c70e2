"""Windows: cutting, shifting, masking, and the bias table."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnlab import masks
from attnlab.attention import attention
from attnlab.layers import windows
from attnlab.layers.windows import (
    RelativeBias,
    WindowAttention,
    pad_to,
    partition,
    relative_index,
    reverse,
    shift,
)
from attnlab.record import record


def test_windows_come_in_reading_order():
    picture = torch.arange(4 * 6).reshape(1, 4, 6, 1)
    cut = partition(picture, 2)
    assert cut.shape == (1, 6, 4, 1)
    assert cut[0, 0].flatten().tolist() == [0, 1, 6, 7]
    assert cut[0, 1].flatten().tolist() == [2, 3, 8, 9]
    assert cut[0, 3].flatten().tolist() == [12, 13, 18, 19]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), st.integers(1, 6))
def test_reverse_undoes_partition(batch: int, down: int, across: int, side: int):
    picture = torch.randn(batch, down * side, across * side, 3)
    back = reverse(partition(picture, side), down * side, across * side)
    assert torch.equal(back, picture)


def test_the_way_there_and_back_is_the_identity():
    picture = torch.randn(2, 6, 9, 5)
    routed = partition(shift(picture, 2), 3)
    assert torch.equal(shift(reverse(routed, 6, 9), -2), picture)
    assert not torch.equal(routed, partition(picture, 3))


def ragged(q: Tensor, k: Tensor, v: Tensor, window: int, by: int) -> Tensor:
    """Attention in windows of a grid that is moved down and right by M − by, cut at the borders."""
    out = torch.empty_like(v)
    rows, columns = q.shape[1:3]
    edges_r = sorted({0, rows, *range(by, rows, window)})
    edges_c = sorted({0, columns, *range(by, columns, window)})
    for top, bottom in pairwise(edges_r):
        for left, right in pairwise(edges_c):
            here = (slice(None), slice(top, bottom), slice(left, right))
            a, b, c = (x[here].flatten(1, 2)[:, None] for x in (q, k, v))
            out[here] = attention(a, b, c)[:, 0].unflatten(1, (bottom - top, right - left))
    return out


@settings(max_examples=60, deadline=None)
@given(side=st.integers(2, 8), down=st.integers(1, 4), across=st.integers(1, 4), data=st.data())
def test_the_masked_cyclic_shift_equals_ragged_windows(side, down, across, data):
    by = data.draw(st.integers(1, side - 1))
    rows, columns = down * side, across * side
    q, k, v = (torch.randn(2, rows, columns, 4, dtype=torch.float64) for _ in range(3))
    cut = [partition(shift(x, by), side)[:, :, None] for x in (q, k, v)]  # (B, W, 1, M·M, E)
    mask = masks.shifted_window(rows, columns, side, by)
    out = shift(reverse(attention(*cut, mask=mask)[:, :, 0], rows, columns), -by)
    torch.testing.assert_close(out, ragged(q, k, v, side, by), atol=1e-6, rtol=0)


def ragged_layer(layer: WindowAttention, x: Tensor) -> Tensor:
    """The same layer, one ragged window at a time; every piece looks its own offsets up."""
    side, by, out = layer.window, layer.shift, torch.empty_like(x)
    rows, columns = x.shape[1:3]
    for top, bottom in pairwise(sorted({0, rows, *range(by, rows, side)})):
        for left, right in pairwise(sorted({0, columns, *range(by, columns, side)})):
            here = (slice(None), slice(top, bottom), slice(left, right))
            place = torch.cartesian_prod(torch.arange(top, bottom), torch.arange(left, right))
            down, across = (place[:, None] - place[None, :] + side - 1).unbind(-1)
            bias = layer.bias.table[down * (2 * side - 1) + across].permute(2, 0, 1)
            piece = layer.attend(x[here].flatten(1, 2), bias=bias)
            out[here] = piece.unflatten(1, (bottom - top, right - left))
    return out


@pytest.mark.parametrize("side", range(2, 9))
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_the_layer_equals_ragged_windows_on_odd_pictures_that_need_padding(side, data):
    by = data.draw(st.integers(1, side - 1))
    odd = st.integers(side + 1, 3 * side + 1).filter(lambda n: n % 2 == 1 and n % side)
    rows, columns = data.draw(odd), data.draw(odd)
    layer = WindowAttention(6, 2, side, shift=by).double()
    torch.nn.init.normal_(layer.bias.table)
    x = torch.randn(2, rows, columns, 6, dtype=torch.float64)
    padded = pad_to(x, side)
    assert padded.shape[1:3] != x.shape[1:3]
    expected = ragged_layer(layer, padded)[:, :rows, :columns]
    torch.testing.assert_close(layer(x), expected, atol=1e-6, rtol=0)


def test_without_the_mask_the_corners_meet():
    x = torch.randn(1, 6, 6, 4, dtype=torch.float64)
    cut = partition(shift(x, 1), 3)[:, :, None]
    bare = attention(cut, cut, cut)
    masked = attention(cut, cut, cut, mask=masks.shifted_window(6, 6, 3, 1))
    assert torch.equal(bare[:, 0], masked[:, 0])  # the window at the upper left has no border
    assert (bare[:, -1] - masked[:, -1]).abs().max() > 0.01


def test_relative_index_by_hand():
    index = relative_index(2)
    # Cells of a 2 × 2 window: 0 1 / 2 3. From cell 0 to itself: the middle of 3 × 3.
    assert index.diagonal().tolist() == [4, 4, 4, 4]
    assert index[0].tolist() == [4, 3, 1, 0]
    assert index[3].tolist() == [8, 7, 5, 4]
    for side in (1, 3, 5):
        assert relative_index(side).unique().numel() == (2 * side - 1) ** 2


def test_a_smaller_window_takes_the_middle_of_the_table():
    bias = RelativeBias(4, 3)
    small = bias(2)
    assert small.shape == (3, 4, 4)
    assert torch.equal(small[:, 0, 0], bias()[:, 5, 5])  # no offset
    assert torch.equal(small[:, 0, 3], bias()[:, 0, 5])  # one up, one left
    with pytest.raises(ValueError, match="4×4 knows no offsets of 5×5"):
        bias(5)


@pytest.mark.parametrize("by", [0, 1])
def test_attention_stays_inside_its_window(by: int):
    layer = WindowAttention(8, 2, 3, shift=by)
    x = torch.randn(1, 6, 9, 8, requires_grad=True)
    layer(x)[0, 0, 0].sum().backward()
    assert x.grad is not None
    reached = (x.grad[0].abs().sum(-1) > 0).nonzero()
    # Unshifted: the first window. Shifted by 1: what is left of it after the cut at row/column 1.
    assert reached.max().item() == (2 if by == 0 else 0)


def test_attention_is_recorded_per_window():
    layer = WindowAttention(8, 2, 3, shift=1)
    with record(layer) as maps:
        layer(torch.randn(2, 6, 9, 8))
    (weights,) = maps.values()
    assert isinstance(weights, Tensor)
    assert weights.shape == (2, 6, 2, 9, 9)
    mask = masks.shifted_window(6, 9, 3, 1).dense()
    assert weights[:, (~mask).any(-1).any(-1)[:, 0]].numel() > 0
    assert weights.masked_select(~mask).abs().max() == 0


def test_pictures_that_windows_do_not_divide_are_padded_and_cut():
    layer = WindowAttention(8, 2, 4, shift=2)
    x = torch.randn(2, 7, 10, 8)
    assert layer(x).shape == x.shape
    assert pad_to(x, 4).shape == (2, 8, 12, 8)
    assert layer(torch.randn(1, 3, 2, 8)).shape == (1, 3, 2, 8)  # smaller than a window


def test_the_layer_is_its_parts_forwards_and_backwards():
    layer = WindowAttention(6, 2, 3, shift=2).double()
    x = torch.randn(2, 6, 9, 6, dtype=torch.float64, requires_grad=True)
    cut = partition(shift(x, 2), 3)
    out = layer.attend(cut, mask=masks.shifted_window(6, 9, 3, 2), bias=layer.bias())
    expected = shift(reverse(out, 6, 9), -2)
    torch.testing.assert_close(layer(x), expected)
    towards = torch.randn_like(expected)
    grads = [torch.autograd.grad(y, x, towards)[0] for y in (layer(x), expected)]
    torch.testing.assert_close(*grads)


def test_a_first_look_in_inference_mode_does_not_spoil_training():
    layer, x = WindowAttention(8, 2, 5, shift=3), torch.randn(1, 10, 15, 8)
    windows._ways.cache_clear()
    windows._shift_mask.cache_clear()
    with torch.inference_mode():
        layer(x)
    layer(x).sum().backward()


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=r"6×7 picture does not divide into 3×3.*pad_to\(x, 3\)"):
        partition(torch.zeros(1, 6, 7, 2), 3)
    with pytest.raises(ValueError, match="unflatten"):
        partition(torch.zeros(1, 6, 7), 3)
    with pytest.raises(ValueError, match="24 cells in all"):
        reverse(torch.zeros(1, 2, 9, 2), 4, 6)
    with pytest.raises(ValueError, match="0…2"):
        WindowAttention(8, 2, 3, shift=3)
    assert windows._shift_mask(6, 6, 3, 1, "cpu") is windows._shift_mask(6, 6, 3, 1, "cpu")
