"""Figures of chapters 0 and 1 under a reader's hands: typing, long trees, a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from attnlab.models.recurrent import GRUCell
from attnlab.widgets.base import LiveFigure
from tests.browser import play
from tests.browser.figures import beam_tree, chopper, rnn_stepper
from tests.browser.live import Live, settle
from tests.browser.twins import WORDS

PHONE = {"width": 390, "height": 844}
# How far a part of the figure is from the edges of what scrolls, in pixels.
INSIDE = """([scroll, part]) => {
  const room = scroll.getBoundingClientRect(), box = part.getBoundingClientRect();
  return { left: box.left - room.left, right: room.right - box.right, at: scroll.scrollLeft,
    beyond: scroll.scrollWidth - scroll.clientWidth, more: scroll.dataset.more };
}"""


@pytest.fixture
def on_a_phone(made_page: Callable[..., Page]) -> Callable[[LiveFigure], Live]:
    def make(figure: LiveFigure) -> Live:
        page = made_page(figure)
        page.set_viewport_size(PHONE)
        settle(page)
        settle(page)
        return Live(page.locator("[data-widget]"))

    return make


def inside(live: Live, scroll: str, part: str) -> dict[str, Any]:
    handles = [live.place.locator(one).last.element_handle() for one in (scroll, part)]
    found: dict[str, Any] = live.page.evaluate(INSIDE, handles)
    return found


def test_the_chopper_chops_while_one_types(made_page: Callable[..., Page]) -> None:
    live = Live(made_page(chopper.examples()[0]).locator("[data-widget]"))
    box = live.place.locator("input[type=text]")
    box.fill("")
    settle(live.page)
    counts = []
    for letter in "the old":
        box.press("Space" if letter == " " else letter)  # nothing is confirmed or left
        settle(live.page)
        counts.append(live.numbers()["count"])
        play.check(live)
    assert counts[0] == 1
    assert live.state()["text"] == "the old"
    assert box.evaluate("node => node === document.activeElement")


def test_a_long_tree_says_that_it_scrolls_and_follows_the_search(on_a_phone) -> None:
    figure = beam_tree.random_tree()
    figure.shown = 1
    live = on_a_phone(figure)
    words = live.place.locator(".al-b-more")
    assert inside(live, ".al-b-scroll", ".al-b-head")["at"] == 0, "it opens at its start"
    for _ in range(3):
        live.place.get_by_role("button", name="Next").click()
        settle(live.page)
        newest = inside(live, ".al-b-scroll", ".al-b-head")
        assert newest["left"] >= 0, newest
        assert newest["right"] >= 0, newest
    assert words.is_visible()
    assert "left" in newest["more"]
    live.place.get_by_role("button", name="Start").click()
    settle(live.page)
    assert live.place.locator(".al-b-scroll").evaluate("node => node.scrollLeft") == 0


def test_a_tree_with_room_says_nothing(made_page: Callable[..., Page]) -> None:
    live = Live(made_page(beam_tree.examples()[0]).locator("[data-widget]"))
    assert not live.place.locator(".al-b-more").is_visible()
    assert not live.place.locator(".al-b-scroll").get_attribute("data-more")


def test_the_unrolled_network_follows_its_column_on_a_phone(on_a_phone) -> None:
    words = list(dict.fromkeys(WORDS))
    sentence = [*WORDS, *WORDS][:12]
    live = on_a_phone(rnn_stepper.figure(GRUCell, words, sentence, step=0))
    assert inside(live, ".al-r-scroll", ".al-r-net")["beyond"] > 100, "else it proves nothing"
    for _ in sentence:
        live.place.get_by_role("button", name="Next word").click()
        settle(live.page)
        now = inside(live, ".al-r-scroll", ".al-r-now")
        assert now["left"] >= 0, now
        assert now["right"] >= 0, now
    for _ in sentence[1:]:
        live.place.get_by_role("button", name="Back").click()
        settle(live.page)
        now = inside(live, ".al-r-scroll", ".al-r-now")
        assert now["left"] >= 0, now
        assert now["right"] >= 0, now
