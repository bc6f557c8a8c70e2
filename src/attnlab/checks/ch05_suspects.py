"""Chapter 5: the mistakes we know, each as the words a learner reads and the wrong answer."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks.exercise import Suspects
from attnlab.layers.positions import BASE, angles, frequencies, rotate, sinusoidal
from attnlab.layers.relative import distances

# 05.1 my_sinusoids(length, width)


def _of_angles(turned: Tensor) -> Tensor:
    return torch.stack([turned.sin(), turned.cos()], dim=-1).flatten(-2).float()


def _places(length: int) -> Tensor:
    return torch.arange(length, dtype=torch.float64)[:, None]


def halves(length: int, width: int) -> Tensor:
    turned = _places(length) * frequencies(width)
    return torch.cat([turned.sin(), turned.cos()], dim=-1).float()


def cosine_first(length: int, width: int) -> Tensor:
    turned = _places(length) * frequencies(width)
    return torch.stack([turned.cos(), turned.sin()], dim=-1).flatten(-2).float()


def each_its_own(length: int, width: int) -> Tensor:
    column = torch.arange(width, dtype=torch.float64)
    turned = _places(length) / BASE ** (column / width)
    return torch.where(column % 2 == 0, turned.sin(), turned.cos()).float()


def half_the_exponent(length: int, width: int) -> Tensor:
    pair = torch.arange(width // 2, dtype=torch.float64)
    return _of_angles(_places(length) / BASE ** (pair / width))


SINUSOIDS: Suspects = [
    (
        "All sines come first here, then all cosines. In this table they alternate: sin, cos, "
        "sin, cos.",
        halves,
    ),
    ("Sine and cosine have changed places: column 2i is the sine.", cosine_first),
    (
        "Every column has a frequency of its own. A sine and the cosine after it share one, so "
        "that they are a hand of the same clock.",
        each_its_own,
    ),
    (
        "The exponent is i/E, where i counts the pairs. It is 2i/E, so that the last pair comes "
        "near 1/10000.",
        half_the_exponent,
    ),
    (
        "The waves get shorter and shorter: positions are multiplied by 10000^(2i/E), not divided.",
        lambda length, width: _of_angles(_places(length) / frequencies(width)),
    ),
    (
        "The first row belongs to position 1. Positions are counted from 0.",
        lambda length, width: sinusoidal(length, width, offset=1),
    ),
]  # fmt: skip


# 05.2 shift_matrix(k, width)


def shift(k: int, width: int) -> Tensor:
    """M with M PE(p) = PE(p + k)."""
    return torch.block_diag(*(_block(k * w) for w in frequencies(width).tolist()))


def _block(angle: float) -> Tensor:
    turn = torch.tensor(angle, dtype=torch.float64)
    cos, sin = turn.cos(), turn.sin()
    return torch.stack([torch.stack([cos, sin]), torch.stack([-sin, cos])]).float()


def _without_minus(k: int, width: int) -> Tensor:
    """[cos, sin; sin, cos]"""
    turned = shift(k, width)
    corner = torch.arange(0, width, 2)
    turned[corner + 1, corner] *= -1
    return turned


def _mirrored(k: int, width: int) -> Tensor:
    """[cos, sin; sin, −cos]"""
    turned = shift(k, width)
    turned[1::2] *= -1
    return turned


SHIFT: Suspects = [
    (
        "This matrix moves k positions back. The pair is (sin, cos), not (x, y): sin(a + b) = "
        "sin a cos b + cos a sin b.",
        lambda k, width: shift(-k, width),
    ),
    (
        "Every pair is turned by the same angle, k. Pair i turns by k · 10000^(-2i/E).",
        lambda k, width: torch.block_diag(*[_block(float(k))] * (width // 2)),
    ),
    (
        "This matrix moves one position, whatever k is.",
        lambda k, width: shift(1, width),
    ),
    (
        "The lower left corner of each block lacks its minus: cos(a + b) = cos a cos b − sin a "
        "sin b.",
        _without_minus,
    ),
    (
        "The minus stands in the lower right corner. It belongs to the lower left one: cos(a + b) "
        "= cos a cos b − sin a sin b.",
        _mirrored,
    ),
]


# 05.3 my_rope(x, offset)


def rope(x: Tensor, offset: int) -> Tensor:
    return rotate(x, _turns(x, offset))


def _turns(x: Tensor, offset: int) -> Tensor:
    return angles(torch.arange(offset, offset + x.shape[-2]), x.shape[-1])


def _by_halves(x: Tensor, offset: int) -> Tensor:
    half = x.shape[-1] // 2
    turns = _turns(x, offset)
    cos, sin = turns.cos().float(), turns.sin().float()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def _flipped(x: Tensor, offset: int) -> Tensor:
    cos, sin = _turns(x, offset).cos().float(), _turns(x, offset).sin().float()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin - b * cos], dim=-1).flatten(-2)


def _apart(x: Tensor, offset: int) -> Tensor:
    turned = rope(x, offset)
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], dim=-1)


def _clockwise(x: Tensor, offset: int) -> Tensor:
    return rotate(x, -_turns(x, offset))


def _one_speed(x: Tensor, offset: int) -> Tensor:
    return rotate(x, _turns(x, offset)[:, :1].expand(-1, x.shape[-1] // 2))


ROPE: Suspects = [
    ("It turns clockwise: the sine has the wrong sign.", _clockwise),
    (
        "Number i is paired with number i + D/2, as in LLaMA's code. Here pairs are neighbours: "
        "(0, 1), (2, 3), …",
        _by_halves,
    ),
    (
        "The numbers are right, but not in their places: put the two halves of each pair next to "
        "each other again (`stack`, then `flatten(-2)`).",
        _apart,
    ),
    ("The second number of a pair is a sin + b cos, with a plus.", _flipped),
    (
        "`offset` has no effect: the first token of x stands at position `offset`.",
        lambda x, offset: rope(x, 0),
    ),
    (
        "Every pair turns at the same speed, 1 radian per position. Pair i turns by 10000^(-2i/D).",
        _one_speed,
    ),
    (
        "Every token is turned by the same angle, that of position `offset`.",
        lambda x, offset: rotate(x, _turns(x, offset)[:1]),
    ),
]  # fmt: skip


# 05.4 my_alibi(slopes, L, S)


def alibi(slopes: Tensor, queries: int, keys: int) -> Tensor:
    return -slopes[:, None, None] * distances(queries, keys).abs()


def _from_the_left(queries: int, keys: int) -> Tensor:
    return torch.arange(keys) - torch.arange(queries)[:, None]


def _masked(slopes: Tensor, queries: int, keys: int) -> Tensor:
    return alibi(slopes, queries, keys).masked_fill(distances(queries, keys) > 0, -torch.inf)


ALIBI: Suspects = [
    (
        "No mask here: causality is a separate argument. The bias of a later key is −m · distance, "
        "too.",
        _masked,
    ),
    (
        "Later keys have bias 0 here. Their distance counts as well: −m · |j − i|.",
        lambda slopes, queries, keys: (
            slopes[:, None, None] * distances(queries, keys).clamp(max=0)
        ),
    ),
    (
        "Far keys are rewarded here. A bias is added to the scores, so it must be negative.",
        lambda slopes, queries, keys: -alibi(slopes, queries, keys),
    ),
    (
        "One side is punished and the other rewarded: take the absolute value of the distance.",
        lambda slopes, queries, keys: slopes[:, None, None] * distances(queries, keys),
    ),
    (
        "One side is punished and the other rewarded: take the absolute value of the distance.",
        lambda slopes, queries, keys: -slopes[:, None, None] * distances(queries, keys),
    ),
    (
        "This counts query 0 as position 0. The queries are the last L of the S positions, as with "
        "a causal mask: query i stands at position S − L + i.",
        lambda slopes, queries, keys: -slopes[:, None, None] * _from_the_left(queries, keys).abs(),
    ),
    (
        "All heads have the same bias: head h has slope `slopes[h]`.",
        lambda slopes, queries, keys: alibi(slopes[:1].expand(len(slopes)), queries, keys),
    ),
    (
        "The distance is squared. ALiBi falls in a straight line.",
        lambda slopes, queries, keys: -slopes[:, None, None] * distances(queries, keys) ** 2,
    ),
]  # fmt: skip


# 05.6 rope_scores(q, k)


def cached(q: Tensor, k: Tensor) -> Tensor:
    """The queries are the last ones of the keys' positions."""
    return _scores(q, k, len(k) - len(q))


