"""Three families, one sentence: who may see whom, and what each place must say."""

from collections.abc import Iterable
from typing import Any

from traitlets import Bool, Enum, Int, List

from attnlab.training.corruption import FAMILIES
from attnlab.widgets.base import FigureError, LiveFigure, Words, bundle, stylesheet, together

MOST = 9  # words: with the marks, a grid that a phone can show


class FamilyMasks(LiveFigure):
    """Choose a family, hide words, pick a row: the mask of GPT, BERT or T5 and what is predicted.

    FamilyMasks(["the", "cat", "sat"], hidden=[1], family="BERT")

    The rules are those of `attnlab.training.corruption.views`.
    """

    figure = "family_masks"
    _esm, _css = bundle("family_masks"), stylesheet("family_masks")

    words = Words()
    hidden = List(Bool()).tag(sync=True)  # one a word
    family = Enum(FAMILIES, "GPT").tag(sync=True)
    row = Int(0).tag(sync=True)  # the place whose view is lit

    def __init__(self, words: Iterable[Any], hidden: Iterable[int] = (), **traits: Any):
        words = list(words)
        gone = {int(place) for place in hidden}
        if not all(0 <= place < len(words) for place in gone):
            raise FigureError(f"hidden is {sorted(gone)}: places of {len(words)} words, from 0.")
        super().__init__(
            words=words,
            hidden=[place in gone for place in range(len(words))],
            **{
                "alt": "A grid of who may see whom in GPT, BERT and T5, with what each place must "
                "say; words can be hidden.",
                **traits,
            },
        )

    @together("words", "hidden", "row")
    def _fits(self, words: list[str], hidden: list[bool], row: int) -> None:
        if not 1 <= len(words) <= MOST:
            raise FigureError(f"{len(words)} words were given: this figure takes 1 to {MOST}.")
        if len(hidden) != len(words):
            raise FigureError(f"{len(hidden)} marks for {len(words)} words: one each is expected.")
        if not 0 <= row < 2 * MOST + 7:
            raise FigureError(f"row is {row}: it is a place in the text, counted from 0.")
