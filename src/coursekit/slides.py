"""`slides`: lecture slides from the same chapters, with reveal.js and the same live figures."""

import html
import re
import shutil
from pathlib import Path

from nbconvert.exporters import SlidesExporter
from nbformat import NotebookNode
from tqdm.auto import tqdm

from coursekit import pages, vendored
from coursekit.build import load_chapters
from coursekit.errors import CourseError
from coursekit.offline import require_offline
from coursekit.project import Project
from coursekit.source import Chapter

TEMPLATES = Path(__file__).parent / "templates"
# A part of a diagram leads to its section on the page; a deck has no such sections.
SECTION_LINK = re.compile(r'(<a\b[^>]*?) href="#[^"/]+"')
LIBRARY = "lib"  # beside the decks: reveal.js, MathJax, the live figures


def has_slides(chapter: Chapter) -> bool:
    """Whether a chapter has a lecture."""
    return any(cell.slide in ("slide", "subslide") for cell in chapter.cells)


def build_slides(
    project: Project,
    chapter: str | None = None,
    *,
    force: bool = False,
    executed: dict[str, NotebookNode] | None = None,
) -> Path:
    """Write build/slides/NN_name.html and an index of all decks; return the index.

    `executed` holds chapters that were run already, by their stem.
    """
    ready = executed or {}
    every = [one for one in load_chapters(project) if has_slides(one)]
    chosen = {one.stem for one in load_chapters(project, chapter)}
    folder = project.build / "slides"
    folder.mkdir(parents=True, exist_ok=True)
    vendored.copy_reveal(folder / LIBRARY / "reveal")
    vendored.copy_mathjax(folder / LIBRARY / "mathjax")
    vendored.write_widgets(project, folder / LIBRARY)
    shutil.copyfile(TEMPLATES / "course_slides" / "slides.css", folder / LIBRARY / "slides.css")
    shutil.copyfile(TEMPLATES / "course_slides" / "slides.js", folder / LIBRARY / "slides.js")
    for one in tqdm([c for c in every if c.stem in chosen], desc="slides", unit="deck"):
        notebook = ready.get(one.stem) or pages.executed_chapter(one, project, force=force)
        text = render(pages.slides(notebook), one)
        (folder / f"{one.stem}.html").write_text(text, encoding="utf-8")
    for old in folder.glob("*.html"):
        if old.stem not in {"index", *(one.stem for one in every)}:
            old.unlink()
    made = [one for one in every if (folder / f"{one.stem}.html").exists()]
    (folder / "index.html").write_text(index(made), encoding="utf-8")
    vendored.write_heavy(folder.glob("*.html"), folder / LIBRARY)
    require_offline(folder)
    return folder / "index.html"


def render(notebook: NotebookNode, chapter: Chapter) -> str:
    """One deck as a page. nbconvert's own template takes its scripts from the network; ours not."""
    exporter = SlidesExporter(
        template_name="course_slides",
        extra_template_basedirs=[str(TEMPLATES)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    outputs = "".join(
        str(output.get("data", {}).get("text/html", ""))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    resources = {
        "metadata": {"name": chapter.stem},
        "course": {
            "title": f"{chapter.label} · {chapter.title}",
            "library": LIBRARY,
            "figures": vendored.widgets_head(outputs, LIBRARY),
        },
    }
    first = next((c for c in notebook.cells if c.metadata["slideshow"]["slide_type"]), None)
    if first is None or first.metadata["slideshow"]["slide_type"] != "slide":
        raise CourseError(f"{chapter.name}:1: the lecture must begin with a cell tagged slide.")
    body, _ = exporter.from_notebook_node(notebook, resources)
    return SECTION_LINK.sub(r"\1", body)


def index(chapters: list[Chapter]) -> str:
    """A page that lists the decks."""
    rows = "\n".join(
        f'<li><a href="{chapter.stem}.html">{chapter.label} · {html.escape(chapter.title)}</a>'
        f"<p>{html.escape(chapter.summary)}</p></li>"
        for chapter in chapters
    )
    text = (TEMPLATES / "course_slides" / "decks.html").read_text(encoding="utf-8")
    return text.replace("<!-- decks -->", rows)
