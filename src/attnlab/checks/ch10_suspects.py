"""Chapter 10: the mistakes we know, each as the words a learner reads and the wrong answer itself.

When an answer fails and one of these returns exactly the same, its words are shown.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.attention import attention, softmax
from attnlab.checks.exercise import Suspects
from attnlab.kernels import Running, take

# 10.1 my_take(top, total, mixed, scores, values) -------------------------------------------------

Kept = tuple[Tensor, Tensor, Tensor]


def taken(top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor) -> Kept:
    """The right answer: `online_softmax.take` on bare tensors."""
    new = take(Running(top=top, total=total, mixed=mixed), scores, values)
    return new.top, new.total, new.mixed


def _parts(top: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    new = torch.maximum(top, scores.amax(-1))
    return new, (top - new).exp(), (scores - new[..., None]).exp()


def _no_shrink(top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor) -> Kept:
    new, _, p = _parts(top, scores)
    return new, total + p.sum(-1), mixed + p @ values


def _sum_only(top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor) -> Kept:
    new, shrink, p = _parts(top, scores)
    return new, total * shrink + p.sum(-1), mixed + p @ values


def _inverted(top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor) -> Kept:
    new, shrink, p = _parts(top, scores)
    return new, total / shrink + p.sum(-1), mixed / shrink[..., None] + p @ values


def _block_top(top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor) -> Kept:
    new = scores.amax(-1)
    shrink, p = (top - new).exp(), (scores - new[..., None]).exp()
    return new, total * shrink + p.sum(-1), mixed * shrink[..., None] + p @ values


def _old_top(top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor) -> Kept:
    new, shrink, _ = _parts(top, scores)
    p = (scores - top[..., None]).exp()
    return new, total * shrink + p.sum(-1), mixed * shrink[..., None] + p @ values


def _divided(top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor) -> Kept:
    new, total, mixed = taken(top, total, mixed, scores, values)
    return new, total, mixed / total[..., None]


TAKE: Suspects = [
    (
        "The old sums were not shrunk. They are relative to the old maximum: multiply both by "
        "exp(old maximum − new maximum) before you add.",
        _no_shrink,
    ),
    (
        "`total` was shrunk, `mixed` was not: both are relative to the old maximum.",
        _sum_only,
    ),
    (
        "The old sums grew. The factor is exp(old maximum − new maximum), which is at most 1.",
        _inverted,
    ),
    (
        "The new maximum is that of this block alone. Keep the larger one of it and `top`.",
        _block_top,
    ),
    (
        "The new terms are relative to the old maximum: subtract the new one from the scores.",
        _old_top,
    ),
    (
        "`mixed` was divided by the sum already. That happens once, after the last block.",
        _divided,
    ),
]

# 10.2 my_rms_norm(x, weight, eps) ----------------------------------------------------------------


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


RMS: Suspects = [
    (
        "This is LayerNorm without its bias: the mean was subtracted. RMSNorm leaves it in.",
        lambda x, weight, eps: rms_norm(_centred(x), weight, eps),
    ),
    (
        "The numbers are divided by their standard deviation, which subtracts the mean inside: "
        "take the mean of x² itself.",
        lambda x, weight, eps: (
            x / (_centred(x).square().mean(-1, keepdim=True) + eps).sqrt() * weight
        ),
    ),
    (
        "The squares are summed, not averaged: the result is too small by √E.",
        lambda x, weight, eps: x / (x.square().sum(-1, keepdim=True) + eps).sqrt() * weight,
    ),
    (
        "The root is missing: divide by the root of the mean square.",
        lambda x, weight, eps: x / (x.square().mean(-1, keepdim=True) + eps) * weight,
    ),
    (
        "The weight is missing: every feature has a factor of its own.",
        lambda x, weight, eps: rms_norm(x, torch.ones_like(weight), eps),
    ),
    (
        "The epsilon stands outside of the root. It belongs inside, beside the mean.",
        lambda x, weight, eps: x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * weight,
    ),
    (
        "The mean runs over all numbers at once. Each token has its own: the last axis only.",
        lambda x, weight, eps: x / (x.square().mean() + eps).sqrt() * weight,
    ),
]

# 10.3 my_gqa(q, k, v) ----------------------------------------------------------------------------


def _repeated(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    times = q.shape[1] // k.shape[1]
    return attention(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1))


def _over_queries(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    times = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    return softmax((q @ k.mT / q.shape[-1] ** 0.5).mT).mT @ v


def _undivided(q: Tensor, k: Tensor, v: Tensor, less: bool) -> Tensor:
    """Powers instead of weights, with the largest score taken off first or not."""
    times = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return (scores - less * scores.amax(-1, keepdim=True)).exp() @ v


UNDIVIDED = (
    "The exponentials are not divided by their sum: the weights of a query must add up to 1."
)
GQA: Suspects = [
    (
        "The order of sharing is 0 1 0 1: `repeat` puts the whole row of heads behind itself. "
        "Heads next to each other share: 0 0 1 1, as `repeat_interleave` does.",
        _repeated,
    ),
    (
        "The scores were not divided by √D.",
        lambda q, k, v: attention(q, k, v, scale=1.0),
    ),
    (
        "All heads of queries use the first head of keys and values. That is multi-query "
        "attention: here each group has its own.",
        lambda q, k, v: attention(q, k[:, :1], v[:, :1]),
    ),
    (
        "The keys and values were averaged over their heads. Each group keeps its own.",
        lambda q, k, v: attention(q, k.mean(1, keepdim=True), v.mean(1, keepdim=True)),
    ),
    (
        "The softmax runs over the queries. Each query shares out 1 among the keys.",
        _over_queries,
    ),
    (
        "A causal mask was put on. Here every query may see every key.",
        lambda q, k, v: attention(q, k, v, causal=True),
    ),
    (UNDIVIDED, lambda q, k, v: _undivided(q, k, v, less=True)),
    (UNDIVIDED, lambda q, k, v: _undivided(q, k, v, less=False)),
]

# 10.4 my_soap_step(w, g, left, right, square, lr) ------------------------------------------------

EPS = 1e-8


def soap_step(
    w: Tensor, g: Tensor, left: Tensor, right: Tensor, square: Tensor, lr: float
) -> Tensor:
    direction = left.mT @ g @ right / (square.sqrt() + EPS)
    return w - lr * left @ direction @ right.mT


def _own_size(inside: Tensor) -> Tensor:
    return inside / (inside.square().sqrt() + EPS)


SOAP: Suspects = [
    (
        "This is Adam's step: the gradient was divided along the axes of W. Turn it first: "
        "leftᵀ G right.",
        lambda w, g, left, right, square, lr: w - lr * g / (square.sqrt() + EPS),
    ),
    (
        "The direction was not turned back: after the division, left · D · rightᵀ.",
        lambda w, g, left, right, square, lr: (
            w - lr * (left.mT @ g @ right / (square.sqrt() + EPS))
        ),
    ),
    (
        "The bases are the wrong way round. Into them goes leftᵀ G right, out of them "
        "left · D · rightᵀ.",
        lambda w, g, left, right, square, lr: (
            w - lr * left.mT @ (left @ g @ right.mT / (square.sqrt() + EPS)) @ right
        ),
    ),
    (
        "The root is missing: divide by the root of `square`.",
        lambda w, g, left, right, square, lr: (
            w - lr * left @ (left.mT @ g @ right / (square + EPS)) @ right.mT
        ),
    ),
    (
        "The gradient was divided by its own size, so that only signs are left. Divide by the root "
        "of `square`, the running mean.",
        lambda w, g, left, right, square, lr: (
            w - lr * left @ _own_size(left.mT @ g @ right) @ right.mT
        ),
    ),
    (
        "The step goes uphill: subtract it from w.",
        lambda w, g, left, right, square, lr: 2 * w - soap_step(w, g, left, right, square, lr),
    ),
    (
        "Only the rows were turned: `right` plays no part.",
        lambda w, g, left, right, square, lr: w - lr * left @ (left.mT @ g / (square.sqrt() + EPS)),
    ),
    (
        "This is the direction alone. Return the new w: w − lr · direction.",
        lambda w, g, left, right, square, lr: (
            left @ (left.mT @ g @ right / (square.sqrt() + EPS)) @ right.mT
        ),
    ),
]

# 10.5 my_cached_step(q, k, v, past_k, past_v) ----------------------------------------------------


def cached(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Kept:
    k, v = torch.cat([past_k, k], -2), torch.cat([past_v, v], -2)
    return attention(q, k, v), k, v


def _without_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Kept:
    _, all_k, all_v = cached(q, k, v, past_k, past_v)
    return attention(q, past_k, past_v), all_k, all_v


def _in_front(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Kept:
    return cached(q, past_k, past_v, k, v)


def _unscaled(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Kept:
    _, k, v = cached(q, k, v, past_k, past_v)
    return attention(q, k, v, scale=1.0), k, v


def _old_cache(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Kept:
    return cached(q, k, v, past_k, past_v)[0], past_k, past_v


def _side_by_side(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Kept:
    k, v = torch.cat([past_k, k], -1), torch.cat([past_v, v], -1)
    return attention(q, k, v), k, v


CACHED: Suspects = [
    (
        "Joined along −1, the numbers of a token. The tokens lie along −2.",
        _side_by_side,
    ),
    (
        "The new token did not see itself: append its key and value first, then attend.",
        _without_new,
    ),
    (
        "The new key stands before the old ones. It is the latest, so it comes last.",
        _in_front,
    ),
    ("The scores were not divided by √D.", _unscaled),
    (
        "The result is right, but the cache that came back is the old one: the next token would "
        "not see this one.",
        _old_cache,
    ),
    (
        "Only the new key and value came back. The cache holds all of them.",
        lambda q, k, v, past_k, past_v: (cached(q, k, v, past_k, past_v)[0], k, v),
    ),
]

# 10.6 my_cache_bytes(layers, kv_heads, head_width, context, batch, item) -------------------------

BYTES: Suspects = [
    (
        "Keys *and* values are kept: twice as much.",
        lambda n, g, d, s, b, item: n * g * d * s * b * item,
    ),
    (
        "Every layer has a cache of its own: times `layers`.",
        lambda n, g, d, s, b, item: 2 * g * d * s * b * item,
    ),
    (
        "Every text of the batch has a cache of its own: times `batch`.",
        lambda n, g, d, s, b, item: 2 * n * g * d * s * item,
    ),
    (
        "The cache grows with the context, not with its square: the weights are not kept.",
        lambda n, g, d, s, b, item: 2 * n * g * d * s * s * b * item,
    ),
    (
        "This counts numbers, not bytes: times `item`.",
        lambda n, g, d, s, b, item: 2 * n * g * d * s * b,
    ),
    (
        "Every head of keys has `head_width` numbers: times `kv_heads`.",
        lambda n, g, d, s, b, item: 2 * n * d * s * b * item,
    ),
]

# 10.8 block_bytes(m, n, d) -----------------------------------------------------------------------

BLOCK: Suspects = [
    (
        "This counts numbers. A float32 has 4 bytes.",
        lambda m, n, d: 2 * m * d + 2 * n * d + m * n + 2 * m,
    ),
    (
        "The scores of the block, (m, n), are missing.",
        lambda m, n, d: 4 * (2 * m * d + 2 * n * d + 2 * m),
    ),
    (
        "The running `mixed`, (m, d), is missing: it is kept beside the queries.",
        lambda m, n, d: 4 * (m * d + 2 * n * d + m * n + 2 * m),
    ),
    (
        "`top` and `total` are missing: two numbers for each query.",
        lambda m, n, d: 4 * (2 * m * d + 2 * n * d + m * n),
    ),
    (
        "Keys *and* values are there: (n, d) twice.",
        lambda m, n, d: 4 * (2 * m * d + n * d + m * n + 2 * m),
    ),
]

# 10.9 my_gradient(parts, sizes) ------------------------------------------------------------------


def gathered(parts: Tensor, sizes: Tensor) -> Tensor:
    """The right answer: each part's mean counts by its tokens."""
    return (parts * sizes[:, None]).sum(0) / sizes.sum()


PARTS: Suspects = [
    (
        "This is the mean over the parts: a short part counts as much as a long one. Weigh each "
        "part by its tokens.",
        lambda parts, sizes: parts.mean(0),
    ),
    (
        "The parts are added up and not divided: the step grows with the number of parts.",
        lambda parts, sizes: parts.sum(0),
    ),
    (
        "The parts are weighed by their tokens, but the sum is not divided by all tokens.",
        lambda parts, sizes: (parts * sizes[:, None]).sum(0),
    ),
    (
        "The weighed sum is divided by the number of parts. Divide by the number of all tokens.",
        lambda parts, sizes: (parts * sizes[:, None]).sum(0) / len(parts),
    ),
    (
        "The parts are already means: do not divide each by its tokens again.",
        lambda parts, sizes: (parts / sizes[:, None]).sum(0),
    ),
    (
        "The parts are summed without their sizes and divided by all tokens: each part is a mean, "
        "so first multiply it by its tokens.",
        lambda parts, sizes: parts.sum(0) / sizes.sum(),
    ),
]
