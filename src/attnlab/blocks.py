"""The blocks of a Transformer: attention and a small network, each wrapped in "add and normalise".

    post-norm   x = LayerNorm(x + f(x))      Vaswani et al. 2017
    pre-norm    x = x + f(LayerNorm(x))      Xiong et al. 2020: a clear way through for the gradient

B batch, L queries, S keys, E model width, F hidden width of the network, H heads, D head width.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.heads import MultiHead, Rope
from attnlab.masks import Mask

NORMS = ("pre", "post")
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
KeysValues = tuple[Tensor, Tensor]  # (B, H, S, D) each


class LayerNorm(nn.Module):
    """(x − mean) / √(variance + eps) · weight + bias, over the E numbers of each token alone.

    Ba et al. 2016. No other token and no other sentence has a say, in training or afterwards.
    """

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class FeedForward(nn.Module):
    """The same two-layer network at every place: wide, a kink, and narrow again.

    No dropout inside, as in the paper (§5.4); `torch.nn.Transformer` has some.
    """

    def __init__(self, width: int, hidden: int, activation: str = "relu") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation is {activation!r}, but it must be one of {', '.join(ACTIVATIONS)}."
            )
        self.wide = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(self.activation(self.wide(x)))  # (B, L, F) inside


class AddNorm(nn.Module):
    """The residual connection around a sublayer f, with its LayerNorm before or after."""

    def __init__(self, width: int, norm: str = "pre", dropout: float = 0.0) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm is {norm!r}, but it must be 'pre' or 'post'.")
        self.norm = LayerNorm(width)
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


class KVCache:
    """The keys and values of the tokens so far, so that a new token computes only its own.

    `update` makes new tensors and leaves the old ones alone: beams may share a past.
    """

    def __init__(self, k: Tensor | None = None, v: Tensor | None = None) -> None:
        self.k, self.v = k, v

    @property
    def length(self) -> int:
        return 0 if self.k is None else self.k.shape[-2]

    @property
    def content(self) -> KeysValues:
        if self.k is None or self.v is None:
            raise ValueError("this cache is empty: update it with keys and values first.")
        return self.k, self.v

    def update(self, k: Tensor, v: Tensor) -> KeysValues:
        """Add (B, H, L, D) behind what is there, and give back all of it."""
        self.k = k if self.k is None else torch.cat([self.k, k], dim=-2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=-2)
        return self.k, self.v


class EncoderBlock(nn.Module):
    """Look around, then think. With `causal=True` it is the block of a decoder-only model."""

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: int,
        *,
        norm: str = "pre",
        activation: str = "relu",
        rope: Rope | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHead(width, heads, rope=rope, dropout=dropout)
        self.feed_forward = FeedForward(width, hidden, activation)
        self.add_self = AddNorm(width, norm, dropout)
        self.add_feed = AddNorm(width, norm, dropout)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Mask | Tensor | None = None,
        causal: bool = False,
        cache: KVCache | None = None,
    ) -> Tensor:
        """(B, L, E) -> (B, L, E)"""
        seen = self.self_attention(self.add_self.before(x), mask=mask, causal=causal, cache=cache)
        x = self.add_self.after(x, seen)
        return self.add_feed.after(x, self.feed_forward(self.add_feed.before(x)))


class DecoderBlock(EncoderBlock):
    """Look back, look at the source, then think."""

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: int,
        *,
        norm: str = "pre",
        activation: str = "relu",
        rope: Rope | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            width, heads, hidden, norm=norm, activation=activation, rope=rope, dropout=dropout
        )
        # No rotation here: places of two different sentences have no distance.
        self.cross_attention = MultiHead(width, heads, dropout=dropout)
        self.add_cross = AddNorm(width, norm, dropout)

    def read(self, encoded: Tensor) -> KeysValues:
        """Keys and values of the encoder's output (B, S, E): made once for a whole sentence."""
        return self.cross_attention.keys_values(encoded)

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        memory: KeysValues,
        *,
        mask: Mask | Tensor | None = None,
        memory_mask: Mask | Tensor | None = None,
        causal: bool = True,
        cache: KVCache | None = None,
    ) -> Tensor:
        """(B, L, E), keys and values (B, H, S, D) -> (B, L, E)"""
        seen = self.self_attention(self.add_self.before(x), mask=mask, causal=causal, cache=cache)
        x = self.add_self.after(x, seen)
        found = self.cross_attention(self.add_cross.before(x), memory=memory, mask=memory_mask)
        x = self.add_cross.after(x, found)
        return self.add_feed.after(x, self.feed_forward(self.add_feed.before(x)))
