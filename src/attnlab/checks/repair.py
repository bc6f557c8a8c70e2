"""Repairs: the learner's own code with one small thing changed, until it is right.

A suspect or a slip (slips.py) is recognised by doing exactly what the answer does. A mistake in an
answer that is written in another way does something that none of them do. So, last of all, the
answer itself is changed: an axis, a sign, a border, a name, a forgotten minus, factor or transpose,
one at a time. If one such change makes it right on every input, that is its mistake, and the
learner reads the line and the kind of it; what belongs there is theirs to find.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from attnlab.checks.axes import label
from attnlab.checks.own_code import Code
from attnlab.checks.remedies import changes


@dataclass
class Repair:
    """What makes an answer right: the words for the learner; the rest is for the tests."""

    words: str
    function: Callable[..., Any]
    line: int  # of the answer's source that was changed, the first being 1
    text: str  # the source with the change


def repair(
    function: Any,
    right: Callable[[Callable[..., Any]], bool],
    like: Any,
    seconds: float,
    flags: Iterable[str] = (),
    line: int = 0,
) -> Repair | None:
    """The first single change that makes `function` right, if one is found in so many seconds.

    `like` is the plain answer of the exercise: its functions and numbers are tried first. `flags`
    are arguments that are masks: with those nothing is multiplied or divided. `line` is where it
    raised an error, if it did: changes there are tried first.
    """
    if not inspect.isfunction(function):
        return None
    try:
        code = Code(function)
    except (OSError, SyntaxError, TypeError, IndexError, ValueError):
        return None
    until = time.thread_time() + seconds
    tries = changes(code, *_vocabulary(like), set(flags), line)
    for count, (words, node, edit) in enumerate(tries):
        if count % 8 == 7 and time.thread_time() > until:  # looking at the clock takes time, too
            return None
        try:
            made = code.compiled(edit)
        except (SyntaxError, ValueError, TypeError):
            continue
        if right(made):
            told = f"Look at the line `{code.line(node)}`: {words}"
            return Repair(told, made, code.number(node), code.text(edit))
    return None


def _tree(function: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError, IndexError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def left_over(function: Any, alone: bool = True) -> str:
    """Words for a step whose result nobody uses; `alone`: not one of several results of a call."""
    tree = _tree(function)
    if tree is None:
        return ""
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    made = [t for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets]
    for node in made if alone else names:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
            continue
        if node.id not in read and not node.id.startswith("_"):
            return f"`{node.id}` is computed and never used: a step that needs it is missing."
    return ""


def unused(function: Any) -> str:
    """Words for an argument, a step or a condition that has no effect, if there is one."""
    tree = _tree(function)
    if tree is None:
        return ""
    if words := left_over(function, alone=False):
        return words
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for name in (a.arg for a in tree.args.args):
        if name not in read and not name.startswith("_") and name != "note":
            return f"`{name}` plays no part: nothing in the function uses it. Should something?"
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Constant):
            when = "always" if node.test.value else "never"
            return f"The condition `{node.test.value!r}` {when} holds. What should it ask?"
    return ""


def _vocabulary(like: Any) -> tuple[set[str], set[float]]:
    """The functions and the numbers of an answer."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(like)))
    except (OSError, SyntaxError, TypeError):
        return set(), set()
    called = {label(n) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    found = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    return called, {x for x in found if isinstance(x, int | float) and not isinstance(x, bool)}
