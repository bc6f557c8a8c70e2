"""Chapter 3: the mistakes we know, each as the words a learner reads and the wrong answer itself.

When an answer fails and one of these returns exactly the same, its words are shown. The order
matters only where two of them agree on every input tried: the first is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlab import masks
from attnlab.attention import softmax, weights
from attnlab.checks.exercise import Suspects, again
from attnlab.scores import dot


def scaled(q: Tensor, k: Tensor) -> Tensor:
    return dot(q, k) / math.sqrt(q.shape[-1])


def attend(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """`attention` without the fused kernel, which loads much of torch on its first use."""
    return weights(q, k, **options) @ v


def over_queries(scores: Tensor) -> Tensor:
    """A softmax along the wrong axis."""
    return softmax(scores.mT).mT


def unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True)


def self_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return attend(x @ w_q, x @ w_k, x @ w_v)


def full(queries: int, keys: int) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool)


def lower_right(queries: int, keys: int) -> Tensor:
    """The right mask: the last query sees every key."""
    return masks.causal(queries, keys).dense()


def upper_left(queries: int, keys: int) -> Tensor:
    """Counts from the left edge, as if the first query were the first token."""
    return full(queries, keys).tril()


def additive(mask: Tensor) -> Tensor:
    """A mask to add to the scores."""
    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


def filled(value: float) -> Callable[..., Tensor]:
    """Masked attention whose hidden scores are `value`, where −inf belongs."""
    return lambda q, k, v, mask: softmax(scaled(q, k).masked_fill(~mask, value)) @ v


# 03.1
WEIGHTS: Suspects = [
    (
        "These are the scores themselves: a softmax has to make weights of them.",
        scaled,
    ),
    (
        "These are the raw dot products: scale them, then make weights of them with a softmax.",
        dot,
    ),
    (
        "The columns sum to 1 instead: this softmax runs over the queries. Each query shares "
        "out 1 among the keys, which lie along the last axis.",
        lambda q, k: over_queries(scaled(q, k)),
    ),
    (
        "The columns sum to 1 instead, so this softmax runs over the queries, not over the keys "
        "(the last axis). The division by √D is missing, too.",
        lambda q, k: over_queries(dot(q, k)),
    ),
    (
        "This softmax runs over the whole table at once. Every query has its own 1 to share "
        "out: softmax along the last axis only.",
        lambda q, k: softmax(scaled(q, k).flatten(-2)).unflatten(-1, (q.shape[-2], k.shape[-2])),
    ),
    (
        "Without a batch this softmax runs over the keys, but axis 1 is not the keys once there "
        "is one. Count from the back: -1 is the last axis.",
        lambda q, k: scaled(q, k).softmax(1),
    ),
    (
        "This is the table turned round, one row for each key. Rows belong to queries: it is q "
        "times k transposed.",
        lambda q, k: weights(q, k).mT,
    ),
    (
        "This is softmax(k qᵀ): one row for each key. Rows belong to queries: it is q times k "
        "transposed.",
        lambda q, k: weights(k, q),
    ),
    (
        "These are the weights without the scale: did you divide the scores by √D?",
        lambda q, k: softmax(dot(q, k)),
    ),
    (
        "The scores are divided by D, not by its square root.",
        lambda q, k: softmax(dot(q, k) / q.shape[-1]),
    ),
    (
        "The scores are multiplied by √D, not divided.",
        lambda q, k: softmax(dot(q, k) * math.sqrt(q.shape[-1])),
    ),
    (
        "The scores are divided by √S, the root of the number of keys. It is the width D that "
        "makes dot products large.",
        lambda q, k: softmax(dot(q, k) / math.sqrt(k.shape[-2])),
    ),
    (
        "The scores are divided by √L, the root of the number of queries. It is the width D, "
        "the last axis, that makes dot products large.",
        lambda q, k: softmax(dot(q, k) / math.sqrt(q.shape[-2])),
    ),
    (
        "The division by √D comes after the softmax. It belongs before it, on the scores.",
        lambda q, k: softmax(dot(q, k)) / math.sqrt(q.shape[-1]),
    ),
    (
        "The division by √D happens twice, once before the softmax and once after.",
        lambda q, k: softmax(scaled(q, k)) / math.sqrt(q.shape[-1]),
    ),
    (
        "The scores are divided by their sum, without the exponential. Some scores are "
        "negative, so these are no weights: use a softmax.",
        lambda q, k: dot(q, k) / dot(q, k).sum(-1, keepdim=True),
    ),
    (
        "This is the logarithm of the weights: log_softmax instead of softmax.",
        lambda q, k: weights(q, k).log(),
    ),
    (
        "This is a sigmoid: it judges each key alone. A softmax makes the keys compete.",
        lambda q, k: scaled(q, k).sigmoid(),
    ),
    (
        "This is a hard choice: 1 for the best key and 0 for the rest. A softmax gives every "
        "key a share.",
        lambda q, k: torch.nn.functional.one_hot(dot(q, k).argmax(-1), k.shape[-2]).float(),
    ),
    (
        "These are cosine similarities: q and k were brought to length 1. Here lengths count, "
        "and √D is the only scale.",
        lambda q, k: softmax(dot(unit(q), unit(k))),
    ),
    (
        "q and k were brought to length 1 first, as for a cosine. Here lengths count.",
        lambda q, k: weights(unit(q), unit(k)),
    ),
    (
        "A softmax was taken twice: weights went in where scores should.",
        lambda q, k: softmax(weights(q, k)),
    ),
    (
        "`.T` turns all the axes round, the batch too. `.transpose(-2, -1)` or `.mT` swaps only "
        "the last two.",
        lambda q, k: softmax(q @ k.T / math.sqrt(q.shape[-1])),
    ),
    (
        "Without a batch this is right. But the softmax was not told its axis, and torch "
        "guesses it from the number of axes: say `dim=-1`.",
        lambda q, k: scaled(q, k).softmax(0 if q.ndim == 3 else 1),
    ),
    (
        "These are the exponentials: each row still has to be divided by its sum.",
        lambda q, k: scaled(q, k).exp(),
    ),
    (
        "The keys play no part: this is q with itself.",
        lambda q, k: weights(q, q),
    ),
    (
        "The queries play no part: this is k with itself.",
        lambda q, k: weights(k, k),
    ),
    (
        "`.transpose(0, 1)` swaps the first two axes. The last two are -2 and -1, with or "
        "without a batch.",
        lambda q, k: softmax(q @ k.transpose(0, 1) / math.sqrt(q.shape[-1])),
    ),
    (
        "A causal mask is at work. Here every query may look at all the keys.",
        lambda q, k: weights(q, k, mask=upper_left(q.shape[-2], k.shape[-2])),
    ),
]
WEIGHTS = again(
    WEIGHTS,
    "√S, the root of the number of keys",
    lambda q, k: softmax(dot(q, k) / math.sqrt(len(k))),
)
WEIGHTS = again(
    WEIGHTS,
    "this softmax runs over the queries. Each",
    lambda q, k: (q @ k.T / math.sqrt(q.shape[-1])).softmax(0),
)

# 03.2
CAUSAL: Suspects = [
    (
        "It is the wrong way round: True marks what is hidden. In this course True = may attend.",
        lambda n, m: ~lower_right(n, m),
    ),
    (
        "It looks into the future: each query sees itself and what comes after. A query may "
        "look at keys up to its own position.",
        lambda n, m: full(n, m).triu(m - n),
    ),
    (
        "No query sees itself: the comparison is `<` where it should be `<=`.",
        lambda n, m: full(n, m).tril(m - n - 1),
    ),
    (
        "Each query sees one key too many, the token it should predict. With its own position on "
        "the diagonal, the next one is hidden.",
        lambda n, m: full(n, m).tril(m - n + 1),
    ),
    (
        "Everything may be seen: nothing is hidden yet.",
        lambda n, m: full(n, m),
    ),
    (
        "It is aligned at the upper left, as if the first query were the first token. The "
        "queries are the last L tokens, so S − L keys come before the first of them.",
        upper_left,
    ),
    (
        "It is aligned at the upper left and True marks what is hidden. The queries are the "
        "last L tokens, and True = may attend.",
        lambda n, m: ~upper_left(n, m),
    ),
    (
        "The shift has the wrong sign: L − S instead of S − L.",
        lambda n, m: full(n, m).tril(n - m),
    ),
    (
        "The mask is shifted by one key too few: S − L keys come before the first query.",
        lambda n, m: full(n, m).tril(max(m - n - 1, 0)),
    ),
    (
        "Only the diagonal is open: each query sees itself, but not its past.",
        lambda n, m: lower_right(n, m) & full(n, m).triu(m - n),
    ),
    (
        "Its axes are swapped: rows are queries, columns are keys.",
        lambda n, m: lower_right(n, m).mT,
    ),
    (
        "It is square, with a row for every token. Only the last L tokens ask.",
        lambda n, m: lower_right(m, m),
    ),
    (
        "It is square, with a column for every query. There are S keys.",
        lambda n, m: lower_right(n, n),
    ),
    (
        "These are numbers to add to the scores, 0 and −inf. This course keeps masks as bool, "
        "True = may attend.",
        lambda n, m: additive(lower_right(n, m)),
    ),
    (
        "These are ones and zeros as float: ask for `dtype=torch.bool`, or compare instead of "
        "multiplying.",
        lambda n, m: lower_right(n, m).float(),
    ),
    (
        "These are ones and zeros as integers: ask for `dtype=torch.bool`.",
        lambda n, m: lower_right(n, m).long(),
    ),
    (
        "These are numbers to add to the scores, 0 and −inf, and aligned at the upper left. "
        "This course keeps masks as bool, and the queries are the last L tokens.",
        lambda n, m: additive(upper_left(n, m)),
    ),
    (
        "The S − L keys before the first query are hidden, but they lie in the past of every "
        "query: open them.",
        lambda n, m: lower_right(n, m) & (torch.arange(m) >= m - n),
    ),
    (
        "The S − L older tokens stand on the wrong side. They come first, the queries are the "
        "last L tokens.",
        lambda n, m: upper_left(n, m) | (torch.arange(m) >= n),
    ),
    (
        "No query sees itself, and the mask is aligned at the upper left. The queries are the "
        "last L tokens, and each sees itself, too.",
        lambda n, m: full(n, m).tril(-1),
    ),
    (
        "It looks into the future, and is aligned at the upper left. The queries are the last L "
        "tokens, and a query may look at keys up to its own position.",
        lambda n, m: full(n, m).triu(),
    ),
    (
        "Nothing may be seen at all: where is it set to True?",
        lambda n, m: ~full(n, m),
    ),
]

# 03.3
MASKED: Suspects = [
    (
        "The mask is the wrong way round: it hides what is True. True = may attend, so fill "
        "where it is False, `~mask`.",
        lambda q, k, v, mask: attend(q, k, v, mask=~mask),
    ),
    (
        "The mask is the wrong way round: it hides what is True. Fill where it is False, "
        "`~mask`; and a row with nothing to see should be zeros.",
        lambda q, k, v, mask: softmax(scaled(q, k).masked_fill(mask, -torch.inf)) @ v,
    ),
    (
        "The mask has no effect yet: this is attention over all keys.",
        lambda q, k, v, mask: attend(q, k, v),
    ),
    (
        "The hidden scores are 0, but exp(0) = 1: they still get a share. Only a score of −inf "
        "gets exactly 0.",
        filled(0.0),
    ),
    (
        "The mask is added as 0 and 1, which only moves the scores a little. Write −inf where "
        "it is False.",
        lambda q, k, v, mask: softmax(scaled(q, k) + mask.float()) @ v,
    ),
    (
        "The mask comes after the softmax, so the visible weights no longer sum to 1. Hide the "
        "scores before it.",
        lambda q, k, v, mask: (weights(q, k) * mask) @ v,
    ),
    (
        "An empty row came out as nan: its weights are 0/0. Set the weights to 0 where the mask "
        "is False.",
        lambda q, k, v, mask: (
            torch.softmax(scaled(q, k).masked_fill(~mask, -torch.inf), dim=-1) @ v
        ),
    ),
    (
        "An empty row came out as the mean of all values: in it every score is the same large "
        "negative number. Set the weights to 0 where the mask is False.",
        filled(-1e9),
    ),
    (
        "The fill is not negative enough: a hidden key still gets a share. Only a score of −inf "
        "gets exactly 0.",
        filled(-10.0),
    ),
    (
        "The mask is right, but the scores were not divided by √D.",
        lambda q, k, v, mask: attend(q, k, v, mask=mask, scale=1.0),
    ),
    (
        "The scores are divided by D, not by its square root.",
        lambda q, k, v, mask: attend(q, k, v, mask=mask, scale=1 / q.shape[-1]),
    ),
    (
        "The softmax runs over the queries. Each query shares out 1 among the keys, the last axis.",
        lambda q, k, v, mask: over_queries(scaled(q, k).masked_fill(~mask, -torch.inf)) @ v,
    ),
    (
        "The values were hidden, but the hidden keys still take their share of the weights. "
        "Hide the scores before the softmax.",
        lambda q, k, v, mask: (
            weights(q, k) @ (v * mask.any(-2).unsqueeze(-1) if mask.ndim > 1 else v)
        ),
    ),
    (
        "These are the weights: they still have to be multiplied with the values.",
        lambda q, k, v, mask: weights(q, k, mask=mask),
    ),
    (
        "Wherever something is hidden, the row is nan: 0 · inf and inf − inf are nan. Write "
        "−inf where the mask is False with `masked_fill`, and do not multiply by it.",
        filled(torch.inf),
    ),
    (
        "The mask is the wrong way round: the large number is subtracted where it is True, "
        "which is what may be seen.",
        lambda q, k, v, mask: softmax(scaled(q, k) - 1e9 * mask) @ v,
    ),
    (
        "The weights mix the keys: what is handed over are the values.",
        lambda q, k, v, mask: weights(q, k, mask=mask) @ k,
    ),
    (
        "The weights mix the queries: what is handed over are the values.",
        lambda q, k, v, mask: weights(q, k, mask=mask) @ q,
    ),
]
MASKED = again(
    MASKED,
    "not negative enough",
    lambda q, k, v, mask: (
        softmax(scaled(q, k).masked_fill(~mask, -10.0)) * mask.any(-1, keepdim=True) @ v
    ),
)
MASKED = again(
    MASKED, "0 · inf and inf", lambda q, k, v, mask: softmax(scaled(q, k) + ~mask * -torch.inf) @ v
)
