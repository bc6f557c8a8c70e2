"""The figures of chapter 8: what they take and what they refuse."""

import numpy as np
import pytest

from attnlab.widgets import Collapse, PatchAttention, PatchMemory
from attnlab.widgets.base import FigureError

IMAGE = np.linspace(0, 1, 3 * 8 * 8).reshape(3, 8, 8)
MAPS = np.full((2, 3, 5, 5), 0.2)


def test_weights_travel_as_bytes_of_their_roots() -> None:
    figure = PatchAttention(MAPS, image=IMAGE)
    assert figure.roots.dtype == np.uint8
    np.testing.assert_allclose((figure.roots / 255.0) ** 2, 0.2, atol=2e-3)
    assert figure.image.shape == (8, 8, 3)
    np.testing.assert_allclose(figure.image[3, 5] / 255.0, IMAGE[:, 3, 5], atol=3e-3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(maps=MAPS, image=IMAGE, skip=2), "no square of patches"),
        (dict(maps=MAPS * 9, image=IMAGE), "outside of 0"),
        (dict(maps=MAPS, image=IMAGE * 2), "give 0 to 1"),
        (dict(maps=MAPS, image=IMAGE[0]), "give \\(3, S, S\\)"),
        (dict(maps=MAPS, image=IMAGE, layer=2), "layer is 2, but goes from 0 to 1"),
        (dict(maps=MAPS, image=IMAGE, row=2, column=0), "row is 2"),
        (dict(maps=MAPS, image=IMAGE, share=0.0), "share above 0"),
    ],
)
def test_what_does_not_fit_is_said(given, words) -> None:
    with pytest.raises(FigureError, match=words):
        PatchAttention(**given)


def test_memory_takes_its_own_sizes_only() -> None:
    assert PatchMemory(image=IMAGE, size=128, patch=1).patch == 1
    for wrong in (dict(size=100), dict(patch=3), dict(layers=0), dict(heads=65)):
        with pytest.raises(FigureError):
            PatchMemory(image=IMAGE, **wrong)


def test_the_collapse_takes_what_fits_together() -> None:
    figure = Collapse.dots(starts=2, step=200, start=1, picture=35)
    given = {name: getattr(figure, name) for name in ("noise", "first", "prototypes")}
    for wrong, words in (
        (dict(noise=given["noise"][:3]), "two views of every dot"),
        (dict(first=given["first"][..., :2]), "are expected"),
        (dict(first=given["first"][:, :5]), "the same hidden width"),
        (dict(prototypes=np.zeros((2, 8, 16))), "2 to 7 have a colour"),
    ):
        with pytest.raises(FigureError, match=words):
            Collapse(figure.points, **(given | wrong))
    for name, value in (("step", 201), ("start", 2), ("picture", -1)):
        with pytest.raises(FigureError, match=f"{name} is {value}"):
            setattr(figure, name, value)
