"""What a reader and a listener get: pictures, code, screens, jumps; type and fullness of slides.

    python -m benchmarks.pages            # every chapter and deck of the built site
    python -m benchmarks.pages 03 04      # some chapters; `index` is the landing page

A chapter on a screen of 1440 × 900: how many screens it has, on which one its first picture stands,
whether code is on the first one, and which part of the height pictures take, and visible code with
the text it prints. Its
layout shift, as browsers define it (CLS), while somebody scrolls through it, on a phone and at a
desk. A deck at 1280 × 720: the smallest type a listener must read, in pixels, drawn and printed
letters included, and how full the emptiest slide is: the share of squares of 80 pixels with ink.

Chapters may fall short; those in HELD have met every bar once, and the tests keep them there.
"""

import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.live import wait_until_alive
from tests.browser.serving import serving

SITE = Path(__file__).parents[1] / "build" / "site"
HELD: tuple[str, ...] = (
    "00_start",
    "01_rnn_seq2seq",
    "02_bahdanau",
    "03_self_attention",
    "04_multi_head",
    "05_positions",
    "06_transformer",
    "07_families",
    "08_vit_dino",
    "09_swin",
    "10_transformer_pp",
    "capstone_your_own_model",
)
LANDING = "index"  # the first page of the site, held as well
SCREENS = {"09_swin": 25}  # where a chapter has a bar of its own

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
HALL = {"width": 1280, "height": 720}
SQUARE = 80  # pixels; what is smaller than a square is not seen as empty
INK = 24  # of 255: how far from the ground's colour

