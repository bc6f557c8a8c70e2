"""What a reader sees of a chapter and a listener of its slides: the bars, and the ruler itself."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser

from benchmarks import pages

Address = Callable[..., str]


@pytest.mark.parametrize("name", [pages.LANDING, *pages.HELD])
def test_a_chapter_that_met_the_bars_keeps_them(
    name: str, site: Path, address: Address, browser: Browser
) -> None:
    one = pages.measure_chapter(browser, address(site / f"{name}.html"), name)
    assert not one.falls_short()


@pytest.mark.parametrize("name", [pages.LANDING, "03_self_attention"])
def test_nothing_jumps_where_the_browser_does_not_wait_for_scripts(
    name: str, site: Path, address: Address, browser: Browser
) -> None:
    """blocking="render" is not known everywhere; and scripts may take their time."""
    text = (site / f"{name}.html").read_text(encoding="utf-8")
    assert 'blocking="render"' in text
    copy = site / f"{name}-waits-for-nothing.html"
    copy.write_text(text.replace(' blocking="render"', ""), encoding="utf-8")
    try:
        shift = pages.first_shift(browser, address(copy), latency=150)
    finally:
        copy.unlink()
    assert shift <= 0.05


@pytest.mark.parametrize("name", pages.HELD)
def test_slides_that_met_the_bars_keep_them(
    name: str, slides: Path, address: Address, browser: Browser
) -> None:
    deck = pages.measure_deck(browser, address(slides / f"{name}.html"))
    assert not [words for slide in deck for words in slide.falls_short()]


PAGE = """<!doctype html><title>A ruler</title><style>
  body { margin: 0 } div { box-sizing: border-box; overflow: hidden }
</style><div class="bd-article">
<div id="late" style="height: 0"></div><div style="height: 300px">first words</div>
<div class="cell_output"><figure style="margin: 0; height: 600px"></figure></div>
<div class="cell_input" style="height: 300px"></div>
<details><summary style="height: 100px; display: block"></summary>
  <div class="cell_input" style="height: 5000px"></div></details>
<div class="cell_output"><pre style="margin: 0; height: 100px"></pre></div>
<div style="height: 500px"></div></div>
<script>
  const painted = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
  painted(() => { late.style.height = "100px"; });
</script>"""


def test_the_ruler_measures_what_is_there(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    found = pages.measure_chapter(browser, (tmp_path / "page.html").as_uri(), "page")
    assert found.screens == pytest.approx(2000 / 900, abs=0.01)
    assert found.first_picture == 1  # its middle is at 700 of 900
    assert not found.code_first
    assert found.pictures == pytest.approx(600 / 2000, abs=0.01)
    assert found.code == pytest.approx(400 / 2000, abs=0.01)  # the fold is closed
    assert found.shift_phone > 0  # "first words" jumped


def test_the_ruler_reads_what_is_in_a_frame(tmp_path: Path, browser: Browser) -> None:
    inside = (
        "<p style='font-size: 20px'>small</p><svg><text y='30' font-size='30'>large</text></svg>"
    )
    (tmp_path / "deck.html").write_text(
        f"""<!doctype html><html data-ready="yes"><body style="zoom: 1"><section id="one">
        <h2 style="font-size: 40px">Title</h2>
        <iframe sandbox="allow-scripts" style="transform: scale(0.5)" srcdoc="{inside}"></iframe>
        </section><script>window.Reveal = {{
          getSlides: () => [one], getCurrentSlide: () => one, getIndices: () => ({{ h: 0, v: 0 }}),
          slide() {{}} }};</script></body></html>""",
        encoding="utf-8",
    )
    (slide,) = pages.measure_deck(browser, (tmp_path / "deck.html").as_uri())
    assert slide.smallest == pytest.approx(10)
    assert slide.letters == "in a frame: small"


def test_each_bar_can_be_missed() -> None:
    good = {
        "screens": 30.0, "first_picture": 1, "code_first": False, "pictures": 0.25, "code": 0.35,
        "printed": 0.1, "shift_desk": 0.05, "shift_phone": 0.05,
    }  # fmt: skip
    assert pages.Chapter(name="good", **good).falls_short() == []  # type: ignore[arg-type]
    bad = {
        "screens": 30.6, "first_picture": 2, "code_first": True, "pictures": 0.24, "code": 0.36,
        "shift_desk": 0.06, "shift_phone": 0.06,
    }  # fmt: skip
    for name, value in bad.items():
        wrong = pages.Chapter(name="bad", **{**good, name: value}).falls_short()  # type: ignore[arg-type]
        assert len(wrong) == 1, name
    slide = pages.Slide(number=1, title="A title", smallest=23.0, letters="small", full=0.3)
    assert len(slide.falls_short()) == 2


def test_fullness_is_the_share_of_squares_with_ink() -> None:
    pixels = np.full((720, 1280, 3), 255, dtype=np.uint8)
    pixels[100:110, 100:300] = 0  # a line of text touches three squares of 80
    image = io.BytesIO()
    Image.fromarray(pixels).save(image, format="png")
    assert pages.fullness(image.getvalue()) == pytest.approx(3 / (16 * 9))
