"""Writing notebooks so that nobody's work is lost.

Learners work in copies of their own (`attnlab start`), but nobody stops them from opening a
generated file. So every generated notebook carries a fingerprint of what was written: texts,
outputs, execution counts. As long as a file still has the fingerprint it carries, it is ours and
may be replaced. Once it differs, someone worked in it: it is left alone, or copied to a .bak file
first when asked to replace it. Opening and saving a notebook in JupyterLab changes only formatting
and metadata, which the fingerprint ignores: the file stays ours. `check` still names it, because
what is committed should not vary, and `build` puts it back without running anything.
"""

import hashlib
import json
import shutil
from enum import Enum
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode


class Written(Enum):
    """What became of a file that was to be written."""

    NEW = "new"
    UPDATED = "updated"
    SAME = "unchanged"
    KEPT = "kept"  # somebody worked in it


def digest(value: Any) -> str:
    """A short, stable fingerprint of anything JSON can hold."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def cells_hash(notebook: NotebookNode) -> str:
    """Of what a notebook says before it is run: the texts and metadata of its cells."""
    return digest([[c.cell_type, c.source, c.metadata, c.get("id")] for c in notebook.cells])


def code_hash(notebook: NotebookNode) -> str:
    """Of what a run depends on: the code cells, and which of them may fail."""
    return digest(
        [
            [cell.source, "raises-exception" in cell.metadata.get("tags", [])]
            for cell in notebook.cells
            if cell.cell_type == "code"
        ]
    )


def take_outputs(notebook: NotebookNode, run: NotebookNode) -> NotebookNode:
    """Give a notebook the outputs of a run that had its code cells, in order, among others."""
    ran = iter([cell for cell in run.cells if cell.cell_type == "code"])
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(cells, start=1):
        cell.outputs = next(other for other in ran if other.source == cell.source).outputs
        cell.execution_count = count
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    return notebook


def content_hash(notebook: NotebookNode) -> str:
    """Of everything a learner could have put in: texts, pasted pictures, outputs, runs."""
    return digest(
        [
            [
                c.cell_type,
                c.source,
                c.get("attachments"),
                c.get("outputs"),
                c.get("execution_count"),
            ]
            for c in notebook.cells
        ]
    )


def seal(notebook: NotebookNode) -> NotebookNode:
    """Put both fingerprints into the notebook's metadata."""
    notebook.metadata["attnlab"]["cells"] = cells_hash(notebook)
    notebook.metadata["attnlab"]["content"] = content_hash(notebook)
    return notebook


def is_untouched(notebook: NotebookNode) -> bool:
    """Whether a notebook is still exactly what was generated."""
    return notebook.metadata.get("attnlab", {}).get("content") == content_hash(notebook)


def load(path: Path) -> NotebookNode | None:
    """The notebook at `path`, or None where there is none or it cannot be read."""
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, AttributeError, UnicodeDecodeError, nbformat.ValidationError):
        return None


def text_of(notebook: NotebookNode) -> str:
    """The bytes on disk: sorted keys, one trailing newline, nothing that varies."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"


def write(notebook: NotebookNode, path: Path, *, overwrite: bool = False) -> Written:
    """Write a sealed notebook, unless the file there holds somebody's work.

    With `overwrite` that work is first copied to a .bak file whose name is free.
    """
    data = text_of(notebook).encode()
    exists = path.exists()
    if exists:
        if path.read_bytes().splitlines() == data.splitlines():  # git may change line ends
            return Written.SAME
        old = load(path)
        if old is None or not is_untouched(old):
            if not overwrite:
                return Written.KEPT
            shutil.copy2(path, free_backup(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(data)
    draft.replace(path)  # at once: never half a notebook
    return Written.UPDATED if exists else Written.NEW


def free_backup(path: Path) -> Path:
    """03.ipynb.bak, or 03.ipynb.2.bak and so on when that is taken."""
    backup = path.with_name(path.name + ".bak")
    number = 2
    while backup.exists():
        backup = path.with_name(f"{path.name}.{number}.bak")
        number += 1
    return backup


def kept_sentence(name: str) -> str:
    """What is said when a file is left alone."""
    return (
        f"{name}: kept, because you have worked in it; "
        "--overwrite replaces it and saves your version as a .bak file first."
    )
