"""One clear sentence for every input that attention cannot take.

Each says what was given, what was expected, and how to put it right.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.masks import Mask
from attnlab.scores import dot

Score = Callable[[Tensor, Tensor], Tensor]


def check_inputs(
    q: Tensor,
    k: Tensor,
    v: Tensor | None,
    mask: Mask | Tensor | None,
    bias: Tensor | None,
    score: Score,
    temperature: float,
    dropout: float = 0.0,
) -> None:
    """Raise TypeError or ValueError, in one sentence, at the first thing that does not fit."""
    given = {"q": q, "k": k} if v is None else {"q": q, "k": k, "v": v}
    _check_tensors(given)
    _check_shapes(q, k, v, score)
    if not temperature > 0:
        raise ValueError(
            f"temperature is {temperature}, but it divides the scores and must be above 0: use a small "
            "one such as 0.01 for a nearly hard choice."
        )
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout}, but it is a probability: use 0 ≤ dropout < 1.")
    if mask is not None:
        _check_mask(mask, q, k)
    if bias is not None:
        _check_bias(bias, q, k)


def check_scores(scores: Tensor, q: Tensor, k: Tensor, score: Score) -> None:
    """A score function of one's own must give one number for each query and key."""
    expected = scores_shape(q, k)
    if tuple(scores.shape) != expected:
        name = getattr(score, "__name__", type(score).__name__)
        raise ValueError(
            f"score {name} returned shape {tuple(scores.shape)}, but one number for each query and key is "
            f"{expected}: compare q (..., L, 1, D) with k (..., 1, S, D) and sum over the last axis."
        )


def scores_shape(q: Tensor, k: Tensor) -> tuple[int, ...]:
    """(B, H, L, S); keys with fewer heads are shared out, axes of size 1 are stretched."""
    lead = (max(a, b) for a, b in zip(q.shape[:-2], k.shape[:-2], strict=True))
    return (*lead, q.shape[-2], k.shape[-2])


def _check_tensors(given: dict[str, Tensor]) -> None:
    for name, x in given.items():
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name} is a {type(x).__name__}, but attention works on tensors: use "
                f"torch.as_tensor({name}, dtype=torch.float32)."
            )
        if not x.is_floating_point():
            raise TypeError(
                f"{name} has dtype {_name(x)}, but attention needs floating-point numbers: use {name}.float()."
            )
        if x.dim() < 2:
            raise ValueError(
                f"{name} has shape {tuple(x.shape)}, but attention needs at least (length, width): add an "
                f"axis with {name}[None]."
            )
    q = given["q"]
    autocast = torch.is_autocast_enabled(q.device.type)  # then torch itself makes dtypes agree
    for name, x in given.items():
        if x.device != q.device:
            raise ValueError(
                f"{name} is on {x.device} and q on {q.device}: move both to one device with {name}.to(q.device)."
            )
        if x.dtype != q.dtype and not autocast:
            raise TypeError(
                f"{name} has dtype {_name(x)} and q {_name(q)}: make them equal with {name}.to(q.dtype)."
            )
        if x.dim() != q.dim():
            raise ValueError(
                f"{name} has {x.dim()} axes, shape {tuple(x.shape)}, and q has {q.dim()}, shape "
                f"{tuple(q.shape)}: give them the same number of axes, for example with {name}[None]."
            )


def _check_shapes(q: Tensor, k: Tensor, v: Tensor | None, score: Score) -> None:
    if score is dot and q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q has width {q.shape[-1]} and k has width {k.shape[-1]}, but a dot product needs equal widths: "
            "project one of them, or use score=Bilinear(query_width, key_width)."
        )
    if v is not None and v.shape[:-1] != k.shape[:-1]:
        raise ValueError(
            f"v has shape {tuple(v.shape)} and k has shape {tuple(k.shape)}, but every key needs one value: "
            "all axes but the last must be equal."
        )
    for axis in range(-3, -q.dim() - 1, -1):
        ours, theirs = q.shape[axis], k.shape[axis]
        if ours == theirs or 1 in (ours, theirs):
            continue
        if axis == -3 and q.dim() >= 4:
            if ours % theirs:
                raise ValueError(
                    f"q has {ours} heads and k has {theirs}, but heads of k are shared out evenly: the number "
                    f"of heads of k and v must divide {ours}."
                )
        else:
            raise ValueError(
                f"q has shape {tuple(q.shape)} and k has shape {tuple(k.shape)}, which differ in axis {axis}: "
                "leading axes must be equal, or 1 in one of the two."
            )


def _check_mask(mask: Mask | Tensor, q: Tensor, k: Tensor) -> None:
    if not isinstance(mask, Mask):
        if not isinstance(mask, Tensor):
            raise TypeError(
                f"mask is a {type(mask).__name__}, but a bool tensor or a Mask from attnlab.masks is expected: "
                "use torch.as_tensor(mask, dtype=torch.bool)."
            )
        if mask.dtype != torch.bool:
            fix = (
                "add it as bias=, or use mask > -inf"
                if mask.is_floating_point()
                else "use mask.bool()"
            )
            raise TypeError(
                f"mask has dtype {_name(mask)}, but a mask is bool, True = may attend: {fix}."
            )
        _check_device("mask", mask, q)
    _check_broadcast("mask", tuple(mask.shape), scores_shape(q, k))


def _check_bias(bias: Tensor, q: Tensor, k: Tensor) -> None:
    if not isinstance(bias, Tensor):
        raise TypeError(
            f"bias is a {type(bias).__name__}, but a tensor is expected that broadcasts to the scores: use "
            "torch.as_tensor(bias)."
        )
    if bias.dtype == torch.bool:
        raise TypeError("bias has dtype bool, but it is added to the scores: pass it as mask=.")
    autocast = torch.is_autocast_enabled(q.device.type)
    if bias.dtype != q.dtype and not (autocast and bias.is_floating_point()):
        raise TypeError(
            f"bias has dtype {_name(bias)} and q {_name(q)}: make them equal with bias.to(q.dtype)."
        )
    _check_device("bias", bias, q)
    _check_broadcast("bias", tuple(bias.shape), scores_shape(q, k))


def _check_device(name: str, x: Tensor, q: Tensor) -> None:
    if x.device != q.device:
        raise ValueError(
            f"{name} is on {x.device} and q on {q.device}: move it with {name}.to(q.device)."
        )


def _check_broadcast(name: str, shape: tuple[int, ...], scores: tuple[int, ...]) -> None:
    fits = len(shape) <= len(scores) and all(
        own in (1, full) for own, full in zip(reversed(shape), reversed(scores), strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name} has shape {shape}, but the scores have shape {scores}: make the {name} broadcast to "
            "(..., queries, keys), with 1 for an axis it does not depend on."
        )


def _name(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")
