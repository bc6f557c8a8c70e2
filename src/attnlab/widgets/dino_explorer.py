"""DINOv2 in the reader's browser: their own photograph, every patch, layer and head of it."""

from typing import Any

import numpy as np
from traitlets import Float, Int, Unicode

from attnlab.widgets.base import (
    Array,
    FigureError,
    as_array,
    bundle,
    recorded,
    stylesheet,
    together,
)
from attnlab.widgets.patch_attention import check_view
from attnlab.widgets.weights import HeavyFigure

MEAN = -1  # in place of a head
SIZE = 224  # pixels of the square that is read


class DinoExplorer(HeavyFigure):
    """Attention maps of a ViT, on a shipped photograph at once, on the reader's own on request.

    DinoExplorer.shipped("cat")                          # DINOv2 ViT-S/14 on a photograph of ours
    DinoExplorer(maps, image=pixels, tokens=tokens)      # what record(model) and model.tokens gave

    On the page the model is loaded when the reader asks for it (`weights`; "" leaves that out), and
    reads photographs that never leave the page. What is drawn before that travels with the page,
    one byte for each number: [CLS] in all layers and heads, every patch in the last layer (`maps`),
    and the three main directions of the patches (`tokens`) as colours.

    `row` and `column` choose the patch that attends, −1 and −1 are [CLS]; `head` −1 is the mean of
    the heads; `share` of the mass is lit.
    """

    figure = "dino_explorer"
    _esm, _css = bundle("dino_explorer"), stylesheet("dino_explorer")
    made = ("firsts", "lasts", "colours", "image")

    firsts = Array((3,), "uint8")  # (N, H, L): 255 · √weight of [CLS]
    lasts = Array((3,), "uint8")  # (H, L, L): the same for every token of the last layer
    colours = Array((3,), "uint8")  # (R, R, 3)
    image = Array((3,), "uint8")  # (S, S, 3)
    shows = Unicode("").tag(sync=True)  # what the shipped picture shows
    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    row = Int(-1).tag(sync=True)
    column = Int(-1).tag(sync=True)
    share = Float(0.6).tag(sync=True)

    def __init__(self, maps: Any, *, image: Any, tokens: Any, **traits: Any):
        weights = recorded(maps)
        side = _side(weights)
        vectors = as_array("tokens", tokens)
        if vectors.ndim != 2 or len(vectors) != side**2 or vectors.shape[1] < 3:
            raise FigureError(
                f"tokens have shape {vectors.shape}, but ({side**2} patches, width) is expected: "
                "give model.tokens(images)[0, 1:]."
            )
        roots = np.round(255 * np.sqrt(np.clip(weights, 0, 1)))
        super().__init__(
            firsts=roots[:, :, 0],
            lasts=roots[-1],
            colours=np.round(255 * principal_colours(vectors)).reshape(side, side, 3),
            image=pixels_of(image),
            **{
                "layer": len(weights) - 1,
                "alt": "A photograph, the attention of a chosen patch, layer and head on it, and "
                "its patches coloured by what they are; a button loads the model, which then reads "
                "the reader's own photographs.",
                **traits,
            },
        )

    @classmethod
    def shipped(cls, photograph: str = "cat", **traits: Any) -> "DinoExplorer":
        """DINOv2 on one of the course's photographs, computed here and now (about a second)."""
        import torch

        from attnlab.data import photographs
        from attnlab.models.published import dinov2, imagenet
        from attnlab.record import record

        if photograph not in photographs.ALL:
            known = ", ".join(photographs.ALL)
            raise FigureError(f"there is no photograph {photograph!r}: choose one of {known}.")
        pixels = photographs.square(photograph, SIZE)
        with torch.no_grad(), record(dinov2()) as maps:
            tokens = dinov2().tokens(imagenet(pixels)[None])
        given = {"weights": "dinov2_vits14", "shows": photographs.ALL[photograph].shows, **traits}
        return cls(maps, image=pixels, tokens=tokens[0, 1:], **given)

    @together("layer", "head", "row", "column", "share")
    def _inside(self, **now: Any) -> None:
        if self.firsts is None:
            return
        layers, heads, length = self.firsts.shape
        side = round((length - 1) ** 0.5)
        check_view(now, layers, range(MEAN, heads), side)


def principal_colours(tokens: Any) -> np.ndarray:
    """The three main directions of N vectors (PCA) as red, green and blue: (N, E) -> (N, 3), 0…1.

    A direction's sign is chosen so that its largest number is positive: the page does the same.
    """
    vectors = np.asarray(tokens, dtype=float)
    centred = vectors - vectors.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:3]  # (3, E)
    top = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    scores = centred @ (directions * np.sign(top)[:, None]).T  # (N, 3)
    low, high = scores.min(axis=0), scores.max(axis=0)
    return (scores - low) / np.where(high > low, high - low, 1)


def pixels_of(image: Any) -> np.ndarray:
    """A square picture (3, S, S) or (S, S, 3), 0 … 1, as bytes (S, S, 3)."""
    array = as_array("image", image)
    if array.ndim == 3 and array.shape[0] == 3 and array.shape[2] != 3:
        array = array.transpose(1, 2, 0)
    if array.ndim != 3 or array.shape[2] != 3 or not array.size or len(array) != array.shape[1]:
        raise FigureError(f"image has shape {array.shape}: give (3, S, S) or (S, S, 3), 0 to 1.")
    if array.min() < 0 or array.max() > 1:
        raise FigureError(
            f"image has numbers from {array.min():.1f} to {array.max():.1f}: give 0 to 1."
        )
    return np.round(255 * array)


def _side(weights: np.ndarray) -> int:
    if weights.ndim != 4 or weights.shape[2] != weights.shape[3] or not weights.size:
        raise FigureError(
            f"maps have shape {weights.shape}, but (layers, heads, tokens, tokens) is expected."
        )
    if weights.min() < 0 or weights.max() > 1 + 1e-4:
        raise FigureError("maps hold numbers outside of 0 … 1: give weights, not scores.")
    side = (weights.shape[2] - 1) ** 0.5
    if side != int(side) or not side:
        raise FigureError(
            f"{weights.shape[2]} tokens less [CLS] are no square of patches: registers must go."
        )
    return int(side)
