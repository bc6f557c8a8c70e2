"""The figures of chapter 9, where their numbers alone do not tell."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page

from attnlab.widgets import WindowExplorer
from tests.browser.joined import OPEN, joined
from tests.browser.live import Live, settle
from tests.browser.twins import random


def test_a_narrow_cell_drops_a_leading_nought_and_nothing_else(browser: Browser) -> None:
    page = browser.new_page()
    page.evaluate(OPEN, joined("relative_bias"))
    said = ["0.8", "−0.8", "3.0", "−3.0", "10.3", "0.0", "−0.0"]
    shown = page.evaluate("said => said.map(need('relative_bias').tight)", said)
    assert shown == [".8", "−.8", "3.0", "−3.0", "10.3", "0", "0"]
    page.close()


@pytest.mark.parametrize("width", [390, 700, 860])
def test_the_picture_stays_where_it_is_from_step_to_step(
    width: int, made_page: Callable[..., Page]
) -> None:
    figure = WindowExplorer(image=random(24, 24, 3).sigmoid(), side=12, window=4, shift=2)
    live = Live(made_page(figure).locator("[data-widget]"))
    live.page.set_viewport_size({"width": width, "height": 900})
    picture = live.place.locator("canvas").first
    tops = set()
    for step in range(6):
        live.place.locator("input[type=range]").first.fill(str(step))
        settle(live.page)
        assert live.numbers()["step"] == step
        tops.add(round(picture.bounding_box()["y"]))  # type: ignore[index]
    assert len(tops) == 1, tops
