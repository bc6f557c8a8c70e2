"""Where a reader's hand is, the result is in sight; every token of a path has its name; and no
slider moves away under the hand."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page

from attnlab.widgets import (
    AttentionHeatmap,
    AttentionWorkbench,
    HeadGrid,
    PathLength,
    RopeDial,
    SinusoidMatrix,
)
from tests.browser.conftest import write_page
from tests.browser.live import wait_until_alive

IN_VIEW = """(node) => {
  const box = node.getBoundingClientRect();
  return box.height > 0 && box.top >= -1 && box.bottom <= innerHeight + 1;
}"""


@pytest.fixture
def phone(tmp_path: Path, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """A bare page with one live figure, on a phone of the given width."""

    def make(width: int, figure: object) -> Page:
        page = new_page(viewport={"width": width, "height": 740}, has_touch=True)
        page.goto(write_page(tmp_path, figure))
        wait_until_alive(page)
        return page

    return make


@pytest.mark.parametrize("width", [320, 390, 900])
def test_every_token_of_a_path_has_its_name(width: int, phone: Callable[..., Page]) -> None:
    page = phone(width, PathLength(n=16))
    for kind in page.locator(".al-p-diagram").all():
        assert kind.locator(".al-p-token").count() == 16
        boxes = [word.bounding_box() for word in kind.locator(".al-p-token").all()]
        for here, there in itertools.pairwise(boxes):
            apart = there["x"] >= here["x"] + here["width"] - 1
            assert apart or abs(there["y"] - here["y"]) >= here["height"] - 4


@pytest.mark.parametrize("width", [320, 390])
def test_workbench_shows_weights_while_a_matrix_is_edited(
    width: int, phone: Callable[..., Page]
) -> None:
    numbers = torch.eye(3)
    page = phone(width, AttentionWorkbench(["dog", "bites", "man"], numbers, *[numbers] * 3))
    field = page.locator(".al-m-w_k input").last
    field.scroll_into_view_if_needed()
    result = page.locator(".al-glance")
    assert field.evaluate(IN_VIEW)
    assert result.evaluate(IN_VIEW)
    before = result.inner_text()
    field.fill("5")
    page.wait_for_function(
        "old => document.querySelector('.al-glance').innerText !== old", arg=before
    )


@pytest.mark.parametrize("width", [320, 390])
def test_head_grid_shows_heads_controls_and_map_in_one_view(
    width: int, phone: Callable[..., Page]
) -> None:
    page = phone(width, HeadGrid(torch.randn(6, 12, 11, 11), tokens=["word"] * 11))
    page.locator(".al-g-grid").evaluate("node => node.scrollIntoView({ block: 'start' })")
    for part in (".al-g-grid", ".al-controls", ".al-g-pane >> nth=0"):
        assert page.locator(part).first.evaluate(IN_VIEW), part


@pytest.mark.parametrize("width", [390, 700, 1100])
def test_the_button_of_a_cell_covers_no_words(width: int, phone: Callable[..., Page]) -> None:
    words = ["[CLS]", "the", "animal", "did", "not", "cross", "the", "street", "because", *"it .."]
    page = phone(
        width,
        AttentionHeatmap(maps=torch.rand(2, len(words), len(words)).softmax(-1), tokens=words),
    )
    page.locator(".al-map").focus()
    page.keyboard.press("Space")
    page.get_by_text("Unmask this cell").wait_for()
    button = page.get_by_text("Unmask this cell").bounding_box()
    for other in page.locator(".al-cell-readout :is(.al-pair bdi, dt, dd)").all():
        box = other.bounding_box()
        assert (
            box["x"] + box["width"] <= button["x"] + 1
            or box["y"] + box["height"] <= button["y"] + 1
            or box["y"] >= button["y"] + button["height"] - 1
        )


PLACE = """(node) => {
  const here = node.getBoundingClientRect();
  const all = node.closest(".al-figure").getBoundingClientRect();
  return [here.x - all.x, here.y - all.y, here.width];
}"""


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("kind", ["sinusoid_matrix", "rope_dial"])
def test_a_base_of_seven_digits_moves_no_slider(
    kind: str, width: int, phone: Callable[..., Page]
) -> None:
    pair = [1.0, 0.4, 0.9, -0.3]
    page = phone(
        width, {"sinusoid_matrix": SinusoidMatrix(), "rope_dial": RopeDial(pair, pair)}[kind]
    )
    base = page.get_by_label("Base").first
    places = []
    for key in ("Home", "End"):
        base.press(key)
        page.wait_for_function(
            "wanted => document.querySelector('.al-figure').figure.numbers().base === wanted",
            arg={"Home": 10, "End": 1_000_000}[key],
        )
        places.append(base.evaluate(PLACE))
    assert places[0] == pytest.approx(places[1], abs=1)
