"""Executed chapters, and what the website and the slides cut from them.

A chapter is run once for both, in its `full` edition, and kept under build/executed until a cell,
the library or an asset changes. Where nbval has just run it, `nbval_record` has put it there.
"""

import hashlib
import html
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, from_dict
from tqdm.auto import tqdm

from coursekit import editions, store
from coursekit.editions import Edition
from coursekit.execute import execute, kernel_environment
from coursekit.project import Project
from coursekit.source import Chapter

# What a static page cannot use: it needs a kernel, or the page has something better.
NOT_STATIC = ("application/vnd.jupyter.widget-view+json",)


def tree_hash(*folders: Path) -> str:
    """A fingerprint of every file under some folders, compiled ones apart."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            if "__pycache__" not in path.parts:
                digest.update(path.relative_to(folder).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def executed(edition: Edition, project: Project, *, force: bool = False) -> NotebookNode:
    """The edition with its outputs, from the cache where cells, library and assets are the same."""
    path = _place_kept(edition, project)
    if not force and path.exists():
        return nbformat.read(path, as_version=4)
    notebook = execute(edition, project)
    keep(edition, notebook, project)
    return notebook


def keep(edition: Edition, notebook: NotebookNode, project: Project) -> None:
    """Put an executed edition where `executed` finds it; older runs of it go."""
    path = _place_kept(edition, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.glob(f"{edition.chapter.stem}-*.ipynb"):
        old.unlink()
    path.write_text(store.text_of(notebook), encoding="utf-8")


def _place_kept(edition: Edition, project: Project) -> Path:
    what_it_uses = tree_hash(project.src / "attnlab", project.root / "assets")
    key = store.digest([store.cells_hash(edition.notebook), what_it_uses])[:16]
    return project.build / "executed" / f"{edition.chapter.stem}-{key}.ipynb"


def executed_chapter(chapter: Chapter, project: Project, *, force: bool = False) -> NotebookNode:
    """The `full` edition of a chapter, executed."""
    return executed(editions.full(chapter), project, force=force)


def executed_chapters(
    chapters: list[Chapter], project: Project, *, force: bool = False
) -> dict[str, NotebookNode]:
    """All of them, by stem, several at a time: each kernel is a process with one thread."""
    with (
        ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
        kernel_environment(project),
        tqdm(total=len(chapters), desc="chapters", unit="chapter") as bar,
    ):
        running = {
            chapter.stem: pool.submit(executed_chapter, chapter, project, force=force)
            for chapter in chapters
        }
        for done in as_completed(running.values()):
            done.result()
            bar.update()
    return {stem: done.result() for stem, done in running.items()}


def website(notebook: NotebookNode, chapter: Chapter, project: Project, deck: bool) -> NotebookNode:
    """The website's page of an executed chapter: hints and solutions folded, buttons on top."""
    page = static_outputs(notebook)
    cells: list[NotebookNode] = []
    hints: list[NotebookNode] = []
    for cell in page.cells:
        tags = cell.metadata.get("tags", [])
        if "notes" in tags or "slides-only" in tags:
            continue
        if "hint" in tags:
            hints.append(cell)
            continue
        if hints:
            cells.append(_hints_cell(hints))
            hints = []
        cells.append(cell)
        if "solution" in tags:
            cell.metadata = {
                "tags": ["hide-input"],
                "mystnb": {
                    "code_prompt_show": "Show the solution",
                    "code_prompt_hide": "Hide the solution",
                },
            }
        else:
            kept = [tag for tag in tags if tag in ("hide-input", "raises-exception")]
            cell.metadata = {"tags": kept} if kept else {}
    if hints:
        cells.append(_hints_cell(hints))
    title, _, rest = cells[0].source.partition("\n")
    cells[0].source = f"{title}\n\n{buttons(chapter, project, deck)}\n{rest}"
    page.cells = cells
    return page


def slides(notebook: NotebookNode) -> NotebookNode:
    """The lecture: only cells with a place in the slides, each told its place."""
    deck = static_outputs(notebook)
    deck.cells = [c for c in deck.cells if _place(c)]
    for cell in deck.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata["slideshow"] = {"slide_type": _place(cell)}
        # Solutions are for the discussion afterwards, figure code is not the lesson.
        cell.metadata["hidden_code"] = "hide-input" in tags
        if "hint" in tags:
            cell.source = editions.fold("Hint", cell.source)
    return deck


def _place(cell: NotebookNode) -> str | None:
    places = ("slide", "subslide", "fragment", "notes")
    return next((tag for tag in cell.metadata.get("tags", []) if tag in places), None)


def static_outputs(notebook: NotebookNode) -> NotebookNode:
    """A copy whose outputs are what a page without a kernel can show."""
    page: NotebookNode = from_dict(notebook)
    for cell in page.cells:
        if cell.cell_type != "code":
            continue
        kept: list[Any] = []
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                continue
            data = output.get("data", {})
            needs_kernel = [data.pop(mime) for mime in NOT_STATIC if mime in data]
            if needs_kernel and set(data) <= {"text/plain"}:  # a progress bar at 0 %, for ever
                continue
            kept.append(output)
        cell.outputs = kept
    return page


def buttons(chapter: Chapter, project: Project, deck: bool) -> str:
    """The row under a chapter's title: plain links, so that the keyboard reaches them."""
    colab = html.escape(project.colab_url(chapter.stem))
    row = [f'<a class="course-button course-button-first" href="{colab}">Open in Colab</a>']
    file = f"{chapter.stem}.ipynb"
    row.append(
        f'<a class="course-button" href="notebooks/{file}" download="{file}">Download notebook</a>'
    )
    if deck:
        row.append(f'<a class="course-button" href="slides/{chapter.stem}.html">Slides</a>')
    time = f'<span class="course-time">about {minutes(chapter.minutes)}</span>'
    return f'<p class="course-buttons">{" ".join(row)} {time}</p>\n'


def minutes(count: int) -> str:
    """45 → 45 minutes, 90 → 1½ hours, 120 → 2 hours."""
    if count < 60 or count % 30:
        return f"{count} minutes"
    hours = f"{count // 60}{'½' if count % 60 else ''}"
    return f"{hours} hour" if count == 60 else f"{hours} hours"


def _hints_cell(hints: list[NotebookNode]) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(
        editions.fold_hints([hint.source for hint in hints]), id=hints[0].id
    )