# Height in pixels of what matches, overlaps counted once; what is folded has none.
MEASURE = """() => {
  const seen = (node) => node.checkVisibility() && node.getBoundingClientRect().height > 8;
  const span = (selector) => [...document.querySelectorAll(selector)].filter(seen).map((node) => {
    const box = node.getBoundingClientRect();
    return [box.top + scrollY, box.bottom + scrollY];
  }).sort((a, b) => a[0] - b[0]);
  const height = (spans) => {
    let total = 0, end = -Infinity;
    for (const [top, bottom] of spans) {
      total += Math.max(0, bottom - Math.max(top, end));
      end = Math.max(end, bottom);
    }
    return total;
  };
  const main = ".bd-article ";
  const pictures = span(["[data-widget]:not([data-widget=quiz])", "figure", ".cell_output img",
    ".plotly-graph-div"].map((kind) => main + kind).join(", "));
  const code = span(`${main}div.cell_input, ${main}section > div[class*=highlight-]`);
  const printed = span(`${main}.cell_output pre`);
  const [top, bottom] = pictures[0] ?? [];
  return {
    page: document.documentElement.scrollHeight,
    pictures: height(pictures), code: height(code) + height(printed), printed: height(printed),
    first: pictures.length ? top + Math.min(innerHeight, bottom - top) / 2 : null,
    firstCode: code.length ? code[0][0] : null,
  };
}"""
# The largest burst of shifts: at most a second between two of them, at most five in all.
SHIFTS = """() => {
  window.courseShift = 0;
  let burst = 0, began = -Infinity, last = -Infinity;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      if (entry.startTime - last > 1000 || entry.startTime - began > 5000) {
        burst = 0;
        began = entry.startTime;
      }
      last = entry.startTime;
      burst += entry.value;
      window.courseShift = Math.max(window.courseShift, burst);
    }
  }).observe({ type: "layout-shift", buffered: true });
}"""
# Letters painted on a canvas leave no trace in the page, so painting is listened to.
LISTEN = """() => {
  for (const name of ["fillText", "strokeText"]) {
    const paint = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (text, ...rest) {
      const size = parseFloat(this.font.match(/([\\d.]+)px/)?.[1] ?? "0");
      const { a, b } = this.getTransform();
      const drawn = size * Math.hypot(a, b); // turned letters are as large as level ones
      if (String(text).trim() && drawn) {
        const known = this.canvas.smallest;
        if (!known || drawn < known.drawn) this.canvas.smallest = { drawn, text: String(text) };
      }
      return paint.call(this, text, ...rest);
    };
  }
}"""
# The smallest letters of a slide, or of a frame on it, in its pixels, and which they are.
SMALLEST = """(slide) => {
  const found = [];
  const scale = (node) => {
    const box = node.getBoundingClientRect();
    return node.offsetWidth ? box.width / node.offsetWidth : 1;
  };
  const walk = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim();
    const holder = walk.currentNode.parentElement;
    if (!/[\\p{L}\\p{N}]/u.test(text)) continue;
    if (!holder.checkVisibility({ visibilityProperty: true })) continue;
    if (holder.closest("aside, script, style, mjx-container, option")) continue;
    const box = holder.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue; // for screen readers
    const drawing = holder.closest("svg");
    const size = parseFloat(getComputedStyle(holder).fontSize);
    const block = holder.closest("div, section, p, li, pre, td, th, button, label");
    const place = drawing && holder.getScreenCTM();
    const times = drawing ? Math.hypot(place.a, place.b) : scale(block);
    found.push([size * times, text.slice(0, 40)]);
  }
  for (const formula of slide.querySelectorAll("mjx-container")) {
    if (!formula.checkVisibility()) continue;
    const block = formula.closest("div, section, p, li, td, th, h1, h2, h3");
    found.push([parseFloat(getComputedStyle(formula).fontSize) * scale(block), "a formula"]);
  }
  for (const canvas of slide.querySelectorAll("canvas")) {
    if (!canvas.smallest || !canvas.checkVisibility()) continue;
    const times = canvas.getBoundingClientRect().width / canvas.width;
    found.push([canvas.smallest.drawn * times, canvas.smallest.text]);
  }
  for (const image of slide.querySelectorAll("img[data-smallest]")) {
    const times = image.getBoundingClientRect().width / Number(image.getAttribute("width"));
    found.push([Number(image.dataset.smallest) * times, `in: ${image.alt.slice(0, 40)}`]);
  }
  found.sort((a, b) => a[0] - b[0]);
  return found[0] ?? [Infinity, ""];
}"""
# Slides from the first to the last, each with all its fragments shown.
PLACES = """() => Reveal.getSlides().filter((s) => !s.querySelector(":scope > section"))
  .map((s) => ({ ...Reveal.getIndices(s), f: s.querySelectorAll(".fragment").length }))"""
