"""What attention costs as pictures grow: global against windows."""

from typing import Any

from traitlets import Int

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet, together

SIZES = (112, 224, 448, 672, 896, 1344, 1792)


class WindowCost(LiveFigure):
    """Multiplications of one attention layer by the picture's size (Liu et al. 2021, eq. 1, 2).

    WindowCost(size=224, patch=4, window=7, width=96)

    global: 4·hw·E² + 2·(hw)²·E      windows: 4·hw·E² + 2·M²·hw·E

    A picture smaller than a window is one window, as in `WindowAttention`.
    """

    figure = "window_cost"
    _esm, _css = bundle("window_cost"), stylesheet("window_cost")

    size = Int(224).tag(sync=True)
    patch = Int(4).tag(sync=True)
    window = Int(7).tag(sync=True)
    width = Int(96).tag(sync=True)

    def __init__(self, **traits: Any):
        super().__init__(
            **{"alt": "Cost of global and window attention by picture size.", **traits}
        )

    @together("size", "patch", "window", "width")
    def _fits(self, **now: Any) -> None:
        if now["size"] not in SIZES or now["patch"] not in (4, 8, 16):
            raise FigureError(
                f"size is {now['size']} and patch {now['patch']}: sizes are "
                f"{', '.join(map(str, SIZES))}, patches 4, 8 and 16."
            )
        if not 2 <= now["window"] <= 16 or not 1 <= now["width"] <= 4096:
            raise FigureError(
                f"window is {now['window']} and width {now['width']}: 2 to 16 and 1 to 4096."
            )
