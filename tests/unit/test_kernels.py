"""Online softmax and the Triton kernels against the core, on sizes that fit no block."""

import os
import sys

import pytest
import torch

os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported: no GPU here

from attnlab.attention import attention
from attnlab.kernels import begin, finish, online_attention, take

BAR = 1e-3


def inputs(heads: int, kv_heads: int, queries: int, keys: int, width: int, seed: int = 0):
    draw = torch.Generator().manual_seed(seed)
    shapes = ((2, heads, queries, width), (2, kv_heads, keys, width), (2, kv_heads, keys, width))
    return [torch.randn(shape, generator=draw, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("block", [1, 3, 8, 100])
@pytest.mark.parametrize("causal", [False, True])
def test_online_attention_is_attention(block: int, causal: bool) -> None:
    q, k, v = inputs(3, 3, 5, 11, 4)
    expected = attention(q, k, v, causal=causal)
    torch.testing.assert_close(online_attention(q, k, v, block=block, causal=causal), expected)


def test_a_late_giant_score_does_not_overflow() -> None:
    scores, values = torch.tensor([[0.0, 1.0, 500.0]]), torch.eye(3)
    state = begin(scores, values)
    for i in range(3):
        state = take(state, scores[:, i : i + 1], values[i : i + 1])
    torch.testing.assert_close(finish(state), scores.softmax(-1))
    assert torch.exp(scores).isinf().any()  # what a plain sum would have met


def test_online_attention_gives_zeros_where_nothing_is_seen() -> None:
    q, k, v = inputs(1, 1, 4, 2, 4)
    out = online_attention(q, k, v, block=1, causal=True)
    torch.testing.assert_close(out, attention(q, k, v, causal=True))
    assert out[:, :, :2].abs().max() == 0


CASES = [  # heads, kv_heads, queries, keys, width, causal
    (2, 2, 33, 47, 8, False),
    (3, 1, 45, 45, 20, True),
    (4, 2, 17, 70, 16, True),
    (2, 1, 50, 37, 12, True),  # the first 13 queries see nothing
    (1, 1, 1, 65, 24, True),
]


@pytest.mark.skipif(sys.platform != "linux", reason="Triton is for Linux alone")
@pytest.mark.parametrize(("heads", "kv_heads", "queries", "keys", "width", "causal"), CASES)
def test_flash_attention_is_attention_forwards_and_backwards(
    heads: int, kv_heads: int, queries: int, keys: int, width: int, causal: bool
) -> None:
    from attnlab.kernels.flash import flash_attention

    q, k, v = inputs(heads, kv_heads, queries, keys, width)
    grad = torch.randn(q.shape, generator=torch.Generator().manual_seed(7))
    ours = flash_attention(q, k, v, causal=causal)
    found = torch.autograd.grad(ours, (q, k, v), grad)
    plain = attention(q, k, v, causal=causal, fused=False)
    expected = torch.autograd.grad(plain, (q, k, v), grad)
    assert (ours - plain).abs().max() < BAR
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.isfinite().all()
        assert (mine - theirs).abs().max() < BAR
    if queries > keys and causal:
        assert ours[:, :, : queries - keys].abs().max() == 0
        assert found[0][:, :, : queries - keys].abs().max() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="Triton is for Linux alone")
def test_shapes_that_do_not_fit_are_named() -> None:
    from attnlab.kernels.flash import flash_attention

    q, k, v = inputs(3, 2, 4, 4, 8)
    with pytest.raises(ValueError, match="G divides H"):
        flash_attention(q, k, v)


@pytest.mark.skipif(sys.platform != "linux", reason="Triton is for Linux alone")
def test_a_block_of_triton_is_called_with_tensors() -> None:
    from attnlab.kernels.block import LAUNCHES, in_triton, tl

    @in_triton
    def my_block(top, total, mixed, scores, values):
        higher = tl.maximum(top, tl.max(scores, 1))
        shrink, p = tl.exp(top - higher), tl.exp(scores - higher[:, None])
        total = total * shrink + tl.sum(p, 1)
        return higher, total, mixed * shrink[:, None] + tl.dot(p, values)

    scores, values = torch.randn(4, 16), torch.randn(16, 8)
    state = begin(scores, values)
    kept = state.top, state.total, state.mixed
    before = len(LAUNCHES)
    for part in (slice(0, 8), slice(8, 16)):
        kept = my_block(*kept, scores[:, part], values[part])
    torch.testing.assert_close(kept[2] / kept[1][:, None], scores.softmax(-1) @ values)
    assert len(LAUNCHES) == before + 2
    with pytest.raises(ValueError, match=r"`mixed` is a block of shape \(4,\), not \(4, 8\)"):
        in_triton(lambda top, total, mixed, scores, values: (top, total, top))(
            *kept, scores[:, :8], values[:8]
        )


def test_without_triton_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from attnlab.checks import check
    from attnlab.kernels import block

    monkeypatch.setattr(block, "triton", None)
    verdict = check("10.7", block.in_triton(lambda *given: given[:3]))
    assert not verdict.passed
    assert "Triton is not installed here" in verdict.message
    assert "exercise 10.1 asks for the same update in torch" in verdict.message
