"""Look at what came back: is it a tensor, of this shape and dtype, with numbers in it?"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attnlab.checks.compare import a_kind_of, is_number
from attnlab.checks.explain import Mistake


def look_at_tensor(
    seen: Any, shape: tuple[int, ...], dtype: torch.dtype, *, given: str, wanted: str, name: str
) -> None:
    """Raise a Mistake unless `seen` is a tensor of this shape and dtype."""
    if not isinstance(seen, Tensor):
        raise Mistake(f"`{name}` returned {a_kind_of(seen)}, {wanted}.")
    if tuple(seen.shape) != shape:
        raise Mistake(
            f"With {given}, the result has shape {tuple(seen.shape)}, not {shape}; {wanted}.",
            about_shapes(tuple(seen.shape), shape),
        )
    if seen.dtype != dtype and not _as_good(seen.dtype, dtype):
        short, long = (str(d).removeprefix("torch.") for d in (seen.dtype, dtype))
        raise Mistake(f"The result holds {short} values, expected {long}.")


SWAPPED = "The last two axes are swapped."
ONES = "An axis of size 1 is too many or missing."


def about_shapes(seen: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """What one shape tells; cause.py asks other inputs whether they agree."""
    if len(seen) > 1 and seen[:-2] + seen[:-3:-1] == shape:
        return SWAPPED
    if [n for n in seen if n != 1] == [n for n in shape if n != 1]:
        return ONES
    return ""


def _as_good(seen: torch.dtype, dtype: torch.dtype) -> bool:
    """More digits than asked for are not a mistake, and whole numbers are whole numbers."""
    whole = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    return (seen is torch.float64 and dtype is torch.float32) or (seen in whole and dtype in whole)


def look_for_nan(seen: Tensor, given: str) -> None:
    bad = int((~seen.isfinite()).sum())
    if bad:
        word = "nan" if bool(seen.isnan().any()) else "inf"
        raise Mistake(
            f"With {given}, {bad} of {seen.numel()} numbers in the result are {word}.",
            likely="0/0 and inf − inf give nan; `exp` of anything above 88 is inf in float32.",
        )


def two_matrices(
    seen: Any, call: str, rows: int, *, given: str, likely: str
) -> tuple[Tensor, Tensor]:
    """w_q and w_k as float32, if `seen` is two matrices of shape (rows, D) that fit together."""
    if not isinstance(seen, tuple | list) or len(seen) != 2:
        raise Mistake(
            f"`{call}` returned {a_kind_of(seen)}, expected two matrices.",
            likely="End with `return w_q, w_k`.",
        )
    for name, w in zip(("w_q", "w_k"), seen, strict=True):
        if not isinstance(w, Tensor):
            raise Mistake(
                f"`{name}` is {a_kind_of(w)}, expected a tensor of shape ({rows}, D).",
                likely="Use `torch.tensor`.",
            )
        if w.ndim != 2 or w.shape[0] != rows or w.shape[1] == 0:
            raise Mistake(
                f"`{name}` has shape {tuple(w.shape)}, expected ({rows}, D).", likely=likely
            )
        if not w.is_floating_point():
            raise Mistake(
                f"`{name}` holds {str(w.dtype).removeprefix('torch.')} values, expected float.",
                likely="Write 1.0 instead of 1.",
            )
        look_for_nan(w, given)
    w_q, w_k = (w.detach().float() for w in seen)
    if w_q.shape != w_k.shape:
        raise Mistake(
            f"`w_q` has shape {tuple(w_q.shape)} and `w_k` {tuple(w_k.shape)}, expected the same "
            "D for both.",
            likely="A query and a key meet in a dot product, so they are equally wide.",
        )
    return w_q, w_k


def bottomless(value: Any, depth: int = 0) -> bool:
    """Lists in lists in lists …, without end."""
    if depth > 20:
        return True
    return isinstance(value, list | tuple) and any(bottomless(v, depth + 1) for v in value)


def alike(seen: Any, expected: Any) -> bool:
    if is_number(expected):
        return is_number(seen)
    if isinstance(expected, list | tuple):
        return isinstance(seen, list | tuple) and len(seen) == len(expected)
    return isinstance(seen, type(expected))
