"""Shifted windows on a picture: partition, shift, mask, attend, reverse, and whom a token sees."""

from typing import Any

from traitlets import Bool, Int

from attnlab.widgets.base import Array, FigureError, LiveFigure, bundle, stylesheet, together
from attnlab.widgets.patch_attention import _pixels

STEPS = ("picture", "shift", "partition", "mask", "attend", "reverse")


class WindowExplorer(LiveFigure):
    """A picture of side × side tokens, cut into windows of window × window, rolled by `shift`.

    WindowExplorer(image=pixels, side=24, window=6, shift=3, row=5, column=5)

    `step` goes from 0 (the picture) to 5 (back in place). `blocks` says how many blocks to look
    back: shifted and plain ones in turn, the shifted one last. `masked=False` leaves the mask out.
    """

    figure = "window_explorer"
    _esm, _css = bundle("window_explorer"), stylesheet("window_explorer")
    made = ("image",)

    image = Array((3,), "uint8")  # (S, S, 3)
    side = Int(24).tag(sync=True)
    window = Int(6).tag(sync=True)
    shift = Int(3).tag(sync=True)
    step = Int(0).tag(sync=True)
    row = Int(0).tag(sync=True)
    column = Int(0).tag(sync=True)
    blocks = Int(1).tag(sync=True)
    masked = Bool(True).tag(sync=True)

    def __init__(self, *, image: Any, **traits: Any):
        words = "A picture cut into windows, shifted, masked; a token and what it may see."
        super().__init__(image=_pixels(image), **{"alt": words, **traits})

    @together("side", "window", "shift", "step", "row", "column", "blocks")
    def _fits(self, **now: Any) -> None:
        side, window = now["side"], now["window"]
        if not 4 <= side <= 32 or not 2 <= window < side or side % window:
            raise FigureError(
                f"side is {side} and window {window}: a side of 4 to 32 tokens that windows of 2 "
                "or more divide, at least two along it."
            )
        if not 0 <= now["shift"] < window:
            raise FigureError(f"shift is {now['shift']}: it lies in 0…{window - 1}.")
        if not (0 <= now["row"] < side and 0 <= now["column"] < side):
            raise FigureError(
                f"row {now['row']} and column {now['column']} are outside of {side} × {side}."
            )
        if not 0 <= now["step"] < len(STEPS) or not 1 <= now["blocks"] <= 12:
            raise FigureError(
                f"step is {now['step']} and blocks {now['blocks']}: steps go from 0 to 5, blocks "
                "from 1 to 12."
            )
