"""The lecture slides: live figures move on a slide as they do anywhere, and nothing is fetched."""

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, TimeoutError, expect

from coursekit import pdf
from tests.browser import play
from tests.browser.built import ROOT, SLIDES, Spot, spots, tries
from tests.browser.live import Live, settle

LECTURES = sorted(
    path.stem
    for path in (ROOT / "notebooks").glob("*.py")
    if 'tags=["slide"' in path.read_text(encoding="utf-8")
)
# From the disk, the decks in which a kind of figure comes first: those the tests of figures open.
FIRSTS = {Path(spot.file).stem for spot in spots(SLIDES, first_of_each_kind=True) if spot}
OPENED = [(name, "http") for name in LECTURES]
OPENED += [(name, "file") for name in LECTURES if name in FIRSTS]
# A slide without slides inside it; `fits` says whether all of it is on the screen.
LEAVES = """[...document.querySelectorAll(".reveal .slides section")]
  .filter((slide) => !slide.querySelector(":scope > section"))"""
# A PNG of one pixel.
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# Figures whose traits are others than those they came with.
MOVED = """all => all.filter((place) => {
  const came = JSON.parse(place.querySelector("script[type='application/json']").textContent);
  return ["step", "lit", "playing"].some((name) =>
    name in came && JSON.stringify(came[name]) !== JSON.stringify(place.model.get(name)));
}).map((place) => place.dataset.widget)"""
TURNED = "Reveal.getIndices().h + Reveal.getIndices().v > 0"
Address = Callable[..., str]


@pytest.fixture
def open_deck(open_once: Callable[[str], Page]) -> Callable[[str], Page]:
    """Open a deck and wait until reveal.js runs and every slide was fitted to the screen."""

    def go(url: str) -> Page:
        page = open_once(url)
        page.wait_for_function("window.Reveal?.isReady()")
        page.wait_for_function("document.documentElement.dataset.ready", timeout=120_000)
        return page

    return go


def show(page: Page, live: Live) -> None:
    """Turn to the slide a figure is on, with all its fragments."""
    live.place.evaluate(
        """place => {
          const slide = place.closest("section");
          const { h, v } = Reveal.getIndices(slide);
          Reveal.slide(h, v, slide.querySelectorAll(".fragment").length - 1);
        }"""
    )
    expect(live.place).to_be_in_viewport()
    # The slide fades in; a picture taken before it stands still would differ by itself.
    page.wait_for_function(
        "place => getComputedStyle(place.closest('section')).opacity === '1'",
        arg=live.place.element_handle(),
    )
    # Animations of the slide alone: reveal.js has one of 100 seconds elsewhere on the page.
    live.place.evaluate(
        """place => Promise.all(place.closest("section").getAnimations({ subtree: true })
          .map((animation) => animation.finished.catch(() => 0)))"""
    )
    settle(page)


@pytest.mark.parametrize(("spot", "scheme"), tries(SLIDES), ids=str)
def test_figure_on_a_slide_follows_the_hand_and_equals_python(
    spot: Spot | None, scheme: str, slides: Path, address: Address,
    open_deck: Callable[[str], Page], shoot: Callable[..., Path],
) -> None:  # fmt: skip
    assert spot, "the slides have no live figure: run make slides"
    page = open_deck(address(slides / spot.file, scheme))
    live = Live(page.locator("[data-widget]").nth(spot.index))
    assert live.kind == spot.kind
    show(page, live)
    before = page.evaluate("Reveal.getIndices()")
    play.lecture_move(live)
    assert page.evaluate("Reveal.getIndices()") == before, "moving the figure turned the slide"
    shoot(page, f"slide-{spot}")


@pytest.mark.parametrize(("name", "scheme"), OPENED)
def test_every_slide_fits_the_screen(
    name: str, scheme: str, slides: Path, address: Address, open_deck: Callable[[str], Page]
) -> None:
    """And every figure of a deck lives, from a disk too: a deck is open when all of them do."""
    page = open_deck(address(slides / f"{name}.html", scheme))
    count = page.evaluate(f"{LEAVES}.length")
    assert count >= 5
    cut = page.evaluate(
        f"{LEAVES}.filter((s) => s.dataset.fits !== 'yes').map((s) => s.innerText.slice(0, 60))"
    )
    assert not cut, f"these slides are cut off: {cut}"
    assert page.locator("mjx-merror").count() == 0, "a formula could not be set"


