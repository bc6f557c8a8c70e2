"""The capstone's parts as they should be, the ways to get them wrong, and how they fit together.

`block` and `model` take their parts from outside (`Parts`). So a wrong model is the right one with
one part exchanged, and the mistakes of the parts are the mistakes of the whole.

L tokens, S keys in all, E model width, H heads, G key/value heads, D head width, F hidden, V words.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.attention import attention
from attnlab.decoding import next_word_probabilities
from attnlab.layers.heads import merge, split
from attnlab.layers.positions import angles, rotate
from attnlab.masks import causal
from attnlab.models.stories import Layer, Weights

EPS = 1e-5
Pairs = tuple[tuple[Tensor, Tensor], ...]  # keys and values of each layer, (G, S, D)


# C.1 RMSNorm ─────────────────────────────────────────────────────────────────────────────────────


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    """(L, E), (E,) -> (L, E)"""
    return F.rms_norm(x, weight.shape, weight, EPS)


def _layer_norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, None, EPS)


def _root(x: Tensor, *, dim: int = -1, add: float = EPS) -> Tensor:
    return (x.square().mean(dim, keepdim=True) + add).sqrt()


RMS = [
    (
        "This is LayerNorm: the mean is taken away. RMSNorm leaves it where it is and divides by "
        "the root of the mean square.",
        _layer_norm,
    ),
    (
        "The weight is missing: after the division each number is multiplied by its own.",
        lambda x, weight: x / _root(x),
    ),
    (
        "It divides by the length of the vector, √(Σx²). The *mean* square has a division by E in "
        "it, so the result is √E times larger.",
        lambda x, weight: x / (x.square().sum(-1, keepdim=True) + EPS).sqrt() * weight,
    ),
    (
        "It divides by the mean square. Its square root is missing.",
        lambda x, weight: x / (x.square().mean(-1, keepdim=True) + EPS) * weight,
    ),
    (
        "The mean runs over the tokens. Each token is normalised alone, over its own numbers: the "
        "last axis.",
        lambda x, weight: x / _root(x, dim=-2) * weight,
    ),
    (
        "The mean runs over the tokens or the batch: the first axis. Each token is normalised "
        "alone: the last axis.",
        lambda x, weight: x / _root(x, dim=0) * weight,
    ),
    (
        "eps is missing, or not inside the root: √(mean + 1e-5).",
        lambda x, weight: x / _root(x, add=0) * weight,
    ),
    (
        "eps stands outside the root: it is √(mean + 1e-5), not √mean + 1e-5.",
        lambda x, weight: x / (_root(x, add=0) + EPS) * weight,
    ),
]


# C.2 RoPE ────────────────────────────────────────────────────────────────────────────────────────


def turns(x: Tensor, offset: int, base: float = 10_000.0) -> Tensor:
    """(L, D/2)"""
    return angles(torch.arange(offset, offset + x.shape[-2]), x.shape[-1], base)


def rope(x: Tensor, offset: int) -> Tensor:
    """(H, L, D) -> (H, L, D): pairs of neighbours, as llama2.c and the paper have them."""
    return rotate(x, turns(x, offset))


def halves(x: Tensor, offset: int) -> Tensor:
    """The other layout: number i is paired with i + D/2."""
    a, b = x.chunk(2, dim=-1)
    turn = turns(x, offset).to(x.dtype)
    return torch.cat([a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()], dim=-1)


def _heads_as_positions(x: Tensor, offset: int) -> Tensor:
    return rope(x.transpose(-3, -2), offset).transpose(-3, -2) if x.dim() > 2 else rope(x, offset)


HALVES = (
    "The pairs are i and i + D/2. These weights were trained on pairs of neighbours, (0, 1), (2, "
    "3), …: with halves a story starts well and then falls apart."
)
OFFSET = (
    "Every call begins at position 0. With a cache, the first new token stands at `offset`: "
    "without it all new tokens claim to be the first word."
)
ROPE = [
    (HALVES, halves),
    (OFFSET, lambda x, offset: rope(x, 0)),
    (
        "The positions begin at 1: the first token stands at `offset`, and position 0 is not "
        "turned at all.",
        lambda x, offset: rope(x, offset + 1),
    ),
    (
        "The rotation goes the other way: (a, b) becomes (a·cos − b·sin, a·sin + b·cos).",
        lambda x, offset: rotate(x, -turns(x, offset)),
    ),
    (
        "All pairs turn at the same speed. Pair i turns by position · 10000^(−2i/D).",
        lambda x, offset: rotate(x, turns(x, offset)[..., :1].expand(-1, x.shape[-1] // 2)),
    ),
    (
        "The exponent is half as large as it should be: pair i turns by position · 10000^(−2i/D), "
        "where i counts pairs.",
        lambda x, offset: rotate(x, turns(x, offset, 100.0)),
    ),
    (
        "The heads were taken for positions: those run along the last but one axis.",
        _heads_as_positions,
    ),
]


# C.3 The mask ────────────────────────────────────────────────────────────────────────────────────


def mask(queries: int, keys: int) -> Tensor:
    """(L, S), True = may attend, aligned at the lower right."""
    return causal(queries, keys).dense()


def _upper_left(queries: int, keys: int) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril()


UPPER_LEFT = (
    "It is aligned at the upper left. With a cache there are more keys than queries, and the last "
    "query is the newest token: it sees every key."
)
NO_MASK = "Nothing is hidden: a token reads the words that it is to predict."
MASK = [
    (UPPER_LEFT, _upper_left),
    (
        "It is the wrong way round: True means may attend, here and in all the course.",
        lambda queries, keys: ~mask(queries, keys),
    ),
    (NO_MASK, lambda queries, keys: torch.ones(queries, keys, dtype=torch.bool)),
    (
        "The diagonal is missing: a token may look at itself.",
        lambda queries, keys: mask(queries, keys).tril(keys - queries - 1),
    ),
]


# C.4 Attention ───────────────────────────────────────────────────────────────────────────────────


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """(H, L, D), (G, S, D), (G, S, D), (L, S) -> (H, L, D)"""
    return attention(q[None], k[None], v[None], mask=mask)[0]


def _plain(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, scale: float | None = None, dim: int = -1
) -> Tensor:
    share = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(share, 0), v.repeat_interleave(share, 0)
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    return scores.masked_fill(~mask, -torch.inf).softmax(dim).nan_to_num(0.0) @ v


def _tiled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    share = q.shape[0] // k.shape[0]
    return _plain(q, k.repeat(share, 1, 1), v.repeat(share, 1, 1), mask)


def _half_tiled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, keys: bool) -> Tensor:
    share = q.shape[0] // k.shape[0]
    one, other = k.repeat_interleave(share, 0), v.repeat_interleave(share, 0)
    return _plain(q, k.repeat(share, 1, 1) if keys else one,
                  other if keys else v.repeat(share, 1, 1), mask)  # fmt: skip


def _everything(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return _plain(q, k, v, torch.ones_like(mask))


def _after_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    share = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(share, 0), v.repeat_interleave(share, 0)
    return ((q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) * mask) @ v


SCALE = "The scores are not divided by √D, the root of the head's width."
TILED = (
    "The heads of keys and values are repeated in the wrong order: 0 1 0 1. Neighbouring heads of "
    "queries share one, 0 0 1 1: `repeat_interleave`, not `repeat`."
)
HALF_TILED = (
    "Keys and values are repeated in different orders, 0 0 1 1 and 0 1 0 1: a head reads the "
    "values of another. Both are 0 0 1 1."
)
UNMASKED = "The mask is not used: what is False must have weight 0."
ATTENTION = [
    (SCALE, lambda q, k, v, mask: _plain(q, k, v, mask, scale=1.0)),
    (
        "The scores are divided by D: it is the root of D.",
        lambda q, k, v, mask: _plain(q, k, v, mask, scale=1 / q.shape[-1]),
    ),
    (
        "The scores are divided by the root of H·D, the width of the model. Each head counts "
        "only its own D numbers.",
        lambda q, k, v, mask: _plain(q, k, v, mask, scale=(q.shape[0] * q.shape[-1]) ** -0.5),
    ),
    (
        "The scores are divided by the root of the number of keys. It is D, the width of a head.",
        lambda q, k, v, mask: _plain(q, k, v, mask, scale=k.shape[-2] ** -0.5),
    ),
    (TILED, _tiled),
    (HALF_TILED, lambda q, k, v, mask: _half_tiled(q, k, v, mask, keys=False)),
    (HALF_TILED, lambda q, k, v, mask: _half_tiled(q, k, v, mask, keys=True)),
    (UNMASKED, _everything),
    (
        "A causal mask of your own was used, not the one that is given.",
        lambda q, k, v, mask: _plain(q, k, v, torch.ones_like(mask).tril()),
    ),
    (
        "The mask is the wrong way round: True means may attend.",
        lambda q, k, v, mask: _plain(q, k, v, ~mask),
    ),
    (
        "The softmax runs over the queries. Each query spreads over the keys: the last axis.",
        lambda q, k, v, mask: _plain(q, k, v, mask, dim=-2),
    ),
    (
        "The mask comes after the softmax, so the weights that are left no longer add up to 1. "
        "Put −inf into the scores before it.",
        _after_softmax,
    ),
]


# C.5 SwiGLU ──────────────────────────────────────────────────────────────────────────────────────


def swiglu(x: Tensor, gate: Tensor, wide: Tensor, narrow: Tensor) -> Tensor:
    """(L, E), (F, E), (F, E), (E, F) -> (L, E)"""
    return (F.silu(x @ gate.T) * (x @ wide.T)) @ narrow.T


SWAPPED = (
    "Gate and wide have changed places: silu belongs to the gate, and the other projection stays "
    "straight."
)
SWIGLU = [
    (SWAPPED, lambda x, gate, wide, narrow: swiglu(x, wide, gate, narrow)),
    (
        "This is the sigmoid alone: silu(z) = z · sigmoid(z).",
        lambda x, gate, wide, narrow: ((x @ gate.T).sigmoid() * (x @ wide.T)) @ narrow.T,
    ),
    (
        "This is GeGLU: the weights were trained with silu, not gelu.",
        lambda x, gate, wide, narrow: (F.gelu(x @ gate.T) * (x @ wide.T)) @ narrow.T,
    ),
    (
        "The two projections are added. A gate multiplies.",
        lambda x, gate, wide, narrow: (F.silu(x @ gate.T) + x @ wide.T) @ narrow.T,
    ),
    (
        "The straight projection is missing: silu(x·gate) is multiplied by x·wide.",
        lambda x, gate, wide, narrow: F.silu(x @ gate.T) @ narrow.T,
    ),
    (
        "silu was put around the product. Only the gate goes through it.",
        lambda x, gate, wide, narrow: F.silu((x @ gate.T) * (x @ wide.T)) @ narrow.T,
    ),
]


# C.6 The cache ───────────────────────────────────────────────────────────────────────────────────


def extend(past: Tensor, new: Tensor) -> Tensor:
    """(G, S, D), (G, L, D) -> (G, S + L, D)"""
    return torch.cat([past, new], dim=-2)


LOST = "The past is lost: only the new tokens are left."
SHORT = "The cache is off by one: its oldest token is gone. Nothing leaves a cache, it only grows."
CACHE = [
    (LOST, lambda past, new: new.clone()),
    (
        "The new tokens stand before the old ones: time runs from left to right.",
        lambda past, new: extend(new, past),
    ),
    (SHORT, lambda past, new: torch.cat([past[..., 1:, :], new], dim=-2)),
    (
        "The cache is off by one: the newest of the old tokens is gone.",
        lambda past, new: torch.cat([past[..., :-1, :], new], dim=-2),
    ),
    ("The new tokens are lost: only the past is left.", lambda past, new: past.clone()),
]


# C.7 Sampling ────────────────────────────────────────────────────────────────────────────────────


def shares(logits: Tensor, temperature: float, top_p: float) -> Tensor:
    """(V,) -> (V,)"""
    return next_word_probabilities(logits, temperature=temperature, top_p=top_p)


def _cut(probabilities: Tensor, top_p: float, *, renormalise: bool = True, more: int = 0) -> Tensor:
    ranked, order = probabilities.sort(descending=True, stable=True)
    keep = int(((ranked.cumsum(-1) - ranked) < top_p).sum()) + more
    kept = torch.zeros_like(probabilities)
    kept[order[:keep]] = ranked[:keep]
    return kept / kept.sum() if renormalise else kept


def _cut_early(probabilities: Tensor, top_p: float) -> Tensor:
    ranked, order = probabilities.sort(descending=True, stable=True)
    kept = torch.zeros_like(ranked).scatter(0, order, ranked * (ranked.cumsum(-1) <= top_p))
    return kept / kept.sum().clamp(min=1e-9)


def _cut_first(logits: Tensor, temperature: float, top_p: float) -> Tensor:
    kept = _cut(logits.softmax(-1), top_p) > 0
    return (logits / temperature).masked_fill(~kept, -torch.inf).softmax(-1)


SHARES = [
    (
        "The temperature is not used: divide the logits by it, before the softmax.",
        lambda logits, temperature, top_p: _cut(logits.softmax(-1), top_p),
    ),
    (
        "The logits are multiplied by the temperature. A high one must flatten: divide.",
        lambda logits, temperature, top_p: _cut((logits * temperature).softmax(-1), top_p),
    ),
    (
        "What is left does not add up to 1: divide by its sum.",
        lambda logits, temperature, top_p: _cut(
            (logits / temperature).softmax(-1), top_p, renormalise=False
        ),
    ),
    (
        "One token too few is kept. The one that crosses top_p stays: the kept ones add up to at "
        "least top_p.",
        lambda logits, temperature, top_p: _cut(
            (logits / temperature).softmax(-1), top_p, more=-1
        ).nan_to_num(0.0),
    ),
    (
        "One token too few is kept. The one that crosses top_p stays: the kept ones add up to at "
        "least top_p.",
        lambda logits, temperature, top_p: _cut_early((logits / temperature).softmax(-1), top_p),
    ),
    (
        "top_p was applied before the temperature. The sum counts the probabilities that are "
        "drawn from.",
        _cut_first,
    ),
    (
        "top_p is not used: everything can still be drawn.",
        lambda logits, temperature, top_p: (logits / temperature).softmax(-1),
    ),
]


# C.8 and C.9: the parts put together ─────────────────────────────────────────────────────────────


class Notes:
    """What a model says on its way: `q = note("queries", q)` keeps it and gives it back."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def __call__(self, name: str, value: Any) -> Any:
        self.kept.setdefault(name, value)
        return value

    def __repr__(self) -> str:
        return "note"

    def __deepcopy__(self, _: Any) -> "Notes":
        return self  # there is one sheet of paper, whoever holds the pen


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a block is made of."""

    rms_norm: Callable[..., Tensor] = rms_norm
    rope: Callable[..., Tensor] = rope
    mask: Callable[..., Tensor] = mask
    attend: Callable[..., Tensor] = attend
    swiglu: Callable[..., Tensor] = swiglu
    extend: Callable[..., Tensor] = extend
    post: bool = False  # the norm after the sublayer, as in 2017
    residual: bool = True
    turn_values: bool = False
    cache_first: bool = False  # keys into the cache before they are turned
    offset: Callable[[Tensor], int] = lambda past: past.shape[-2]


OURS = Parts()
Block = tuple[Tensor, Tensor, Tensor]


def block(
    x: Tensor, layer: Layer, heads: int, past_k: Tensor, past_v: Tensor, note: Notes,
    parts: Parts = OURS,
) -> Block:  # fmt: skip
    """(L, E) and the cache -> (L, E), and the new cache, (G, S, D) each."""
    p, width = parts, x.shape[-1] // heads
    h = note("normed", x if p.post else p.rms_norm(x, layer.norm))
    q = note("queries", split(h @ layer.query.T, heads))
    k = note("keys", split(h @ layer.key.T, layer.key.shape[0] // width))
    v = note("values", split(h @ layer.value.T, layer.value.shape[0] // width))
    q = note("queries turned", p.rope(q, p.offset(past_k)))
    k = k if p.cache_first else note("keys turned", p.rope(k, p.offset(past_k)))
    k = note("all keys", p.extend(past_k, k))
    v = note("all values", p.extend(past_v, p.rope(v, p.offset(past_v)) if p.turn_values else v))
    seen = p.rope(k, 0) if p.cache_first else k
    y = note("looked up", p.attend(q, seen, v, p.mask(x.shape[-2], k.shape[-2])))
    y = merge(y) @ layer.out.T
    x = note("after attention", _add(x, y, layer.norm, p))
    h = note("normed again", x if p.post else p.rms_norm(x, layer.norm_2))
    y = note("network", p.swiglu(h, layer.gate, layer.wide, layer.narrow))
    return _add(x, y, layer.norm_2, p), k, v


def _add(x: Tensor, y: Tensor, weight: Tensor, parts: Parts) -> Tensor:
    y = x + y if parts.residual else y
    return parts.rms_norm(y, weight) if parts.post else y


def model(
    tokens: Tensor, weights: Weights, past: Pairs | None, note: Notes, parts: Parts = OURS,
    *, norm: bool = True, scaled: bool = False, shared: bool = False,
) -> tuple[Tensor, Pairs]:  # fmt: skip
    """(L,) -> logits (L, V), and the keys and values of every layer."""
    silent = Notes()
    x = weights.words[tokens]
    x = note("embedded", x * x.shape[-1] ** 0.5 if scaled else x)
    new = []
    for n, layer in enumerate(weights.layers):
        width = x.shape[-1] // weights.heads
        nothing = x.new_zeros(layer.key.shape[0] // width, 0, width)
        k, v = past[0 if shared else n] if past else (nothing, nothing)
        x, k, v = block(x, layer, weights.heads, k, v, silent, parts)
        note(f"layer {n + 1}", x)
        new.append((k, v))
    x = note("normed", parts.rms_norm(x, weights.norm) if norm else x)
    return x @ weights.words.T, tuple(new)


def _kept_twice(result: tuple[Tensor, Pairs]) -> tuple[Tensor, Pairs]:
    logits, pairs = result
    return logits, tuple((k, k) for k, _ in pairs)


def _block(**changes: Any) -> Callable[..., Block]:
    """The block with one part exchanged."""
    parts = replace(OURS, **changes)
    return lambda x, layer, heads, k, v, note: block(x, layer, heads, k, v, Notes(), parts)


def _with_gate(x: Tensor, gate: Tensor, wide: Tensor, narrow: Tensor) -> Tensor:
    return swiglu(x, wide, gate, narrow)


WHOLE: list[tuple[str, dict[str, Any]]] = [
    (HALVES, {"rope": halves}),
    (OFFSET, {"offset": lambda past: 0}),
    (
        "The cache is off by one: the first new token stands at position S, where S is the length "
        "of the past, since positions begin at 0.",
        {"offset": lambda past: max(past.shape[-2] - 1, 0)},
    ),
    (TILED, {"attend": _tiled}),
    (SCALE, {"attend": lambda q, k, v, mask: _plain(q, k, v, mask, scale=1.0)}),
    (NO_MASK, {"mask": lambda queries, keys: torch.ones(queries, keys, dtype=torch.bool)}),
    (UPPER_LEFT, {"mask": _upper_left}),
    (SWAPPED, {"swiglu": _with_gate}),
    (
        "The norm stands after each sublayer, as in 2017. This model was trained with the norm "
        "before it: x + f(norm(x)).",
        {"post": True},
    ),
    (
        "The residual connections are missing: x + f(norm(x)).",
        {"residual": False},
    ),
    (
        "The values are turned, too. RoPE acts on queries and keys only: it changes where one "
        "looks, not what is found there.",
        {"turn_values": True},
    ),
    (
        "The keys go into the cache before they are turned. Turn them first, once, at their own "
        "place.",
        {"cache_first": True},
    ),
    (LOST, {"extend": lambda past, new: new}),
    (SHORT, {"extend": lambda past, new: torch.cat([past[..., 1:, :], new], dim=-2)}),
]
# What the notebook breaks on purpose, to hear the stories that come of it.
BROKEN: dict[str, Parts] = {
    "RoPE on halves": replace(OURS, rope=halves),
    "no scale": replace(OURS, attend=lambda q, k, v, mask: _plain(q, k, v, mask, scale=1.0)),
    "gate swapped": replace(OURS, swiglu=_with_gate),
    "norm after": replace(OURS, post=True),
    "cache off by one": replace(OURS, offset=lambda past: max(past.shape[-2] - 1, 0)),
}
BLOCK = [(words, _block(**change)) for words, change in WHOLE]


def _model(**changes: Any) -> Callable[..., tuple[Tensor, Pairs]]:
    return lambda tokens, weights, past, note: model(tokens, weights, past, Notes(), **changes)


def _wrong(**changes: Any) -> Callable[..., tuple[Tensor, Pairs]]:
    """The whole model with one part exchanged."""
    parts = replace(OURS, **changes)
    return lambda tokens, weights, past, note: model(tokens, weights, past, Notes(), parts)


MODEL = [
    (
        "The norm after the last block is missing: pre-norm leaves the sum of all blocks "
        "unnormalised.",
        _model(norm=False),
    ),
    (
        "The embeddings are multiplied by √E, as in 2017. Llama takes them as they are.",
        _model(scaled=True),
    ),
    (
        "Every layer is given the cache of the first one. Each has its own.",
        _model(shared=True),
    ),
    (
        "The cache is not handed to the blocks: each call forgets what came before.",
        lambda tokens, weights, past, note: model(tokens, weights, None, Notes()),
    ),
    (
        "The cache of a layer holds its keys twice. The second of each pair is the values.",
        lambda tokens, weights, past, note: _kept_twice(model(tokens, weights, past, Notes())),
    ),
    *((words, _wrong(**change)) for words, change in WHOLE),
]
