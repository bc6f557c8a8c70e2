"""The kinds of slips outside of calls, by where in the code: what changes, and the words for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from attnlab.checks.rewrite import (
    Change,
    becoming,
    constantly,
    into,
    name_of,
    negative_power,
    setting,
    swapping,
    turned,
    with_fields,
    without_part,
)
from attnlab.checks.slip_calls import Found


def between_two(node: ast.BinOp, arguments: list[str]) -> Iterator[Found]:
    op, right, left = type(node.op), node.right, node.left
    about = _about(right, arguments)
    if op is ast.Div:
        yield "scale", f"A division is missing{about}.", node, lambda n: n.left
        yield (
            "scale",
            f"There is a product where a division{about} belongs.",
            node,
            into(ast.Mult),
        )
        yield "swapped", "A fraction stands upside down.", node, turned
    elif op is ast.Mult:
        yield "factor", f"A factor is missing{about}.", node, lambda n: n.left
        yield "factor", f"A factor is missing{_about(left, arguments)}.", node, lambda n: n.right
        yield (
            "scale",
            f"There is a division where a product{about} belongs.",
            node,
            into(ast.Div),
        )
        yield (
            "operation",
            "Two things are added where they are multiplied.",
            node,
            into(ast.Add),
        )
    elif op is ast.Add:
        yield "term", f"A summand is missing{about}.", node, lambda n: n.left
        yield "term", f"A summand is missing{_about(left, arguments)}.", node, lambda n: n.right
        yield "sign", f"There is a minus where a plus belongs{about}.", node, into(ast.Sub)
        yield (
            "operation",
            "Two things are multiplied where they are added.",
            node,
            into(ast.Mult),
        )
    elif op is ast.Sub:
        yield "term", f"A subtraction is missing{about}.", node, lambda n: n.left
        yield "sign", f"There is a plus where a minus belongs{about}.", node, into(ast.Add)
        yield "swapped", "A difference is the wrong way round: b − a is not a − b.", node, turned
    elif op is ast.MatMult:
        words = "The two sides of a matrix product have changed places."
        yield "swapped", words, node, turned
        yield "missing", f"A matrix product is missing{about}.", node, lambda n: n.left
        yield (
            "operation",
            "A product entry by entry stands for a matrix product.",
            node,
            into(ast.Mult),
        )
    elif op is ast.Pow:
        yield "power", "An exponent has the wrong sign.", node, negative_power
        yield "power", "A power is missing.", node, lambda n: n.left
    elif op is ast.FloorDiv:
        yield (
            "operation",
            "There is a remainder where a quotient belongs.",
            node,
            into(ast.Mod),
        )
        yield "missing", f"A division is missing{about}.", node, lambda n: n.left
    elif op is ast.Mod:
        yield (
            "operation",
            "There is a quotient where a remainder belongs.",
            node,
            into(ast.FloorDiv),
        )
        yield "missing", f"A remainder is missing{about}.", node, lambda n: n.left
    elif op in (ast.BitAnd, ast.BitOr):
        other = ast.BitOr if op is ast.BitAnd else ast.BitAnd
        words = "`&` and `|` have changed places: both must hold, or one is enough."
        yield "mask", words, node, into(other)
        yield "mask", "One of two conditions is missing.", node, lambda n: n.left
        yield "mask", "One of two conditions is missing.", node, lambda n: n.right


def in_front(node: ast.UnaryOp) -> Iterator[Found]:
    if isinstance(node.operand, ast.Constant):
        return
    words = {
        ast.USub: ("sign", "The sign is wrong: a minus is missing."),
        ast.Invert: ("mask", "The mask has the opposite sense: `~` is missing or one too many."),
        ast.Not: ("mask", "A condition is the wrong way round: a `not` is missing."),
    }.get(type(node.op))
    if words is not None:
        yield (*words, node, lambda n: n.operand)


_COMPARED: dict[type[ast.cmpop], list[tuple[type[ast.cmpop], str, str]]] = {
    ast.Lt: [(ast.LtE, "border", "`<=` stands where `<` belongs"), (ast.Gt, "mask", "")],
    ast.LtE: [(ast.Lt, "border", "`<` stands where `<=` belongs"), (ast.Gt, "mask", "")],
    ast.Gt: [(ast.GtE, "border", "`>=` stands where `>` belongs"), (ast.Lt, "mask", "")],
    ast.GtE: [(ast.Gt, "border", "`>` stands where `>=` belongs"), (ast.Lt, "mask", "")],
    ast.Eq: [(ast.NotEq, "mask", "")],
    ast.NotEq: [(ast.Eq, "mask", "")],
    ast.In: [(ast.NotIn, "mask", "")],
    ast.NotIn: [(ast.In, "mask", "")],
}


def in_a_comparison(node: ast.Compare) -> Iterator[Found]:
    for other, kind, words in _COMPARED.get(type(node.ops[0]), []):
        sentence = (
            f"The border is wrong: {words}. Look at what lies exactly on it."
            if words
            else "A comparison is the wrong way round: what should be kept is dropped."
        )
        yield kind, sentence, node, setting("ops", [other()])


def in_a_number(node: ast.Constant) -> Iterator[Found]:
    value = node.value
    if isinstance(value, bool):
        words = f"A switch is the wrong way round: {not value} stands where {value} belongs."
        yield "constant", words, node, constantly(not value)
    elif isinstance(value, int) and abs(value) < 100:
        for by in (-1, 1):
            words = f"It is off by one: a {value + by} stands where a {value} belongs."
            yield "off by one", words, node, constantly(value + by)
    elif isinstance(value, int | float) and value not in (0, 1):
        for other in (value * 2, value / 2, value / 10, 1 / value):
            words = f"A constant is wrong: {other:g} stands where {value:g} belongs."
            yield "constant", words, node, constantly(other)
    elif isinstance(value, float):
        words = f"A constant is wrong: {1 - value:g} stands where {value:g} belongs."
        yield "constant", words, node, constantly(1 - value)


def in_brackets(node: ast.Subscript) -> Iterator[Found]:
    if isinstance(node.slice, ast.Slice | ast.Tuple) and not isinstance(node.value, ast.Constant):
        yield "slice", "A part is cut out nowhere: a slice is missing.", node, lambda n: n.value


def in_a_name(node: ast.Name, arguments: list[str], local: list[str]) -> Iterator[Found]:
    pool = arguments if node.id in arguments else local if node.id in local else []
    for other in pool:
        if other != node.id:
            words = (
                f"`{other}` is used where `{node.id}` belongs."
                if pool is arguments
                else f"Two quantities are mixed up: one step uses `{other}` for `{node.id}`."
            )
            yield "wrong name", words, node, becoming(other)
    if node.id in arguments:
        for value in (0, 1, 2):
            words = f"`{node.id}` plays no part in one place: a fixed number stands there."
            yield "fixed", words, node, constantly(value)


def in_a_tuple(node: ast.Tuple | ast.List) -> Iterator[Found]:
    if not isinstance(node.ctx, ast.Load | ast.Store):
        return
    if all(isinstance(one, ast.Constant | ast.Slice) for one in node.elts):
        return
    for i in range(len(node.elts) - 1):
        yield "swapped", "Two results have changed places.", node, swapping("elts", i, i + 1)


def in_and_or(node: ast.BoolOp) -> Iterator[Found]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "mask", "`and` and `or` have changed places.", node, setting("op", other)
    for i in range(len(node.values)):
        yield "mask", "One of the conditions is missing.", node, without_part(i)


def in_a_condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Found]:
    if isinstance(node, ast.While):
        return
    words = "A condition is the wrong way round."
    yield "mask", words, node, lambda n: with_fields(n, test=ast.UnaryOp(ast.Not(), n.test))
    for value in (True, False):
        words = (
            f"A condition is missing: it goes on as if it {'always' if value else 'never'} held."
        )
        yield "condition", words, node, setting("test", ast.Constant(value))


def in_a_loop(node: ast.For | ast.comprehension) -> Iterator[Found]:
    def cut(lower: int | None, upper: int | None) -> Change:
        def change(n: Any) -> Any:
            whole = ast.Call(name_of("list"), [n.iter], [])
            ends = [None if e is None else ast.Constant(e) for e in (lower, upper)]
            return with_fields(n, iter=ast.Subscript(whole, ast.Slice(*ends), ast.Load()))

        return change

    yield "first only", "Only the first one is treated: the loop ends at once.", node, cut(None, 1)
    yield "off by one", "The first one is left out.", node, cut(1, None)
    yield "off by one", "The last one is left out.", node, cut(None, -1)


def _about(node: ast.expr, arguments: list[str]) -> str:
    """Which arguments it is about, so that a learner finds the place: " (of `u`)"."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    used = [f"`{name}`" for name in arguments if name in names]
    return f" (with {', '.join(used)} in it)" if 1 <= len(used) <= 2 else ""
