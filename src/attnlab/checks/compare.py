"""Are two values the same, and if not, where do they differ?"""

from __future__ import annotations

import numbers as number_types
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Loose enough for another order of summation in float32, tight enough to tell mistakes apart.
RTOL, ATOL = 1e-4, 1e-5
ROUNDING = 3e-6  # of the largest number: where such are added up, a small one is no more exact


def numbers(*shape: int, seed: int = 0, spread: float = 1.0) -> Tensor:
    """The same random normal numbers every time: float32, whatever the global state."""
    generator = torch.Generator().manual_seed(1000 + seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float32) * spread


def close(seen: Any, expected: Any) -> bool:
    """Equal up to rounding. NaN equals NaN; shapes must agree, except for a plain number."""
    if isinstance(seen, Tensor) and isinstance(expected, int | float):
        whole = kind(seen) == "int" and type(expected) is int
        expected = torch.full(seen.shape, expected if whole else float(expected))
    if isinstance(seen, Tensor) and isinstance(expected, Tensor):
        if seen.shape != expected.shape or kind(seen) != kind(expected):
            return False
        seen, expected = seen.detach().cpu(), expected.detach().cpu()
        if kind(seen) != "float":
            return torch.equal(seen, expected)
        seen, expected = seen.double(), expected.double()
        finite = expected[expected.isfinite()]
        least = max(ATOL, ROUNDING * float(finite.abs().max()) if finite.numel() else 0.0)
        return torch.allclose(seen, expected, RTOL, least, equal_nan=True)
    if isinstance(seen, list | tuple) and isinstance(expected, list | tuple):
        return len(seen) == len(expected) and all(map(close, seen, expected))
    if is_number(seen) and is_number(expected):
        return abs(float(seen) - float(expected)) <= ATOL + RTOL * abs(float(expected))
    if type(seen) is not type(expected):
        return False
    return bool(
        np.array_equal(seen, expected) if isinstance(seen, np.ndarray) else seen == expected
    )


def kind(value: Tensor) -> str:
    if value.dtype == torch.bool:
        return "bool"
    return "float" if value.is_floating_point() else "complex" if value.is_complex() else "int"


def is_number(value: Any) -> bool:
    """A plain number, or one that torch or NumPy wrapped; True and False are not numbers."""
    if isinstance(value, Tensor):
        return value.numel() == 1 and kind(value) != "bool"
    return isinstance(value, number_types.Real) and not isinstance(value, bool)


def difference(seen: Any, expected: Any) -> str:
    """Where two values differ most, in words: "at [1, 3] there is 0.12, expected 0.31"."""
    if isinstance(seen, list | tuple) and isinstance(expected, list | tuple):
        count = len(expected)
        for n, (one, other) in enumerate(zip(seen, expected, strict=False), start=1):
            if not close(one, other) and not isinstance(other, str | int | float):
                return f"in result {n} of {count}, {difference(one, other)}"
    if not isinstance(seen, Tensor) or not isinstance(expected, Tensor):
        return f"there is {show(seen)}, expected {show(expected)}"
    if seen.shape != expected.shape:
        return f"the shape is {tuple(seen.shape)}, expected {tuple(expected.shape)}"
    gap = (seen.detach().double() - expected.detach().double()).abs().nan_to_num(torch.inf)
    flat = int(gap.flatten().argmax())
    place = [int(i) for i in np.unravel_index(flat, tuple(gap.shape))]
    a, b = seen.flatten()[flat], expected.flatten()[flat]
    if show(a) == show(b):  # close, but not close enough: more digits
        return f"at {place} there is {a.item():.7g}, expected {b.item():.7g}"
    return f"at {place} there is {show(a)}, expected {show(b)}"


def apart(seen: Any, expected: Any, digits: int = 3) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to tell them apart.

    From a tensor, it is the number furthest from what it should be.
    """
    a, b = (torch.as_tensor(x).detach().double() for x in (seen, expected))
    a, b = (x.flatten() for x in torch.broadcast_tensors(a, b))
    worst = int((a - b).abs().nan_to_num(torch.inf).argmax())
    one, other = a[worst].item(), b[worst].item()
    more = range(digits, 8) if not close(one, other) else range(digits, digits + 1)
    for n in more:
        said = f"{one:.{n}f}", f"{other:.{n}f}"
        if said[0] != said[1]:
            break
    return said


def unlike(seen: Any, expected: Any, digits: int = 3) -> str:
    """The number that is furthest from what it should be, with enough digits to see it."""
    return apart(seen, expected, digits)[0]


def show(value: Any) -> str:
    """A value short enough for a sentence."""
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if isinstance(value, float):
        return f"{value:.3g}" if value and abs(value) < 0.001 else f"{value:.3f}"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


def a_kind_of(value: Any) -> str:
    """What a learner would call this value: "a NumPy array of shape (3, 5)"."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if type(value).__module__ == "numpy":
        return f"a NumPy array of shape {tuple(value.shape)}" if value.shape else "a NumPy number"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    if is_number(value):
        return "a number"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