def test_fragments_are_the_steps_of_a_diagram(
    slides: Path, address: Address, open_deck: Callable[[str], Page]
) -> None:
    """The lecturer's own keys walk through them, forwards and back."""
    page = open_deck(address(slides / "03_self_attention.html"))
    marked = page.locator("[data-widget=diagram]", has=page.locator(".al-dg-mark")).first
    live = Live(marked)
    steps = len(live.state()["steps"])
    assert marked.locator(".al-dg-mark").count() == steps - 1
    page.evaluate(
        """place => {
          const { h, v } = Reveal.getIndices(place.closest("section"));
          Reveal.slide(h, v, -1);
          document.activeElement.blur();
        }""",
        marked.element_handle(),
    )
    for key, step in (("PageDown", 1), ("PageDown", 2), ("PageUp", 1)):
        page.keyboard.press(key)
        page.wait_for_function(
            "([place, step]) => place.model.get('step') === step",
            arg=[marked.element_handle(), step], timeout=10_000,
        )  # fmt: skip
        assert live.numbers()["step"] == step


def test_a_figure_that_grows_stays_on_its_slide(
    slides: Path, address: Address, open_deck: Callable[[str], Page]
) -> None:
    page = open_deck(address(slides / "06_transformer.html"))
    live = Live(page.locator("[data-widget=quiz]").first)
    show(page, live)
    for choice in live.controls("[role=group][aria-label^=Choices] button"):
        choice.click()
    page.wait_for_function(
        "place => place.closest('section').scrollHeight <= 721", arg=live.place.element_handle()
    )


