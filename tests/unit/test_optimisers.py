"""Adam, AdamW and SOAP against references, step by step."""

import pytest
import torch
from torch import Tensor, nn

from attnlab.training.optimisers import SOAP, Adam, AdamW, make

SHAPES = [(5, 3), (4,), (2, 7)]


def parameters(seed: int = 0) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def in_step(ours: torch.optim.Optimizer, theirs: torch.optim.Optimizer, steps: int = 25) -> None:
    """The same gradients to both, step by step; the parameters must stay equal."""
    generator = torch.Generator().manual_seed(9)
    for _ in range(steps):
        pairs = [
            (a, b)
            for g, h in zip(ours.param_groups, theirs.param_groups, strict=True)
            for a, b in zip(g["params"], h["params"], strict=True)
        ]
        for a, b in pairs:
            a.grad = torch.randn(a.shape, generator=generator) + 0.3 * a.detach()
            b.grad = a.grad.clone()
        ours.step()
        theirs.step()
        for a, b in pairs:
            torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_and_adamw_are_torchs(decay: float) -> None:
    same = {"lr": 0.02, "betas": (0.9, 0.98)}
    in_step(
        Adam(parameters(), decay=decay, **same),
        torch.optim.Adam(parameters(), weight_decay=decay, **same),
    )
    in_step(
        AdamW(parameters(), decay=decay, **same),
        torch.optim.AdamW(parameters(), weight_decay=decay, **same),
    )


def test_the_two_decays_differ() -> None:
    a, b = parameters(), parameters()
    for optimiser, values in ((Adam, a), (AdamW, b)):
        for p in values:
            p.grad = torch.ones_like(p)
        optimiser(values, lr=0.1, decay=0.5).step()
    assert (a[0] - b[0]).abs().max() > 1e-3


@pytest.mark.parametrize("longest", [10_000, 4])
def test_soap_is_pytorch_optimizers_step_by_step(longest: int) -> None:
    theirs = pytest.importorskip("pytorch_optimizer").SOAP
    in_step(
        SOAP(parameters(), lr=0.01, decay=0.1, every=3, longest=longest),
        theirs(
            parameters(),
            lr=0.01,
            weight_decay=0.1,
            precondition_frequency=3,
            max_precondition_dim=longest,
        ),
    )


def soap_by_hand(w: Tensor, gradients: list[Tensor], lr: float, beta: float) -> Tensor:
    """The algorithm once more, on one small matrix, with full eigenvectors and no library."""
    left = (1 - beta) * gradients[0] @ gradients[0].T
    right = (1 - beta) * gradients[0].T @ gradients[0]
    u, v = torch.linalg.eigh(left)[1], torch.linalg.eigh(right)[1]
    mean, square = torch.zeros_like(w), torch.zeros_like(w)
    for t, g in enumerate(gradients[1:], 1):
        mean = beta * mean + (1 - beta) * g
        square = beta * square + (1 - beta) * (u.T @ g @ v) ** 2
        adam = (u.T @ mean @ v / (1 - beta**t)) / (square / (1 - beta**t)).sqrt()
        w = w - lr * u @ adam @ v.T
    return w


def test_soap_is_an_independent_computation_on_a_small_matrix() -> None:
    generator = torch.Generator().manual_seed(2)
    start = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    gradients = [torch.randn(2, 3, generator=generator, dtype=torch.float64) for _ in range(6)]
    p = nn.Parameter(start.clone())
    optimiser = SOAP([p], lr=0.05, every=100, eps=0.0)
    for g in gradients:
        p.grad = g
        optimiser.step()
    # signs and order of eigenvectors are free, and cancel
    expected = soap_by_hand(start, gradients, lr=0.05, beta=0.95)
    torch.testing.assert_close(p.detach(), expected, atol=1e-9, rtol=1e-7)


def test_soap_undoes_a_rotation_of_the_problem_and_adam_does_not() -> None:
    """Least squares in turned coordinates: SOAP takes the turned steps, Adam takes others."""
    double = {"dtype": torch.float64}  # bases of nearly equal axes are soft in single precision
    draw = torch.Generator().manual_seed(4)
    turn = torch.linalg.qr(torch.randn(4, 4, generator=draw, **double))[0]
    goal = torch.randn(4, 4, generator=draw, **double)

    def path(optimiser: type, basis: Tensor) -> Tensor:
        p = nn.Parameter(torch.zeros(4, 4, **double))
        scales = torch.tensor([[1.0], [3.0], [0.3], [10.0]], **double)
        run = optimiser([p], lr=0.02)
        for _ in range(8):
            p.grad = basis @ (scales**2 * (basis.T @ p.detach() - goal))
            run.step()
        return basis.T @ p.detach()

    eye = torch.eye(4, **double)
    torch.testing.assert_close(path(SOAP, turn), path(SOAP, eye), atol=1e-3, rtol=1e-2)
    assert (path(Adam, turn) - path(Adam, eye)).abs().max() > 0.01


def test_norms_and_biases_do_not_decay() -> None:
    layer = nn.Linear(3, 2)
    for p in layer.parameters():
        p.grad = torch.zeros_like(p)
    before = layer.weight.detach().clone(), layer.bias.detach().clone()
    make("adamw", layer, lr=0.1, decay=0.5).step()
    torch.testing.assert_close(layer.weight, before[0] * 0.95)
    torch.testing.assert_close(layer.bias, before[1])


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="'lion', but it must be one of adam, adamw, soap"):
        make("lion", nn.Linear(2, 2), lr=0.1)
    p = nn.Parameter(torch.ones(2, 2, 2))
    p.grad = torch.ones_like(p)
    with pytest.raises(ValueError, match="vectors and matrices"):
        SOAP([p]).step()
