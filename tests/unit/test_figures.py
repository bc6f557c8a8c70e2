"""Figures carry words: alt text, caption, and a line of plain text that never changes."""

import base64
import io
import re

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from IPython.display import display
from PIL import Image

from attnlab import figures, palette, pictures
from attnlab.data import photographs


@pytest.fixture(autouse=True)
def own_style():
    with mpl.rc_context():
        figures.use_style()
        yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch):
    seen = []
    monkeypatch.setattr(figures, "display", seen.append)
    return seen


def draw():
    fig, ax = plt.subplots()
    ax.plot([0, 1], [1, 0])
    return fig


def test_show_displays_alt_and_caption_and_closes(shown):
    fig = draw()
    figures.show(fig, alt='A line\n   falls, "slowly" <b>', caption="Look at x < 1.")
    (picture,) = shown
    assert repr(picture) == 'Figure: A line falls, "slowly" <b>'
    html = picture._repr_html_()
    assert 'alt="A line falls, &quot;slowly&quot; &lt;b&gt;"' in html
    assert "<figcaption>Look at x &lt; 1.</figcaption>" in html
    kind, data = re.search('data:image/(png|webp);base64,([^"]+)', html).groups()
    with Image.open(io.BytesIO(base64.b64decode(data))) as opened:
        assert opened.format == kind.upper()
    assert "http" not in html
    assert not plt.get_fignums()


def test_show_gives_the_same_bytes_twice(shown):
    figures.show(draw(), alt="A line falls.")
    figures.show(draw(), alt="A line falls.")
    assert shown[0]._repr_html_() == shown[1]._repr_html_()
    assert "<figcaption>" not in shown[0]._repr_html_()


def test_a_picture_has_a_palette_and_its_colours_are_kept(shown):
    fig, ax = plt.subplots()
    figures.heatmap(ax, np.linspace(0, 1, 400).reshape(20, 20))
    figures.show(fig, alt="Bright below.")
    with Image.open(io.BytesIO(shown[0].data)) as small:
        colours = small.convert("RGB")
    assert colours.getcolors(256), "more than 256 colours"
    assert colours.getpixel((2, 2)) == (255, 255, 255)
    assert len(shown[0].data) < 30_000


def test_a_plot_is_no_heavier_than_its_png_and_has_the_same_pixels():
    fig = draw()
    png, stored = pictures.small_png(fig, 144), pictures.smallest_file(fig, 144)
    assert len(stored) <= len(png)
    with Image.open(io.BytesIO(png)) as one, Image.open(io.BytesIO(stored)) as other:
        assert np.array_equal(np.asarray(one.convert("RGB")), np.asarray(other.convert("RGB")))


def test_a_photograph_is_stored_as_one(shown):
    """Its bytes are few, its colours near, and its ground stays white."""
    pixels = photographs.square("cat", 224).permute(1, 2, 0).numpy()
    fig, ax = plt.subplots(figsize=(3, 3))
    ax.imshow(pixels)
    ax.set_axis_off()
    exact, png = np.asarray(pictures.drawn(fig, 144), dtype=float), pictures.small_png(fig, 144)
    figures.show(fig, alt="A cat.")
    assert "data:image/webp;base64," in shown[0]._repr_html_()
    assert len(shown[0].data) < 0.7 * len(png)
    with Image.open(io.BytesIO(shown[0].data)) as small:
        stored = np.asarray(small.convert("RGB"), dtype=float)
    assert stored.shape == exact.shape
    assert np.abs(stored - exact).mean() < 4
    assert (stored[:4] > 240).all()


def test_a_page_learns_the_room_the_type_and_the_ground_of_a_picture(shown):
    fig, ax = plt.subplots(figsize=(6, 3))
    ax.text(0, 0, "small", fontsize=9)
    figures.show(fig, alt="A word.")
    assert 'width="600" height="300" data-smallest="12.5" data-ground="turns"' in (
        shown[0]._repr_html_()
    )
    fig, ax = plt.subplots()
    ax.imshow(np.zeros((2, 2, 3)))  # red, green, blue: a photograph does not turn dark
    figures.show(fig, alt="A photograph.")
    assert 'data-ground="stays"' in shown[1]._repr_html_()


def test_what_a_notebook_gets(capsys):
    display(pictures.Picture(b"png", "A line falls.", "", (700, 420)))
    assert capsys.readouterr().out.strip() == "Figure: A line falls."


def test_a_figure_without_words_is_refused(shown):
    with pytest.raises(ValueError, match=r"alt is empty, but .*\.$"):
        figures.show(draw(), alt="  ")
    assert not shown


