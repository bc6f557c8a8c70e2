"""Scaling laws: a known one is found again, and its future with it."""

import pytest
import torch

from attnlab.training.scaling_law import Law, fit_law, resampled


def runs(law: Law) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    n, d = torch.meshgrid(
        torch.tensor([2e3, 7e3, 3e4, 1e5]), torch.tensor([6e4, 2e5, 1e6]), indexing="ij"
    )
    n, d = n.flatten().double(), d.flatten().double()
    return n, d, law(n, d)


def test_a_law_without_noise_is_found_again() -> None:
    truth = Law(floor=1.5, a=30.0, alpha=0.42, b=200.0, beta=0.52)
    n, d, loss = runs(truth)
    found = fit_law(n, d, loss)
    assert abs(found.alpha - truth.alpha) < 0.02
    assert abs(found.beta - truth.beta) < 0.02
    far = torch.tensor([1e6]).double()
    assert found(far, far) == pytest.approx(truth(far, far), rel=0.01)
    assert "1.5" in str(found)


def test_two_runs_are_too_few() -> None:
    with pytest.raises(ValueError, match="2 runs"):
        fit_law(torch.ones(2), torch.ones(2), torch.ones(2))


def test_a_bootstrap_stays_within_its_group() -> None:
    groups = torch.arange(12.0).reshape(4, 3)
    drawn = resampled(groups, torch.Generator().manual_seed(0))
    assert (drawn.div(3, rounding_mode="floor") == torch.arange(4.0)[:, None]).all()
    assert not torch.equal(drawn, groups)
