"""Running a notebook from its first cell to its last, the same way every time."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from jupyter_client.provisioning import LocalProvisioner
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode, from_dict
from tqdm.auto import tqdm

from coursekit.editions import Edition
from coursekit.errors import CourseError
from coursekit.project import Project
from coursekit.source import Chapter

SECONDS_PER_CELL = 900
# CPU seconds of the kernel, which runs on one thread: what a reader waits on an idle core.
BUDGET = 240.0
LONGER: dict[str, float] = {}  # chapter -> its own budget, with the reason beside it
NOISE = 1.5  # a busy core makes the same work cost more; beyond this it is the chapter's fault


def execute(edition: Edition, project: Project) -> NotebookNode:
    """Run every cell and return the executed notebook; the edition itself stays as it was.

    A cell that fails ends the run with the file and line it was written on. So does a chapter that
    takes far longer than it may.
    """
    notebook: NotebookNode = from_dict(edition.notebook)
    chapter = edition.chapter
    bar = tqdm(total=len(notebook.cells), desc=f"run {chapter.stem}", unit="cell", leave=False)

    spent = 0.0

    def done(cell: Any, cell_index: int, **_: Any) -> None:
        nonlocal spent
        bar.update(cell_index + 1 - bar.n)
        spent = _kernel_seconds(client)

    # A folder of its own: a chapter must not depend on where it runs, nor leave files behind.
    with tempfile.TemporaryDirectory() as folder, kernel_environment(project), bar:
        client = NotebookClient(
            notebook,
            timeout=SECONDS_PER_CELL,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"],
            on_cell_complete=done,
        )
        try:
            client.execute()
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise CourseError(_failure(edition, notebook, error)) from None
    _require_passed_checks(edition, notebook)
    tqdm.write(within_budget(chapter, spent))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = edition.notebook.metadata["language_info"]
    return notebook


def within_budget(chapter: Chapter, seconds: float) -> str:
    """One line about the time a chapter took; refuses one that took far too long."""
    budget = BUDGET if chapter.gpu else LONGER.get(chapter.code, BUDGET)
    line = f"{chapter.stem}: {seconds:.0f} CPU seconds of {budget:.0f}"
    if seconds > NOISE * budget:
        raise CourseError(
            f"{chapter.name}: it took {seconds:.0f} CPU seconds, but may take {budget:.0f}: train "
            "less in the chapter, or ship a checkpoint."
        )
    return line if seconds <= budget else f"{line}: too long, unless the machine was busy"


def _kernel_seconds(client: NotebookClient) -> float:
    """CPU time of this run's own kernel, as others may run beside it, and of what it started."""
    local = getattr(client.km, "provisioner", None)
    assert isinstance(local, LocalProvisioner), "a kernel of this machine"
    used = psutil.Process(local.pid).cpu_times()
    return float(used.user + used.system + used.children_user + used.children_system)


ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")  # where an object is in memory: new in every run
ANYWHERE = "0xADDRESS"  # tests/notebooks/sanitize.cfg writes the same


def keep_text_only(notebook: NotebookNode) -> NotebookNode:
    """Keep only what can be compared on another machine: printed text and plain representations."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [kept for output in cell.outputs if (kept := _text_of(output))]
    return notebook


def said(cell: NotebookNode) -> str:
    """All the text a cell put out, printed or displayed."""
    texts = (o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)
    return "\n".join(texts)


def _require_passed_checks(edition: Edition, notebook: NotebookNode) -> None:
    """A solution that its own check refuses must not be published."""
    problems = [
        f"{edition.chapter.name}:{line}: the solution fails its check: {said(cell).strip()}"
        for cell, line in zip(notebook.cells, edition.lines, strict=True)
        if "check" in cell.metadata.get("tags", []) and "✗" in said(cell)
    ]
    if problems:
        raise CourseError(*problems)


def _text_of(output: NotebookNode) -> NotebookNode | None:
    if output.output_type == "stream":
        output.text = ADDRESS.sub(ANYWHERE, output.text)
        return output if output.name == "stdout" else None
    if output.output_type == "error":
        return output
    text = output.get("data", {}).get("text/plain")
    if text is None:
        return None
    output.data = {"text/plain": ADDRESS.sub(ANYWHERE, text)}
    output.metadata = {}
    return output


def _failure(edition: Edition, notebook: NotebookNode, error: Exception) -> str:
    """`file:line: sentence` for the first cell that did not finish."""
    name = edition.chapter.name
    for cell, line in zip(notebook.cells, edition.lines, strict=True):
        if cell.cell_type != "code":
            continue
        for output in cell.outputs:
            if output.output_type == "error" and "raises-exception" not in cell.metadata.get(
                "tags", []
            ):
                return f"{name}:{line}: the cell failed with {output.ename}: {output.evalue}"
    return f"{name}: the notebook could not be run: {type(error).__name__}: {error}"


@contextmanager
def kernel_environment(project: Project) -> Iterator[None]:
    """The environment kernels inherit: one thread, a fixed hash seed, this repository's sources."""
    wanted = {
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "TQDM_DISABLE": "1",
        "PYTHONPATH": _joined(project.src, os.environ.get("PYTHONPATH")),
    }
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _joined(first: Path, rest: str | None) -> str:
    return f"{first.resolve()}{os.pathsep}{rest}" if rest else str(first.resolve())
