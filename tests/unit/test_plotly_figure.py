"""plotly figures: plain numbers, words for every point, a picture that stands for them."""

import base64
import gzip
import io
import json

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from PIL import Image, ImageColor

from attnlab import figures, palette
from attnlab.widgets import PlotlyFigure
from attnlab.widgets.base import FigureError
from attnlab.widgets.plotly_figure import SCRIPT, plain, plotly_js, write_plotly


def cloud(**more):
    trace = go.Scatter3d(
        x=np.arange(3) / 3, y=torch.ones(3), z=[1, 2, 3], text=["a", "b", "<i>"],
        mode="markers", **more,
    )  # fmt: skip
    return go.Figure(trace)


def made(fig=None, **options):
    return figures.interactive(fig or cloud(), **{"alt": "Three points rise.", **options})


def test_numbers_are_plain_and_the_look_is_ours():
    chart = plain(cloud())
    assert chart["data"][0]["x"] == [0.0, 0.333333, 0.666667]
    assert chart["data"][0]["y"] == [1.0, 1.0, 1.0]
    assert "template" not in chart["layout"]
    json.dumps(chart)


def test_every_point_has_words():
    lines = go.Scatter(x=[1, 2], y=[3.0, 4.0], mode="lines", name="fit")
    bars = go.Bar(x=["p", "q"], y=[0.5, 0.25], name="share")
    figure = made(go.Figure([lines, bars]))
    assert figure.points == [[1, 0, "share: p, 0.5"], [1, 1, "share: q, 0.25"]]
    assert made().points[2] == [0, 2, "<i>: 0.667, 1, 3"]


def test_the_picture_comes_first_and_its_words_cannot_leave_it():
    figure = made(alt='rise "quickly" <b>')
    html = figure.to_html()
    assert 'alt="rise &quot;quickly&quot; &lt;b>"' in html
    assert '"poster"' not in html, "the picture is in the page once"
    png = base64.b64decode(figure.poster)
    with Image.open(io.BytesIO(png)) as opened:
        assert opened.height / opened.width == pytest.approx(0.6, abs=0.01)
    assert not plt.get_fignums()
    assert repr(made(title="Words")) == "PlotlyFigure('Words')"


@pytest.mark.parametrize(
    "trace",
    [
        go.Scatter(x=[1, 2], y=[1, 2], mode="lines+markers+text", text=["a", "b"]),
        go.Bar(x=[1, 2], y=["a", "b"], orientation="h"),
        go.Heatmap(z=[[1, 2], [3, 4]], colorscale=figures.colorscale()),
        go.Surface(z=[[1, 2, 3], [3, 4, 5]]),
        go.Scatter3d(x=[1, 2], y=[1, 2], z=[0, 1], mode="markers", marker_color=[0.2, 0.9]),
    ],
    ids=lambda trace: trace.type,
)
def test_a_picture_is_made_of(trace):
    assert len(base64.b64decode(made(go.Figure(trace)).poster)) > 1000


def test_a_poster_of_ones_own():
    violin = go.Figure(go.Violin(y=[1, 2, 3]))
    with pytest.raises(ValueError, match="no picture can be made of violin"):
        made(violin)
    fig, ax = plt.subplots()
    ax.plot([1, 2])
    assert made(violin, poster=fig).poster
    assert not plt.get_fignums()


def test_what_does_not_work_is_said():
    with pytest.raises(ValueError, match="alt is empty"):
        made(alt="  ")
    globe = go.Figure(go.Scattergeo(lon=[1], lat=[2]))
    fig, _ = plt.subplots()
    with pytest.raises(FigureError, match="scattergeo asks the network"):
        made(globe, poster=fig)
    figure = made()
    with pytest.raises(FigureError, match="point is 3: there are 3 points"):
        figure.point = 3
    with pytest.raises(FigureError, match="cannot change"):
        figure.points = []


def test_the_kernel_sends_plotly_js_once_asked(monkeypatch):
    sent = []
    figure = made()
    monkeypatch.setattr(
        PlotlyFigure, "send", lambda self, message, buffers: sent.append((message, buffers))
    )
    figure._answer(figure, {"kind": "other"}, [])
    figure._answer(figure, {"kind": "plotly.js"}, [])
    ((message, (buffer,)),) = sent
    assert message == {"kind": "plotly.js"}
    assert len(buffer) < 3_000_000, "JupyterLab's server refuses more at once"
    assert gzip.decompress(buffer) == plotly_js().read_bytes()


def test_plotly_js_lies_beside_pages_that_need_it(tmp_path):
    assert write_plotly(["<p>none</p>"], tmp_path) is None
    written = write_plotly(["<p></p>", made().to_html()], tmp_path)
    assert written == tmp_path / SCRIPT
    assert written.stat().st_size > 1e6
    write_plotly(["<p>none</p>"], tmp_path)
    assert not written.exists()


def test_colours_of_ramps_are_the_palettes():
    scale = figures.colorscale("signed")
    assert [place for place, _ in scale] == pytest.approx(np.linspace(0, 1, 7))
    assert [stop for _, stop in scale] == palette.ramp("signed")


def test_a_poster_has_the_ramp_that_was_named():
    def hues(**given):
        drawn = figures.interactive(
            go.Figure(
                go.Scatter(x=[0, 1], y=[0, 0], mode="markers", marker=dict(size=40, **given))
            ),
            alt="Two dots.",
        )
        png = Image.open(io.BytesIO(base64.b64decode(drawn.poster))).convert("RGB")
        return {colour for _, colour in png.getcolors(100_000)}

    scale = figures.colorscale("signed")
    ends = {ImageColor.getrgb(scale[at][1]) for at in (0, -1)}
    assert ends <= hues(color=[-1, 1], colorscale=scale)
    assert not ends & hues(color=[-1, 1])  # no ramp is named: that of weights
