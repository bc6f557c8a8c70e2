"""Attention: each query takes a mean of the values, weighted by how well it matches the keys.

    weights(q, k)      = softmax(score(q, k) · scale / temperature + bias), where the mask allows
    attention(q, k, v) = weights(q, k) @ v

Shapes: B batch, H heads, L queries, S keys, D head width. Everything is written for (B, H, L, D),
but the leading axes may be any or none: (L, D) and (B, windows, H, L, D) work as well.

Masks are bool, True = may attend; `bias` is added to the scores and is a separate argument.
`scores.py` holds the score functions, `masks.py` the masks, `fused.py` the fast kernel.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.fused import fused_attention
from attnlab.masks import Mask, combine, surely
from attnlab.record import listening, note
from attnlab.scores import dot
from attnlab.shapes import Score, check_inputs, checked_scores


def softmax(scores: Tensor, mask: Tensor | None = None, off_by_one: bool = False) -> Tensor:
    """Softmax over the keys, the last axis; the only one in the library.

    Where `mask` is False the weight is 0; a row that is False everywhere is 0 everywhere, not NaN.
    `off_by_one` adds 1 to the denominator (Miller 2023), so that a head may attend to nothing.
    """
    if off_by_one:
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        # One more key with score 0: exp(0) = 1. It is dropped again, and no row is ever empty.
        return torch.softmax(F.pad(scores, (1, 0)), dim=-1)[..., 1:]
    if mask is None:
        return torch.softmax(scores, dim=-1)
    # A whole row of −∞ would give 0/0 = NaN, forwards and backwards: such a row gets zeros here,
    # and is multiplied by 0 afterwards.
    sees = mask.any(dim=-1, keepdim=True)  # does the query see any key?
    if surely(sees):  # nearly always
        return torch.softmax(torch.where(mask, scores, -torch.inf), dim=-1)
    lowest = scores.new_zeros(sees.shape).masked_fill(sees, -torch.inf)
    return torch.softmax(torch.where(mask, scores, lowest), dim=-1) * sees


def log_softmax(logits: Tensor) -> Tensor:
    """The logarithm of `softmax`, where that would round to 0: log-probabilities of words."""
    return torch.log_softmax(logits, dim=-1)


def weights(
    q: Tensor,
    k: Tensor,
    *,
    mask: Mask | Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    score: Score = dot,
    scale: float | None = None,
    temperature: float = 1.0,
    off_by_one: bool = False,
) -> Tensor:
    """The attention weights, (B, H, L, S): row i says how query i spreads over the keys."""
    check_inputs(q, k, k, mask, bias, causal, score, scale, temperature)
    k = share_heads(k, q)
    factor = _scale(q, score, scale) / temperature
    if score is dot:
        # The dot product is linear: scaling q (L · D numbers) is cheaper than scaling L · S scores.
        # Keys cut into heads lie scattered in memory; contiguous, their product is a third faster.
        scores = dot(q * factor, k.contiguous())
    else:
        scores = checked_scores(score, q, k) * factor
    if bias is not None:
        scores = scores + bias  # (B, H, L, S)
    return softmax(scores, combine(mask, bias, causal, q, k), off_by_one)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Mask | Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    score: Score = dot,
    scale: float | None = None,
    temperature: float = 1.0,
    off_by_one: bool = False,
    dropout: float = 0.0,
    fused: bool = True,
) -> Tensor:
    """weights(q, k) @ v: (B, H, L, D), (B, H, S, D), (B, H, S, D) -> (B, H, L, D).

    - `mask`: bool tensor that broadcasts to (B, H, L, S), or a `Mask`; True = may attend.
    - `bias`: added to the scores (relative positions, ALiBi).
    - `causal`: aligned at the lower right, so the last query sees every key, also with a KV cache.
    - `scale`: 1/√D for the dot product and 1 for other scores, unless given.
    - `k` and `v` may have fewer heads, if their number divides H (Ainslie et al. 2023).
    - A query that may see no key at all gets zeros.
    - `k` and `v` must be finite, also where the mask hides them: 0 · NaN is NaN.
    - `dropout` acts on the weights whenever it is above 0: pass 0 when not training.
    - `fused=False` writes out all weights, as in 2017: the same result, slower.
    """
    check_inputs(q, k, v, mask, bias, causal, score, scale, temperature, dropout)
    if fused and score is dot and not listening() and not _written_anyway(bias):
        factor = _scale(q, score, scale) / temperature
        return fused_attention(q, k, v, mask, bias, causal, factor, off_by_one, dropout)
    w = weights(
        q, k, mask=mask, bias=bias, causal=causal,
        score=score, scale=scale, temperature=temperature, off_by_one=off_by_one,
    )  # fmt: skip
    note(w)
    return (F.dropout(w, dropout) if dropout else w) @ share_heads(v, q)


def share_heads(x: Tensor, q: Tensor) -> Tensor:
    """Repeat the heads of keys or values so that each head of `q` has one: 0 0 1 1 for 2 of 4."""
    if q.dim() < 4 or x.shape[-3] in (1, q.shape[-3]) or q.shape[-3] == 1:
        return x  # equal, or broadcast
    return x.repeat_interleave(q.shape[-3] // x.shape[-3], dim=-3)


def _written_anyway(bias: Tensor | None) -> bool:
    """On a CPU the kernel has no gradient for a bias: torch would write out the weights as well,
    and look for empty rows twice more.
    """
    trained = bias is not None and bias.requires_grad and torch.is_grad_enabled()
    return trained and bias is not None and bias.device.type == "cpu"


def _scale(q: Tensor, score: Score, scale: float | None) -> float:
    if scale is not None:
        return scale
    return q.shape[-1] ** -0.5 if score is dot else 1.0
