"""The colours of cells on a light page, by the laws of `attnlab.palette`.

On a dark page, and whenever a value changes, the browser paints the cells itself.
"""

from collections.abc import Sequence

import numpy as np

from attnlab import palette

LAWS = ("weights", "signed", "amounts")


def law_of(values: Sequence[np.ndarray]) -> str:
    """The law that fits the numbers of all steps."""
    lows, highs = (one.min() for one in values), (one.max() for one in values)
    return palette.law_of(float(min(lows)), float(max(highs)))


def cell(value: float, scale: float, law: str) -> tuple[str, str]:
    """The colour of a cell, and the ink that can be read on it."""
    if law == "signed":
        place = 0.5 + value / (2 * scale)
    else:
        place = palette.weight_place(value, scale) if law == "weights" else value / scale
    mixed = palette.on_ramp("signed" if law == "signed" else "weights", place)
    ink = {"black": "#000", "white": "#fff"}[palette.ink_on(*(channel / 255 for channel in mixed))]
    return "#{:02x}{:02x}{:02x}".format(*mixed), ink
