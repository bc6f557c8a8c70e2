"""Chapter 6: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch


def my_layer_norm(x, gain, shift, eps):
    """(..., E) -> (..., E)"""
    mean = x.mean(-1, keepdim=True)  # (..., 1)
    variance = x.var(-1, correction=0, keepdim=True)  # (..., 1)
    return (x - mean) / torch.sqrt(variance + eps) * gain + shift


def my_rates(steps, width, warm_up):
    """Step numbers (N,) -> learning rates (N,)."""
    steps = steps.float()
    down = steps**-0.5  # (N,)
    up = steps * warm_up**-1.5  # (N,)
    return width**-0.5 * torch.minimum(down, up)


def my_smoothed_losses(logits, target, epsilon):
    """(N, V), (N,) -> (N,)"""
    log_p = logits.log_softmax(dim=-1)  # (N, V)
    right = log_p.gather(-1, target[:, None])[:, 0]  # (N,)
    everybody = log_p.mean(dim=-1)  # (N,)
    return -((1 - epsilon) * right + epsilon * everybody)


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
