"""Words that speak of code, and whether the learner's own code bears them out.

A slip (slips.py) is known by what it does, and another mistake may do just the same: 1 + 1 is
2 · 1, and one argument may have the size of another. So where the words of a slip quote code (a
name, a number, an operator), the answer must have it. Else they are not said; what is wrong there
is then looked for in the answer itself (repair.py).
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import Any

from attnlab.checks.axes import label


class Reading:
    """What the code of a function contains."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.arguments = [a.arg for a in tree.args.args]
        nodes = list(ast.walk(tree))
        names = [n for n in nodes if isinstance(n, ast.Name)]
        self.read = [n.id for n in names if isinstance(n.ctx, ast.Load)]
        self.written = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        self.numbers = Counter(
            f"{n.value:g}"
            for n in nodes
            if isinstance(n, ast.Constant) and isinstance(n.value, int | float)
        )
        conditions = [n.test for n in nodes if isinstance(n, ast.If | ast.IfExp)]
        self.conditions = sum(not isinstance(one, ast.Constant) for one in conditions)
        self.products = sum(
            isinstance(n, ast.BinOp | ast.AugAssign) and isinstance(n.op, ast.MatMult)
            for n in nodes
        )
        self.operators = {type(n.op) for n in nodes if isinstance(n, ast.BinOp | ast.AugAssign)}
        self.compared = Counter(
            type(op) for n in nodes if isinstance(n, ast.Compare) for op in n.ops
        )
        self.signs = {type(n.op) for n in nodes if isinstance(n, ast.UnaryOp)}
        self.called = Counter(label(n) for n in nodes if isinstance(n, ast.Call))

    def uses(self, name: str) -> int:
        return self.read.count(name)


@functools.lru_cache(64)
def reading(function: Any) -> Reading | None:
    """None where there is no source of one plain function: then every word may be said."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError, IndexError):
        return None
    if not isinstance(tree, ast.FunctionDef) or tree.name != getattr(function, "__name__", ""):
        return None  # for a lambda, everything around it is given as its source
    return Reading(tree)


def never_filled(answer: Any) -> str:
    """The call that makes a tensor without setting its numbers, if the answer has one."""
    try:
        own = reading(answer)
    except TypeError:
        return ""
    names = ("empty", "empty_like", "new_empty")
    return next((name for name in names if own is not None and own.called[name]), "")


def bears_out(answer: Any, plain: Any, words: str) -> bool:
    """Does the answer's code have what these words about a slip of the plain one quote?"""
    try:
        own, right = reading(answer), reading(plain)
    except TypeError:  # what cannot be hashed has no source, either
        return True
    if own is None or right is None:
        return True
    for pattern, holds in _QUOTES:
        if quote := re.search(pattern, words):
            return holds(own, right, quote)
    return True


def _more(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    """The name that is said to stand for another is read more often than in the right answer."""
    return own.uses(theirs(own, right, quote[1])) > right.uses(quote[1])


def _less(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    return own.uses(theirs(own, right, quote[1])) < right.uses(quote[1])


def theirs(own: Reading, right: Reading, name: str) -> str:
    """What the learner calls this argument."""
    if name in right.arguments and len(own.arguments) == len(right.arguments):
        return own.arguments[right.arguments.index(name)]
    return name


def _operator(*operators: type[ast.AST], calls: str = "") -> Callable[..., bool]:
    def holds(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
        operated = (own.operators | own.signs) & set(operators)
        return bool(operated or own.called.keys() & set(calls.split()))

    return holds


def _wrong_number(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    """The number that is said to be wrong occurs more often than in the right answer."""
    number = quote[1].strip("-")
    return own.numbers[number] > right.numbers[number]


def _wrong_border(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    kinds = _COMPARED[quote[1]]
    seen, wanted = (sum(one.compared[kind] for kind in kinds) for one in (own, right))
    return seen > wanted


def _called(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    return own.called[quote[1]] > 0


def _forgotten(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    return own.called[quote[1]] < right.called[quote[1]]


def _no_condition(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    return own.conditions < right.conditions


def _fewer_products(own: Reading, right: Reading, quote: re.Match[str]) -> bool:
    seen, wanted = (
        one.products + sum(one.called[name] for name in _PRODUCTS) for one in (own, right)
    )
    return seen < wanted


_PRODUCTS = ("matmul", "bmm", "mm", "mv", "dot", "einsum", "tensordot", "inner", "outer", "linear")

_COMPARED: dict[str, set[type[ast.cmpop]]] = {  # a < b is b > a
    "<": {ast.Lt, ast.Gt}, ">": {ast.Lt, ast.Gt}, "<=": {ast.LtE, ast.GtE}, ">=": {ast.LtE, ast.GtE}
}  # fmt: skip

_PLUS = _operator(ast.Add, calls="add sum")
_MINUS = _operator(ast.Sub, ast.USub, calls="sub diff neg")
_TIMES = _operator(ast.Mult, ast.MatMult, calls="mul prod dot matmul bmm mm einsum outer")
_OVER = _operator(ast.Div, ast.FloorDiv, ast.Pow, calls="div mean rsqrt reciprocal")
_PRODUCT = _operator(ast.MatMult, calls=" ".join(_PRODUCTS))

_QUOTES: list[tuple[str, Callable[[Reading, Reading, re.Match[str]], bool]]] = [
    (r"^`(\w+)` is used where `\w+` belongs", _more),
    (
        r"one step uses `(\w+)` for `(\w+)`",
        lambda own, right, quote: {quote[1], quote[2]} <= own.written,
    ),
    (r"^`(\w+)` plays no part in one place", _less),
    (r"a (-?[\d.e+-]+) stands where", _wrong_number),
    (r"wrong: (-?[\d.e+-]+) stands where", _wrong_number),
    (r"`([<>]=?)` stands where", _wrong_border),
    (r"^`(\w+)` stands where", _called),
    (r"^`(\w+)` runs (?:over|along)", _called),
    (r"^The axis is the wrong one: `(\w+)`", _called),
    (r"^(?:The|A step is missing, the one with) `(\w+)`(?: is missing)?\.$", _forgotten),
    (r"^Two things are added where", _PLUS),
    (r"^There is a plus where", _PLUS),
    (r"^Two things are multiplied where", _TIMES),
    (r"^There is a product where", _TIMES),
    (r"^There is a division where", _OVER),
    (r"^A fraction stands upside down", _OVER),
    (r"^There is a minus where", _MINUS),
    (r"^A difference is the wrong way round", _MINUS),
    (r"^The two sides of a matrix product", _PRODUCT),
    (r"^A matrix product is missing", _fewer_products),
    (r"^A condition is missing", _no_condition),
    (r"^There is a remainder where", _operator(ast.Mod, calls="fmod remainder divmod")),
    (r"^There is a quotient where", _operator(ast.FloorDiv, calls="div divmod floor_divide")),
]
