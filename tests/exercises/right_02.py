"""Chapter 2: right answers in other hands."""

import math

import numpy as np
import torch
from corpus import hand
from einops import einsum, rearrange

# 02.1 my_context(e, h) ---------------------------------------------------------------------------


def shares(e):
    """softmax in NumPy, along the last axis"""
    p = np.exp(e - e.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


@hand("02.1")
def context_in_numpy(e, h):
    return shares(e.numpy()) @ h.numpy()


@hand("02.1")
class Mix(torch.nn.Module):
    def forward(self, e, h):
        return torch.matmul(torch.nn.Softmax(dim=-1)(e), h)


@hand("02.1")
def context_by_einops(e, h):
    return einsum((e - e.logsumexp(-1, keepdim=True)).exp(), h, "... t s, ... s d -> ... t d")


# 02.2 my_additive_score(s, h, w, u, v) -----------------------------------------------------------


@hand("02.2")
def additive_in_numpy(s, h, w, u, v):
    s, h, w, u, v = (a.numpy() for a in (s, h, w, u, v))
    return np.tanh((s @ w)[..., :, None, :] + (h @ u)[..., None, :, :]) @ v


@hand("02.2")
def additive_by_einops(s, h, w, u, v):
    left = rearrange(s @ w, "... t d -> ... t 1 d")
    right = rearrange(h @ u, "... s d -> ... 1 s d")
    return ((left + right).tanh() * v).sum(-1)


# 02.3 my_aer(alpha, sure, possible) --------------------------------------------------------------


@hand("02.3")
def aer_in_numpy(alpha, sure, possible):
    alpha, sure, possible = (a.numpy() for a in (alpha, sure, possible))
    found = np.arange(alpha.shape[-1]) == alpha.argmax(-1)[..., None]
    both = (-2, -1)
    right = (found & sure).sum(both) + (found & possible).sum(both)
    return 1 - right / (found.sum(both) + sure.sum(both))


@hand("02.3")
def aer_by_scatter(alpha, sure, possible):
    found = torch.zeros_like(alpha).scatter_(-1, alpha.argmax(-1, keepdim=True), 1.0)
    hits = torch.einsum("...ts,...ts->...", found, sure.float() + possible.float())
    return 1 - hits / (alpha.shape[-2] + sure.sum((-1, -2)))


@hand("02.3")
class Aer:
    def __call__(self, alpha, sure, possible):
        flat = zip(*(a.reshape(-1, *a.shape[-2:]) for a in (alpha, sure, possible)), strict=True)
        return torch.tensor([self.one(*each) for each in flat]).reshape(alpha.shape[:-2])

    def one(self, alpha, sure, possible):
        links = [(t, int(row.argmax())) for t, row in enumerate(alpha)]
        hits = sum(int(sure[link]) + int(possible[link]) for link in links)
        return 1 - hits / (len(links) + int(sure.sum()))


@hand("02.3")
def aer_in_double(alpha, sure, possible):
    rows = alpha.argmax(-1, keepdim=True)
    hits = (sure.gather(-1, rows).double() + possible.gather(-1, rows).double()).sum((-2, -1))
    return 1 - hits / (alpha.shape[-2] + sure.double().sum((-2, -1)))


# 02.4 my_gru_weights(z) --------------------------------------------------------------------------


@hand("02.4")
def gates_in_numpy(z):
    z = z.numpy()
    later = np.concatenate([z[..., 1:, :], np.ones_like(z[..., :1, :])], axis=-2)
    return (1 - z) * np.flip(np.cumprod(np.flip(later, -2), -2), -2)


@hand("02.4")
def gates_from_the_last(z):
    kept, out = torch.ones_like(z[..., 0, :]), []
    for gate in reversed(z.unbind(-2)):
        out.append((1 - gate) * kept)
        kept = kept * gate
    return torch.stack(out[::-1], dim=-2)


@hand("02.4")
class Gates(torch.nn.Module):
    def forward(self, z):
        length = z.shape[-2]
        rows = [(1 - z[..., i, :]) * z[..., i + 1 :, :].prod(-2) for i in range(length)]
        return torch.stack(rows, -2)


# 02.5 my_local_weights(e, p, d) ------------------------------------------------------------------


@hand("02.5")
def local_in_numpy(e, p, d):
    e, away = e.numpy(), np.arange(e.shape[-1]) - p.numpy()[..., None]
    inside = np.abs(away) <= d
    return shares(np.where(inside, e, -np.inf)) * np.exp(-2 * (away / d) ** 2)


@hand("02.5")
def local_row_by_row(e, p, d):
    out = torch.zeros_like(e)
    for place in np.ndindex(*p.shape):
        i = torch.arange(e.shape[-1])
        inside = ((i - p[place]).abs() <= d).nonzero()[:, 0]
        bell = torch.exp(-((inside - p[place]) ** 2) / (d * d / 2))
        out[(*place, inside)] = e[place][inside].softmax(0) * bell
    return out


@hand("02.5")
class Local(torch.nn.Module):
    def forward(self, e, p, d):
        away = (torch.arange(e.shape[-1]).to(e) - p[..., None]) / d
        inside = away.abs() <= 1 + 1e-6
        return (e + inside.log()).softmax(-1) * (-2 * away.square()).exp()


# 02.6 my_spread(alpha) ---------------------------------------------------------------------------


@hand("02.6")
def spread_in_numpy(alpha):
    a = alpha.double().numpy()
    return np.exp(-(a * np.log(np.where(a > 0, a, 1))).sum(-1))


@hand("02.6")
class Spread(torch.nn.Module):
    def forward(self, alpha):
        return torch.special.entr(alpha).sum(-1).exp()


@hand("02.6")
def spread_in_a_loop(alpha):
    rows = alpha.reshape(-1, alpha.shape[-1]).tolist()
    found = [math.exp(-sum(a * math.log(a) for a in row if a > 0)) for row in rows]
    return torch.tensor(found).reshape(alpha.shape[:-1])


# 02.7 padded_context(e, h, real) -----------------------------------------------------------------


@hand("02.7")
def padded_in_numpy(e, h, real):
    e, h, real = e.numpy(), h.numpy(), real.numpy()
    e = np.where(real[:, None, :], e, -np.inf)
    share = np.exp(e - e.max(-1, keepdims=True))
    return np.einsum("bts,bsd->btd", share / share.sum(-1, keepdims=True), h)


@hand("02.7")
class Padded(torch.nn.Module):
    def forward(self, e, h, real):
        bias = torch.zeros(real.shape).masked_fill(~real, -torch.inf)
        return torch.baddbmm(torch.zeros(()), torch.nn.Softmax(-1)(e + bias[:, None]), h)


@hand("02.7")
def padded_word_by_word(e, h, real):
    out = torch.zeros(*e.shape[:2], h.shape[-1], dtype=torch.float64)
    for b, t in np.ndindex(*e.shape[:2]):
        words = [s for s in range(e.shape[2]) if real[b, s]]
        weights = torch.stack([e[b, t, s] for s in words]).double().softmax(0)
        out[b, t] = sum(a * h[b, s] for a, s in zip(weights, words, strict=True))
    return out


# 02.8 context_stays(change) ----------------------------------------------------------------------


def context_after(change, scores, words):
    """The context of these words, and of what the change makes of them."""
    if change == "3 more for every score":
        scores = scores + 3
    elif change == "words in reverse order":
        scores, words = scores.flip(0), words.flip(0)
    elif change == "every word twice":
        scores, words = scores.repeat(2), words.repeat(2, 1)
    elif change == "a word with score −∞":
        scores = torch.cat([scores, torch.tensor([-torch.inf])])
        words = torch.cat([words, torch.ones(1, words.shape[1])])
    else:  # the scores, or the words, are others
        scores = scores * torch.linspace(1, 2, len(scores))
    return scores.softmax(0) @ words


@hand("02.8")
def stays_by_trying(change):
    scores, words = torch.tensor([0.5, -1.0, 2.0]), torch.eye(3)
    return bool(torch.allclose(context_after(change, scores, words), scores.softmax(0) @ words))


@hand("02.8")
class Stays:
    changed = ("doubled", " 0", "the last word twice")

    def __call__(self, change):
        return not any(change.endswith(end) for end in self.changed)


@hand("02.8")
def stays_by_a_table(change):
    table = {"3 more": True, "words in": True, "every wo": True, "a word w": True}
    same = [stays for start, stays in table.items() if change.startswith(start)]
    return bool(same) and not change.endswith(" 0")
