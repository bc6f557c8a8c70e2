"""Word arithmetic: one word, plus a direction from another to a third, on real vectors."""

from collections.abc import Sequence
from typing import Any

from traitlets import Bool, Float, Int, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, Words, bundle, stylesheet, together


class WordDirections(LiveFigure):
    """start + amount · (to − from), and the words nearest to where that ends.

    WordDirections(words, vectors, start="king", away="man", towards="woman")
    """

    figure = "word_directions"
    _esm, _css = bundle("word_directions"), stylesheet("word_directions")

    words = Words()
    vectors = Array(ndim=(2,))  # (words, width)
    start = Int(0).tag(sync=True)  # the three words, by index
    away = Int(0).tag(sync=True)
    towards = Int(0).tag(sync=True)
    amount = Float(1.0).tag(sync=True)
    leave_out = Bool(True).tag(sync=True)  # the three words themselves

    def __init__(
        self,
        words: Sequence[str],
        vectors: Any,
        *,
        start: str,
        away: str,
        towards: str,
        **traits: Any,
    ):
        super().__init__(
            words=words,
            vectors=vectors,
            **{
                "alt": "Word arithmetic: choose three words and an amount, and see which words are "
                "nearest to the result.",
                **traits,
            },
        )
        for name, word in (("start", start), ("away", away), ("towards", towards)):
            if word not in self.words:
                raise FigureError(
                    f"{name} is {word!r}, which is not among the {len(self.words)} words."
                )
            setattr(self, name, self.words.index(word))

    @together("words", "vectors", "start", "away", "towards")
    def _fits(self, words: list[str], vectors: Any, **places: int) -> None:
        if len(words) < 5:
            raise FigureError(f"there are {len(words)} words: give at least 5.")
        if len(vectors) != len(words) or not vectors.size:
            raise FigureError(
                f"{len(words)} words and vectors of shape {vectors.shape}: give one row for each "
                "word."
            )
        for name, place in places.items():
            if not 0 <= place < len(words):
                raise FigureError(
                    f"{name} is {place}, but there are {len(words)} words, counted from 0."
                )

    @validate("amount")
    def _moderate(self, proposal: Any) -> float:
        if not 0 <= proposal["value"] <= 3:
            raise FigureError(f"amount is {proposal['value']}: choose one between 0 and 3.")
        return float(proposal["value"])
