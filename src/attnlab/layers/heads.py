"""Multi-head attention: several attentions side by side, each in a subspace of its own.

Shapes: B batch, L queries, S keys, E model width, H heads, G key/value heads, D = E/H head width.

With `kv_heads` fewer heads of keys and values serve all heads of queries (here H = 4):

      multi-head (G = 4)        grouped-query (G = 2)       multi-query (G = 1)

    v  ■   ■   ■   ■               ■       ■                      ■
       │   │   │   │               │       │                      │
    k  ■   ■   ■   ■               ■       ■                      ■
       │   │   │   │             ┌─┴─┐   ┌─┴─┐            ┌───┬───┴───┬───┐
    q  ■   ■   ■   ■             ■   ■   ■   ■            ■   ■       ■   ■

The KV cache shrinks by H/G (Shazeer 2019; Ainslie et al. 2023).
"""

from collections.abc import Callable
from typing import Protocol

from torch import Tensor, nn

from attnlab.attention import attention
from attnlab.masks import Mask, check_whole
from attnlab.shapes import check_tokens

# (x (B, H, L, D), the position of its first token) -> x rotated: `positions.Rope` is one
Rotation = Callable[[Tensor, int], Tensor]


class Cache(Protocol):
    """What `MultiHead` needs from a KV cache."""

    length: int  # how many keys it holds; asked for only with `rope`

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Take the new keys and values, and give back all of them."""


class MultiHead(nn.Module):
    """Project, split into heads, attend, merge, project.

    - `kv_heads`: heads of keys and values, if fewer; `kv_width`: width of `context`, if not E.
    - `qk_norm`: RMS-normalise each head's queries and keys (Henry et al. 2020), before `rope`.
    - `rope`: rotates queries and keys by their positions; called as `rope(x, offset)`.
    - `off_by_one`: the softmax may attend to nothing.
    - `dropout` acts on the weights, in training only.
    - `fused`: take the fast kernel; without it, the weights are written out as in 2017.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        kv_width: int | None = None,
        bias: bool = True,
        qk_norm: bool = False,
        rope: Rotation | None = None,
        off_by_one: bool = False,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        kv_width = width if kv_width is None else kv_width
        check_whole(1, width=width, heads=heads, kv_heads=kv_heads, kv_width=kv_width)
        _check_shares(width, heads, kv_heads)
        head_width = width // heads
        self.heads, self.kv_heads = heads, kv_heads
        self.query = nn.Linear(width, heads * head_width, bias)
        self.key = nn.Linear(kv_width, kv_heads * head_width, bias)
        self.value = nn.Linear(kv_width, kv_heads * head_width, bias)
        self.out = nn.Linear(width, width, bias)
        self.q_norm = nn.RMSNorm(head_width) if qk_norm else nn.Identity()
        self.k_norm = nn.RMSNorm(head_width) if qk_norm else nn.Identity()
        self.rope = rope
        self.off_by_one = off_by_one
        self.dropout = dropout
        self.fused = fused

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        causal: bool = False,
        cache: Cache | None = None,
        memory: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Self-attention on x (B, L, E), or cross-attention to `context` (B, S, kv_width).

        `memory` takes the place of `context`: its keys and values, made once by `keys_values`.
        It is finished, so it goes with neither `context` nor `cache`.
        """
        check_tokens("x", x, self.query)
        if memory is not None and not (context is None and cache is None):
            raise _contradiction("context" if context is not None else "cache")
        q = self.q_norm(split(self.query(x), self.heads))  # (B, H, L, D)
        k, v = self.keys_values(x if context is None else context) if memory is None else memory
        if self.rope is not None:
            offset = 0 if cache is None else cache.length
            q, k = self.rope(q, offset), self.rope(k, offset)
        if cache is not None:
            k, v = cache.update(k, v)  # old and new
        dropout = self.dropout if self.training else 0.0
        out = attention(
            q, k, v, mask=mask, bias=bias, causal=causal,
            off_by_one=self.off_by_one, dropout=dropout, fused=self.fused,
        )  # fmt: skip
        return self.out(merge(out))  # (B, L, E)

    def keys_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """What others may attend to: (B, S, kv_width) -> keys and values, (B, G, S, D) each."""
        check_tokens("context", context, self.key)
        k = self.k_norm(split(self.key(context), self.kv_heads))
        return k, split(self.value(context), self.kv_heads)


def split(x: Tensor, heads: int) -> Tensor:
    """(B, L, H·D) -> (B, H, L, D)"""
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merge(x: Tensor) -> Tensor:
    """(B, H, L, D) -> (B, L, H·D)"""
    return x.transpose(-3, -2).flatten(-2)


def _contradiction(other: str) -> ValueError:
    why = {
        "context": "memory is what keys_values made of a context: pass one of the two",
        "cache": "a cache grows by new keys and memory has none: pass cache for self-attention, "
        "memory for cross-attention",
    }
    return ValueError(f"memory and {other} were both given, but {why[other]}.")


def _check_shares(width: int, heads: int, kv_heads: int) -> None:
    if width % heads:
        raise ValueError(
            f"width {width} cannot be split into {heads} heads: choose a number of heads that "
            "divides the width."
        )
    if heads % kv_heads:
        raise ValueError(
            f"{heads} heads cannot share {kv_heads} kv_heads evenly: choose a number of kv_heads "
            f"that divides {heads}."
        )
