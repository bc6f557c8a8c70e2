"""Softmax and its weighted mean in one pass over the keys, block by block.

Softmax seems to need all scores first, for their maximum and their sum. It does not: keep the
maximum so far, the sum of exponentials *relative to that maximum*, and the weighted sum of values
on the same footing. When a block brings a larger maximum, shrink what is there by
exp(old maximum − new maximum), and go on (Milakov and Gimelshein 2018; Rabe and Staats 2021).
FlashAttention (Dao et al. 2022) does this in a GPU's fast memory.

L queries, S keys, N keys in a block, D head width; "..." stands for any leading axes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Running:
    """All that is kept of the keys seen so far: D + 2 numbers for each query, however many keys."""

    top: Tensor  # (..., L): the largest score so far
    total: Tensor  # (..., L): sum of exp(score − top)
    mixed: Tensor  # (..., L, D): sum of exp(score − top) · value


def begin(scores: Tensor, values: Tensor) -> Running:
    """Nothing seen yet: no maximum, no sum."""
    rows = scores.shape[:-1]
    return Running(
        top=scores.new_full(rows, -torch.inf),
        total=scores.new_zeros(rows),
        mixed=scores.new_zeros(*rows, values.shape[-1]),
    )


def take(state: Running, scores: Tensor, values: Tensor) -> Running:
    """Take in a block: scores (..., L, N) and values (..., N, D)."""
    top = torch.maximum(state.top, scores.amax(-1))
    anchor = top.masked_fill(top == -torch.inf, 0.0)  # a query that has seen no key yet
    shrink = torch.exp(state.top - anchor)  # 1 if the maximum stays, 0 at the first block
    p = torch.exp(scores - anchor[..., None])  # (..., L, N), at most 1
    return Running(
        top=top,
        total=state.total * shrink + p.sum(-1),
        mixed=state.mixed * shrink[..., None] + p @ values,
    )


def finish(state: Running) -> Tensor:
    """Divide by the sum; a query that saw no key gets zeros."""
    total = state.total.masked_fill(state.total == 0, 1.0)
    return state.mixed / total[..., None]  # (..., L, D)


def online_attention(
    q: Tensor, k: Tensor, v: Tensor, *, block: int, causal: bool = False
) -> Tensor:
    """`attention(q, k, v)` with never more than (L, block) scores in memory."""
    if block < 1:
        raise ValueError(f"block is {block}, but at least one key must be taken at a time.")
    scale, queries, keys = q.shape[-1] ** -0.5, q.shape[-2], k.shape[-2]
    last = torch.arange(queries, device=q.device)[:, None] + keys - queries  # the key each may see
    state = begin(q @ k[..., :1, :].mT, v)
    for start in range(0, keys, block):
        part = slice(start, start + block)
        scores = scale * q @ k[..., part, :].mT  # (..., L, N)
        if causal:
            positions = torch.arange(keys, device=q.device)[part]
            scores = scores.masked_fill(positions > last, -torch.inf)
        state = take(state, scores, v[..., part, :])
    return finish(state)
