"""Attention on a picture: click a patch, choose layer and head, and see what it attends to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from traitlets import Float, Int

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    as_array,
    bundle,
    recorded,
    stylesheet,
    together,
)

MEAN, ROLLOUT = -1, -2  # in place of heads
MOST = 6_000_000  # weights: a page carries a byte for each


class PatchAttention(LiveFigure):
    """Every layer and head of a ViT on one picture.

    PatchAttention(maps, image=pixels)          # record(model) on one picture (1, 3, S, S)

    `image` is (3, S, S) or (S, S, 3) with numbers from 0 to 1; `skip` is how many tokens come
    before the patches. `row` and `column` choose the patch that attends, −1 and −1 are [CLS];
    `head` −1 is the mean of the heads, −2 the rollout up to `layer`. `share` of the mass is kept.
    Weights travel as one byte each, of their square root: small ones keep two digits.
    """

    figure = "patch_attention"
    _esm, _css = bundle("patch_attention"), stylesheet("patch_attention")
    made = ("roots", "image")

    roots = Array((4,), "uint8")  # (N, H, L, L): 255 · √weight
    image = Array((3,), "uint8")  # (S, S, 3)
    skip = Int(1).tag(sync=True)
    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    row = Int(-1).tag(sync=True)
    column = Int(-1).tag(sync=True)
    share = Float(0.6).tag(sync=True)

    def __init__(self, maps: Any, *, image: Any, skip: int = 1, **traits: Any):
        weights = recorded(maps)
        if weights.ndim != 4 or weights.shape[2] != weights.shape[3]:
            raise FigureError(
                f"maps have shape {weights.shape}, but (layers, heads, tokens, tokens) is expected."
            )
        if weights.size > MOST:
            raise FigureError(
                f"maps hold {weights.size:,} weights, more than {MOST:,}: a page must carry them "
                "all. Choose fewer layers, or a smaller picture."
            )
        if weights.min() < 0 or weights.max() > 1 + 1e-4:
            raise FigureError("maps hold numbers outside of 0 … 1: give weights, not scores.")
        side = (weights.shape[2] - skip) ** 0.5
        if skip < 0 or side != int(side) or not side:
            raise FigureError(
                f"{weights.shape[2]} tokens less {skip} before the patches are no square of "
                "patches: skip counts [CLS] and the registers."
            )
        super().__init__(
            roots=np.round(255 * np.sqrt(np.clip(weights, 0, 1))),
            image=_pixels(image),
            skip=skip,
            **{
                "alt": f"A picture of {int(side)} × {int(side)} patches and the attention of a "
                "chosen patch, layer and head on it.",
                **traits,
            },
        )

    @together("layer", "head", "row", "column", "share")
    def _inside(self, **now: Any) -> None:
        if self.roots is None:
            return
        layers, heads, length, _ = self.roots.shape
        side = int((length - self.skip) ** 0.5)
        check_view(now, layers, range(ROLLOUT, heads), side)


def check_view(now: Mapping[str, Any], layers: int, heads: range, side: int) -> None:
    """Is there such a layer, head and patch? A row of −1 is no patch, but [CLS]."""
    places = range(-1, side)
    bounds = {"layer": range(layers), "head": heads, "row": places, "column": places}
    for name, known in bounds.items():
        if now[name] not in known:
            raise FigureError(f"{name} is {now[name]}, but goes from {known[0]} to {known[-1]}.")
    if not 0 < now["share"] <= 1:
        raise FigureError(f"share is {now['share']}: give a share above 0, at most 1.")


def _pixels(image: Any) -> np.ndarray:
    array = as_array("image", image)
    if array.ndim == 3 and array.shape[0] == 3 and array.shape[2] != 3:
        array = array.transpose(1, 2, 0)
    if array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise FigureError(f"image has shape {array.shape}: give (3, S, S) or (S, S, 3), 0 to 1.")
    if array.min() < 0 or array.max() > 1:
        raise FigureError(
            f"image has numbers from {array.min():.1f} to {array.max():.1f}: give 0 to 1."
        )
    return np.round(255 * array)
