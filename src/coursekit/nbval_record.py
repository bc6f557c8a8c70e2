"""A pytest plugin for nbval: what it runs is kept for the website, so that no chapter runs twice.

nbval runs the solutions; the website and the slides are cut from the `full` edition, which has the
same code cells and a few more that only slides show. Those are run in between, in their place.
A chapter of which every cell passed is put where `coursekit book` looks first:
`pytest -p coursekit.nbval_text -p coursekit.nbval_record --nbval …`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams

from coursekit import editions, pages
from coursekit.project import Project, find_project
from coursekit.source import read_chapter

SECONDS = 600  # for a cell that only slides show; nbval times its own


class Recording:
    """The `full` edition of a chapter, which gets its outputs while nbval runs the solutions."""

    def __init__(self, edition: editions.Edition, file: IPyNbFile) -> None:
        self.edition = edition
        self.file = file
        self.whole = True  # until a cell fails
        self.theirs = {cell.source for cell in file.nb.cells if cell.cell_type == "code"}
        cells = edition.notebook.cells
        self.waiting = [i for i, cell in enumerate(cells) if cell.cell_type == "code"]
        self.current: int | None = None
        # It never runs anything here: it knows what messages do to outputs (display ids, clearing).
        self.client = NotebookClient(
            edition.notebook, record_timing=False, store_widget_state=False
        )
        self.client.clear_before_next_output = False  # it would say so itself before its first cell
        self.from_kernel = file.get_kernel_message
        file.get_kernel_message = self.read

    def read(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """A message of the kernel, noted on its way to nbval."""
        message: dict[str, Any] = self.from_kernel(*arguments, **options)
        if self.current is not None:
            cell: NotebookNode = self.edition.notebook.cells[self.current]
            try:
                self.client.process_message(message, cell, self.current)
            except CellExecutionComplete:
                cell.outputs = coalesce_streams(cell.outputs)
        return message

    def begin(self, source: str) -> None:
        """nbval is about to run this cell: run the cells before it that only slides show."""
        cells = self.edition.notebook.cells
        place = next((i for i in self.waiting if cells[i].source == source), None)
        if place is None:  # the set-up line, which only the solutions have
            self.current = None
            return
        self.run_all_before(place)
        self.current = place
        self.waiting.remove(place)

    def run_all_before(self, place: int | None = None) -> None:
        """The cells that nbval does not know, up to a place or to the end."""
        while self.waiting and (place is None or self.waiting[0] < place):
            self.current = self.waiting.pop(0)
            cell = self.edition.notebook.cells[self.current]
            assert not (self.whole and cell.source in self.theirs), (
                f"{self.edition.chapter.name}: another process has a cell of it. The cells of a "
                "notebook must stay together: `--dist loadgroup`, and the groups of conftest.py."
            )
            kernel = self.file.kernel
            request = kernel.execute_cell_input(cell.source, allow_stdin=False)
            kernel.await_reply(request, timeout=SECONDS)
            while not _is_idle(self.read(timeout=SECONDS), request):
                pass
            failed = [output for output in cell.outputs if output.output_type == "error"]
            assert not failed, f"{self.edition.chapter.name}, a slide: {failed[0].evalue}"

    def finish(self, project: Project) -> None:
        """Keep the chapter, if all of it ran."""
        if self.whole:
            self.run_all_before()
            pages.keep(self.edition, self.edition.notebook, project)


def _is_idle(message: dict[str, Any], request: str) -> bool:
    return (
        message["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
        and message["parent_header"].get("msg_id") == request
    )


RECORDING = pytest.StashKey[Recording]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if not isinstance(item, IPyNbCell):
        return (yield)
    recording = _recording_of(item.parent)
    recording.begin(item.cell.source)
    try:
        return (yield)
    except BaseException:
        recording.whole = False
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After the last cell of a notebook, while its kernel is still there."""
    file = item.parent
    last = nextitem is None or nextitem.parent is not file
    if last and isinstance(file, IPyNbFile) and RECORDING in file.stash:
        file.stash[RECORDING].finish(find_project(item.config.rootpath))
    return (yield)


def _recording_of(file: IPyNbFile) -> Recording:
    if RECORDING not in file.stash:
        project = find_project(file.config.rootpath)
        chapter = read_chapter(project.notebooks / f"{file.path.stem}.py", project)
        file.stash[RECORDING] = Recording(editions.full(chapter), file)
        # A run that was told to leave cells out is not the whole chapter.
        chosen = {
            item.cell.source for item in file.session.items if getattr(item, "parent", None) is file
        }
        file.stash[RECORDING].whole = file.stash[RECORDING].theirs == chosen
    return file.stash[RECORDING]
