"""Run a job that may raise, print, loop for ever or change global state, and be well afterwards.

The job runs in a daemon thread. When time is up, an exception is set in that thread
(`PyThreadState_SetAsyncExc`), which works on every operating system and also inside notebooks,
where signals belong to the kernel. A thread stuck inside C code cannot be stopped that way; it is
left behind, and the learner gets the verdict all the same.
"""

from __future__ import annotations

import ctypes
import io
import os
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import torch

SECONDS = 1.4  # for the whole check; with the stopping below it stays under 2 s
AT_MOST = 10.0  # imports and our own comparisons are not the answer's time, but have an end, too
PRINTED = 1000  # characters of the learner's own output that are kept


class Stopped(SystemExit):
    """Set in a worker whose time is up. A SystemExit ends a thread without a traceback."""


@dataclass
class Outcome:
    """What became of a job: a value, an error, or neither when time ran out at `frames`."""

    value: Any = None
    error: BaseException | None = None
    ended: bool = False
    frames: tuple[FrameType, ...] = ()
    printed: str = ""


def run(
    job: Callable[[], Any], seconds: float, counts: Callable[[], bool] = lambda: True
) -> Outcome:
    """Run `job` in a thread, for at most `seconds` of the time in which `counts()` is true."""
    outcome = Outcome()

    def work() -> None:
        try:
            outcome.value = job()
            outcome.ended = True
        except Stopped:
            pass
        except (
            BaseException
        ) as error:  # a learner's exit() or KeyboardInterrupt must not end the kernel
            outcome.error = error
            outcome.ended = True

    thread = threading.Thread(target=work, name="attnlab-check", daemon=True)
    paper = _Paper()
    with _state_kept(), redirect_stdout(paper), redirect_stderr(paper), _warnings_on(paper):
        try:
            thread.start()
            outcome.frames = _wait(thread, seconds, counts)
        finally:  # also when the learner interrupts the kernel
            _stop(thread)
    outcome.printed = paper.text()
    return outcome


def _wait(
    thread: threading.Thread, seconds: float, counts: Callable[[], bool]
) -> tuple[FrameType, ...]:
    """Wait for the thread to end, or return where it is when time is up.

    Imports do not count: the first use of an optimiser loads a thousand modules of torch.
    """
    left, last = seconds, time.monotonic()
    latest = last + AT_MOST
    while left > 0:
        thread.join(min(left, 0.05))
        if not thread.is_alive():
            return ()
        frames, now = _frames(thread), time.monotonic()
        importing = any("importlib._bootstrap" in f.f_code.co_filename for f in frames)
        if now > latest or (counts() and not importing):
            left -= now - last
        last = now
    return _frames(thread)


def _stop(thread: threading.Thread) -> None:
    """Ask again and again: the answer may catch the first exception with a bare `except:`."""
    for _ in range(10):
        if not thread.is_alive():
            return
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Stopped))
        thread.join(0.02)


def _frames(thread: threading.Thread) -> tuple[FrameType, ...]:
    """The stack of a running thread, outermost first."""
    frame = sys._current_frames().get(thread.ident or 0)
    frames: list[FrameType] = []
    while frame is not None:
        frames.insert(0, frame)
        frame = frame.f_back
    return tuple(frames)


@contextmanager
def _warnings_on(paper: io.TextIOBase) -> Iterator[None]:
    """Write warnings down without the paths of this machine."""

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        text = str(message).splitlines()[0].split(" (Triggered internally")[0]
        paper.write(f"{category.__name__}: {text}\n")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


class _Paper(io.TextIOBase):
    """Takes what an answer prints, and stops listening after PRINTED characters."""

    def __init__(self) -> None:
        self.kept = ""
        self.lost = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        room = PRINTED - len(self.kept)
        self.kept += text[:room]
        self.lost += max(0, len(text) - room)
        return len(text)

    def text(self) -> str:
        return self.kept + (f"\n… and {self.lost} more characters" if self.lost else "")


# (how to read it, how to put it back): what a learner's code may change for everybody else.
# `torch.set_grad_enabled` is not among them: it holds for its own thread, which ends.
_GLOBALS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_rng_state, torch.set_rng_state),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (os.getcwd, os.chdir),
]


@contextmanager
def _state_kept() -> Iterator[None]:
    """Start the job from one known state, and put the learner's state back afterwards."""
    before = [read() for read, _ in _GLOBALS]
    try:
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float32)
        yield
    finally:
        for value, (read, put_back) in zip(before, _GLOBALS, strict=True):
            if read in (torch.get_num_threads, os.getcwd) and read() == value:
                continue  # not free to set again
            put_back(value)
