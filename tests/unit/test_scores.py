"""The three score functions, pair by pair."""

import torch

from attnlab.attention import attention, weights
from attnlab.scores import Additive, Bilinear, dot


def test_dot_is_the_dot_product_of_each_pair():
    torch.manual_seed(0)
    q, k = torch.randn(2, 3, 5), torch.randn(2, 4, 5)
    scores = dot(q, k)
    assert scores.shape == (2, 3, 4)
    for b, i, j in [(0, 0, 3), (1, 2, 1)]:
        torch.testing.assert_close(scores[b, i, j], q[b, i] @ k[b, j])


def test_bilinear_puts_a_matrix_between():
    torch.manual_seed(0)
    score = Bilinear(5, 7)
    q, k = torch.randn(2, 3, 5), torch.randn(2, 4, 7)
    scores = score(q, k)
    assert scores.shape == (2, 3, 4)
    torch.testing.assert_close(scores[1, 2, 3], q[1, 2] @ score.weight @ k[1, 3])
    assert [tuple(p.shape) for p in score.parameters()] == [(5, 7)]


def test_bilinear_with_the_identity_is_the_dot_product():
    score = Bilinear(5, 5)
    torch.nn.init.eye_(score.weight)
    q, k = torch.randn(2, 3, 5), torch.randn(2, 4, 5)
    torch.testing.assert_close(score(q, k), dot(q, k))


def test_additive_is_a_small_network_on_each_pair():
    torch.manual_seed(0)
    score = Additive(5, 7, 6)
    q, k = torch.randn(2, 3, 5), torch.randn(2, 4, 7)
    scores = score(q, k)
    assert scores.shape == (2, 3, 4)
    hidden = torch.tanh(score.query(q[1, 2]) + score.key(k[1, 3]))
    torch.testing.assert_close(scores[1, 2, 3], score.out(hidden).squeeze())


def test_scores_without_heads_and_with():
    """An RNN decoder has one query and no heads; a Transformer has both."""
    torch.manual_seed(0)
    for lead in [(), (3,), (3, 2)]:
        q, k, v = torch.randn(*lead, 1, 5), torch.randn(*lead, 4, 7), torch.randn(*lead, 4, 6)
        for score in (Bilinear(5, 7), Additive(5, 7, 8)):
            w = weights(q, k, score=score)
            assert w.shape == (*lead, 1, 4)
            torch.testing.assert_close(attention(q, k, v, score=score), w @ v)


def test_only_the_dot_product_is_scaled_by_itself():
    torch.manual_seed(0)
    q, k = torch.randn(3, 5), torch.randn(4, 5)
    score = Bilinear(5, 5)
    torch.testing.assert_close(weights(q, k, score=score), torch.softmax(score(q, k), -1))
    torch.testing.assert_close(weights(q, k), torch.softmax(dot(q, k) / 5**0.5, -1))
    torch.testing.assert_close(
        weights(q, k, score=score, scale=0.5, temperature=2.0), torch.softmax(score(q, k) / 4, -1)
    )


def test_keys_with_fewer_heads_work_for_any_score():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 6, 3, 5), torch.randn(2, 2, 4, 7), torch.randn(2, 2, 4, 8)
    score = Additive(5, 7, 4)
    full = attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1), score=score)
    torch.testing.assert_close(attention(q, k, v, score=score), full)
