"""Beam search on a tree that is known already: what `static/beam_tree.js` does, for the tests.

Held against `decoding.beam` in tests/unit, and against the page in tests/browser.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnlab.widgets.beam_tree import Node


@dataclass(frozen=True)
class Ranking:
    """One step of a search. Numbers are nodes, likeliest first."""

    kept: list[int]
    ended: list[int]
    dropped: list[int]


@dataclass(frozen=True)
class Ending:
    node: int
    total: float
    score: float


def search(
    nodes: Sequence[Node], width: int, length_penalty: float, longest: int
) -> tuple[list[Ranking], list[Ending]]:
    """The steps and the endings of `decoding.beam` on a tree that is known already."""
    below: dict[int, list[int]] = {}
    for i, node in enumerate(nodes[1:], 1):
        below.setdefault(node.parent, []).append(i)
    totals = _totals(nodes)
    rankings, endings = [], []
    for length, ranking in enumerate(rank(nodes, below, width, longest), 1):
        rankings.append(ranking)
        endings += [
            Ending(i, totals[i], totals[i] / _penalise(length, length_penalty))
            for i in ranking.ended
        ]
        if len(endings) >= width and ranking.kept:
            worst = sorted((e.score for e in endings), reverse=True)[width - 1]
            if totals[ranking.kept[0]] / _penalise(longest, length_penalty) <= worst:
                break  # no open beam can still win a place
    if not endings and rankings:  # cut off: the open beams are the best there is
        length = len(rankings)
        endings = [
            Ending(i, totals[i], totals[i] / _penalise(length, length_penalty))
            for i in rankings[-1].kept
        ]
    return rankings, sorted(endings, key=lambda e: -e.score)[:width]


def rank(
    nodes: Sequence[Node], below: dict[int, list[int]], width: int, longest: int
) -> Iterator[Ranking]:
    """The steps of a search that never stops early; `below[node]` are the words after a node."""
    beams = [0]
    for _ in range(longest):
        candidates = [child for node in beams for child in below.get(node, [])]
        if not candidates:
            return
        totals = _totals(nodes)
        candidates.sort(key=lambda i: (-totals[i], i))
        best = candidates[: 2 * width]
        ended = [i for i in best[:width] if nodes[i].ended]
        kept = [i for i in best if not nodes[i].ended][:width]
        yield Ranking(kept, ended, [i for i in best if i not in kept and i not in ended])
        beams = kept


def sentence(nodes: Sequence[Node], node: int) -> list[str]:
    """The words up to a node, without begin and end marks."""
    words: list[str] = []
    while node:
        if not nodes[node].ended:
            words.insert(0, nodes[node].word)
        node = nodes[node].parent
    return words


def _totals(nodes: Sequence[Node]) -> list[float]:
    totals: list[float] = []
    for node in nodes:
        totals.append(totals[node.parent] + node.log_p if totals else 0.0)
    return totals


def _penalise(length: int, alpha: float) -> float:
    return ((5 + length) / 6) ** alpha
