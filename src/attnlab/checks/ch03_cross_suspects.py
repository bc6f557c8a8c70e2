"""Chapter 3: the mistakes we know in cross-attention. See ch03_suspects.py."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.attention import weights
from attnlab.checks.ch03_suspects import (
    attend,
    over_queries,
    scaled,
    self_attention,
)
from attnlab.checks.exercise import Suspects, again
from attnlab.scores import dot


# 03.4
def _best(q: Tensor, k: Tensor) -> Tensor:
    scores = q @ k.mT
    return (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)


CROSS: Suspects = [
    (
        "Each token of x copies from its best match alone. A softmax shares the weight out.",
        lambda x, c, q, k, v: _best(x @ q, c @ k) @ (c @ v),
    ),
    (
        "This is self-attention: context plays no part. Keys and values come from context.",
        lambda x, c, q, k, v: attend(x @ q, x @ k, x @ v),
    ),
    (
        "This is self-attention of context: x plays no part. The queries come from x.",
        lambda x, c, q, k, v: attend(c @ q, c @ k, c @ v),
    ),
    (
        "The roles are swapped: context asks and x answers. The one that asks, x, makes the "
        "queries.",
        lambda x, c, q, k, v: attend(c @ q, x @ k, x @ v),
    ),
    (
        "The keys are made with `w_q`: they have a matrix of their own, `w_k`.",
        lambda x, c, q, k, v: attend(x @ q, c @ q, c @ v),
    ),
    (
        "The queries are made with `w_k`: they have a matrix of their own, `w_q`.",
        lambda x, c, q, k, v: attend(x @ k, c @ k, c @ v),
    ),
    (
        "`w_q` and `w_k` are swapped.",
        lambda x, c, q, k, v: attend(x @ k, c @ q, c @ v),
    ),
    (
        "`w_k` and `w_v` are swapped.",
        lambda x, c, q, k, v: attend(x @ q, c @ v, c @ k),
    ),
    (
        "The weights are right, but they mix the keys: what is handed over are the values, "
        "context · w_v.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ k),
    ),
    (
        "The weights are right, but they mix the tokens of context as they are: `w_v` is not used.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c),
    ),
    (
        "The keys are the tokens of context as they are: `w_k` is not used.",
        lambda x, c, q, k, v: attend(x @ q, c, c @ v),
    ),
    (
        "The queries are the tokens of x as they are: `w_q` is not used.",
        lambda x, c, q, k, v: attend(x, c @ k, c @ v),
    ),
    (
        "None of the three matrices is used.",
        lambda x, c, q, k, v: attend(x, c, c),
    ),
    (
        "The matrices are transposed, as `nn.Linear` keeps them. Here it is x @ w_q.",
        lambda x, c, q, k, v: attend(x @ q.mT, c @ k.mT, c @ v.mT),
    ),
    (
        "The scores were not divided by √D.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ v, scale=1.0),
    ),
    (
        "The scores are divided by D, not by its square root.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ v, scale=1 / q.shape[-1]),
    ),
    (
        "The scale is the root of the width of x. It is the width of the queries and keys, D, "
        "that makes dot products large.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ v, scale=x.shape[-1] ** -0.5),
    ),
    (
        "The scale is the root of the width of context. It is the width of the queries and "
        "keys, D, that makes dot products large.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ v, scale=c.shape[-1] ** -0.5),
    ),
    (
        "The scale is the root of the number of keys. It is their width D that makes dot "
        "products large.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ v, scale=c.shape[-2] ** -0.5),
    ),
    (
        "The softmax runs over the queries. Each query shares out 1 among the keys, the last axis.",
        lambda x, c, q, k, v: over_queries(scaled(x @ q, c @ k)) @ (c @ v),
    ),
    (
        "There is no softmax: the scores themselves mix the values.",
        lambda x, c, q, k, v: scaled(x @ q, c @ k) @ (c @ v),
    ),
    (
        "These are the weights: they still have to be multiplied with the values.",
        lambda x, c, q, k, v: weights(x @ q, c @ k),
    ),
    (
        "A causal mask is at work. Here every token of x may look at all of context.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ v, causal=True),
    ),
    (
        "The values come from x, but the weights belong to the tokens of context: 5 weights, 3 "
        "values.",
        lambda x, c, q, k, v: weights(x @ q, c @ k) @ (x @ v),
    ),
    (
        "The keys come from x, so there is a weight for each token of x instead of one for each "
        "token of context.",
        lambda x, c, q, k, v: weights(x @ q, x @ k) @ (c @ v),
    ),
    (
        "The scores are turned round: one row for each key. Rows belong to queries, q kᵀ.",
        lambda x, c, q, k, v: weights(c @ k, x @ q) @ (c @ v),
    ),
    (
        "The weights stand on the wrong side: each row of weights mixes the rows of v, weights "
        "@ v.",
        lambda x, c, q, k, v: (c @ v) @ weights(x @ q, c @ k),
    ),
    (
        "The matrices stand on the wrong side. Tokens are rows, so it is x @ w_q.",
        lambda x, c, q, k, v: q @ x,
    ),
    (
        "x is among the tokens that are looked at. In cross-attention only context is.",
        lambda x, c, q, k, v: attend(x @ q, torch.cat([x, c], -2) @ k, torch.cat([x, c], -2) @ v),
    ),
    (
        "This is self-attention of both sequences together. Only x asks, and only context is "
        "looked at.",
        lambda x, c, q, k, v: self_attention(torch.cat([x, c], -2), q, k, v),
    ),
    (
        "x was added to the result, as a residual connection does. Here only what attention "
        "gives is asked for.",
        lambda x, c, q, k, v: x + attend(x @ q, c @ k, c @ v),
    ),
    (
        "Every token of x gets the same: the plain mean of the values. The scores play no part.",
        lambda x, c, q, k, v: (c @ v).mean(-2, keepdim=True).expand(*x.shape[:-1], v.shape[-1]),
    ),
    (
        "`w_q` and `w_v` are swapped.",
        lambda x, c, q, k, v: attend(x @ v, c @ k, c @ q),
    ),
    (
        "Without a batch this is right, but axis 1 is not the keys once there is one. Count "
        "from the back: -1 is the last axis.",
        lambda x, c, q, k, v: scaled(x @ q, c @ k).softmax(1) @ (c @ v),
    ),
    (
        "The scale is the root of the width of the values. It is the width of the queries and "
        "keys, D, that makes dot products large.",
        lambda x, c, q, k, v: attend(x @ q, c @ k, c @ v, scale=v.shape[-1] ** -0.5),
    ),
    (
        "There is no softmax and no scale: the raw dot products mix the values.",
        lambda x, c, q, k, v: dot(x @ q, c @ k) @ (c @ v),
    ),
    (
        "This is a hard choice: each token of x takes the value of its best key. A softmax "
        "mixes all of them.",
        lambda x, c, q, k, v: (c @ v)[dot(x @ q, c @ k).argmax(-1)],
    ),
]
CROSS = again(
    CROSS,
    "The weights stand on the wrong side",
    lambda x, c, q, k, v: c @ weights(x @ q, c @ k) @ v,
)
