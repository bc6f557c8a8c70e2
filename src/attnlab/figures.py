"""Static figures: one style for the whole course, and words for those who cannot see them.

figures.use_style()                                    # once per notebook
fig, ax = plt.subplots()
figures.heatmap(ax, weights, rows=tokens, columns=tokens)
figures.show(fig, alt="Every word looks at itself.", caption="Look at the diagonal.")

`interactive` takes a plotly figure, where turning and hovering teach more than a printed plot.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullLocator

from attnlab import palette
from attnlab.palette import THEMES
from attnlab.pictures import Picture, small_png, smallest_file, smallest_letters

COLOURS = palette.inks()  # by name, on white; a sense has a name, too: palette.colour("query")


def _ramp(name: str, theme: str) -> LinearSegmentedColormap:
    made = LinearSegmentedColormap.from_list(_ramp_name(name, theme), palette.ramp(name, theme))
    matplotlib.colormaps.register(made, force=True)
    return made


def _ramp_name(name: str, theme: str) -> str:
    return name if theme == "light" else f"{name}-{theme}"


RAMPS = {(name, theme): _ramp(name, theme) for name in ("weights", "signed") for theme in THEMES}
WEIGHTS = RAMPS["weights", "light"]  # dark is much
MARKS = (0, 0.1, 0.3, 0.6, 1)  # on the scale of weights, as in the legend of live maps


def style(theme: str = "light") -> Any:
    """matplotlib's settings for a light or a dark page."""
    paper, text = palette.colour("bg", theme), palette.colour("black", theme)
    return {
        "axes.edgecolor": text,
        "axes.facecolor": paper,
        "axes.labelcolor": text,
        "axes.prop_cycle": cycler(color=list(palette.inks(theme).values())),
        "axes.grid": False,
        "axes.labelsize": 13,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 14,
        "figure.constrained_layout.use": True,
        "figure.dpi": 100,
        "figure.facecolor": paper,
        "figure.figsize": (7.0, 4.2),  # 700 px wide: fills a phone, or half a slide
        "font.size": 12,
        "image.cmap": _ramp_name("weights", theme),
        "image.interpolation": "nearest",
        "legend.fontsize": 12,
        "legend.frameon": False,
        "lines.linewidth": 2.2,
        "savefig.facecolor": paper,
        "text.color": text,
        "xtick.color": text,
        "xtick.labelsize": 12,
        "ytick.color": text,
        "ytick.labelsize": 12,
    }


def use_style(theme: str = "light") -> None:
    """Make the course's style the default of matplotlib."""
    plt.rcdefaults()
    plt.rcParams.update(style(theme))


def theme_now() -> str:
    """Which of the two styles is in use."""
    dark = str(plt.rcParams["figure.facecolor"]).lower() == palette.colour("bg", "dark")
    return "dark" if dark else "light"


def show(fig: Figure, *, alt: str, caption: str = "", dpi: int = 144) -> None:
    """Display `fig` and close it.

    `alt` says in words what the picture shows, for those who do not see it;
    `caption` says, below the picture, what to look for.
    """
    if not alt.strip():
        raise ValueError("alt is empty, but a figure needs words for those who cannot see it.")
    drawn: list[Any] = fig.findobj(AxesImage)
    photograph = any(image.get_array().ndim == 3 for image in drawn)
    data = smallest_file(fig, dpi, photograph=photograph)
    width, height = (round(100 * inches) for inches in fig.get_size_inches())
    words = " ".join(alt.split())
    picture = Picture(
        data, words, caption, (width, height),
        smallest=smallest_letters(fig), photograph=photograph,
    )  # fmt: skip
    plt.close(fig)
    display(picture)


def interactive(
    fig: Any,
    *,
    alt: str,
    caption: str = "",
    title: str = "",
    shape: float = 0.6,
    poster: Figure | None = None,
) -> Any:
    """A plotly figure as a live figure of the course; make it the last line of a cell.

    import plotly.graph_objects as go

    fig = go.Figure(go.Scatter3d(x=x, y=y, z=z, text=words, mode="markers+text",
                                 marker_color=palette.colour("query")))
    fig.update_layout(scene_xaxis_title="first direction")
    figures.interactive(fig, alt="Words in space, countries apart from cities.",
                        caption="Turn it: where do the countries lie?")

    It works in JupyterLab, Colab, on slides and on the website, from `file://` too. A picture
    is there first; plotly.js comes from the plotly package, once per page, when the reader is
    near. The slider walks through the points and the buttons turn or zoom, from the keyboard too.

    Take colours from `palette.colour(…)` and `colorscale(…)`: a dark page then has their dark
    twins. Fonts, background, grid and margins are the course's; give no template. `text` (or
    `hovertext`) names each point. `shape` is height / width. The picture is drawn from scatter,
    scatter3d, bar, heatmap and surface; for other kinds give `poster`, a figure of matplotlib.
    """
    from attnlab import posters
    from attnlab.widgets.plotly_figure import PlotlyFigure, plain

    words = " ".join(alt.split())
    if not words:
        raise ValueError("alt is empty, but a figure needs words for those who cannot see it.")
    chart = plain(fig)
    with matplotlib.rc_context(style()):
        drawn = poster or posters.draw(chart, shape)
        png = small_png(drawn, 110)
    plt.close(drawn)
    return PlotlyFigure(chart, png, alt=words, caption=caption, title=title, shape=shape)


