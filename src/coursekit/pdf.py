"""`slides-pdf`: each deck as a PDF, one page per slide, figures in their opening state.

A browser prints it, so it needs Playwright and Chromium, as the browser tests do.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from coursekit.build import load_chapters
from coursekit.errors import CourseError
from coursekit.project import Project
from coursekit.slides import build_slides, has_slides

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1280, 720
# One slide after the other in the flow of the page, each with all its fragments. What is in frames
# is reloaded where it is moved to, and not only when somebody looks.
ONE_BY_ONE = """async () => {
  const leaves = [...document.querySelectorAll(".reveal .slides section")]
    .filter((slide) => !slide.querySelector(":scope > section"));
  const sheet = document.createElement("div");
  sheet.className = "reveal course-sheet";
  const slides = document.createElement("div");
  slides.className = "slides";
  sheet.append(slides);
  for (const slide of leaves) {
    for (const part of slide.querySelectorAll(".fragment")) part.classList.add("visible");
    for (const kind of ["hidden", "aria-hidden"]) slide.removeAttribute(kind);
    slide.classList.remove("past", "future");
    slide.classList.add("present");
    slides.append(slide);
  }
  document.querySelector(".reveal:not(.course-sheet)").remove();
  const loaded = [...sheet.querySelectorAll("iframe")].map((frame) => {
    frame.loading = "eager";
    return new Promise((done) => frame.addEventListener("load", done, { once: true }));
  });
  document.body.append(sheet);
  await Promise.all(loaded);
}"""
STYLE = f"""@page {{ size: {WIDTH}px {HEIGHT}px; margin: 0; }}
html, body {{ height: auto !important; overflow: visible !important; background: white; }}
.course-sheet, .course-sheet .slides {{
  position: static !important; display: block !important; width: {WIDTH}px;
  height: auto !important; transform: none !important; zoom: 1 !important;
  inset: auto; margin: 0; overflow: visible;
}}
.course-sheet .slides section {{
  position: relative !important; inset: auto !important; width: {WIDTH}px !important;
  height: {HEIGHT}px !important; opacity: 1 !important; visibility: visible !important;
  transform: none !important; overflow: hidden; break-after: page; break-inside: avoid;
}}
.course-sheet .slides section:last-child {{ break-after: auto; }}
.course-sheet .fragment {{ opacity: 1 !important; visibility: visible !important; }}
aside.notes {{ display: none !important; }}
* {{ print-color-adjust: exact; }}"""


def build_pdfs(project: Project, chapter: str | None = None) -> list[Path]:
    """Build the decks and print them into build/slides/NN_name.pdf; return the files."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise CourseError("PDFs are printed by a browser: pip install playwright") from error
    folder = build_slides(project, chapter).parent
    names = [one.stem for one in load_chapters(project, chapter) if has_slides(one)]
    made = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(playwright))
        for name in tqdm(names, desc="pdf", unit="deck"):
            made.append(print_deck(browser, folder / f"{name}.html"))
        browser.close()
    return made


def print_deck(browser: Any, deck: Path) -> Path:
    """One deck, beside its page."""
    page = open_sheet(browser, deck)
    target = deck.with_suffix(".pdf")
    page.pdf(
        path=target, width=f"{WIDTH}px", height=f"{HEIGHT}px", print_background=True,
        prefer_css_page_size=True,
    )  # fmt: skip
    page.close()
    return target


def open_sheet(browser: Any, deck: Path) -> Any:
    """What is printed, in a browser: a page with all slides below each other."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto(deck.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready", timeout=180_000)
    page.add_style_tag(content=STYLE)
    page.evaluate(ONE_BY_ONE)
    page.emulate_media(media="screen")
    return page


def _chromium(playwright: Any) -> str:
    """$CHROMIUM, a browser on the PATH, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    found = [named] if named else [path for name in NAMES if (path := shutil.which(name))]
    own = str(playwright.chromium.executable_path)
    path = found[0] if found else own if Path(own).exists() else None
    if path is None:
        raise CourseError("No Chromium was found: install it, or set CHROMIUM to its path.")
    return path
