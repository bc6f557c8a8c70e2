"""`attnlab start`: a learner's own copies, made once, never overwritten, whatever goes wrong."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from attnlab import start
from attnlab.start import StartError, fill
from tests.unit.wheels import ROOT, build_wheel

NAME = "03_self_attention.ipynb"
BESIDE = "03_self_attention (2).ipynb"


def notebook(
    text: str, *, name: str = "03_self_attention", number: int | None = 3, title: str = ""
) -> str:
    """A student notebook as small as one can be; `text` is its version."""
    about = {
        **({} if number is None else {"number": number}),
        "title": title or f"Chapter {number}",
        "minutes": 30 + (number or 0),
        "summary": "What words | say to words.",
        "gpu": name.startswith("gpu"),
        "edition": "student",
        "source": f"{name}.py",
        "content": f"fingerprint of {text}",
    }
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": [text]}
    whole = {"cells": [cell], "metadata": {"attnlab": about}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    made = tmp_path / "course"
    made.mkdir()
    (made / NAME).write_text(notebook("first"))
    (made / "00_start.ipynb").write_text(notebook("hello", name="00_start", number=0))
    gpu = notebook("fast", name="gpu_03_cost", number=3)
    (made / "gpu_03_cost.ipynb").write_text(gpu)
    return made


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return tmp_path / "mine"


def work_in(path: Path, words: str) -> bytes:
    """Edit and save, as JupyterLab does: texts and formatting change, the metadata stay."""
    read = json.loads(path.read_text())
    read["cells"][0]["source"] = [words]
    read["metadata"]["language_info"] = {"name": "python", "version": "3.13.1"}
    path.write_text(json.dumps(read, indent=1))
    return path.read_bytes()


def says(page: Path) -> str:
    """The text of the start page."""
    (cell,) = json.loads(page.read_bytes())["cells"]
    return "".join(cell["source"])


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_first_start_copies_every_chapter_and_writes_the_page(course: Path, mine: Path) -> None:
    page, lines = fill(mine, course)
    assert lines == [f"{mine}: 3 new, 0 there already, none changed."]
    copies = files(mine)
    assert copies.pop("contents.ipynb") == page.read_bytes()
    assert copies == files(course)
    text = says(page)
    first, third, gpu = (text.index(f"]({name})") for name in
                         ("00_start.ipynb", NAME, "gpu_03_cost.ipynb"))  # fmt: skip
    assert first < third < gpu
    assert "| [3 · Chapter 3 (GPU)](gpu_03_cost.ipynb) | What words / say to words. | 33 |" in text
    assert "New versions" not in text


def test_the_capstone_is_the_last_of_the_contents(course: Path, mine: Path) -> None:
    text = notebook("own", name="capstone_own", number=None, title="Your own model")
    (course / "capstone_own.ipynb").write_text(text)
    page, _ = fill(mine, course)
    rows = [line for line in says(page).splitlines() if line.startswith("| [")]
    assert rows[-1].startswith("| [Capstone · Your own model](capstone_own.ipynb) |")


def test_starting_again_changes_nothing(course: Path, mine: Path) -> None:
    fill(mine, course)
    work_in(mine / NAME, "my answer")
    before = files(mine)
    _, lines = fill(mine, course)
    assert lines == [f"{mine}: 0 new, 3 there already, none changed."]
    assert files(mine) == before


def test_a_newer_version_is_put_beside_and_the_page_says_so(course: Path, mine: Path) -> None:
    fill(mine, course)
    kept = work_in(mine / NAME, "my answer")
    (course / NAME).write_text(notebook("second"))
    page, lines = fill(mine, course)
    assert (mine / NAME).read_bytes() == kept
    assert (mine / BESIDE).read_bytes() == (course / NAME).read_bytes()
    assert lines[1:] == [f"{BESIDE}: the new version, beside {NAME}, which you have."]
    text = says(page)
    assert f"- [{BESIDE}](03_self_attention%20%282%29.ipynb) is the new version" in text
    assert "| [3 · Chapter 3](03_self_attention%20%282%29.ipynb) |" in text
    before = files(mine)
    fill(mine, course)  # the same version comes once
    assert files(mine) == before
    (course / NAME).write_text(notebook("third"))
    fill(mine, course)
    assert (mine / "03_self_attention (3).ipynb").is_file()
    (mine / NAME).unlink()  # done with the first
    (mine / BESIDE).unlink()
    text = says(fill(mine, course)[0])
    assert "New versions" not in text
    assert not (mine / NAME).exists()


def test_a_renamed_copy_is_still_the_learners_copy(course: Path, mine: Path) -> None:
    fill(mine, course)
    (mine / NAME).rename(mine / "evening.ipynb")
    page, _ = fill(mine, course)
    assert not (mine / NAME).exists()
    assert "(evening.ipynb)" in says(page)


@pytest.mark.parametrize("words", ["", "my own words", '{"cells": [], "metadata": {}}', '{"cel'])
def test_a_file_of_the_same_name_that_is_not_ours_is_kept(
    course: Path, mine: Path, words: str
) -> None:
    """Also a copy that a crash has cut in half: the learner may want to save what is left."""
    mine.mkdir()
    (mine / NAME).write_text(words)
    fill(mine, course)
    assert (mine / NAME).read_text() == words
    assert (mine / BESIDE).read_bytes() == (course / NAME).read_bytes()


@pytest.mark.parametrize("words", ["# My notes\n", '{"cells": []}', b"\xff\xfe{"])
def test_a_page_the_learner_wrote_is_kept_too(course: Path, mine: Path, words: str | bytes) -> None:
    mine.mkdir()
    own = words if isinstance(words, bytes) else words.encode()
    (mine / "contents.ipynb").write_bytes(own)
    page, _ = fill(mine, course)
    assert page.name == "contents (2).ipynb"
    assert (mine / "contents.ipynb").read_bytes() == own
    (course / NAME).write_text(notebook("second"))
    assert fill(mine, course)[0] == page  # ours, and renewed
    assert "New versions" in says(page)
    assert sorted(path.name for path in mine.glob("contents*")) == [
        "contents (2).ipynb",
        "contents.ipynb",
    ]


def test_one_note_in_our_page_makes_it_the_learners(course: Path, mine: Path) -> None:
    page, _ = fill(mine, course)
    assert fill(mine, course)[0] == page
    kept = work_in(page, "Ask about √d!")
    assert fill(mine, course)[0].name == "contents (2).ipynb"
    assert page.read_bytes() == kept


def test_a_page_that_was_only_saved_follows_the_course(course: Path, mine: Path) -> None:
    page, _ = fill(mine, course)
    work_in(page, says(page))  # other formatting, the same words
    (course / NAME).write_text(notebook("second"))
    assert fill(mine, course)[0] == page
    assert "New versions" in says(page)


# What goes wrong


@pytest.fixture
def worked(course: Path, mine: Path) -> dict[str, bytes]:
    """A folder with work in it, and a course with two newer chapters."""
    fill(mine, course)
    work_in(mine / NAME, "my answer")
    (course / NAME).write_text(notebook("second"))
    (course / "00_start.ipynb").write_text(notebook("good day", name="00_start", number=0))
    return files(mine)


def test_a_full_disk_leaves_no_half_file(
    course: Path, mine: Path, worked: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        """A file that takes ten bytes and then says what a full disk says."""

        def __init__(self, path: Path) -> None:
            self.path = path

        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def write(self, data: bytes) -> None:
            self.path.write_bytes(data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

    real = Path.open

    def full(path: Path, mode: str = "r", *rest, **options):
        if mode == "xb" and path.stem.startswith("03") and not path.exists():
            return Full(path)
        return real(path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(StartError) as raised:
        fill(mine, course)
    monkeypatch.undo()
    assert str(raised.value) == (
        f"{mine}: the disk is full; nothing of yours was changed. Make room and start again."
    )
    left = files(mine)
    assert {name: left[name] for name in worked} == worked
    assert left.keys() - worked.keys() == {"00_start (2).ipynb"}
    fill(mine, course)  # there is room again
    assert (mine / BESIDE).read_bytes() == (course / NAME).read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_write_the_system_cuts_short_is_taken_back(course: Path, mine: Path) -> None:
    """A real one, without root: the system lets a process write 500 bytes into a file."""
    (course / NAME).write_text(notebook("long " * 300))
    code = f"from attnlab.start import *; fill(Path({str(mine)!r}), Path({str(course)!r}))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
    )
    assert "the disk is full; nothing of yours was changed" in done.stderr
    assert sorted(files(mine)) == ["00_start.ipynb"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_one_may_not_write_to(
    course: Path, mine: Path, worked: dict[str, bytes], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open

    def refuse(path: Path, mode: str = "r", *rest, **options):
        if mode == "xb" and not path.exists():
            raise OSError(code, os.strerror(code))
        return real(path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StartError) as raised:
        fill(mine, course)
    monkeypatch.undo()
    assert str(raised.value).startswith(f"{mine}: you may not write here; nothing of yours")
    assert str(raised.value).endswith("Name another folder: attnlab start FOLDER")
    assert files(mine) == worked


def test_a_read_only_folder_that_has_everything_is_opened(
    course: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(mine, course)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("attnlab.start._put_beside", refuse)
    assert fill(mine, course)[1] == [f"{mine}: 0 new, 3 there already, none changed."]


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_is_no_folder(course: Path, tmp_path: Path, below: str) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(StartError, match="cannot be your folder"):
        fill(tmp_path / "notes" / below, course)
    assert (tmp_path / "notes").read_text() == "mine"


def test_the_courses_own_folder_is_refused(course: Path) -> None:
    before = files(course)
    with pytest.raises(StartError, match="the course's own notebooks; choose another folder"):
        fill(course, course)
    assert files(course) == before


def test_an_empty_course_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="there are no notebooks here; install attnlab again"):
        fill(tmp_path / "mine", tmp_path)


# The command


def test_what_jupyterlab_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[list[str]] = []
    monkeypatch.setattr("jupyterlab.labapp.main", told.append)
    monkeypatch.chdir(tmp_path)
    assert start.main(["start", "--", "--no-browser", "--port=9"]) == 0
    (options,) = told
    assert options[0] == f"--ServerApp.root_dir={tmp_path / 'my_notebooks'}"
    assert options[1] == "--LabApp.default_url=/lab/tree/contents.ipynb"
    assert options[-2:] == ["--no-browser", "--port=9"]
    assert (tmp_path / "my_notebooks" / "00_start.ipynb").is_file()


def test_a_missing_jupyterlab_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert start.main(["start", str(tmp_path / "mine")]) == 1
    said = capsys.readouterr().err
    assert said == 'JupyterLab is not installed here: pip install "attnlab[course]"\n'


def test_the_copies_do_not_disturb_the_repository() -> None:
    """git, ruff and the tests look past my_notebooks/: what is saved there cannot fail them."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "my_notebooks/" in ignored
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "attnlab start my_notebooks" in makefile
    probe = ROOT / "my_notebooks" / "probe.ipynb"
    command = [sys.executable, "-m", "ruff", "check", "--force-exclude", "--show-files", str(probe)]
    assert "probe" not in subprocess.check_output(command, cwd=ROOT, text=True)


def test_a_wheel_alone_starts_the_course(tmp_path: Path) -> None:
    """In a new environment, without the repository: only the wheel, and what it depends on."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    target = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    wheel = build_wheel(tmp_path / "wheel")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
    # Everything but attnlab itself comes from the tests' own environment.
    shared = sysconfig.get_path("purelib")
    (Path(target) / "shared.pth").write_text(shared + "\n")
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    work = tmp_path / "elsewhere"
    work.mkdir()
    command = [scripts / "attnlab", "start", "--no-lab"]
    done = subprocess.run(command, cwd=work, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    student = {path.name for path in (ROOT / "notebooks/student").glob("*.ipynb")}
    copies = files(work / "my_notebooks")
    assert copies.keys() == {*student, "contents.ipynb"}
    for name in student:
        assert copies[name] == (ROOT / "notebooks/student" / name).read_bytes()
    shutil.rmtree(tmp_path / "wheel")
    probe = "import attnlab, attnlab.start, sys; print(attnlab.__file__, 'torch' in sys.modules)"
    said = subprocess.check_output([python, "-c", probe], cwd=work, env=clean, text=True)
    assert said.strip() == f"{Path(target) / 'attnlab' / '__init__.py'} False"
