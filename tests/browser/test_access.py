"""For those who listen, who enlarge the page, who choose their own colours."""

import contextlib
from collections.abc import Callable
from itertools import chain

import numpy as np
import pytest
from playwright.sync_api import Page, TimeoutError

from attnlab.widgets import HeadGrid
from tests.browser.live import Live, settle
from tests.browser.twins import kinds

# What a screen reader hears: every change of the live region.
LISTEN = """place => {
  place.heard = [];
  const live = place.querySelector(".al-sr[aria-live]");
  new MutationObserver(() => place.heard.push(live.textContent))
    .observe(live, { childList: true, characterData: true, subtree: true });
}"""
# Figures whose sliders are heard: those that read out what they draw.
READERS = ("rope_dial", "timeline", "extrapolation_plot", "head_grid", "word_directions")
OUTSIDE = """() => [...document.querySelectorAll(".al-figure")].flatMap((figure) => {
  const edge = figure.getBoundingClientRect().right;
  const scrolls = (node) => {
    for (let up = node.parentElement; up !== figure; up = up.parentElement)
      if (up.scrollWidth > up.clientWidth + 1 && getComputedStyle(up).overflowX === "auto")
        return !up.classList.contains("al-body");
    return false;
  };
  return [...figure.querySelectorAll("button, input, select, output")]
    .filter((node) => node.checkVisibility() && !scrolls(node))
    .filter((node) => node.getBoundingClientRect().right > edge)
    .map((node) => `${figure.className}: ${node.ariaLabel ?? node.textContent.slice(0, 40)}`);
})"""


@pytest.mark.parametrize("kind", READERS)
def test_a_moved_slider_is_read_out_once_it_rests(
    kind: str, made_page: Callable[..., Page]
) -> None:
    page = made_page(kinds()[kind].examples()[0])
    live = Live(page.locator("[data-widget]"))
    live.place.evaluate(LISTEN)
    slider = live.controls("input[type=range]")[0]
    back = slider.evaluate("s => s.value - s.min > (s.max - s.min) / 2")
    for _ in range(4):
        slider.press("ArrowLeft" if back else "ArrowRight")
    settle(page)
    assert live.place.evaluate("place => place.heard") == [], "it speaks at every step"
    page.wait_for_timeout(1000)
    readout = live.place.locator(".al-readout:visible, .al-aloud:visible").first.inner_text()
    assert live.place.evaluate("place => place.heard") == [" ".join(readout.split())]
    assert live.place.locator("[aria-live=polite], [role=status]").count() == 1


def test_a_figure_that_speaks_itself_is_not_interrupted(made_page: Callable[..., Page]) -> None:
    page = made_page(kinds()["rnn_stepper"].examples()[0])
    live = Live(page.locator("[data-widget]"))
    live.place.evaluate(LISTEN)
    live.controls("input[type=range]")[0].press("ArrowLeft")
    page.wait_for_timeout(1000)
    (heard,) = live.place.evaluate("place => place.heard")
    assert heard.startswith("After “")


def test_no_control_leaves_its_figure_at_four_times_the_size(
    page: Page, made_page: Callable[..., Page]
) -> None:
    """320 pixels: a screen of 1280 at 400 % (WCAG 1.4.10)."""
    page.set_viewport_size({"width": 320, "height": 640})
    made_page(*chain.from_iterable(module.examples() for module in kinds().values()))
    # On a busy machine a figure may still be fitting itself to the narrow page.
    with contextlib.suppress(TimeoutError):
        page.wait_for_function(f"() => !({OUTSIDE})().length", timeout=10_000)
    assert page.evaluate(OUTSIDE) == []


def test_colours_of_the_reader_show_what_is_chosen(
    page: Page, made_page: Callable[..., Page]
) -> None:
    page.emulate_media(forced_colors="active")
    made_page(kinds()["head_grid"].examples()[0], kinds()["word_directions"].examples()[0])
    thumbs = page.locator(".al-g-thumb")
    looks = thumbs.evaluate_all("all => all.map((node) => getComputedStyle(node).outlineStyle)")
    pressed = thumbs.evaluate_all("all => all.map((node) => node.ariaPressed === 'true')")
    assert [look == "solid" for look in looks] == pressed
    bar, track = (
        page.locator(f".al-wd-{part}").first.evaluate("n => getComputedStyle(n).backgroundColor")
        for part in ("bar", "track")
    )
    assert bar != track


def test_the_chosen_head_is_on_the_screen_of_a_phone(
    page: Page, made_page: Callable[..., Page]
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    heads = 12
    made_page(HeadGrid(np.zeros((2, heads, 3, 3)), tokens=list("abc"), head=heads - 1))
    scroll = page.locator(".al-g-scroll").first
    seen = """scroll => {
      const [all, one] = [scroll, scroll.querySelector("[aria-pressed=true]")]
        .map((node) => node.getBoundingClientRect());
      return one.left >= all.left && one.right <= all.right;
    }"""
    assert scroll.evaluate("node => node.scrollWidth > node.clientWidth"), "there is room for all"
    assert scroll.evaluate(seen)
    page.locator("[aria-pressed=true]").focus()
    for _ in range(heads - 1):
        page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.locator("[aria-pressed=true]").get_attribute("aria-label") == "Layer 0, head 0"
    assert scroll.evaluate(seen)
