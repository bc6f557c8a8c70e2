"""What every live figure must show, computed a second time in Python.

`tests/browser/figures/KIND.py` holds all that the tests know of one kind of figure:

    twin(state, numbers)   the numbers the page must show, from the figure's state (its traits, as
                           the page holds them now); by attnlab and torch, not by a translation of
                           the JavaScript. `numbers` is what the page says, for what may be drawn
                           in several right ways.
    examples()             some figures of this kind, with unequal sizes, so a transposition shows
    rogue(words)           one that shows unfriendly words wherever words go
    move(live)             what a reader does first; only where that is not to pull a slider
    lecture()              what a lecturer would show; only where that is not the first example
"""

import importlib
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

TOLERANCE = 1e-4
WORDS = ["the", "bank", "of", "the", "river", "was", "steep"]


@cache
def kinds() -> dict[str, ModuleType]:
    """Every kind of live figure that has a twin, by name."""
    names = sorted(path.stem for path in (Path(__file__).parent / "figures").glob("*.py"))
    return {name: importlib.import_module(f"tests.browser.figures.{name}") for name in names}


def compare(kind: str, state: dict[str, Any], numbers: dict[str, Any]) -> None:
    """Fail where the page and Python differ by more than 1e-4. Every number must be compared."""
    if kind not in kinds():
        raise AssertionError(f"the live figure {kind!r} has no twin in tests/browser/figures/")
    expected = kinds()[kind].twin(state, numbers)
    unheld = set(numbers) - set(expected)
    assert not unheld, f"{kind}: nobody computes {sorted(unheld)} in Python"
    for name, value in expected.items():
        assert name in numbers, f"{kind} does not show {name}"
        _equal(f"{kind}.{name}", numbers[name], value)


def _equal(where: str, shown: Any, expected: Any) -> None:
    if isinstance(expected, Mapping):
        assert set(shown) == set(expected), f"{where}: {sorted(shown)} != {sorted(expected)}"
        for key, value in expected.items():
            _equal(f"{where}.{key}", shown[key], value)
    elif isinstance(expected, str | bool) or (isinstance(expected, list) and _words(expected)):
        assert shown == expected, f"{where}: the page has {shown!r}, Python {expected!r}"
    else:
        np.testing.assert_allclose(
            np.asarray(shown, dtype=float),
            np.asarray(expected, dtype=float),
            rtol=TOLERANCE,
            atol=TOLERANCE,
            err_msg=f"{where}: the page (first) and Python differ",
        )


def _words(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """Bits, along the last axis."""
    return torch.special.entr(weights).sum(-1) / math.log(2)


def random(*shape: int) -> torch.Tensor:
    """The same normal numbers every time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))
