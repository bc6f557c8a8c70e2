"""Spelling to sound in the browser: which letters does each sound attend to?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from traitlets import Dict, Int, List, validate

from attnlab.widgets.base import FigureError, bundle, stylesheet
from attnlab.widgets.browser_translator import sent
from attnlab.widgets.one_by_one import OneByOne

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    from attnlab.translator import Translator

LONGEST = 40  # letters; the page refuses longer words with a sentence
TRAINED = 28  # antidisestablishmentarianism, the longest word of the dictionary


def spelling(text: str) -> list[str]:
    """Text to words of a–z and apostrophes, as the page reads it; accents are taken off."""
    apart = unicodedata.normalize("NFD", text.replace("’", "'").replace("‘", "'"))
    plain = "".join(c for c in apart if unicodedata.category(c)[0] != "M").lower()
    words = (re.sub(r"[^a-z']", "", part).lstrip("'") for part in re.split(r"[\s\-]+", plain))
    return [word for word in words if word]


class Pronouncer(OneByOne):
    """Type any word and see its sounds appear, and which letters each one attended to.

    Pronouncer.shipped(text="knight")
    Pronouncer(speaker, examples=["phone", "queue"])      # a Translator from letters to sounds

    Examples, the course's own unless given, are compared with the dictionary. `shown` is how many
    sounds are visible, the end mark included, and −1 is all; `speed` is sounds per second; `which`
    is the word that is read when the text has several.
    """

    figure = "pronouncer"
    _esm, _css = bundle("pronouncer"), stylesheet("pronouncer")
    made = ("speaker", "examples", "hints")

    speaker = Dict().tag(sync=True)
    examples = List(Dict()).tag(sync=True)
    hints = Dict().tag(sync=True)
    unit = "sounds"
    which = Int(0).tag(sync=True)
    trained = Int(TRAINED).tag(sync=True)

    def __init__(
        self,
        speaker: Translator,
        *,
        examples: Iterable[str] | None = None,
        text: str | None = None,
        store: str = "int8",
        **traits: Any,
    ):
        from attnlab.data import pronunciation

        if isinstance(examples, str):
            raise FigureError(f"examples is one string, {examples[:20]!r}: give a list of words.")
        words = [
            str(word).lower() for word in (pronunciation.EXAMPLES if examples is None else examples)
        ]
        for word in words:
            if spelling(word) != [word]:
                raise FigureError(
                    f"the example {word[:20]!r} is not one word of the letters a to z: an example "
                    "is looked up in the dictionary."
                )
        ways = [[list(way) for way in pronunciation.variants(word)] for word in words]
        super().__init__(
            speaker=sent("speaker", speaker, store),
            examples=[{"word": w, "ways": said} for w, said in zip(words, ways, strict=True)],
            hints={sound: f"as in {word}" for sound, word in pronunciation.SOUNDS_LIKE.items()},
            text=(words[0] if words else "") if text is None else text,
            **{
                "alt": "A model that pronounces any word you type: its sounds appear one by one, "
                "with a map of which letters each sound looked at.",
                **traits,
            },
        )

    @classmethod
    def shipped(cls, **traits: Any) -> Pronouncer:
        """The model that the course carries, trained on the CMU Pronouncing Dictionary."""
        from attnlab.translator import Translator

        return cls(Translator.shipped("pronunciation"), **traits)

    @validate("shown", "which", "trained")
    def _count(self, proposal: Any) -> int:
        name, lowest = proposal["trait"].name, -1 if proposal["trait"].name == "shown" else 0
        if proposal["value"] < lowest:
            meaning = {
                "shown": "a count of sounds, or −1 for all",
                "which": "the index of a word, counted from 0",
                "trained": "a count of letters, or 0 when it is not known",
            }[name]
            raise FigureError(f"{name} is {proposal['value']}: give {meaning}.")
        return int(proposal["value"])
