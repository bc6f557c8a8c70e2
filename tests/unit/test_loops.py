"""Models are trained by one loop, `training.fit`. Where else gradients are asked for is the lesson
itself, and listed here.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
LIBRARY = sorted((ROOT / "src/attnlab").rglob("*.py"))

# file → how often it goes backwards by itself, and what that teaches.
LESSONS = {
    "00_start.py": (1, "what a gradient is, on three numbers"),
    "01_rnn_seq2seq.py": (1, "the gradient that reaches the first word"),
    "06_transformer.py": (1, "the gradient in each of twelve blocks, untrained"),
    "08_vit_dino.py": (1, "one step of student and teacher, line by line"),
    "09_swin.py": (1, "which tokens one output depends on"),
    "gpu_06_base_model.py": (1, "how long forward and backward take"),
    "gpu_09_swin_224.py": (1, "how long forward and backward take, and their memory"),
    "gpu_10_scale_out.py": (2, "what an optimiser keeps; a gradient from parts of a batch"),
}
LOOPS = {
    "training/descent.py": (1, "the step of `fit`"),
    "training/pretrain.py": (1, "many devices, and runs that survive a power cut"),
}


def backwards(path: Path) -> int:
    """How often a file calls `.backward()`."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_trains_with_fit_or_shows_openly_how(path: Path) -> None:
    assert backwards(path) == LESSONS.get(path.name, (0, ""))[0]


def test_the_library_has_two_loops() -> None:
    found = {str(path.relative_to(ROOT / "src/attnlab")): backwards(path) for path in LIBRARY}
    assert {name: calls for name, calls in found.items() if calls} == {
        name: calls for name, (calls, _) in LOOPS.items()
    }


def test_no_lesson_is_listed_that_is_gone() -> None:
    assert {*LESSONS} <= {path.name for path in NOTEBOOKS}
