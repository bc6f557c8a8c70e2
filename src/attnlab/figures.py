"""Static figures: one look for the whole course, and words for those who cannot see them.

figures.use_style()                                    # once per notebook
fig, ax = plt.subplots()
figures.heatmap(ax, weights, rows=tokens, columns=tokens)
figures.show(fig, alt="Every word looks at itself.", caption="Look at the diagonal.")
"""

import base64
import html
import io
from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullLocator
from PIL import Image

# After Okabe & Ito 2008, whose colours people with any kind of colour vision can tell apart; a
# little darker, to stand out from white by 3 to 1. Live figures (widgets/static/kit.js) have the
# same on a light page, which a test compares.
COLOURS = {
    "blue": "#005299",
    "orange": "#CC8500",
    "green": "#008561",
    "red": "#B24D00",
    "purple": "#A6628F",
    "sky": "#419CD9",
    "black": "#000000",
    "yellow": "#F0E442",
}

# Dark is much: the ramp of the live maps on a light page (widgets/static/kit.js), which a test
# compares. Monotone in lightness, so it also reads in grey.
WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#fafaf7", "#bed6e8", "#6ba4ce", "#2868a5", "#08285f"]
)
matplotlib.colormaps.register(WEIGHTS, force=True)
LINE = "#d5d9de"

STYLE: Any = {
    "axes.prop_cycle": cycler(color=list(COLOURS.values())),
    "axes.grid": False,
    "axes.labelsize": 13,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 14,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.figsize": (7.0, 4.2),  # 700 px wide: fills a phone, and half a slide
    "font.size": 12,
    "image.cmap": "weights",
    "image.interpolation": "nearest",
    "legend.fontsize": 12,
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "savefig.facecolor": "white",
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
}


def use_style() -> None:
    """Make the course's look the default of matplotlib."""
    plt.rcdefaults()
    plt.rcParams.update(STYLE)


class Picture:
    """What `show` displays: a figure with alt text, and a line of text where there is no HTML."""

    def __init__(self, png: bytes, alt: str, caption: str, width: int) -> None:
        self.png, self.alt, self.caption, self.width = png, alt, caption, width

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode("ascii")
        words = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return (
            '<figure style="margin: 1em 0">'
            f'<img alt="{html.escape(self.alt)}" src="data:image/png;base64,{data}"'
            f' width="{self.width}" style="max-width: 100%; height: auto; background: white">'
            f"{words}</figure>"
        )


def show(fig: Figure, *, alt: str, caption: str = "", dpi: int = 160) -> None:
    """Display `fig` and close it.

    `alt` says in words what the picture shows, for those who do not see it;
    `caption` says, below the picture, what to look for.
    """
    if not alt.strip():
        raise ValueError("alt is empty, but a figure needs words for those who cannot see it.")
    png = _png(fig, dpi)
    width = round(fig.get_figwidth() * 100)
    plt.close(fig)
    display(Picture(png, " ".join(alt.split()), caption, width))


def _png(fig: Figure, dpi: int) -> bytes:
    """The figure with a palette of 256 colours: a third of the bytes, and nobody sees it."""
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    small = io.BytesIO()
    with Image.open(buffer) as drawn:
        drawn.convert("RGB").quantize(256).save(small, format="png", optimize=True)
    return small.getvalue()


def heatmap(
    ax: Axes,
    matrix: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    row_label: str = "query",
    column_label: str = "key",
    low: float | None = 0.0,
    high: float | None = None,
    digits: int = 2,
    numbers: bool | None = None,
    colourbar: bool = False,
) -> AxesImage:
    """Draw a matrix (L, S): one row a query, one column a key.

    Numbers are written into the cells when there are few and they fit (`numbers=None`), in black
    or white, whichever can be read. `low` and `high` fix the ends of the colour scale.
    """
    values = np.asarray(matrix.detach().cpu() if hasattr(matrix, "detach") else matrix, dtype=float)
    _check_labels(values, rows, columns)
    length, width = values.shape
    inches = _cell_inches(ax, length, width)
    image = ax.imshow(values, cmap=WEIGHTS, vmin=low, vmax=high, aspect="equal")
    ax.set_title(title)
    ax.set_xlabel(column_label)
    ax.set_ylabel(row_label)
    for axis, count, labels in ((ax.yaxis, length, rows), (ax.xaxis, width, columns)):
        if labels is not None:
            axis.set_ticks(np.arange(count), list(labels))
    if columns is not None:
        letters = sum(len(label) for label in columns)
        if letters > 28 or letters + width > 9 * inches * width:
            plt.setp(ax.get_xticklabels(), rotation=60, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    ax.spines[:].set(visible=True, color=LINE)  # the lightest cells are nearly white
    few = values.size <= 64 and max(values.shape) <= 10 and inches > 0.4
    if numbers if numbers is not None else few:
        light, dark = image.get_clim()
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                ink = "white" if value - light > 0.677 * (dark - light) else "black"
                ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", color=ink, size=11)
    if colourbar:
        ax.figure.colorbar(image, ax=ax, shrink=0.85)
    return image


def plain_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 times every power of ten, as plain numbers.

    By itself an axis that spans less than a power of ten may have a single tick.
    """
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def _cell_inches(ax: Axes, rows: int, columns: int) -> float:
    """About how wide a square cell will be, before the layout is known."""
    box = ax.get_window_extent()
    return min(box.width / columns, box.height / rows) / ax.figure.dpi


def look(
    ax: Axes,
    picture: np.ndarray,
    weights: Any,
    boxes: Sequence[tuple[int, int, int, int]] = (),
    *,
    title: str = "",
) -> None:
    """Lay attention weights (rows, columns) over a picture (height, width, 3): bright is looked at.

    The cell with the largest weight has a solid frame, `boxes` (left, top, right, bottom, in
    pixels) have dashed ones: nothing is told by colour alone.
    """
    grid = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
    height, width = picture.shape[:2]
    down, across = height / grid.shape[0], width / grid.shape[1]
    extent = (0, width, height, 0)
    ax.imshow(picture, extent=extent, interpolation="bilinear")
    veil = np.zeros((*grid.shape, 4))
    veil[..., 3] = 0.76 * (1 - np.sqrt(grid / max(float(grid.max()), 1e-12)))
    ax.imshow(veil, extent=extent)
    row, column = np.unravel_index(int(grid.argmax()), grid.shape)
    frames = [(column * across, row * down, across, down, COLOURS["orange"], "-")]
    frames += [(x, y, right - x, low - y, "white", "--") for x, y, right, low in boxes]
    for x, y, wide, high, colour, line in frames:
        ax.add_patch(Rectangle((x, y), wide, high, fill=False, ec=colour, ls=line, lw=1.8))
    ax.set_title(title)
    ax.set_axis_off()


def _check_labels(
    values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str] | None
) -> None:
    if values.ndim != 2:
        raise ValueError(
            f"matrix has shape {values.shape}, but a heatmap has rows and columns: choose one "
            "head and one sentence, for example weights[0, 0]."
        )
    for name, labels, count in (
        ("rows", rows, values.shape[0]),
        ("columns", columns, values.shape[1]),
    ):
        if labels is not None and len(labels) != count:
            raise ValueError(
                f"{len(labels)} labels were given for {count} {name}, but each needs one: the "
                f"matrix has shape {values.shape}."
            )