def _scores(q: Tensor, k: Tensor, first_query: int) -> Tensor:
    return rope(q, first_query) @ rope(k, 0).mT / q.shape[-1] ** 0.5


CACHED: Suspects = [
    (
        "The queries are turned as if they stood at the first positions. They are the last L of "
        "the S positions.",
        lambda q, k: _scores(q, k, 0),
    ),
    (
        "The first query is put at position S. With S keys the last position is S − 1, so the "
        "first of L queries stands at S − L.",
        lambda q, k: _scores(q, k, len(k)),
    ),
    (
        "Every query is put one position too early: the first of L queries stands at S − L.",
        lambda q, k: _scores(q, k, len(k) - len(q) - 1),
    ),
    (
        "Every query is put one position too late: the first of L queries stands at S − L.",
        lambda q, k: _scores(q, k, len(k) - len(q) + 1),
    ),
    (
        "Every query is put at position S − 1, or the first of them: that is where the *last* one "
        "stands. The first of L stands at S − L.",
        lambda q, k: _scores(q, k, len(k) - 1),
    ),
    (
        "The keys stand later than the queries here, by S − L. It is the other way round: the "
        "queries are the newest.",
        lambda q, k: _scores(q, k, len(q) - len(k)),
    ),
    (
        "The scores are not divided by √D.",
        lambda q, k: cached(q, k) * q.shape[-1] ** 0.5,
    ),
    (
        "Queries and keys are not turned at all.",
        lambda q, k: q @ k.mT / q.shape[-1] ** 0.5,
    ),
    (
        "Only the queries are turned; the keys have positions, too.",
        lambda q, k: rope(q, len(k) - len(q)) @ k.mT / q.shape[-1] ** 0.5,
    ),
]


