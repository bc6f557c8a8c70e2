"""`attnlab start [FOLDER]`: the learner's own copies of the chapters, opened in JupyterLab.

An existing file is never written to. Every student notebook carries the fingerprint of the text
it was made with, and JupyterLab keeps it when it saves: so a copy itself says which version of
the chapter it comes from, and nothing else needs to be remembered. When the course has a newer
version, that is put beside it, `03_self_attention (2).ipynb`, and the start page says so.
"""

import argparse
import errno
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

FOLDER = "my_notebooks"
PAGE = "contents.ipynb"
COMMAND = "attnlab start FOLDER"


CHANGED = """\
## New versions

The course has changed since you began. Your notebooks are as you left them, and the new version
stands beside. When you are done with the old one, delete it.
"""
YOURS = """
These notebooks are yours: run, change and save what you like. Nothing here is ever overwritten,
not even when the course is updated.
"""


class StartError(Exception):
    """What the learner can mend, in one sentence."""


@dataclass(kw_only=True)
class Chapter:
    """A notebook of the course, and the learner's copies of it."""

    file: Path  # the course's own
    about: dict[str, Any]  # number, title, minutes, summary, gpu, content (its fingerprint)
    older: list[str] = field(default_factory=list)
    newest: str = ""

    @property
    def place(self) -> tuple[float, bool]:
        """By number, GPU notebooks after their chapter; the capstone has none and is the last."""
        return self.about.get("number", float("inf")), self.about["gpu"]


def main(arguments: list[str] | None = None) -> int:
    """The console script. What goes wrong is said in one sentence and makes the exit code 1."""
    given = sys.argv[1:] if arguments is None else arguments
    cut = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(prog="attnlab", description="A course on attention.")
    commands = parser.add_subparsers(required=True, metavar="command")
    text = "copy the chapters into a folder of yours and open them in JupyterLab"
    after = "What stands after -- is for JupyterLab, such as: attnlab start -- --no-browser"
    start = commands.add_parser("start", help=text, description=text, epilog=after)
    start.add_argument("folder", nargs="?", default=FOLDER, help=f"default: {FOLDER}")
    start.add_argument("--no-lab", action="store_true", help="only make the copies")
    options = parser.parse_args(given[:cut])
    try:
        page, lines = fill(Path(options.folder), course_folder())
        print(*lines, sep="\n")
        return 0 if options.no_lab else _open(page, given[cut + 1 :])
    except StartError as error:
        print(error, file=sys.stderr)
        return 1


def fill(folder: Path, course: Path) -> tuple[Path, list[str]]:
    """Bring every chapter the learner lacks into `folder`; the start page, and what to say."""
    chapters = [Chapter(file=path, about=about) for path, about in _notebooks(course)]
    if not chapters:
        raise StartError(f"{course}: there are no notebooks here; install attnlab again.")
    chapters.sort(key=lambda one: (one.place, one.file.name))
    if folder.resolve() == course.resolve():
        raise StartError(f"{folder}: these are the course's own notebooks; choose another folder.")
    made = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copies = list(_notebooks(folder))
        for one in chapters:
            of_it = [c for c in copies if c[1].get("source") == one.about["source"]]
            of_it.sort(key=lambda c: (len(c[0].name), c[0].name))
            same = [p.name for p, about in of_it if about["content"] == one.about["content"]]
            one.older = [p.name for p, _ in of_it if p.name not in same]
            if same:
                one.newest = same[0]
            else:
                one.newest = _put_beside(folder / one.file.name, one.file.read_bytes()).name
                made += 1
        page = _write_page(folder / PAGE, _page(chapters))
    except OSError as error:
        raise StartError(_why(folder, error)) from error
    lines = [f"{folder}: {made} new, {len(chapters) - made} there already, none changed."]
    return page, lines + [_newer(one) for one in chapters if one.older]


def course_folder() -> Path:
    """The student notebooks: in the installed package, or in the checkout."""
    package = Path(__file__).parent
    for place in (package / "_notebooks", package.parents[1] / "notebooks" / "student"):
        if place.is_dir():
            return place
    raise StartError("the course's notebooks are missing beside this package; install it again.")


