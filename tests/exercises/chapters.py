"""The exercises as the chapters give them: statement, stub, solution, check from notebooks/*.py."""

import ast
import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jupytext

ROOT = Path(__file__).parents[2]


@dataclass
class Part:
    """One exercise of one chapter. `before`: what it may rely on, imports and earlier solutions."""

    id: str
    chapter: Path
    cells: dict[str, str] = field(default_factory=dict)  # statement, stub, solution, check
    before: str = ""

    def run(self, kind: str, folder: Path) -> dict[str, Any]:
        """Run what comes before, then this cell: from real files, so that it has a source."""
        space: dict[str, Any] = {}
        for name, code in ((f"before_{kind}", self.before), (kind, self.cells[kind])):
            file = folder / f"{self.id}_{name}.py"
            file.write_text(code, encoding="utf-8")
            exec(compile(code, str(file), "exec"), space)
        return space


@functools.cache
def parts() -> dict[str, Part]:
    """Every exercise of every chapter, by id."""
    found: dict[str, Part] = {}
    for chapter in sorted((ROOT / "notebooks").glob("*.py")):
        if 'exercise="' not in chapter.read_text(encoding="utf-8"):
            continue  # to read a notebook takes a third of a second
        notebook = jupytext.read(chapter)
        plain = [
            c.source for c in notebook.cells if c.cell_type == "code" and set(_tags(c)) <= {"setup"}
        ]
        before = _imports(plain)
        for cell in notebook.cells:
            id = cell.metadata.get("exercise")
            if id is None:
                continue
            part = found.setdefault(str(id), Part(str(id), chapter, before=before))
            for tag in _tags(cell):
                part.cells.setdefault(tag, cell.source)
            if "solution" in _tags(cell):
                before += "\n\n" + cell.source
    return found


def _tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def _imports(cells: list[str]) -> str:
    """The import statements of a chapter, and nothing else of it."""
    lines = []
    for source in cells:
        kept = "\n".join(line for line in source.splitlines() if not line.startswith(("%", "!")))
        for node in ast.parse(kept).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                lines.append(ast.unparse(node))
    return "\n".join(lines)
