"""Chapter 10: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch

from attnlab.kernels.in_torch import tl  # Triton's own is slow, and slips are many


def my_take(top, total, mixed, scores, values):
    """The running softmax after one more block of keys."""
    higher = torch.maximum(top, scores.amax(-1))  # (L,)
    shrink = torch.exp(top - higher)  # (L,)
    p = torch.exp(scores - higher[:, None])  # (L, N)
    total = total * shrink + p.sum(-1)
    return higher, total, mixed * shrink[:, None] + p @ values


def my_rms_norm(x, weight, eps):
    """(..., E) -> (..., E)"""
    mean_square = x.square().mean(-1, keepdim=True)  # (..., 1)
    return x / (mean_square + eps).sqrt() * weight


def my_gqa(q, k, v):
    """(B, H, L, D), (B, G, S, D), (B, G, S, D) -> (B, H, L, D)"""
    times = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(times, dim=1)
    v = v.repeat_interleave(times, dim=1)
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


def my_soap_step(w, g, left, right, square, lr):
    """(n, m), (n, m), (n, n), (m, m), (n, m) -> (n, m)"""
    inside = left.mT @ g @ right  # the gradient in its own axes
    direction = inside / (square.sqrt() + 1e-8)
    return w - lr * left @ direction @ right.mT


def my_cached_step(q, k, v, past_k, past_v):
    """What the new token finds, and the cache for the next one."""
    keys = torch.cat([past_k, k], dim=-2)  # (..., S + 1, D)
    values = torch.cat([past_v, v], dim=-2)
    out = (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ values
    return out, keys, values


def my_cache_bytes(layers, kv_heads, head_width, context, batch, item):
    """Bytes of all keys and values."""
    per_token = 2 * layers * kv_heads * head_width * item
    return per_token * context * batch


def my_block(top, total, mixed, scores, values):
    """The running softmax after one more block of keys, in Triton."""
    higher = tl.maximum(top, tl.max(scores, 1))  # (M,)
    shrink = tl.exp(top - higher)  # (M,)
    p = tl.exp(scores - higher[:, None])  # (M, N)
    total = total * shrink + tl.sum(p, 1)
    mixed = mixed * shrink[:, None] + tl.dot(p, values)
    return higher, total, mixed


def block_bytes(m, n, d):
    """Bytes of fast memory for one program of the forward kernel."""
    queries_and_mixed = 2 * m * d
    keys_and_values = 2 * n * d
    scores, top_and_total = m * n, 2 * m
    return 4 * (queries_and_mixed + keys_and_values + scores + top_and_total)


def my_gradient(parts, sizes):
    """The mean gradients of parts, and their tokens -> the gradient of the whole batch."""
    weighed = parts * sizes[:, None]  # (parts, P)
    return weighed.sum(0) / sizes.sum()
