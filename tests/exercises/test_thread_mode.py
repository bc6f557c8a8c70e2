"""Where there is no fork (Windows, macOS, GPU in use), answers run in a thread: the same verdicts.

Forced here by `safely.ISOLATION`, as the environment variable ATTNLAB_CHECKS=thread does. What a
thread cannot hold is listed in the docstring of safely.py, and left out below.
"""

import threading
import time

import pytest
import torch
from corpus import RIGHT, WRONG, load
from hostile import hostile

from attnlab.checks import check, exercises, safely

load()
EXERCISES = exercises()
NOT_HELD = {
    "crashes", "leaves", "kills itself", "doubles itself", "holds the interpreter's lock",
    "grows without end", "recurses into the ground", "asks for too much memory",
    "leaves a thread behind", "turns everything over",
}  # fmt: skip
FIRST = min(id for id in EXERCISES if RIGHT[id])
CASES = [
    pytest.param(answer, words, id=what)
    for what, answer, words in hostile(
        RIGHT[FIRST][0], EXERCISES[FIRST].call.split("(")[0], True, False
    )
    if what not in NOT_HELD
]


@pytest.fixture(autouse=True)
def in_a_thread(monkeypatch):
    monkeypatch.setattr(safely, "ISOLATION", "thread")
    yield
    for thread in threading.enumerate():
        if thread.name == "attnlab-check":
            thread.join(10)


@pytest.mark.parametrize("id", sorted(EXERCISES))
def test_a_right_answer_passes_and_a_wrong_one_gets_its_words(id):
    """The first of each: the others are checked where answers run in a process."""
    verdict = check(id, RIGHT[id][0])
    assert verdict, str(verdict)
    answer, words = WRONG[id][0]
    verdict = check(id, answer)
    assert not verdict
    assert words in verdict.message


@pytest.mark.parametrize(("answer", "words"), CASES)
def test_a_hostile_answer_gets_its_sentence(answer, words, monkeypatch, capsys):
    before = torch.softmax, abs
    if "still running" in words:
        monkeypatch.setattr(safely, "SECONDS", 0.2)
    start = time.monotonic()
    verdict = check(FIRST, answer)
    assert time.monotonic() - start < 2.5
    assert not verdict
    assert any(one in verdict.message for one in words.split("|")), verdict.message
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert (torch.softmax, abs) == before
    monkeypatch.setattr(safely, "SECONDS", 3.0)  # somebody may still be asleep
    assert check(FIRST, RIGHT[FIRST][0]), "a right answer was harmed"
