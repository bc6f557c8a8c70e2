"""What an author is told without anything being stopped: cells too long to read, slides with too
much code, a page that opens without a picture. `build`, `check` and `book` print it.
"""

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from coursekit.source import FOLDED, Cell, Chapter

LONGEST = 25  # lines of a cell that must be read
ON_A_SLIDE = 12  # lines of code on a slide that is laid out for code
PICTURES = ("data-widget=", "<img", "<figure", "plotly-graph-div")
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORDS_FIRST = 110  # about what fits above a picture on the first screen


def of_source(chapter: Chapter) -> Iterator[str]:
    """What can be said before anything is run."""
    yield from long_cells(chapter)
    yield from long_code_slides(chapter)


def long_cells(chapter: Chapter) -> Iterator[str]:
    """Code a reader must read, with more lines than a reader takes in."""
    for cell in chapter.cells:
        folded = {*FOLDED, "held", "deeper", "solution"} & set(cell.tags)
        lines = cell.text.count("\n") + 1
        if cell.kind == "code" and not folded and not cell.only_for_slides and lines > LONGEST:
            yield (
                f"{chapter.name}:{cell.line}: note: a visible cell has {lines} lines; show at most "
                f"{LONGEST}, and fold the rest (plumbing, hide-input)."
            )


def long_code_slides(chapter: Chapter) -> Iterator[str]:
    """A listener cannot turn back: code on a slide is a few lines."""
    begins: Cell | None = None  # the cell that begins the slide laid out for code
    lines = 0
    for cell in (*chapter.cells, Cell(kind="markdown", text="", line=0, tags=("slide",))):
        if cell.slide in ("slide", "subslide"):
            if begins and lines > ON_A_SLIDE:
                yield (
                    f"{chapter.name}:{begins.line}: note: a slide has {lines} lines of code; show "
                    f"at most {ON_A_SLIDE}."
                )
            begins, lines = (cell if "layout-code" in cell.tags else None), 0
        if (
            begins
            and cell.slide
            and cell.slide != "notes"
            and not {*FOLDED, "held"} & set(cell.tags)
        ):
            lines += _code_lines(cell)


def _code_lines(cell: Cell) -> int:
    """How many lines of code a cell shows: all of them, or those between fences."""
    if cell.kind == "code":
        return len(cell.text.strip().splitlines())
    return sum(len(code.strip().splitlines()) for code in FENCED.findall(cell.text))


def first_screen(page: NotebookNode, chapter: Chapter) -> Iterator[str]:
    """A chapter opens with its best picture, a few words and no code."""
    if chapter.gpu:  # it is a chapter's last part, and begins with what was found on the machine
        return
    words = 0
    for cell in page.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code":
            shown = "".join(str(o.get("data", {}).get("text/html", "")) for o in cell.outputs)
            if any(mark in shown for mark in PICTURES):
                break
            if "hide-input" not in tags:
                yield f"{chapter.name}:1: note: the page shows code before its first picture."
                return
        else:
            words += len(cell.source.split())
    if words > WORDS_FIRST:
        yield (
            f"{chapter.name}:1: note: {words} words stand before the first picture, which is then "
            f"not on the first screen; about {WORDS_FIRST} fit."
        )
