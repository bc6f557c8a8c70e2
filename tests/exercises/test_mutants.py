"""A sample of the near-misses of mutants.py for every exercise that draws fresh inputs.

The whole of them is a script: `python tests/exercises/mutants.py`.
"""

import importlib
from pathlib import Path

import pytest
import torch
from mutants import tally

from attnlab.checks import exercises

for file in sorted(Path(__file__).parent.glob("answers_*.py")):
    importlib.import_module(file.stem)

DRAWING = sorted(id for id, exercise in exercises().items() if exercise.drawing is not None)
MOST = 10  # of each right answer
NAMED: list[tuple[int, int]] = []


@pytest.mark.parametrize("id", DRAWING)
def test_no_near_miss_passes_and_none_is_misnamed(id, tmp_path):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = tally(id, tmp_path, MOST)
    finally:
        torch.set_num_threads(threads)
    assert not found.passed, "\n".join(found.passed)
    assert not found.misleading, "\n".join(found.misleading)
    assert not found.long, "\n".join(found.long)
    NAMED.append((found.named, found.rejected))


def test_most_near_misses_are_called_by_their_name():
    named, rejected = (sum(column) for column in zip(*NAMED, strict=True)) if NAMED else (1, 1)
    assert named >= 0.85 * rejected, f"{named} of {rejected}"
