"""coursekit: one source in, the right editions out, and nobody's work lost."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from coursekit import editions, store
from coursekit.__main__ import main
from coursekit.build import build, load_chapters, stale
from coursekit.errors import CourseError
from coursekit.execute import execute
from coursekit.project import Project

SOURCE = (Path(__file__).parent / "coursekit_chapter.txt").read_text(encoding="utf-8")
NAME = "03_weighted_means"


def make_project(root: Path) -> Project:
    """A repository with one small chapter."""
    (root / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://github.com/someone/a-course.git"\n'
    )
    for folder in ("notebooks/student", "notebooks/solutions", "src"):
        (root / folder).mkdir(parents=True)
    (root / f"notebooks/{NAME}.py").write_text(SOURCE, encoding="utf-8")
    return Project(root)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def rewrite(project: Project, old: str, new: str) -> None:
    """Change the chapter's source; the text to change must be there once."""
    path = project.notebooks / f"{NAME}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (text.count(old), old)
    path.write_text(text.replace(old, new), encoding="utf-8")


def refused(project: Project) -> str:
    with pytest.raises(CourseError) as caught:
        load_chapters(project)
    return str(caught.value)


def line_of(text: str) -> int:
    return 1 + next(n for n, line in enumerate(SOURCE.splitlines()) if line.startswith(text))


