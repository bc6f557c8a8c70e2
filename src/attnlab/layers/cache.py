"""The KV cache: what a decoder keeps of the tokens it has already read.

B batch, H heads, S keys so far, D head width.
"""

import torch
from torch import Tensor

KeysValues = tuple[Tensor, Tensor]  # (B, H, S, D) each


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
        """Append (B, H, L, D) to what is there, and return all of it."""
        self.k = k if self.k is None else torch.cat([self.k, k], dim=-2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=-2)
        return self.k, self.v


def cache_bytes(
    *, layers: int, kv_heads: int, head_width: int, context: int, batch: int = 1, item: float = 4
) -> int:
    """The size of a whole model's cache: keys and values of all layers; `item` bytes per number."""
    return int(2 * layers * kv_heads * head_width * context * batch * item)
