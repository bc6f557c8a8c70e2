"""The learner's own code: ready to be changed in one place and compiled again.

Only code that computes is tried: an answer that opens files, imports or runs other code is left
alone (`harmless`).
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

from torch import Tensor

from attnlab.checks.axes import label
from attnlab.checks.slips import STEPS, careful, few_steps

Edit = tuple[Any, str, Any]  # a node, one of its fields, and what it becomes

_FORBIDDEN = {
    "open", "exec", "eval", "compile", "__import__", "input", "system", "remove", "unlink",
    "rmtree", "rename", "write", "save", "load", "setattr", "delattr", "globals", "run",
}  # fmt: skip
_OUTSIDE = {
    "os", "sys", "subprocess", "shutil", "pathlib", "ctypes", "signal", "gc", "builtins", "time",
    "threading", "contextlib", "suppress",
}  # fmt: skip


class Code:
    """The source of an answer, ready to be changed and compiled again."""

    def __init__(self, function: Any) -> None:
        source = textwrap.dedent(inspect.getsource(function))
        stand_ins: dict[str, Any] = getattr(function, "stand_ins", {})  # see kernels/block.py
        function = inspect.unwrap(function)
        tree = ast.parse(source).body[0]
        if not isinstance(tree, ast.FunctionDef) or not harmless(tree):
            raise TypeError("no plain function")
        self.tree, self.lines = tree, source.splitlines()
        self.tree.decorator_list = []
        self.module = ast.fix_missing_locations(ast.Module([self.tree], []))
        self.space = careful(function.__globals__)
        self.space |= stand_ins
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            self.space[name] = cell.cell_contents
        self.loops = any(
            isinstance(n, ast.For | ast.While | ast.comprehension) for n in ast.walk(self.tree)
        )
        self.parents = {
            child: (parent, name)
            for parent in ast.walk(self.tree)
            for name, value in ast.iter_fields(parent)
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, ast.AST)
        }

    def number(self, node: ast.AST) -> int:
        """The number of the line it is on, the first being 1."""
        while not hasattr(node, "lineno"):
            node = self.parents[node][0]
        found: int = node.lineno
        return found

    def line(self, node: ast.AST) -> str:
        text = self.lines[self.number(node) - 1].split("  #")[0].strip()
        return text if len(text) <= 72 else text[:71] + "…"

    def put(self, node: ast.AST, other: ast.AST) -> Edit:
        """The edit that puts `other` in the place of `node`."""
        parent, name = self.parents[node]
        value = getattr(parent, name)
        if isinstance(value, list):
            return parent, name, [other if one is node else one for one in value]
        return parent, name, other

    def text(self, edit: Edit) -> str:
        """The source with this edit, as Python writes it."""
        node, name, value = edit
        before = getattr(node, name)
        setattr(node, name, value)
        try:
            return ast.unparse(ast.fix_missing_locations(self.tree))
        finally:
            setattr(node, name, before)

    def compiled(self, edit: Edit) -> Callable[..., Any]:
        """The function with this edit. The tree is as it was afterwards."""
        node, name, value = edit
        before = getattr(node, name)
        setattr(node, name, value)
        try:
            for new in value if isinstance(value, list) else [value]:
                _located(new)
            own = dict(self.space)
            with warnings.catch_warnings():  # "'int' object is not callable": it is thrown away
                warnings.simplefilter("ignore")
                code = compile(self.module, "<repair>", "exec")
            exec(code, own)
        finally:
            setattr(node, name, before)
        made: Callable[..., Any] = own[self.tree.name]
        if not self.loops:
            return made

        def stopping(*given: Any) -> Any:
            with few_steps(3 * STEPS + 20 * _size(given)):
                return made(*given)

        return stopping


def _size(given: tuple[Any, ...]) -> int:
    """How many numbers go in: a loop over a thousand words needs its steps."""
    tensors = [one.numel() for one in given if isinstance(one, Tensor)]
    return sum(tensors) + sum(len(one) for one in given if isinstance(one, list | tuple))


def _located(node: Any) -> None:
    """Give new nodes a line, any; what was there has its own, and is not walked again."""
    if not isinstance(node, ast.AST) or hasattr(node, "lineno"):
        return
    if node._attributes:
        ast.copy_location(node, _ANYWHERE)
    for child in ast.iter_child_nodes(node):
        _located(child)


_ANYWHERE = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


def harmless(tree: ast.AST) -> bool:
    """Nothing but arithmetic, so that a changed copy of it may run."""
    for node in ast.walk(tree):
        # What is deleted or set outside the function stays so, and a `try` can swallow the stop.
        if isinstance(
            node, ast.Global | ast.Nonlocal | ast.Yield | ast.Await | ast.Delete | ast.Try
        ):
            return False
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return False
        if isinstance(node, ast.Call) and label(node) in _FORBIDDEN:
            return False
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in _OUTSIDE:
                return False
    return True
