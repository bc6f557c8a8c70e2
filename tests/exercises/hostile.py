"""Answers that do everything but answer, made for any exercise, with the words each must meet."""

import contextlib
import sys
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
