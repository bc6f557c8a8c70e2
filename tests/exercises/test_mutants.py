"""A sample of the near-misses of mutants.py for every exercise.

What the script counted for every exercise is kept in mutants.json and held here, too:
`python tests/exercises/mutants.py --most=40 --keep` counts anew. Run it when a check or the words
of a mistake have changed; the sample notices most of what goes wrong in between, and that there are
more or fewer near-misses than were counted then.
"""

import itertools
import json

import pytest
import torch
from corpus import load
from mutants import KEPT, NAMED, tally

from attnlab.checks import exercises
from attnlab.checks.cause import _judge

load()
MOST = 10  # of each exercise
LOOSE = 0.1  # of the names may be so by the property's own words alone
SEEN: list[tuple[int, int]] = []
COUNTS = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("id", sorted(exercises()))
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
    if id in COUNTS:
        assert found.all == COUNTS[id]["of"], f"other near-misses than those kept: --keep {id}"
    SEEN.append((found.named, found.rejected))


def test_most_near_misses_are_called_by_their_name():
    named, rejected = (sum(column) for column in zip(*SEEN, strict=True)) if SEEN else (1, 1)
    assert named >= NAMED * rejected, f"{named} of {rejected}"


@pytest.mark.parametrize("id", sorted(COUNTS))
def test_the_kept_counts_meet_the_bars(id):
    kept = COUNTS[id]
    assert kept["mutants"] >= 40
    assert kept["passed"] == 0
    assert kept["misleading"] == 0
    assert kept["named"] >= NAMED * kept["rejected"]


def test_few_are_named_by_loose_words_alone():
    loose, named = (sum(kept[key] for kept in COUNTS.values()) for key in ("loose", "named"))
    assert loose <= LOOSE * named


PREDICTIONS = sorted(
    id
    for id, exercise in exercises().items()
    if exercise.reference is None
    and exercise.inputs()
    and all(isinstance(one, str) for given in exercise.inputs() for one in given)
    and all(isinstance(exercise.plain()(*given), bool) for given in exercise.inputs())
)


@pytest.mark.parametrize("id", PREDICTIONS)
def test_only_one_of_all_predictions_passes(id):
    """Yes or no for each of a few changes: here everything that can be answered is tried."""
    exercise = exercises()[id]
    holds = _judge(exercise, [])
    asked = list(dict.fromkeys(given[0] for given in exercise.inputs()))
    right = [exercise.plain()(one) for one in asked]
    for said in itertools.product((True, False), repeat=len(asked)):
        answers = dict(zip(asked, said, strict=True))
        assert holds(lambda one, answers=answers: answers[one]) == (list(said) == right)


def test_every_exercise_was_counted():
    assert sorted(COUNTS) == sorted(exercises())
