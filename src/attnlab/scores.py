"""Score functions: how well does each query match each key?

B batch, H heads, L queries, S keys, D width. A score is any callable

    (q, k) -> scores        (..., L, D), (..., S, D) -> (..., L, S)

and is handed to `attention(..., score=...)`. Three are enough for the whole course: the dot product
(Luong et al. 2015, Vaswani et al. 2017), the bilinear form (Luong's "general") and the small
network of Bahdanau et al. 2015.
"""

import torch
from torch import Tensor, nn


def dot(q: Tensor, k: Tensor) -> Tensor:
    """q·k for every pair. No parameters, but both sides need the same width."""
    return q @ k.transpose(-2, -1)  # (..., L, D) @ (..., D, S) -> (..., L, S)


class Bilinear(nn.Module):
    """q W kᵀ: a learned matrix between the two sides, which may have different widths."""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.widths = (query_width, key_width)
        self.weight = nn.Parameter(torch.empty(query_width, key_width))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        return dot(q @ self.weight, k)  # (..., L, S)


class Additive(nn.Module):
    """vᵀ tanh(W q + U k): a one-hidden-layer network looks at each pair.

    The hidden layer exists for every pair, so memory grows with L · S · width: fine for the few
    queries of an RNN decoder, too much for long self-attention.
    """

    def __init__(self, query_width: int, key_width: int, width: int) -> None:
        super().__init__()
        self.widths = (query_width, key_width)
        self.query = nn.Linear(query_width, width)  # W; its offset is the only one needed
        self.key = nn.Linear(key_width, width, bias=False)  # U
        self.out = nn.Linear(width, 1, bias=False)  # v

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        pairs = self.query(q).unsqueeze(-2) + self.key(k).unsqueeze(-3)  # (..., L, S, width)
        return self.out(torch.tanh(pairs)).squeeze(-1)  # (..., L, S)