def _notebooks(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The notebooks of the course in a folder, each with what it says about itself."""
    for path in sorted(folder.glob("*.ipynb")):
        try:
            about = json.loads(path.read_bytes())["metadata"]["attnlab"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # the learner's own, or damaged: none of ours
        if isinstance(about, dict) and {"source", "content"} <= about.keys():
            yield path, about


def _put_beside(path: Path, data: bytes) -> Path:
    """Write a new file under `path`, or `path (2)` and so on: never over an existing one."""
    number, name = 1, path
    while True:
        try:
            file = name.open("xb")
        except FileExistsError:
            number += 1
            name = path.with_name(f"{path.stem} ({number}){path.suffix}")
            continue
        try:
            with file:
                file.write(data)
        except BaseException:
            name.unlink(missing_ok=True)  # half a notebook would stay in the learner's way
            raise
        return name


def _page(chapters: list[Chapter]) -> str:
    """The start page: what is new, then the contents with a link to each chapter's newest copy."""
    lines = ["# attnlab: attention and Transformers", ""]
    changed = [one for one in chapters if one.older]
    if changed:
        lines += [CHANGED]
        for one in changed:
            older = ", ".join(_link(name, name) for name in one.older)
            lines.append(f"- {_link(one.newest, one.newest)} is the new version, beside {older}")
        lines.append("")
    lines += ["## Chapters", "", "| chapter | what it is about | minutes |", "|---|---|---|"]
    for one in chapters:
        about = one.about
        name = f"{about.get('number', 'Capstone')} · {about['title']}"
        link = _link(f"{name} (GPU)" if about["gpu"] else name, one.newest)
        lines.append(f"| {link} | {about['summary'].replace('|', '/')} | {about['minutes']} |")
    lines += [YOURS]
    return "\n".join(lines)


def _link(text: str, name: str) -> str:
    return f"[{text}]({quote(name)})"


def _write_page(path: Path, text: str) -> Path:
    """The page, rewritten. One the learner wrote or changed is kept, and ours is put beside it."""
    data = json.dumps(_as_notebook(text), indent=1, ensure_ascii=False).encode()
    for old in (path, *sorted(path.parent.glob(f"{path.stem} (*){path.suffix}"))):
        found = _untouched_page(old)
        if found is not None:
            if found != text:
                _put_beside(path.with_suffix(".part"), data).replace(old)  # never half a page
            return old
    return _put_beside(path, data)


def _as_notebook(text: str) -> dict[str, Any]:
    """A notebook of one Markdown cell: JupyterLab opens it as a page, and its links open chapters.

    It carries the fingerprint of its text. As long as that fits, it is ours and may be replaced.
    """
    cell = {"cell_type": "markdown", "id": "contents", "metadata": {}, "source": text}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "attnlab": {"page": _digest(text)}}
    return {"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _untouched_page(path: Path) -> str | None:
    """The text of a page of ours that is as we wrote it, saved or not; of any other file, None."""
    try:
        page = json.loads(path.read_bytes())
        (cell,) = page["cells"]
        text = "".join(cell["source"])
        return text if page["metadata"]["attnlab"]["page"] == _digest(text) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _newer(one: Chapter) -> str:
    return f"{one.newest}: the new version, beside {' and '.join(one.older)}, which you have."


def _why(folder: Path, error: OSError) -> str:
    """Why the copies could not be made, what became of the learner's files, and what to do."""
    safe = "nothing of yours was changed"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{folder}: the disk is full; {safe}. Make room and start again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{folder}: you may not write here; {safe}. Name another folder: {COMMAND}"
    why = error.strerror or error
    return f"{folder}: cannot be your folder ({why}); {safe}. Name another: {COMMAND}"


def _open(page: Path, options: list[str]) -> int:
    """JupyterLab on the learner's folder, with the start page in front."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise StartError('JupyterLab is not installed here: pip install "attnlab[course]"')
    from jupyterlab.labapp import main as lab

    address = f"/lab/tree/{quote(page.name)}"
    # Ours first: what the learner says after them counts.
    ours = [f"--ServerApp.root_dir={page.parent.resolve()}", f"--LabApp.default_url={address}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container; JupyterLab would refuse
        ours.append("--allow-root")
    return lab([*ours, *options]) or 0


if __name__ == "__main__":
    sys.exit(main())
