"""Masks: who may attend to whom. One sense everywhere: **True = may attend**.

B batch, H heads, L queries, S keys. A mask is a question about indices, asked as in FlexAttention:

    allowed(b, h, i, j)     batch b, head h: may query i look at key j?

Questions compose with `&`, `|` and `~`, and become a bool tensor only when `dense()` is called.
`attention(..., mask=...)` takes a `Mask` or a bool tensor.

    sliding = causal(6) & window(6, radius=2)
    sliding.dense()                             # (6, 6), bool
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Integral

import torch
from torch import Tensor

Predicate = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Mask:
    """A predicate on indices and the shape it covers: (L, S), or (B, H, L, S) with 1 for "all"."""

    allowed: Predicate
    shape: tuple[int, ...]

    def dense(self, device: torch.device | str | None = None) -> Tensor:
        """The mask as a bool tensor of shape `self.shape`."""
        sizes = _four(self.shape)
        b, h, i, j = (
            torch.arange(size, device=device).view([-1 if axis == own else 1 for axis in range(4)])
            for own, size in enumerate(sizes)
        )
        answer = self.allowed(b, h, i, j)
        if not isinstance(answer, Tensor) or answer.dtype != torch.bool:
            found = answer.dtype if isinstance(answer, Tensor) else type(answer).__name__
            raise TypeError(
                f"the mask's predicate answered with {found}, but a bool tensor is expected, True "
                "= may attend: compare indices, such as j <= i."
            )
        return answer.expand(sizes).reshape(self.shape)

    def __and__(self, other: "Mask") -> "Mask":
        return _both(self, other, torch.logical_and, "&")

    def __or__(self, other: "Mask") -> "Mask":
        return _both(self, other, torch.logical_or, "|")

    def __invert__(self) -> "Mask":
        return Mask(lambda b, h, i, j: ~self.allowed(b, h, i, j), self.shape)

    def __repr__(self) -> str:
        return f"Mask(shape={self.shape})"


def causal(L: int, S: int | None = None) -> Mask:  # noqa: N803
    """Each query sees the keys up to its own position.

    Aligned at the lower right: the last query sees the last key. With a KV cache there are more
    keys than queries, and the new queries are the last ones.
    """
    S = L if S is None else S  # noqa: N806
    check_whole(0, L=L, S=S)
    return Mask(lambda b, h, i, j: j <= i + (S - L), (L, S))


def window(L: int, radius: int, S: int | None = None) -> Mask:  # noqa: N803
    """Each query sees the keys at most `radius` positions away, on both sides (sliding window).

    Aligned at the lower right, as `causal`; `causal(L) & window(L, radius)` looks back only.
    """
    S = L if S is None else S  # noqa: N806
    check_whole(0, L=L, radius=radius, S=S)
    return Mask(lambda b, h, i, j: (i + (S - L) - j).abs() <= radius, (L, S))


def padding(lengths: Tensor | Sequence[int], S: int) -> Mask:  # noqa: N803
    """Sequence b has `lengths[b]` real keys, the rest of the S are padding. (B, 1, 1, S)."""
    check_whole(0, S=S)
    expected = "but padding expects one whole number per sequence: pass a list such as [5, 3]."
    try:
        real = torch.as_tensor(lengths)
    except (TypeError, ValueError, RuntimeError):
        kind = type(lengths).__name__
        raise ValueError(f"lengths is a {kind} that holds no numbers, {expected}") from None
    whole = not (real.is_floating_point() or real.is_complex() or real.dtype == torch.bool)
    if real.dim() != 1 or not whole:
        raise ValueError(
            f"lengths has shape {tuple(real.shape)} and dtype {real.dtype}, {expected}"
        )
    if real.numel() and may_ask(real) and (int(real.max()) > S or int(real.min()) < 0):
        raise ValueError(
            f"lengths go from {int(real.min())} to {int(real.max())}, but there are S={S} "
            "positions: every length must lie in 0…S."
        )
    return Mask(lambda b, h, i, j: j < real.to(j.device)[b], (len(real), 1, 1, S))


def real(tokens: Tensor, pad: int = 0) -> Mask:
    """The same asked of the tokens (B, S): keys that are `pad` are hidden. (B, 1, 1, S)."""
    return Mask(lambda b, h, i, j: (tokens != pad)[b, j], (len(tokens), 1, 1, tokens.shape[1]))


def shifted_window(height: int, width: int, window: int, shift: int | None = None) -> Mask:
    """Swin's mask for windows of a cyclically shifted picture (Liu et al. 2021, Figure 4).

    The picture is rolled up and left by `shift` (default: half a window), then cut into windows of
    `window × window` cells, in reading order. Windows at the lower and right border then hold cells
    that came round from the other side; those must not mix with their new neighbours.

    Shape (windows, 1, window², window²): keep the windows as an axis of their own before the heads,
    q of shape (B, windows, H, window², D), and the mask serves the whole batch.
    """
    check_whole(1, height=height, width=width, window=window)
    shift = window // 2 if shift is None else shift
    check_whole(0, shift=shift)
    if height % window or width % window:
        raise ValueError(
            f"a {height}×{width} picture does not divide into {window}×{window} windows: "
            f"pad it to multiples of {window} first."
        )
    if shift >= window:
        raise ValueError(
            f"shift is {shift}, but it must lie in 0…{window - 1} for window={window}."
        )
    across = width // window

    def came_round(b: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        row = (b // across) * window + cell // window  # in the rolled picture
        column = (b % across) * window + cell % window
        return row >= height - shift, column >= width - shift

    def allowed(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        (row_i, column_i), (row_j, column_j) = came_round(b, i), came_round(b, j)
        return (row_i == row_j) & (column_i == column_j)

    windows = (height // window) * across
    return Mask(allowed, (windows, 1, window**2, window**2))


def combine(
    mask: Mask | Tensor | None, bias: Tensor | None, causal_flag: bool, q: Tensor, k: Tensor
) -> Tensor | None:
    """All that forbids, as one bool tensor that broadcasts to (..., L, S); None if nothing does."""
    parts = []
    if mask is not None:
        parts.append(mask.dense(q.device) if isinstance(mask, Mask) else mask)
    if causal_flag:
        parts.append(causal(q.shape[-2], k.shape[-2]).dense(q.device))
    if bias is not None:
        may = bias != -torch.inf  # a bias of −∞ forbids, too
        if not surely(may):
            parts.append(may)
    return reduce(torch.logical_and, parts) if parts else None


def surely(answers: Tensor) -> bool:
    """Is it known that all are True?"""
    return may_ask(answers) and bool(answers.all())


def may_ask(numbers: Tensor) -> bool:
    """A GPU or a compiler is not asked for a number: it would wait, or cut its graph in two."""
    return numbers.device.type == "cpu" and not torch.compiler.is_compiling()


def check_whole(least: int, **numbers: int) -> None:
    """Sizes are whole numbers: say so when they are given, not when the mask is used."""
    for name, number in numbers.items():
        whole = isinstance(number, (Integral, torch.SymInt))
        if not whole or number < least:
            raise (ValueError if whole else TypeError)(
                f"{name} is {number!r}, but a whole number is expected, {least} or more."
            )


def _both(one: Mask, other: Mask, join: Callable[[Tensor, Tensor], Tensor], symbol: str) -> Mask:
    if not isinstance(other, Mask):
        raise TypeError(
            f"a Mask cannot be joined by {symbol} with a {type(other).__name__}: make the mask a "
            f"tensor first, mask.dense() {symbol} tensor."
        )
    try:
        shape = tuple(torch.broadcast_shapes(one.shape, other.shape))
    except RuntimeError:
        raise ValueError(
            f"masks of shapes {one.shape} and {other.shape} cannot be joined by {symbol}: both "
            "must cover the same queries and keys."
        ) from None
    return Mask(lambda b, h, i, j: join(_ask(one, b, h, i, j), _ask(other, b, h, i, j)), shape)


def _ask(mask: Mask, *place: Tensor) -> Tensor:
    """Ask about a position in a larger mask: an axis of size 1 is stretched, so it only knows 0."""
    own = zip(place, _four(mask.shape), strict=True)
    return mask.allowed(*(index * 0 if size == 1 else index for index, size in own))


def _four(shape: tuple[int, ...]) -> tuple[int, ...]:
    """(L, S) -> (1, 1, L, S)"""
    return (1,) * (4 - len(shape)) + shape