# 05.8 my_base(factor, width, base) ---------------------------------------------------------------

BASES: Suspects = [
    (
        "Times `factor` is a little too small: the slowest hand turns by base ** (−(width − 2) / "
        "width), so what you multiply the base by is damped by that power.",
        lambda f, w, b: b * f,
    ),
    (
        "The power of `factor` is upside down: width / (width − 2) is asked for.",
        lambda f, w, b: b * f ** ((w - 2) / w),
    ),
    (
        "The base became smaller, so the hands turn faster. A larger base turns more slowly.",
        lambda f, w, b: b * f ** (-w / (w - 2)),
    ),
    (
        "The base became smaller, so the hands turn faster. A larger base turns more slowly.",
        lambda f, w, b: b / f,
    ),
    (
        "This is half the exponent: the slowest hand, i = width / 2 − 1, turns by base ** (−2i / "
        "width), not base ** (−i / width).",
        lambda f, w, b: b * f ** (2 * w / (w - 2)),
    ),
    (
        "The power was taken of the base as well. Only `factor` has one: base · factor ** (…).",
        lambda f, w, b: (b * f) ** (w / (w - 2)),
    ),
    (
        "This is how far the slowest hand should turn in one step. Asked for is the base that "
        "makes it do so.",
        lambda f, w, b: b ** (-(w - 2) / w) / f,
    ),
    (
        "The slowest hand has exponent (width − 2) / width, not (width − 1) / width: exponents go "
        "in steps of 2, one for each pair.",
        lambda f, w, b: b * f ** (w / (w - 1)),
    ),
    (
        "The factor is added. A power of it multiplies the base.",
        lambda f, w, b: b + f ** (w / (w - 2)),
    ),
]
