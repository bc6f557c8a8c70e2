"""Superposition: how a layer keeps more features than it has neurons.

The toy model of Elhage et al. 2022 (arXiv:2209.10652). A vector x of n features, most of them 0,
is squeezed through m < n numbers and read out again with the same matrix:

    h = W x          (m,)
    x' = ReLU(Wᵀh + b)   (n,)        loss = Σ importance · (x − x')²

Shapes: K models that are trained side by side, B batch, n features, m hidden numbers.
`sparsity` S is the share of zeros: each feature is 0 with probability S, else uniform on [0, 1].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from attnlab.training import Descent, cosine, fit


@dataclass(frozen=True, kw_only=True)
class Toys:
    """K trained models, one for each sparsity."""

    weights: Tensor  # (K, m, n): column i is the arrow of feature i
    bias: Tensor  # (K, n)
    sparsity: Tensor  # (K,)
    importance: Tensor  # (K, n)
    loss: Tensor  # (K,): on fresh data

    @property
    def kept(self) -> Tensor:
        """|W_i|², (K, n): about 1 for a feature the model keeps, about 0 for one it drops."""
        return self.weights.pow(2).sum(dim=-2)


def draw(shape: Sequence[int], sparsity: Tensor, generator: torch.Generator) -> Tensor:
    """Sparse features (K, B, n): 0 with probability `sparsity` (K,), else uniform on [0, 1]."""
    size = torch.rand(*shape, generator=generator)
    x = size * (torch.rand(*shape, generator=generator) >= sparsity[:, None, None])
    return x.mT.contiguous().mT  # in memory the batch is last: long rows, not many short ones


def reconstruct(x: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """Through the narrow layer and back: (K, B, n) -> (K, B, n)."""
    hidden = weights @ x.mT  # (K, m, B)
    return torch.relu(weights.mT @ hidden + bias[..., None]).mT


def error(x: Tensor, weights: Tensor, bias: Tensor, importance: Tensor) -> Tensor:
    """The loss of each model: (K,)."""
    gap = (x - reconstruct(x, weights, bias)) ** 2
    return (gap * importance[:, None]).sum(dim=-1).mean(dim=-1)


class SideBySide(nn.Module):
    """The weights of K toy models; `loss` of a batch (K, B, n) is that of all together."""

    def __init__(self, weights: Tensor, sparsity: Tensor, importance: Tensor) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights)  # (K, m, n)
        self.bias = nn.Parameter(torch.zeros(len(weights), weights.shape[-1]))
        self.sparsity, self.importance = sparsity, importance

    def loss(self, x: Tensor) -> Tensor:
        # Divided by the density, so that sparse models, with their small losses, learn as fast.
        each = error(x, self.weights, self.bias, self.importance)  # (K,)
        return (each / (1 - self.sparsity)).sum()


def train(
    *,
    features: int,
    hidden: int,
    sparsity: Tensor,
    importance: Tensor,
    steps: int = 2500,
    batch: int = 256,
    restarts: int = 4,
    lr: float = 1e-2,
    seed: int = 0,
) -> Toys:
    """Train one model for each sparsity (K,), all at the same time.

    `importance` is (n,), or (K, n) when the models differ. Small models get stuck, so each starts
    `restarts` times and the best one is kept.
    """
    _check(features, hidden, sparsity)
    generator = torch.Generator().manual_seed(seed)
    models = len(sparsity)
    every_s = sparsity.repeat(restarts)  # (R·K,)
    every_i = importance.expand(models, features).repeat(restarts, 1)  # (R·K, n)
    count = models * restarts
    first = 0.4 * torch.randn(count, hidden, features, generator=generator)
    toys = SideBySide(first, every_s, every_i)
    fit(
        toys,
        (draw((count, batch, features), every_s, generator) for _ in range(steps)),
        steps=steps,
        descent=Descent(lr=lr, schedule=partial(cosine, warm_up=0.0), clip=None),
        listeners=(),
        seed=seed,
    )
    weights, bias = toys.weights.detach(), toys.bias.detach()
    x = draw((models, 20_000, features), sparsity, generator)  # the same for every start
    starts = zip(weights.split(models), bias.split(models), strict=True)
    losses = torch.stack([error(x, w, b, every_i[:models]) for w, b in starts])  # (R, K)
    best = losses.argmin(dim=0) * models + torch.arange(models)  # (K,)
    return Toys(
        weights=weights[best],
        bias=bias[best],
        sparsity=sparsity,
        importance=every_i[:models],
        loss=losses.amin(dim=0),
    )


def _check(features: int, hidden: int, sparsity: Tensor) -> None:
    if not 0 < hidden <= features:
        raise ValueError(
            f"{features} features and {hidden} hidden numbers: the toy model squeezes, so choose "
            "0 < hidden ≤ features."
        )
    if sparsity.dim() != 1 or not bool(((sparsity >= 0) & (sparsity < 1)).all()):
        raise ValueError(
            "sparsity must be a list of numbers from 0 up to, but not including, 1: at 1 every "
            "feature is always 0 and there is nothing to learn."
        )
