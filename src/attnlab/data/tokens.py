"""Tokens: chop anything into chunks, then project each chunk to a vector.

    pieces(text, merges)      text  -> subwords (byte-pair encoding, Sennrich et al. 2016)
    patches(picture, size)    picture -> squares, one flat row of numbers each (ViT, chapter 8)
    frames(sound, length)     sound -> stretches of equal length

After that a Transformer no longer knows what it reads: every input is a table (L, E).
N tokens, H × W pixels, C colours, P patch size, T samples, F samples per frame.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

Merge = tuple[str, str]
START = "▁"  # marks the beginning of a word, so that spaces can be put back


def learn_merges(text: str, count: int) -> list[Merge]:
    """The `count` merges of byte-pair encoding: again and again, the most common pair is glued.

    Ties are broken by the alphabet, so that every machine learns the same merges.
    """
    words = Counter(tuple(START + word) for word in text.split())
    merges: list[Merge] = []
    while len(merges) < count:
        pairs: Counter[Merge] = Counter()
        for word, times in words.items():
            for pair in pairwise(word):
                pairs[pair] += times
        if not pairs:
            break  # every word is one piece already
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        glued: Counter[tuple[str, ...]] = Counter()
        for word, times in words.items():
            glued[tuple(_glue(word, best))] += times
        words = glued
    return merges


def pieces(text: str, merges: Sequence[Merge]) -> list[str]:
    """Cut a text into subwords: letters first, then every merge in the order it was learned."""
    found: list[str] = []
    for word in text.split():
        parts: Sequence[str] = list(START + word)
        for merge in merges:
            parts = _glue(parts, merge)
        found.extend(parts)
    return found


def _glue(parts: Sequence[str], merge: Merge) -> list[str]:
    """Glue every neighbouring pair that equals `merge`, from left to right."""
    glued: list[str] = []
    for part in parts:
        if glued and (glued[-1], part) == merge:
            glued[-1] += part
        else:
            glued.append(part)
    return glued


def patches(picture: Tensor, size: int) -> Tensor:
    """Cut a picture into squares: (C, H, W) -> (N, P·P·C), row by row, in reading order."""
    if picture.dim() != 3:
        raise ValueError(
            f"the picture has shape {tuple(picture.shape)}, but (colours, height, width) is "
            "expected: add a missing colour axis with [None]."
        )
    _, height, width = picture.shape
    if size < 1 or height % size or width % size:
        raise ValueError(
            f"a picture of {height} × {width} pixels cannot be cut into squares of {size}: choose "
            "a size that divides both."
        )
    squares = picture.unfold(1, size, size).unfold(2, size, size)  # (C, H/P, W/P, P, P)
    return squares.permute(1, 2, 3, 4, 0).reshape(-1, size * size * picture.shape[0])


def frames(sound: Tensor, length: int) -> Tensor:
    """Cut a sound into stretches: (T,) -> (N, F). What is left over at the end is dropped."""
    if sound.dim() != 1 or not 1 <= length <= len(sound):
        raise ValueError(
            f"a sound of shape {tuple(sound.shape)} cannot be cut into frames of {length}: give "
            "samples (T,) and a length from 1 to T."
        )
    return sound.unfold(0, length, length)


def tune(seconds: float = 1.0, rate: int = 2000) -> Tensor:
    """A sound to chop: three notes that fade, (T,). C, E, G an octave low, so that waves show."""
    time = torch.arange(int(seconds * rate)) / rate
    note = (time / seconds * 3).floor().clamp(max=2).long()
    pitch = torch.tensor([65.4, 82.4, 98.0])[note]
    fade = torch.exp(-4 * (time / seconds * 3 - note))
    return torch.sin(2 * torch.pi * pitch * time) * fade


def landscape(high: int = 64, wide: int | None = None) -> Tensor:
    """A picture to chop: a sun, a sky, a hill, a house, (3, high, wide), numbers in 0…1.

    It is square, unless `wide` is given: then everything in it is stretched to that width.
    """
    y, x = torch.meshgrid(
        torch.linspace(0, 1, high), torch.linspace(0, 1, wide or high), indexing="ij"
    )  # (high, wide)

    def paint(picture: Tensor, where: Tensor, colour: tuple[float, float, float]) -> Tensor:
        return torch.where(where, torch.tensor(colour)[:, None, None], picture)

    top, low = torch.tensor([0.35, 0.62, 0.92]), torch.tensor([0.93, 0.90, 0.80])
    picture = top[:, None, None] * (1 - y) + low[:, None, None] * y  # the sky
    picture = paint(picture, (x - 0.78) ** 2 + (y - 0.2) ** 2 < 0.012, (1.0, 0.83, 0.25))
    picture = paint(picture, y > 0.68 - 0.12 * torch.sin(3.2 * x + 0.4), (0.25, 0.52, 0.28))
    picture = paint(picture, ((x - 0.32).abs() < 0.14) & ((y - 0.6).abs() < 0.12), (0.86, 0.5, 0.4))
    roof = (y > 0.3) & (y < 0.48) & ((x - 0.32).abs() < (y - 0.3))
    picture = paint(picture, roof, (0.5, 0.22, 0.2))
    door = ((x - 0.32).abs() < 0.035) & (y > 0.58) & (y < 0.72)
    return paint(picture, door, (0.25, 0.16, 0.14))
