"""Judges for exercises with many right answers, written apart from their checkers."""

import math

import torch


def looks_back(function) -> bool:
    """03.5, by the text: at least 0.9 on the day before, any n from 3 to 365."""
    for n in (3, 4, 5, 7, 10, 24, 100, 365):
        w_q, w_k = function(n)
        angle = torch.arange(n).double() * (2 * math.pi / n)
        x = torch.stack([angle.cos(), angle.sin()], -1)
        scores = x @ w_q.double() @ (x @ w_k.double()).T / math.sqrt(w_q.shape[1])
        table = scores.softmax(-1)
        if not bool((table[torch.arange(n), torch.arange(n) - 1] >= 0.9 - 1e-4).all()):
            return False
    return True


def polygon(function) -> bool:
    """04.5: n arrows of length 1 whose largest cosine is that of a regular polygon."""
    for n in (2, 3, 4, 5, 6, 9, 20):
        w = function(n).double()
        if w.shape != (2, n) or float((w.norm(dim=0) - 1).abs().max()) > 1e-3:
            return False
        cosines = w.T @ w - 2 * torch.eye(n).double()
        if float(cosines.max()) > math.cos(2 * math.pi / n) + 2e-3:
            return False
    return True


def counts_back(function) -> bool:
    """05.5: at places 0 to 59 and 5000 to 5059, with the same matrices."""
    for k, width in ((1, 32), (2, 32), (3, 32), (4, 64), (7, 64)):
        w_q, w_k = (w.double() for w in function(k, width))
        for first in (0, 5000):
            place = torch.arange(first, first + 60).double()[:, None]
            angles = place * 10_000 ** (-torch.arange(0, width, 2).double() / width)
            x = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
            table = (x @ w_q @ (x @ w_k).T / math.sqrt(w_q.shape[1])).softmax(-1)
            here = torch.arange(k, 60)
            if not bool((table[here, here - k] >= 0.9 - 5e-3).all()):
                return False
    return True


JUDGES = {"03.5": looks_back, "04.5": polygon, "05.5": counts_back}
