"""Softmax and its weighted mean in one pass: blocks of keys come one after the other."""

from typing import Any

from traitlets import Int

from attnlab.widgets.base import FigureError, LiveFigure, Numbers, bundle, stylesheet, together

MOST = 16  # keys that fit on a phone


class OnlineSoftmax(LiveFigure):
    """One query against a few keys, block by block; three numbers are kept, and shown.

    OnlineSoftmax([1.0, 3.0, 2.0, 5.0], values=[1.0, 0.0, 2.0, 4.0], block=2)

    `step` blocks have been taken. The last score can be pulled, to bring a late maximum.
    """

    figure = "online_softmax"
    _esm, _css = bundle("online_softmax"), stylesheet("online_softmax")

    scores = Numbers()
    values = Numbers()
    block = Int(2).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(self, scores: Any, values: Any, **traits: Any):
        super().__init__(
            scores=scores,
            values=values,
            **{
                "alt": "Scores of one query as bars, taken block by block. Beside them the "
                "largest score so far, the sum of exponentials and the weighted sum of values.",
                **traits,
            },
        )

    @together("scores", "values", "block", "step")
    def _fits(self, **now: Any) -> None:
        keys = len(now["scores"])
        if not 1 <= keys <= MOST or any(abs(score) > 50 for score in now["scores"]):
            raise FigureError(f"{keys} scores were given: 1 to {MOST}, from −50 to 50.")
        if len(now["values"]) != keys:
            raise FigureError(f"{len(now['values'])} values for {keys} scores: give one for each.")
        if not 1 <= now["block"] <= keys:
            raise FigureError(f"block is {now['block']}, but there are {keys} keys: 1 to {keys}.")
        if not 0 <= now["step"] <= keys:
            raise FigureError(f"step is {now['step']}: it goes from 0 to the number of blocks.")
