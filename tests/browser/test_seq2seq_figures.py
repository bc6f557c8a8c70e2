"""The translator and the pronouncer under a reader's hands: play, keyboard, motion, odd input."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from attnlab.widgets import BrowserTranslator, Pronouncer
from tests.browser import play
from tests.browser.figures.browser_translator import PAIRS, made
from tests.browser.figures.pronouncer import speaker
from tests.browser.live import Live, drag_slider, settle

DONE = """kind => {
  const numbers = document.querySelector(`[data-widget=${kind}] .al-figure`).figure.numbers();
  return numbers.total > 0 && numbers.shown === numbers.total;
}"""


def translator(**traits: Any) -> BrowserTranslator:
    return BrowserTranslator(made("additive", 1), made("none", 2), examples=PAIRS, **traits)


@pytest.fixture
def show(made_page: Callable[..., Page]) -> Callable[..., Live]:
    def make(figure: Any) -> Live:
        return Live(made_page(figure).locator("[data-widget]"))

    return make


def write(live: Live, text: str) -> None:
    box = live.place.locator("input[type=text]")
    box.fill(text)
    box.press("Enter")
    settle(live.page)


def note(live: Live) -> str:
    return live.place.locator("[role=status]").inner_text()


def test_a_typed_sentence_appears_word_by_word(show):
    live = show(translator(speed=12.0))
    write(live, "the white cats run")
    assert live.numbers()["shown"] < live.numbers()["total"]
    live.page.wait_for_function(DONE, arg="browser_translator")
    settle(live.page)
    play.check(live)
    expect(live.place.get_by_role("button", name="Play")).to_be_visible()
    assert live.state()["shown"] == -1


def test_pause_stands_still_and_step_goes_on(show):
    live = show(translator(speed=12.0, text="the black cat sleeps"))
    live.place.get_by_role("button", name="Play").click()
    live.place.get_by_role("button", name="Pause").click()
    settle(live.page)
    before = live.numbers()["shown"]
    live.page.wait_for_timeout(400)
    assert live.numbers()["shown"] == before
    live.place.get_by_role("button", name="Step").click()
    settle(live.page)
    assert live.numbers()["shown"] == before + 1
    assert live.numbers()["selected"] == before, "the newest word is in the spotlight"
    play.check(live)


@pytest.mark.parametrize("name", ["browser_translator", "pronouncer"])
def test_with_reduced_motion_nothing_plays_by_itself(name, still_page):
    figure = translator() if name == "browser_translator" else Pronouncer(speaker())
    page = still_page(figure)
    live = Live(page.locator("[data-widget]"))
    write(live, "cats")
    assert live.numbers()["shown"] == live.numbers()["total"] > 0
    live.place.get_by_role("button", name="Step").click()
    settle(page)
    assert live.numbers()["shown"] == 1
    live.place.get_by_role("button", name="Play").click()
    settle(page)
    assert live.numbers()["shown"] == live.numbers()["total"]
    play.check(live)


def test_the_keyboard_walks_along_the_words(show):
    live = show(translator(text="the black cat sleeps"))
    said = live.place.locator(".al-av-said")
    assert said.evaluate_all("all => all.filter(b => b.tabIndex === 0).length") == 1
    said.first.focus()
    for key, place in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("Home", 0)):
        live.page.keyboard.press(key)
        settle(live.page)
        assert live.numbers()["selected"] == place
        expect(said.nth(place)).to_be_focused()
    assert "looked at" in live.place.locator("[aria-live=polite]").inner_text()
    play.check(live)


def test_the_pointer_on_a_word_or_a_row_shows_where_it_looked(show):
    live = show(translator(text="the black cat sleeps"))
    assert live.numbers()["selected"] == -1
    live.place.locator(".al-av-said").nth(2).hover()
    settle(live.page)
    assert live.numbers()["selected"] == 2
    assert len(live.numbers()["looked"]) == 5
    canvas = live.place.locator("canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 20, "y": box["height"] - 8})
    settle(live.page)
    assert live.numbers()["selected"] == live.numbers()["total"] - 1
    play.check(live)


def test_the_temperature_belongs_to_the_looks_and_leaves_with_them(show):
    live = show(translator(text="the black cat sleeps"))
    heat = live.place.get_by_label("Temperature")
    sharp = live.numbers()["weights"]
    drag_slider(heat, 0.9)
    settle(live.page)
    assert live.state()["temperature"] > 5
    assert max(live.numbers()["weights"][0]) < max(sharp[0])
    play.check(live)
    live.place.locator("input[type=checkbox]").click()
    settle(live.page)
    expect(heat).to_be_hidden()
    play.check(live)


def test_unknown_words_are_named_and_a_suggestion_replaces_them(show):
    live = show(translator())
    write(live, "The zebra sleps, 🦜")
    assert "“zebra”" in note(live)
    assert "Left out: 🦜" in note(live)
    assert live.numbers()["suggestions"] == {"zebra": [], "sleps": ["sleeps"]}
    live.place.locator("[role=status]").get_by_role("button", name="sleeps", exact=True).click()
    settle(live.page)
    assert live.state()["text"] == "The zebra sleeps, 🦜"
    assert live.numbers()["unknown"] == ["zebra"]
    play.check(live)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Nothing to translate yet"),
        ("🦜🦜 123", "no English word"),
        ("cat " * 2_500, "2,500 words"),
        ("<script>window.pwned = 1</script>", "“script”"),
        ("the cat sleeps and the dog sleeps", "longest one in training had 6"),
    ],
)
def test_odd_text_gets_a_clear_sentence_and_stays(show, text, words):
    live = show(translator(trained=6))
    write(live, text)
    assert words in note(live)
    assert live.place.locator("input[type=text]").input_value() == text
    assert live.page.evaluate("window.pwned") is None
    play.check(live)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Nothing to pronounce yet"),
        ("🦜 李", "no letter from a to z"),
        ("r2d2", "Left out: 2"),
        ("x" * 10_000, "10000 letters"),
        ("supercalifragilisticexpialidocious", "the longest one in training had 28"),
    ],
)
def test_odd_words_get_a_clear_sentence_and_stay(show, text, words):
    live = show(Pronouncer(speaker()))
    write(live, text)
    assert words in note(live)
    assert live.place.locator("input[type=text]").input_value() == text
    play.check(live)


def test_a_name_of_two_words_is_read_one_at_a_time(show):
    live = show(Pronouncer(speaker()))
    write(live, "Ada Lovelace")
    assert live.numbers()["word"] == "ada"
    live.place.get_by_role("button", name="lovelace").click()
    settle(live.page)
    assert live.numbers()["word"] == "lovelace"
    assert live.place.locator("input[type=text]").input_value() == "Ada Lovelace"
    play.check(live)
