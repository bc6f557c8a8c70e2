"""Chapter 0: the mistakes we know, each as the words a learner reads and the wrong answer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.checks.exercise import Suspects, again

Pair = tuple[str, str]
Puzzle = tuple[str, str, str]

# 00.3 my_glue(parts, pair)


def glue(parts: Sequence[str], pair: Pair) -> list[str]:
    """Every pair of neighbours becomes one piece, from left to right."""
    out, i = [], 0
    while i < len(parts):
        step = 2 if tuple(parts[i : i + 2]) == pair else 1
        out.append("".join(parts[i : i + step]))
        i += step
    return out


def _fits(parts: Sequence[str], i: int, pair: Pair) -> bool:
    return i + 1 < len(parts) and (parts[i], parts[i + 1]) == pair


def _both_and_the_second(parts: Sequence[str], pair: Pair) -> list[str]:
    return [p + pair[1] if _fits(parts, i, pair) else p for i, p in enumerate(parts)]


def _overlapping(parts: Sequence[str], pair: Pair) -> list[str]:
    glued = [i for i in range(len(parts)) if _fits(parts, i, pair)]
    seconds = {i + 1 for i in glued} - set(glued)
    return [p + pair[1] if i in glued else p for i, p in enumerate(parts) if i not in seconds]


def _from_the_right(parts: Sequence[str], pair: Pair) -> list[str]:
    turned = glue([p[::-1] for p in reversed(parts)], (pair[1][::-1], pair[0][::-1]))
    return [p[::-1] for p in reversed(turned)]


def _first_only(parts: Sequence[str], pair: Pair) -> list[str]:
    for i in range(len(parts)):
        if _fits(parts, i, pair):
            return [*parts[:i], "".join(pair), *parts[i + 2 :]]
    return list(parts)


def _chains(parts: Sequence[str], pair: Pair) -> list[str]:
    out: list[str] = []
    for i, part in enumerate(parts):
        if i and _fits(parts, i - 1, pair):
            out[-1] += part
        else:
            out.append(part)
    return out


def _by_letters(parts: Sequence[str], pair: Pair) -> list[str]:
    out: list[str] = []
    for part in parts:
        if out and out[-1] + part == pair[0] + pair[1]:
            out[-1] += part
        else:
            out.append(part)
    return out


def _in_the_text(parts: Sequence[str], pair: Pair) -> list[str]:
    return " ".join(parts).replace(" ".join(pair), "".join(pair)).split()


def _either_order(parts: Sequence[str], pair: Pair) -> list[str]:
    out, i = [], 0
    while i < len(parts):
        step = 2 if sorted(parts[i : i + 2]) == sorted(pair) else 1
        out.append("".join(parts[i : i + step]))
        i += step
    return out


def _drops_the_last(parts: Sequence[str], pair: Pair) -> list[str]:
    out, i = [], 0
    while i + 1 < len(parts):
        step = 2 if _fits(parts, i, pair) else 1
        out.append("".join(parts[i : i + step]))
        i += step
    return out


GLUE: Suspects = [
    (
        "The second piece of a glued pair is still there. It is used up: go on after it, two "
        "places further.",
        _both_and_the_second,
    ),
    (
        "Pairs overlap here: in a a a the middle a was glued to both sides. Every piece is used "
        "once, so the result is aa a.",
        _overlapping,
    ),
    ("In a a a the last two were glued. Read from left to right: aa a.", _from_the_right),
    ("Only the first pair is glued. Go on after it: glue every one.", _first_only),
    (
        "A piece that had just been glued was glued again: a a a became aaa. One pass only: aa "
        "and a are another pair.",
        _chains,
    ),
    (
        "You compare the letters of both pieces together. (a, bc) and (ab, c) spell the same and "
        "are different pairs: compare piece by piece.",
        _by_letters,
    ),
    (
        "Replacing in a text cuts through pieces: in `xa b` it finds `a b`. Compare whole pieces.",
        _in_the_text,
    ),
    ("The two are glued in either order. (a, b) is not (b, a).", _either_order),
    ("The last piece is lost when it belongs to no pair.", _drops_the_last),
    (
        "This is one text. Return a list of pieces: the borders between the others stay.",
        lambda parts, pair: "".join(parts),
    ),
]


# 00.4 my_analogy(puzzles, words, table)


def _given(puzzles: Sequence[Puzzle], words: Sequence[str]) -> Tensor:
    """(N, 3): the rows of a, b and c."""
    return torch.tensor([[words.index(word) for word in puzzle] for puzzle in puzzles])


def _scores(given: Tensor, table: Tensor) -> Tensor:
    """(N, V): the cosines of all words with b − a + c, rows of length 1 throughout."""
    unit = F.normalize(table, dim=-1)
    a, b, c = unit[given].unbind(1)
    return F.normalize(b - a + c, dim=-1) @ unit.T


def _named(scores: Tensor, words: Sequence[str]) -> list[str]:
    return [words[i] for i in scores.argmax(-1).tolist()]


def analogy(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    return _named(_scores(given, table).scatter(1, given, -torch.inf), words)


def _keeps_all(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    return _named(_scores(_given(puzzles, words), table), words)


def _keeps_two(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    return _named(_scores(given, table).scatter(1, given[:, 2:], -torch.inf), words)


def _keeps_c(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    return _named(_scores(given, table).scatter(1, given[:, :2], -torch.inf), words)


def _out_everywhere(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    return _named(_scores(given, table).index_fill(1, given.flatten(), -torch.inf), words)


def _out_of_the_first(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    return _named(_scores(given, table).index_fill(1, given[0], -torch.inf), words)


def _out_of_the_list(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    """The same with lists: where no word is left, `max` raises."""
    given = _given(puzzles, words)
    left = [i for i in range(len(words)) if i not in set(given.flatten().tolist())]
    scores = _scores(given, table).tolist()
    return [words[max(left, key=row.__getitem__)] for row in scores]


def _at_zero(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    return _named(_scores(given, table).scatter(1, given, 0.0), words)


def _backwards(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    return analogy([(b, a, c) for a, b, c in puzzles], words, table)


def _without_c(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given, unit = _given(puzzles, words), F.normalize(table, dim=-1)
    a, b, _ = unit[given].unbind(1)
    return _named(((b - a) @ unit.T).scatter(1, given, -torch.inf), words)


def _long_rows(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    a, b, c = table[given].unbind(1)
    return _named(((b - a + c) @ table.T).scatter(1, given, -torch.inf), words)


def _long_words(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    a, b, c = F.normalize(table, dim=-1)[given].unbind(1)
    return _named(((b - a + c) @ table.T).scatter(1, given, -torch.inf), words)


def _long_steps(puzzles: Sequence[Puzzle], words: Sequence[str], table: Tensor) -> list[str]:
    given = _given(puzzles, words)
    a, b, c = table[given].unbind(1)
    scores = (b - a + c) @ F.normalize(table, dim=-1).T
    return _named(scores.scatter(1, given, -torch.inf), words)


ANALOGY: Suspects = [
    (
        "A given word has won. Leave the three out: set their scores to −inf before you take the "
        "largest.",
        _keeps_all,
    ),
    ("Only c is left out. The other two are given as well.", _keeps_two),
    ("c is not left out. All three are given words.", _keeps_c),
    (
        "You left out the words of all puzzles. A word that is given in one may be the answer of "
        "another: each row of the scores leaves out its own three.",
        _out_everywhere,
    ),
    (
        "The words of the first puzzle are left out of all rows. Each row of the scores leaves out "
        "its own three.",
        _out_of_the_first,
    ),
    (
        "A given word has score 0 here, and where all others are negative, 0 wins. Set it to "
        "−inf, not to 0.",
        _at_zero,
    ),
    ("This goes from b to a. The step goes from a to b: b − a + c.", _backwards),
    ("This is the step b − a alone. It has to be taken from somewhere: + c.", _without_c),
    (
        "Long rows win here: it is a dot product of rows as long as they came. Scale every row to "
        "length 1 first.",
        _long_rows,
    ),
    (
        "b − a + c is made of rows as long as they came. Scale every row to length 1 first, then "
        "add.",
        _long_steps,
    ),
    (
        "These are numbers of rows. Look up the words: `words[i]`.",
        lambda puzzles, words, table: [words.index(w) for w in analogy(puzzles, words, table)],
    ),
]
ANALOGY = again(ANALOGY, "leaves out its own three", _out_of_the_list)
ANALOGY = again(ANALOGY, "Long rows win here", _long_words)


# 00.5 my_frames(sound, size)


def stretches(sound: Tensor, size: int) -> Tensor:
    """(C, T) -> (T/F, F·C): moment by moment, and for each moment all channels."""
    return sound.unfold(1, size, size).permute(1, 2, 0).flatten(1)


def _combed(sound: Tensor, size: int) -> Tensor:
    """(C, F, N): every N-th sample."""
    return sound.reshape(len(sound), size, -1)


STRETCHES: Suspects = [
    (
        "The bug is still there: row n holds every N-th sample, from all over the sound. Samples "
        "that follow one another must lie along the last axis: split T into (N, F), not (F, N).",
        lambda sound, size: _combed(sound, size).permute(2, 1, 0).flatten(1),
    ),
    (
        "A reshape alone does not move the channels: your rows hold stretches of one channel after "
        "the other. Split the time first, then move the axes.",
        lambda sound, size: sound.reshape(-1, size * len(sound)),
    ),
    (
        "The stretches are right, but inside a row one channel comes after the other. Put the "
        "channels last, so that a moment is together.",
        lambda sound, size: sound.unfold(1, size, size).transpose(0, 1).flatten(1),
    ),
    (
        "Row and place have changed places: these rows hold the first samples of all stretches, "
        "then the second ones.",
        lambda sound, size: (
            sound.unfold(1, size, size).permute(2, 1, 0).reshape(-1, size * len(sound))
        ),
    ),
    (
        "The samples of a row run backwards in time.",
        lambda sound, size: sound.unfold(1, size, size).flip(2).permute(1, 2, 0).flatten(1),
    ),
    (
        "The stretches come in reverse order.",
        lambda sound, size: stretches(sound, size).flip(0),
    ),
]
