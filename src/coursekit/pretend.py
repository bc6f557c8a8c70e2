"""Runs GPU notebooks on a pretended device, and lists the lines that no run reaches.

No machine that builds the course has a GPU, and learners on Colab would be the first to meet a
typo. So the cells of a GPU notebook are run here with ATTNLAB_PRETEND_GPU (see `attnlab.device`):
once as on an NVIDIA card, with a file of sentence pairs at hand; then, for what is left, as on a
CPU and on an Apple GPU, without. `held` cells are left out, because they hold numbers of the real
sizes, and so are the stubs; the lines of a solution run inside its checker. A line may stay
unreached only when it calls CUDA itself, and says so:

    torch.cuda.nvtx.mark("here")  # only CUDA: asks the driver
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from coursekit.errors import CourseError
from coursekit.source import Cell, Chapter

KINDS = ("cuda", "cpu", "mps")
EXCUSE = re.compile(r"^[^#\"']*\bcuda\..*# only CUDA: \S")  # a call, not a word


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the runs of one GPU notebook left out: line number → text."""

    chapter: Chapter
    excused: dict[int, str]
    unreached: dict[int, str]

    @property
    def problems(self) -> list[str]:
        name = self.chapter.name
        return [f"{name}:{n}: no run reaches {text!r}." for n, text in self.unreached.items()]

    @property
    def lines(self) -> list[str]:
        """What no run reaches, each line with its reason; or that there is none."""
        name, found = self.chapter.name, self.excused | self.unreached
        if not found:
            return [f"{name}: every line runs."]
        return [f"{name}:{n}: {_reason(found[n])}" for n in sorted(found)]


def _reason(text: str) -> str:
    code, _, why = text.partition("# only CUDA: ")
    return f"{code.strip()}  ({why})" if EXCUSE.search(text) else f"{text}  (no reason given)"


def run_pretended(chapter: Chapter) -> Report:
    """Run a GPU notebook in as many guises as it takes, and report what was never reached."""
    lines = chapter.path.read_text(encoding="utf-8").splitlines()
    cells = [cell for cell in chapter.cells if _is_run(cell)]
    counted = [cell for cell in cells if cell.role != "solution"]
    left = {line for cell in counted for line in _lines(_compile(cell, chapter, lines))}
    for kind in KINDS:
        if left:
            left -= _run(
                chapter, [(cell, _compile(cell, chapter, lines, kind)) for cell in cells], kind
            )
    texts = {n: lines[n - 1].strip() for n in sorted(left)}
    excused = {n: text for n, text in texts.items() if EXCUSE.search(text)}
    unreached = {n: text for n, text in texts.items() if n not in excused}
    return Report(chapter=chapter, excused=excused, unreached=unreached)


def _is_run(cell: Cell) -> bool:
    return cell.kind == "code" and cell.role != "stub" and "held" not in cell.tags


def _compile(cell: Cell, chapter: Chapter, lines: list[str], kind: str = "") -> CodeType:
    """The code of a cell, under the file's name and with the file's line numbers."""
    text = cell.text
    if kind == "cuda":  # there is a file, so nothing is fetched: what is known of it is compared
        text = re.sub(r"^FETCH = False", "FETCH = True", text, flags=re.MULTILINE)
    first = cell.line  # of the marker, counted from 1: the index of the line after it
    while first < len(lines) and not lines[first].strip():
        first += 1
    tree = ast.increment_lineno(ast.parse(text), first)
    return compile(tree, chapter.name, "exec")


def _lines(code: CodeType) -> set[int]:
    """Every line with something to execute, inside functions and classes too."""
    found = {line for _, _, line in code.co_lines() if line}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _lines(inner)
    return found


def _run(chapter: Chapter, codes: list[tuple[Cell, CodeType]], kind: str) -> set[int]:
    """Run the cells one after another as on a `kind` of device; the lines that were reached."""
    reached: set[int] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != chapter.name:
            return None
        reached.add(frame.f_lineno)
        return trace

    names: dict[str, Any] = {"__name__": "__main__"}
    with _guise(kind), contextlib.redirect_stdout(io.StringIO()):
        before = sys.gettrace()
        for cell, code in codes:
            sys.settrace(trace)
            try:
                exec(code, names)
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                at = f"{chapter.name}:{_line_of(error, chapter) or cell.line}"
                raise CourseError(f"{at}: fails on a pretended device ({kind}): {why}") from error
            finally:
                sys.settrace(before)
    return reached


def _line_of(error: Exception, chapter: Chapter) -> int | None:
    """The last line of the notebook on the way to an error."""
    at, line = error.__traceback__, None
    while at is not None:
        if at.tb_frame.f_code.co_filename == chapter.name:
            line = at.tb_lineno
        at = at.tb_next
    return line


@contextlib.contextmanager
def _guise(kind: str) -> Iterator[None]:
    """A folder of its own, the environment of a pretended device, no windows; all put back."""
    import matplotlib.pyplot as plt

    environment, folder = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        os.environ["ATTNLAB_PRETEND_GPU"] = kind
        if kind == "cuda":
            _write_pairs(Path("fra.txt"))
        plt.switch_backend("agg")
        try:
            yield
        finally:
            plt.close("all")
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)


def _write_pairs(path: Path) -> None:
    """Sentence pairs as people fetch them, with a checksum that does not fit: both are handled."""
    from attnlab.data.english_french import EnglishFrench

    pairs = EnglishFrench(longest=12).take(400)
    lines = [f"{' '.join(p.source)}\t{' '.join(p.target)}\tCC-BY 2.0\n" for p in pairs]
    path.write_text("".join(lines), encoding="utf-8")
    path.with_name(f"{path.name}.sha256").write_text("0" * 64)
