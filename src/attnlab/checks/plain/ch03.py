"""Chapter 3: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch


def my_weights(q, k):
    """(..., L, D) queries and (..., S, D) keys -> (..., L, S) weights."""
    scores = q @ k.transpose(-2, -1)  # every query with every key
    scores = scores / math.sqrt(q.shape[-1])  # spread near 1 for any D
    return scores.softmax(dim=-1)  # each query shares out 1 among the keys


def my_causal_mask(L, S):
    """(L, S) bool mask for the last L of S tokens: True = may attend."""
    query = torch.arange(S - L, S)[:, None]  # (L, 1): its place
    key = torch.arange(S)[None, :]  # (1, S): where each key stands
    return key <= query  # (L, S)


def my_attention(q, k, v, mask):
    """Attention over the keys that mask allows; empty rows give zeros."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., L, S)
    scores = scores.masked_fill(~mask, -torch.inf)  # hide
    weights = scores.softmax(dim=-1)
    weights = weights.masked_fill(~mask, 0.0)  # an empty row: zeros
    return weights @ v  # (..., L, D_v)


def my_cross_attention(x, context, w_q, w_k, w_v):
    """Each token of x takes what it needs from context: (..., L, D_v)."""
    q = x @ w_q  # (..., L, D)
    k = context @ w_k  # (..., S, D)
    v = context @ w_v  # (..., S, D_v)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = scores.softmax(dim=-1)  # (..., L, S)
    return weights @ v


def circle(n):
    """n tokens on a circle of radius 1: (n, 2)."""
    angle = torch.arange(n) * (2 * math.pi / n)
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


def look_back(n):
    """w_q and w_k, both (2, D): token i of circle(n) looks at i - 1."""
    step = 2 * math.pi / n  # the angle from one day to the next
    cos, sin = math.cos(step), math.sin(step)
    sharp = 8 / (1 - cos)  # the runner-up scores 1 - cos less
    turn_back = torch.tensor([[cos, -sin], [sin, cos]])  # for row vectors
    w_q = sharp * turn_back
    w_k = torch.eye(2)  # a key says where its token stands
    return w_q, w_k


def in_blocks(q, k, v, block=128):
    """Attention with at most `block` rows of the table at a time."""
    outputs = []
    for part in q.split(block, dim=-2):  # (..., block, D)
        table = part @ k.mT / math.sqrt(q.shape[-1])  # (..., block, S)
        outputs.append(table.softmax(dim=-1) @ v)
    return torch.cat(outputs, dim=-2)  # (..., L, D_v)


def centred_attention(x):
    """Causal self-attention of centred vectors: (..., L, D)."""
    x = x - x.mean(dim=-1, keepdim=True)  # each vector's own mean
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ x


def weights_stay(change):
    """Are the weights the same after the change?"""
    return change in (
        "W_v doubled",
        "W_q doubled, W_k halved",
        "the same vector added to every key",
        "queries and keys turned by the same rotation",
    )
