"""Slips: a right answer with one small thing changed, and the words for that change.

Nobody can write down every mistake beforehand. But most wrong answers are a right one with a single
slip: an axis, a sign, a border, a forgotten step. So each chapter's answers are in `plain/`, this
module rewrites their syntax tree in every such way, and a check asks which of the results did on
every input what the learner's function did. Only then is its sentence said. What comes out is
compared, so it does not matter how the learner wrote it.

The tests use the same rewriting to make near misses by the hundred: tests/exercises/mutants.py.
"""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import pickle
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from attnlab.checks.axes import axes_of
from attnlab.checks.rewrite import Change, name_of, setting
from attnlab.checks.slip_calls import Found, in_a_call, step_left_out
from attnlab.checks.slip_kinds import (
    between_two,
    in_a_comparison,
    in_a_condition,
    in_a_loop,
    in_a_name,
    in_a_number,
    in_a_tuple,
    in_and_or,
    in_brackets,
    in_front,
)

_KNOWN = (str(Path(torch.__file__).parent), __file__)  # code that comes to an end
ENTRIES = 20_000  # of a list that is made a tensor
STEPS = 4000  # lines that a slip may run before it counts as endless


@dataclass
class Slip:
    """One change: what kind, its words, and the tree of the changed function."""

    kind: str
    words: str
    tree: ast.FunctionDef
    text: str  # its source
    line: int = 1  # the line that was changed, of this text

    def function(self, space: dict[str, Any]) -> Callable[..., Any]:
        """Compiled among the names of the right answer. Raises SyntaxError, as a slip may."""
        own = careful(space)
        with warnings.catch_warnings():  # "'int' object is not subscriptable": so it may be
            warnings.simplefilter("ignore")
            code = compile(self.text, f"<{self.kind}>", "exec")
        exec(code, own)
        made: Callable[..., Any] = own[self.tree.name]
        return made


class Endless(Exception):  # noqa: N818 - not an error: the slip is thrown away
    """A slip has run too many lines."""


@contextmanager
def few_steps(most: int = STEPS) -> Iterator[None]:
    """Whatever runs in here stops after so many lines, those of torch not counted."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename.startswith(_KNOWN):
            return None
        count += 1
        if count > most:
            raise Endless
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


class _Torch:
    """torch, except for one thing: a tensor made of a list that contains itself crashes Python.

    One of lists that share a list many times over takes very long, and cannot be stopped.
    """

    def __getattr__(self, name: str) -> Any:
        theirs = getattr(torch, name)
        if name not in ("tensor", "as_tensor"):
            return theirs

        def ours(data: Any, *more: Any, **named: Any) -> torch.Tensor:
            _count_entries(data)
            return theirs(data, *more, **named)

        return ours


def _count_entries(data: Any) -> None:
    left = ENTRIES

    def count(one: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Endless
        for part in one if isinstance(one, list | tuple) else ():
            count(part)

    count(data)


def careful(space: dict[str, Any]) -> dict[str, Any]:
    """A copy of these names in which code that nobody has written may run."""
    return {name: _Torch() if value is torch else value for name, value in space.items()}


def slips(function: Callable[..., Any]) -> Iterator[Slip]:
    """Every slip of a function whose source is at hand, each text once."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.FunctionDef), f"{function} is not a plain function"
    yield from slips_of(tree)


def slips_of(tree: ast.FunctionDef) -> Iterator[Slip]:
    tree = copy.deepcopy(tree)
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:] or [ast.Pass()]
    tree.decorator_list = []
    original = ast.unparse(tree)
    seen = {original}
    nodes, bare = list(ast.walk(tree)), pickle.dumps(tree)
    spots = {id(node): spot for spot, node in enumerate(nodes)}
    for kind, words, node, change in _changes(tree):
        other = _changed(bare, spots[id(node)], change)
        if other is None:
            continue
        text = ast.unparse(other)
        if text not in seen:
            seen.add(text)
            pairs = zip(original.splitlines(), text.splitlines(), strict=False)
            line = next((i for i, (old, new) in enumerate(pairs, 1) if old != new), 1)
            yield Slip(kind, words, other, text, line)


def _changed(bare: bytes, spot: int, change: Change) -> ast.FunctionDef | None:
    """A copy of the tree in which the node at this place of a walk was changed."""
    other = pickle.loads(bare)  # several times as fast as copy.deepcopy
    target = next(itertools.islice(ast.walk(other), spot, None))

    class Swap(ast.NodeTransformer):
        def visit(self, one: ast.AST) -> Any:
            return change(one) if one is target else self.generic_visit(one)

    try:
        made = Swap().visit(other)
    except (IndexError, AttributeError):
        return None
    return made if isinstance(made, ast.FunctionDef) and made.body else None


def _changes(tree: ast.FunctionDef) -> Iterator[Found]:
    arguments = [a.arg for a in tree.args.args]
    local = list(dict.fromkeys(
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ))  # fmt: skip
    whole = set(_annotations(tree))
    axes = {id(n) for call in ast.walk(tree) if isinstance(call, ast.Call) for n in axes_of(call)}
    for node in ast.walk(tree):
        if node in whole:
            continue
        if isinstance(node, ast.Call):
            yield from in_a_call(node)
        elif isinstance(node, ast.BinOp):
            yield from between_two(node, arguments)
        elif isinstance(node, ast.UnaryOp):
            yield from in_front(node)
        elif isinstance(node, ast.Compare):
            yield from in_a_comparison(node)
        elif isinstance(node, ast.Constant) and id(node) not in axes:
            yield from in_a_number(node)
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "mH"):
            yield "transpose", "A transpose is missing.", node, lambda n: n.value
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield from in_brackets(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from in_a_name(node, arguments, local)
        elif isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1:
            yield from in_a_tuple(node)
        elif isinstance(node, ast.BoolOp):
            yield from in_and_or(node)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield from in_a_condition(node)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from in_a_loop(node)
        elif isinstance(node, ast.Return) and node.value is not None:
            for name in local:
                if not (isinstance(node.value, ast.Name) and node.value.id == name):
                    words = "This is an intermediate result: a later step is missing."
                    yield "too early", words, node, setting("value", name_of(name))
        elif isinstance(node, ast.Assign | ast.AugAssign):
            yield "step", step_left_out(node), node, lambda n: None


def _annotations(tree: ast.FunctionDef) -> Iterator[ast.AST]:
    """The first line is not touched: arguments, defaults, types."""
    for one in (tree.args, tree.returns):
        if one is not None:
            yield from ast.walk(one)
