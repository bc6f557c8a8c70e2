"""coursekit: one source in, the right editions out."""

from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from coursekit import editions
from coursekit.build import build, load_chapters
from coursekit.errors import CourseError
from coursekit.execute import execute, within_budget
from coursekit.project import Project
from tests.unit.coursekit_project import NAME, SOURCE, make_project, rewrite


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


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


# What the source says

STATEMENT = '# %% [markdown] tags=["exercise"] exercise="03.1"\n'
CHECK = '# %% tags=["check"] exercise="03.1"\ncheck("03.1", weighted_mean)\n'
SOLUTION = SOURCE[SOURCE.index('# %% tags=["solution"]') : SOURCE.index(CHECK)]


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
        (SOLUTION + CHECK, CHECK + SOLUTION, '# %% tags=["solution"]',
         "the check of exercise 03.1 must come last."),
        ('tags=["stub"]', 'tags=["stub", "check"]', '# %% tags=["stub"]',
         "a cell has one part in an exercise, not stub and check."),
        (STATEMENT, STATEMENT.replace("exercise", "hint", 1) + "# Early.\n\n" + STATEMENT,
         '# %% [markdown] tags=["exercise"]', "exercise 03.1 must begin with its statement."),
        ('check("03.1", weighted_mean)', 'check("03.1", max)', '# %% tags=["check"]',
         "the check of exercise 03.1 does not use weighted_mean."),
        (STATEMENT, STATEMENT.replace("03.1", "04.1"), '# %% [markdown] tags=["exercise"]',
         "exercise '04.1' must be called 03.1 or the like."),
        ("# Multiply, then add.", "#", '# %% [markdown] tags=["hint"]',
         "this hint of exercise 03.1 is empty."),
        ("Weighted means\n#     minutes", "Means: weighted\n#     minutes", "#     title",
         "the header is not YAML: mapping values are not allowed here; put a text with a colon"),
        ("{display_name: Python 3, language: python, name: python3}", "{name: python3}", "# ---",
         "jupytext cannot read the header: 'display_name' is a required property."),
        ("{display_name: Python 3, language: python, name: python3}", "python3", "# ---",
         "jupytext cannot read the header: "),
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


FOLD = '# %% [markdown] tags=["deeper"]\n# ### Dig deeper: more\n'


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ('# %% tags=["deeper"]\n', "a Dig deeper fold begins with a markdown cell"),
        (FOLD + "\n# %%\n", "after a Dig deeper fold comes a heading, '### …' or higher."),
        (FOLD + "#\n# ### Again\n\n# %% [markdown]\n# ## Next\n\n# %%\n", "has one heading"),
    ],
)
def test_a_fold_has_one_heading_and_ends_before_another(
    project: Project, new: str, says: str
) -> None:
    rewrite(project, "# %%\nimport sys", f"{new}import sys")
    assert says in refused(project)


def test_a_fold_is_a_collapsed_heading_in_a_notebook(project: Project) -> None:
    fold = FOLD + '\n# %% tags=["deeper"]\n2 + 2\n\n# %% [markdown]\n# ## Next\n\n# %%\n'
    rewrite(project, "# %%\nimport sys", f"{fold}import sys")
    (chapter,) = load_chapters(project)
    cells = editions.student(chapter, project).notebook.cells
    collapsed = [cell.source for cell in cells if cell.metadata.get("jp-MarkdownHeadingCollapsed")]
    assert collapsed == ["### Dig deeper: more"]
    assert not any("deeper" in cell.metadata.get("tags", []) for cell in cells)


@pytest.mark.parametrize(
    "marker",
    [
        '# %% [markdown] tags=["notes"',
        '# %% [markdown] tag=["notes"]',
        '# %% [markdown] Tags=["notes"]',
        "# %% [markdown] notes",
        '# %% [markdown] tags="notes"',
        "# %% [markdown] tags=[1]",
        '# %% [markdown] tags=["notes"] tags=["fragment"]',
        '# %%[markdown] tags=["notes"]',
        '# % [markdown] tags=["notes"]',
    ],
)
def test_a_mistyped_marker_never_hands_speaker_notes_to_students(
    project: Project, marker: str
) -> None:
    right = '# %% [markdown] tags=["notes"]'
    rewrite(project, right, marker)
    where = f"notebooks/{NAME}.py:{line_of(right)}: "
    assert refused(project).startswith(f"{where}{marker!r} does not begin a cell; write # %%")


@pytest.mark.parametrize("stem", ["03_Weighted", "3_weighted", "07-weighted", "helpers"])
def test_a_misnamed_source_is_refused(project: Project, stem: str) -> None:
    (project.notebooks / f"{NAME}.py").rename(project.notebooks / f"{stem}.py")
    assert refused(project).startswith(f"notebooks/{stem}.py:1: name the file NN_name.py or gpu_")