TURN = """async ({ h, v, f }) => {
  Reveal.slide(h, v ?? 0, f);
  const slide = Reveal.getCurrentSlide();
  await Promise.all(slide.getAnimations({ subtree: true }).map((a) => a.finished.catch(() => 0)));
  for (let n = 0; n < 4; n += 1) await new Promise(requestAnimationFrame);
}"""
BARE = ".reveal .controls, .reveal .progress, .reveal .slide-number { display: none !important; }"


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One page, as a reader meets it."""

    name: str
    screens: float
    first_picture: int | None  # the screen on which the middle of the first picture lies
    code_first: bool  # whether code is on the first screen
    pictures: float  # share of the height
    code: float  # visible code and the text it prints
    printed: float  # that text alone
    shift_desk: float
    shift_phone: float

    def falls_short(self) -> list[str]:
        """Which bars it misses, in words."""
        wrong = []
        most = SCREENS.get(self.name, 30)
        if self.screens > most:
            wrong.append(f"{self.screens:.1f} screens, bar {most}")
        if self.first_picture != 1:
            where = f"on screen {self.first_picture}" if self.first_picture else "nowhere"
            wrong.append(f"its first picture is {where}")
        if self.code_first:
            wrong.append("code on the first screen")
        if self.pictures < 0.25:
            wrong.append(f"pictures {self.pictures:.0%} of the height, bar 25 %")
        if self.code > 0.35:
            wrong.append(f"visible code {self.code:.0%}, bar 35 %")
        for place, shift in (("desk", self.shift_desk), ("phone", self.shift_phone)):
            if shift > 0.05:
                wrong.append(f"layout shift {shift:.2f} at the {place}, bar 0.05")
        return wrong


@dataclass(frozen=True, kw_only=True)
class Slide:
    """One slide, as a listener sees it: its smallest letters in pixels, and how full it is."""

    number: int
    title: str
    smallest: float
    letters: str
    full: float

    def falls_short(self) -> list[str]:
        wrong = []
        if self.smallest < 23.95:  # a browser rounds sizes
            wrong.append(f"{self.smallest:.1f} px, bar 24: {self.letters!r}")
        if self.full < 1 / 3:
            wrong.append(f"{self.full:.0%} full, bar 33 %")
        return [f"slide {self.number} ({self.title}): {what}" for what in wrong]


def measure_chapter(browser: Browser, url: str, name: str) -> Chapter:
    """Open a page at a desk and on a phone, scroll through it, and take its measures."""
    desk, shift_desk = _scrolled(browser, url, viewport=DESK)
    found = desk.evaluate(MEASURE)
    desk.context.close()
    # Not `is_mobile`: a browser that plays a phone reports no layout shift at all.
    phone, shift_phone = _scrolled(browser, url, viewport=PHONE, has_touch=True)
    phone.context.close()
    screen = DESK["height"]
    return Chapter(
        name=name,
        screens=found["page"] / screen,
        first_picture=None if found["first"] is None else 1 + int(found["first"] // screen),
        code_first=found["firstCode"] is not None and found["firstCode"] < screen,
        pictures=found["pictures"] / found["page"],
        code=found["code"] / found["page"],
        printed=found["printed"] / found["page"],
        shift_desk=shift_desk,
        shift_phone=shift_phone,
    )


def _scrolled(browser: Browser, url: str, **screen: object) -> tuple[Page, float]:
    """A page after somebody scrolled to its end, and its layout shift (CLS)."""
    page = browser.new_context(**screen).new_page()  # type: ignore[arg-type]
    page.add_init_script(f"({SHIFTS})()")
    page.goto(url)
    wait_until_alive(page)
    page.evaluate(
        """async () => {
          for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight * 0.7) {
            scrollTo(0, y);
            await new Promise((done) => setTimeout(done, 60));
          }
          scrollTo(0, 0);
          await new Promise((done) => setTimeout(done, 300));
        }"""
    )
    return page, float(page.evaluate("courseShift"))


def first_shift(browser: Browser, url: str, latency: int) -> float:
    """The shift of a phone's first screen, each answer of the network late by some milliseconds."""
    page = browser.new_context(viewport=PHONE, has_touch=True).new_page()  # type: ignore[arg-type]
    page.add_init_script(f"({SHIFTS})()")
    slow = {"latency": latency, "downloadThroughput": 3e6, "uploadThroughput": 3e6}
    page.context.new_cdp_session(page).send(
        "Network.emulateNetworkConditions", {"offline": False, **slow}
    )
    page.goto(url)
    wait_until_alive(page)
    shift = float(page.evaluate("courseShift"))
    page.context.close()
    return shift


def measure_deck(browser: Browser, url: str, pictures: Path | None = None) -> Iterator[Slide]:
    """Every slide of a deck; with `pictures`, what was looked at is kept in that folder."""
    page = browser.new_context(viewport=HALL).new_page()
    page.add_init_script(f"({LISTEN})()")
    page.goto(url)
    page.wait_for_function("document.documentElement.dataset.ready", timeout=180_000)
    page.add_style_tag(content=BARE)
    for number, place in enumerate(page.evaluate(PLACES), start=1):
        page.evaluate(TURN, place)
        smallest, letters = _smallest(page)
        image = page.screenshot(animations="disabled")
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            (pictures / f"{number:02}.png").write_bytes(image)
        title = page.evaluate(
            "Reveal.getCurrentSlide().querySelector('h1, h2, h3, .al-title')?.innerText ?? '…'"
        )
        yield Slide(
            number=number, title=title.strip().splitlines()[0][:48], smallest=smallest,
            letters=letters, full=fullness(image),
        )  # fmt: skip
    page.context.close()


