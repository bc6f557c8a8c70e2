"""One clear sentence for every input that attention cannot take.

Each sentence says what was given, what was expected, and how to put it right. The checks look at
shapes and types only, never at the numbers inside, so they cost microseconds.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.masks import Mask
from attnlab.scores import dot

Score = Callable[[Tensor, Tensor], Tensor]


def scores_shape(q: Tensor, k: Tensor) -> tuple[int, ...]:
    """(B, H, L, S); keys with fewer heads are shared out, axes of size 1 are stretched."""
    lead = (max(a, b) for a, b in zip(q.shape[:-2], k.shape[:-2], strict=True))
    return (*lead, q.shape[-2], k.shape[-2])


def check_inputs(
    q: Tensor,
    k: Tensor,
    v: Tensor | None,
    mask: Mask | Tensor | None,
    bias: Tensor | None,
    score: Score,
    scale: float | None,
    temperature: float,
    dropout: float = 0.0,
) -> None:
    """Raise TypeError or ValueError, in one sentence, at the first thing that does not fit."""
    tensors = {"q": q, "k": k} if v is None else {"q": q, "k": k, "v": v}
    for name, x in tensors.items():
        _check_tensor(name, x)
    for name, x in tensors.items():
        _check_like_q(name, x, q)
    _check_shapes(q, k, v, score)
    _check_numbers(scale, temperature, dropout)
    if mask is not None:
        _check_mask(mask, q)
        _check_broadcast("mask", tuple(mask.shape), scores_shape(q, k))
    if bias is not None:
        _check_bias(bias, q)
        _check_broadcast("bias", tuple(bias.shape), scores_shape(q, k))


def check_scores(scores: Tensor, q: Tensor, k: Tensor, score: Score) -> None:
    """A score function of one's own must give one number for each query and key."""
    expected = scores_shape(q, k)
    if scores.shape != expected:
        name = getattr(score, "__name__", type(score).__name__)
        raise ValueError(
            f"score {name} returned shape {tuple(scores.shape)}, but {expected} is expected, one "
            "number for each query and key: compare q (…, L, 1, D) with k (…, 1, S, D), sum over D."
        )


def _check_tensor(name: str, x: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{name} is a {type(x).__name__}, but attention works on tensors: use "
            f"torch.as_tensor({name}, dtype=torch.float32)."
        )
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
    if x.dtype != q.dtype and not _autocast(q):
        raise TypeError(
            f"{name} has dtype {_dtype(x)} and q has {_dtype(q)}, but they must be equal: use "
            f"{name}.to(q.dtype)."
        )
    if x.dim() != q.dim():
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} and q has {tuple(q.shape)}, but both need the same "
            f"number of axes: add leading ones, such as {name}[None]."
        )


def _check_shapes(q: Tensor, k: Tensor, v: Tensor | None, score: Score) -> None:
    shapes = f"q has shape {tuple(q.shape)} and k has {tuple(k.shape)}"
    if score is dot and q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"{shapes}, but a dot product needs equal widths (the last axis): project one of them, "
            "or use score=Bilinear(query_width, key_width)."
        )
    if v is not None and v.shape[:-1] != k.shape[:-1]:
        raise ValueError(
            f"v has shape {tuple(v.shape)} and k has {tuple(k.shape)}, but every key needs one "
            "value: make all axes but the last equal."
        )
    for axis in range(-q.dim(), -2):
        ours, theirs = q.shape[axis], k.shape[axis]
        if ours == theirs or ours == 1 or theirs == 1:
            continue
        if axis != -3 or q.dim() < 4:
            raise ValueError(
                f"{shapes}, which differ in axis {axis}: make the leading axes equal, or 1 in one."
            )
        if ours % theirs:
            raise ValueError(
                f"{shapes}, but {ours} heads of q cannot share {theirs} heads of k evenly: use a "
                f"number of heads for k and v that divides {ours}."
            )


def _check_numbers(scale: float | None, temperature: float, dropout: float) -> None:
    for name, number in (("scale", scale), ("temperature", temperature)):
        if isinstance(number, Tensor):
            raise TypeError(
                f"{name} is a tensor, but a plain number is expected: to learn it, multiply q by "
                f"it before the call; else use {name}.item()."
            )
    if not temperature > 0:
        raise ValueError(
            f"temperature is {temperature}, but it divides the scores and must be above 0: use a "
            "small one such as 0.01 for a nearly hard choice."
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
    if bias.dtype != q.dtype and not (_autocast(q) and bias.is_floating_point()):
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


def _autocast(q: Tensor) -> bool:
    """Under autocast torch itself makes the dtypes agree."""
    return torch.is_autocast_enabled(q.device.type)


def _dtype(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")
