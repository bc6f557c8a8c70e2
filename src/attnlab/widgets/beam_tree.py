"""Beam search as a tree: what is kept, what is dropped, and which ending wins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Float, Int, List, validate

from attnlab.widgets.base import FigureError, LiveFigure, Words, bundle, stylesheet

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    from attnlab.data.sequences import Vocabulary
    from attnlab.decoding import State, Step

WIDEST = 6  # beams that can still be told apart
END = "■"


@dataclass(frozen=True)
class Node:
    """A word after other words. The first node of a tree is the begin mark, its own parent."""

    parent: int
    word: str
    log_p: float  # given all words before it
    ended: bool = False


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


class BeamTree(LiveFigure):
    """Drag the width and the length penalty, and go through the search step by step.

    Node i continues node `parents[i]` with `words[i]`, at the price `log_probabilities[i]`; node 0
    is the begin mark. Make one from a table or from a model:

    BeamTree.from_table({(): {"a": 0.6, "b": 0.4}, ("a",): {"■": 0.5, "b": 0.5}, …}, width=2)
    BeamTree.from_model(translator.model.step, state, translator.target, width=3)
    """

    figure = "beam_tree"
    _esm, _css = bundle("beam_tree"), stylesheet("beam_tree")
    made = ("words", "parents", "log_probabilities", "ended", "longest")

    words = Words()
    parents = List(Int()).tag(sync=True)
    log_probabilities = List(Float()).tag(sync=True)
    ended = List(Bool()).tag(sync=True)
    longest = Int(0).tag(sync=True)  # words in a sentence, the end mark counted
    widest = Int(5).tag(sync=True)
    width = Int(2).tag(sync=True)
    length_penalty = Float(0.0).tag(sync=True)
    shown = Int(0).tag(sync=True)  # steps of the search that are drawn

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        width: int = 2,
        widest: int = 5,
        shown: int | None = None,
        **traits: Any,
    ):
        _check(nodes)
        depths: list[int] = []
        for node in nodes:
            depths.append(depths[node.parent] + 1 if depths else 0)
        super().__init__(
            words=[node.word for node in nodes],
            parents=[node.parent for node in nodes],
            log_probabilities=[float(node.log_p) for node in nodes],
            ended=[node.ended for node in nodes],
            longest=max(depths),
            widest=widest,
            **{
                "alt": "A tree of unfinished sentences that grows to the right, one word a step. "
                "The likeliest ones are kept, the others dropped. Sliders change how many are "
                "kept and how length counts; below, the finished sentences by score.",
                **traits,
            },
        )
        self.width = width
        self.shown = max(depths) if shown is None else shown

    @classmethod
    def from_table(
        cls, table: Mapping[tuple[str, ...], Mapping[str, float]], **traits: Any
    ) -> BeamTree:
        """From the probabilities of the next word after every beginning; "■" is the end mark."""
        nodes = [Node(0, "", 0.0)]
        places: dict[tuple[str, ...], int] = {(): 0}
        for before in sorted(table, key=len):
            if before not in places:
                raise FigureError(f"the table continues {before}, but nothing leads there.")
            for word, p in table[before].items():
                if not 0 < p <= 1:
                    raise FigureError(
                        f"p({word!r} | {before}) is {p}: it must be above 0 and at most 1."
                    )
                places[*before, word] = len(nodes)
                nodes.append(Node(places[before], word, math.log(p), word == END))
        return cls(nodes, **traits)

    @classmethod
    def from_model(
        cls,
        step: Step,
        state: State,
        vocabulary: Vocabulary,
        *,
        longest: int,
        widest: int = 4,
        **traits: Any,
    ) -> BeamTree:
        """From a model that `attnlab.decoding` can drive, and the state of one sentence.

        Only what a search of width 1 … `widest` looks at is asked of the model, and kept.
        """
        import torch

        from attnlab.data.sequences import BOS, EOS

        nodes, states = [Node(0, "", 0.0)], [state]
        tokens, children = [BOS], dict[int, list[int]]()

        def grow(node: int) -> list[int]:
            if node not in children:
                with torch.no_grad():
                    logits, after = step(states[node], torch.tensor([tokens[node]]))
                best = logits[0].log_softmax(-1).topk(min(2 * widest, logits.shape[-1]))
                children[node] = []
                for log_p, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                    if log_p == -math.inf:
                        continue
                    children[node].append(len(nodes))
                    word = END if token == EOS else vocabulary.words[token]
                    nodes.append(Node(node, word, log_p, token == EOS))
                    states.append(after)
                    tokens.append(token)
            return children[node]

        used = {0}
        for width in range(1, widest + 1):
            for ranking in rank(nodes, grow, width, longest):
                used |= {*ranking.kept, *ranking.ended, *ranking.dropped}
        place = {old: new for new, old in enumerate(sorted(used))}
        small = [
            Node(place[nodes[i].parent], nodes[i].word, nodes[i].log_p, nodes[i].ended)
            for i in sorted(used)
        ]
        return cls(small, widest=widest, **traits)

    def nodes(self) -> list[Node]:
        return [
            Node(*row)
            for row in zip(
                self.parents, self.words, self.log_probabilities, self.ended, strict=True
            )
        ]

    @validate("widest")
    def _some_widest(self, proposal: Any) -> int:
        if not 1 <= proposal["value"] <= WIDEST:
            raise FigureError(f"widest is {proposal['value']}: the figure draws 1 to {WIDEST}.")
        return int(proposal["value"])

    @validate("width")
    def _some_width(self, proposal: Any) -> int:
        if not 1 <= proposal["value"] <= self.widest:
            raise FigureError(
                f"width is {proposal['value']}: this tree was made for 1 to {self.widest} beams."
            )
        return int(proposal["value"])

    @validate("shown")
    def _some_steps(self, proposal: Any) -> int:
        if proposal["value"] < 0:  # the page clips to the last step
            raise FigureError(f"shown is {proposal['value']}: give a count of steps, 0 or more.")
        return int(proposal["value"])

    @validate("length_penalty")
    def _penalty(self, proposal: Any) -> float:
        if not 0 <= proposal["value"] <= 2:
            raise FigureError(
                f"length_penalty is {proposal['value']}: the slider goes from 0 to 2."
            )
        return float(proposal["value"])


def search(
    nodes: Sequence[Node], width: int, length_penalty: float, longest: int
) -> tuple[list[Ranking], list[Ending]]:
    """The steps and the endings of `decoding.beam` on a tree that is known already."""
    below: dict[int, list[int]] = {}
    for i, node in enumerate(nodes[1:], 1):
        below.setdefault(node.parent, []).append(i)
    totals = _totals(nodes)
    rankings, endings = [], []
    for length, ranking in enumerate(
        rank(nodes, lambda node: below.get(node, []), width, longest), 1
    ):
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


def rank(nodes: Sequence[Node], grow: Any, width: int, longest: int) -> Any:
    """The steps of a search that never stops early. `grow(node)` gives the words after a node."""
    beams = [0]
    for _ in range(longest):
        candidates = [child for node in beams for child in grow(node)]
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


def _check(nodes: Sequence[Node]) -> None:
    if not isinstance(nodes, Sequence) or not all(isinstance(node, Node) for node in nodes):
        raise FigureError(
            "nodes is no list of Nodes: give one, or use BeamTree.from_table or from_model."
        )
    if len(nodes) < 2:
        raise FigureError(f"the tree has {len(nodes)} nodes: give a begin mark and some words.")
    for i, node in enumerate(nodes):
        if node.parent > max(i - 1, 0) or node.parent < 0:
            raise FigureError(
                f"node {i} continues node {node.parent}: a word comes after the words it "
                "continues, so its parent has a smaller number."
            )
        if i and nodes[node.parent].ended:
            raise FigureError(f"node {i} continues node {node.parent}, which has ended.")
        if not math.isfinite(node.log_p) or node.log_p > 0:
            raise FigureError(
                f"node {i} ({node.word!r}) has log p = {node.log_p}: the logarithm of a "
                "probability is finite and not above 0."
            )
