"""The loss, drawn while it falls: a figure that is replaced about once a second, or less often
where drawing is slow.
"""

import math
import time
from collections.abc import Sequence
from typing import Any

ALT = "The training loss against the number of steps."
CAPTION = "Thin: every batch. Thick: the running mean. Is it still falling at the end?"


class LiveLoss:
    """`update` is cheap and may be called at every step. Outside a notebook it does nothing."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.seconds = seconds
        self.last = -math.inf
        self.handle: Any = None
        self.alive = in_notebook()

    def update(self, losses: Sequence[float]) -> None:
        if self.alive and time.monotonic() - self.last > self.seconds:
            start = time.monotonic()
            self._draw(losses)
            self.last = time.monotonic()
            self.seconds = max(self.seconds, 20 * (self.last - start))  # 5 % of the time at most

    def finish(self, losses: Sequence[float]) -> None:
        if self.alive and losses:
            self._draw(losses)

    def _draw(self, losses: Sequence[float]) -> None:
        from IPython.display import display

        picture = loss_picture(losses)
        if self.handle is None:
            self.handle = display(picture, display_id=True)
        else:
            self.handle.update(picture)


def loss_picture(losses: Sequence[float]) -> Any:
    """The losses of a training, as a `Picture`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from attnlab.figures import COLOURS, plain_ticks, style, theme_now
    from attnlab.pictures import Picture, small_png, smallest_letters

    with rc_context(style(theme_now())):  # in GPU notebooks, too, which draw nothing else
        figure = Figure(figsize=(7, 2.6), layout="constrained")
        ax = figure.add_subplot()
        ax.plot(losses, color=COLOURS["sky"], linewidth=0.8, alpha=0.5)
        ax.plot(_smooth(losses), color=COLOURS["blue"], linewidth=2)
        # Equal losses, or none above 0, have no range that a logarithm could spread.
        above = [loss for loss in losses if loss > 1e-30]
        scale = "log" if above and max(above) > 1.001 * min(above) else "linear"
        ax.set(xlabel="step", ylabel="loss", yscale=scale, title="Training loss")
        if scale == "log" and max(above) < 100 * min(above):
            plain_ticks(ax.yaxis)  # less than two powers of ten: 3, not 3 × 10⁰
        data = small_png(figure, 120)
    return Picture(data, ALT, CAPTION, (700, 260), smallest=smallest_letters(figure))


def _smooth(losses: Sequence[float], keep: float = 0.95) -> list[float]:
    """Running mean, corrected for its start at nothing."""
    smooth, mean, share = [], 0.0, 0.0
    for loss in losses:
        mean, share = keep * mean + (1 - keep) * loss, keep * share + (1 - keep)
        smooth.append(mean / share)
    return smooth


def in_notebook() -> bool:
    """Whether there is a kernel, and so somebody who sees pictures."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
