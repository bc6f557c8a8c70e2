"""Chapter 4: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch


def my_split(x, heads):
    """(..., L, E) -> (..., heads, L, E / heads)"""
    blocks = x.unflatten(-1, (heads, -1))  # (..., L, heads, D)
    return blocks.transpose(-3, -2)


def my_multi_head(x, w_q, w_k, w_v, w_o, heads):
    """(..., L, E) -> (..., L, E)"""
    q = (x @ w_q).unflatten(-1, (heads, -1)).transpose(-3, -2)
    k = (x @ w_k).unflatten(-1, (heads, -1)).transpose(-3, -2)
    v = (x @ w_v).unflatten(-1, (heads, -1)).transpose(-3, -2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    out = scores.softmax(dim=-1) @ v  # (..., heads, L, D)
    return out.transpose(-3, -2).flatten(-2) @ w_o


def previous_token_score(attention):
    """(..., L, L) -> (...)"""
    weights = attention.diagonal(offset=-1, dim1=-2, dim2=-1)
    return weights.mean(dim=-1)


def my_knock_out(merged, heads, gone):
    """(..., L, E) -> (..., L, E), silent where head is in gone"""
    out = merged.clone()
    width = merged.shape[-1] // heads  # of one head
    for head in gone:
        first = head * width  # its first column
        out[..., first : first + width] = 0
    return out


def arrows(n):
    """n unit arrows with as little interference as possible: (2, n)."""
    angles = torch.arange(n) * (2 * math.pi / n)  # (n,)
    return torch.stack([angles.cos(), angles.sin()])
