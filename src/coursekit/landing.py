"""The website's first page: its words are in book/index.md, its facts are filled in here."""

import html
import re

import yaml

from coursekit.editions import Edition, full
from coursekit.errors import CourseError
from coursekit.marks import mark
from coursekit.pages import executed, minutes
from coursekit.project import Project
from coursekit.source import Cell, Chapter


def landing_page(project: Project, chapters: list[Chapter], *, force: bool = False) -> str:
    """book/index.md with {{ names }} replaced by what the sources and the library say."""
    course = [chapter for chapter in chapters if not chapter.gpu]
    if not course:
        raise CourseError("notebooks/: there is no chapter yet, so there is nothing to show.")
    first = course[0]
    values = {
        "hero": hero(project, force=force),
        "cards": cards(chapters),
        "later": later(project, course),
        "first_page": f"{first.stem}.html",
        "commands": f"git clone {project.repository} && cd {project.repository.rsplit('/')[-1]}\n"
        "make lab",
        "repository": html.escape(project.repository),
    }
    text = (project.book / "index.md").read_text(encoding="utf-8")
    unknown = set(re.findall(r"\{\{ (\w+) \}\}", text)) - set(values)
    if unknown:
        raise CourseError(f"book/index.md: nothing is known to fill in for {sorted(unknown)}.")
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: values[match[1]], text)


def hero(project: Project, *, force: bool = False) -> str:
    """The live figure book/hero.py makes, as HTML that needs no kernel."""
    path = project.book / "hero.py"
    cell = Cell(kind="code", text=path.read_text(encoding="utf-8").strip(), line=1)
    chapter = Chapter(
        path=path, name="book/hero.py", number=0, title="", minutes=1, summary="", gpu=False,
        cells=(cell,),
    )  # fmt: skip
    edition: Edition = full(chapter)
    notebook = executed(edition, project, force=force)
    for output in notebook.cells[0].outputs:
        if "text/html" in output.get("data", {}):
            return str(output.data["text/html"])
    raise CourseError("book/hero.py:1: the last line must be a live figure.")


def cards(chapters: list[Chapter]) -> str:
    """One card per chapter, with its GPU notebook inside."""
    made = []
    for chapter in chapters:
        if chapter.gpu:
            continue
        extra = "".join(
            f'<p class="card-gpu"><a href="{gpu.stem}.html">{html.escape(gpu.title)}</a> '
            f"on a GPU · {minutes(gpu.minutes).replace(' ', '&nbsp;')}</p>"
            for gpu in chapters
            if gpu.gpu and gpu.number == chapter.number
        )
        made.append(
            f'<li class="chapter-card"><div class="card-side">{mark(chapter.label)}'
            f'<p class="card-number">{_sign(chapter)}</p></div><div>'
            f'<h3><a href="{chapter.stem}.html">{html.escape(chapter.title)}</a></h3>'
            f"<p>{html.escape(chapter.summary)}</p>"
            f'<p class="card-time">{minutes(chapter.minutes)}</p>{extra}</div></li>'
        )
    return f'<ul class="chapter-cards">{"".join(made)}</ul>'


def _sign(chapter: Chapter) -> str:
    """What a card shows in large type: the number, or a star for the capstone."""
    return (
        '<span role="img" aria-label="Capstone">★</span>'
        if chapter.number is None
        else chapter.label
    )


def later(project: Project, course: list[Chapter]) -> str:
    """One sentence about what is not written yet; nothing once all is."""
    arc = yaml.safe_load((project.book / "arc.yml").read_text(encoding="utf-8"))
    here = {chapter.label.lower() for chapter in course}
    missing = [html.escape(str(words)) for label, words in arc.items() if str(label) not in here]
    if not missing:
        return ""
    listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])}, and {missing[-1]}"
    return f'<p class="landing-later">Still being written: {listed}.</p>'
