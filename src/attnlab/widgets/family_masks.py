"""Three families, one sentence: who may see whom, and what each position must say."""

from collections.abc import Iterable
from typing import Any

from traitlets import Bool, Int, List, Unicode, validate

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
    hidden = List(Bool()).tag(sync=True)  # one per word
    family = Unicode("GPT").tag(sync=True)
    row = Int(0).tag(sync=True)  # the position whose view is lit

    def __init__(self, words: Iterable[Any], hidden: Iterable[int] = (), **traits: Any):
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise FigureError(f"words is a {type(words).__name__}: give a list of words.")
        words = list(words)
        if not all(isinstance(word, str) for word in words):
            raise FigureError(f"words is {words!r}: give a list of words.")
        gone = {int(place) for place in hidden}
        if not all(0 <= place < len(words) for place in gone):
            raise FigureError(f"hidden is {sorted(gone)}: places of {len(words)} words, from 0.")
        super().__init__(
            words=words,
            hidden=[place in gone for place in range(len(words))],
            **{
                "alt": "A grid of who may see whom in GPT, BERT and T5, with what each position "
                "must say; words can be hidden.",
                **traits,
            },
        )

    @validate("family")
    def _known(self, proposal: Any) -> str:
        from attnlab.training.corruption import FAMILIES  # torch comes with it

        if proposal["value"] not in FAMILIES:
            raise FigureError(
                f"family is {proposal['value']!r}: choose one of {', '.join(FAMILIES)}."
            )
        return str(proposal["value"])

    @together("words", "hidden", "row")
    def _fits(self, words: list[str], hidden: list[bool], row: int) -> None:
        if not 1 <= len(words) <= MOST:
            raise FigureError(f"{len(words)} words were given: this figure takes 1 to {MOST}.")
        if len(hidden) != len(words):
            raise FigureError(
                f"hidden has {len(hidden)} marks for {len(words)} words: one each is expected."
            )
        if not 0 <= row < 2 * MOST + 7:
            raise FigureError(f"row is {row}: it is a position in the text, counted from 0.")
