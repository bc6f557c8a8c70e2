"""What may have been forgotten in an answer: a sign, a transpose, a factor, a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from attnlab.checks.axes import label
from attnlab.checks.own_code import Code, Edit
from attnlab.checks.slip_calls import WITHOUT

Found = tuple[str, ast.AST, Edit]  # the words, the node that shows the line, the edit


_SIZES = ("reshape", "view", "unflatten")


def wrapped(code: Code, node: ast.expr) -> Iterator[Found]:
    """A sign, a mask's sense, a transpose that was forgotten."""
    parent = code.parents[node][0]
    if not (isinstance(parent, ast.Call) and label(parent) in _SIZES):  # there −n is any size
        words = "the sign is wrong: a minus is missing."
        yield words, node, code.put(node, ast.UnaryOp(ast.USub(), node))
    if not isinstance(node, ast.BinOp):
        words = "it has the opposite sense: a `~` is missing."
        yield words, node, code.put(node, ast.UnaryOp(ast.Invert(), node))
        swapped = ast.Attribute(node, "mT", ast.Load())
        yield "a transpose is missing.", node, code.put(node, swapped)
        squared = ast.BinOp(node, ast.Pow(), ast.Constant(2))
        yield "a power is missing.", node, code.put(node, squared)
        root = ast.BinOp(node, ast.Pow(), ast.Constant(0.5))
        yield "a root is missing.", node, code.put(node, root)
    for by in (-1, 1):
        added = ast.BinOp(node, ast.Add(), ast.Constant(by))
        yield "it is off by one.", node, code.put(node, added)
    if isinstance(code.parents[node][0], ast.Slice):
        return
    for cut in (":-1", "1:", "..., :-1", "..., 1:", "..., None", "..., None, :", "0", "..., 0"):
        part = ast.parse(f"x[{cut}]", mode="eval").body
        assert isinstance(part, ast.Subscript)
        words = "an axis is missing." if "None" in cut else "a slice is missing."
        if isinstance(node, ast.Tuple):
            words = "not all of these are asked for."
        yield words, node, code.put(node, ast.Subscript(node, part.slice, ast.Load()))


def joined(code: Code, node: ast.expr, names: list[str], flags: set[str]) -> Iterator[Found]:
    """A factor, a summand, a division that was forgotten."""
    for name in names:
        other = ast.Name(name, ast.Load())
        for op, what in (
            (ast.Mult, "a factor is"), (ast.Div, "a division is"), (ast.Add, "a summand is"),
            (ast.Sub, "a subtraction is"), (ast.MatMult, "a matrix product is"),
            (ast.BitAnd, "a condition is"), (ast.BitOr, "a condition is"),
        ):  # fmt: skip
            if name in flags and op not in (ast.BitAnd, ast.BitOr):
                continue
            words = f"{what} missing (with `{name}` in it)."
            yield words, node, code.put(node, ast.BinOp(node, op(), other))
            if op is ast.MatMult:
                turned = ast.Attribute(other, "mT", ast.Load())
                yield words, node, code.put(node, ast.BinOp(node, op(), turned))
    for value in (2, 0.5):
        factor = ast.BinOp(node, ast.Mult(), ast.Constant(value))
        yield "a constant factor is missing.", node, code.put(node, factor)


_WITH_AXIS = ("softmax", "log_softmax", "cumsum", "cumprod", "flip", "mean", "sum", "norm", "amax")


def applied(code: Code, node: ast.expr, called: Iterable[str]) -> Iterator[Found]:
    """A function that was forgotten: one of those that the plain answer uses."""
    for name in sorted(set(called) & (WITHOUT | set(_WITH_AXIS))):
        tries: list[str] = [f"x.{name}()", f"math.{name}(x)"]
        if name in _WITH_AXIS:
            tries = [f"x.{name}({axis})" for axis in ("-1", "-2", "0")]
        if name in ("norm", "mean", "sum", "amax"):
            tries += [f"x.{name}(dim={axis}, keepdim=True)" for axis in (-1, -2)]
        for text in tries:
            made = ast.parse(text, mode="eval").body
            for inner in ast.walk(made):
                if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                    if inner.value.id == "x":
                        inner.value = node
                elif isinstance(inner, ast.Call) and inner.args:
                    inner.args = [
                        node if isinstance(a, ast.Name) and a.id == "x" else a for a in inner.args
                    ]
            yield f"a `{name}` is missing.", node, code.put(node, made)
