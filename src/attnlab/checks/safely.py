"""Run a job that may raise, print, loop forever or change global state, and be unharmed afterwards.

Where the system can fork (Linux, and so Colab), the job runs in a child process: see forked.py. It
costs about 10 ms. The child has the notebook's functions as they are, and whatever happens in it,
a crash of Python, a loop inside C code, a patched torch, threads, ends with it. In return nothing
that the answer leaves behind, a counter or a list it appends to, is seen in the notebook. What this
does *not* hold:
- files: what the answer writes stays, and what it deletes or empties is gone;
- a process that it starts in a session of its own (`setsid`) is not ended with it;
- what it sends over a network, or to another process, is sent;
- a module that the notebook has not imported yet is imported again in every check, at its price:
  the first step of a torch optimiser takes more than a second.

How long it may take is counted in seconds of computing, so that a busy machine does not stop a
right answer; one that sleeps is stopped by the clock.

Elsewhere (Windows, macOS, and when a GPU is in use, which a child must not touch), the job runs in
a daemon thread; ATTNLAB_CHECKS=thread asks for that anywhere. When time is up, by the clock, an
exception is set in that thread (`PyThreadState_SetAsyncExc`). Beside files and networks this does
*not* hold:
- a loop inside C code that keeps the interpreter's lock gets no verdict at all;
- one that never comes back to Python, sleeps, or catches every exception is left behind, and the
  learner is told once to restart the kernel;
- a crash of Python, `os._exit`, a signal to itself and a fork are those of the kernel;
- memory has no limit of its own, and threads that the answer starts go on;
- signal handlers cannot be set outside the main thread: an answer that tries raises ValueError.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import torch

from attnlab.checks import state

SECONDS = 1.0  # of computing by the answer, over the whole check
WALL = 1.2  # times as long by the clock, for one that sleeps; one that waits for its turn may go on
ENOUGH = 0.4  # of its time to compute, less as more time has passed: right answers need 0.15
OURS = 1.3  # likewise, for our own comparisons, which objects of the answer's may make slow
SEARCH = 0.8  # for finding out what a mistake is called, once it is known that there is one
VERDICT = 0.95  # by the clock, from the beginning: nobody waits longer for a cause
AT_MOST = 10.0  # imports are not the answer's time, but have an end, too
LOADING = 60.0  # in a thread, one that is cut short would leave everybody half a module
PRINTED = 1000  # characters of the learner's own output that are kept,
LINES = 10  # and lines
ISOLATION = os.environ.get("ATTNLAB_CHECKS", "auto")  # or "thread": no process of its own


class Stopped(SystemExit):
    """Set in a worker whose time is up. A SystemExit ends a thread without a traceback."""


class Progress:
    """How far a check has come. In shared memory, so that one process can watch another."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16)

    @property
    def running(self) -> bool:
        """Inside the learner's function, so that its time counts."""
        return self._memory[0] == 1

    @running.setter
    def running(self, value: bool) -> None:
        self._memory[0] = int(value)

    @property
    def held(self) -> int:
        """How many properties hold so far."""
        return self._memory[1]

    @held.setter
    def held(self, value: int) -> None:
        self._memory[1] = value

    def imports(self) -> None:
        """A module is being loaded: the first use of an optimiser loads a thousand of them."""
        self._memory[8:16] = struct.pack("d", time.monotonic())

    @property
    def importing(self) -> bool:
        return time.monotonic() - struct.unpack("d", self._memory[8:16])[0] < 0.15


@dataclass
class Outcome:
    """What became of a job: a value, an error, or neither when time ran out at `stack`.

    Strings only: a live frame of a thread that is torn down can take Python with it.
    """

    value: Any = None
    error: str = ""  # of ours, not of the learner's
    ended: bool = False
    stack: list[tuple[str, int]] = field(default_factory=list)  # (file, line), innermost first
    printed: str = ""
    left_behind: bool = False  # it could not be stopped
    died: str = ""  # how the process ended, when it did not end well
    took: float = 0.0  # seconds by the clock, when time ran out


Job = Callable[[Callable[[Any], None]], Any]  # is given `draft`, for a value before the last one


