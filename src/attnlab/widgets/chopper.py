"""Chop a text, a picture or a sound into tokens, with a slider for the size of the chunks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from traitlets import Int, List, Unicode, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, bundle, stylesheet

LONGEST = 2000  # letters: more than fits on a page


class Chopper(LiveFigure):
    """Text by byte-pair merges, a square picture by patches, a sound by frames.

    Chopper("the lowest tower", learn_merges(book, 200), picture=landscape(), sound=tune())
    """

    figure = "chopper"
    _esm, _css = bundle("chopper"), stylesheet("chopper")

    what = Unicode("text").tag(sync=True)  # "text", "picture" or "sound"
    text = Unicode("").tag(sync=True)
    merges = List(List(Unicode())).tag(sync=True)
    used = Int(0).tag(sync=True)  # how many of the merges
    picture = Array(ndim=(3,))  # (3, size, size), 0…1
    patch = Int(16).tag(sync=True)
    sound = Array(ndim=(1,))  # samples, −1…1
    frame = Int(200).tag(sync=True)

    def __init__(
        self, text: str, merges: Sequence[Sequence[str]], *, picture: Any, sound: Any, **traits: Any
    ):
        super().__init__(
            text=text,
            merges=merges,
            picture=picture,
            sound=sound,
            **{
                "alt": "A text, a picture or a sound, cut into chunks; a slider sets their size.",
                **traits,
            },
        )
        if "used" not in traits:
            self.used = len(self.merges)

    @validate("text")
    def _short(self, proposal: Any) -> str:
        text = str(proposal["value"])
        if len(text) > LONGEST:
            raise FigureError(
                f"the text has {len(text):,} letters: this figure shows {LONGEST:,} at most."
            )
        return text.encode("utf-8", "replace").decode("utf-8")

    @validate("merges")
    def _pairs(self, proposal: Any) -> list[list[str]]:
        for place, pair in enumerate(proposal["value"]):
            if len(pair) != 2 or not all(pair):
                raise FigureError(f"merge {place} is {pair!r}: a merge is a pair of pieces.")
        return list(proposal["value"])

    @validate("picture")
    def _square(self, proposal: Any) -> Any:
        picture = proposal["value"]
        if picture.shape[0] != 3 or picture.shape[1] != picture.shape[2] or not picture.size:
            raise FigureError(
                f"the picture has shape {picture.shape}: give (3, size, size), numbers 0…1."
            )
        return np.clip(picture, 0, 1)

    @validate("sound")
    def _long_enough(self, proposal: Any) -> Any:
        sound = proposal["value"]
        if len(sound) < 100:
            raise FigureError(f"the sound has {len(sound)} samples: it is shorter than 100.")
        return sound

    @validate("used", "patch", "frame")
    def _counted(self, proposal: Any) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        least = 0 if name == "used" else 1
        if value < least:
            raise FigureError(f"{name} is {value}: give {least} or more.")
        return int(value)

    @validate("what")
    def _known(self, proposal: Any) -> str:
        if proposal["value"] not in ("text", "picture", "sound"):
            raise FigureError(f"what is {proposal['value']!r}: choose text, picture or sound.")
        return str(proposal["value"])
