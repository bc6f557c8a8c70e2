"""All heads of a model at once: thumbnails, a temperature for each, a switch to knock it out."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from traitlets import Dict, Int, Unicode

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    Words,
    bundle,
    recorded,
    stylesheet,
    together,
)

MOST_TOKENS, MOST_HEADS = 64, 24


class HeadGrid(LiveFigure):
    """Every layer × head as a thumbnail; click one to see it large. Softmax in the browser.

    HeadGrid(maps=maps, tokens=words)       # what record(model) gave on one text
    HeadGrid(scores, tokens=words)          # scores (N, H, L, L): q kᵀ / √D of N layers, H heads

    `temperatures` (N, H) divides each head's scores, `knocked` (N, H) says which heads are out.
    `notes` names heads: {"0.2": "previous token"}.
    """

    figure = "head_grid"
    _esm, _css = bundle("head_grid"), stylesheet("head_grid")

    scores = Array((4,))
    tokens = Words()
    temperatures = Array((2,))
    knocked = Array((2,), "bool")
    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    query = Int(0).tag(sync=True)
    notes = Dict(value_trait=Unicode(), key_trait=Unicode()).tag(sync=True)

    def __init__(
        self,
        scores: Any = None,
        *,
        tokens: Iterable[Any],
        maps: Any = None,
        notes: Mapping[str, str] | None = None,
        **traits: Any,
    ):
        if maps is not None:
            if scores is not None:
                raise FigureError("scores and maps were both given: give one of them.")
            # A softmax forgets what is added to a whole row, so logarithms do as well as scores.
            scores = np.log(np.maximum(recorded(maps), np.finfo("float32").tiny))
        super().__init__(scores=scores, tokens=tokens, notes=dict(notes or {}), **traits)
        layers, heads, length, _ = self.scores.shape
        if self.temperatures is None:
            self.temperatures = np.ones((layers, heads), dtype="float32")
        if self.knocked is None:
            self.knocked = np.zeros((layers, heads), dtype=bool)
        if not self.alt:
            self.alt = (
                f"Attention maps of {layers} layers × {heads} heads on {length} tokens as "
                "thumbnails; one is enlarged, with a temperature and a switch to knock it out."
            )

    @together("scores", "tokens", "temperatures", "knocked", "layer", "head", "query")
    def _fits(self, **now: Any) -> None:
        _check(now)


def _check(now: dict[str, Any]) -> None:
    """Say what does not fit together."""
    scores = now["scores"]
    layers, heads, length, keys = scores.shape
    if length != keys or not layers or not heads or not length:
        raise FigureError(
            f"scores has shape {scores.shape}, but (layers, heads, tokens, tokens) is expected."
        )
    if length > MOST_TOKENS or heads > MOST_HEADS or layers > MOST_HEADS:
        raise FigureError(
            f"scores has shape {scores.shape}: the grid takes up to {MOST_HEADS} layers, "
            f"{MOST_HEADS} heads and {MOST_TOKENS} tokens. Choose a part of it."
        )
    if now["tokens"] and len(now["tokens"]) != length:
        raise FigureError(f"{len(now['tokens'])} tokens for {length} places: give one for each.")
    for name in ("temperatures", "knocked"):
        if now[name] is not None and now[name].shape != (layers, heads):
            raise FigureError(
                f"{name} has shape {now[name].shape}, but one for each head of scores is expected: "
                f"({layers}, {heads})."
            )
    if now["temperatures"] is not None and not (now["temperatures"] > 0).all():
        lowest = float(now["temperatures"].min())
        raise FigureError(f"temperatures holds {lowest:g}: every temperature must be above 0.")
    for name, count in (("layer", layers), ("head", heads), ("query", length)):
        if not 0 <= now[name] < count:
            raise FigureError(f"{name} is {now[name]}, but it goes from 0 to {count - 1}.")
