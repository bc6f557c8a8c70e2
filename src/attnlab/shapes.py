"""One clear sentence for every input that attention cannot take.

Each sentence says what was given, what was expected, and how to put it right. The checks look at
shapes and types only, never at the numbers inside. Nearly always all is well, and one quick test
(`_everyday`) says so in a microsecond; only what it cannot vouch for is checked one by one.
"""

from collections.abc import Callable
from numbers import Real

import torch
from torch import Tensor, nn

from attnlab.masks import Mask
from attnlab.scores import Additive, Bilinear, dot

FLOATS = {torch.float32, torch.float16, torch.bfloat16, torch.float64}
Score = Callable[[Tensor, Tensor], Tensor]


def scores_shape(q: Tensor, k: Tensor) -> tuple[int, ...]:
    """(B, H, L, S); keys with fewer heads are shared out, axes of size 1 are stretched."""
    lead = (b if a == 1 else a for a, b in zip(q.shape[:-2], k.shape[:-2], strict=True))
    return (*lead, q.shape[-2], k.shape[-2])


def check_inputs(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Mask | Tensor | None,
    bias: Tensor | None,
    causal: bool,
    score: Score,
    scale: float | None,
    temperature: float,
    dropout: float = 0.0,
) -> None:
    """Raise TypeError or ValueError, in one sentence, at the first thing that does not fit."""
    if score is not dot or not _everyday(q, k, v):
        for name, x in (("q", q), ("k", k), ("v", v)):
            _check_tensor(name, x)
        for name, x in (("k", k), ("v", v)):
            _check_like_q(name, x, q)
        _check_score(q, k, score)
        _check_shapes(q, k, v)
    defaults = scale is None and type(temperature) is float and temperature == 1
    if not defaults or type(dropout) is not float or not 0 <= dropout < 1:
        _check_numbers(q, scale, temperature, dropout)
    if not isinstance(causal, bool):
        raise TypeError(
            f"causal is {_kind(causal)}, but True or False is expected: pass a mask as mask=."
        )
    if mask is not None:
        _check_mask(mask, q)
        _check_broadcast("mask", tuple(mask.shape), scores_shape(q, k))
    if bias is not None:
        _check_bias(bias, q)
        _check_broadcast("bias", tuple(bias.shape), scores_shape(q, k))


