"""How one node of a syntax tree is rewritten. Each of these makes the new node from the old one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from attnlab.checks.axes import axes_of, of_torch

Change = Callable[[Any], Any]  # the node, copied, becomes this


def with_fields(node: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def setting(name: str, value: Any) -> Change:
    return lambda n: with_fields(n, **{name: value})


def into(kind: type[ast.operator]) -> Change:
    return setting("op", kind())


def turned(node: Any) -> Any:
    return with_fields(node, left=node.right, right=node.left)


def negative_power(node: Any) -> Any:
    return with_fields(node, right=ast.UnaryOp(ast.USub(), node.right))


def constantly(value: Any) -> Change:
    return lambda _: ast.parse(repr(value), mode="eval").body


def plus(by: int) -> Change:
    return lambda n: ast.BinOp(n, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))


def swapping(name: str, i: int, j: int) -> Change:
    def change(node: Any) -> Any:
        items = list(getattr(node, name))
        items[i], items[j] = items[j], items[i]
        return with_fields(node, **{name: items})

    return change


def without_part(i: int) -> Change:
    def change(node: Any) -> Any:
        rest = [v for at, v in enumerate(node.values) if at != i]
        return rest[0] if len(rest) == 1 else with_fields(node, values=rest)

    return change


def receiver(node: Any) -> Any:
    """x.f(…) → x and torch.f(x, …) → x."""
    if isinstance(node.func, ast.Attribute) and not (
        of_torch(node.func.value) or isinstance(node.func.value, ast.Attribute)
    ):
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "math":
            return node.args[0]
        return node.func.value
    return node.args[0]


def by_bare_exp(node: Any) -> Any:
    """x.softmax(d) → x.exp() / x.exp().sum(d, keepdim=True)"""
    powers = ast.Call(ast.Attribute(receiver(node), "exp", ast.Load()), [], [])
    keep = ast.keyword("keepdim", ast.Constant(True))
    total = ast.Attribute(powers, "sum", ast.Load())
    return ast.BinOp(powers, ast.Div(), ast.Call(total, [axes_of(node)[0]], [keep]))


def logarithm_of(change: Change) -> Change:
    return lambda n: ast.Call(ast.Attribute(change(n), "log", ast.Load()), [], [])


def renamed(name: str) -> Change:
    def change(node: Any) -> Any:
        if isinstance(node.func, ast.Attribute):
            node.func.attr = name
        else:
            node.func.id = name
        return node

    return change


def late_start(node: Any) -> Any:
    if len(node.args) == 1:
        return with_fields(node, args=[ast.Constant(1), *node.args])
    first = ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))
    return with_fields(node, args=[first, *node.args[1:]])


def without_keyword(name: str) -> Change:
    return lambda n: with_fields(n, keywords=[k for k in n.keywords if k.arg != name])


def becoming(name: str) -> Change:
    return lambda _: name_of(name)


def name_of(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
