"""A sample of the near-misses of mutants.py for every exercise that draws fresh inputs.

What the script counted for every exercise is kept in mutants.json and held here, too:
`python tests/exercises/mutants.py --most=45 --keep` counts anew. Run it when a check or the words
of a mistake have changed; the sample notices most of what goes wrong in between.
"""

import importlib
import json
from pathlib import Path

import pytest
import torch
from mutants import KEPT, NAMED, tally

from attnlab.checks import exercises

for file in sorted(Path(__file__).parent.glob("answers_*.py")):
    importlib.import_module(file.stem)

DRAWING = sorted(id for id, exercise in exercises().items() if exercise.drawing is not None)
MOST = 10  # of each exercise
SEEN: list[tuple[int, int]] = []
COUNTS = json.loads(KEPT.read_text(encoding="utf-8"))


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
    SEEN.append((found.named, found.rejected))


def test_most_near_misses_are_called_by_their_name():
    named, rejected = (sum(column) for column in zip(*SEEN, strict=True)) if SEEN else (1, 1)
    assert named >= NAMED * rejected, f"{named} of {rejected}"


@pytest.mark.parametrize("id", sorted(COUNTS))
def test_the_kept_counts_meet_the_bars(id):
    kept = COUNTS[id]
    assert kept["mutants"] >= 40 or kept["every"], "fewer than 40, though there are more"
    assert kept["passed"] == 0
    assert kept["misleading"] == 0
    assert kept["named"] >= NAMED * kept["rejected"]


def test_every_exercise_was_counted():
    assert sorted(COUNTS) == sorted(exercises())
