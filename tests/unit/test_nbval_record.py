"""What nbval ran is what the website shows: no chapter runs twice, and no failed one is shown."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat import NotebookNode

from coursekit import editions, pages
from coursekit.build import build, load_chapters
from coursekit.execute import execute
from coursekit.project import Project
from tests.unit.coursekit_project import make_project, rewrite

# A cell that only slides show and that needs what came before it; a display that is replaced.
MORE = """# %% [markdown] tags=["notes"]
# Ask the room first.

# %% tags=["fragment", "slides-only"]
print("for the hall:", marker[:1])

# %%
from IPython.display import Markdown, display

shown = display(Markdown("before"), display_id=True)
shown.update(Markdown("after"))
print("one")
print("two")
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path)
    rewrite(made, '# %% [markdown] tags=["notes"]\n# Ask the room first.\n', MORE)
    (tmp_path / "assets").mkdir()
    (tmp_path / "src" / "attnlab").mkdir()
    build(made)
    shutil.rmtree(made.build)  # what `build` ran; these tests are about what nbval runs
    return made


def run_nbval(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    plugins = ("-p", "coursekit.nbval_text", "-p", "coursekit.nbval_record")
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "--nbval", "notebooks/solutions"]
    return subprocess.run(
        [*command, "--rootdir", ".", *options], cwd=project.root, capture_output=True, text=True
    )


def shows(notebook: NotebookNode) -> list[tuple]:
    return [
        (cell.source, [(o.output_type, o.get("text"), o.get("data")) for o in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_website_gets_what_nbval_saw(project: Project, monkeypatch) -> None:
    (chapter,) = load_chapters(project)
    run = execute(editions.full(chapter), project)
    done = run_nbval(project)
    assert done.returncode == 0, done.stdout + done.stderr

    def again(*_: object) -> NotebookNode:
        raise AssertionError("the chapter ran again")

    monkeypatch.setattr(pages, "execute", again)
    kept = pages.executed_chapter(chapter, project)
    assert shows(kept) == shows(run)
    assert any("for the hall" in str(outputs) for _, outputs in shows(kept))
    assert "after" in str(shows(kept))


def test_a_chapter_that_failed_or_ran_in_part_is_not_kept(project: Project) -> None:
    path = project.solutions / "03_weighted_means.ipynb"
    part = run_nbval(project, "--deselect", "notebooks/solutions/03_weighted_means.ipynb::Cell 1")
    assert "1 deselected" in part.stdout
    assert not list(project.build.glob("executed/*"))
    path.write_text(path.read_text(encoding="utf-8").replace('"two\\n"', '"three\\n"'), "utf-8")
    failed = run_nbval(project)
    assert "1 failed" in failed.stdout, failed.stdout + failed.stderr
    assert not list(project.build.glob("executed/*"))


def test_a_notebook_dealt_out_to_two_processes_is_refused(project: Project) -> None:
    """Else each would run the whole of it, and nobody would notice but the clock."""
    dealt = run_nbval(project, "-n", "2", "--dist", "load", "--maxschedchunk", "1")
    assert dealt.returncode != 0
    assert "another process has a cell of it" in dealt.stdout, dealt.stdout + dealt.stderr
    assert not list(project.build.glob("executed/*"))
