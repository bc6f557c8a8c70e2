"""A plotly figure that works wherever the course is read: see `attnlab.figures.interactive`.

plotly.js (4.8 MB, from the plotly package) is loaded once per page, and only when the reader comes
near: until then a picture is shown. On the static site it is beside the figures' scripts, as
`live/plotly.js`; in JupyterLab and Colab the kernel sends it. Nothing comes from the network.
"""

import base64
import gzip
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from traitlets import Dict, Float, Int, List, Unicode, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet, together

SCRIPT = "live/plotly.js"  # beside the scripts of the other figures
MOST_POINTS = 600  # that the slider walks through
# Kinds that fetch tiles or outlines of countries from the network.
DISTANT = ("geo", "mapbox", "choropleth", "scattermap", "densitymap")


class PlotlyFigure(LiveFigure):
    """Turn, zoom and hover with the mouse; slider and buttons do the same from the keyboard.

    Made by `attnlab.figures.interactive`.
    """

    figure = "plotly_figure"
    _esm, _css = bundle("plotly_figure"), stylesheet("plotly_figure")
    made = ("chart", "points", "poster")

    chart = Dict().tag(sync=True)  # {"data": [...], "layout": {...}}, as plotly.js takes them
    points: Any = List().tag(
        sync=True
    )  # [trace, index in the trace, words] of all that can be chosen
    point = Int(-1).tag(sync=True)  # which of them is lit; -1: none
    shape = Float(0.6).tag(sync=True)  # height / width
    poster = Unicode("").tag(sync=True)  # a PNG, base64

    def __init__(self, chart: dict[str, Any], poster: bytes, **traits: Any):
        if not isinstance(chart, dict) or not isinstance(poster, bytes) or "data" not in chart:
            raise FigureError(
                f"chart is a {type(chart).__name__} and poster a {type(poster).__name__}: give "
                "plotly's data and layout, and a PNG; attnlab.figures.interactive does."
            )
        for trace in chart["data"]:
            kind = str(trace.get("type", "scatter"))
            if any(part in kind for part in DISTANT):
                raise FigureError(f"{kind} asks the network for its map; draw it another way.")
        super().__init__(
            chart=chart,
            points=_points(chart["data"]),
            poster=base64.b64encode(poster).decode("ascii"),
            **traits,
        )
        self.on_msg(self._answer)

    @together("point", "points")
    def _fits(self, **now: Any) -> None:
        if not -1 <= now["point"] < max(1, len(now["points"])):
            raise FigureError(f"point is {now['point']}: there are {len(now['points'])} points.")

    @validate("shape")
    def _drawable(self, proposal: Any) -> float:
        if not 0.1 <= proposal["value"] <= 10:
            raise FigureError(f"shape is {proposal['value']}: give height / width, 0.1 to 10.")
        return float(proposal["value"])

    def static_state(self) -> dict[str, Any]:
        state = super().static_state()
        state.pop("poster")  # it is already in the page: the fallback
        return state

    def fallback(self) -> str:
        words = self.alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        return (
            f'<div class="al-fallback"><img class="al-poster" alt="{words}" width="720"'
            f' height="{round(720 * self.shape)}" src="data:image/png;base64,{self.poster}"></div>'
        )

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, dict) and message.get("kind") == "plotly.js":
            # Compressed: a server of JupyterLab refuses more than 3 MB at once.
            self.send({"kind": "plotly.js"}, buffers=[_compressed()])


def plain(fig: Any) -> dict[str, Any]:
    """A plotly figure as lists and numbers of six digits, without plotly's own look."""
    found = fig.to_plotly_json()
    layout = {key: value for key, value in found.get("layout", {}).items() if key != "template"}
    made: dict[str, Any] = _plain({"data": found["data"], "layout": layout})
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if "bdata" in value:
            flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            shape = [int(n) for n in str(value.get("shape", len(flat))).split(",")]
            return _plain(flat.reshape(shape))
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _points(traces: list[dict[str, Any]]) -> list[list[Any]]:
    """Everything a reader can choose, with what is read out: its words, then its numbers."""
    made: list[list[Any]] = []
    for t, trace in enumerate(traces):
        drawn = trace.get("type", "scatter") != "bar" and "markers" not in str(
            trace.get("mode", "markers")
        )
        columns = [trace[axis] for axis in ("x", "y", "z") if _is_row(trace.get(axis))]
        if drawn or len(columns) < 2 or trace.get("hoverinfo") == "skip":
            continue
        words = next((trace[k] for k in ("hovertext", "text") if _is_row(trace.get(k))), None)
        for i, values in enumerate(zip(*columns, strict=False)):
            said = ", ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in values)
            name = words[i] if words is not None else trace.get("name", "")
            made.append([t, i, f"{name}: {said}" if name else said])
    return made[:MOST_POINTS]


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not isinstance(value[0], list)


def plotly_js() -> Path:
    """The file in the plotly package."""
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


@cache
def _compressed() -> bytes:
    return gzip.compress(plotly_js().read_bytes(), 6)


def write_plotly(pages: Iterable[str], directory: Path) -> Path | None:
    """Put plotly.js beside the scripts of the figures, where one of these pages needs it."""
    target = directory / SCRIPT
    if not any('data-widget="plotly_figure"' in text for text in pages):
        target.unlink(missing_ok=True)
        return None
    if not target.exists() or target.stat().st_size != plotly_js().stat().st_size:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(plotly_js().read_bytes())
    return target
