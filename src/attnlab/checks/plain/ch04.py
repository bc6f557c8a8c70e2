"""Chapter 4: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch


def my_split(x, heads):
    """(..., L, E) -> (..., heads, L, E / heads)"""
    blocks = x.unflatten(-1, (heads, -1))  # (..., L, heads, D)
    return blocks.transpose(-3, -2)


def my_multi_head(x, w_q, w_k, w_v, w_o, heads):
    """(..., L, E) -> (..., L, E)"""
    width = x.shape[-1] // heads  # of one head
    total = 0
    for h in range(heads):
        mine = slice(h * width, (h + 1) * width)  # the columns of head h
        q, k, v = x @ w_q[:, mine], x @ w_k[:, mine], x @ w_v[:, mine]
        scores = q @ k.transpose(-2, -1) / math.sqrt(width)
        out = scores.softmax(dim=-1) @ v  # (..., L, D)
        total = total + out @ w_o[mine]  # (..., L, E)
    return total


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


def times(what):
    """The factor by which `what` changes when the heads are doubled."""
    return {"parameters": 1, "products": 1, "weights": 2, "head width": 0.5}[what]


def my_share(heads, wishes, shelves):
    """The share of single films that are right, 0 to 1."""
    served = min(heads, wishes)  # wishes with a head of their own
    lucky = (wishes - served) / shelves  # of the others, on average
    return (served + lucky) / wishes
