"""Figures in a hall: whatever its kind, on a slide its letters can be read from the last row."""

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from attnlab.widgets.base import LiveFigure
from attnlab.widgets.plotly_figure import write_plotly
from benchmarks import pages
from coursekit import slides, vendored
from coursekit.project import Project
from coursekit.source import Chapter
from tests.browser.built import ROOT
from tests.browser.twins import kinds


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Callable[[LiveFigure], Path]:
    """Write a deck of one slide: a statement, and a figure."""
    folder = tmp_path_factory.mktemp("deck")
    library = folder / slides.LIBRARY
    vendored.copy_reveal(library / "reveal")
    vendored.copy_mathjax(library / "mathjax")
    vendored.write_widgets(Project(ROOT), library)
    for name in ("slides.css", "slides.js"):
        shutil.copyfile(slides.TEMPLATES / "course_slides" / name, library / name)

    def write(figure: LiveFigure) -> Path:
        statement = nbformat.v4.new_markdown_cell("## What the figure says, in one line")
        statement.metadata["slideshow"] = {"slide_type": "slide"}
        shown = nbformat.v4.new_code_cell("figure")
        shown.metadata.update({"slideshow": {"slide_type": "-"}, "hidden_code": True})
        shown.outputs = [
            nbformat.v4.new_output("display_data", data={"text/html": figure.to_html()})
        ]
        notebook = nbformat.v4.new_notebook(cells=[statement, shown])
        chapter = Chapter(
            path=Path("one.py"), name="one", number=0, title="One", minutes=1, summary="",
            gpu=False, cells=(),
        )  # fmt: skip
        text = slides.render(notebook, chapter)
        write_plotly([text], library)
        path = folder / f"{figure.figure}.html"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_letters_of_a_figure_reach_the_last_row(
    kind: str, deck: Callable[[LiveFigure], Path], browser: Browser
) -> None:
    """24 px at 720 lines, nothing cut off, and the slide at least a third full."""
    module = kinds()[kind]
    figure = module.lecture() if hasattr(module, "lecture") else module.examples()[0]
    kept = ROOT / "build" / "screenshots" / f"lecture-{kind}"
    found = list(pages.measure_deck(browser, deck(figure).as_uri(), kept))
    assert len(found) == 1
    assert not found[0].falls_short()