def texts(notebook: nbformat.NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same repository, built once: tests that change it work on a copy."""
    made = make_project(tmp_path_factory.mktemp("built"))
    build(made)
    return made


@pytest.fixture
def copy(built: Project, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(built.root, tmp_path / "copy")))


# What the source says


def test_cells_know_their_lines_and_markers_inside_strings_are_text(project: Project) -> None:
    (chapter,) = load_chapters(project)
    assert chapter.cells[0].line == line_of("# %% [markdown]")
    check = next(cell for cell in chapter.cells if cell.role == "check")
    assert check.line == line_of('# %% tags=["check"]')
    assert "not a cell" in chapter.cells[2].text


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ('# %% tags=["check"] exercise="03.1"', "# %%", '# %% [markdown] tags=["exercise"]',
         "exercise 03.1 has no checker call."),
        ("    ...  # your turn", "    return 0", '# %% tags=["stub"]', "has no `...` to fill in."),
        ('check("03.1",', 'check("03.2",', '# %% tags=["check"]',
         "the check is for 03.2, but the exercise is 03.1."),
        ("def weighted_mean(values, weights):\n    return",
         "def other(values, weights):\n    return",
         '# %% tags=["solution"]', "defines other, its stub weighted_mean; they must define"),
        ('# %% [markdown] tags=["hint"] exercise="03.1"\n# Divide', "# %% [markdown]\n# Divide",
         '# %% [markdown] tags=["exercise"]', "has 1 hint; give it at least 2."),
        ('tags=["solution"]', 'tags=["stub"]', '# %% tags=["solution"]', "has a second stub."),
        ('tags=["notes"]', 'tags=["note"]', '# %% [markdown] tags=["notes"]',
         "the tag 'note' is unknown"),
        ("### Exercise 3.1 ★ ·", "### Exercise 3.2 ·", '# %% [markdown] tags=["exercise"]',
         "the statement must begin like '### Exercise 3.1 ★★ · Title (10 min)'."),
        ("# # 3 · Weighted means", "# # Weighted means", "# %% [markdown]",
         "the title must read '# 3 · Weighted means'"),
        ('tags=["slide", "slides-only"]', 'tags=["slides-only"]',
         '# %% [markdown] tags=["slide", "slides-only"]', "slides-only goes with slide"),
        ('tags=["stub"] exercise="03.1"', 'tags=["stub"]', '# %% tags=["stub"]',
         "the tag 'stub' needs the exercise it belongs to"),
        ("/ sum(weights)\n", "/ sum(weights\n", '# %% tags=["solution"]',
         "the solution of exercise 03.1 is not Python"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_file_and_line(
    project: Project, old: str, new: str, at: str, says: str
) -> None:
    rewrite(project, old, new)
    message = refused(project)
    (line,) = [one for one in message.splitlines() if says in one][:1] or [message]
    assert says in line
    if "not Python" not in says:  # a syntax error has the line of the error itself
        assert line.startswith(f"notebooks/{NAME}.py:{line_of(at)}: ")


def test_a_header_that_says_too_little_is_refused(project: Project) -> None:
    rewrite(project, "#     minutes: 45\n", "")
    rewrite(project, "number: 3", "number: 4")
    assert "attnlab block lacks 'minutes'" in refused(project)
    rewrite(project, "#     summary", "#     minutes: 45\n#     summary")
    assert "the file name says chapter 3, the header says 4" in refused(project)


def test_the_same_exercise_in_two_files_is_refused(project: Project) -> None:
    second = SOURCE.replace("#     number: 3", "#     number: 3\n#     gpu: true")
    (project.notebooks / "gpu_03_more.py").write_text(second, encoding="utf-8")
    line = line_of('# %% [markdown] tags=["exercise"]') + 1
    assert f"gpu_03_more.py:{line}: exercise 03.1 is already in notebooks/{NAME}.py." in refused(
        project
    )


# The editions


def test_student_edition(project: Project) -> None:
    (chapter,) = load_chapters(project)
    notebook = editions.student(chapter, project).notebook
    badge, setup, title = notebook.cells[:3]
    colab = "https://colab.research.google.com/github/someone/a-course/blob/main/notebooks/student/"
    assert f"({colab}{NAME}.ipynb)" in badge.source
    assert "![" not in badge.source  # no picture from the network
    assert (
        '%pip install -q "attnlab[course] @ git+https://github.com/someone/a-course"'
        in setup.source
    )
    assert title.source.startswith("# 3 · Weighted means")
    everything = texts(notebook)
    assert "...  # your turn" in everything
    assert "sum(v * w" not in everything
    assert everything.count("<summary>Hint ") == 2
    assert "lecture hall" not in everything
    assert "Ask the room" not in everything
    assert not any(cell.get("outputs") for cell in notebook.cells)
    hidden = next(cell for cell in notebook.cells if cell.source.startswith("marker"))
    assert hidden.metadata == {"jupyter": {"source_hidden": True}}


def test_gpu_notebooks_ask_colab_for_a_gpu(project: Project) -> None:
    second = SOURCE.replace("#     number: 3", "#     number: 3\n#     gpu: true").replace(
        "3.1", "3.9"
    )
    (project.notebooks / "gpu_03_more.py").write_text(second, encoding="utf-8")
    plain, gpu = (editions.student(one, project).notebook for one in load_chapters(project))
    assert gpu.metadata["accelerator"] == "GPU"
    assert gpu.metadata["colab"]["gpuType"] == "T4"
    assert "accelerator" not in plain.metadata


def test_a_repository_colab_cannot_open_is_refused(project: Project) -> None:
    (project.root / "pyproject.toml").write_text("[project.urls]\nRepository = 'https://x.org/y'")
    with pytest.raises(CourseError, match=r"must be https://github.com/OWNER/NAME"):
        _ = project.repository


def test_solutions_are_executed_and_keep_text_only(built: Project) -> None:
    notebook = nbformat.read(built.solutions / f"{NAME}.ipynb", as_version=4)
    everything = texts(notebook)
    assert "sum(v * w" in everything
    assert "your turn" not in everything
    assert "Hint" not in everything
    check = next(c for c in notebook.cells if c.source.startswith('check("03.1"'))
    assert [o.text for o in check.outputs] == ["✓ 03.1 1.5\n"]
    kinds = [(o.output_type, sorted(o.get("data", {}))) for o in notebook.cells[-1].outputs]
    assert kinds == [("display_data", ["text/plain"]), ("execute_result", ["text/plain"])]
    counts = [c.execution_count for c in notebook.cells if c.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))  # nbval reads a missing count as "never run"


def test_building_twice_gives_the_same_bytes(built: Project, project: Project) -> None:
    build(project, force=True)
    for folder in ("student", "solutions"):
        first = (built.notebooks / folder / f"{NAME}.ipynb").read_bytes()
        assert first == (project.notebooks / folder / f"{NAME}.ipynb").read_bytes()
        assert first.endswith(b"}\n")


def test_one_changed_cell_leaves_the_ids_of_the_others(project: Project) -> None:
    (before,) = load_chapters(project)
    rewrite(project, "# Write it.", "# Write it well.")
    (after,) = load_chapters(project)
    ids = [[c.id for c in editions.student(x, project).notebook.cells] for x in (before, after)]
    assert len(set(ids[0])) == len(ids[0])
    assert len(set(ids[0]) - set(ids[1])) == 1


def test_a_failing_cell_is_named_by_its_line(project: Project) -> None:
    rewrite(project, '{"answer": 42}', "1 / 0")
    (chapter,) = load_chapters(project)
    line = line_of("import sys") - 1
    with pytest.raises(CourseError, match=rf"{NAME}\.py:{line}: the cell failed with ZeroDivision"):
        execute(editions.solutions(chapter, project), project)


def test_a_solution_that_fails_its_check_is_refused(project: Project) -> None:
    rewrite(project, 'print("✓", number', 'print("✗", number')
    (chapter,) = load_chapters(project)
    line = line_of('# %% tags=["check"]')
    with pytest.raises(CourseError, match=rf"{NAME}\.py:{line}: the solution fails its check: ✗"):
        execute(editions.solutions(chapter, project), project)


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


def test_unchanged_chapters_are_not_run_again(copy: Project, monkeypatch) -> None:
    def never(*_):
        raise AssertionError("executed although nothing changed")

    monkeypatch.setattr("coursekit.build.execute", never)
    assert all(line.endswith("unchanged.") for line in build(copy))
    with pytest.raises(AssertionError, match="executed although"):
        build(copy, force=True)


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


def test_opening_and_saving_is_not_work(copy: Project) -> None:
    path = copy.student / f"{NAME}.ipynb"
    work_in(path)
    build(copy)
    assert stale(copy) == []


def test_a_file_that_is_no_notebook_is_kept(copy: Project) -> None:
    path = copy.student / f"{NAME}.ipynb"
    path.write_text("my own words")
    build(copy)
    assert path.read_text() == "my own words"


def test_workspace_follows_the_course_until_somebody_works_in_it(copy: Project, capsys) -> None:
    command = ["--root", str(copy.root), "workspace", "--folder", "mine"]
    assert main(command) == 0
    mine = copy.root / "mine" / f"{NAME}.ipynb"
    assert mine.read_bytes() == (copy.student / f"{NAME}.ipynb").read_bytes()
    assert "*" in (copy.root / "mine" / ".gitignore").read_text().splitlines()
    rewrite(copy, "# Write it.", "# Write it well.")
    build(copy)
    assert main(command) == 0
    assert "Write it well." in mine.read_text(encoding="utf-8")
    kept = work_in(mine, text="mine = 1")
    rewrite(copy, "# Write it well.", "# Write it again.")
    build(copy)
    assert main(command) == 0
    assert mine.read_bytes() == kept
    assert f"mine/{NAME}.ipynb: kept, because you have worked in it" in capsys.readouterr().out


def test_fingerprints_see_work_and_overlook_formatting(built: Project) -> None:
    notebook = nbformat.read(built.student / f"{NAME}.ipynb", as_version=4)
    assert store.is_untouched(notebook)
    notebook.cells[3].metadata["scrolled"] = True
    assert store.is_untouched(notebook)
    notebook.cells[3].source += "\n# a thought"
    assert not store.is_untouched(notebook)