@pytest.mark.parametrize("name", LECTURES)
def test_speaker_notes_are_there_and_not_shown(
    name: str, slides: Path, address: Address, open_deck: Callable[[str], Page]
) -> None:
    source = (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
    page = open_deck(address(slides / f"{name}.html"))
    notes = page.locator("aside.notes")
    assert notes.count() > 0
    assert notes.count() == source.count('tags=["notes"]')
    assert not [note for note in notes.all() if note.is_visible()]
    assert page.evaluate("Reveal.hasPlugin('notes')")


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_the_speaker_sees_notes_a_clock_and_the_slide(
    scheme: str, slides: Path, address: Address, new_page: Callable[..., Page]
) -> None:
    """The key S opens a window of the speaker's own, which follows the deck."""
    page = new_page(viewport={"width": 1280, "height": 720})
    page.goto(address(slides / "03_self_attention.html", scheme))
    page.wait_for_function("document.documentElement.dataset.ready", timeout=120_000)
    with page.expect_popup() as opened:
        page.keyboard.press("s")
    view = opened.value
    expect(view.locator(".speaker-controls-time .timer")).to_contain_text(re.compile(r"\d\d"))
    first = page.locator("aside.notes").first.text_content() or ""
    notes = view.locator(".speaker-controls-notes .value")
    expect(notes).to_contain_text(first.split()[0], timeout=60_000)
    page.evaluate("Reveal.next()")
    expect(notes).not_to_contain_text(first.strip()[:30], timeout=60_000)
    assert view.locator("iframe").count() == 2  # this slide and the next


@pytest.mark.parametrize("name", LECTURES)
def test_the_keyboard_turns_slides_but_not_from_within_a_figure(
    name: str, slides: Path, address: Address, open_deck: Callable[[str], Page]
) -> None:
    page = open_deck(address(slides / f"{name}.html"))
    # An earlier test may have left the focus in a figure, where keys are not for the slides.
    page.evaluate("Reveal.slide(0, 0); document.activeElement.blur()")
    settle(page)
    for _ in range(3):  # a browser that is busy elsewhere may miss a key
        page.keyboard.press("PageDown")
        with contextlib.suppress(TimeoutError):
            page.wait_for_function(TURNED, timeout=10_000)
            break
    assert page.evaluate(TURNED), "the key turned no slide"
    live = Live(page.locator("[data-widget]").filter(has=page.locator("input[type=range]")).first)
    show(page, live)
    before = page.evaluate("Reveal.getIndices()")
    slider = live.controls("input[type=range]")[0]
    slider.focus()
    numbers = live.numbers()
    # Another test may have pulled it to its end.
    far = slider.evaluate("s => (s.value - s.min) / (s.max - s.min) > 0.5")
    page.keyboard.press("ArrowLeft" if far else "ArrowRight")
    page.keyboard.press("ArrowLeft" if far else "ArrowRight")
    settle(page)
    assert page.evaluate("Reveal.getIndices()") == before, "an arrow key turned the slide"
    assert live.numbers() != numbers
    play.check(live)


def test_the_list_of_decks_leads_to_each(slides: Path, page: Page, address: Address) -> None:
    page.goto(address(slides / "index.html", "file"))
    links = [a.get_attribute("href") for a in page.locator("li a").all()]
    assert links == [f"{name}.html" for name in LECTURES]


def test_layouts_put_things_in_their_places(
    slides: Path, page: Page, tmp_path: Path, address: Address
) -> None:
    """Words beside a figure, a printed figure as large as its room, all of it legible."""
    source = f"data:image/png;base64,{DOT}"
    figure = f'<figure><img alt="plot" width="700" height="350" src="{source}"></figure>'
    words = "<h2>A statement</h2><p>Some words.</p>"
    sections = (
        f'<section class="layout-columns"><div>{words}</div><div>{figure}</div></section>'
        f'<section class="layout-figure"><div>{words}</div><div>{figure}</div></section>'
        '<section class="layout-question"><div><h2>Which one?</h2></div></section>'
        '<section class="layout-code"><div class="highlight"><pre>x = 1</pre></div></section>'
    )
    name = LECTURES[0]
    text = (slides / f"{name}.html").read_text(encoding="utf-8")
    before, _, rest = text.partition('<div class="slides">')
    after = rest[rest.rindex("</section>") + len("</section>") :]
    deck = slides / "layouts-test.html"
    deck.write_text(f'{before}<div class="slides">{sections}{after}', encoding="utf-8")
    try:
        page.goto(address(deck))
        page.wait_for_function("document.documentElement.dataset.ready", timeout=60_000)
        columns = page.locator(".course-columns > div")
        assert columns.count() == 2
        left, right = (columns.nth(i).bounding_box() for i in range(2))
        assert left
        assert right
        assert left["x"] + left["width"] < right["x"]
        assert columns.nth(1).locator("img").count() == 1
        page.evaluate("Reveal.slide(1)")
        box = page.locator("section.present img").evaluate("i => i.getBoundingClientRect().width")
        wide = page.evaluate("Reveal.getScale()") * 1280
        assert box > 0.7 * wide, "a figure fills its slide"
        size = "p => parseFloat(getComputedStyle(p).fontSize)"
        assert page.locator(".layout-code pre").evaluate(size) >= 24
    finally:
        deck.unlink()


def test_a_deck_is_printed_page_by_page_in_its_opening_state(
    slides: Path, browser: Browser, shoot: Callable[..., Path]
) -> None:
    deck = slides / "04_multi_head.html"  # it has live figures, printed ones, and a frame
    leaves = deck.read_text(encoding="utf-8").count('<section class="layout-')
    sheet = pdf.open_sheet(browser, deck)
    assert sheet.locator("[data-widget]").count() >= 3
    moved = sheet.locator("[data-widget]").evaluate_all(MOVED)
    assert not moved, f"not in the opening state: {moved}"
    empty = [frame for frame in sheet.frames[1:] if not frame.locator("svg text").count()]
    assert len(sheet.frames) > 1
    assert not empty, "a frame is printed empty"
    faint = "all => all.filter((one) => getComputedStyle(one).opacity !== '1').length"
    assert sheet.locator(".fragment").evaluate_all(faint) == 0
    boxes = sheet.locator("section").evaluate_all("all => all.map((one) => one.offsetHeight)")
    assert boxes == [pdf.HEIGHT] * leaves
    shoot(sheet, "pdf-04_multi_head", full_page=True)
    sheet.close()
    file = pdf.print_deck(browser, deck)
    pages = len(re.findall(rb"/Type\s*/Page\b", file.read_bytes()))
    file.unlink()
    assert pages == leaves