def _everyday(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Three tensors of one kind, a value for each key, and widths that fit a dot product?"""
    if not (type(q) is type(k) is type(v) is Tensor and q.dtype is k.dtype is v.dtype):
        return False
    ours, theirs = q.shape, k.shape
    if theirs != v.shape or len(ours) < 2 or not ours[-1]:
        return False
    if ours != theirs and (ours[-1] != theirs[-1] or ours[:-2] != theirs[:-2]):
        return False
    return q.dtype in FLOATS and q.device == k.device == v.device


def checked_scores(score: Score, q: Tensor, k: Tensor) -> Tensor:
    """A custom score function must give one number for each query and key."""
    scores, expected = score(q, k), scores_shape(q, k)
    name = getattr(score, "__name__", type(score).__name__)
    if not isinstance(scores, Tensor):
        raise TypeError(
            f"score {name} returned {_kind(scores)}, but a tensor of shape {expected} is expected: "
            "let it return the scores."
        )
    if scores.shape != expected:
        raise ValueError(
            f"score {name} returned shape {tuple(scores.shape)}, but {expected} is expected, one "
            "number for each query and key: compare q (…, L, 1, D) with k (…, 1, S, D), sum over D."
        )
    return scores


def check_tokens(name: str, x: Tensor, projection: nn.Linear) -> None:
    """What a layer is given must fit the weights that meet it first."""
    if type(x) is Tensor and x.dtype is projection.weight.dtype:  # nearly always all is well
        shape = x.shape
        if len(shape) > 2 and shape[-1] == projection.in_features:
            return
    expected = f"(batch, length, {projection.in_features})"
    if not isinstance(x, Tensor):
        raise _no_tensor(name, x, f"a tensor of shape {expected} is expected")
    own = projection.weight.dtype
    if not _agree(x, projection.weight):
        ids = not (x.is_floating_point() or x.is_complex())
        advice = "token ids go through an embedding first" if ids else f"use {name}.to({own})"
        raise TypeError(
            f"{name} has dtype {_dtype(x)}, but this layer's weights are "
            f"{_dtype(projection.weight)}: {advice}."
        )
    if x.dim() < 3 or x.shape[-1] != projection.in_features:
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}, but {expected} is expected: add a missing batch "
            "axis with [None], or project to this width."
        )


def _check_tensor(name: str, x: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise _no_tensor(name, x, "attention works on tensors")
    if not x.is_floating_point():
        raise TypeError(
            f"{name} has dtype {_dtype(x)}, but attention needs floating-point numbers: use "
            f"{name}.float()."
        )
    if x.dim() < 2:
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}, but at least (length, width) is expected: add an "
            f"axis with {name}[None]."
        )


def _check_like_q(name: str, x: Tensor, q: Tensor) -> None:
    _check_device(name, x, q)
    if not _agree(x, q):
        raise TypeError(
            f"{name} has dtype {_dtype(x)} and q has {_dtype(q)}, but they must be equal: use "
            f"{name}.to(q.dtype)."
        )
    if x.dim() != q.dim():
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} and q has {tuple(q.shape)}, but both need the same "
            f"number of axes: add leading ones, such as {name}[None]."
        )


def _check_score(q: Tensor, k: Tensor, score: Score) -> None:
    if not callable(score):
        raise TypeError(
            f"score is {_kind(score)}, but a function (q, k) -> scores is expected: use one of "
            "attnlab.scores, such as dot."
        )
    widths = (q.shape[-1], k.shape[-1])
    if score is dot:
        if widths[0] != widths[1] or not widths[0]:
            raise ValueError(
                f"{_shapes(q, k)}, but a dot product needs equal widths (the last axis), 1 or "
                "more: project one of them, or use score=Bilinear(query_width, key_width)."
            )
    elif isinstance(score, (Bilinear, Additive)):
        name, weight = type(score).__name__, next(score.parameters())
        if widths != score.widths:
            raise ValueError(
                f"q and k have widths {widths}, but this {name} was made for {score.widths}: make "
                f"one with query_width={widths[0]}, key_width={widths[1]}."
            )
        if not _agree(q, weight):
            raise TypeError(
                f"q has dtype {_dtype(q)}, but this {name} has {_dtype(weight)}: use "
                "score.to(q.dtype)."
            )


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    if v.shape[:-1] != k.shape[:-1]:
        raise ValueError(
            f"v has shape {tuple(v.shape)} and k has {tuple(k.shape)}, but every key needs one "
            "value: make all axes but the last equal."
        )
    for axis in range(-q.dim(), -2):
        ours, theirs = q.shape[axis], k.shape[axis]
        if ours == theirs or ours == 1 or theirs == 1:
            continue
        if axis != -3 or q.dim() < 4 or 0 in (ours, theirs):
            raise ValueError(
                f"{_shapes(q, k)}, which differ in axis {axis}: make the leading axes equal, or 1 "
                "in one."
            )
        if ours % theirs:
            raise ValueError(
                f"{_shapes(q, k)}, but {ours} heads of q cannot share {theirs} heads of k evenly: "
                f"use a number of heads for k and v that divides {ours}."
            )


def _check_numbers(q: Tensor, scale: float | None, temperature: float, dropout: float) -> None:
    factor = 1.0 if scale is None else scale
    for name, number in (("scale", factor), ("temperature", temperature), ("dropout", dropout)):
        if isinstance(number, (Real, torch.SymInt, torch.SymFloat)):
            continue
        if not isinstance(number, Tensor):
            raise TypeError(
                f"{name} is {_kind(number)}, but a plain number is expected: use one such as 0.5."
            )
        do = {"scale": "multiply", "temperature": "divide"}.get(name)
        learn = f"to learn it, {do} q by it before the call; else " if do else ""
        raise TypeError(
            f"{name} is a tensor, but a plain number is expected: {learn}use {name}.item()."
        )
    if not temperature > 0:
        raise ValueError(
            f"temperature is {temperature}, but it divides the scores and must be above 0: use a "
            "small one such as 0.01 for a nearly hard choice."
        )
    if not abs(factor / temperature) <= torch.finfo(q.dtype).max:  # NaN is not, either
        raise ValueError(
            f"scale is {scale} and temperature is {temperature}, but scale / temperature "
            f"multiplies the scores and must fit into {_dtype(q)}: use numbers nearer to 1."
        )
    if not 0 <= dropout < 1:
        raise ValueError(
            f"dropout is {dropout}, but a probability is expected: use 0 ≤ dropout < 1."
        )


def _check_mask(mask: Mask | Tensor, q: Tensor) -> None:
    if isinstance(mask, Mask):
        return
    if not isinstance(mask, Tensor):
        raise TypeError(
            f"mask is a {type(mask).__name__}, but a bool tensor or a Mask is expected: use "
            "torch.as_tensor(mask, dtype=torch.bool)."
        )
    if mask.dtype != torch.bool:
        additive = "pass what is added to scores as bias=, or use mask > -torch.inf"
        raise TypeError(
            f"mask has dtype {_dtype(mask)}, but bool is expected, True = may attend: "
            f"{additive if mask.is_floating_point() else 'use mask.bool()'}."
        )
    _check_device("mask", mask, q)


def _check_bias(bias: Tensor, q: Tensor) -> None:
    if not isinstance(bias, Tensor):
        raise TypeError(
            f"bias is a {type(bias).__name__}, but a tensor to add to the scores is expected: use "
            "torch.as_tensor(bias)."
        )
    if bias.dtype == torch.bool:
        raise TypeError("bias has dtype bool, but it is added to the scores: pass it as mask=.")
    if not _agree(bias, q):
        raise TypeError(
            f"bias has dtype {_dtype(bias)} and q has {_dtype(q)}, but they must be equal: use "
            "bias.to(q.dtype)."
        )
    _check_device("bias", bias, q)


def _check_device(name: str, x: Tensor, q: Tensor) -> None:
    if x.device != q.device:
        raise ValueError(
            f"{name} is on {x.device} and q is on {q.device}, but both must be on one device: use "
            f"{name}.to(q.device)."
        )


def _check_broadcast(name: str, shape: tuple[int, ...], scores: tuple[int, ...]) -> None:
    pairs = zip(reversed(shape), reversed(scores), strict=False)
    if len(shape) > len(scores) or any(own not in (1, full) for own, full in pairs):
        raise ValueError(
            f"{name} has shape {shape}, but it must broadcast to the scores {scores}: end it with "
            "(queries, keys), with 1 for every axis it does not depend on."
        )


def _agree(x: Tensor, y: Tensor) -> bool:
    """Are the dtypes equal? Under autocast torch itself makes them so, all but float64."""
    if x.dtype == y.dtype:
        return True
    mixes = all(t.is_floating_point() and t.dtype != torch.float64 for t in (x, y))
    return mixes and torch.is_autocast_enabled(y.device.type)


def _shapes(q: Tensor, k: Tensor) -> str:
    return f"q has shape {tuple(q.shape)} and k has {tuple(k.shape)}"


def _no_tensor(name: str, x: object, expected: str) -> TypeError:
    advice = "pass one" if x is None else f"use torch.as_tensor({name}, dtype=torch.float32)"
    return TypeError(f"{name} is {_kind(x)}, but {expected}: {advice}.")


def _kind(x: object) -> str:
    return "None" if x is None else f"a {type(x).__name__}"


def _dtype(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")