def test_style():
    fig, ax = plt.subplots()
    assert not ax.spines["top"].get_visible()
    assert not ax.spines["right"].get_visible()
    assert mpl.colors.to_hex(fig.get_facecolor()) == "#ffffff"
    (first,) = ax.plot([0, 1])
    assert first.get_color() == figures.COLOURS["blue"]
    assert len(set(figures.COLOURS.values())) == 7
    assert mpl.rcParams["font.size"] >= 12


def test_heatmap_has_rows_for_queries():
    matrix = torch.tensor([[0.1, 0.2, 0.7], [0.0, 1.0, 0.0]], requires_grad=True)
    _, ax = plt.subplots()
    image = figures.heatmap(ax, matrix, rows=["a", "b"], columns=["x", "y", "z"], title="Weights")
    assert image.get_array().shape == (2, 3)
    assert image.get_cmap() is figures.WEIGHTS
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y", "z"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    texts = {text.get_position(): text for text in ax.texts}
    assert texts[2, 0].get_text() == "0.70"  # column 2, row 0
    assert texts[0, 1].get_color() == "black"  # 0 is light
    assert texts[1, 1].get_color() == "white"  # 1 is dark


def test_the_law_of_a_map_is_found_from_its_numbers():
    _, ax = plt.subplots()
    weights = figures.heatmap(ax, [[0.25, 0.75, 0.0]])
    assert weights.norm(0.25) == pytest.approx(0.5)  # the square root
    assert (weights.norm.vmin, weights.norm.vmax) == (0, 1), "not the largest of this map"
    scores = figures.heatmap(ax, [[-3.0, 1.0], [0.5, 2.0]])
    assert scores.get_cmap() is figures.RAMPS["signed", "light"]
    assert [float(scores.norm(x)) for x in (-3, 0, 3)] == [0, 0.5, 1]
    likeness = figures.heatmap(ax, [[0.5, 1.0]], low=0.5, high=1.0)
    assert float(likeness.norm(0.75)) == 0.5
    counts = figures.heatmap(ax, [[1.0, 4.0, 3.0]])
    assert float(counts.norm(2.5)) == 0.5
    with pytest.raises(ValueError, match=r"law is 'heat', but it must be"):
        figures.heatmap(ax, [[0.5]], law="heat")


def test_a_dark_page_has_its_own_colours():
    figures.use_style("dark")
    fig, ax = plt.subplots()
    image = figures.heatmap(ax, [[0.1, 0.9]], colourbar=True)
    assert image.get_cmap() is figures.RAMPS["weights", "dark"]
    assert mpl.colors.to_hex(fig.get_facecolor()) == palette.colour("bg", "dark")
    assert [text.get_color() for text in ax.texts] == ["white", "black"]  # bright is much


def test_a_short_logarithmic_axis_can_be_read():
    fig, ax = plt.subplots()
    ax.plot([1, 2], [30, 80])
    ax.set_yscale("log")
    figures.plain_ticks(ax.yaxis)
    fig.canvas.draw()
    low, high = ax.get_ylim()
    shown = [t.get_text() for t in ax.get_yticklabels() if low <= t.get_position()[1] <= high]
    assert shown == ["30", "40", "50", "60", "70", "80"]
    ax.set_ylim(0.2, 20)
    fig.canvas.draw()
    shown = [t.get_text() for t in ax.get_yticklabels() if 0.19 < t.get_position()[1] < 21]
    assert shown == ["0.2", "0.5", "1", "2", "5", "10", "20"]


def test_every_number_can_be_read():
    """Contrast of at least 4.5 (WCAG AA) between a number and its cell, over the whole scale."""

    def luminance(colour):
        rgb = np.array(mpl.colors.to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    _, ax = plt.subplots()
    image = figures.heatmap(ax, np.linspace(0, 1, 101)[None], numbers=True)
    for text in ax.texts:
        cell = image.to_rgba(text.get_position()[0] / 100)
        dark, light = sorted([luminance(cell), luminance(text.get_color())])
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_many_cells_have_no_numbers_and_long_labels_are_turned():
    tokens = [f"token{i}" for i in range(12)]
    _, ax = plt.subplots()
    figures.heatmap(ax, np.eye(12), tokens, tokens, colourbar=True)
    assert not ax.texts
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {60.0}
    _, small = plt.subplots()
    figures.heatmap(small, [[0.5, float("nan")]], numbers=None, digits=1)
    assert [text.get_text() for text in small.texts] == ["0.5"]  # nothing is written on NaN


@pytest.mark.parametrize(
    ("matrix", "rows", "words"),
    [
        (torch.ones(2, 3, 4), None, r"shape \(2, 3, 4\).*choose one head"),
        (torch.ones(2, 3), ["a", "b", "c"], r"3 labels were given for 2 rows.*\(2, 3\)"),
    ],
)
def test_a_mistake_gets_one_clear_sentence(matrix, rows, words):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match=words) as caught:
        figures.heatmap(ax, matrix, rows)
    assert str(caught.value).endswith(".")
