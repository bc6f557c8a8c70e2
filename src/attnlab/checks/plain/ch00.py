"""Chapter 0: its exercises answered plainly, as the chapter does; slips.py changes them."""

import torch
import torch.nn.functional as F


def my_cosines(query, table):
    """(E,) query and (V, E) table -> (V,) cosines."""
    dots = table @ query  # the query with every row
    lengths = query.norm() * table.norm(dim=-1)  # (V,)
    return dots / lengths


def my_patches(picture, size):
    """(C, H, W) -> (N, P·P·C), patches in reading order."""
    colours, height, width = picture.shape
    x = picture.reshape(colours, height // size, size, width // size, size)  # (C, H/P, P, W/P, P)
    x = x.permute(1, 3, 2, 4, 0)  # (H/P, W/P, P, P, C)
    return x.reshape(-1, size * size * colours)  # (N, P·P·C)


def my_glue(parts, pair):
    """Every pair of neighbours becomes one piece, left to right."""
    out, i = [], 0
    while i < len(parts):
        found = tuple(parts[i : i + 2]) == pair
        step = 2 if found else 1
        out.append("".join(parts[i : i + step]))
        i += step
    return out


def my_analogy(puzzles, words, table):
    """N puzzles (a, b, c), V words, (V, E) table -> N words."""
    row = {word: i for i, word in enumerate(words)}
    given = torch.tensor([[row[w] for w in puzzle] for puzzle in puzzles])
    unit = F.normalize(table, dim=-1)  # (V, E), every row of length 1
    a, b, c = unit[given].unbind(1)  # (N, 3, E) -> (N, E) each
    target = b - a + c  # (N, E)
    scores = target @ unit.T  # (N, V)
    scores = scores.scatter(1, given, -torch.inf)  # without the given words
    return [words[i] for i in scores.argmax(-1)]


def my_frames(sound, size):
    """Stereo sound (C, T) -> (T/F, F·C), one row per stretch of time."""
    x = sound.reshape(len(sound), -1, size)  # (C, N, F)
    return x.permute(1, 2, 0).flatten(1)  # (N, F·C)


def cosines_stay(change):
    """Are all cosines between words the same after the change?"""
    return change in (
        "every vector twice as long",
        "every vector scaled to length 1",
        "every sign turned",
        "the columns in another order",
        "one more column, all 0",
    )
