"""The live figures about positions, seen from Python: what they accept, refuse and send."""

import re

import numpy as np
import pytest
import torch

from attnlab.layers.positions import sinusoidal, sinusoidal_2d
from attnlab.widgets import ExtrapolationPlot, PositionSimilarity, RopeDial, SinusoidMatrix
from attnlab.widgets.base import STATIC, FigureError
from tests.unit.asked import WORDS, words_travel_as_text

SCORES = np.full((2, 3, 4, 5), 0.5)
LENGTHS = [8, 16, 24, 32, 64]


def figures(words="word"):
    return {
        "sinusoid_matrix": SinusoidMatrix(title=words),
        "rope_dial": RopeDial(caption=words),
        "position_similarity": PositionSimilarity({words: sinusoidal(8, 4)}),
        "extrapolation_plot": ExtrapolationPlot(
            [words, "b", "c"], LENGTHS, SCORES, 16, tasks=["echo", "shop"]
        ),
    }


NAMES = sorted(figures())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", WORDS)
def test_any_words_travel_to_the_page_as_text(name, words):
    words_travel_as_text(figures(words)[name], words)


@pytest.mark.parametrize("name", NAMES)
def test_modules_are_sound(name):
    source = (STATIC / f"{name}.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?:", source)
    css = (STATIC / f"{name}.css").read_text(encoding="utf-8")
    own = f".al-{name.replace('_', '-')} "
    for rule in re.findall(r"^([^{}]+)\{", css, re.MULTILINE):
        assert rule.startswith("@") or all(part.strip().startswith(own) for part in rule.split(","))
    assert len(figures()[name].alt) > 20


WRONG = [
    (lambda: SinusoidMatrix(width=7), "width is 7: give an even number"),
    (lambda: SinusoidMatrix(length=1000), "length is 1000: give 2 to 256"),
    (lambda: SinusoidMatrix(base=1), "base is 1.0"),
    (lambda: SinusoidMatrix(place=-1), "place is -1: it is counted from 0"),
    (lambda: SinusoidMatrix(view="ternary"), "choose one of waves, binary"),
    (lambda: RopeDial([1, 2, 3], [1, 2, 3]), "3 numbers: give an even number"),
    (lambda: RopeDial([1, 2], [1, 2, 3, 4]), "the same width"),
    (lambda: RopeDial([float("nan"), 0], [1, 0]), "finite"),
    (lambda: RopeDial(query=-1), "query is -1: places go from 0"),
    (lambda: RopeDial(longest=1), "longest is 1"),
    (lambda: PositionSimilarity({}), "empty or no dictionary"),
    (lambda: PositionSimilarity({"a": torch.zeros(4)}), r"a has shape \(4,\)"),
    (lambda: PositionSimilarity({"a": torch.zeros(500, 4)}), "up to 128 places"),
    (lambda: PositionSimilarity({"a": "text"}), "array of numbers"),
    (lambda: PositionSimilarity({"a": torch.zeros(4, 4)}, chosen=-1), "chosen is -1"),
    (
        lambda: PositionSimilarity({"a": torch.zeros(4, 4)}, image=np.full((2, 2, 3), 255)),
        "numbers from 255.0 to 255.0",
    ),
    (
        lambda: ExtrapolationPlot(["a"], [1, 2], np.zeros((1, 1, 2)), 1),
        "3 axes; this figure takes 4",
    ),
    (lambda: ExtrapolationPlot(["a"], LENGTHS, SCORES, 1), r"make it \(1, 1, 4, 5\)"),
    (
        lambda: ExtrapolationPlot(["a"], [1, 2], np.full((1, 1, 1, 2), 70), 1),
        "give shares, 0 to 1",
    ),
    (lambda: ExtrapolationPlot(["a"], [2, 1], np.zeros((1, 1, 1, 2)), 1), "must be positive"),
    (lambda: ExtrapolationPlot(["a"], [1, 2], np.zeros((1, 1, 1, 2)), 0), "trained is 0"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_bad_input_gets_one_clear_sentence(case):
    wrong, words = WRONG[case]
    with pytest.raises(FigureError, match=words):
        wrong()


def test_tables_travel_flat_one_after_the_other():
    wide = sinusoidal_2d(2, 3, 8)
    figure = PositionSimilarity({"a": sinusoidal(5, 4), "b": wide})
    assert figure.shapes == [[5, 4], [2, 3, 6]]  # the angles of six places need six numbers each
    assert figure.tables.shape == (5 * 4 + 2 * 3 * 6,)
    rows, lighter = wide.reshape(6, 8), torch.as_tensor(figure.tables[20:]).reshape(6, 6)
    torch.testing.assert_close(lighter @ lighter.T, rows @ rows.T, check_dtype=False)


def test_both_vectors_of_a_dial_may_change_width_together():
    figure = RopeDial([1, 0], [0, 1])
    figure.change(q=[1, 0, 1, 0], k=[0, 1, 0, 1])
    assert figure.q.shape == figure.k.shape == (4,)
    with pytest.raises(FigureError, match="same width"):
        figure.q = [1, 0]


def test_the_plot_starts_at_the_longest_length_with_all_curves():
    figure = figures()["extrapolation_plot"]
    assert (figure.at, figure.shown) == (4, [True] * 3)
    with pytest.raises(FigureError, match="shown has 2 entries for 3 names"):
        figure.shown = [True, False]


def test_a_picture_travels_as_bytes():
    image = np.linspace(0, 1, 5 * 4 * 3).reshape(5, 4, 3)
    figure = PositionSimilarity({"a": torch.ones(2, 2, 3)}, image=image)
    sent = figure.static_state()["image"]
    assert (sent["dtype"], sent["shape"], len(sent["data"])) == ("uint8", [5, 4, 3], 60)
    figure.set_state({"image": sent})
    np.testing.assert_allclose(figure.image, image, atol=0.5 / 255 + 1e-6)
    assert PositionSimilarity({"a": torch.ones(2, 2, 3)}).static_state()["image"] is None
