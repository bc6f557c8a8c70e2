"""The Python side of the head grid and of the superposition figure: what they refuse, and how."""

import numpy as np
import pytest
import torch

from attnlab.widgets import HeadGrid, Superposition
from attnlab.widgets.base import FigureError

SCORES = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
WORDS = ["a", "b", "c", "d"]


def test_the_grid_starts_with_all_heads_alive_at_temperature_one() -> None:
    figure = HeadGrid(SCORES, tokens=WORDS)
    assert figure.temperatures.shape == figure.knocked.shape == (2, 3)
    assert (figure.temperatures == 1).all()
    assert not figure.knocked.any()
    assert "2 layers × 3 heads" in figure.alt
    assert "head_grid" in figure.to_html()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: HeadGrid(SCORES[0], tokens=WORDS), "3 axes; this figure takes 4"),
        (lambda: HeadGrid(SCORES[..., :3], tokens=WORDS), "tokens, tokens"),
        (lambda: HeadGrid(SCORES, tokens=WORDS[:2]), "2 tokens for 4 places"),
        (lambda: HeadGrid(SCORES, tokens="abcd"), "one string"),
        (lambda: HeadGrid(SCORES * np.nan, tokens=WORDS), "finite"),
        (lambda: HeadGrid(None, tokens=WORDS), "scores is None"),
        (lambda: HeadGrid(np.zeros((1, 1, 99, 99)), tokens=[]), "up to 24 layers"),
        (lambda: HeadGrid(SCORES, tokens=WORDS, layer=2), "layer is 2, but it goes from 0 to 1"),
        (lambda: HeadGrid(SCORES, tokens=WORDS, query=-1), "query is -1"),
        (lambda: HeadGrid(SCORES, tokens=WORDS, temperatures=np.zeros((2, 3))), "above 0"),
        (lambda: HeadGrid(SCORES, tokens=WORDS, temperatures=np.ones((3, 2))), r"\(2, 3\)"),
        (lambda: HeadGrid(SCORES, tokens=WORDS, knocked=np.ones((2, 3))), "a mask is bool"),
    ],
)
def test_what_the_grid_refuses(given, words: str) -> None:
    with pytest.raises(FigureError, match=words):
        given()


def toy(**traits: object) -> Superposition:
    w = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(0))
    options = {"weights": w, "bias": np.zeros((3, 4)), "sparsity": [0, 0.5, 0.9]}
    return Superposition(**{**options, "importance": [1] * 4, **traits})


def test_the_superposition_figure_draws_the_same_numbers_every_time() -> None:
    assert np.array_equal(toy().luck, toy().luck)
    assert toy().active == [True, False, False, False]
    assert "4 features" in toy().alt


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"weights": np.zeros((3, 3, 4))}, r"\(models, 2, features\)"),
        ({"weights": np.full((3, 2, 4), np.inf)}, "finite"),
        ({"bias": np.zeros((3, 5))}, r"\(3, 4\) is expected"),
        ({"sparsity": [0, 0.5]}, r"\(3,\) is expected"),
        ({"sparsity": [0, 0.5, 1.0]}, "0 to below 1"),
        ({"importance": [1, 2]}, r"\(4,\) is expected"),
        ({"model": 3}, "from 0 to 2"),
        ({"test": 1.0}, "from 0 to below 1"),
        ({"active": [True]}, r"shape \(1,\), but \(4,\) is expected"),
        ({"names": ["x"]}, r"shape \(1,\), but \(4,\) is expected"),
    ],
)
def test_what_the_superposition_figure_refuses(traits: dict, words: str) -> None:
    with pytest.raises(FigureError, match=words):
        toy(**traits)
