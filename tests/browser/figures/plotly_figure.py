"""A plotly figure: which point is lit, and what is said of it."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from attnlab import figures, palette
from attnlab.widgets.base import LiveFigure
from tests.browser.live import Live
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    """The words are made again from the chart's own numbers."""
    chosen = state["point"]
    if chosen < 0:
        return {"point": -1, "words": ""}
    trace, i, _ = state["points"][chosen]
    data = state["chart"]["data"][trace]
    numbers = [data[axis][i] for axis in "xyz" if axis in data]
    said = ", ".join(f"{n:.3g}" if isinstance(n, float) else str(n) for n in numbers)
    return {"point": chosen, "words": f"{data['text'][i]}: {said}" if "text" in data else said}


def examples() -> list[LiveFigure]:
    x, y, z = np.round(random(3, 7).double().numpy(), 3)
    words = [f"word {i}" for i in range(7)]
    cloud = go.Scatter3d(
        x=x, y=y, z=z, text=words, mode="markers+text", marker_color=palette.colour("query")
    )
    bars = go.Bar(x=["a", "b", "c"], y=[1.5, 2.5, 0.5], marker_color=palette.colour("value"))
    three = figures.interactive(go.Figure(bars), alt="Three bars.", shape=0.4)
    three.point = 1
    return [figures.interactive(go.Figure(cloud), alt="Seven words in space."), three]


def rogue(words: list[str]) -> LiveFigure:
    cloud = go.Scatter(x=[1.0, 2.0], y=[2.0, 1.0], text=words[:2], mode="markers+text")
    figure = go.Figure(cloud).update_layout(xaxis_title=words[2], yaxis_title=words[3])
    return figures.interactive(figure, alt=words[1], title=words[0], caption=words[6])


def move(live: Live) -> None:
    """Walk to the first point, once plotly is there."""
    live.place.scroll_into_view_if_needed()
    live.place.locator("[data-plotly=yes]").wait_for()
    live.controls("input[type=range]")[0].press("ArrowRight")
