"""A scaling law: loss = E + A / N^α + B / D^β, fitted to runs (Hoffmann et al. 2022, §3.3).

N parameters, D tokens. For given exponents the rest is a linear regression, so every pair of a grid
is tried and the best is kept: no start to choose, nothing to get stuck in.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

EXPONENTS = torch.linspace(0.02, 1.2, 60, dtype=torch.float64)


@dataclass(frozen=True, kw_only=True)
class Law:
    """loss(N, D) = E + A / N^α + B / D^β"""

    floor: float  # E
    a: float
    alpha: float
    b: float
    beta: float

    def __call__(self, parameters: Tensor, tokens: Tensor) -> Tensor:
        return self.floor + self.a / parameters**self.alpha + self.b / tokens**self.beta

    def __str__(self) -> str:
        return (
            f"{self.floor:.2f} + {self.a:.3g} / N^{self.alpha:.2f} + "
            f"{self.b:.3g} / D^{self.beta:.2f}"
        )


def fit_law(parameters: Tensor, tokens: Tensor, losses: Tensor) -> Law:
    """The law with the least squared error on runs (R,) of all three."""
    if len(losses) < 6:
        raise ValueError(
            f"{len(losses)} runs were given, but a law of five numbers needs 6 or more."
        )
    n, d, y = (x.double() for x in (parameters, tokens, losses))
    alpha, beta = torch.meshgrid(EXPONENTS, EXPONENTS, indexing="ij")
    alpha, beta = alpha.reshape(-1, 1), beta.reshape(-1, 1)  # (P, 1)
    # Scaled to 1 at the first run, so that no column is tiny.
    columns = [torch.ones(len(alpha), len(y)).double(), (n / n[0]) ** -alpha, (d / d[0]) ** -beta]
    design = torch.stack(columns, dim=-1)  # (P, R, 3)
    normal = design.mT @ design
    found = torch.linalg.solve(normal, design.mT @ y[:, None])[..., 0]  # (P, 3)
    miss = ((design @ found[..., None])[..., 0] - y).square().sum(-1)  # (P,)
    miss = miss.masked_fill((found < 0).any(-1), torch.inf)  # losses fall, and to no less than 0
    best = int(miss.argmin())
    floor, a, b = found[best].tolist()
    al, be = float(alpha[best]), float(beta[best])
    return Law(floor=floor, a=a * float(n[0]) ** al, alpha=al, b=b * float(d[0]) ** be, beta=be)


def resampled(groups: Tensor, generator: torch.Generator) -> Tensor:
    """For each group the seeds of a bootstrap: losses (G, S) -> (G, S), drawn with replacement."""
    chosen = torch.randint(groups.shape[1], groups.shape, generator=generator)
    return groups.gather(1, chosen)
