"""The blocks of a Transformer: attention and a small network, each wrapped in "add and normalise".

B batch, L queries, S keys, E model width, F hidden width of the network, H heads, D head width.
"""

from torch import Tensor, nn

from attnlab.layers.cache import KeysValues, KVCache
from attnlab.layers.feed_forward import FeedForward
from attnlab.layers.heads import MultiHead, Rotation
from attnlab.layers.norms import EPS, AddNorm
from attnlab.masks import Mask


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
        rope: Rotation | None = None,
        dropout: float = 0.0,
        eps: float = EPS,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHead(width, heads, rope=rope, dropout=dropout)
        self.feed_forward = FeedForward(width, hidden, activation)
        self.add_self = AddNorm(width, norm, dropout, eps=eps)
        self.add_feed = AddNorm(width, norm, dropout, eps=eps)

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
        rope: Rotation | None = None,
        dropout: float = 0.0,
        eps: float = EPS,
    ) -> None:
        super().__init__(
            width, heads, hidden,
            norm=norm, activation=activation, rope=rope, dropout=dropout, eps=eps,
        )  # fmt: skip
        # No rotation here: positions of two different sentences have no distance.
        self.cross_attention = MultiHead(width, heads, dropout=dropout)
        self.add_cross = AddNorm(width, norm, dropout, eps=eps)

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