@pytest.mark.parametrize(("stem", "gpu"), [("gpu_03_more", "false"), ("03_more", "true")])
def test_gpu_in_the_name_and_in_the_header_go_together(
    project: Project, stem: str, gpu: str
) -> None:
    rewrite(project, "#     number: 3", f"#     number: 3\n#     gpu: {gpu}")
    (project.notebooks / f"{NAME}.py").rename(project.notebooks / f"{stem}.py")
    assert refused(project) == (
        f"notebooks/{stem}.py:1: gpu_ in the file name and gpu: true go together."
    )


def test_two_sources_of_one_chapter_are_refused(project: Project) -> None:
    (project.notebooks / "03_xtra.py").write_text(SOURCE.replace("3.1", "3.9"), encoding="utf-8")
    assert refused(project) == f"notebooks/03_xtra.py:1: chapter 3 is already notebooks/{NAME}.py."


def test_a_source_that_is_not_utf8_is_refused(project: Project) -> None:
    path = project.notebooks / f"{NAME}.py"
    path.write_bytes(path.read_bytes().replace(b"# Write it.", b"# \xc9cris."))
    line = line_of("# Write it.")
    assert (
        refused(project) == f"notebooks/{NAME}.py:{line}: the file is not UTF-8; save it as UTF-8."
    )


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


# The capstone, and two GPU notebooks of one chapter


CAPSTONE = (
    SOURCE.replace("#     number: 3\n", "")
    .replace("# # 3 · Weighted", "# # Capstone · Weighted")
    .replace("03.1", "C.1")
    .replace("Exercise 3.1", "Exercise C.1")
)


def add(project: Project, stem: str, text: str) -> None:
    (project.notebooks / f"{stem}.py").write_text(text, encoding="utf-8")


def more(exercise: str) -> str:
    """A GPU notebook of chapter 3 with an exercise of its own."""
    text = SOURCE.replace("#     number: 3", "#     number: 3\n#     gpu: true")
    return text.replace("03.1", f"03.{exercise}").replace("Exercise 3.1", f"Exercise 3.{exercise}")


def test_a_chapter_may_have_two_gpu_notebooks_and_the_capstone_is_the_last(
    project: Project,
) -> None:
    add(project, "gpu_03_zeta", more("7"))
    add(project, "gpu_03_alpha", more("8"))
    add(project, "capstone_own", CAPSTONE)
    chapters = load_chapters(project)
    assert [one.stem for one in chapters] == [NAME, "gpu_03_alpha", "gpu_03_zeta", "capstone_own"]
    assert [one.code for one in chapters] == ["03", "03", "03", "C"]
    assert [one.label for one in chapters] == ["3", "3", "3", "Capstone"]
    (last,) = load_chapters(project, "capstone")
    assert last.stem == "capstone_own"
    about = editions.student(last, project).notebook.metadata["attnlab"]
    assert "number" not in about
    assert about["title"] == "Weighted means"
    assert len(load_chapters(project, "3")) == 3


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("#     title", "#     number: 11\n#     title", "1: the capstone has no number; take it"),
        ("# # Capstone · W", "# # 11 · W", "the title must read '# Capstone · Weighted means'"),
        ('tags=["stub"] exercise="C.1"', 'tags=["stub"] exercise="03.9"', "must be called C.1"),
    ],
)
def test_a_capstone_that_calls_itself_a_chapter_is_refused(
    project: Project, old: str, new: str, says: str
) -> None:
    assert CAPSTONE.count(old) == 1
    add(project, "capstone_own", CAPSTONE.replace(old, new))
    assert says in refused(project)


def test_there_is_one_capstone(project: Project) -> None:
    add(project, "capstone_own", CAPSTONE)
    add(project, "capstone_two", CAPSTONE.replace("C.1", "C.2"))
    assert "capstone_two.py:1: the capstone is already notebooks/capstone_own.py." in refused(
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[project.urls]\nRepository = x\n", r"this is not TOML: .*line 2"),
        ("project = 3", "Repository is ''; it must be"),
        ("[project]\nurls = 'x'", "Repository is ''; it must be"),
    ],
)
def test_a_broken_pyproject_is_refused(project: Project, text: str, says: str) -> None:
    (project.root / "pyproject.toml").write_text(text)
    with pytest.raises(CourseError, match=says):
        _ = project.repository


def test_a_chapter_that_takes_far_too_long_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chapter = load_chapters(project)[0]
    execute(editions.solutions(chapter, project), project)
    line = next(line for line in capsys.readouterr().out.splitlines() if "CPU seconds" in line)
    assert line.startswith(f"{chapter.stem}: ")
    assert line.endswith(" CPU seconds of 240")
    monkeypatch.setattr("coursekit.execute.BUDGET", 0.0)  # less than a kernel takes to start
    with pytest.raises(CourseError, match="but may take 0: train less"):
        execute(editions.solutions(chapter, project), project)


def test_a_busy_machine_is_no_reason_to_refuse(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coursekit.execute.LONGER", {"06": 360.0})
    chapter = load_chapters(project)[0]
    assert within_budget(chapter, 240).endswith("CPU seconds of 240")
    assert "unless the machine was busy" in within_budget(chapter, 300)
    sixth = replace(chapter, number=6)
    assert within_budget(sixth, 350).endswith("of 360")
    assert "busy" in within_budget(replace(sixth, gpu=True), 350)


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
