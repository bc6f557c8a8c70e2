"""One head of self-attention with every number open to the reader."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from traitlets import Bool, observe, validate

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    Temperature,
    Words,
    bundle,
    stylesheet,
    together,
)

MOST_TOKENS, MOST_WIDTH = 6, 4  # what stays readable on a slide


class AttentionWorkbench(LiveFigure):
    """Edit X and the projections, and follow X → Q, K, V → scores → mask → weights → output.

    AttentionWorkbench(["the", "cat", "sat"], x, w_q, w_k, w_v, causal=True)

    x is (L, E), one row per token; w_q and w_k are (E, D), w_v is (E, any width). A reader changes
    numbers, words, temperature and mask; Python sees every change in the traits. `edited` is the
    mask drawn by hand (bool, True = may attend), None while nothing was drawn.
    """

    figure = "attention_workbench"
    _esm, _css = bundle("attention_workbench"), stylesheet("attention_workbench")

    tokens = Words()
    x = Array((2,))
    w_q = Array((2,))
    w_k = Array((2,))
    w_v = Array((2,))
    temperature = Temperature()
    scaled = Bool(True).tag(sync=True)
    causal = Bool(False).tag(sync=True)
    edited = Array((2,), "bool", allow_none=True)

    def __init__(self, tokens: Iterable[Any], x: Any, w_q: Any, w_k: Any, w_v: Any, **traits: Any):
        super().__init__(tokens=tokens, x=x, w_q=w_q, w_k=w_k, w_v=w_v, **traits)
        if not self.alt:
            self.alt = (
                f"Self-attention of {len(self.tokens)} tokens, one matrix after the other: "
                "X, Q, K, V, scores, scaled, masked, weights and output. All numbers can be edited."
            )

    @property
    def allowed(self) -> np.ndarray:
        """The mask in force, bool (L, L)."""
        if self.edited is not None:
            return self.edited
        n = len(self.tokens)
        return np.tri(n, dtype=bool) if self.causal else np.ones((n, n), dtype=bool)

    @together("tokens", "x", "w_q", "w_k", "w_v")
    def _fits(self, **now: Any) -> None:
        _check(**now)

    @validate("edited")
    def _whole_mask(self, proposal: Any) -> np.ndarray | None:
        value, n = proposal["value"], len(self.tokens)
        if value is not None and value.shape != (n, n):
            raise FigureError(f"edited has shape {value.shape}, but {n} tokens need ({n}, {n}).")
        return value

    # What was drawn by hand belongs to the tokens and the mask it was drawn on.
    @observe("tokens", "edited", "causal")
    def _forget_edits(self, _change: Any) -> None:
        old, was_causal = self._drawn
        stale = was_causal != self.causal and np.array_equal(old, self.edited)
        self._drawn = (self.edited, self.causal)
        if self.edited is not None and (stale or len(self.edited) != len(self.tokens)):
            self.edited = None

    _drawn: tuple[Any, Any] = (None, None)


def _check(tokens: list[str], x: Any, w_q: Any, w_k: Any, w_v: Any) -> None:
    """Say what does not fit together."""
    for name, value in {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v}.items():
        if 0 in value.shape:
            raise FigureError(f"{name} is empty: the workbench needs x, w_q, w_k and w_v.")
        if value.shape[1] > MOST_WIDTH or (name != "x" and value.shape[0] > MOST_WIDTH):
            raise FigureError(
                f"{name} has shape {value.shape}: the workbench shows vectors of at most "
                f"{MOST_WIDTH} numbers, so that each can be read and edited."
            )
    if not 1 <= len(tokens) <= MOST_TOKENS:
        raise FigureError(
            f"{len(tokens)} tokens: the workbench shows 1 to {MOST_TOKENS} of them; for more "
            "use AttentionHeatmap."
        )
    together = "Change both at once with figure.change(...)."
    if len(tokens) != len(x):
        raise FigureError(
            f"{len(tokens)} tokens but x has {len(x)} rows: give one row for each token. {together}"
        )
    for name, matrix in {"w_q": w_q, "w_k": w_k, "w_v": w_v}.items():
        if matrix.shape[0] != x.shape[1]:
            raise FigureError(
                f"{name} has shape {matrix.shape}, but x has rows of {x.shape[1]} numbers: "
                f"x @ {name} needs {name} to have {x.shape[1]} rows. {together}"
            )
    if w_q.shape != w_k.shape:
        raise FigureError(
            f"w_q {w_q.shape} and w_k {w_k.shape} differ: queries and keys meet in a dot product, "
            f"so both need one width. {together}"
        )
