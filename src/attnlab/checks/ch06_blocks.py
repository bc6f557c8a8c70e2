"""Chapter 6: the right answers and the known mistakes about masks, blocks and parameters.

L length, S source length, E width, F hidden width. A block here has one head and no biases:
`w` (3, E, E) holds W_Q, W_K and W_V, `w1` (E, F) and `w2` (F, E) are the network.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.attention import attention, weights
from attnlab.checks.exercise import Suspects


def norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def attend(h: Tensor, seen: Tensor, w: Tensor, causal: bool = False) -> Tensor:
    return attention(h @ w[0], seen @ w[1], seen @ w[2], causal=causal)


def think(h: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    return torch.relu(h @ w1) @ w2


# 06.1


def mask(lengths: Tensor, size: int) -> Tensor:
    """The right one: (B,) -> (B, 1, L, L)."""
    return (past(size) & real(lengths, size)).expand(len(lengths), 1, size, size)


def past(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool).tril()


def real(lengths: Tensor, size: int) -> Tensor:
    return (torch.arange(size) < lengths[:, None])[:, None, None]


def whole(x: Tensor, lengths: Tensor, size: int) -> Tensor:
    return x.expand(len(lengths), 1, size, size).clone()


MASK: Suspects = [
    (
        "The padding is still seen: key j must also be below its sentence's length.",
        lambda lengths, size: whole(past(size), lengths, size),
    ),
    (
        "The future is still seen: query i may see key j only if j ≤ i.",
        lambda lengths, size: whole(real(lengths, size), lengths, size),
    ),
    (
        "Either reason is enough here: a key must be in the past *and* real, `&` instead of `|`.",
        lambda lengths, size: whole(past(size) | real(lengths, size), lengths, size),
    ),
    (
        "This sees the future and hides the past: `tril` keeps the diagonal and what is below.",
        lambda lengths, size: whole(past(size).mT & real(lengths, size), lengths, size),
    ),
    (
        "A word does not see itself: j ≤ i includes j = i.",
        lambda lengths, size: whole(past(size).tril(-1) & real(lengths, size), lengths, size),
    ),
    (
        "True means *may attend* in this course; this mask is the other way round.",
        lambda lengths, size: ~mask(lengths, size),
    ),
    (
        "The padding is taken out as queries (rows). What nobody may look at are *keys*: columns, "
        "the last axis.",
        lambda lengths, size: whole(past(size) & real(lengths, size).mT, lengths, size),
    ),
    (
        "One real word too many is seen: positions count from 0, so key j is real if j < length.",
        lambda lengths, size: whole(past(size) & real(lengths + 1, size), lengths, size),
    ),
]

# 06.2


def encoder_block(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    """The right one."""
    h = norm(x)
    x = x + attend(h, h, w)
    return x + think(norm(x), w1, w2)


def encoder_with(
    first: Callable[[Tensor, Tensor], Tensor], second: Callable[[Tensor, Tensor], Tensor]
) -> Callable[..., Tensor]:
    """A block that is put together in another way: (stream, what a sublayer says) -> stream."""

    def block(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
        h = norm(x)
        x = first(x, attend(h, h, w))
        return second(x, think(norm(x), w1, w2))

    return block


def post_norm_block(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    x = norm(x + attend(x, x, w))
    return norm(x + think(x, w1, w2))


def bare_block(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    x = x + attend(x, x, w)
    return x + think(x, w1, w2)


def side_by_side(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    h = norm(x)
    return x + attend(h, h, w) + think(h, w1, w2)


def normed_stream(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    h = norm(x)
    h = norm(h + attend(h, h, w))
    return h + think(h, w1, w2)


def looks_back_only(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    h = norm(x)
    x = x + attend(h, h, w, causal=True)
    return x + think(norm(x), w1, w2)


def add(x: Tensor, said: Tensor) -> Tensor:
    return x + said


ENCODER: Suspects = [
    (
        "This is post-norm, LayerNorm after each addition. Here it stands *before* each sublayer.",
        post_norm_block,
    ),
    ("There is no LayerNorm in it: each sublayer reads norm(x).", bare_block),
    (
        "Attention replaces the stream instead of being added to it: x = x + …",
        encoder_with(lambda x, said: said, add),
    ),
    (
        "The network replaces the stream instead of being added to it: x + …",
        encoder_with(add, lambda x, said: said),
    ),
    (
        "Neither sublayer is added to x: both residual connections are missing.",
        encoder_with(lambda x, said: said, lambda x, said: said),
    ),
    (
        "Both sublayers read the same x. The network comes second: it reads the stream *after* "
        "attention was added.",
        side_by_side,
    ),
    (
        "The normed stream is what is added to. LayerNorm is for the sublayer alone: the stream x "
        "itself goes on as it is.",
        normed_stream,
    ),
    ("It looks at the past alone: an encoder has no causal mask.", looks_back_only),
]

# 06.3


def decoder_block(
    y: Tensor, encoded: Tensor, w: Tensor, u: Tensor, w1: Tensor, w2: Tensor
) -> Tensor:
    """The right one; `u` (3, E, E) holds the matrices of the cross-attention."""
    h = norm(y)
    y = y + attend(h, h, w, causal=True)
    y = y + attend(norm(y), encoded, u)
    return y + think(norm(y), w1, w2)


def decoder_with(
    *, causal: bool = True, across: Callable[..., Tensor] | None = None
) -> Callable[..., Tensor]:
    def block(y: Tensor, encoded: Tensor, w: Tensor, u: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
        h = norm(y)
        y = y + attend(h, h, w, causal=causal)
        y = across(y, encoded, u) if across else y + attend(norm(y), encoded, u)
        return y + think(norm(y), w1, w2)

    return block


def source_first(
    y: Tensor, encoded: Tensor, w: Tensor, u: Tensor, w1: Tensor, w2: Tensor
) -> Tensor:
    y = y + attend(norm(y), encoded, u)
    h = norm(y)
    y = y + attend(h, h, w, causal=True)
    return y + think(norm(y), w1, w2)


def without_cross(
    y: Tensor, encoded: Tensor, w: Tensor, u: Tensor, w1: Tensor, w2: Tensor
) -> Tensor:
    return looks_back_only(y, w, w1, w2)


def same_matrices(
    y: Tensor, encoded: Tensor, w: Tensor, u: Tensor, w1: Tensor, w2: Tensor
) -> Tensor:
    return decoder_block(y, encoded, w, w, w1, w2)


DECODER: Suspects = [
    (
        "It peeks at the answer: the decoder's own attention needs `causal=True`.",
        decoder_with(causal=False),
    ),
    (
        "The source is never read: cross-attention is missing.",
        without_cross,
    ),
    (
        "The source is read first. The order is: look back, look at the source, think.",
        source_first,
    ),
    (
        "Cross-attention asks the target about itself: keys and values come from `encoded`.",
        decoder_with(across=lambda y, encoded, u: y + attend(norm(y), norm(y), u)),
    ),
    (
        "The encoder's output is normed once more. It has had its LayerNorm: read it as it is.",
        decoder_with(across=lambda y, encoded, u: y + attend(norm(y), norm(encoded), u)),
    ),
    (
        "What was found in the source replaces the stream: add it, y = y + …",
        decoder_with(across=lambda y, encoded, u: attend(norm(y), encoded, u)),
    ),
    (
        "The query of the cross-attention was not normed: every sublayer reads norm(y).",
        decoder_with(across=lambda y, encoded, u: y + attend(y, encoded, u)),
    ),
    (
        "Both attentions use the same matrices: the second has its own, `u`.",
        same_matrices,
    ),
]

# 06.4


def mended(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    """The right one: the encoder block once more."""
    return encoder_block(x, w, w1, w2)


def planted(
    *, columns: bool = False, cut: bool = False, lost: bool = False
) -> Callable[..., Tensor]:
    """The block of the exercise with some of its three bugs."""

    def block(x: Tensor, w: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
        h = norm(x)
        q, k, v = h @ w[0], h @ w[1], h @ w[2]
        a = weights(k, q).mT if columns else weights(q, k)
        said = a @ v
        x = x + (said.detach() if cut else said)
        h = norm(x)
        return (h if lost else x) + think(h, w1, w2)

    return block


def _said(onto: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """What attention says about the stream x, added to something."""
    h = norm(x)
    return onto + attend(h, h, w)


COLUMNS = (
    "Bug: the softmax runs over the queries (axis −2), so a word's weights do not add up to 1. "
    "Each query shares out its attention over the keys, axis −1."
)
LOST = (
    "Bug: the stream is lost. The last line adds to the normed h; the residual connection adds "
    "to x itself."
)
CUT = {  # how many of W_Q, W_K, W_V have no gradient
    3: "Bug: `.detach()` cuts the gradient: the values are right, but no gradient reaches W_Q, W_K "
    "and W_V, and they never learn.",
    2: "Bug: `.detach()` cuts the gradient inside the weights: no gradient reaches W_Q and W_K, "
    "and they never learn.",
    1: "Bug: `.detach()` cuts the gradient: one of W_Q, W_K and W_V has none and never learns.",
}
MENDED: Suspects = [
    (COLUMNS, planted(columns=True)),
    (f"{COLUMNS} And one more is left.", planted(columns=True, lost=True)),
    (LOST, planted(lost=True)),
    (
        "What the network reads is not normalised: the second `layer_norm` is missing.",
        lambda x, w, w1, w2: (lambda y: y + think(y, w1, w2))(_said(x, x, w)),
    ),
    (
        "What attention says is added to the normed h: it belongs to the stream, x.",
        lambda x, w, w1, w2: (lambda y: y + think(norm(y), w1, w2))(_said(norm(x), x, w)),
    ),
]

# 06.5


def parameters(words: int, source_words: int, width: int, blocks: int) -> int:
    """The right one, with the generator tied: biases, gains and shifts counted."""
    attention_, network, norm_ = 4 * width**2 + 4 * width, 8 * width**2 + 5 * width, 2 * width
    encoder = attention_ + network + 2 * norm_
    decoder = 2 * attention_ + network + 3 * norm_
    return (words + source_words) * width + blocks * (encoder + decoder) + 2 * norm_


def in_block(width: int) -> dict[str, int]:
    return {
        "attention": 4 * width**2 + 4 * width,
        "network": 8 * width**2 + 5 * width,
        "norm": 2 * width,
    }


def off_by(
    part: Callable[[int, int, int, int], int],
) -> Callable[[int, int, int, int], int]:
    return lambda v, s, e, n: parameters(v, s, e, n) + part(v, s, e, n)


PARAMETERS: Suspects = [
    (
        "The generator is counted as well. It is tied: it *is* the table of target words.",
        off_by(lambda v, s, e, n: v * e),
    ),
    (
        "One attention is missing in each decoder block: it has two, its own and the one that "
        "reads the source.",
        off_by(lambda v, s, e, n: -n * in_block(e)["attention"]),
    ),
    (
        "The biases are missing: each of the linear layers has one.",
        off_by(lambda v, s, e, n: -n * (3 * 4 * e + 2 * 5 * e)),
    ),
    (
        "The two LayerNorms after the stacks are missing: with pre-norm each stack ends with one.",
        off_by(lambda v, s, e, n: -2 * in_block(e)["norm"]),
    ),
    (
        "The LayerNorms in the blocks are missing: gain and shift, 2E each.",
        off_by(lambda v, s, e, n: -n * 5 * in_block(e)["norm"]),
    ),
    (
        "No LayerNorm is counted: each has a gain and a shift, 2E.",
        off_by(lambda v, s, e, n: -(5 * n + 2) * in_block(e)["norm"]),
    ),
    (
        "The tables of words are missing: words · E for each language.",
        off_by(lambda v, s, e, n: -(v + s) * e),
    ),
    (
        "One table of words is missing: the source has its own.",
        off_by(lambda v, s, e, n: -s * e),
    ),
]
