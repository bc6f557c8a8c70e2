"""Draw: fresh inputs for an exercise, of unequal, odd and degenerate sizes, with ties and extremes.

    @weights_by_hand.draws
    def queries_and_keys(draw):
        front, width = draw.front(), draw.size()
        return draw.numbers(*front, draw.size(), width), draw.numbers(*front, draw.size(), width)

The check ends with a dozen of these, and the tests use others of the same kind to tell a wrong
answer from one that is merely written differently.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

One = TypeVar("One")


class Draw:
    """One drawing, the same for the same seed whatever the global state."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.note = ""  # what is special about this input: said when an answer fails on it

    def size(self, low: int = 1, high: int = 6) -> int:
        """A size; the lowest comes up more often than the others."""
        return low if self.chance(0.2) else self.dice.randint(low, high)

    def sizes(self, count: int, low: int = 1, high: int = 7) -> list[int]:
        """Sizes that differ from each other, so that no two axes can be mistaken."""
        return self.dice.sample(range(low, high + 1), count)

    def front(self, most: int = 2) -> list[int]:
        """Leading axes: none, a batch, or a batch and more."""
        return [self.dice.randint(1, 3) for _ in range(self.dice.randint(0, most))]

    def numbers(self, *shape: int, spread: float = 1.0) -> Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float32) * spread

    def whole(self, low: int, high: int, *shape: int) -> Tensor:
        """Whole numbers from low to high - 1."""
        return torch.randint(low, high, shape, generator=self.generator)

    def mask(self, *shape: int, share: float = 0.6) -> Tensor:
        return torch.rand(*shape, generator=self.generator) < share

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def choice(self, among: Sequence[One]) -> One:
        return self.dice.choice(among)

    def say(self, note: str, value: Any) -> Any:
        """`value`, and a note on what is special about it."""
        self.note = note
        return value
