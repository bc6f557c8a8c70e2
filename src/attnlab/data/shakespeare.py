"""Tiny Shakespeare: 1.1 million characters of plays, carried by the course, letter by letter.

    letters = vocabulary()
    for tokens in windows("train", length=64, size=16, seed=0): ...     # (16, 65), endless
    tokens = held_out(length=64)                                        # always the same

The selection is Andrej Karpathy's; the text is in the public domain. The last tenth is held out.
"""

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

from attnlab import assets
from attnlab.data.sequences import Vocabulary

NAME = "data/shakespeare.txt"
HELD_OUT = 0.1


@cache
def text() -> str:
    return assets.find(NAME).read_text(encoding="utf-8")


@cache
def vocabulary() -> Vocabulary:
    """Its 65 characters, after the four special marks that every vocabulary begins with."""
    return Vocabulary(sorted(set(text())))


@cache
def _numbers(split: str) -> Tensor:
    if split not in ("train", "valid"):
        raise ValueError(f"split is {split!r}, but the text has 'train' and 'valid'.")
    numbers = torch.tensor(vocabulary().encode(text()))
    cut = int(len(numbers) * (1 - HELD_OUT))
    return numbers[:cut] if split == "train" else numbers[cut:]


def windows(split: str = "train", *, length: int, size: int, seed: int = 0) -> Iterator[Tensor]:
    """Endless batches of stretches of the text: (size, length + 1), one more to predict."""
    numbers, generator = _numbers(split), torch.Generator().manual_seed(seed)
    if not 1 <= length < len(numbers) or size < 1:
        raise ValueError(
            f"{size} stretches of length {length} were asked for, but size must be 1 or more and "
            f"length 1…{len(numbers) - 1}."
        )
    while True:
        starts = torch.randint(len(numbers) - length, (size, 1), generator=generator)
        yield numbers[starts + torch.arange(length + 1)]


def held_out(length: int, count: int = 64) -> Tensor:
    """`count` stretches spread evenly over the held-out tenth: (count, length + 1)."""
    numbers = _numbers("valid")
    starts = torch.linspace(0, len(numbers) - length - 1, count).long()[:, None]
    return numbers[starts + torch.arange(length + 1)]
