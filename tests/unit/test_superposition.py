"""The toy model of superposition: its formula, and what it learns."""

import pytest
import torch

from attnlab.inside import superposition
from attnlab.inside.superposition import draw, error, reconstruct, train


def test_the_formula_by_hand() -> None:
    weights = torch.tensor([[[1.0, -1.0]]])  # two features on one line, in opposite directions
    bias = torch.tensor([[0.0, 0.25]])
    x = torch.tensor([[[0.5, 0.0], [0.0, 0.5], [1.0, 1.0]]])
    back = reconstruct(x, weights, bias)
    assert back[0].tolist() == [[0.5, 0.0], [0.0, 0.75], [0.0, 0.25]]
    importance = torch.tensor([[1.0, 2.0]])
    expected = (0 + 2 * 0.0625 + 1 + 2 * 0.5625) / 3
    assert error(x, weights, bias, importance).item() == pytest.approx(expected)


def test_sparsity_is_the_share_of_zeros() -> None:
    generator = torch.Generator().manual_seed(0)
    x = draw((3, 4000, 2), torch.tensor([0.0, 0.5, 0.9]), generator)
    shares = (x == 0).float().mean((1, 2))
    torch.testing.assert_close(shares, torch.tensor([0.0, 0.5, 0.9]), atol=0.02, rtol=0)
    assert float(x.max()) <= 1


def test_dense_models_keep_two_features_and_sparse_ones_all() -> None:
    toys = train(
        features=5,
        hidden=2,
        sparsity=torch.tensor([0.0, 0.95]),
        importance=0.9 ** torch.arange(5.0),
        steps=1200,
        restarts=2,
    )
    kept = toys.kept > 0.5
    assert kept.sum(-1).tolist() == [2, 5]
    assert kept[0, :2].all(), "the two most important ones"
    assert toys.loss[1] < toys.loss[0]


def test_refusals() -> None:
    ones = torch.ones(3)
    with pytest.raises(ValueError, match="0 < hidden ≤ features"):
        train(features=3, hidden=4, sparsity=torch.zeros(1), importance=ones)
    with pytest.raises(ValueError, match="not including, 1"):
        train(features=3, hidden=2, sparsity=torch.ones(1), importance=ones)


def test_it_is_reproducible() -> None:
    options = {"features": 3, "hidden": 2, "sparsity": torch.tensor([0.5]), "steps": 5}
    one, other = (superposition.train(**options, importance=torch.ones(3)) for _ in range(2))
    assert torch.equal(one.weights, other.weights)
