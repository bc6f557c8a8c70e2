"""The picture that stands for a plotly figure until plotly.js is there, drawn by matplotlib.

It is what readers without scripts, printers and PDFs get. Kinds it knows: points, lines and words
(`scatter`, `scattergl`, `scatter3d`), `bar`, `heatmap` and `surface`.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from attnlab import palette

MARKS = {"circle": "o", "square": "s", "diamond": "D", "cross": "P", "x": "X", "circle-open": "o"}
MOST_WORDS = 40  # more would lie on each other


def draw(chart: dict[str, Any], shape: float) -> Figure:
    """The chart (`widgets.plotly_figure.plain`) as a figure of matplotlib, `shape` times as high
    as it is wide. A kind it does not know is refused with its name.
    """
    kinds = {str(trace.get("type", "scatter")) for trace in chart["data"]}
    unknown = kinds - set(_PAINT)
    if unknown:
        raise ValueError(
            f"no picture can be made of {', '.join(sorted(unknown))}; give poster=, a figure of "
            f"matplotlib. Known are {', '.join(_PAINT)}."
        )
    solid = bool(kinds & {"scatter3d", "surface"})
    fig = plt.figure(figsize=(7.2, 7.2 * shape))
    ax: Any = fig.add_subplot(projection="3d" if solid else None)
    inks = list(palette.inks().values())
    layout = chart["layout"]
    for i, trace in enumerate(chart["data"]):
        _PAINT[trace.get("type", "scatter")](ax, trace, _colour(trace, inks[i % len(inks)]))
    axes = layout.get("scene", {}) if solid else layout
    for letter in "xyz" if solid else "xy":
        axis = axes.get(f"{letter}axis", {})
        getattr(ax, f"set_{letter}label")(_words(axis.get("title")))
        if axis.get("type") == "log":
            getattr(ax, f"set_{letter}scale")("log")
        if axis.get("showticklabels") is False:
            getattr(ax, f"set_{letter}ticklabels")([])
    if solid:
        eye = axes.get("camera", {}).get("eye", {"x": 1.4, "y": 1.4, "z": 1.1})
        flat = np.hypot(eye["x"], eye["y"])
        ax.view_init(
            np.degrees(np.arctan2(eye["z"], flat)), np.degrees(np.arctan2(eye["y"], eye["x"]))
        )
    ax.set_title(_words(layout.get("title")))
    named = [trace for trace in chart["data"] if trace.get("name")]
    if len(named) > 1 and layout.get("showlegend") is not False:
        ax.legend()
    return fig


def _words(title: Any) -> str:
    text = title.get("text", "") if isinstance(title, dict) else title or ""
    return str(text).replace("<br>", "\n").replace("<b>", "").replace("</b>", "")


def _colour(trace: dict[str, Any], ink: str) -> Any:
    """One colour, or one number per point with the ramp they are looked up in."""
    for part in ("marker", "line"):
        found = trace.get(part, {}).get("color")
        if isinstance(found, str) or (isinstance(found, list) and found):
            return found
    return ink


def _ramp(part: dict[str, Any]) -> Any:
    """The ramp that a marker, a map or a surface names stop by stop, or that of weights."""
    stops = part.get("colorscale")
    if not isinstance(stops, list | tuple):
        return "weights"
    return LinearSegmentedColormap.from_list("given", [(at, colour) for at, colour in stops])


def _points(ax: Any, trace: dict[str, Any], colour: Any) -> None:
    mode = trace.get("mode", "lines+markers" if len(trace.get("x", ())) < 20 else "lines")
    columns = [trace[axis] for axis in ("x", "y", "z") if axis in trace]
    label = trace.get("name")
    one = colour if isinstance(colour, str) else None
    if "lines" in mode:
        dash = {"dash": "--", "dot": ":", "dashdot": "-."}.get(trace.get("line", {}).get("dash"))
        ink = trace.get("line", {}).get("color", one)
        ax.plot(*columns, color=ink, ls=dash or "-", label=label)
        label = None
    if "markers" in mode:
        size = trace.get("marker", {}).get("size", 8)
        area = np.square(np.asarray(size, dtype=float))
        mark = MARKS.get(trace.get("marker", {}).get("symbol"), "o")
        ramp = None if one else _ramp(trace.get("marker", {}))
        ax.scatter(*columns, s=area, c=colour, marker=mark, label=label, cmap=ramp)
    if "text" in mode and isinstance(trace.get("text"), list):
        step = max(1, len(trace["text"]) // MOST_WORDS)
        for i in range(0, len(trace["text"]), step):
            ax.text(*(column[i] for column in columns), f" {trace['text'][i]}", size=11)


def _bars(ax: Any, trace: dict[str, Any], colour: Any) -> None:
    paint = ax.barh if trace.get("orientation") == "h" else ax.bar
    places, lengths = (trace["x"], trace["y"]) if paint == ax.bar else (trace["y"], trace["x"])
    paint(places, lengths, color=colour, label=trace.get("name"))


def _map(ax: Any, trace: dict[str, Any], _: Any) -> None:
    height = np.asarray(trace["z"], dtype=float)
    ax.imshow(height, cmap=_ramp(trace), aspect="auto", origin="lower")


def _surface(ax: Any, trace: dict[str, Any], _: Any) -> None:
    height = np.asarray(trace["z"], dtype=float)
    x = np.asarray(trace.get("x", np.arange(height.shape[1])), dtype=float)
    y = np.asarray(trace.get("y", np.arange(height.shape[0])), dtype=float)
    if x.ndim == 1:
        x, y = np.meshgrid(x, y)
    ax.plot_surface(x, y, height, cmap=_ramp(trace))


_PAINT = {
    "scatter": _points, "scattergl": _points, "scatter3d": _points,
    "bar": _bars, "heatmap": _map, "surface": _surface,
}  # fmt: skip
