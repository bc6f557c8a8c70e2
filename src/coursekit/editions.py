"""The editions of a chapter: what a student, a reader of the solutions, and a builder get.

An edition is a notebook made of the source alone, so it is the same on every machine. `full` is the
one that is executed for the website and the slides; both are cut from it (`website`, `slides`).
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode, v4

from coursekit.project import Project
from coursekit.source import FOLDED, LAYOUTS, SLIDE_TAGS, Cell, Chapter

SETUP = """\
# The course's own library. Where it is installed nothing happens here; Colab fetches it, once.
import importlib.util

if importlib.util.find_spec("attnlab") is None:
    {install}"""

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}


@dataclass
class Edition:
    """A notebook, and for each of its cells the line of the source it comes from (0: generated)."""

    chapter: Chapter
    name: str
    notebook: NotebookNode
    lines: list[int] = field(default_factory=list)

    def add(self, kind: str, text: str, line: int = 0, **metadata: Any) -> None:
        """Append a cell. Its id comes from its text, so a diff shows only cells that changed."""
        seen = sum(c.cell_type == kind and c.source == text for c in self.notebook.cells)
        digest = hashlib.sha256(f"{self.name}\0{kind}\0{text}\0{seen}".encode()).hexdigest()
        make = v4.new_markdown_cell if kind == "markdown" else v4.new_code_cell
        metadata = {key: value for key, value in metadata.items() if value}
        self.notebook.cells.append(make(text, id=digest[:12], metadata=metadata))
        self.lines.append(line)


def student(chapter: Chapter, project: Project) -> Edition:
    """Stubs, folded hints and checks; no solutions and no outputs."""
    edition = _start(chapter, "student")
    _add_opening(edition, project)
    hints: list[Cell] = []
    for cell in chapter.cells:
        if hints and (cell.role != "hint" or cell.exercise != hints[0].exercise):
            _add_hints(edition, hints)
            hints = []
        if cell.role == "hint":
            hints.append(cell)
        elif cell.role != "solution" and "held" not in cell.tags and not cell.only_for_slides:
            _add(edition, cell)
    if hints:
        _add_hints(edition, hints)
    return edition


def solutions(chapter: Chapter, project: Project) -> Edition:
    """Solutions in place of stubs and hints; it is executed and its text outputs are kept."""
    edition = _start(chapter, "solutions")
    _add_opening(edition, project)
    for cell in chapter.cells:
        if cell.role not in ("stub", "hint") and not cell.only_for_slides:
            _add(edition, cell)
    return edition


def full(chapter: Chapter) -> Edition:
    """All that is executed for the website and the slides: everything but the stubs."""
    edition = _start(chapter, "full")
    for cell in chapter.cells:
        if cell.role != "stub":
            metadata = {"tags": list(cell.tags), "exercise": cell.exercise}
            edition.add(cell.kind, cell.text, cell.line, **metadata)
    return edition


def fold(summary: str, text: str) -> str:
    """Markdown behind a click. The blank lines let every reader render what is inside."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def fold_hints(texts: list[str]) -> str:
    """A ladder of hints, each behind its own click."""
    return "\n\n".join(fold(f"Hint {n}", text) for n, text in enumerate(texts, start=1))


def _start(chapter: Chapter, name: str) -> Edition:
    metadata: dict[str, Any] = {
        "kernelspec": KERNEL,
        "language_info": LANGUAGE,
        "attnlab": {**chapter.header, "edition": name, "source": chapter.path.name},
        "colab": {"provenance": [], "toc_visible": True},
    }
    if chapter.gpu:
        metadata["accelerator"] = "GPU"
        metadata["colab"]["gpuType"] = "T4"
    notebook = v4.new_notebook(metadata=metadata)
    notebook.nbformat_minor = 5
    return Edition(chapter, name, notebook)


def _add_opening(edition: Edition, project: Project) -> None:
    chapter = edition.chapter
    url = project.colab_url(chapter.stem, edition.name)
    where = " with a GPU" if chapter.gpu else ""
    edition.add("markdown", f"[▶ Open in Colab{where}]({url}) · about {chapter.minutes} minutes")
    edition.add("code", SETUP.format(install=project.install_line))


def _add(edition: Edition, cell: Cell) -> None:
    """A cell as a notebook shows it: slide tags go, what is not the lesson is collapsed.

    JupyterLab hides all that follows a collapsed heading, up to the next one as high.
    """
    tags = [tag for tag in cell.tags if tag not in (*SLIDE_TAGS, *LAYOUTS, *FOLDED, "deeper")]
    metadata: dict[str, Any] = {"tags": tags, "exercise": cell.exercise}
    if set(FOLDED) & set(cell.tags):
        metadata["jupyter"] = {"source_hidden": True}
    if "deeper" in cell.tags and cell.level:
        metadata["jp-MarkdownHeadingCollapsed"] = True
    edition.add(cell.kind, cell.text, cell.line, **metadata)


def _add_hints(edition: Edition, hints: list[Cell]) -> None:
    text = fold_hints([hint.text for hint in hints])
    edition.add("markdown", text, hints[0].line, tags=["hint"], exercise=hints[0].exercise)
