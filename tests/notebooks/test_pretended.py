"""Every line of a GPU notebook runs once, on a pretended device, before a learner meets it."""

import pytest
import torch

from attnlab.device import find
from coursekit.errors import CourseError
from coursekit.pretend import run_pretended
from coursekit.project import Project, find_project
from coursekit.source import read_chapter
from tests.unit.wheels import ROOT

PROJECT = find_project(ROOT)
SOURCES = sorted(PROJECT.notebooks.glob("gpu_*.py"))
HEADER = """\
# ---
# jupyter:
#   attnlab: {number: 1, gpu: true, title: T, minutes: 1, summary: S}
# ---

"""
CELL = """\
# %%
from attnlab.device import find

gpu = find()
if gpu.kind == "cuda":
    size = 1
elif gpu.kind == "cpu":
    size = 2
"""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_line_of_a_gpu_notebook_runs(path) -> None:
    report = run_pretended(read_chapter(path, PROJECT))
    assert not report.problems, "\n".join(report.problems)


def written(tmp_path, text: str):
    path = tmp_path / "gpu_01_small.py"
    path.write_text(HEADER + CELL + text, encoding="utf-8")
    return read_chapter(path, Project(tmp_path))


def test_branches_of_both_devices_are_reached_and_others_named(tmp_path) -> None:
    assert run_pretended(written(tmp_path, "")).problems == []
    assert run_pretended(written(tmp_path, "")).lines == ["gpu_01_small.py: every line runs."]
    report = run_pretended(written(tmp_path, 'if gpu.kind == "toaster":\n    size = 3\n'))
    assert report.problems == ["gpu_01_small.py:15: no run reaches 'size = 3'."]


def test_only_a_call_of_cuda_is_excused_and_only_with_a_reason(tmp_path) -> None:
    text = 'if gpu.place == "cuda":\n    torch.cuda.init(){}\n'
    excused = run_pretended(written(tmp_path, text.format("  # only CUDA: asks the driver")))
    assert not excused.problems
    assert list(excused.excused) == [15]
    assert excused.lines == ["gpu_01_small.py:15: torch.cuda.init()  (asks the driver)"]
    word = 'if gpu.place == "cuda":\n    size = "cuda."  # only CUDA: but no call of it\n'
    assert run_pretended(written(tmp_path, word)).problems
    assert run_pretended(written(tmp_path, text.format(""))).problems


def test_an_error_names_its_line(tmp_path) -> None:
    with pytest.raises(CourseError, match=r"gpu_01_small.py:14: fails .*\(cuda\): ZeroDivision"):
        run_pretended(written(tmp_path, "1 / 0\n"))


def test_held_cells_are_not_run(tmp_path) -> None:
    assert not run_pretended(written(tmp_path, '\n# %% tags=["held"]\nassert size > 9\n')).problems


def test_one_small_layer_is_built_with_the_real_backend() -> None:
    """What a pretended device leaves out: `inductor` writes C++, and g++ builds it."""
    layer = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.GELU())
    x = torch.randn(2, 3)
    torch.testing.assert_close(torch.compile(layer, backend="inductor")(x), layer(x))


def test_an_unknown_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNLAB_PRETEND_GPU", "toaster")
    with pytest.raises(ValueError, match="'toaster'; expected 1"):
        find()
