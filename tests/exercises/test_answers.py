"""Every exercise, held to the same rules.

The solution passes; the stub fails kindly; at least three wrong answers are each caught in the
intended words; a differently written right answer passes; every suspect is named by its own words;
and hostile answers each get their sentence within two and a half seconds.
"""

import threading
import time

import pytest
import torch
from chapters import ROOT, parts
from corpus import HANDS, RIGHT, WRONG, load
from hands import hands
from hostile import hostile

from attnlab.checks import Answer, check, exercises, safely, state

load()
EXERCISES = exercises()
PARTS = parts()
WRONG_ANSWERS = [
    pytest.param(id, function, words, id=f"{id}-{function.__name__}")
    for id, answers in WRONG.items()
    for function, words in answers
]
RIGHT_ANSWERS = [
    pytest.param(id, function, id=f"{id}-{function.__name__}")
    for id, answers in RIGHT.items()
    for function in answers
]
TRAINED = ("03.3", "06.4")  # their texts ask for gradients
ONLY_FLOAT32 = ("06.8", "C.9")  # a text asks for float32; what comes back goes in again
SUSPECTS = [
    pytest.param(id, suspect, words, id=f"{id}-{words[:40]}")
    for id, exercise in EXERCISES.items()
    for words, suspect in exercise.suspects
]


def first_call(id):
    """The first arguments that a check hands over, seen by spying on a right answer."""
    asked = EXERCISES[id].inputs()
    if asked:
        return asked[0]
    spy = Answer(RIGHT[id][0], EXERCISES[id].call)
    for holds in EXERCISES[id].properties.values():
        holds(spy)
    return spy.calls[0].given


# Every kind of hostile answer in every chapter, spread over its exercises.
HOSTILE = []
CHAPTERS = sorted({id.partition(".")[0] for id in EXERCISES})
for chapter in CHAPTERS:
    ids = [id for id in sorted(EXERCISES) if id.startswith(f"{chapter}.") and RIGHT[id]]
    kinds = {}
    for turn, id in enumerate(ids):
        good, given = RIGHT[id][0], first_call(id)
        edits = isinstance(given[0], torch.Tensor)
        mask = getattr(good(*given), "dtype", None) in (torch.bool, torch.int64)  # no nan in these
        cases = hostile(good, EXERCISES[id].call.split("(")[0], edits, mask)
        for at, (what, answer, words) in enumerate(cases):
            if at % len(ids) == turn or what == "edits its input":
                kinds.setdefault(what, pytest.param(id, answer, words, id=f"{id}-{what}"))
    HOSTILE += kinds.values()

WRITTEN = [
    pytest.param(id, answer, id=f"{id}-{getattr(answer, '__name__', type(answer).__name__)}")
    for id, answers in HANDS.items()
    for answer in answers
]

# Every way of handing an answer over in every chapter, two for each right answer in turn.
LIMITED = HOSTILE[0].values[0]
MANY_HANDS = []
for id in sorted(EXERCISES):
    for turn, good in enumerate(RIGHT[id]):
        seen = good(*first_call(id))
        numpy = isinstance(seen, torch.Tensor)
        many = hands(good, numpy, double=id not in ONLY_FLOAT32, cut=id not in TRAINED)
        picked = [many[(2 * turn + more) % len(many)] for more in (0, 1)]
        MANY_HANDS += [
            pytest.param(id, answer, id=f"{id}-{good.__name__}, {how}") for how, answer in picked
        ]


@pytest.fixture(scope="module", autouse=True)
def _nobody_stays_behind():
    """Some hostile answers cannot be stopped; a process that ends while they run is torn down."""
    yield
    for thread in threading.enumerate():
        if thread.name == "attnlab-check":
            thread.join(10)


def test_chapters_and_checkers_have_the_same_exercises():
    files = [path.name for path in (ROOT / "notebooks").glob("*.py")]
    chapters = {name[:2] for name in files if name[:2].isdigit()}
    chapters |= {"C" for name in files if name.startswith("capstone_")}
    assert sorted(PARTS) == sorted(EXERCISES)
    assert {id.partition(".")[0] for id in EXERCISES} == chapters


