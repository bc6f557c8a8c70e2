"""Chapter 2: its exercises answered plainly, as the chapter does; slips.py changes them."""

import torch


def my_context(e, h):
    """Scores (..., T, S), annotations (..., S, d_h) -> (..., T, d_h)."""
    alpha = e.softmax(dim=-1)  # each target word shares out 1
    return alpha @ h  # (..., T, S) @ (..., S, d_h)


def my_additive_score(s, h, w, u, v):
    """tanh(s W + h U) · v for every pair: (..., T, S)."""
    left = (s @ w).unsqueeze(-2)  # (..., T, 1, D)
    right = (h @ u).unsqueeze(-3)  # (..., 1, S, D)
    return torch.tanh(left + right) @ v


def my_aer(alpha, sure, possible):
    """Weights and two bool tables, (..., T, S) each -> (...)."""
    best = alpha.argmax(dim=-1)  # (..., T)
    found = torch.nn.functional.one_hot(best, alpha.shape[-1]).bool()
    right = (found & sure).sum((-2, -1)) + (found & possible).sum((-2, -1))
    return 1 - right / (found.sum((-2, -1)) + sure.sum((-2, -1)))


def my_gru_weights(z):
    """Update gates (..., T, H) -> weights of the candidates (..., T, H)."""
    ones = torch.ones_like(z[..., :1, :])
    later = torch.cat([z[..., 1:, :], ones], dim=-2)  # gates of step i + 1
    kept = later.flip(-2).cumprod(-2).flip(-2)  # the product of all later ones
    return (1 - z) * kept


def my_local_weights(e, p, d):
    """Softmax in a window of ±d around p, times a Gaussian: (..., T, S)."""
    away = torch.arange(e.shape[-1]) - p.unsqueeze(-1)  # (..., T, S)
    inside = away.abs() <= d
    alpha = e.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return alpha * torch.exp(-(away**2) / (2 * (d / 2) ** 2))


def my_spread(alpha):
    """Weights (..., T, S) -> over how many words each row is spread (..., T)."""
    entropy = -torch.xlogy(alpha, alpha).sum(dim=-1)
    return entropy.exp()


def padded_context(e, h, real):
    """Contexts of padded sentences: (B, T, d_h)."""
    hidden = ~real.unsqueeze(-2)  # (B, 1, S)
    alpha = e.masked_fill(hidden, -torch.inf).softmax(dim=-1)
    return alpha @ h


def context_stays(change):
    """Is the context the same after the change?"""
    return change in (
        "3 more for every score",
        "words in reverse order",
        "every word twice",
        "a word with score −∞",
    )