def colorscale(name: str = "weights") -> list[list[Any]]:
    """A ramp of the palette, "weights" or "signed", as plotly's `colorscale`."""
    stops = palette.ramp(name)
    return [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)]


def heatmap(
    ax: Axes,
    matrix: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    row_label: str = "query",
    column_label: str = "key",
    law: str | None = None,
    low: float | None = None,
    high: float | None = None,
    digits: int = 2,
    numbers: bool | None = None,
    colourbar: bool = False,
) -> AxesImage:
    """Draw a matrix (L, S): one row per query, one column per key.

    `law` takes numbers to colours, as in the live maps (see `attnlab.palette`): "weights", from 0
    to `high` (1) by their square root; "signed", blue above 0 and orange below, up to `high`;
    "amounts", evenly from `low` to `high`. Left out, it is found from the numbers: any below 0
    make it signed, all within 0 … 1 and no `low` make it weights.

    Numbers are written into the cells when they are few and fit (`numbers=None`), in black or
    white, whichever can be read.
    """
    values = np.asarray(matrix.detach().cpu() if hasattr(matrix, "detach") else matrix, dtype=float)
    _check_labels(values, rows, columns)
    length, width = values.shape
    inches = _cell_inches(ax, length, width)
    law = law or _law(values, low)
    ramp = RAMPS["signed" if law == "signed" else "weights", theme_now()]
    image = ax.imshow(values, cmap=ramp, norm=_norm(law, values, low, high), aspect="equal")
    ax.set_title(title)
    ax.set_xlabel(column_label)
    ax.set_ylabel(row_label)
    for axis, count, labels in ((ax.yaxis, length, rows), (ax.xaxis, width, columns)):
        if labels is not None:
            axis.set_ticks(np.arange(count), list(labels))
    if columns is not None:
        letters = sum(len(label) for label in columns)
        longest = max(len(label) for label in columns)
        if (letters > 28 and longest > 2) or letters + width > 9 * inches * width:
            plt.setp(ax.get_xticklabels(), rotation=60, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    # The lightest cells are nearly white.
    ax.spines[:].set(visible=True, color=palette.colour("line", theme_now()))
    few = values.size <= 64 and max(values.shape) <= 10 and inches > 0.4
    if numbers if numbers is not None else few:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                ink = palette.ink_on(*image.to_rgba(value)[:3])
                ax.text(j, i, f"{value:.{digits}f}", ha="center", va="center", color=ink, size=11)
    if colourbar:
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.85)
        if law == "weights":
            bar.set_ticks([mark * image.get_clim()[1] for mark in MARKS])
    return image


def _law(values: np.ndarray, low: float | None) -> str:
    finite = values[np.isfinite(values)]
    if low is not None or not finite.size:
        return "weights" if low is None else "amounts"
    return palette.law_of(float(finite.min()), float(finite.max()))


def _norm(law: str, values: np.ndarray, low: float | None, high: float | None) -> Normalize:
    """From a number to a position on the ramp, 0 … 1."""
    finite = values[np.isfinite(values)]
    if law == "weights":
        return PowerNorm(0.5, vmin=0.0, vmax=1.0 if high is None else high)
    if law == "signed":
        limit = high if high is not None else float(np.abs(finite).max(initial=0)) or 1.0
        return Normalize(-limit, limit)
    if law == "amounts":
        return Normalize(low, high)
    raise ValueError(f'law is {law!r}, but it must be "weights", "signed" or "amounts".')


def plain_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 times every power of ten, as plain numbers.

    On its own, an axis that spans less than a power of ten may have a single tick.
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
    """Lay attention weights (rows, columns) over a picture (height, width, 3): bright = large.

    The cell with the largest weight has a solid frame, `boxes` (left, top, right, bottom, in
    pixels) have dashed ones: nothing is shown by colour alone.
    """
    grid = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
    height, width = picture.shape[:2]
    down, across = height / grid.shape[0], width / grid.shape[1]
    extent = (0, width, height, 0)
    ax.imshow(picture, extent=extent, interpolation="bilinear")
    veil = np.zeros((*grid.shape, 4))
    bright = np.vectorize(palette.weight_place)(grid, max(float(grid.max()), 1e-12))
    veil[..., 3] = 0.76 * (1 - bright)
    ax.imshow(veil, extent=extent)
    row, column = np.unravel_index(int(grid.argmax()), grid.shape)
    frames = [(column * across, row * down, across, down, palette.colour("peak"), "-")]
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
