"""What an answer may change for everyone else, and how it is put back.

A reference that runs with the learner's `torch.softmax` would find the learner's mistake right. So
three things are remembered: the functions of torch, NumPy, `math`, Python and this library as they
were when `attnlab.checks` was imported; what the notebook has made of them since (a learner may
well have added a method to `Tensor`); and settings such as the default dtype or the grad mode.

    with guard.ours():        the first of these: references and comparisons run in it
    with guard.answering():   the second, for one call of an answer; whatever it changed is undone

Not guarded: what is reached on purpose through frames, `gc` or `ctypes`, and a function that was
replaced before `attnlab.checks` was imported.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import itertools
import linecache
import math
import operator
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

_MODULES = (
    builtins, functools, importlib, itertools, linecache, math, operator, os, random, re, signal,
    threading, time, warnings, np, np.linalg, np.random, torch, torch.autograd, torch.linalg,
    torch.nn, torch.nn.functional, torch.special,
)  # fmt: skip
_CLASSES = (torch.Tensor, torch.nn.Module)

# What Python itself sets, or a notebook just by running, is nobody's patch.
_FREE = {"_", "__", "___", "In", "Out", "__builtins__", "__warningregistry__", "__annotations__"}

_MISSING: Any = object()
_PYTHON = builtins.__dict__


def _places() -> list[Any]:
    """Every module and class whose functions a reference may use."""
    house = [m for name, m in sys.modules.copy().items() if name.split(".")[0] == "attnlab" and m]
    return [*_MODULES, *_CLASSES, *house]


def _functions(place: Any) -> dict[str, Any]:
    """What it holds, except for modules below it: importing one sets it there."""
    held = vars(place).copy()
    return {k: v for k, v in held.items() if k not in _FREE and not isinstance(v, type(sys))}


class Snapshot:
    """The functions of these places at one moment."""

    def __init__(self) -> None:
        self.held = [(place, _functions(place)) for place in _places()]

    def changes(self) -> list[tuple[Any, str, Any, Any]]:
        """(place, name, value then, value now) of everything that was replaced since.

        A new name counts only in a class, where it hides an inherited one.
        """
        found = []
        for place, then in self.held:
            now = vars(place)
            for name, value in then.items():
                if now.get(name, _MISSING) is not value:
                    found.append((place, name, value, now.get(name, _MISSING)))
            if isinstance(place, type) and len(now) > len(then):
                new = [n for n in now if n not in then and n not in _FREE]
                hidden = [n for n in new if any(n in vars(base) for base in place.__mro__[1:])]
                found += [(place, n, _MISSING, now[n]) for n in hidden]
        return found


def _set(place: Any, name: str, value: Any) -> None:
    with suppress(AttributeError, TypeError):
        if value is _MISSING:
            delattr(place, name)
        else:
            setattr(place, name, value)


# (how to read it, how to put it back), for what torch and Python keep as a setting.
_SETTINGS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_device, lambda _: torch.set_default_device(None)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    (lambda: sys.stdout, lambda value: setattr(sys, "stdout", value)),
    (lambda: sys.stderr, lambda value: setattr(sys, "stderr", value)),
]
# Those that only matter after the check: not free to read at every call.
_LASTING: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_rng_state, torch.set_rng_state),
    (torch.get_num_threads, torch.set_num_threads),
    (os.getcwd, os.chdir),
    (lambda: dict(os.environ), lambda value: _refill(os.environ, value)),
]


def _refill(table: Any, value: dict[str, str]) -> None:
    table.clear()
    table.update(value)


class Guard:
    """The learner's state at the beginning of a check, and everything that keeps it so."""

    def __init__(self) -> None:
        self.theirs = Snapshot()
        self.python = dict(_PYTHON)
        self.patched = _PRISTINE.changes()  # by the notebook, before this check
        self.settings = [read() for read, _ in _SETTINGS]

    @contextmanager
    def ours(self) -> Iterator[None]:
        """With the functions as they were when this library was imported."""
        for place, name, ours, _ in self.patched:
            _set(place, name, ours)
        try:
            yield
        finally:
            self.put_back()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Inside `ours`: the notebook's functions for one call, and back to ours."""
        for place, name, _, theirs in self.patched:
            _set(place, name, theirs)
        try:
            yield
        finally:
            self.put_back()
            for place, name, ours, _ in self.patched:
                _set(place, name, ours)

    def python_back(self) -> None:
        """First of all, Python's own functions: without `len` nothing else can be put back."""
        for name in self.python:
            if _PYTHON.get(name) is not self.python[name]:
                _PYTHON[name] = self.python[name]

    def put_back(self) -> None:
        """Undo what an answer has just changed."""
        _restore(_SETTINGS, self.settings)
        for place, name, then, _ in self.theirs.changes():
            _set(place, name, then)


class Unguarded(Guard):
    """For code of which it is known that it only computes."""

    def __init__(self) -> None:
        pass

    @contextmanager
    def answering(self) -> Iterator[None]:
        yield

    def python_back(self) -> None:
        pass


def _restore(table: list[tuple[Callable[[], Any], Callable[[Any], Any]]], then: list[Any]) -> None:
    for value, (read, put_back) in zip(then, table, strict=True):
        with suppress(Exception):  # a folder that is gone, say: the check must continue
            now = read()
            plain = isinstance(now, str | int | dict | torch.device)
            if now is not value and not (plain and now == value):
                put_back(value)


@contextmanager
def kept() -> Iterator[None]:
    """Start from one known state, and put the learner's back afterwards, random numbers too."""
    guard = Guard()
    before = [read() for read, _ in _LASTING]
    try:
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        with warnings.catch_warnings():
            yield
    finally:
        guard.put_back()
        _restore(_LASTING, before)


_PRISTINE = Snapshot()
