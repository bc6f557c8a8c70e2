"""The fused kernel: the same attention, without ever writing out the (L, S) weights.

`F.scaled_dot_product_attention` runs FlashAttention (Dao et al. 2022) where it can. This file only
translates our conventions into the kernel's; the arithmetic is that of `attention.weights`.

B batch, H heads, L queries, S keys, D head width; "..." stands for any leading axes.
"""

from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.masks import Mask, combine, surely


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Mask | Tensor | None,
    bias: Tensor | None,
    causal: bool,
    factor: float,
    off_by_one: bool,
    dropout: float,
) -> Tensor:
    """softmax(factor · q kᵀ + bias) v, for inputs that `attention` has checked."""
    # The last query sees every key: alone, as when a cache holds the others, it needs no mask.
    if q.shape[-2] == 1:  # not `causal and …`: with changing shapes that is no bool to a compiler
        causal = False
    # The kernel's own causal mask is aligned at the upper left, ours at the lower right.
    aligned = not causal or q.shape[-2] == k.shape[-2]
    if mask is None and bias is None and aligned and not off_by_one:
        return _kernel(q, k, v, None, factor, dropout, causal)

    allowed = combine(mask, bias, causal, q, k)
    if off_by_one:
        k, v, allowed, bias = _add_silent_key(k, v, allowed, bias)
    if allowed is None:
        return _kernel(q, k, v, bias, factor, dropout)

    # Kernels disagree on queries that see no key: open their rows, and multiply by 0 afterwards.
    sees = allowed.any(-1, keepdim=True)
    if surely(sees):  # nearly always
        extra = allowed if bias is None else torch.where(allowed, bias, -torch.inf)
        return _kernel(q, k, v, extra, factor, dropout)
    extra = allowed | ~sees
    if bias is not None:  # the kernel takes mask and bias as one tensor
        extra = torch.where(allowed, bias, -torch.inf).masked_fill(~sees, 0.0)
    return _kernel(q, k, v, extra, factor, dropout) * sees


def _add_silent_key(
    k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Softmax off by one: a zero key scores 0 with every query, exp(0) = 1, and its value is 0."""
    if allowed is not None:
        allowed = allowed.expand(*allowed.shape[:-1], k.shape[-2])
        # not F.pad: torch.compile writes C++ that does not compile for a padded bool tensor
        allowed = torch.cat([allowed.new_ones(*allowed.shape[:-1], 1), allowed], dim=-1)
    if bias is not None:
        bias = F.pad(bias.expand(*bias.shape[:-1], k.shape[-2]), (1, 0))
    return F.pad(k, (0, 0, 1, 0)), F.pad(v, (0, 0, 1, 0)), allowed, bias


def _kernel(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    extra: Tensor | None,
    factor: float,
    dropout: float,
    causal: bool = False,
) -> Tensor:
    """Call the kernel on exactly four axes: with any other number it takes a slow path."""
    if q.dim() == 4 and (extra is None or extra.dim() == 4) and q.shape[0] == k.shape[0]:
        heads, shared = q.shape[1], k.shape[1]
        if heads == shared:
            return F.scaled_dot_product_attention(q, k, v, extra, dropout, causal, scale=factor)
        if heads > shared > 1:
            return F.scaled_dot_product_attention(
                q, k, v, extra, dropout, causal, scale=factor, enable_gqa=True
            )
    lead = _in_front(q.shape[:-3], k.shape[:-3])

    def four_axes(x: Tensor) -> Tensor:
        """(L, D), (H, L, D), (..., H, L, D) -> (N, H, L, D), N = all the leading axes in one"""
        x = x[(None,) * (3 - x.dim())]
        return x.expand(*lead, *x.shape[-3:]).reshape(prod(lead), *x.shape[-3:])

    axes = q.dim()
    q, k, v = four_axes(q), four_axes(k), four_axes(v)
    if q.shape[1] == 1:  # one head of queries for all
        q = q.expand(-1, k.shape[1], -1, -1)
    extra = None if extra is None else four_axes(extra)
    grouped = q.shape[1] != k.shape[1]
    out = F.scaled_dot_product_attention(
        q, k, v, extra, dropout, causal, scale=factor, enable_gqa=grouped
    )
    return out.reshape((*lead, *out.shape[1:])[-axes:])


def _in_front(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """torch.broadcast_shapes of two that fit, without the half second of its first call."""
    most = max(len(one), len(other))
    pairs = zip((1,) * (most - len(one)) + one, (1,) * (most - len(other)) + other, strict=True)
    return tuple(a if b == 1 else b for a, b in pairs)
