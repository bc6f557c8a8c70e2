"""Answers that would harm the kernel, the reference or the next check, in a process or a thread."""

import contextlib
import ctypes
import os
import sys
import threading
import time

import pytest
import torch

from attnlab import checks
from attnlab.checks import Exercise, check, numbers, safely

PROCESS = pytest.mark.skipif(sys.platform != "linux", reason="needs a process of its own")


@pytest.fixture
def mean():
    exercise = Exercise(
        "99.2",
        title="The mean",
        call="my_mean(x)",
        reference=lambda x: torch.softmax(x * 0, -1).mul(x).sum(-1),
    )

    @exercise.property
    def equals_the_formula(answer):
        for rows in (5, 3):
            answer.must_match(numbers(rows, 4))

    yield exercise
    del checks.EXERCISES["99.2"]


def crashes(x):
    ctypes.string_at(0)


def leaves(x):
    os._exit(3)


def holds_the_lock(x):
    return sum(iter(int, 1))


def prints_tensors(x):
    i = 0
    while i < 10:
        print(x)


def never_listens(x):
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(0.01)


def grows(x):
    return [0 for _ in iter(int, 1)]


@PROCESS
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (crashes, "made Python crash (SIGSEGV)"),
        (leaves, "ended Python itself, with exit code 3"),
        (holds_the_lock, "`return sum(iter(int, 1))`"),
        (prints_tensors, "was still running"),
        (never_listens, "was still running"),
        (grows, "was still running"),
    ],
)
def test_nothing_reaches_the_kernel(mean, answer, words, monkeypatch):
    monkeypatch.setattr(safely, "SECONDS", 0.4)
    threads = threading.active_count()
    start = time.monotonic()
    verdict = mean.judge(answer)
    assert words in verdict.message
    assert time.monotonic() - start < 2.5
    assert threading.active_count() == threads
    assert mean.judge(lambda x: x.mean(-1))


@pytest.mark.parametrize("isolation", ["auto", "thread"])
def test_a_patched_torch_reaches_nobody(mean, monkeypatch, isolation):
    """Neither the reference of this check, nor the next one, nor the notebook."""
    monkeypatch.setattr(safely, "ISOLATION", isolation)
    before = torch.softmax, torch.Tensor.softmax, torch.Tensor.__add__, torch.allclose

    def patches(x):
        torch.softmax = lambda x, *_: x
        torch.Tensor.softmax = torch.Tensor.relu
        torch.Tensor.sum = lambda *_: torch.zeros(5)
        torch.allclose = lambda *_, **__: True
        checks.compare.close = lambda *_: True
        return torch.zeros(len(x))

    assert not mean.judge(patches)
    assert (torch.softmax, torch.Tensor.softmax, torch.Tensor.__add__, torch.allclose) == before
    assert mean.judge(lambda x: x.mean(-1))


def test_what_the_notebook_patched_is_for_the_answer_only(mean, monkeypatch):
    monkeypatch.setattr(torch, "softmax", lambda x, *_: x * 0)
    assert mean.judge(lambda x: x.mean(-1))
    assert mean.judge(lambda x: x.mean(-1) + torch.softmax(x, -1).sum(-1))
    assert torch.softmax(torch.ones(2), -1).sum() == 0


def test_an_answer_that_cannot_be_stopped_is_named_and_the_next_one_is_well(
    mean, monkeypatch, capsys
):
    monkeypatch.setattr(safely, "ISOLATION", "thread")
    monkeypatch.setattr(safely, "SECONDS", 0.3)

    def never_listens_for_a_while(x):
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            with contextlib.suppress(BaseException):
                time.sleep(0.001)
                print("I am still here")

    message = mean.judge(never_listens_for_a_while).message
    assert "restart the kernel" in message
    verdict = mean.judge(lambda x: x.mean(-1))
    assert verdict
    assert verdict.printed == ""
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().out == ""
    for thread in safely._LEFT_BEHIND:
        thread.join()


def test_long_texts_of_torch_are_cut(mean):
    verdict = mean.judge(lambda x: x.to_sparse().softmax(0))
    assert "raised NotImplementedError" in verdict.message
    assert not verdict.unfinished
    assert len(verdict.message) < 500


def test_what_is_printed_is_at_most_ten_lines(mean):
    def chatty(x):
        print(*range(500), sep="\n")
        return x.mean(-1)

    verdict = mean.judge(chatty)
    assert verdict
    assert verdict.printed.splitlines() == [*map(str, range(10)), "… and more"]


@pytest.mark.parametrize("isolation", ["auto", "thread"])
def test_a_setting_of_torch_does_not_outlive_one_call(mean, monkeypatch, isolation):
    monkeypatch.setattr(safely, "ISOLATION", isolation)

    def meddles(x):
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.no_grad().__enter__()
        return x.mean(-1)

    assert mean.judge(meddles)
    assert torch.ones(1).device.type == "cpu"
    assert torch.get_default_dtype() == torch.float32


def test_an_exception_without_words_is_no_traceback(mean):
    class BrokenError(Exception):
        def __str__(self):
            raise ValueError

    def breaks(x):
        raise BrokenError

    assert "raised BrokenError" in mean.judge(breaks).message


def test_a_check_of_the_course_uses_it(capsys):
    assert "SIGSEGV" in check("03.1", lambda q, k: ctypes.string_at(0)).message or (
        sys.platform != "linux"
    )
