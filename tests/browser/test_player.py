"""One player for every figure that goes step by step: back, forward, play, at a chosen speed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from attnlab.widgets.base import STATIC
from attnlab.widgets.linker import parts_of
from tests.browser.live import Live, settle
from tests.browser.play import check
from tests.browser.twins import kinds

STEPPED = sorted(
    kind for kind in kinds() if "player" in parts_of(kind) and kind not in ("path_length",)
)


def opened(kind: str, made_page: Callable[..., Page]) -> Live:
    """The first example of a kind that has steps."""
    page = made_page(*kinds()[kind].examples())
    for place in page.locator("[data-widget]").all():
        if place.locator(".al-player").count():
            return Live(place)
    raise AssertionError(f"no example of {kind} has steps")


def names(live: Live) -> list[str]:
    buttons = live.place.locator(".al-player .al-button").all()
    return [one.get_attribute("aria-label") or one.inner_text() for one in buttons]


@pytest.mark.parametrize("kind", STEPPED)
def test_steps_go_forth_and_back_and_play(kind: str, made_page: Callable[..., Page]) -> None:
    live = opened(kind, made_page)
    group = live.place.locator(".al-player")
    back = group.get_by_role("button", name="Back", exact=False).last
    play = group.locator(".al-play")
    if not back.is_enabled():  # at the start: one step on
        group.locator(".al-button:enabled").nth(0).click()
        settle(live.page)
    here = live.numbers()
    back.click()
    settle(live.page)
    before = live.numbers()
    assert before != here, f"{kind}: Back does nothing"
    assert "Play" in names(live)

    play.click()
    expect(play).to_have_attribute("aria-pressed", "true")
    live.page.wait_for_function(
        "([place, old]) => JSON.stringify(place.querySelector('.al-figure').figure.numbers())"
        " !== old",
        arg=[
            live.place.element_handle(),
            live.place.evaluate(
                "p => JSON.stringify(p.querySelector('.al-figure').figure.numbers())"
            ),
        ],
        timeout=20_000,
    )
    if play.get_attribute("aria-pressed") == "true":  # not at the end yet
        play.click()
    expect(play).to_have_attribute("aria-pressed", "false")


def test_speed_goes_round(made_page: Callable[..., Page]) -> None:
    live = opened("rnn_stepper", made_page)
    speed = live.place.locator(".al-speed")
    seen = []
    for _ in range(5):
        seen.append(speed.get_attribute("aria-label"))
        speed.click()
    assert seen == ["Speed 1×", "Speed 2×", "Speed 4×", "Speed ½×", "Speed 1×"]


def test_a_figure_that_moves_is_read_at_one_moment(made_page: Callable[..., Page]) -> None:
    """A player that runs on while Python compares is no difference between the two."""
    live = opened("story_teller", made_page)
    live.place.evaluate("""place => { setInterval(() => {
      const { model } = place;
      model.set("position", (model.get("position") + 1) % model.get("tokens").length);
    }, 1); }""")
    for _ in range(60):
        check(live)


def test_with_reduced_motion_play_shows_the_end_at_once(
    still_page: Callable[..., Page],
) -> None:
    page = still_page(kinds()["rnn_stepper"].examples()[0])
    live = Live(page.locator("[data-widget]"))
    live.place.get_by_role("button", name="Back").click()
    settle(page)
    steps = len(live.state()["tokens"])
    assert live.numbers()["step"] < steps
    live.place.locator(".al-play").click()
    settle(page)
    assert live.numbers()["step"] == steps
    expect(live.place.locator(".al-play")).to_have_attribute("aria-pressed", "false")
    assert not live.place.locator(".al-speed").count()


def test_no_figure_has_a_player_of_its_own() -> None:
    """Timers that walk through steps are in player.js alone."""
    for path in sorted(STATIC.glob("*.js")):
        text = path.read_text(encoding="utf-8")
        if path.stem != "player":
            assert not re.search(r"[\"“]▶|prefers-reduced-motion", text), path.name
