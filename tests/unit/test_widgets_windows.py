"""The figures of chapter 9: what they take and what they refuse."""

import numpy as np
import pytest

from attnlab.widgets import RelativeBiasTable, WindowCost, WindowExplorer
from attnlab.widgets.base import FigureError

IMAGE = np.linspace(0, 1, 3 * 8 * 8).reshape(3, 8, 8)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(side=24, window=5), "windows of 2 or more divide"),
        (dict(side=24, window=24), "at least two along it"),
        (dict(window=4, shift=4), "0…3"),
        (dict(row=24), "outside of 24 × 24"),
        (dict(step=6), "steps go from 0 to 5"),
        (dict(blocks=0), "blocks from 1 to 12"),
    ],
)
def test_windows_that_do_not_fit_are_said(given, words) -> None:
    with pytest.raises(FigureError, match=words):
        WindowExplorer(image=IMAGE, **given)


def test_an_explorer_changes_window_and_shift_together() -> None:
    figure = WindowExplorer(image=IMAGE, side=12, window=6, shift=5)
    figure.change(window=2, shift=1)
    assert (figure.window, figure.shift) == (2, 1)


def test_a_table_needs_odd_sides_and_cells_inside() -> None:
    assert RelativeBiasTable(np.zeros((5, 5))).table.shape == (1, 5, 5)
    with pytest.raises(FigureError, match="both are odd"):
        RelativeBiasTable(np.zeros((4, 5)))
    with pytest.raises(FigureError, match="key_column is 3, but goes from 0 to 2"):
        RelativeBiasTable(np.zeros((5, 5)), key_column=3)
    with pytest.raises(FigureError, match="head is 1"):
        RelativeBiasTable(np.zeros((5, 5)), head=1)


def test_cost_takes_its_own_sizes_only() -> None:
    assert WindowCost(size=896).size == 896
    for wrong in (dict(size=100), dict(patch=5), dict(window=1), dict(width=0)):
        with pytest.raises(FigureError):
            WindowCost(**wrong)
