"""DINOv2 on a page, seen from Python: what travels with the page, what is refused."""

import numpy as np
import pytest
import torch

from attnlab.widgets import DinoExplorer, weights
from attnlab.widgets.base import FigureError
from attnlab.widgets.dino_explorer import principal_colours

MAPS = np.full((3, 2, 10, 10), 0.1)
IMAGE = np.linspace(0, 1, 3 * 8 * 8).reshape(3, 8, 8)
TOKENS = np.random.default_rng(0).normal(size=(9, 4))


def test_the_shipped_photograph_needs_no_model_on_the_page() -> None:
    figure = DinoExplorer.shipped("coffee", layer=3)
    assert figure.firsts.shape == (12, 6, 257)
    assert figure.lasts.shape == (6, 257, 257)
    assert figure.image.shape == (224, 224, 3)
    assert figure.shows == "a white cup of coffee on a table"
    np.testing.assert_array_equal(figure.firsts[-1], figure.lasts[:, 0])
    sums = (figure.firsts / 255.0) ** 2
    np.testing.assert_allclose(sums.sum(-1), 1, atol=0.06)  # a byte for each root
    html = figure.to_html()
    assert len(html) < 1_000_000
    assert weights.named(html) == ["dinov2_vits14"]


def test_without_weights_the_page_asks_for_none() -> None:
    figure = DinoExplorer(MAPS, image=IMAGE, tokens=TOKENS)
    assert figure.layer == 2, "the last layer first"
    assert figure.static_state()["weights"] is None
    assert weights.named(figure.to_html()) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(maps=MAPS * 11), "outside of 0"),
        (dict(maps=MAPS[..., :9, :9]), "no square of patches"),
        (dict(maps=MAPS[0, 0]), "\\(layers, heads, tokens, tokens\\)"),
        (dict(image=IMAGE * 2), "give 0 to 1"),
        (dict(image=IMAGE[:, :5]), "give \\(3, S, S\\)"),
        (dict(tokens=TOKENS[:8]), "9 patches"),
        (dict(layer=3), "layer is 3, but goes from 0 to 2"),
        (dict(head=-2), "head is -2, but goes from -1 to 1"),
        (dict(row=3, column=0), "row is 3"),
        (dict(share=0.0), "share above 0"),
        (dict(weights="nobody"), "no weights called 'nobody'"),
    ],
)
def test_what_does_not_fit_is_said(given, words) -> None:
    with pytest.raises(FigureError, match=words):
        DinoExplorer(**{"maps": MAPS, "image": IMAGE, "tokens": TOKENS, **given})


def test_an_unknown_photograph_is_named() -> None:
    with pytest.raises(FigureError, match="no photograph 'unicorn': choose one of cat"):
        DinoExplorer.shipped("unicorn")


def test_colours_are_the_three_main_directions() -> None:
    tokens = torch.randn(40, 7, generator=torch.Generator().manual_seed(1))
    tokens[:, 2] *= 9  # by far the widest
    colours = principal_colours(tokens)
    assert colours.min() == 0
    assert colours.max() == 1
    along = np.corrcoef(colours[:, 0], tokens[:, 2])[0, 1]
    assert along > 0.999
    assert np.isfinite(principal_colours(torch.ones(9, 3))).all(), "all patches alike"
