"""Chapter 3: the mistakes we know in blocks of queries and in a leak. See ch03_suspects.py."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnlab.attention import softmax, weights
from attnlab.checks.ch03_suspects import (
    attend,
    full,
    over_queries,
    scaled,
)
from attnlab.checks.exercise import Suspects, again
from attnlab.scores import dot

# 03.6: the rows of the table a block of queries needs, done wrongly
BLOCKS: Suspects = [
    (
        "Each block of queries sees only its own block of keys. A row of the softmax needs all "
        "of them: split the queries, and leave keys and values whole.",
        lambda q, k, v, n: torch.cat(
            [
                attend(*parts)
                for parts in zip(q.split(n, -2), k.split(n, -2), v.split(n, -2), strict=False)
            ],
            dim=-2,
        ),
    ),
    (
        "The keys are split, not the queries: each block of keys has a softmax of its own, and a "
        "row adds up to the number of blocks.",
        lambda q, k, v, n: sum(
            attend(q, *parts) for parts in zip(k.split(n, -2), v.split(n, -2), strict=True)
        ),
    ),
    (
        "The queries of the last, shorter block are missing: `L // block` leaves out the rest.",
        lambda q, k, v, n: attend(q[..., : q.shape[-2] // n * n, :], k, v),
    ),
    (
        "This is only the first block: go on with the queries after it.",
        lambda q, k, v, n: attend(q[..., :n, :], k, v),
    ),
    (
        "This is only the last block: collect the results of the others too.",
        lambda q, k, v, n: attend(q.split(n, -2)[-1], k, v),
    ),
    (
        "Without heads this is right, but axis 0 is not the queries once something stands in "
        "front. Count from the back: the queries lie along axis -2.",
        # Not `attend`: with heads this raises, and the words must be torch's own.
        lambda q, k, v, n: torch.cat([softmax(scaled(part, k)) @ v for part in q.split(n)]),
    ),
    (
        "The queries are split along axis -2, but the results are put together along axis 0, "
        "which is not the queries once something stands in front.",
        lambda q, k, v, n: torch.cat([attend(part, k, v) for part in q.split(n, -2)]),
    ),
    (
        "The scores were not divided by √D.",
        lambda q, k, v, n: attend(q, k, v, scale=1.0),
    ),
    (
        "The softmax runs over the queries of a block. Each query shares out 1 among the keys, "
        "which lie along the last axis.",
        lambda q, k, v, n: torch.cat(
            [over_queries(scaled(part, k)) @ v for part in q.split(n, -2)], dim=-2
        ),
    ),
]


# 03.7
def causal_alone(x: Tensor, values: Tensor | None = None) -> Tensor:
    """Causal self-attention without matrices: x asks and is looked at, `values` are mixed."""
    length = x.shape[-2]
    return weights(x, x, mask=full(length, length).tril()) @ (x if values is None else values)


def centred(x: Tensor) -> Tensor:
    """Each vector without its own mean."""
    return x - x.mean(-1, keepdim=True)


def rooted(x: Tensor, size: int) -> Tensor:
    """Centred causal attention that divides the scores by the root of `size`."""
    x, hidden = centred(x), ~full(x.shape[-2], x.shape[-2]).tril()
    return softmax((dot(x, x) / math.sqrt(size)).masked_fill(hidden, -torch.inf)) @ x


def running(x: Tensor) -> Tensor:
    """The mean of each token and all before it."""
    return x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]


CENTRED: Suspects = [
    (
        "The future still leaks: this mean is taken over the tokens, axis -2, the later ones too. "
        "A vector's own mean runs over its numbers.",
        lambda x: causal_alone(x - x.mean(-2, keepdim=True)),
    ),
    (
        "The future still leaks: this is one mean over all numbers of all tokens. Each vector has "
        "a mean of its own.",
        lambda x: causal_alone(x - x.mean()),
    ),
    (
        "The future still leaks: this is one mean over tokens and numbers. Each vector has a mean "
        "of its own, along the last axis.",
        lambda x: causal_alone(x - x.mean((-2, -1), keepdim=True)),
    ),
    (
        "Nothing leaks, but the vectors are not centred: each should lose its own mean.",
        causal_alone,
    ),
    (
        "Nothing leaks, but this mean runs over the tokens so far. A vector's own mean runs over "
        "its numbers, the last axis.",
        lambda x: causal_alone(x - running(x)),
    ),
    (
        "The scores are those of centred vectors, but the values are not centred.",
        lambda x: causal_alone(centred(x), x),
    ),
    (
        "The values are centred (or the outputs, which comes to the same), but the scores are "
        "those of vectors that are not.",
        lambda x: causal_alone(x, centred(x)),
    ),
    (
        "The mask has gone: every token sees the future.",
        lambda x: attend(centred(x), centred(x), centred(x)),
    ),
    (
        "The scores are divided by √L, the root of the number of tokens. It is the width D, the "
        "last axis, that makes dot products large.",
        lambda x: rooted(x, x.shape[-2]),
    ),
]
CENTRED = again(CENTRED, "√L, the root of the number of tokens", lambda x: rooted(x, len(x)))