def _smallest(page: Page) -> tuple[float, str]:
    """The smallest letters of the slide on show, frames included, in pixels of the screen."""
    found: list[tuple[float, str]] = []
    slide = page.evaluate_handle("Reveal.getCurrentSlide()").as_element()
    assert slide
    size, letters = slide.evaluate(SMALLEST)
    found.append((size, letters))
    for place in slide.query_selector_all("iframe"):
        frame = place.content_frame()
        assert frame
        frame.wait_for_load_state()
        times = place.evaluate("f => f.getBoundingClientRect().width / f.offsetWidth")
        size, letters = frame.locator("body").evaluate(SMALLEST)
        found.append((size * times, f"in a frame: {letters}"))
    return min(found)


def fullness(image: bytes) -> float:
    """The share of squares that hold ink, of a picture whose corner shows its ground."""
    with Image.open(io.BytesIO(image)) as opened:
        pixels = np.asarray(opened.convert("RGB")).astype(int)
    ink = np.abs(pixels - pixels[0, 0]).max(axis=-1) > INK
    rows, columns = ink.shape[0] // SQUARE, ink.shape[1] // SQUARE
    squares = ink[: rows * SQUARE, : columns * SQUARE].reshape(rows, SQUARE, columns, SQUARE)
    return float(squares.any(axis=(1, 3)).mean())


def main() -> bool:
    """Print every chapter and deck with what falls short; are the held ones still good?"""
    if not (SITE / "index.html").is_file():
        raise SystemExit("The website is not built: run make book.")
    chosen = sys.argv[1:]
    pages = [*sorted(SITE.glob("[0-9][0-9]_*.html")), *SITE.glob("capstone_*.html")]
    names = [LANDING, *(p.stem for p in pages)]
    names = [name for name in names if not chosen or name.partition("_")[0] in chosen]
    short: dict[str, list[str]] = {}
    with serving(SITE) as address, sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        print("chapter                screens  picture  pictures  code  printed  shift desk, phone")
        for name in names:
            one = measure_chapter(browser, f"{address}/{name}.html", name)
            short[name] = one.falls_short()
            where = f"screen {one.first_picture}" if one.first_picture else "none"
            print(
                f"{name:22} {one.screens:7.1f} {where:>9} {one.pictures:8.0%} {one.code:6.0%}"
                f" {one.printed:7.0%}   {one.shift_desk:.3f}, {one.shift_phone:.3f}",
                flush=True,
            )
        print("\ndeck                   slides  smallest type  emptiest slide")
        for name in names:
            if name == LANDING or not (SITE / "slides" / f"{name}.html").is_file():
                continue
            kept = SITE.parent / "screenshots" / f"deck-{name}"
            slides = list(measure_deck(browser, f"{address}/slides/{name}.html", kept))
            short[name] += [words for slide in slides for words in slide.falls_short()]
            print(
                f"{name:22} {len(slides):6} {min(s.smallest for s in slides):11.1f} px"
                f" {min(s.full for s in slides):15.0%}",
                flush=True,
            )
        browser.close()
    print()
    for name, wrong in short.items():
        print(f"{name}: {'every bar is met' if not wrong else f'falls short {len(wrong)} times'}")
        for words in wrong:
            print(f"  - {words}")
    lost = [name for name in names if name in (LANDING, *HELD) and short[name]]
    if lost:
        print(f"BROKEN: these had met every bar: {', '.join(lost)}")
    return not lost


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
