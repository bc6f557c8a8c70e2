"""What an author is told, and nothing stops at: cells too long to read, a page that opens without a
picture. `build`, `check` and `book` print it.
"""

from collections.abc import Iterator

from nbformat import NotebookNode

from coursekit.source import FOLDED, Chapter

LONGEST = 25  # lines of a cell that must be read
PICTURES = ("data-widget=", "<img", "<figure", "plotly-graph-div")
WORDS_FIRST = 110  # about what fits above a picture on the first screen


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
