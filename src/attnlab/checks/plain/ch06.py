"""Chapter 6: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch
import torch.nn.functional as F

from attnlab.attention import attention


def my_mask(lengths, size):
    """(B,) -> (B, 1, L, L), True = may attend."""
    place = torch.arange(size)  # (L,)
    past = place <= place[:, None]  # (L, L): key j, query i
    real = place < lengths[:, None]  # (B, L)
    return past & real[:, None, None]


def my_encoder_block(x, w, w1, w2):
    """(..., L, E) -> (..., L, E)"""
    h = F.layer_norm(x, x.shape[-1:])
    x = x + attention(h @ w[0], h @ w[1], h @ w[2])
    h = F.layer_norm(x, x.shape[-1:])
    return x + torch.relu(h @ w1) @ w2


def my_decoder_block(y, encoded, w, u, w1, w2):
    """(..., T, E), (..., S, E) -> (..., T, E)"""
    h = F.layer_norm(y, y.shape[-1:])
    y = y + attention(h @ w[0], h @ w[1], h @ w[2], causal=True)
    h = F.layer_norm(y, y.shape[-1:])
    y = y + attention(h @ u[0], encoded @ u[1], encoded @ u[2])
    h = F.layer_norm(y, y.shape[-1:])
    return y + torch.relu(h @ w1) @ w2


def my_mended_block(x, w, w1, w2):
    """(..., L, E) -> (..., L, E)"""
    h = F.layer_norm(x, x.shape[-1:])
    q, k, v = h @ w[0], h @ w[1], h @ w[2]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    x = x + scores.softmax(dim=-1) @ v
    h = F.layer_norm(x, x.shape[-1:])
    return x + torch.relu(h @ w1) @ w2


def my_count(words, source_words, width, blocks):
    """How many numbers a Transformer learns."""
    tables = (words + source_words) * width
    attention = 4 * width**2 + 4 * width
    network = 8 * width**2 + 5 * width
    norm = 2 * width
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    return tables + blocks * (encoder + decoder) + 2 * norm


def my_top_p(probabilities, p):
    """(..., V) -> (..., V)"""
    values, order = probabilities.sort(dim=-1, descending=True)
    ahead = values.cumsum(dim=-1) - values  # (..., V)
    values = values * (ahead < p)  # 0 where enough is ahead already
    kept = torch.zeros_like(probabilities).scatter(-1, order, values)
    return kept / kept.sum(dim=-1, keepdim=True)


def my_cached_attention(x, past_k, past_v, w_q, w_k, w_v):
    """One new token (..., 1, E) -> its output (..., 1, D_v)."""
    q = x @ w_q  # (..., 1, D)
    k = torch.cat([past_k, x @ w_k], dim=-2)  # (..., S + 1, D)
    v = torch.cat([past_v, x @ w_v], dim=-2)  # (..., S + 1, D_v)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (..., 1, S + 1)
    return scores.softmax(dim=-1) @ v


def my_scaled_step(weight, gradient, scale, rate):
    """Weight (…) in float32, gradient (…) in float16 -> the new weight."""
    true_size = gradient.float() / scale
    if not true_size.isfinite().all():
        return weight
    return weight - rate * true_size


def my_smoothed_losses(logits, target, epsilon):
    """(N, V), (N,) -> (N,)"""
    log_p = logits.log_softmax(dim=-1)  # (N, V)
    right = log_p.gather(-1, target[:, None])[:, 0]  # (N,)
    everybody = log_p.mean(dim=-1)  # (N,)
    return -((1 - epsilon) * right + epsilon * everybody)
