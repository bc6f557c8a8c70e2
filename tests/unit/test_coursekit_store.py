"""coursekit's files: stale ones are named, and nobody's work is lost."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from coursekit import store
from coursekit.__main__ import main
from coursekit.build import build, stale
from coursekit.project import Project
from tests.unit.coursekit_project import NAME, make_project, rewrite


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same repository, built once: tests that change it work on a copy."""
    made = make_project(tmp_path_factory.mktemp("built"))
    build(made)
    return made


@pytest.fixture
def copy(built: Project, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(built.root, tmp_path / "copy")))


# Staleness


def test_what_was_just_built_is_not_stale(built: Project) -> None:
    assert stale(built) == []
    assert main(["--root", str(built.root), "check"]) == 0


def test_a_changed_source_makes_its_notebooks_stale(copy: Project, capsys) -> None:
    rewrite(copy, "# Write it.", "# Write it well.")
    assert main(["--root", str(copy.root), "check"]) == 1
    said = capsys.readouterr().err
    for folder in ("student", "solutions"):
        assert f"notebooks/{folder}/{NAME}.ipynb: stale, notebooks/{NAME}.py changed" in said


def test_a_changed_header_or_address_is_stale_too(copy: Project) -> None:
    rewrite(copy, "minutes: 45", "minutes: 50")
    assert len(stale(copy)) == 2
    rewrite(copy, "minutes: 50", "minutes: 45")
    rewrite(copy, "listens to weights", "hears weights")  # the summary: in no cell
    assert [problem.partition(": ")[2] for problem in stale(copy)] == [
        f"stale, notebooks/{NAME}.py changed; run `python -m coursekit build`."
    ] * 2
    rewrite(copy, "hears weights", "listens to weights")
    pyproject = copy.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("someone", "somebody"))
    assert len(stale(Project(copy.root))) == 2


def test_a_notebook_without_its_source_is_named(copy: Project) -> None:
    (copy.notebooks / f"{NAME}.py").unlink()
    assert all("is gone; delete this notebook too" in problem for problem in stale(copy))
    assert len(stale(copy)) == 2


def test_a_missing_or_hand_edited_notebook_is_named(copy: Project) -> None:
    (copy.student / f"{NAME}.ipynb").unlink()
    path = copy.solutions / f"{NAME}.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace("1.5", "1.6"), encoding="utf-8")
    missing, edited = stale(copy)
    assert "missing" in missing
    assert "edited or run since it was made" in edited


@pytest.fixture
def no_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_):
        raise AssertionError("executed")

    monkeypatch.setattr("coursekit.pages.execute", never)


@pytest.mark.usefixtures("no_execution")
def test_unchanged_chapters_are_not_run_again(copy: Project) -> None:
    assert all(line.endswith("unchanged.") for line in build(copy))
    with pytest.raises(AssertionError, match="executed"):
        build(copy, force=True)


@pytest.mark.usefixtures("no_execution")
def test_a_change_of_words_keeps_the_outputs_and_runs_nothing(copy: Project) -> None:
    path = copy.solutions / f"{NAME}.ipynb"
    before = path.read_text(encoding="utf-8")
    rewrite(copy, "# Write it.", "# Write it well.")
    build(copy)
    assert path.read_text(encoding="utf-8") != before
    outputs = [
        [cell["outputs"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        for text in (before, path.read_text(encoding="utf-8"))
    ]
    assert outputs[0] == outputs[1]
    assert any(outputs[0])
    assert not stale(copy)


@pytest.mark.usefixtures("no_execution")
def test_no_minutes_are_spent_on_a_notebook_that_is_kept_anyway(copy: Project) -> None:
    work_in(copy.solutions / f"{NAME}.ipynb", text="mine = 1")
    rewrite(copy, "# Write it.", "# Write it well.")
    assert "kept, because you have worked in it" in build(copy)[1]


# A learner's work


def work_in(path: Path, *, text: str | None = None, output: str | None = None) -> bytes:
    """What a learner does in JupyterLab: write or run something, and save."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if text is not None:
        code[1]["source"] = [text]
    if output is not None:
        code[1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [output]}]
        code[1]["execution_count"] = 1
    notebook["metadata"]["language_info"]["version"] = "3.13.1"
    path.write_text(json.dumps(notebook, indent=2), encoding="utf-8")
    return path.read_bytes()


@pytest.mark.parametrize("work", [{"text": "mine = 1"}, {"output": "it works\n"}])
def test_build_leaves_a_notebook_with_work_in_it_alone(copy: Project, work: dict) -> None:
    path = copy.student / f"{NAME}.ipynb"
    mine = work_in(path, **work)
    rewrite(copy, "# Write it.", "# Write it well.")
    lines = build(copy)
    assert path.read_bytes() == mine
    assert any(
        "kept, because you have worked in it" in line and path.name in line for line in lines
    )


def test_overwrite_saves_the_work_first_and_never_over_an_older_copy(copy: Project) -> None:
    path = copy.student / f"{NAME}.ipynb"
    first = work_in(path, text="mine = 1")
    build(copy, overwrite=True)
    second = work_in(path, text="mine = 2")
    build(copy, overwrite=True)
    assert path.with_name(path.name + ".bak").read_bytes() == first
    assert path.with_name(path.name + ".2.bak").read_bytes() == second
    assert stale(copy) == []


@pytest.mark.usefixtures("no_execution")
@pytest.mark.parametrize("folder", ["student", "solutions"])
@pytest.mark.parametrize("scrolled", [True, False])
def test_opening_and_saving_is_not_work(copy: Project, folder: str, scrolled: bool) -> None:
    path = copy.notebooks / folder / f"{NAME}.ipynb"
    before = path.read_bytes()
    if scrolled:
        notebook = nbformat.read(path, as_version=4)
        notebook.cells[3].metadata["scrolled"] = True
        nbformat.write(notebook, path)
    else:
        work_in(path)  # the kernel's version
    assert stale(copy) == [
        f"notebooks/{folder}/{NAME}.ipynb: saved in JupyterLab; run `make editions` to put it back."
    ]
    build(copy)
    assert path.read_bytes() == before


def test_a_file_that_is_no_notebook_is_kept(copy: Project) -> None:
    path = copy.student / f"{NAME}.ipynb"
    path.write_text("my own words")
    build(copy)
    assert path.read_text() == "my own words"


def test_fingerprints_see_work_and_overlook_formatting(built: Project) -> None:
    notebook = nbformat.read(built.student / f"{NAME}.ipynb", as_version=4)
    assert store.is_untouched(notebook)
    notebook.cells[3].metadata["scrolled"] = True
    assert store.is_untouched(notebook)
    notebook.cells[2]["attachments"] = {"mine.png": {"image/png": "iVBORw0KGgo="}}
    assert not store.is_untouched(notebook)
    del notebook.cells[2]["attachments"]
    assert store.is_untouched(notebook)
    notebook.cells[3].source += "\n# a thought"
    assert not store.is_untouched(notebook)
