"""Texts whose answers are in the text itself, and nowhere else.

    repeats   random tokens, the same ones over again: whoever finds the last time can continue
    codes     examples of a secret code, letter then digit: whoever finds the letter can answer

Nothing can be learned by heart: every text has tokens or a code of its own.

B batch, L length.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

WORDS = 32  # different tokens of `repeats`
LETTERS = DIGITS = 6  # of `codes`: 6⁶ = 46,656 codes
SHOTS = 12


def repeats(
    *, size: int = 32, length: int = 40, seed: int = 0, shortest: int = 8, longest: int = 20
) -> Iterator[tuple[Tensor, int]]:
    """Endless batches (size, length) with their period. No token comes twice within a period.

    The period differs from batch to batch, so that counting positions does not help.
    """
    generator = torch.Generator().manual_seed(seed)
    while True:
        period = int(torch.randint(shortest, longest + 1, (), generator=generator))
        block = torch.rand(size, WORDS, generator=generator).argsort(dim=-1)[:, :period]
        yield block.repeat(1, -(-length // period))[:, :length], period


def induction_scores(maps: Tensor, period: int) -> Tensor:
    """How much each head weighs the token *after* the last time: (N, B, H, L, L) -> (N, H).

    Token i was last seen at i − period, so what followed it then is at i − period + 1.
    """
    now = torch.arange(period, maps.shape[-1])
    return maps[..., now, now - period + 1].mean(dim=(1, -1))


def previous_scores(maps: Tensor) -> Tensor:
    """How much each head weighs the token just before: (N, B, H, L, L) -> (N, H)."""
    now = torch.arange(1, maps.shape[-1])
    return maps[..., now, now - 1].mean(dim=(1, -1))


def held_out(codes: Tensor) -> Tensor:
    """Which codes (B, LETTERS) are never trained on: about one in ten, by a sum that means
    nothing."""
    return (codes * torch.tensor([1, 3, 5, 7, 11, 13])).sum(dim=-1) % 10 == 0


def codes(
    *, size: int = 64, unseen: bool = False, shots: int = SHOTS, seed: int = 0
) -> Iterator[Tensor]:
    """Endless batches (size, 2 · shots + 2): letter, digit, letter, digit … by one code per row.

    Letters are 1 … LETTERS, digits follow them. `unseen`: only codes that are held out.
    """
    generator = torch.Generator().manual_seed(seed)
    while True:
        drawn = torch.randint(DIGITS, (30 * size, LETTERS), generator=generator)
        code = drawn[held_out(drawn) == unseen][:size]  # (size, LETTERS)
        letters = torch.randint(LETTERS, (size, shots + 1), generator=generator)
        digits = code.gather(1, letters)
        yield torch.stack([letters + 1, digits + 1 + LETTERS], dim=-1).flatten(1)
