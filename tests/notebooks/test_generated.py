"""The notebooks in the repository are what their sources say."""

from pathlib import Path

import nbformat
import pytest

from coursekit.build import stale
from coursekit.execute import said
from coursekit.project import Project

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))


def test_there_are_chapters() -> None:
    assert SOURCES


def test_generated_notebooks_are_not_stale() -> None:
    problems = stale(Project(ROOT))
    assert not problems, "\n".join(problems)


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
