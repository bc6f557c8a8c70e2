"""The notebooks as Colab runs them: its versions of the widget packages, and the set-up line.

An environment of its own is made each time, in three steps that keep it quick and honest:

1. A fresh venv gets the versions Colab has (`COLAB`), which are older than the pinned ones.
2. Everything else (torch, transformers, …) is borrowed: a folder of links to what is installed
   for the tests, named in a .pth file, which Python searches after the venv's own packages.
3. The course itself is not among the links. So the first cell of the first notebook finds no
   attnlab and installs it, from a git repository made of the files here, just as Colab does from
   GitHub. That takes longer than all the rest, and every notebook has the same line (a test): the
   later ones find the course installed.

The links are kept outside the venv: pip never removes what lies outside its own environment.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from coursekit.execute import said
from coursekit.project import Project
from tests.browser.twins import kinds

ROOT = Path(__file__).parents[2]
COLAB = ("anywidget==0.9.21", "ipywidgets==7.7.1", "plotly==5.24.1")
# Not borrowed: the course, and what COLAB replaces. pip is borrowed too.
OWN = (
    *("attnlab", "_attnlab", "_editable", "coursekit", "__pycache__"),
    *("anywidget", "ipywidgets", "plotly", "jupyterlab_widgets", "widgetsnbextension"),
)
# Run from top to bottom: the start page, the chapter with most figures, and a GPU notebook. Of the
# others only the beginning: what could differ in Colab is what can be imported and shown.
WHOLE = ("00", "03")
PUBLISHED = f"git+{Project(ROOT).repository}"
NOTEBOOKS = sorted((ROOT / "notebooks" / "student").glob("*.ipynb"))
# Every kind of live figure, made and shown with Colab's versions.
EVERY_FIGURE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from IPython.display import display
from tests.browser.twins import kinds
for kind in kinds().values():
    display(kind.examples()[0])
"""
REPORT = """
import anywidget, attnlab, importlib.metadata, ipywidgets, json, plotly
print(json.dumps({
    "anywidget": anywidget.__version__, "ipywidgets": ipywidgets.__version__,
    "plotly": importlib.metadata.version("plotly"), "attnlab": attnlab.__file__,
}))
"""


@pytest.fixture(scope="session")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that resembles Colab's."""
    folder = tmp_path_factory.mktemp("colab")
    shared = folder / "shared"
    shared.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(place).iterdir():
            if not entry.name.startswith(OWN) and entry.suffix != ".pth":
                (shared / entry.name).symlink_to(entry)
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    own = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    Path(own.strip(), "zz_shared.pth").write_text(f"{shared}\n")
    pip(python, "install", *COLAB)
    return python


def pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A git repository of the files as they are here, whether committed or not."""
    folder = tmp_path_factory.mktemp("repository") / "attnlab"
    ours = ("src", "assets", "notebooks/student")  # and what the build reads
    ours += ("pyproject.toml", "README.md", "LICENSE", "LICENSE-CONTENT")
    folder.mkdir()
    for name in ours:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy2(ROOT / name, folder / name)
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "All"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return f"git+{folder.as_uri()}"


def run(notebook: nbformat.NotebookNode, python: Path, folder: Path) -> None:
    """Run a notebook, in place, with a kernel of the given Python."""
    spec = folder / "kernels" / "colab"
    spec.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {"argv": argv, "display_name": "Colab", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(kernel))
    specs = KernelSpecManager(kernel_dirs=[str(folder / "kernels")], ensure_native_kernel=False)
    manager = AsyncKernelManager(kernel_name="colab", kernel_spec_manager=specs)
    work = folder / "content"  # where Colab starts its notebooks
    work.mkdir()
    client = NotebookClient(
        notebook, km=manager, timeout=540, resources={"metadata": {"path": str(work)}}
    )
    client.execute()


def printed(cell: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for output in cell.get("outputs", ()))


def whole(path: Path) -> bool:
    return path.stem.removeprefix("gpu_").startswith(WHOLE)


def test_there_are_notebooks_to_run_whole() -> None:
    assert any(map(whole, NOTEBOOKS))


def setup_cell(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    (found,) = [c for c in notebook.cells if c.cell_type == "code" and PUBLISHED in c.source]
    return found


def test_every_notebook_has_the_same_set_up_line() -> None:
    lines = {setup_cell(nbformat.read(path, as_version=4)).source for path in NOTEBOOKS}
    assert len(lines) == 1, lines


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs_where_only_colab_versions_are(
    path: Path, colab: Path, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PATH", f"{colab.parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(path, as_version=4)
    setup = setup_cell(notebook)
    setup.source = setup.source.replace(PUBLISHED, repository)
    if whole(path):
        notebook.cells.append(nbformat.v4.new_code_cell(EVERY_FIGURE))
    else:
        code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
        del notebook.cells[code[1] + 1 :]  # the set-up line and the imports stay
    notebook.cells.append(nbformat.v4.new_code_cell(REPORT))

    run(notebook, colab, tmp_path)

    # Where Colab's packages do not go with ours, pip says ERROR and goes on.
    assert "ERROR" not in printed(setup), printed(setup)
    report = json.loads(printed(notebook.cells[-1]))
    assert [f"{name}=={report[name]}" for name in ("anywidget", "ipywidgets", "plotly")] == [*COLAB]
    assert Path(report["attnlab"]).is_relative_to(colab.parents[1]), "the set-up line did nothing"
    verdicts = [said(c) for c in notebook.cells if "check" in c.metadata.get("tags", [])]
    assert all("✗" in verdict for verdict in verdicts), verdicts  # a stub is answered kindly
    if whole(path):
        shown = [o for o in notebook.cells[-2].outputs if "data" in o]
        assert len(shown) == len(kinds())
        assert all("application/vnd.jupyter.widget-view+json" in o["data"] for o in shown)


def test_python_of_the_tests_is_untouched() -> None:
    """Borrowing must not have cost the lender anything."""
    ask = "import anywidget, attnlab, ipywidgets; print(anywidget.__version__, attnlab.__file__)"
    said = subprocess.check_output([sys.executable, "-c", ask], text=True, cwd=ROOT)
    assert str(ROOT) in said
    assert COLAB[0].split("==")[1] not in said
