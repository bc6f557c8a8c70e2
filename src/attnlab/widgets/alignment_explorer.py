"""Alignments to explore: what does each target word attend to, and what should it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from traitlets import Bool, Dict, Int, List, Unicode, observe, validate

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    Temperature,
    as_array,
    bundle,
    stylesheet,
)

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    from attnlab.data.sequences import Pair

END = "(end)"  # stands for the end mark, which has a row and a column as well
SMALLEST = 1e-30  # what a weight that rounded to 0 counts as, when its logarithm is taken
MOST = 60  # words per side; beyond that the words cannot be read


class AlignmentExplorer(LiveFigure):
    """Heatmaps of α for some sentence pairs, with the gold links drawn in.

    AlignmentExplorer(pairs, {"additive": translator.align(pairs)}, aer={"additive": 0.01})

    `weights` gives, for each name in the switch (a score function, say), one array for each pair:
    (target words + 1, source words + 1), the end marks last. `aer` is the error rate of each on a
    whole corpus; the error rate of the sentence shown is counted in the browser. So is the
    temperature: it acts on log α, which is the score up to a constant.
    """

    figure = "alignment_explorer"
    _esm, _css = bundle("alignment_explorer"), stylesheet("alignment_explorer")
    made = ("sentences", "names", "aer", "logs")

    sentences = List(Dict()).tag(sync=True)  # source, target, sure, possible; with end marks
    names = List(Unicode()).tag(sync=True)
    aer = Dict().tag(sync=True)
    logs = Array((1,))  # log α of every name and every sentence, one after the other, row by row
    sentence = Int(0).tag(sync=True)
    kind = Unicode("").tag(sync=True)
    temperature = Temperature("Near 0 each word looks at one place only, so try 0.05.")
    word = Int(-1).tag(sync=True)  # the target word in focus; −1 for none
    gold = Bool(True).tag(sync=True)

    def __init__(
        self,
        pairs: Sequence[Pair],
        weights: Mapping[str, Sequence[Any]],
        *,
        aer: Mapping[str, float] | None = None,
        **traits: Any,
    ):
        if not pairs or not weights:
            raise FigureError("give at least one sentence pair, and the weights of at least one.")
        from attnlab.data.sequences import Pair

        if not isinstance(weights, Mapping) or not all(isinstance(pair, Pair) for pair in pairs):
            raise FigureError('give a list of Pairs and a dict of weights, {"additive": [α, …]}.')
        flat = [_log(name, pairs, given) for name, given in weights.items()]
        unknown = sorted(set(aer or {}) - set(weights))
        if unknown:
            raise FigureError(f"aer knows {unknown[0]!r}, but weights do not: use the same names.")
        super().__init__(
            sentences=[_sentence(pair) for pair in pairs],
            names=list(weights),
            aer={name: float(rate) for name, rate in (aer or {}).items()},
            logs=np.concatenate(flat),
            **{
                "kind": next(iter(weights)),
                "alt": "Heatmap of attention weights of a translation, target words by source "
                "words, with the gold alignment drawn in as rings.",
                **traits,
            },
        )

    @validate("sentence")
    def _a_sentence(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < len(self.sentences):
            raise FigureError(
                f"sentence is {proposal['value']}, but there are {len(self.sentences)}, counted "
                "from 0."
            )
        return int(proposal["value"])

    @validate("kind")
    def _a_name(self, proposal: Any) -> str:
        if proposal["value"] not in self.names:
            raise FigureError(
                f"kind is {proposal['value']!r}, but there are {', '.join(self.names)}."
            )
        return str(proposal["value"])

    @observe("sentence")
    def _another_sentence(self, _change: Any) -> None:
        self.word = min(self.word, len(self.sentences[self.sentence]["target"]) - 1)


def _log(name: str, pairs: Sequence[Pair], given: Sequence[Any]) -> np.ndarray:
    """The logarithms of all weights of one name, flat, after a check of shapes and signs."""
    if len(given) != len(pairs):
        raise FigureError(
            f"{name!r} has weights for {len(given)} pairs, but there are {len(pairs)}: one each."
        )
    flat = []
    for i, (pair, one) in enumerate(zip(pairs, given, strict=True)):
        array = as_array(f"weights[{name!r}][{i}]", one)
        shape = (len(pair.target) + 1, len(pair.source) + 1)
        if array.shape != shape:
            raise FigureError(
                f"weights[{name!r}][{i}] has shape {array.shape}, but this pair needs {shape}: "
                "target words and end mark, source words and end mark."
            )
        if (array < 0).any():
            raise FigureError(f"weights[{name!r}][{i}] has negative entries: weights are shares.")
        if max(shape) > MOST + 1:
            raise FigureError(
                f"pair {i} has {max(shape) - 1} words on a side: choose pairs of at most {MOST}."
            )
        flat.append(np.log(np.maximum(array.astype("float64"), SMALLEST)).astype("float32").ravel())
    return np.concatenate(flat)


def _sentence(pair: Pair) -> dict[str, list]:
    data = pair.to_json()
    return {**data, "source": [*data["source"], END], "target": [*data["target"], END]}
