"""The GPU exercise of chapter 3 says things in prose; here the numbers behind the words are held.

It is run once, from its first cell to its last, with solutions in place of stubs. The tests read
the variables that the cells left behind, so nothing of it is copied here.
"""

import math
from pathlib import Path
from typing import Any

import jupytext
import matplotlib
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def run(name: str) -> dict[str, Any]:
    """The names that the code cells of a source define."""
    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": name}
    for number, cell in enumerate(jupytext.read(NOTEBOOKS / f"{name}.py").cells):
        if cell.cell_type == "code" and "stub" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{name}, cell {number}", "exec"), names)
    return names


@pytest.fixture(scope="module")
def gpu() -> dict[str, Any]:
    return run("gpu_03_attention_cost")


def test_explicit_memory_is_the_table(gpu):
    one = gpu["heads"] * gpu["size"]
    for n, used, _ in gpu["results"]["explicit"]:
        assert used >= one * n * n
    n, used, _ = gpu["results"]["fused"][-1]
    assert used < one * n * n / 4
    if gpu["gpu"].kind == "cpu":
        assert used == one * n * gpu["width"]  # nothing larger than the output


def test_blocks_save_memory_for_reading_but_not_for_training(gpu):
    q, k, v = gpu["inputs"](1024)
    explicit, blocks = gpu["explicit"], gpu["in_blocks"]
    assert gpu["mine"] is blocks
    assert gpu["memory"](explicit, q, k, v) >= 4 * gpu["memory"](blocks, q, k, v)
    assert gpu["kept"](blocks, 1024) >= 1
    assert gpu["kept"](gpu["fused"], 1024) < 1 / 3


def test_the_answer_for_the_longest_text(gpu):
    for texts, answer in ((1, 7450), (8, 2600)):
        table = texts * gpu["layers"] * gpu["heads_each"] * gpu["bytes_each"]
        assert math.sqrt(gpu["memory_bytes"] / table) == pytest.approx(answer, rel=0.02)
