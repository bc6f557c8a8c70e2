"""A Transformer with nothing but attention: no networks, so that what its heads do can be read off.

One layer can copy from what it sees; two layers can also use what a first layer wrote. That is all
an induction head needs (Elhage et al. 2021; Olsson et al. 2022).

B batch, L length, E model width, V words, H heads.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.layers import LayerNorm
from attnlab.layers.heads import MultiHead
from attnlab.layers.positions import Rope
from attnlab.models.transformer import initialise
from attnlab.record import seen, stack


class AttentionOnly(nn.Module):
    """x ← x + Attention(LayerNorm(x)), in several layers, causal, with rotary positions."""

    def __init__(self, words: int, *, layers: int, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.norms = nn.ModuleList(LayerNorm(width) for _ in range(layers))
        self.layers = nn.ModuleList(
            MultiHead(width, heads, rope=Rope(width // heads)) for _ in range(layers)
        )
        self.last = LayerNorm(width)
        self.out = nn.Linear(width, words, bias=False)
        initialise(self)
        nn.init.normal_(self.words.weight)  # no positions are added, so words need not be small

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, L) -> logits of the token after each, (B, L, V)"""
        x = self.words(tokens)  # (B, L, E)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x), causal=True)
        return self.out(self.last(x))

    def loss(self, tokens: Tensor) -> Tensor:
        """Every token but the first is predicted from those before it."""
        return F.cross_entropy(self(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    def maps(self, tokens: Tensor) -> Tensor:
        """The weights of every head: (layers, B, H, L, L)"""
        return stack(seen(self, tokens)).transpose(0, 1)
