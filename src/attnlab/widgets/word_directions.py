"""Word arithmetic: one word, plus a direction from another to a third, on real vectors."""

from collections.abc import Sequence
from typing import Any

from traitlets import Bool, Float, Int, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, Words, bundle, stylesheet


class WordDirections(LiveFigure):
    """start + amount · (to − from), and the words nearest to where that ends.

    WordDirections(words, vectors, start="king", away="man", towards="woman")
    """

    figure = "word_directions"
    _esm, _css = bundle("word_directions"), stylesheet("word_directions")

    words = Words()
    vectors = Array(ndim=(2,))  # (words, width)
    start = Int(0).tag(sync=True)  # the three words, by place
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
        listed = [str(word) for word in words]
        places = {}
        for name, word in (("start", start), ("away", away), ("towards", towards)):
            if word not in listed:
                raise FigureError(
                    f"{name} is {word!r}, which is not among the {len(listed)} words."
                )
            places[name] = listed.index(word)
        if len(listed) < 5:
            raise FigureError(f"there are {len(listed)} words: give at least 5.")
        super().__init__(
            words=listed,
            vectors=vectors,
            **places,
            **{
                "alt": "Word arithmetic: choose three words and an amount, and see which words are "
                "nearest to the result.",
                **traits,
            },
        )

    @validate("vectors")
    def _one_row_a_word(self, proposal: Any) -> Any:
        vectors = proposal["value"]
        if vectors is not None and self.words and len(vectors) != len(self.words):
            raise FigureError(
                f"{len(self.words)} words and {len(vectors)} vectors: give one row for each word."
            )
        return vectors

    @validate("amount")
    def _moderate(self, proposal: Any) -> float:
        if not 0 <= proposal["value"] <= 3:
            raise FigureError(f"amount is {proposal['value']}: choose one between 0 and 3.")
        return float(proposal["value"])
