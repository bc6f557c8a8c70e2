"""Relative encodings: Shaw by loops, T5's buckets by the published table, ALiBi's slopes."""

import math

import pytest
import torch

from attnlab.attention import attention, weights
from attnlab.layers.relative import Shaw, T5Bias, alibi, alibi_slopes, distances, t5_bucket

B, H, L, S, D = 2, 3, 4, 6, 8


def test_queries_stand_at_the_last_places():
    assert distances(2, 4).tolist() == [[-2, -1, 0, 1], [-3, -2, -1, 0]]
    with pytest.raises(ValueError, match="5 queries and 4 keys"):
        distances(5, 4)


def test_shaw_equals_the_paper_written_with_loops():
    torch.manual_seed(0)
    shaw = Shaw(D, reach=2)
    q, k, v = torch.randn(B, H, L, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D)
    scores = torch.zeros(B, H, L, S)
    for i in range(L):
        for j in range(S):
            far = max(-2, min(2, j - (i + S - L)))
            key = k[:, :, j] + shaw.vectors[far + 2]  # a_ij of equation 4
            scores[:, :, i, j] = (q[:, :, i] * key).sum(-1) / math.sqrt(D)
    expected = scores.softmax(-1) @ v
    torch.testing.assert_close(attention(q, k, v, bias=shaw(q, S)), expected)


def test_shaw_learns_one_vector_a_distance():
    shaw = Shaw(D, reach=3)
    shaw(torch.randn(B, H, S, D), S).sum().backward()
    assert shaw.vectors.shape == (7, D)
    assert (shaw.vectors.grad != 0).any(dim=1).all()


# First distance of each bucket in T5's default, 32 buckets up to 128, both ways: the 16 buckets of
# one side. 0 to 7 are exact, the others begin at 8 · 16^(i/8), rounded up.
BOTH_WAYS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
# The decoder's 32 buckets, one way: 0 to 15 exact, then 16 · 8^(i/16), rounded up.
ONE_WAY = [*range(16), 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]


def bucket_by_table(far, table):
    return max(i for i, first in enumerate(table) if far >= first)


def test_t5_buckets_are_the_published_table():
    far = torch.arange(-300, 301)
    expected = [bucket_by_table(abs(d), BOTH_WAYS) + (16 if d > 0 else 0) for d in far.tolist()]
    assert t5_bucket(far).tolist() == expected
    expected = [bucket_by_table(max(-d, 0), ONE_WAY) for d in far.tolist()]
    assert t5_bucket(far, both_ways=False).tolist() == expected


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize(("buckets", "furthest"), [(32, 128), (8, 20), (64, 1000)])
def test_t5_buckets_equal_those_of_transformers(both_ways, buckets, furthest):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    far = torch.arange(-2000, 2001)
    theirs = t5.T5Attention._relative_position_bucket(far, both_ways, buckets, furthest)
    ours = t5_bucket(far, buckets=buckets, furthest=furthest, both_ways=both_ways)
    assert torch.equal(ours, theirs)


def test_t5_bias_is_one_number_a_bucket_and_head():
    bias = T5Bias(H, buckets=8, furthest=20)
    with torch.no_grad():
        bias.table.copy_(torch.arange(8 * H).reshape(8, H))
    out = bias(L, S)
    assert out.shape == (H, L, S)
    bucket = t5_bucket(torch.tensor(1 - 3), buckets=8, furthest=20)  # query at place 3, key at 1
    assert out[2, 1, 1] == bucket * H + 2


def test_alibi_slopes_of_8_and_12_heads():
    eight = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    torch.testing.assert_close(alibi_slopes(8), torch.tensor(eight))
    more = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]  # every other slope of 16 heads
    torch.testing.assert_close(alibi_slopes(12), torch.tensor([*eight, *more]))
    torch.testing.assert_close(alibi_slopes(1), torch.tensor([2.0**-8]))


def test_alibi_falls_in_a_straight_line():
    out = alibi(8, L, S)
    assert out.shape == (8, L, S)
    assert out[0, 0].tolist() == [-1.0, -0.5, 0.0, -0.5, -1.0, -1.5]  # query at place 2
    assert out[1, 3, 0] == -5 / 4


def test_biases_shape_the_weights():
    q, k = torch.zeros(B, 8, L, D), torch.zeros(B, 8, S, D)  # nothing to say: the bias decides
    alpha = weights(q, k, bias=alibi(8, L, S), causal=True)
    near, far = alpha[0, 0, -1, -1], alpha[0, 0, -1, 0]
    assert (near / far).item() == pytest.approx(math.exp(5 / 2), rel=1e-5)


@pytest.mark.parametrize("kind", ["alibi", "t5", "shaw"])
def test_one_query_with_a_cache_equals_the_last_row(kind):
    torch.manual_seed(0)
    q, k, v = torch.randn(B, H, S, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D)
    t5, shaw = T5Bias(H), Shaw(D)
    torch.nn.init.normal_(t5.table)

    def bias(q):
        rows = q.shape[-2]
        return {"alibi": lambda: alibi(H, rows, S), "t5": lambda: t5(rows, S)}.get(
            kind, lambda: shaw(q, S)
        )()

    whole = attention(q, k, v, bias=bias(q), causal=True)
    last = attention(q[:, :, -1:], k, v, bias=bias(q[:, :, -1:]), causal=True)
    torch.testing.assert_close(last, whole[:, :, -1:])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Shaw(8, reach=0), "reach is 0"),
        (lambda: Shaw(8)(torch.zeros(3, 4), 3), r"q has shape \(3, 4\)"),
        (lambda: t5_bucket(torch.tensor(1), buckets=6), "multiple of 4"),
        (lambda: alibi_slopes(0), "at least 1"),
    ],
)
def test_wrong_sizes_get_a_sentence(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()
