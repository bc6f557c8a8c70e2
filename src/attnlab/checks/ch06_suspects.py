"""Chapter 6, decoding and training: the mistakes we know, their words and the wrong answers."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.attention import weights
from attnlab.checks.exercise import Suspects

# 06.6


def cut(probabilities: Tensor, keep: Tensor, order: Tensor, again: bool = True) -> Tensor:
    kept = probabilities * torch.zeros_like(keep).scatter(-1, order, keep)
    return kept / kept.sum(-1, keepdim=True) if again else kept


def ranked(probabilities: Tensor, largest: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Order, probability up to and with each word, and without it."""
    order = probabilities.argsort(dim=-1, descending=largest, stable=True)
    sorted_ = probabilities.gather(-1, order)
    return order, sorted_.cumsum(-1), sorted_.cumsum(-1) - sorted_


def nucleus(probabilities: Tensor, p: float) -> Tensor:
    """The right one."""
    order, _, before = ranked(probabilities)
    return cut(probabilities, before < p, order)


def too_short(probabilities: Tensor, p: float) -> Tensor:
    order, total, _ = ranked(probabilities)
    keep = total <= p
    keep[..., 0] = True
    return cut(probabilities, keep, order)


def without_adding_up(probabilities: Tensor, p: float) -> Tensor:
    order, _, before = ranked(probabilities)
    return cut(probabilities, before < p, order, again=False)


def unlikely_first(probabilities: Tensor, p: float) -> Tensor:
    order, _, before = ranked(probabilities, largest=False)
    return cut(probabilities, before < p, order)


def in_rank_order(probabilities: Tensor, p: float) -> Tensor:
    order, _, before = ranked(probabilities)
    kept = probabilities.gather(-1, order) * (before < p)
    return kept / kept.sum(-1, keepdim=True)


def above_the_rest(probabilities: Tensor, p: float) -> Tensor:
    kept = probabilities * (probabilities >= 1 - p)
    kept = torch.where(kept.sum(-1, keepdim=True) > 0, kept, probabilities)
    return kept / kept.sum(-1, keepdim=True)


def put_back_twisted(probabilities: Tensor, p: float) -> Tensor:
    order, _, before = ranked(probabilities)
    kept = (probabilities.gather(-1, order) * (before < p)).gather(-1, order)
    return kept / kept.sum(-1, keepdim=True)


def softly(probabilities: Tensor, p: float) -> Tensor:
    return without_adding_up(probabilities, p).softmax(-1)


def above(probabilities: Tensor, p: float) -> Tensor:
    kept = probabilities * (probabilities >= p)
    return kept / kept.sum(-1, keepdim=True)


NUCLEUS: Suspects = [
    (
        "The words that are kept do not add up to 1: divide by their sum.",
        without_adding_up,
    ),
    (
        "The nucleus ends one word too early: it stops *before* p is reached. Keep a word while "
        "the words ahead of it have less than p.",
        too_short,
    ),
    (
        "These are the unlikeliest words: sort with `descending=True`.",
        unlikely_first,
    ),
    (
        "The result is in order of rank, not in the order of the words: scatter it back.",
        in_rank_order,
    ),
    (
        "The order was applied once more, not undone: what has rank r goes back to position "
        "order[r]. `scatter` does that, `gather` does not.",
        put_back_twisted,
    ),
    (
        "A softmax of probabilities gives even the words that were cut some. Divide the kept ones "
        "by their sum.",
        softly,
    ),
    (
        "This keeps the words whose own probability is at least 1 − p. The *sum* of the kept words "
        "must reach p.",
        above_the_rest,
    ),
    (
        "This keeps the words whose own probability is at least p. The *sum* of the kept words "
        "must reach p.",
        above,
    ),
]

# 06.7

Matrices = tuple[Tensor, Tensor, Tensor]


