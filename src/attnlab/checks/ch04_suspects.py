"""Chapter 4: the mistakes we know, each as the words a learner reads and the wrong answer itself.

When an answer fails and one of these returns exactly the same, its words are shown. The order
matters only where two of them agree on every input tried: the first is named.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnlab.attention import softmax, weights
from attnlab.checks.exercise import Suspects, again
from attnlab.layers.heads import merge, split
from attnlab.scores import dot

# 04.1 my_split(x, heads) -------------------------------------------------------------------------


def _width(x: Tensor, heads: int) -> int:
    return x.shape[-1] // heads


SPLIT: Suspects = [
    (
        "The numbers were cut up in the order they lie in memory, so one head got whole tokens "
        "and another got other tokens. First make (…, L, heads, D), then swap two axes.",
        lambda x, h: x.reshape(*x.shape[:-2], h, x.shape[-2], _width(x, h)),
    ),
    (
        "The axes come in the order (…, L, heads, D). Heads go before the tokens, so that each "
        "head has a whole (L, D) matrix: swap these two.",
        lambda x, h: x.unflatten(-1, (h, -1)),
    ),
    (
        "The slices are interleaved: head 0 got columns 0, heads, 2·heads … A head is a block "
        "of D neighbouring columns: make (heads, D) of the last axis, not (D, heads).",
        lambda x, h: x.unflatten(-1, (-1, h)).movedim(-1, -3),
    ),
    (
        "The axes come in the order (heads, …, L, D): the batch stays in front.",
        lambda x, h: torch.stack(x.chunk(h, dim=-1)),
    ),
    (
        "Each head is (D, L) here: tokens are rows, so the last axis is the width D.",
        lambda x, h: split(x, h).mT,
    ),
    (
        "Every head got the same columns, the first D. Head i takes columns i·D to (i+1)·D − 1.",
        lambda x, h: torch.stack([x] * h, dim=-3)[..., : _width(x, h)],
    ),
    ("The heads are in reverse order.", lambda x, h: split(x, h).flip(-3)),
]

# 04.2 my_multi_head(x, w_q, w_k, w_v, w_o, heads) ------------------------------------------------


def multi_head(
    x: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, h: int, scale: float | None = None
) -> Tensor:
    """The right answer, with a scale to get it wrong by."""
    return merge(weights(split(x @ q, h), split(x @ k, h), scale=scale) @ split(x @ v, h)) @ o


def _bare(x: Tensor, q: Tensor, k: Tensor, v: Tensor, h: int) -> Tensor:
    """Everything before concatenation: (…, H, L, D)."""
    return weights(split(x @ q, h), split(x @ k, h)) @ split(x @ v, h)


def _cut(x: Tensor, h: int) -> Tensor:
    """The wrong split of 04.1: a reshape that mixes tokens."""
    return x.reshape(*x.shape[:-2], h, x.shape[-2], x.shape[-1] // h)


def _over_queries(q: Tensor, k: Tensor) -> Tensor:
    return softmax((dot(q, k) / q.shape[-1] ** 0.5).mT).mT


MULTI: Suspects = [
    (
        "The scores are divided by √E, the root of the model's width. Each head's dot products "
        "are sums of only D = E/heads terms: divide by √D.",
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, h, x.shape[-1] ** -0.5),
    ),
    (
        "The scores were not divided by √D.",
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, h, 1.0),
    ),
    (
        "The scores are divided by D, the width of a head. Divide by its root, √D.",
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, h, 1 / _width(x, h)),
    ),
    (
        "The scores are divided by √heads. It is not the number of heads that counts but their "
        "width, D = E/heads: divide by √D.",
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, h, h**-0.5),
    ),
    (
        "The heads stand side by side, but W^O is missing: multiply by `w_o` at the end.",
        lambda x, q, k, v, o, h: merge(_bare(x, q, k, v, h)),
    ),
    (
        "This is one wide head: `heads` plays no part.",
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, 1),
    ),
    (
        "The heads were merged without swapping the axes back: rows of the result mix tokens. "
        "Go from (…, heads, L, D) to (…, L, heads, D) before you flatten.",
        lambda x, q, k, v, o, h: _bare(x, q, k, v, h).reshape(x.shape) @ o,
    ),
    (
        "The split mixes tokens, as a bare reshape does: exercise 4.1 shows how to cut.",
        lambda x, q, k, v, o, h: (
            merge(weights(_cut(x @ q, h), _cut(x @ k, h)) @ _cut(x @ v, h)) @ o
        ),
    ),
    (
        "Both the cut and the merge are bare reshapes, so a head got whole tokens, and never saw "
        "the others. Swap heads and tokens after the cut, and back again before you flatten.",
        lambda x, q, k, v, o, h: (
            (weights(_cut(x @ q, h), _cut(x @ k, h)) @ _cut(x @ v, h)).reshape(x.shape) @ o
        ),
    ),
    (
        "The heads are averaged and repeated. They are put side by side (concatenated), and W^O "
        "mixes them.",
        lambda x, q, k, v, o, h: _bare(x, q, k, v, h).mean(-3).repeat(*[1] * (x.dim() - 1), h) @ o,
    ),
    (
        "The softmax runs over the queries. Each query shares out 1 among the keys, the last axis.",
        lambda x, q, k, v, o, h: (
            merge(_over_queries(split(x @ q, h), split(x @ k, h)) @ split(x @ v, h)) @ o
        ),
    ),
    (
        "`w_q` and `w_k` are swapped: queries ask, keys are found.",
        lambda x, q, k, v, o, h: multi_head(x, k, q, v, o, h),
    ),
    (
        "The values are the tokens as they are: `w_v` is not used.",
        lambda x, q, k, v, o, h: merge(weights(split(x @ q, h), split(x @ k, h)) @ split(x, h)) @ o,
    ),
    (
        "The matrices are transposed, as `nn.Linear` keeps them. Here it is x @ w_q.",
        lambda x, q, k, v, o, h: multi_head(x, q.mT, k.mT, v.mT, o.mT, h),
    ),
    (
        "`w_o` is transposed, as `nn.Linear` keeps it. Here it is heads @ w_o.",
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o.mT, h),
    ),
    (
        "x was added to the result, as a residual connection does. Here only what attention "
        "gives is asked for.",
        lambda x, q, k, v, o, h: x + multi_head(x, q, k, v, o, h),
    ),
    (
        "The heads are interleaved: a head is a block of D neighbouring columns.",
        lambda x, q, k, v, o, h: _interleaved(x @ q, x @ k, x @ v, h) @ o,
    ),
]


def _interleaved(q: Tensor, k: Tensor, v: Tensor, h: int) -> Tensor:
    q, k, v = (one.unflatten(-1, (-1, h)).movedim(-1, -3) for one in (q, k, v))
    return (weights(q, k) @ v).movedim(-3, -1).flatten(-2)


# 04.3 previous_token_score(attention) ------------------------------------------------------------


def previous(a: Tensor) -> Tensor:
    """The right answer: the mean of the diagonal below the main one."""
    return a.diagonal(-1, -2, -1).mean(-1)


PREVIOUS: Suspects = [
    (
        "This is the *next* token: rows are queries, so it is attention[…, i, i − 1].",
        lambda a: a.diagonal(1, -2, -1).mean(-1),
    ),
    (
        "This is the diagonal: how much each token looks at itself.",
        lambda a: a.diagonal(0, -2, -1).mean(-1),
    ),
    (
        "Token 0 takes part, and its previous token is the last one: index −1 counts from the "
        "end. Begin at i = 1.",
        lambda a: (a.diagonal(-1, -2, -1).sum(-1) + a[..., 0, -1]) / a.shape[-1],
    ),
    (
        "`diagonal` took the first two axes. A head's map lies in the last two: say so with `dim1` "
        "and `dim2`.",
        lambda a: a.diagonal(-1).mean(-1),
    ),
    (
        "The sum is divided by L, but only L − 1 tokens have a previous one.",
        lambda a: a.diagonal(-1, -2, -1).sum(-1) / a.shape[-1],
    ),
    ("This is the sum: take the mean.", lambda a: a.diagonal(-1, -2, -1).sum(-1)),
    (
        "Every earlier token counts here. Only the one directly before does.",
        lambda a: a.tril(-1).sum(-1)[..., 1:].mean(-1),
    ),
    (
        "The heads were averaged into one number: give one score for each head.",
        lambda a: a.diagonal(-1, -2, -1).mean(),
    ),
    (
        "This is the largest of these weights. One lucky token is no role: take the mean.",
        lambda a: a.diagonal(-1, -2, -1).amax(-1),
    ),
]

# 04.4 my_knock_out(merged, heads, gone) ----------------------------------------------------------


def without(merged: Tensor, heads: int, gone: list[int]) -> Tensor:
    """The right answer: zeros in the blocks of the heads that are gone."""
    parts = merged.unflatten(-1, (heads, -1)).clone()
    parts[..., list(gone), :] = 0
    return parts.flatten(-2)


def _strided(merged: Tensor, heads: int, gone: list[int]) -> Tensor:
    out = merged.clone()
    for head in gone:
        out[..., head::heads] = 0
    return out


def _by_heads(merged: Tensor, heads: int, gone: list[int]) -> Tensor:
    out, width = merged.clone(), merged.shape[-1] // heads
    for head in gone:
        out[..., head * heads : head * heads + width] = 0
    return out


def _heads_wide(merged: Tensor, heads: int, gone: list[int]) -> Tensor:
    out = merged.clone()
    for head in gone:
        out[..., head * heads : (head + 1) * heads] = 0
    return out


def _from_one(merged: Tensor, heads: int, gone: list[int]) -> Tensor:
    out, width = merged.clone(), merged.shape[-1] // heads
    for head in gone:
        out[..., (head - 1) * width : head * width] = 0
    return out


def _columns(merged: Tensor, heads: int, gone: list[int]) -> Tensor:
    out = merged.clone()
    out[..., list(gone)] = 0
    return out


def _kept(merged: Tensor, heads: int, gone: list[int]) -> Tensor:
    return without(merged, heads, [head for head in range(heads) if head not in gone])


def _cut_out(merged: Tensor, heads: int, gone: Sequence[int]) -> Tensor:
    parts = merged.chunk(heads, dim=-1)
    return torch.cat([part for h, part in enumerate(parts) if h not in gone], dim=-1)


KNOCK: Suspects = [
    (
        "This removes columns head, head + heads, … A head is a block of D neighbouring columns: "
        "head·D up to (head + 1)·D.",
        _strided,
    ),
    (
        "Only one column was emptied for each head. A head has D columns: head·D up to "
        "(head + 1)·D.",
        _columns,
    ),
    (
        "The blocks begin at column head·heads. Each head is D = E/heads columns wide, so the "
        "first column of a head is head·D.",
        _by_heads,
    ),
    (
        "A head is not `heads` columns wide: it has D = E/heads of them.",
        _heads_wide,
    ),
    ("Heads are counted from 0 here: the first column of a head is head·D.", _from_one),
    ("It is the wrong way round: the heads in `gone` are the ones that were kept.", _kept),
    ("Nothing was knocked out.", lambda m, heads, gone: m.clone()),
    (
        "Only the first head of `gone` is out.",
        lambda m, heads, gone: without(m, heads, list(gone)[:1]),
    ),
    (
        "Only the last head of `gone` is out: does the loop start afresh each time?",
        lambda m, heads, gone: without(m, heads, list(gone)[-1:]),
    ),
    (
        "The columns were cut out. W^O still expects all E of them: put zeros there instead.",
        lambda m, heads, gone: m.unflatten(-1, (heads, -1))[
            ..., [h for h in range(heads) if h not in gone], :
        ].flatten(-2),
    ),
    (
        "The heads that stay were made larger to make up for it, as dropout does. Here they stay "
        "as they are.",
        lambda m, heads, gone: without(m, heads, gone) * heads / max(1, heads - len(gone)),
    ),
    (
        "The head was replaced by its mean over the tokens. That is a fair way to knock a head "
        "out, too, but here zeros are asked for.",
        lambda m, heads, gone: m - without_rest(m, heads, gone),
    ),
    (
        "Tokens were emptied, not heads: heads are blocks of the last axis.",
        lambda m, heads, gone: _rows(m, gone),
    ),
]
KNOCK = again(KNOCK, "still expects all E", _cut_out)


def without_rest(m: Tensor, heads: int, gone: list[int]) -> Tensor:
    """How far the blocks of `gone` are from their mean over the tokens."""
    block = _kept(m, heads, gone)
    return block - block.mean(-2, keepdim=True)


def _rows(m: Tensor, gone: list[int]) -> Tensor:
    out = m.clone()
    out[..., list(gone), :] = 0
    return out


# 04.7 my_share(heads, wishes, shelves) -----------------------------------------------------------


def _served(heads: int, wishes: int) -> int:
    return min(heads, wishes)


SHARE: Suspects = [
    (
        "Wishes without a head count as wrong here. They are right 1 time in `shelves`: the film "
        "that is named for them may stand on the same shelf.",
        lambda h, w, s: _served(h, w) / w,
    ),
    (
        "With more heads than wishes this counts wishes that nobody has: no more than `wishes` "
        "can be served, min(heads, wishes).",
        lambda h, w, s: (h + (w - h) / s) / w,
    ),
    (
        "This is a number of films, not a share: divide by the wishes.",
        lambda h, w, s: _served(h, w) + (w - _served(h, w)) / s,
    ),
    (
        "Served wishes count twice here: luck is only for the others, wishes − served.",
        lambda h, w, s: (_served(h, w) + w / s) / w,
    ),
    (
        "This is the share of customers who get *all* their films. Asked for is the share of "
        "single films: add up the served ones and the lucky ones.",
        lambda h, w, s: (1 / s) ** (w - _served(h, w)),
    ),
    (
        "Divide by the wishes, not by the heads: every wish is a film that can be right.",
        lambda h, w, s: (_served(h, w) + (w - _served(h, w)) / s) / h,
    ),
    (
        "The smaller of the two is served, min(heads, wishes); this takes the larger.",
        lambda h, w, s: (max(h, w) + (w - max(h, w)) / s) / w,
    ),
    (
        "This is luck alone, as if no wish had a head.",
        lambda h, w, s: 1 / s,
    ),
    (
        "Here the unserved wishes are right (shelves − 1) times in `shelves`: that is how often "
        "they are wrong.",
        lambda h, w, s: (_served(h, w) + (w - _served(h, w)) * (1 - 1 / s)) / w,
    ),
    (
        "This is the share of films that are wrong: 1 minus it is asked for.",
        lambda h, w, s: 1 - (_served(h, w) + (w - _served(h, w)) / s) / w,
    ),
]
