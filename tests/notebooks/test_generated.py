"""The notebooks in the repository are what their sources say."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from coursekit import advice
from coursekit.build import load_chapters, stale
from coursekit.execute import said
from coursekit.project import Project
from coursekit.source import read_chapter

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))


def test_there_are_chapters() -> None:
    assert SOURCES


def test_generated_notebooks_are_not_stale() -> None:
    problems = stale(Project(ROOT))
    assert not problems, "\n".join(problems)


def test_no_cell_that_must_be_read_is_too_long_to_read() -> None:
    chapters = load_chapters(Project(ROOT))
    assert [note for chapter in chapters for note in advice.long_cells(chapter)] == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_no_wall_of_imports(source: Path) -> None:
    """The first cell of code is folded: what it brings is seen where it is used."""
    first = re.search(r"^# %%(.*)\n(?=import |from )", source.read_text(encoding="utf-8"), re.M)
    assert first
    assert first[1].strip() == 'tags=["setup"]'


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_student_edition_gives_nothing_away(source: Path) -> None:
    student = nbformat.read(ROOT / "notebooks/student" / f"{source.stem}.ipynb", as_version=4)
    solved = nbformat.read(ROOT / "notebooks/solutions" / f"{source.stem}.ipynb", as_version=4)
    solutions = {c.source for c in solved.cells if "solution" in c.metadata.get("tags", [])}
    assert not solutions & {cell.source for cell in student.cells}
    assert not any(cell.get("outputs") for cell in student.cells)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_solution_passes_its_check(source: Path) -> None:
    solved = nbformat.read(ROOT / "notebooks/solutions" / f"{source.stem}.ipynb", as_version=4)
    for cell in solved.cells:
        if "check" in cell.metadata.get("tags", []):
            words = said(cell)
            assert "✓" in words, f"exercise {cell.metadata['exercise']}: {words}"
            assert "✗" not in words, f"exercise {cell.metadata['exercise']}: {words}"


MOST_TRUTHS = 12  # in the whole course: where truth is the lesson, as `torch.equal` or a leak test


def shown_truths(source: Path) -> list[str]:
    """The lines a learner would see that end in True or False: they hide the value behind them."""
    solved = nbformat.read(ROOT / "notebooks/solutions" / f"{source.stem}.ipynb", as_version=4)
    return [
        line.strip()
        for cell in solved.cells
        if cell.cell_type == "code" and "held" not in cell.metadata.get("tags", [])
        for line in said(cell).splitlines()
        if re.search(r"\b(True|False)[).,]*$", line.strip())
    ]


def test_cells_print_values_not_truths() -> None:
    found = {source.stem: shown_truths(source) for source in SOURCES}
    assert sum(map(len, found.values())) <= MOST_TRUTHS, {k: v for k, v in found.items() if v}


def plain(code: str) -> str:
    """Without the lines that only IPython reads."""
    return re.sub(r"(?m)^\s*[%!].*$", "", code)


def names(code: str, *kinds: type) -> set[str]:
    """The names that some code loads or stores."""
    return {
        node.id
        for node in ast.walk(ast.parse(plain(code)))
        if isinstance(node, ast.Name) and isinstance(node.ctx, kinds)
    }


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_held_cells_make_nothing_that_learners_lack(source: Path) -> None:
    """Students have no `held` cells: what one of them makes, no later cell may need."""
    cells = [c for c in read_chapter(source, Project(ROOT)).cells if c.kind == "code"]
    only_held: set[str] = set()
    known: set[str] = set()
    for cell in cells:
        if "held" in cell.tags:
            only_held |= names(cell.text, ast.Store) - known
            continue
        lacking = names(cell.text, ast.Load) & only_held - names(cell.text, ast.Store)
        lacking -= {a.arg for a in ast.walk(ast.parse(plain(cell.text))) if isinstance(a, ast.arg)}
        assert not lacking, f"{source.name}:{cell.line}: {lacking} come from a held cell"
        known |= names(cell.text, ast.Store)
        only_held -= names(cell.text, ast.Store)
