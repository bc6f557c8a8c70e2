"""Normalisation, and where it goes around a sublayer.

    post-norm   x = LayerNorm(x + f(x))      Vaswani et al. 2017
    pre-norm    x = x + f(LayerNorm(x))      Xiong et al. 2020: a clear path for the gradient

`RMSNorm` may take the place of `LayerNorm` in both.

B batch, L length, E model width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NORMS = ("pre", "post")
EPS = 1e-5  # keeps a token whose numbers are all equal from 0/0


class LayerNorm(nn.Module):
    """(x − mean) / √(variance + eps) · weight + bias, over the E numbers of each token alone.

    Ba et al. 2016. No other token and no other sentence has a say, in training or afterwards.
    """

    def __init__(self, width: int, eps: float = EPS) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    """x / √(mean of x² + eps) · weight: LayerNorm without the mean and without the bias.

    Zhang and Sennrich 2019. The length of a token's vector is set; its mean stays what it is.
    """

    def __init__(self, width: int, eps: float = EPS) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


KINDS: dict[str, type[LayerNorm] | type[RMSNorm]] = {"layer": LayerNorm, "rms": RMSNorm}


class AddNorm(nn.Module):
    """The residual connection around a sublayer f, with its norm before or after."""

    def __init__(
        self,
        width: int,
        norm: str = "pre",
        dropout: float = 0.0,
        kind: str = "layer",
        eps: float = EPS,
    ) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm is {norm!r}, but it must be 'pre' or 'post'.")
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}, but it must be one of {', '.join(KINDS)}.")
        self.norm = KINDS[kind](width, eps)
        self.first = norm == "pre"
        self.dropout = dropout

    def before(self, x: Tensor) -> Tensor:
        """What the sublayer reads."""
        return self.norm(x) if self.first else x

    def after(self, x: Tensor, out: Tensor) -> Tensor:
        """What leaves: x plus what the sublayer says."""
        if self.training and self.dropout:
            out = F.dropout(out, self.dropout)
        return x + out if self.first else self.norm(x + out)
