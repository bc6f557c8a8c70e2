"""`book`: the website. Chapters are run first, then Jupyter Book makes pages of them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode
from tqdm.auto import tqdm

from coursekit import advice, editions, pages, vendored
from coursekit.build import load_chapters
from coursekit.errors import CourseError
from coursekit.landing import landing_page
from coursekit.offline import require_offline
from coursekit.project import Project
from coursekit.search import write_search
from coursekit.slides import build_slides, has_slides
from coursekit.source import Chapter
from coursekit.store import seal, text_of

NOT_COPIED = {"_config.yml", "index.md", "hero.py", "arc.yml"}  # read here, and rewritten

# Templates and scripts of the theme that no page of ours uses.
LEFT_BEHIND = ("*webpack-macros.html", "sphinx-thebe.*", "*.map", ".buildinfo")


def build_book(project: Project, chapter: str | None = None, *, force: bool = False) -> Path:
    """Build build/site and return its first page. Any warning or failing cell ends it.

    With `chapter` the site has only that one: a quick look for its author.
    """
    chapters = load_chapters(project, chapter)
    source = project.build / "book-src"
    executed = pages.executed_chapters(chapters, project, force=force)
    wanted = assemble(project, chapters, executed, source, force=force)
    for path in sorted(source.rglob("*")):
        if path.is_file() and path not in wanted and "style" not in path.parts:
            path.unlink()  # a page of a chapter that is gone
    html = run_jupyter_book(project, source)
    site = project.build / "site"
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(html, site, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    _add_downloads(project, chapters, site)
    write_search(site, [*(chapter.stem for chapter in chapters), *other_pages(project)])
    vendored.write_heavy(site.glob("*.html"), site / "_static")
    slides = build_slides(project, chapter, executed=executed)
    shutil.copytree(slides.parent, site / "slides", dirs_exist_ok=True)
    require_offline(site)
    return site / "index.html"


def assemble(
    project: Project,
    chapters: list[Chapter],
    executed: dict[str, NotebookNode],
    source: Path,
    *,
    force: bool = False,
) -> set[Path]:
    """Write what Jupyter Book reads. Files that did not change keep their time stamps."""
    wanted: set[Path] = set()

    def put(name: str, content: str | bytes) -> None:
        path = source / name
        data = content.encode() if isinstance(content, str) else content
        wanted.add(path)
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    for file in sorted(p for p in project.book.rglob("*") if p.is_file()):
        name = file.relative_to(project.book).as_posix()
        if name not in NOT_COPIED:
            put(name, file.read_bytes())
    for chapter in chapters:
        notebook = executed[chapter.stem]
        gpu = [c for c in chapters if c.gpu and not chapter.gpu and c.number == chapter.number]
        page = pages.website(notebook, chapter, project, has_slides(chapter), gpu=gpu)
        for note in (*advice.of_source(chapter), *advice.first_screen(page, chapter)):
            tqdm.write(note)
        put(f"{chapter.stem}.ipynb", text_of(_plain(page)))
    put("index.md", landing_page(project, chapters, force=force))
    put("_toc.yml", contents(chapters, other_pages(project)))
    scripts = vendored.write_widgets(project, source / "style")
    put("_config.yml", configuration(project, chapters, scripts))
    vendored.copy_mathjax(source / "style" / "mathjax")
    vendored.copy_fonts(project.build / "fonts")
    put("style/fonts.css", vendored.fonts_style(project.build / "fonts"))
    put("style/fonts-LICENSE.txt", (project.build / "fonts" / "LICENSE").read_bytes())
    return wanted


def other_pages(project: Project) -> list[str]:
    """Pages that are not chapters: they come last."""
    return sorted(page.stem for page in project.book.glob("*.md") if page.name not in NOT_COPIED)


def contents(chapters: list[Chapter], others: Sequence[str] = ()) -> str:
    """The table of contents: a chapter, and its GPU notebook below it; last, other pages."""
    entries: list[dict[str, Any]] = []
    for chapter in chapters:
        if not chapter.gpu:
            below = [{"file": c.stem} for c in chapters if c.gpu and c.number == chapter.number]
            entries.append({"file": chapter.stem, **({"sections": below} if below else {})})
    numbers = {chapter.number for chapter in chapters if not chapter.gpu}
    entries += [{"file": c.stem} for c in chapters if c.gpu and c.number not in numbers]
    entries += [{"file": page} for page in others]
    return yaml.safe_dump(
        {"format": "jb-book", "root": "index", "chapters": entries}, sort_keys=False
    )


def configuration(project: Project, chapters: list[Chapter], assets: list[str]) -> str:
    """book/_config.yml, with what each page is about and the files of the live figures added."""
    config = yaml.safe_load((project.book / "_config.yml").read_text(encoding="utf-8"))
    sphinx = config["sphinx"]["config"]
    sphinx["html_js_files"] = [
        *sphinx.get("html_js_files", []),
        # Nothing is painted before the figures of the first screen are there: no jump.
        *(
            [name, {"defer": "defer", "blocking": "render"}]
            for name in assets
            if name.endswith(".js")
        ),
    ]
    sphinx["html_css_files"] = [
        *(name for name in assets if name.endswith(".css")),
        *sphinx.get("html_css_files", []),
    ]
    sphinx["course_descriptions"] = {
        **sphinx.get("course_descriptions", {}),
        **{chapter.stem: chapter.summary for chapter in chapters},
    }
    sphinx["course_tools"] = pages.tree_hash(Path(__file__).parent)
    if len(chapters) < len(load_chapters(project)):  # links to chapters that are not being built
        sphinx["suppress_warnings"] = [*sphinx.get("suppress_warnings", []), "myst.xref_missing"]
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def run_jupyter_book(project: Project, source: Path) -> Path:
    """Make the pages. Jupyter Book's own words are shown only when something is wrong."""
    output = project.build / "book"
    command = [
        sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build",
        str(source), "--path-output", str(output), "--warningiserror", "--keep-going",
    ]  # fmt: skip
    path = os.pathsep.join([str(project.src), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": path}
    with tqdm(total=1, desc="pages", bar_format="{desc}: {elapsed}", leave=False):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    html = output / "_build" / "html"
    if done.returncode or not (html / "index.html").is_file():
        said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr).splitlines()
        telling = [line for line in said if "WARNING" in line or "ERROR" in line] or said[-30:]
        raise CourseError("Jupyter Book could not make the pages:", *telling)
    return html


def _add_downloads(project: Project, chapters: list[Chapter], site: Path) -> None:
    """The student notebooks, for the Download buttons."""
    folder = site / "notebooks"
    folder.mkdir(exist_ok=True)
    for chapter in chapters:
        # Regenerated, not copied: somebody may have worked in notebooks/student.
        edition = editions.student(chapter, project)
        text = text_of(seal(edition.notebook))
        (folder / f"{chapter.stem}.ipynb").write_text(text, encoding="utf-8")


def _plain(page: NotebookNode) -> NotebookNode:
    """Remove metadata that Jupyter Book would take for settings of its own."""
    page.metadata = {key: page.metadata[key] for key in ("kernelspec", "language_info")}
    return page
