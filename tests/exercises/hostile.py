"""Answers that do everything but answer, made for any exercise, with the words each must meet."""

import builtins
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Function = Callable[..., Any]


def hostile(good: Function, name: str, edits: bool, mask: bool) -> list[tuple[str, Any, str]]:
    """(what it does, the answer, words), for an exercise that `good` solves.

    `edits`: its first argument is a tensor that can be edited; `mask`: it returns a bool mask.
    """

    def raises(*given):
        raise ValueError("no idea\nand a second line")

    def exits(*given):
        sys.exit(3)

    def interrupts(*given):
        raise KeyboardInterrupt

    def recurses(*given):
        return recurses(*given)

    def loops(*given):
        while True:
            pass

    def loops_and_catches(*given):
        end = time.monotonic() + 4
        while time.monotonic() < end:
            with contextlib.suppress(BaseException):
                time.sleep(0.001)

    def sleeps(*given):
        time.sleep(4)

    def chatters(*given):
        while True:
            print("and another thing")

    def gives_nan(*given):
        return spoiled(good(*given))

    def wrong_arity(one, two, three, four, five, six, seven):
        return one

    def holds_the_lock(*given):
        return sum(iter(int, 1))

    def grows(*given):
        return [0 for _ in iter(int, 1)]

    def prints_without_end(*given):
        i = 0
        while i < 10:
            print(*given)

    def whispers(*given):
        while True:
            print("…", end="")

    def crashes(*given):
        ctypes.string_at(0)

    def leaves(*given):
        os._exit(3)

    def kills_itself(*given):
        os.kill(os.getpid(), signal.SIGKILL)

    def doubles_itself(*given):
        os.fork()

    def sinks(*given):
        sys.setrecursionlimit(10**8)

        def deeper(n):
            return deeper(n + 1) + 1

        return deeper(0)

    def patches(*given):
        torch.softmax = torch.sigmoid = torch.tanh = lambda x, *_, **__: x
        torch.Tensor.__matmul__ = torch.Tensor.__mul__
        torch.allclose = lambda *_, **__: True
        builtins.abs = lambda x: 0

    def spoils_python(*given):
        del builtins.len
        builtins.isinstance = lambda *_: True

    def closes_the_output(*given):
        sys.stdout.close()
        sys.stderr.close()

    def leaves_a_thread(*given):
        def talk():
            while True:
                print("still here")
                time.sleep(0.001)

        threading.Thread(target=talk, daemon=True).start()

    def turns_everything_over(*given):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        os.chdir("/")
        os.environ.clear()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def long_words(*given):
        raise RuntimeError("a long story " * 1200)

    class BrokenError(Exception):
        def __str__(self):
            raise ValueError

    def breaks(*given):
        raise BrokenError

    def stops(*given):
        raise StopIteration

    class Evil:
        def __getattr__(self, name):
            raise RuntimeError(name)

        def __eq__(self, other):
            raise RuntimeError("no comparing")

        def __repr__(self):
            raise RuntimeError("no looking")

        __hash__ = None

    def loop(*given):
        out: list[Any] = []
        out.append(out)
        return out

    yielding = lambda *given: (x for x in given)  # noqa: E731
    cases: list[tuple[str, Any, str]] = [
        ("raises", raises, "raised ValueError: no idea"),
        ("exits", exits, "raised SystemExit: 3"),
        ("interrupts", interrupts, "raised KeyboardInterrupt"),
        ("recurses", recurses, "calls itself without end"),
        ("loops", loops, "still running after"),
        ("loops and catches", loops_and_catches, "still running after"),
        ("sleeps", sleeps, "still running after"),
        ("chatters", chatters, "still running after"),
        ("returns nothing", lambda *given: None, "returned None"),
        ("returns ...", eval("lambda *given: ..."), "returned `...`"),
        ("returns text", lambda *given: "42", "returned a str"),
        ("returns a number", lambda *given: 42, "returned a number"),
        ("returns a list", lambda *given: [[0.5, 0.5, 0.0]], "returned a list"),
        ("returns a generator", yielding, "returned a generator"),
        ("returns a class", lambda *given: Tensor, "returned a "),
        ("returns an empty tensor", lambda *given: torch.empty(0), "(0,)"),
        ("returns nan", gives_nan, "float32" if mask else "nan"),
        ("wants too many arguments", wrong_arity, "but yours takes (one, two"),
        ("wants none", lambda: 1, "but yours takes ()"),
        ("is a number", 42, f"without brackets after `{name}`"),
        ("is None", None, "given None, not a function"),
        ("is a tensor", torch.ones(2), "given a tensor of shape (2,), not a function"),
        ("is ...", ..., "not a function"),
    ]
    cases += [
        ("holds the interpreter's lock", holds_the_lock, "still running after"),
        ("grows without end", grows, "still running after|memory"),
        ("prints tensors without end", prints_without_end, "still running after"),
        ("prints without a line's end", whispers, "still running after"),
        ("crashes", crashes, "made Python crash (SIGSEGV)"),
        ("leaves", leaves, "ended Python itself, with exit code 3"),
        ("kills itself", kills_itself, "made Python crash (SIGKILL)"),
        ("doubles itself", doubles_itself, "returned None"),
        ("recurses into the ground", sinks, "calls itself without end|crash|still running|memory"),
        ("patches torch", patches, "returned None"),
        ("spoils Python", spoils_python, "returned None"),
        ("closes the output", closes_the_output, "returned None"),
        ("leaves a thread behind", leaves_a_thread, "returned None"),
        ("turns everything over", turns_everything_over, "returned None"),
        ("asks for too much memory", lambda *given: torch.ones(10**13), "raised RuntimeError"),
        ("raises a long text", long_words, "raised RuntimeError: a long story"),
        ("raises what has no words", breaks, "raised BrokenError"),
        ("raises StopIteration", stops, "raised StopIteration"),
        ("returns what breaks when touched", lambda *given: Evil(), "returned an Evil"),
        ("returns a list in itself", loop, "contains itself|returned a list"),
        ("returns a long text", lambda *given: "x" * 10**6, "returned a str"),
        ("returns a dict", lambda *given: {1: 2}, "returned a dict"),
        ("returns a complex tensor", lambda *given: torch.ones(2, 2) * 1j, "(2, 2)|complex"),
        ("returns a sparse tensor", lambda *given: torch.eye(3).to_sparse(), "(3, 3)|sparse"),
        ("returns no data", lambda *given: torch.empty(2, 3, device="meta"), "without data"),
        ("returns a thousand axes", lambda *given: torch.ones([1] * 60), "shape (1, 1"),
    ]
    if edits:

        def edits_in_place(*given):
            result = good(*given)
            given[0].mul_(2)
            return result

        cases.append(("edits its input", edits_in_place, "in place"))
    return cases


def spoiled(result: Any) -> Any:
    """The same result, full of nan."""
    if isinstance(result, tuple | list):
        return tuple(map(spoiled, result))
    if isinstance(result, Tensor):
        return torch.full(result.shape, torch.nan)
    return float("nan")
