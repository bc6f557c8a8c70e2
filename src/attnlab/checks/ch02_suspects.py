"""Chapter 2: the mistakes we know, each as the words a learner reads and the wrong answer itself.

The right answers are here as well, since most mistakes are one of them with a single thing changed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.attention import softmax
from attnlab.checks.exercise import Suspects, again


def context(e: Tensor, h: Tensor) -> Tensor:
    return softmax(e) @ h


def additive(s: Tensor, h: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((s @ w).unsqueeze(-2) + (h @ u).unsqueeze(-3)) @ v


def links(alpha: Tensor) -> Tensor:
    """One link for each target word, as bool: (..., T, S)."""
    return torch.nn.functional.one_hot(alpha.argmax(-1), alpha.shape[-1]).bool()


def count(links_of: Tensor) -> Tensor:
    return links_of.sum((-2, -1)).float()


def aer(alpha: Tensor, sure: Tensor, possible: Tensor) -> Tensor:
    found = links(alpha)
    right = count(found & sure) + count(found & possible)
    return 1 - right / (count(found) + count(sure))


def gate_weights(z: Tensor) -> Tensor:
    """(1 − z_i) · z_{i+1} ⋯ z_T, by a running product from the end: (..., T, H)."""
    return (1 - z) * later(z)


def later(z: Tensor) -> Tensor:
    """The product of all gates after each step; 1 after the last."""
    ones = torch.ones_like(z[..., :1, :])
    return torch.cat([z[..., 1:, :], ones], -2).flip(-2).cumprod(-2).flip(-2)


def distance(scores: Tensor, p: Tensor) -> Tensor:
    return torch.arange(scores.shape[-1]) - p.unsqueeze(-1)  # (..., T, S)


def gauss(scores: Tensor, p: Tensor, sigma: float) -> Tensor:
    return torch.exp(-(distance(scores, p) ** 2) / (2 * sigma**2))


def local(scores: Tensor, p: Tensor, d: int) -> Tensor:
    inside = distance(scores, p).abs() <= d
    return softmax(scores, inside) * gauss(scores, p, d / 2)


# 02.1
CONTEXT: Suspects = [
    (
        "The scores mix the annotations as they are: a softmax has to make weights of them first.",
        lambda e, h: e @ h,
    ),
    (
        "These are the weights: they still have to be multiplied with the annotations.",
        lambda e, h: softmax(e),
    ),
    (
        "This softmax runs over the target words. Each target word shares out 1 among the source "
        "words, which lie along the last axis of e.",
        lambda e, h: softmax(e.mT).mT @ h,
    ),
    (
        "This is the plain mean of all annotations, the same for every word: the scores play no "
        "part.",
        lambda e, h: h.mean(-2, keepdim=True).expand(*h.shape[:-2], e.shape[-2], h.shape[-1]),
    ),
    (
        "This is a hard look: the annotation of the best source word alone. A soft look mixes all "
        "of them.",
        lambda e, h: torch.nn.functional.one_hot(e.argmax(-1), e.shape[-1]).float() @ h,
    ),
    (
        "The scores are divided by their sum, without the exponential. Some are negative, so "
        "these are no weights: use a softmax.",
        lambda e, h: e / e.sum(-1, keepdim=True) @ h,
    ),
    (
        "The exponentials still have to be divided by their sum, so that each row adds up to 1.",
        lambda e, h: e.exp() @ h,
    ),
    (
        "The scores were divided by a root before the softmax. Here they are ready to use: the "
        "√d belongs to the dot product of chapter 3.",
        lambda e, h: softmax(e / h.shape[-1] ** 0.5) @ h,
    ),
    (
        "Without a batch this softmax runs over the source words, but axis 1 is not theirs once "
        "there is one. Count from the back: -1 is the last axis.",
        lambda e, h: e.softmax(1) @ h,
    ),
    (
        "A sigmoid judges each source word alone. A softmax makes them compete for the same 1.",
        lambda e, h: e.sigmoid() @ h,
    ),
]
CONTEXT = again(CONTEXT, "hard look", lambda e, h: h[e.argmax(-1)])

# 02.2
ADDITIVE: Suspects = [
    (
        "The tanh is missing: without it the network is linear, and vᵀ(W s) is the same for all "
        "source words.",
        lambda s, h, w, u, v: ((s @ w).unsqueeze(-2) + (h @ u).unsqueeze(-3)) @ v,
    ),
    (
        "The tanh acts on each side alone. It has to see the sum W s + U h: only there do the two "
        "meet.",
        lambda s, h, w, u, v: (
            (torch.tanh(s @ w).unsqueeze(-2) + torch.tanh(h @ u).unsqueeze(-3)) @ v
        ),
    ),
    (
        "This is a softmax of the scores. The exercise asks for the scores themselves.",
        lambda s, h, w, u, v: softmax(additive(s, h, w, u, v)),
    ),
    (
        "The tanh comes last, after v. It belongs inside: first tanh, then the product with v.",
        lambda s, h, w, u, v: torch.tanh(
            ((s @ w).unsqueeze(-2) + (h @ u).unsqueeze(-3)) @ v,
        ),
    ),
    (
        "The hidden layer is summed up without v, which says how much each of its numbers counts.",
        lambda s, h, w, u, v: torch.tanh((s @ w).unsqueeze(-2) + (h @ u).unsqueeze(-3)).sum(-1),
    ),
    (
        "W s and U h are multiplied. The additive score adds them, as its name says.",
        lambda s, h, w, u, v: torch.tanh((s @ w).unsqueeze(-2) * (h @ u).unsqueeze(-3)) @ v,
    ),
    (
        "This is a dot product of W s and U h. The additive score adds them and asks a small "
        "network.",
        lambda s, h, w, u, v: (s @ w) @ (h @ u).mT,
    ),
    (
        "Rows and columns are swapped: one row for each target state, one column for each source "
        "word.",
        lambda s, h, w, u, v: additive(s, h, w, u, v).mT,
    ),
    (
        "The source words play no part: all columns are the same.",
        lambda s, h, w, u, v: (
            (torch.tanh(s @ w) @ v).unsqueeze(-1).expand(*s.shape[:-1], h.shape[-2])
        ),
    ),
    (
        "This is a sigmoid where tanh should be.",
        lambda s, h, w, u, v: torch.sigmoid((s @ w).unsqueeze(-2) + (h @ u).unsqueeze(-3)) @ v,
    ),
]

# 02.3
AER: Suspects = [
    (
        "This is 1 minus the error rate: it counts what is right. A perfect alignment has rate 0.",
        lambda a, s, p: 1 - aer(a, s, p),
    ),
    (
        "Only the sure links are counted as right. A found link counts once if it is sure and "
        "once more if it is possible.",
        lambda a, s, p: 1 - count(links(a) & s) / (count(links(a)) + count(s)),
    ),
    (
        "The sure links are counted twice here. The second count is of the possible ones: |A∩P|.",
        lambda a, s, p: 1 - 2 * count(links(a) & s) / (count(links(a)) + count(s)),
    ),
    (
        "The denominator is |A| + |P|. It is |A| + |S|: a possible link is allowed, not required.",
        lambda a, s, p: (
            1 - (count(links(a) & s) + count(links(a) & p)) / (count(links(a)) + count(p))
        ),
    ),
    (
        "The denominator is |A| alone: then a sure link that nobody found costs nothing. Add |S|.",
        lambda a, s, p: 1 - (count(links(a) & s) + count(links(a) & p)) / count(links(a)),
    ),
    (
        "The links are chosen per column: the best target word of each source word. Each *target* "
        "word picks one source word, along the last axis.",
        lambda a, s, p: _by_columns(a, s, p),
    ),
    (
        "Every weight above 0.5 makes a link here. A word that spreads its look would have none: "
        "take the largest weight of each row.",
        lambda a, s, p: _rate(a > 0.5, s, p),
    ),
    (
        "Where two weights of a row are equal, both make a link here. Each target word makes one: "
        "`argmax` picks it.",
        lambda a, s, p: _rate(a == a.amax(-1, keepdim=True), s, p),
    ),
    (
        "This is the rate over the whole batch. Keep the front axes: one rate for each sentence.",
        lambda a, s, p: _whole(a, s, p),
    ),
    (
        "The possible links play no part: this is the share of target words that miss a sure link.",
        lambda a, s, p: 1 - count(links(a) & s) / count(links(a)),
    ),
]


def _rate(found: Tensor, sure: Tensor, possible: Tensor) -> Tensor:
    right = count(found & sure) + count(found & possible)
    return 1 - right / (count(found) + count(sure))


def _by_columns(alpha: Tensor, sure: Tensor, possible: Tensor) -> Tensor:
    return _rate(links(alpha.mT).mT, sure, possible)


def _whole(alpha: Tensor, sure: Tensor, possible: Tensor) -> Tensor:
    found = links(alpha)
    right = (found & sure).sum() + (found & possible).sum()
    return 1 - right / (found.sum() + sure.sum())


# 02.4
GATES: Suspects = [
    (
        "The roles of z are swapped: in our GRU z says how much of the *old* state stays, so the "
        "candidate enters with 1 − z.",
        lambda z: gate_weights(1 - z),
    ),
    (
        "Each candidate enters with z here. It enters with 1 − z, and is kept by the z of every "
        "later step.",
        lambda z: z * later(z),
    ),
    (
        "The product runs from step i on. It starts one later: z_i itself mixes candidate i in, "
        "and only z_{i+1}, … keep it.",
        lambda z: (1 - z) * later(z) * z,
    ),
    (
        "The product runs over the steps *before* i. What happens to candidate i comes after it.",
        lambda z: (1 - z) * z.cumprod(-2) / z,
    ),
    (
        "The product runs over the steps *before* i. What happens to candidate i comes after it.",
        lambda z: (
            (1 - z) * torch.cat([torch.ones_like(z[..., :1, :]), z[..., :-1, :]], -2).cumprod(-2)
        ),
    ),
    (
        "The products run over the entries of a state. They run over the steps, axis −2.",
        lambda z: (1 - z) * later(z.mT).mT,
    ),
    (
        "The product runs over the steps up to i. What happens to candidate i comes after it.",
        lambda z: (1 - z) * z.cumprod(-2),
    ),
    (
        "Only the entry 1 − z is here. Every later step shrinks it once more, by its z.",
        lambda z: 1 - z,
    ),
    (
        "Only what is kept later is here. The candidate enters with 1 − z_i first.",
        later,
    ),
    (
        "The later gates are added, where they have to be multiplied: each keeps a share of what "
        "the one before it kept.",
        lambda z: (1 - z) * (z.flip(-2).cumsum(-2).flip(-2) - z),
    ),
    (
        "The weights were brought to sum 1. They do not: what is missing belongs to the state h_0 "
        "at the start.",
        lambda z: gate_weights(z) / gate_weights(z).sum(-2, keepdim=True),
    ),
    (
        "The steps are in reverse order: row 0 belongs to the first candidate.",
        lambda z: gate_weights(z).flip(-2),
    ),
]

# 02.5
LOCAL: Suspects = [
    (
        "The Gaussian is missing: these are softmax weights inside the window.",
        lambda e, p, d: softmax(e, distance(e, p).abs() <= d),
    ),
    (
        "The window is missing: words further away than d still take part in the softmax. Hide "
        "them before it.",
        lambda e, p, d: softmax(e) * gauss(e, p, d / 2),
    ),
    (
        "The window comes after the softmax: the hidden words have taken their share already. "
        "Hide their scores before it.",
        lambda e, p, d: softmax(e) * gauss(e, p, d / 2) * (distance(e, p).abs() <= d),
    ),
    (
        "The rows were brought to sum 1 after the Gaussian. Luong's formula leaves them as they "
        "are.",
        lambda e, p, d: local(e, p, d) / local(e, p, d).sum(-1, keepdim=True),
    ),
    (
        "The Gaussian is added to the scores. It multiplies the weights, after the softmax.",
        lambda e, p, d: softmax(e + gauss(e, p, d / 2), distance(e, p).abs() <= d),
    ),
    (
        "The Gaussian has σ = d. It is half as wide: σ = d / 2.",
        lambda e, p, d: softmax(e, distance(e, p).abs() <= d) * gauss(e, p, float(d)),
    ),
    (
        "The 2 in exp(−(i − p)² / 2σ²) is missing.",
        lambda e, p, d: (
            softmax(e, distance(e, p).abs() <= d) * torch.exp(-(distance(e, p) ** 2) / (d / 2) ** 2)
        ),
    ),
    (
        "The exponent has the wrong sign: the Gaussian is largest at p and falls to both sides.",
        lambda e, p, d: softmax(e, distance(e, p).abs() <= d) / gauss(e, p, d / 2),
    ),
    (
        "The word exactly d away is left out: the comparison is `<` where it should be `<=`.",
        lambda e, p, d: softmax(e, distance(e, p).abs() < d) * gauss(e, p, d / 2),
    ),
    (
        "The window is the wrong way round: what lies outside it is what is seen.",
        lambda e, p, d: softmax(e, distance(e, p).abs() > d) * gauss(e, p, d / 2),
    ),
    (
        "p was rounded to a whole place. It may lie between two words.",
        lambda e, p, d: local(e, p.round(), d),
    ),
    (
        "Content plays no part: this is the Gaussian alone.",
        lambda e, p, d: gauss(e, p, d / 2),
    ),
]


# 02.6
def entropy(alpha: Tensor, axis: int = -1) -> Tensor:
    return -torch.xlogy(alpha, alpha).sum(axis)


def spread(alpha: Tensor) -> Tensor:
    return entropy(alpha).exp()


SPREAD: Suspects = [
    (
        "This is the entropy itself. Its exponential turns it into a number of words.",
        entropy,
    ),
    (
        "The sign is turned round: ln α is negative, so the entropy has a minus in front.",
        lambda alpha: (-entropy(alpha)).exp(),
    ),
    (
        "Two bases are mixed: with log₂ take 2 to that power, with ln take exp.",
        lambda alpha: (entropy(alpha) / torch.log(torch.tensor(2.0))).exp(),
    ),
    (
        "This sums over the target words. A row is one look: sum over the last axis.",
        lambda alpha: entropy(alpha, -2).exp(),
    ),
    (
        "ln 0 is −inf, and 0 · (−inf) is NaN. A weight of 0 adds nothing: `torch.xlogy(a, a)` "
        "knows that.",
        lambda alpha: (-(alpha * alpha.log()).sum(-1)).exp(),
    ),
    (
        "This is 1 / Σ α², which counts words as well, but in another way. Take the entropy.",
        lambda alpha: 1 / alpha.square().sum(-1),
    ),
]


# 02.7
def padded(e: Tensor, h: Tensor, real: Tensor) -> Tensor:
    return softmax(e, real.unsqueeze(-2)) @ h


def _filled(low: float) -> Callable[..., Tensor]:
    return lambda e, h, real: softmax(e.masked_fill(~real.unsqueeze(-2), low)) @ h


PADDED: Suspects = [
    (
        "The padding is hidden after the softmax, when it has taken its share already: the weights "
        "of a short sentence add up to less than 1.",
        lambda e, h, real: (softmax(e) * real.unsqueeze(-2)) @ h,
    ),
    (
        "Dividing by the number of real words does not make the weights add up to 1: what is left "
        "of them is no mean. Give the padding the score −inf before the softmax.",
        lambda e, h, real: (
            (softmax(e) * real.unsqueeze(-2) / real.sum(-1)[:, None, None].clamp(1)) @ h
        ),
    ),
    (
        "The padding still takes part: `real` has no effect.",
        lambda e, h, real: softmax(e) @ h,
    ),
    (
        "The scores of the padding are set to 0. But e^0 = 1 is a share like any other: −inf takes "
        "none.",
        lambda e, h, real: softmax(e * real.unsqueeze(-2)) @ h,
    ),
    (
        "The mask is the wrong way round: the padding is what is seen.",
        lambda e, h, real: softmax(e, ~real.unsqueeze(-2)) @ h,
    ),
    (
        "The softmax runs over the target words. It shares out 1 among the source words.",
        lambda e, h, real: torch.softmax(e, -2) * real.unsqueeze(-2) @ h,
    ),
]
PADDED = again(
    PADDED,
    "what is left of them is no mean",
    lambda e, h, real: softmax(e) * real.unsqueeze(-2) / real.sum(-1)[:, None, None] @ h,
)
PADDED = [
    *PADDED,
    *(
        (
            f"A score of {low} is low, but the padding takes a share all the same: a real score "
            "may be lower still. Only −inf takes none.",
            _filled(low),
        )
        for low in (-1, -10, -100)
    ),
]
