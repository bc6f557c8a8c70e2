"""Beam search as a tree: what is kept, what is dropped, and which ending wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Float, Int, List, validate

from attnlab.widgets.base import FigureError, LiveFigure, Words, bundle, stylesheet

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    from attnlab.data.sequences import Vocabulary
    from attnlab.decoding import BeamStep, State, Step

WIDEST = 6  # beams that can still be told apart
STRICTEST = 2.0  # length penalty, the end of the slider
END = "■"


@dataclass(frozen=True)
class Node:
    """A word after other words. The first node of a tree is the begin mark, its own parent."""

    parent: int
    word: str
    log_p: float  # given all words before it
    ended: bool = False


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
    longest = Int(0).tag(sync=True)  # words in a sentence, including the end mark
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
                "alt": "A tree of unfinished sentences that grows to the right, one word per step. "
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

        Only what a search of width 1 … `widest` looks at is kept, whatever the length penalty.
        """
        from attnlab.decoding import beam

        tree = _Tree(vocabulary)
        for width in range(1, widest + 1):
            # The greater the penalty, the later a search stops: this one sees what any other does.
            beam(
                step, state, width=width, max_length=longest, length_penalty=STRICTEST,
                watch=tree.grow(width),
            )  # fmt: skip
        return cls(tree.nodes, widest=widest, **traits)

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
        if not 0 <= proposal["value"] <= STRICTEST:
            raise FigureError(
                f"length_penalty is {proposal['value']}: the slider goes from 0 to 2."
            )
        return float(proposal["value"])


class _Tree:
    """Everything that searches look at, put together."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.words = vocabulary.words
        self.nodes = [Node(0, "", 0.0)]
        self.totals = [0.0]  # log p of the words up to each node
        self.below: dict[tuple[int, int], int] = {}  # node and id of a word -> the node after

    def grow(self, width: int) -> Callable[[BeamStep], None]:
        """To watch one search with: it adds the nodes that are new."""
        beams = [0] * width

        def watch(step: BeamStep) -> None:
            if step.seen is not None:
                for parent, token, total in _rows(step.seen):
                    self._add(beams[parent], token, total)
            # An empty slot holds no node; it starts afresh, and stays empty forever.
            beams[:] = [self.below.get((beams[p], token), 0) for p, token, _ in _rows(step)]

        return watch

    def _add(self, parent: int, token: int, total: float) -> None:
        from attnlab.data.sequences import EOS

        if total > -math.inf and (parent, token) not in self.below:
            self.below[parent, token] = len(self.nodes)
            word = END if token == EOS else self.words[token]
            log_p = min(total - self.totals[parent], 0.0)
            self.nodes.append(Node(parent, word, log_p, token == EOS))
            self.totals.append(total)


def _rows(step: BeamStep) -> Iterator[tuple[int, int, float]]:
    """Parent, word and log p of each slot, for the first sentence."""
    return zip(step.parents[0], step.tokens[0], step.log_probabilities[0], strict=True)


def _check(nodes: Sequence[Node]) -> None:
    if not isinstance(nodes, Sequence) or not all(isinstance(node, Node) for node in nodes):
        raise FigureError(
            "nodes is not a list of Nodes: give one, or use BeamTree.from_table or from_model."
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