def cached(
    x: Tensor, past_k: Tensor, past_v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    """The right one."""
    k = torch.cat([past_k, x @ w_k], dim=-2)
    return weights(x @ w_q, k) @ torch.cat([past_v, x @ w_v], dim=-2)


def first_key_only(
    x: Tensor, past_k: Tensor, past_v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    k = torch.cat([past_k, x @ w_k], dim=-2)
    mask = torch.ones(1, k.shape[-2], dtype=torch.bool).tril()
    return weights(x @ w_q, k, mask=mask) @ torch.cat([past_v, x @ w_v], dim=-2)


CACHED: Suspects = [
    (
        "The newest token does not see itself: append its own key and value to the past first.",
        lambda x, k, v, w_q, w_k, w_v: weights(x @ w_q, k) @ v,
    ),
    (
        "The newest token sees itself alone: the past is not used.",
        lambda x, k, v, w_q, w_k, w_v: x @ w_v,
    ),
    (
        "The past goes through the matrices a second time: what is cached are keys and values, "
        "ready to use.",
        lambda x, k, v, w_q, w_k, w_v: (
            weights(x @ w_q, torch.cat([k, x], -2) @ w_k) @ (torch.cat([v, x], -2) @ w_v)
        ),
    ),
    (
        "The newest token sees only the first key: a causal mask aligned at the upper left. It is "
        "the last token, so it may see everything, and no mask is needed.",
        first_key_only,
    ),
    (
        "The token itself was appended, without its matrices: project it first.",
        lambda x, k, v, w_q, w_k, w_v: (
            weights(x @ w_q, torch.cat([k, x], -2)) @ torch.cat([v, x], -2)
        ),
    ),
    (
        "The scores are not divided by √D.",
        lambda x, k, v, w_q, w_k, w_v: (
            weights(x @ w_q, torch.cat([k, x @ w_k], -2), scale=1.0) @ torch.cat([v, x @ w_v], -2)
        ),
    ),
    (
        "The query is the token itself: multiply it by w_q.",
        lambda x, k, v, w_q, w_k, w_v: (
            weights(x, torch.cat([k, x @ w_k], -2)) @ torch.cat([v, x @ w_v], -2)
        ),
    ),
]

# 06.8


def scaled(weight: Tensor, gradient: Tensor, scale: float, rate: float) -> Tensor:
    """The right one."""
    true_size = gradient.float() / scale
    return weight - rate * true_size if true_size.isfinite().all() else weight.clone()


def unscaled(weight: Tensor, gradient: Tensor, scale: float, rate: float) -> Tensor:
    return scaled(weight, gradient, 1.0, rate)


def in_half(weight: Tensor, gradient: Tensor, scale: float, rate: float) -> Tensor:
    return scaled(weight, gradient / scale, 1.0, rate)


def never_skips(weight: Tensor, gradient: Tensor, scale: float, rate: float) -> Tensor:
    return weight - rate * gradient.float() / scale


def only_the_good_ones(weight: Tensor, gradient: Tensor, scale: float, rate: float) -> Tensor:
    moved = never_skips(weight, gradient, scale, rate)
    return torch.where(gradient.isfinite(), moved, weight)


def misses_nan(weight: Tensor, gradient: Tensor, scale: float, rate: float) -> Tensor:
    return weight if gradient.isinf().any() else never_skips(weight, gradient, scale, rate)


SCALED: Suspects = [
    (
        "The gradient still carries the scale: divide by it.",
        unscaled,
    ),
    (
        "This multiplies by the scale a second time: divide by it.",
        lambda weight, gradient, scale, rate: scaled(weight, gradient, 1 / scale, rate),
    ),
    (
        "The step goes up the hill: subtract the gradient.",
        lambda weight, gradient, scale, rate: scaled(weight, gradient, scale, -rate),
    ),
    (
        "The division happens in float16, and small gradients vanish again: call `.float()` first.",
        in_half,
    ),
    (
        "An overflow is not looked for: if any number is not finite, return the weight as it was.",
        never_skips,
    ),
    (
        "The good numbers of a spoilt gradient still move the weight: skip the whole step.",
        only_the_good_ones,
    ),
    (
        "NaN gets through: `isfinite` is False for it as well as for ±inf.",
        misses_nan,
    ),
]

# 06.9


def smoothed(logits: Tensor, target: Tensor, epsilon: float) -> Tensor:
    """The right one."""
    log_p = logits.log_softmax(-1)
    right = log_p.gather(-1, target[:, None])[:, 0]
    return -((1 - epsilon) * right + epsilon * log_p.mean(-1))


SMOOTHED: Suspects = [
    (
        "This is the plain cross-entropy: epsilon does nothing in it.",
        lambda logits, target, epsilon: smoothed(logits, target, 0.0),
    ),
    (
        "The sign is turned round: a loss is minus a log-probability.",
        lambda logits, target, epsilon: -smoothed(logits, target, epsilon),
    ),
    (
        "The two weights are swapped: 1 − ε belongs to the right word, ε is shared by all.",
        lambda logits, target, epsilon: smoothed(logits, target, 1 - epsilon),
    ),
    (
        "The second part is the sum over all words. ε is shared *out* among them: take the mean.",
        lambda logits, target, epsilon: (
            -(
                (1 - epsilon) * logits.log_softmax(-1).gather(-1, target[:, None])[:, 0]
                + epsilon * logits.log_softmax(-1).sum(-1)
            )
        ),
    ),
    (
        "These are raw logits: make log-probabilities of them first, with `log_softmax`.",
        lambda logits, target, epsilon: (
            -((1 - epsilon) * logits.gather(-1, target[:, None])[:, 0] + epsilon * logits.mean(-1))
        ),
    ),
    (
        "The right word lacks its share of ε. The paper's target has ε/V on every word, the right "
        "one included.",
        lambda logits, target, epsilon: (
            -(
                (1 - epsilon) * logits.log_softmax(-1).gather(-1, target[:, None])[:, 0]
                + epsilon
                * (
                    logits.log_softmax(-1).sum(-1)
                    - logits.log_softmax(-1).gather(-1, target[:, None])[:, 0]
                )
                / (logits.shape[-1] - 1)
            )
        ),
    ),
]
