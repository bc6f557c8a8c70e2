"""The penalty on uneven weights, by hand; and that recorded weights can be part of a loss."""

import pytest
import torch

from attnlab import reproducible
from attnlab.data import Batch
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.record import record
from attnlab.training.coverage import Fertility, uneven, with_coverage


def batch() -> Batch:
    """Two sentences: 3 and 2 source words, 4 and 3 target words, end marks included."""
    return Batch(
        source=torch.tensor([[4, 5, 2], [6, 2, 0]]),
        source_lengths=torch.tensor([3, 2]),
        target_in=torch.tensor([[1, 4, 5, 6], [1, 4, 5, 0]]),
        target_out=torch.tensor([[4, 5, 6, 2], [4, 5, 2, 0]]),
    )


def test_by_hand():
    alpha = torch.zeros(2, 4, 3)
    alpha[0, [0, 1, 2, 3], [0, 0, 1, 2]] = 1.0  # words receive 2, 1, 1
    alpha[1, [0, 1, 2], [1, 1, 1]] = 1.0  # words receive 0 and 3
    alpha[1, 3, 0] = 1.0  # the weight of padding does not count
    assert uneven(alpha, batch()).item() == pytest.approx((1 + 0 + 0 + 1 + 4) / 5)


def test_one_look_each_costs_nothing():
    one = batch()
    alpha = torch.zeros(2, 4, 3)
    alpha[0, [0, 1, 2, 3], [0, 1, 2, 2]] = torch.tensor([1.0, 1.0, 0.5, 0.5])
    alpha[1, [0, 1, 2], [0, 1, 1]] = torch.tensor([1.0, 0.5, 0.5])
    assert uneven(alpha, one).item() == 0


def test_a_word_that_always_takes_two_looks_comes_to_want_two():
    """Word 4 receives 2 every time, word 5 receives 1, the end mark 1 here and 3 there."""
    alpha = torch.zeros(2, 4, 3)
    alpha[0, [0, 1, 2, 3], [0, 0, 1, 2]] = 1.0
    alpha[1, [0, 1, 2], [1, 1, 1]] = 1.0
    fertility = Fertility(9)
    first = fertility.penalty(alpha, batch())
    assert first.item() == pytest.approx((1 + 0 + 0 + 1 + 4) / 5)  # all began by wanting one
    for _ in range(300):
        last = fertility.penalty(alpha, batch())
    wanted = fertility.wanted()
    assert wanted[[4, 5]].tolist() == pytest.approx([2, 1], abs=0.06)
    assert wanted[2].item() == pytest.approx(2, abs=0.06)  # the mean of 1 and 3
    assert wanted[8].item() == 1  # never seen
    assert last.item() == pytest.approx((0 + 0 + 1 + 0 + 1) / 5, abs=0.05)  # who wavers, pays


@pytest.mark.parametrize("order", ["after", "before"])
def test_its_gradient_reaches_the_scores(order):
    reproducible.seed(0)
    sizes = {"source_words": 9, "target_words": 8, "embedding": 5, "hidden": 6}
    model = Seq2Seq(Config(**sizes, order=order))
    plain, even = model.loss(batch()), with_coverage(model, 0.5)(batch())
    assert even > plain
    (even - plain).backward()
    assert model.context.score.query.weight.grad.abs().max() > 0


def test_weights_are_recorded_without_their_graph_unless_asked_for():
    model = Seq2Seq(Config(source_words=9, target_words=8, embedding=5, hidden=6))
    with record(model, "context") as maps:
        model.loss(batch())
    assert not maps["context"].requires_grad