def run(job: Job, seconds: float, progress: Progress) -> Outcome:
    """Run `job`, for at most `seconds` of the time that counts. Its values must be plain JSON.

    Should it not come to an end after it has handed over a draft, that is its value.
    """
    if ISOLATION == "auto" and sys.platform == "linux" and not torch.cuda.is_initialized():
        from attnlab.checks import forked

        try:
            return forked.run(job, seconds, progress)
        except OSError:  # no memory for a second process, or a system that forbids it
            pass
    return in_a_thread(job, seconds, progress)


_LEFT_BEHIND: list[threading.Thread] = []


def in_a_thread(job: Job, seconds: float, progress: Progress) -> Outcome:
    outcome = Outcome()
    paper = Paper()
    drafts: list[Any] = []

    def work() -> None:
        try:
            outcome.value = job(drafts.append)
            outcome.ended = True
        except Stopped:
            pass
        except BaseException as error:  # a learner's exit() must not end the kernel
            outcome.error = repr(error)
            outcome.ended = True

    _LEFT_BEHIND[:] = [thread for thread in _LEFT_BEHIND if thread.is_alive()]
    seconds *= WALL  # by the clock: other threads compute, too
    seconds *= 1 + len(_LEFT_BEHIND)  # each takes its share of the time
    started = time.monotonic()
    thread = threading.Thread(target=work, name="attnlab-check", daemon=True)
    with state.kept(), listening(paper):
        try:
            thread.start()
            outcome.stack = _wait(thread, seconds, progress)
        finally:  # also when the learner interrupts the kernel
            _stop(thread)
    if thread.is_alive():
        _LEFT_BEHIND.append(thread)
        outcome.left_behind = True
        if not isinstance(sys.stdout, _Muffled):
            sys.stdout = _Muffled(sys.stdout)
    if drafts and not outcome.ended:
        outcome.value, outcome.ended = drafts[-1], True
    outcome.took = time.monotonic() - started
    outcome.printed = paper.text()
    return outcome


def _wait(thread: threading.Thread, seconds: float, progress: Progress) -> list[tuple[str, int]]:
    """Wait for the thread to end, or return where it is when time is up."""
    start = time.monotonic()
    thread.join(seconds)
    while thread.is_alive():
        stack = _stack(thread)
        importing = any("importlib._bootstrap" in file for file, _ in stack)
        late = time.monotonic() - start > (LOADING if importing else WALL * OURS)
        if late or (progress.running and not importing):
            return stack
        thread.join(0.2)
    return []


def _stop(thread: threading.Thread) -> None:
    """Ask again and again: the answer may catch the first exception with a bare `except:`."""
    for _ in range(10):
        if not thread.is_alive():
            return
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Stopped))
        thread.join(0.02)


def _stack(thread: threading.Thread) -> list[tuple[str, int]]:
    frame = sys._current_frames().get(thread.ident or 0)
    stack = []
    while frame is not None:
        stack.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return stack


@contextmanager
def listening(paper: Paper) -> Iterator[None]:
    """What is printed is kept, warnings too, without the paths of this machine."""

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        lines = str(message).splitlines() or [""]
        paper.write(f"{category.__name__}: {lines[0].split(' (Triggered internally')[0][:200]}\n")

    with redirect_stdout(paper), redirect_stderr(paper), warnings.catch_warnings():
        warnings.showwarning = show
        yield


class _Muffled:
    """The notebook's own output, deaf to what has been left behind."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if threading.current_thread() not in _LEFT_BEHIND:
            self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Paper(io.TextIOBase):
    """Takes what an answer prints, and stops listening after LINES lines."""

    def __init__(self, send: Callable[[str], None] | None = None) -> None:
        self.kept = ""
        self.lost = False
        self.send = send  # to where it is kept, when that is another process

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if threading.current_thread() in _LEFT_BEHIND:
            return len(text)
        room = text[: PRINTED - len(self.kept)]
        lines = room.split("\n")
        left = LINES - self.kept.count("\n")
        room = room if len(lines) <= left else "".join(line + "\n" for line in lines[:left])
        if room and left > 0:
            self.kept += room
            if self.send is not None:
                self.send(room)
        elif left <= 0:
            room = ""
        if len(room) < len(text) and not self.lost:
            self.lost = True
            if self.send is not None:
                self.send("")
        return len(text)

    def text(self) -> str:
        end = "" if self.kept.endswith("\n") or not self.kept else "\n"
        return self.kept + (f"{end}… and more" if self.lost else "")
