"""Chapter 5: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch

from attnlab.layers.positions import Rope


def my_sinusoids(length, width):
    """One row of waves for each position: (length, width)."""
    places = torch.arange(length)[:, None]  # (L, 1)
    omega = 10_000 ** (-torch.arange(0, width, 2) / width)  # (E/2,)
    angles = places * omega  # (L, E/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def shift_matrix(k, width):
    """M with M @ PE(p) = PE(p + k): (width, width)."""
    omega = 10_000 ** (-torch.arange(0, width, 2) / width)  # (E/2,)
    blocks = []  # 2 × 2 each
    for w in omega.tolist():
        cos, sin = math.cos(k * w), math.sin(k * w)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*blocks)


def my_rope(x, offset):
    """Turn each pair by its position: (..., L, D) -> (..., L, D)."""
    length, width = x.shape[-2:]
    places = torch.arange(offset, offset + length)[:, None]
    theta = places * 10_000 ** (-torch.arange(0, width, 2) / width)  # (L, D/2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., L, D/2) each
    cos, sin = theta.cos(), theta.sin()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def my_alibi(slopes, L, S):
    """The further, the lower the score: (H, L, S)."""
    keys = torch.arange(S)  # (S,)
    queries = torch.arange(S - L, S)[:, None]  # (L, 1): their positions
    return -slopes[:, None, None] * (keys - queries).abs()


def count_back(k, width):
    """w_q and w_k: position p attends to position p - k, wherever it is."""
    w_q = 200 * shift_matrix(-k, width).T  # the query of p is PE(p - k), and long
    w_k = torch.eye(width)
    return w_q, w_k


def rope_scores(q, k):
    """Scaled scores of the newest queries and all keys: (L, S)."""
    rope = Rope(q.shape[-1])
    turned_q = rope(q, len(k) - len(q))  # (L, D): the last L positions
    turned_k = rope(k)  # (S, D)
    return turned_q @ turned_k.T / math.sqrt(q.shape[-1])


def moves_with_you(kind):
    """Does the score stay when both tokens move by 20 positions?"""
    return kind in ("Shaw", "T5", "ALiBi", "RoPE")


def my_base(factor, width, base):
    """The base with which the slowest hand turns `factor` times more slowly."""
    power = (width - 2) / width  # the slowest hand turns by base ** -power
    return base * factor ** (1 / power)
