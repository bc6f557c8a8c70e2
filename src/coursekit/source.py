"""A chapter as its author wrote it: notebooks/NN_name.py, read into cells that know their lines."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from jupytext.stringparser import StringParser

from coursekit.errors import CourseError
from coursekit.project import Project

SLIDE_TAGS = ("slide", "subslide", "fragment", "notes")
ROLES = ("exercise", "stub", "hint", "solution", "check")
# How a slide is laid out, said by the cell that begins it; a statement and its figure unless said.
LAYOUTS = ("layout-figure", "layout-columns", "layout-question", "layout-code")
# What a code cell is on the page: `setup` (imports) and `plumbing` (helpers nobody needs to read in
# order to follow) are folded; `held` cells check the numbers beside them with asserts, and only the
# solutions edition has them. Cells tagged `deeper`, one after the other, are one *Dig deeper* fold:
# its first cell is markdown and begins with a heading, which becomes the fold's name.
PAGE_TAGS = ("setup", "plumbing", "held", "deeper")
FOLDED = ("hide-input", "setup", "plumbing")
TAGS = {
    *SLIDE_TAGS,
    *LAYOUTS,
    *ROLES,
    *PAGE_TAGS,
    "slides-only",
    "hide-input",
    "nbval-ignore-output",
    "raises-exception",
}
HEADER_KEYS = {"number": int, "title": str, "minutes": int, "summary": str, "gpu": bool}
# The capstone has no number: it comes after every chapter, and its exercises are C.1, C.2, …
CAPSTONE = "capstone_"
FILE_NAME = re.compile(rf"((?P<gpu>gpu_)?(?P<number>\d\d)_|{CAPSTONE})[a-z0-9_]+")
# All that may be on a cell's first line. jupytext takes anything else for a title or an option
# and says nothing: a mistyped tag would hand speaker notes to students.
MARKER = re.compile(r'# %%( \[markdown\])?( tags=\["[^"]+"(, *"[^"]+")*\])?( exercise="[^"]+")?\s*')
HEADING = re.compile(r"(#{1,6}) +(.+)")
MARKER_LIKE = re.compile(r"\s*#\s*%(%|\s*\[)")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of the source: markdown or code, its tags, and the line it starts on."""

    kind: str
    text: str
    line: int
    tags: tuple[str, ...] = ()
    exercise: str | None = None

    @property
    def role(self) -> str | None:
        """What the cell is in an exercise: exercise, stub, hint, solution or check."""
        return next((tag for tag in self.tags if tag in ROLES), None)

    @property
    def level(self) -> int:
        """The level of the heading a markdown cell begins with; 0 where it begins without one."""
        found = HEADING.match(self.text) if self.kind == "markdown" else None
        return len(found[1]) if found else 0

    @property
    def only_for_slides(self) -> bool:
        """Whether readers never see the cell."""
        return "notes" in self.tags or "slides-only" in self.tags

    @property
    def slide(self) -> str | None:
        """What the cell is in the lecture: slide, subslide, fragment, notes, or nothing."""
        return next((tag for tag in self.tags if tag in SLIDE_TAGS), None)


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One source file: what its header says, and its cells."""

    path: Path
    name: str  # "notebooks/03_self_attention.py": how messages call the file
    number: int | None  # None: the capstone
    title: str
    minutes: int
    summary: str
    gpu: bool
    cells: tuple[Cell, ...]

    @property
    def stem(self) -> str:
        return self.path.stem

    @property
    def code(self) -> str:
        """What the ids of its exercises begin with: 03, or C for the capstone."""
        return "C" if self.number is None else f"{self.number:02d}"

    @property
    def label(self) -> str:
        """What comes before its title: 3, or Capstone."""
        return "Capstone" if self.number is None else str(self.number)

    @property
    def header(self) -> dict[str, Any]:
        header = {key: getattr(self, key) for key in HEADER_KEYS}
        return {key: value for key, value in header.items() if value is not None}


def source_files(project: Project, chapter: str | None = None) -> list[Path]:
    """The sources in reading order; with `chapter` ("03", "3" or "capstone") only that one's.

    A chapter comes first, then its GPU notebooks by name; the capstone is the last of all.
    """
    files = list(project.notebooks.glob("*.py"))  # misnamed ones too: `read_chapter` refuses them
    files.sort(key=lambda p: (_shelf(p), p.stem.startswith("gpu_"), p.stem))
    if chapter is None:
        return files
    chosen = [p for p in files if _shelf(p) == chapter.zfill(2)]
    if not chosen:
        raise CourseError(f"There is no chapter {chapter!r} in notebooks/.")
    return chosen


def _shelf(path: Path) -> str:
    """Which chapter a source belongs to, by its name: "03", or "capstone"."""
    if path.stem.startswith(CAPSTONE):
        return CAPSTONE.rstrip("_")  # sorts after every number
    return path.stem.removeprefix("gpu_")[:2]


def read_chapter(path: Path, project: Project) -> Chapter:
    """Read one source. A header that says too little or a tag nobody knows is refused."""
    name = project.relative(path)
    if not FILE_NAME.fullmatch(path.stem):
        raise CourseError(
            f"{name}:1: name the file NN_name.py or gpu_NN_name.py: "
            f"two digits, then small letters, digits and _; or {CAPSTONE}name.py."
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise CourseError(f"{name}:{line}: the file is not UTF-8; save it as UTF-8.") from error
    lines = _cell_lines(text, name)
    notebook = _parse(text, name)
    if len(lines) != len(notebook.cells):
        raise CourseError(
            f"{name}:1: {len(notebook.cells)} cells but {len(lines)} '# %%' markers; "
            "put every cell, from the first, under its own '# %%' line."
        )
    problems: list[str] = []
    cells = []
    for raw, line in zip(notebook.cells, lines, strict=True):
        tags = tuple(raw.metadata.get("tags", ()))
        problems += [
            f"{name}:{line}: the tag {tag!r} is unknown; known are {', '.join(sorted(TAGS))}."
            for tag in tags
            if tag not in TAGS
        ]
        exercise = raw.metadata.get("exercise")
        cells.append(
            Cell(
                kind=raw.cell_type,
                text=raw.source.strip("\n"),
                line=line,
                tags=tags,
                exercise=None if exercise is None else str(exercise),
            )
        )
    header, header_problems = _header(notebook.metadata.get("attnlab"), path, name)
    problems = header_problems + problems
    if problems:
        raise CourseError(*problems)
    return Chapter(path=path, name=name, cells=tuple(cells), **header)


def _parse(text: str, name: str) -> nbformat.NotebookNode:
    """What jupytext makes of the source. Its markers are good, so what fails is the header."""
    try:
        return jupytext.reads(text, fmt="py:percent")
    except yaml.MarkedYAMLError as error:
        line = 2 + (error.problem_mark.line if error.problem_mark else 0)  # after the first '# ---'
        raise CourseError(
            f"{name}:{line}: the header is not YAML: {error.problem}; "
            "put a text with a colon in quotes."
        ) from error
    except (AttributeError, TypeError, yaml.YAMLError, nbformat.ValidationError) as error:
        why = str(error).splitlines()[0]
        raise CourseError(f"{name}:1: jupytext cannot read the header: {why}.") from error


def _header(found: Any, path: Path, name: str) -> tuple[dict[str, Any], list[str]]:
    """The `attnlab` block of the header, with defaults, and what is wrong with it."""
    if not isinstance(found, dict):
        return {}, [f"{name}:1: the header has no attnlab block (number, title, minutes, summary)."]
    capstone = path.stem.startswith(CAPSTONE)
    header = {"gpu": False, **found}
    problems = []
    if capstone and header.setdefault("number", None) is not None:
        problems.append(f"{name}:1: the capstone has no number; take it out of the header.")
    for key, kind in HEADER_KEYS.items():
        if key not in header:
            problems.append(f"{name}:1: the header's attnlab block lacks {key!r}.")
        elif type(header[key]) is not kind and not (capstone and key == "number"):
            problems.append(
                f"{name}:1: attnlab.{key} is {header[key]!r}; expected {kind.__name__}."
            )
    problems += [
        f"{name}:1: attnlab.{key} in the header is unknown; known are {', '.join(HEADER_KEYS)}."
        for key in header
        if key not in HEADER_KEYS
    ]
    match = FILE_NAME.fullmatch(path.stem)
    if match and not problems:
        if not capstone and int(match["number"]) != header["number"]:
            problems.append(
                f"{name}:1: the file name says chapter {int(match['number'])}, "
                f"the header says {header['number']}."
            )
        if bool(match["gpu"]) != header["gpu"]:
            problems.append(f"{name}:1: gpu_ in the file name and gpu: true go together.")
    return header, problems


def _cell_lines(text: str, name: str) -> list[int]:
    """The line number of every '# %%' marker that is not inside a string; a bad one is refused."""
    parser = StringParser("python")
    found = []
    problems = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not parser.is_quoted() and MARKER_LIKE.match(line):
            found.append(number)
            if not MARKER.fullmatch(line):
                problems.append(
                    f"{name}:{number}: {line.strip()!r} does not begin a cell; "
                    'write # %% or # %% [markdown], then tags=["…"], then exercise="03.1", no more.'
                )
        parser.read_line(line)
    if problems:
        raise CourseError(*problems)
    return found