@pytest.mark.parametrize("id", sorted(EXERCISES))
def test_the_corpus_is_large_enough(id):
    assert len(WRONG[id]) >= 3, f"{id} needs three wrong answers, each with the words it must meet"
    assert len({words for _, words in WRONG[id]}) >= 3, f"{id}: three different mistakes"
    assert RIGHT[id], f"{id} needs a right answer that is written unlike the solution"


@pytest.mark.parametrize("id", sorted(EXERCISES))
def test_right_answers_are_written_in_six_ways(id):
    assert 1 + len(RIGHT[id]) + len(HANDS[id]) >= 6, "with the solution"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_meets_every_kind_of_hostile_answer(chapter):
    assert sum(str(case.id).startswith(f"{chapter}.") for case in HOSTILE) >= 45


def test_the_corpus_has_no_strangers():
    assert set(WRONG) | set(RIGHT) | set(HANDS) <= set(EXERCISES)


@pytest.mark.parametrize("id", sorted(PARTS))
def test_the_chapter_agrees_with_the_checker(id, tmp_path):
    """The heading has the checker's number and title; the check cell hands over the function."""
    part, exercise = PARTS[id], EXERCISES[id]
    heading = part.cells["exercise"].splitlines()[0]
    assert f"Exercise {id.removeprefix('0')} " in heading
    assert exercise.title in heading
    asked = []
    space = part.run("solution", tmp_path)
    exec(part.cells["check"], space, {"check": lambda id, answer: asked.append((id, answer))})
    assert asked == [(id, space[exercise.call.split("(")[0]])]


@pytest.mark.parametrize("id", sorted(PARTS))
def test_the_solution_passes(id, tmp_path):
    name = EXERCISES[id].call.split("(")[0]
    verdict = check(id, PARTS[id].run("solution", tmp_path)[name])
    assert verdict, str(verdict)
    assert verdict.printed == ""


@pytest.mark.parametrize("id", sorted(PARTS))
def test_the_stub_fails_kindly(id, tmp_path):
    name = EXERCISES[id].call.split("(")[0]
    verdict = check(id, PARTS[id].run("stub", tmp_path)[name])
    assert not verdict
    assert verdict.unfinished
    assert "not filled in yet" in str(verdict)
    assert "..." in verdict.message
    assert "raised" not in verdict.message


def judged(id, answer):
    """The verdict on an honest answer, made here: a process of its own is not what is tested."""
    with state.kept():
        return EXERCISES[id]._report(answer, safely.Progress())


@pytest.mark.parametrize(("id", "answer", "words"), WRONG_ANSWERS)
def test_a_wrong_answer_is_called_by_its_name(id, answer, words):
    report = judged(id, answer)
    assert not report["passed"]
    assert words in report["message"]


@pytest.mark.parametrize(("id", "answer"), RIGHT_ANSWERS)
def test_a_right_answer_may_be_written_differently(id, answer):
    verdict = check(id, answer)
    assert verdict, str(verdict)


@pytest.mark.parametrize(("id", "answer"), MANY_HANDS)
def test_a_right_answer_may_come_from_any_hand(id, answer):
    report = judged(id, answer)
    assert report["passed"], report["message"]


@pytest.mark.parametrize(("id", "answer"), WRITTEN)
def test_a_right_answer_may_be_written_by_anybody(id, answer):
    report = judged(id, answer)
    assert report["passed"], report["message"]


@pytest.mark.parametrize(("id", "suspect", "words"), SUSPECTS)
def test_a_suspect_is_named_by_its_own_words(id, suspect, words):
    report = judged(id, suspect)
    assert not report["passed"]
    assert words in report["message"]


@pytest.mark.parametrize(("id", "answer", "words"), HOSTILE)
def test_a_hostile_answer_gets_its_sentence(id, answer, words, capsys, monkeypatch):
    endless = "still running" in words
    with monkeypatch.context() as hurry:  # the right answer below has its whole time
        if endless and id != LIMITED:  # in full for one exercise: to wait is no test
            hurry.setattr(safely, "SECONDS", 0.25)
        start = time.monotonic()
        verdict = check(id, answer)
        took = time.monotonic() - start
    assert not verdict
    assert any(one in verdict.message for one in words.split("|")), verdict.message
    assert "stumbled" not in verdict.message
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert len(shown.out) < 3000
    assert took < 2.5, f"took {took:.2f} s"
    assert check(id, RIGHT[id][0]), "a right answer was harmed"
