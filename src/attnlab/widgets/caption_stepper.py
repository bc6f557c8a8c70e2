"""A captioner at work: step through its words and see which parts of the picture it attends to."""

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image
from traitlets import Bool, Dict, Int, List, validate

from attnlab.widgets.base import FigureError, LiveFigure, Temperature, as_array, bundle, stylesheet

COLOURS = 128  # of a picture on the page: a third of the bytes, and the eye sees no difference
SMALLEST = -60.0  # the score of a weight of 0: e^-60 of the largest
KEYS = {"picture", "words", "weights", "boxes", "right"}


class CaptionStepper(LiveFigure):
    """Pictures, the words said of them, and the attention weights before each word.

    CaptionStepper(
        [
            {
                "picture": picture,                    # (height, width, 3), uint8
                "words": ["a", "cat", "on", "sand"],   # what was said
                "weights": weights,                    # (words, G, G): where it looked
                "boxes": {1: [(0, 10, 30, 40)]},       # index of a word -> its objects, in pixels
                "right": ["a", "cat", "on", "sand"],   # the right caption (if known)
            },
        ]
    )
    CaptionStepper.of(scenes, tellings)

    The page gets scores, log α (the real scores up to a constant, which softmax does not feel),
    and computes softmax(scores / T) by itself. `scene`, `word` and `temperature` follow the reader.
    """

    figure = "caption_stepper"
    _esm, _css = bundle("caption_stepper"), stylesheet("caption_stepper")
    made = ("scenes",)

    scenes = List(Dict()).tag(sync=True)
    scene = Int(0).tag(sync=True)
    word = Int(0).tag(sync=True)
    temperature = Temperature("Near 0 the softmax becomes a hard choice, so try 0.1.")
    show_numbers = Bool(False).tag(sync=True)

    def __init__(self, scenes: Iterable[Mapping[str, Any]], **traits: Any):
        if isinstance(scenes, str | Mapping) or not isinstance(scenes, Iterable):
            raise FigureError("scenes is a list of dicts with 'picture', 'words' and 'weights'.")
        read = [_scene(number, one) for number, one in enumerate(scenes)]
        if not read:
            raise FigureError("scenes is empty: give at least one picture with its words.")
        super().__init__(
            scenes=read,
            **{
                "alt": f"{len(read)} pictures with captions: step through the words and see the "
                "attention weights on the cells of the picture, with a temperature slider.",
                **traits,
            },
        )

    @classmethod
    def of(cls, scenes: Sequence[Any], told: Sequence[Any], **traits: Any) -> "CaptionStepper":
        """From `scenes.Scene`s and what `captioning.Teller.tell` said of them."""
        return cls(
            [
                {
                    "picture": scene.picture,
                    "words": telling.words,
                    "weights": telling.looks[: len(telling.words)],
                    "boxes": _boxes_of_said(scene, telling.words),
                    "right": scene.caption,
                }
                for scene, telling in zip(scenes, told, strict=True)
            ],
            **traits,
        )

    @validate("scene")
    def _scene_exists(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < len(self.scenes):
            raise FigureError(
                f"scene is {proposal['value']}, but the pictures are numbered 0 to "
                f"{len(self.scenes) - 1}."
            )
        return int(proposal["value"])

    @validate("word")
    def _word_exists(self, proposal: Any) -> int:
        most = max(len(scene["words"]) for scene in self.scenes) - 1
        if not 0 <= proposal["value"] <= most:
            raise FigureError(
                f"word is {proposal['value']}, but the words are numbered 0 to {most}."
            )
        return int(proposal["value"])


def _boxes_of_said(scene: Any, words: Sequence[str]) -> dict[int, Any]:
    """Boxes belong to words of the right caption; in another caption, only where both agree."""
    alike = len(words) == len(scene.caption)
    return {
        place: boxes
        for place, boxes in scene.boxes.items()
        if place < len(words) and (alike or words[place] == scene.caption[place])
    }


def _scene(number: int, given: Any) -> dict[str, Any]:
    """One picture as the page wants it, or an error that says what is wrong with which."""
    here = f"scene {number}"
    if not isinstance(given, Mapping) or not {"picture", "words", "weights"} <= set(given):
        raise FigureError(f"{here} must be a dict with 'picture', 'words' and 'weights'.")
    extra = sorted(set(map(str, given)) - KEYS)
    if extra:
        raise FigureError(f"{here} has the key {extra[0]!r}; the keys are {sorted(KEYS)}.")
    words, right = (_words(here, name, given.get(name, ())) for name in ("words", "right"))
    if not words:
        raise FigureError(f"{here} has no words: there is nothing to step through.")
    picture = _picture(here, given["picture"])
    weights = as_array(f"{here}: weights", given["weights"])
    if weights.ndim != 3 or len(weights) != len(words) or not weights.size:
        raise FigureError(
            f"{here}: weights has shape {weights.shape}, but {len(words)} words need "
            f"({len(words)}, rows, columns): one grid for each word."
        )
    if (weights < 0).any() or (weights.sum((1, 2)) <= 0).any():
        raise FigureError(f"{here}: weights are attention weights: not below 0, and not all 0.")
    scores = np.log(weights / weights.max((1, 2), keepdims=True).clip(1e-30), where=weights > 0,
                    out=np.full_like(weights, SMALLEST)).clip(SMALLEST, 0)  # fmt: skip
    return {
        "picture": _png(picture),
        "size": [picture.shape[1], picture.shape[0]],
        "words": words,
        "right": right,
        "grid": list(weights.shape[1:]),
        "scores": [[round(float(s), 3) for s in row.flat] for row in scores],
        "boxes": _boxes(here, given.get("boxes") or {}, len(words), picture),
    }


def _words(here: str, name: str, given: Any) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise FigureError(f"{here}: {name} must be a list of words, for instance text.split().")
    return [str(word).encode("utf-8", "replace").decode("utf-8") for word in given]


def _picture(here: str, given: Any) -> np.ndarray:
    picture = np.asarray(given)
    if picture.ndim != 3 or picture.shape[-1] != 3 or picture.dtype != np.uint8 or not picture.size:
        raise FigureError(
            f"{here}: picture has shape {picture.shape} and dtype {picture.dtype}, but must be "
            "(height, width, 3) and uint8, 0 to 255."
        )
    if max(picture.shape) > 512:
        raise FigureError(f"{here}: picture is {picture.shape}; 512 pixels a side is the most.")
    return picture


def _boxes(here: str, given: Any, words: int, picture: np.ndarray) -> list[list[list[int]]]:
    """For each word the boxes of its objects; most words have none."""
    height, width = picture.shape[:2]
    rows: list[list[list[int]]] = [[] for _ in range(words)]
    for place, boxes in dict(given).items():
        if not isinstance(place, int) or not 0 <= place < words:
            raise FigureError(f"{here}: boxes has the word {place!r}; words are 0 to {words - 1}.")
        for box in boxes:
            left, top, right, bottom = (int(side) for side in box)
            if not (0 <= left < right <= width and 0 <= top < bottom <= height):
                raise FigureError(
                    f"{here}: the box {tuple(box)} is not (left, top, right, bottom) inside a "
                    f"picture of {width} by {height} pixels."
                )
            rows[place].append([left, top, right, bottom])
    return rows


def _png(picture: np.ndarray) -> str:
    """A picture as a data: address."""
    file = io.BytesIO()
    Image.fromarray(picture).quantize(COLOURS, dither=Image.Dither.NONE).save(
        file, "PNG", optimize=True
    )
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
