"""Masks are questions about indices: each answer is checked, cell by cell."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_mask

from attnlab import masks
from attnlab.attention import attention, weights
from tests.unit.asked import says_one_sentence

sizes = st.integers(1, 7)


def custom(predicate):
    return masks.Mask(predicate, (4, 4))


def cells(mask, *shape):
    """The dense mask; it must be bool, have the shape, and forbid something."""
    dense = mask.dense()
    assert dense.dtype == torch.bool
    assert tuple(dense.shape) == mask.shape == shape
    assert not dense.all(), "this mask blocks nothing, so the test says nothing"
    return dense


@settings(max_examples=30, deadline=None)
@given(length=sizes, keys=sizes)
def test_causal_is_aligned_at_the_lower_right(length, keys):
    dense = masks.causal(length, keys).dense()
    for i in range(length):
        for j in range(keys):
            assert dense[i, j] == (keys - 1 - j >= length - 1 - i)  # counted from the end
    assert dense[-1].all()


def test_causal_with_as_many_keys_is_the_triangle():
    assert torch.equal(cells(masks.causal(5), 5, 5), torch.ones(5, 5).tril().bool())


def test_causal_mask_and_causal_flag_are_the_same():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 5)
    cells(masks.causal(4, 7), 4, 7)
    ours = attention(q, k, v, mask=masks.causal(4, 7))
    torch.testing.assert_close(ours, attention(q, k, v, causal=True))
    assert not torch.allclose(ours, attention(q, k, v))


@settings(max_examples=30, deadline=None)
@given(length=sizes, keys=sizes, radius=st.integers(0, 4))
def test_window_reaches_radius_places(length, keys, radius):
    dense = masks.window(length, radius, keys).dense()
    for i in range(length):
        for j in range(keys):
            assert dense[i, j] == (abs((keys - 1 - j) - (length - 1 - i)) <= radius)


def test_a_sliding_causal_window():
    dense = cells(masks.causal(6) & masks.window(6, 2), 6, 6)
    assert dense.sum(-1).tolist() == [1, 2, 3, 3, 3, 3]
    assert dense[4].tolist() == [False, False, True, True, True, False]


@pytest.mark.parametrize("lengths", [[3, 0, 5], torch.tensor([3, 0, 5])])
def test_padding_keeps_the_first_places(lengths):
    dense = cells(masks.padding(lengths, 5), 3, 1, 1, 5)
    assert dense[:, 0, 0].int().tolist() == [[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]


def test_real_tokens_are_seen_wherever_the_padding_stands():
    tokens = torch.tensor([[5, 0, 7, 0], [0, 2, 2, 1]])
    dense = cells(masks.real(tokens), 2, 1, 1, 4)
    assert dense[:, 0, 0].int().tolist() == [[1, 0, 1, 0], [0, 1, 1, 1]]
    assert cells(masks.real(tokens, pad=2), 2, 1, 1, 4).int().sum().item() == 6


def test_padding_hides_what_lies_behind():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 6, 8), torch.randn(2, 3, 6, 5)
    out = attention(q, k, v, mask=masks.padding([6, 2], 6))
    torch.testing.assert_close(out[1], attention(q[1], k[1, :, :2], v[1, :, :2]))
    torch.testing.assert_close(out[0], attention(q[0], k[0], v[0]))


def test_padding_and_causal_together():
    mask = masks.padding([2, 4], 4) & masks.causal(4)
    dense = cells(mask, 2, 1, 4, 4)
    assert dense[0, 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert torch.equal(dense[1, 0], masks.causal(4).dense())
    q, k = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 4, 8)
    torch.testing.assert_close(
        weights(q, k, mask=mask), weights(q, k, mask=masks.padding([2, 4], 4), causal=True)
    )


def test_masks_compose_as_logic_does():
    one, other = masks.causal(5, 6), masks.window(5, 1, 6)
    a, b = cells(one, 5, 6), cells(other, 5, 6)
    assert torch.equal((one & other).dense(), a & b)
    assert torch.equal((one | other).dense(), a | b)
    assert torch.equal((~one).dense(), ~a)
    assert torch.equal((~(one & other)).dense(), (~one | ~other).dense())
    assert not torch.equal(a & b, a | b)


@st.composite
def stretched_masks(draw, length, keys):
    """A mask that broadcasts to (batch 3, heads, length, keys), any axis of it may be 1."""
    rows, columns = draw(st.sampled_from([length, 1])), draw(st.sampled_from([keys, 1]))
    kind = draw(st.sampled_from(["causal", "window", "padding", "custom"]))
    if kind == "causal":
        return masks.causal(rows, columns)
    if kind == "window":
        return masks.window(rows, draw(st.integers(0, 2)), columns)
    if kind == "padding":
        batch = draw(st.sampled_from([1, 3]))
        real = draw(st.lists(st.integers(0, columns), min_size=batch, max_size=batch))
        return masks.padding(real, columns)
    lead = draw(st.tuples(st.sampled_from([1, 3]), st.sampled_from([1, 2])))
    cells = torch.rand(*lead, rows, columns, generator=torch.Generator().manual_seed(0)) > 0.5
    return masks.Mask(lambda b, h, i, j: cells[b, h, i, j], tuple(cells.shape))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), length=st.integers(1, 4), keys=st.integers(1, 4))
def test_masks_compose_as_their_tensors_do(data, length, keys):
    """An axis of size 1 says the same to all, whatever it is joined with."""
    one, two, three = (data.draw(stretched_masks(length, keys)) for _ in range(3))
    a, b, c = one.dense(), two.dense(), three.dense()
    for mask, expected in [
        (one & two, a & b),
        (one | two, a | b),
        (~one & two, ~a & b),
        ((one & two) | three, (a & b) | c),
        (~(one | two) & three, ~(a | b) & c),
    ]:
        assert mask.shape == expected.shape
        assert torch.equal(mask.dense(), expected)


def test_a_composed_mask_in_attention():
    """Windows and padding, both one for each entry of the batch, one of them a single entry."""
    mask = masks.shifted_window(2, 2, 2, 1) & masks.padding([4, 3], 4)
    dense = cells(mask, 2, 1, 4, 4)
    alone = torch.eye(4).bool()  # each cell came from another corner
    assert torch.equal(dense[0, 0], alone)
    assert torch.equal(dense[1, 0], alone & torch.tensor([True, True, True, False]))
    q = torch.randn(2, 3, 4, 8)
    assert (weights(q, q, mask=mask).masked_select(~dense) == 0).all()


@pytest.mark.parametrize(
    "mask",
    [masks.causal(4, 6), masks.padding([2, 6], 6) & masks.window(4, 1, 6)],
    ids=["causal", "composed"],
)
def test_a_mask_is_made_where_the_queries_are(mask):
    assert mask.dense("meta").device.type == "meta"
    q, k = torch.randn(2, 3, 4, 8, device="meta"), torch.randn(2, 3, 6, 8, device="meta")
    for flag in (False, True):
        assert masks.combine(mask, None, flag, q, k).device.type == "meta"
    assert masks.combine(None, None, True, q, k).device.type == "meta"
    assert attention(q, k, k, mask=mask).device.type == "meta"


def swin_regions(height, width, window, shift):
    """The mask as the official implementation makes it: paint nine regions, cut, compare."""
    painted = torch.zeros(height, width)
    bands = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
    for number, (rows, columns) in enumerate((r, c) for r in bands for c in bands):
        painted[rows, columns] = number
    cut = painted.unfold(0, window, window).unfold(1, window, window)
    cut = cut.reshape(-1, window * window)
    return (cut[:, None, :] == cut[:, :, None])[:, None]


@pytest.mark.parametrize(
    ("height", "width", "window", "shift"),
    [(4, 6, 2, 1), (8, 12, 4, 2), (14, 7, 7, 3), (9, 6, 3, 2)],
)
def test_shifted_windows_are_those_of_swin(height, width, window, shift):
    mask = masks.shifted_window(height, width, window, shift)
    windows = height // window * (width // window)
    dense = cells(mask, windows, 1, window**2, window**2)
    assert torch.equal(dense, swin_regions(height, width, window, shift))


def test_cells_of_a_shifted_window_were_neighbours_before():
    """Roll a picture of coordinates: whoever may attend lies less than a window away."""
    height, width, window, shift = 8, 12, 4, 2
    grid = torch.stack(torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij"), -1)
    rolled = grid.roll((-shift, -shift), (0, 1))
    cut = rolled.unfold(0, window, window).unfold(1, window, window)  # (2, 3, yx, window, window)
    cut = cut.permute(0, 1, 3, 4, 2).reshape(-1, window**2, 2)
    distance = (cut[:, :, None] - cut[:, None, :]).abs().amax(-1)
    dense = masks.shifted_window(height, width, window, shift).dense()[:, 0]
    assert torch.equal(dense, distance < window)


def test_an_unshifted_window_blocks_nothing():
    assert masks.shifted_window(4, 6, 2, shift=0).dense().all()
    half = masks.shifted_window(8, 8, 4)  # the default is half a window
    assert torch.equal(half.dense(), masks.shifted_window(8, 8, 4, 2).dense())


@pytest.mark.parametrize(
    "mask",
    [
        masks.causal(4, 6),
        masks.window(4, 1, 6) | ~masks.causal(4, 6),
        masks.padding([2, 6, 0], 6) & masks.causal(4, 6),
        masks.shifted_window(4, 6, 2),
        masks.padding([2, 6, 0], 6) & masks.padding([4], 6),
    ],
    ids=["causal", "window", "padding", "shifted", "stretched"],
)
def test_the_predicate_is_what_flex_attention_takes(mask):
    batch, heads, length, keys = (1,) * (4 - len(mask.shape)) + mask.shape
    length = 4 if length == 1 else length
    theirs = create_mask(mask.allowed, batch, heads, length, keys, device="cpu")
    assert not theirs.all()
    assert torch.equal(theirs, mask.dense().expand(batch, heads, length, keys))


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: masks.window(5, -1), ValueError, "radius is -1.*0 or more"),
        (lambda: masks.padding([[1, 2]], 5), ValueError, r"shape \(1, 2\).*one whole number"),
        (lambda: masks.padding([1.5], 5), ValueError, "float32.*one whole number"),
        (lambda: masks.padding([3, 6], 5), ValueError, "from 3 to 6.*S=5"),
        (lambda: masks.padding([-1], 5), ValueError, "from -1 to -1.*0…S"),
        (lambda: masks.shifted_window(7, 8, 4), ValueError, "7×8 picture.*multiples of 4"),
        (lambda: masks.shifted_window(8, 8, 4, 4), ValueError, "shift is 4.*0…3"),
        (lambda: masks.causal(-1), ValueError, "L is -1.*0 or more"),
        (lambda: masks.causal(4, -1), ValueError, "S is -1.*0 or more"),
        (lambda: masks.causal(2.5), TypeError, "L is 2.5.*whole number"),
        (lambda: masks.window(-5, 1), ValueError, "L is -5.*0 or more"),
        (lambda: masks.window(5, float("nan")), TypeError, "radius is nan.*whole number"),
        (lambda: masks.window(5, None), TypeError, "radius is None.*whole number"),
        (lambda: masks.padding(None, 5), ValueError, "lengths is a NoneType.*one whole number"),
        (lambda: masks.padding([[1], [2, 3]], 5), ValueError, "lengths is a list.*whole number"),
        (lambda: masks.padding([1j], 5), ValueError, "complex64.*one whole number"),
        (lambda: masks.padding([3], None), TypeError, "S is None.*whole number"),
        (lambda: masks.shifted_window(8, 8, 0), ValueError, "window is 0.*1 or more"),
        (lambda: masks.shifted_window(8, 8, -4), ValueError, "window is -4.*1 or more"),
        (lambda: masks.shifted_window(8, 8.0, 4), TypeError, "width is 8.0.*whole number"),
        (lambda: masks.shifted_window(8, 8, 4, -1), ValueError, "shift is -1.*0 or more"),
        (lambda: custom(lambda b, h, i, j: j - i).dense(), TypeError, "int64, but a bool tensor"),
        (lambda: custom(lambda b, h, i, j: True).dense(), TypeError, "bool, but a bool tensor"),
        (lambda: masks.causal(4) & masks.causal(5), ValueError, r"\(4, 4\) and \(5, 5\).*by &"),
        (lambda: masks.causal(4) | torch.ones(4, 4), TypeError, r"by \| with a Tensor.*dense"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_clear_sentence(make, kind, words):
    says_one_sentence(make, kind, words)


def test_a_mask_prints_as_its_shape():
    assert repr(masks.causal(4, 6) & masks.window(4, 1, 6)) == "Mask(shape=(4, 6))"
