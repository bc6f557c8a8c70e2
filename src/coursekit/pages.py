"""Executed chapters, and what the website and the slides cut from them.

A chapter is run once for both and for the solutions, in its `full` edition, and kept under
build/executed until a code cell, the library or an asset changes. Where nbval has just run it,
`nbval_record` has put it there.
"""

import hashlib
import html
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import groupby
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, from_dict
from tqdm.auto import tqdm

from coursekit import editions, store
from coursekit.editions import Edition
from coursekit.execute import execute, kernel_environment
from coursekit.frames import share_libraries
from coursekit.project import Project
from coursekit.source import FOLDED, HEADING, LAYOUTS, Chapter

# What folded code is called on the page, closed and open.
PROMPTS = {
    "setup": ("Set-up", "Set-up"),
    "plumbing": ("Helpers, not needed to follow", "Helpers, not needed to follow"),
    "solution": ("Show the solution", "Hide the solution"),
}
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
    """The edition with its outputs, from the cache where code, library and assets are the same."""
    path = _place_kept(edition, project)
    if not force and path.exists():
        kept = nbformat.read(path, as_version=4)
        return store.take_outputs(from_dict(edition.notebook), kept)
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
    key = store.digest([store.code_hash(edition.notebook), what_it_uses])[:16]
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


def website(
    notebook: NotebookNode,
    chapter: Chapter,
    project: Project,
    deck: bool,
    *,
    gpu: Sequence[Chapter] = (),
) -> NotebookNode:
    """The website's page of an executed chapter: hints and solutions folded, buttons on top.

    The page has no kernel, so it has no checks either: nobody would have earned the tick. Its GPU
    exercises are cards at the end.
    """
    page = static_outputs(notebook)
    if "<iframe" in str(page):
        from attnlab.inside import bertviz_views  # here: it brings torch along

        share_libraries(page, bertviz_views.library, list(bertviz_views.LIBRARIES))
    hidden = {"notes", "slides-only", "held", "check"}
    shown = [cell for cell in page.cells if not hidden & set(cell.metadata.get("tags", []))]
    cells: list[NotebookNode] = []
    for kind, group in groupby(shown, key=_group):
        if kind == "hint":
            cells.append(_hints_cell(list(group)))
        elif kind == "deeper":
            cells += _deeper(list(group))
        else:
            cells += [_cell_on_page(cell) for cell in group]
    title, _, rest = cells[0].source.partition("\n")
    cells[0].source = f"{title}\n\n{buttons(chapter, project, deck)}\n{rest}"
    if gpu:
        cells.append(nbformat.v4.new_markdown_cell("".join(map(gpu_card, gpu)), id="gpu-card"))
    page.cells = cells
    return page


def _group(cell: NotebookNode) -> str:
    tags = cell.metadata.get("tags", [])
    return "hint" if "hint" in tags else "deeper" if "deeper" in tags else ""


def _cell_on_page(cell: NotebookNode) -> NotebookNode:
    """A cell with what Jupyter Book has to know of it: what is folded, and what the fold says."""
    tags = cell.metadata.get("tags", [])
    kept = [tag for tag in tags if tag in ("raises-exception", "setup", "plumbing", "solution")]
    prompt = next((PROMPTS[tag] for tag in tags if tag in PROMPTS), None)
    if prompt or set(FOLDED) & set(tags):
        kept.append("hide-input")
    cell.metadata = {"tags": kept} if kept else {}
    if prompt:
        show, hide = prompt
        cell.metadata["mystnb"] = {"code_prompt_show": show, "code_prompt_hide": hide}
    return cell


def _deeper(cells: list[NotebookNode]) -> list[NotebookNode]:
    """A *Dig deeper* fold, or several: each begins at a heading and ends before the next."""
    made: list[NotebookNode] = []
    for cell in cells:
        heading = HEADING.match(cell.source) if cell.cell_type == "markdown" else None
        if heading:
            if made:
                made.append(_closing(made[-1]))
            rest = cell.source[heading.end() :].strip("\n")
            name = html.escape(re.sub(r'"([^"]*)"', r"“\1”", heading[2].strip()), quote=False)
            place = re.sub(r"\W+", "-", heading[2].lower()).strip("-")
            opening = f'<details class="deeper" id="{place}">\n<summary>{name}</summary>'
            cell.source = f"{opening}\n\n{rest}"
        made.append(_cell_on_page(cell))
    return [*made, _closing(made[-1])]


def _closing(last: NotebookNode) -> NotebookNode:
    return nbformat.v4.new_markdown_cell("</details>", id=f"{last.id[:58]}-end")


def slides(notebook: NotebookNode) -> NotebookNode:
    """The lecture: only cells with a place in the slides, each told its place."""
    deck = static_outputs(notebook)
    deck.cells = [c for c in deck.cells if _place(c) and "held" not in c.metadata.get("tags", [])]
    for cell in deck.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata["slideshow"] = {"slide_type": _place(cell)}
        cell.metadata["layout"] = next((tag for tag in tags if tag in LAYOUTS), LAYOUTS[0])
        # Solutions are for the discussion afterwards, figure code is not the lesson.
        cell.metadata["hidden_code"] = bool(set(FOLDED) & set(tags))
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
            if needs_kernel and set(data) <= {"text/plain"}:  # a progress bar at 0 %, forever
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


def gpu_card(chapter: Chapter) -> str:
    """The GPU exercise of a chapter, as the last thing on its page."""
    return (
        f'<div class="gpu-card"><p class="gpu-card-kind">GPU exercise · '
        f"{minutes(chapter.minutes)}</p>"
        f'<p class="gpu-card-title"><a href="{chapter.stem}.html">{html.escape(chapter.title)}'
        f"</a></p><p>{html.escape(chapter.summary)}</p></div>\n"
    )


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
