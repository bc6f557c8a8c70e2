"""The capstone: its exercises answered plainly, as the notebook does; slips.py changes them."""

import torch
import torch.nn.functional as F

from attnlab.layers.heads import merge, split


def my_rms_norm(x, weight):
    """(..., E), (E,) -> (..., E)"""
    size = (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return x / size * weight


def my_rope(x, offset):
    """(H, L, D) -> (H, L, D)"""
    L, D = x.shape[-2:]  # noqa: N806
    places = torch.arange(offset, offset + L)
    speeds = 10000.0 ** (-torch.arange(0, D, 2) / D)
    turns = places[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = turns.cos(), turns.sin()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def my_mask(L, S):
    """(L, S), bool: True = may attend"""
    return torch.ones(L, S, dtype=torch.bool).tril(S - L)


def my_attention(q, k, v, mask):
    """(H, L, D), (G, S, D), (G, S, D), (L, S) -> (H, L, D)"""
    share = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(share, dim=0), v.repeat_interleave(share, dim=0)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1) @ v


def my_swiglu(x, gate, wide, narrow):
    """(L, E), (F, E), (F, E), (E, F) -> (L, E)"""
    return (F.silu(x @ gate.T) * (x @ wide.T)) @ narrow.T


def my_cache(past, new):
    """(G, S, D), (G, L, D) -> (G, S + L, D)"""
    return torch.cat([past, new], dim=-2)


def my_shares(logits, temperature, top_p):
    """(V,) -> (V,)"""
    shares = (logits / temperature).softmax(dim=-1)
    ranked, order = shares.sort(descending=True)
    keep = ranked.cumsum(-1) - ranked < top_p
    kept = torch.zeros_like(shares)
    kept[order[keep]] = ranked[keep]
    return kept / kept.sum()


def my_block(x, layer, heads, past_k, past_v, note):
    """(L, E) and the cache -> (L, E), and the new cache, (G, S, D) each"""
    D, offset = x.shape[-1] // heads, past_k.shape[-2]  # noqa: N806
    h = my_rms_norm(x, layer.norm)
    q = split(h @ layer.query.T, heads)
    k = split(h @ layer.key.T, len(layer.key) // D)
    v = split(h @ layer.value.T, len(layer.value) // D)
    q = my_rope(q, offset)
    k = my_cache(past_k, my_rope(k, offset))
    v = my_cache(past_v, v)
    y = my_attention(q, k, v, my_mask(len(x), k.shape[-2]))
    x = x + merge(y) @ layer.out.T
    h = my_rms_norm(x, layer.norm_2)
    y = my_swiglu(h, layer.gate, layer.wide, layer.narrow)
    return x + y, k, v


def my_model(tokens, weights, past, note):
    """(L,) -> logits (L, V), and the keys and values of every layer"""
    D = weights.words.shape[1] // weights.heads  # noqa: N806
    x = weights.words[tokens]
    new = []
    for n, layer in enumerate(weights.layers):
        empty = torch.zeros(len(layer.key) // D, 0, D)
        k, v = past[n] if past else (empty, empty)
        x, k, v = my_block(x, layer, weights.heads, k, v, note)
        new.append((k, v))
    x = my_rms_norm(x, weights.norm)
    return x @ weights.words.T, tuple(new)
