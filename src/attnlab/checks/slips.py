"""Slips: a right answer with one small thing changed, and the words for that change.

Nobody can write down every mistake beforehand. But most wrong answers are a right one with a single
slip: an axis, a sign, a border, a forgotten step. So each chapter's answers stand in `plain/`, this
module rewrites their syntax tree in every such way, and a check asks which of the results did on
every input what the learner's function did. Only then is its sentence said. It compares what comes
out, so it does not matter how the learner has written it.

The tests use the same rewriting to make near-misses by the hundred: tests/exercises/mutants.py.
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
from typing import Any

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
        own = dict(space)
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
    """Whatever runs in here stops after so many lines."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
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


Change = Callable[[Any], Any]  # the node, copied, becomes this
Found = tuple[str, str, ast.AST, Change]


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
            yield from _call(node)
        elif isinstance(node, ast.BinOp):
            yield from _binary(node, arguments)
        elif isinstance(node, ast.UnaryOp):
            yield from _unary(node)
        elif isinstance(node, ast.Compare):
            yield from _compare(node)
        elif isinstance(node, ast.Constant) and id(node) not in axes:
            yield from _constant(node)
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "mH"):
            yield "transpose", "A transpose is missing.", node, lambda n: n.value
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield from _subscript(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from _name(node, arguments, local)
        elif isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1:
            yield from _display(node)
        elif isinstance(node, ast.BoolOp):
            yield from _bool(node)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield from _condition(node)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from _loop(node)
        elif isinstance(node, ast.Return) and node.value is not None:
            for name in local:
                if not (isinstance(node.value, ast.Name) and node.value.id == name):
                    words = "This is an intermediate result: a later step is missing."
                    yield "too early", words, node, _set("value", _name_of(name))
        elif isinstance(node, ast.Assign | ast.AugAssign):
            yield "step", _step(node), node, lambda n: None


# ── the single changes ──────────────────────────────────────────────────────────────────────────

WITHOUT = {  # f(x) → x
    "tanh", "sigmoid", "exp", "log", "sqrt", "softmax", "log_softmax", "abs", "float", "normalize",
    "relu", "cumprod", "cumsum", "flip", "clone", "square", "clamp", "round", "silu", "gelu",
    "rsqrt", "nan_to_num", "masked_fill", "roll", "tril", "triu", "sort", "detach", "mean", "bool",
    "sin", "cos", "outer", "neg",
}  # fmt: skip
INSTEAD = [
    ("sum", "mean"), ("sum", "prod"), ("mean", "sum"), ("mean", "amax"), ("max", "min"),
    ("min", "max"), ("amax", "amin"), ("amax", "mean"), ("amin", "amax"), ("argmax", "argmin"),
    ("minimum", "maximum"), ("maximum", "minimum"), ("any", "all"), ("all", "any"),
    ("cumprod", "cumsum"), ("cumsum", "cumprod"), ("tanh", "sigmoid"), ("sigmoid", "tanh"),
    ("softmax", "sigmoid"), ("softmax", "log_softmax"), ("log_softmax", "softmax"), ("sin", "cos"),
    ("cos", "sin"), ("zeros", "ones"), ("ones", "zeros"), ("ones_like", "zeros_like"),
    ("zeros_like", "ones_like"), ("tril", "triu"), ("triu", "tril"), ("stack", "cat"),
    ("cat", "stack"), ("norm", "sum"), ("var", "std"), ("exp", "exp2"), ("log", "log2"),
    ("logical_and", "logical_or"), ("isfinite", "isnan"), ("isfinite", "isinf"), ("sqrt", "square"),
    ("floor", "ceil"), ("round", "floor"), ("chunk", "split"), ("split", "chunk"),
    ("silu", "sigmoid"), ("silu", "relu"), ("gelu", "relu"), ("relu", "abs"),
    ("flatten", "ravel"), ("outer", "dot"), ("rsqrt", "sqrt"), ("square", "abs"),
]  # fmt: skip
# Methods whose first or second positional whole number is an axis.
_AXIS_AT = {
    "softmax": 0, "log_softmax": 0, "sum": 0, "mean": 0, "amax": 0, "amin": 0, "max": 0, "min": 0,
    "argmax": 0, "argmin": 0, "cumsum": 0, "cumprod": 0, "flip": 0, "unsqueeze": 0, "squeeze": 0,
    "unbind": 0, "sort": 0, "any": 0, "all": 0, "prod": 0, "var": 0, "std": 0, "gather": 0,
    "scatter": 0, "scatter_add": 0, "flatten": 0, "unflatten": 0, "index_select": 0,
    "index_fill": 0, "norm": 1, "stack": 1, "cat": 1, "chunk": 1, "split": 1, "roll": 1,
    "repeat_interleave": 1, "argsort": 0, "topk": 1, "select": 0, "narrow": 0, "unfold": 0,
}  # fmt: skip
_SHAPERS = ("unsqueeze", "squeeze", "flatten", "unflatten", "stack", "unbind", "narrow", "unfold")


def label(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def axes_of(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call that say along which axis."""
    found = [k.value for k in node.keywords if k.arg in ("dim", "axis", "dim1", "dim2")]
    name = label(node)
    if name in _AXIS_AT:
        place = _AXIS_AT[name]
        if isinstance(node.func, ast.Attribute) and _of_torch(node.func.value) and place == 0:
            place = 1
        found += node.args[place : place + 1]
    elif name in ("transpose", "swapaxes", "permute", "movedim"):
        found += node.args
    whole: list[ast.expr] = []
    for one in found:
        whole += one.elts if isinstance(one, ast.Tuple | ast.List) else [one]
    inner = [n for one in whole for n in ast.walk(one) if isinstance(n, ast.Constant)]
    return [*whole, *inner]


def _of_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "np", "numpy")


def number_of(node: ast.expr) -> int | None:
    """A whole number, perhaps negative, as written."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


AXES = (-1, -2, -3, 0, 1, 2)
_OTHER_AXES = {-1: (-2, 0), -2: (-1, -3), -3: (-2,), 0: (1, -1), 1: (0, -1)}
_PLACES = {-1: "the last axis", -2: "the second-last axis", -3: "the third-last axis",
           0: "the first axis", 1: "the second axis"}  # fmt: skip


def _axis_words(name: str, now: int, right: int) -> str:
    there, here = _PLACES.get(now, f"axis {now}"), _PLACES.get(right, f"axis {right}")
    if name in _SHAPERS:
        return f"The axis is the wrong one: `{name}` acts on {there}, where it belongs to {here}."
    return f"`{name}` runs along {there}; it belongs along {here}."


def _call(node: ast.Call) -> Iterator[Found]:
    name = label(node)
    axes = [a for a in axes_of(node) if number_of(a) is not None and not _inside_minus(a, node)]
    if name in ("permute", "transpose", "movedim"):
        if name == "permute" and len(node.args) > 2:
            for i in range(len(node.args) - 1):
                yield "transpose", "Two axes have changed places.", node, _swap("args", i, i + 1)
        words = f"Axes have not changed places: a `{name}` is missing."
        yield "transpose", words, node, _receiver
    else:
        for axis in axes:
            right = number_of(axis)
            assert right is not None
            for now in _OTHER_AXES.get(right, ()):
                yield "axis", _axis_words(name, now, right), axis, _constantly(now)
    for keyword in node.keywords:
        if keyword.arg == "keepdim":
            words = "An axis got lost: after the reduction, `keepdim=True` keeps it."
            yield "keepdim", words, node, _drop_keyword("keepdim")
        elif keyword.arg in ("descending", "largest", "correction", "unbiased"):
            words = (
                "The variance divides by n − 1 here; it divides by n."
                if keyword.arg in ("correction", "unbiased")
                else "The order is the wrong way round: the smallest come first."
            )
            yield "order", words, node, _drop_keyword(keyword.arg)
        elif keyword.arg == "offset":
            words = "It is off by one: the diagonal is the wrong one."
            yield "off by one", words, node, _drop_keyword("offset")
        elif keyword.arg in ("dim", "axis"):
            words = f"`{name}` runs over all axes at once: one axis is meant."
            yield "reduction", words, node, _drop_keyword(keyword.arg)
    if name in ("sum", "mean", "max", "amax", "any", "all", "prod") and axes and node.args:
        words = f"`{name}` runs over all axes at once: one axis is meant."
        yield "reduction", words, node, _set("args", [])
    for good, wrong in INSTEAD:
        if name == good:
            words = f"There is a `{wrong}` where a `{good}` belongs."
            yield "function", words, node, _rename(wrong)
    if name in WITHOUT:
        words = f"The `{name}` is missing."
        if name == "flip":
            words = "The order is turned round: a `flip` is missing."
        yield "missing", words, node, _receiver
    if len(node.args) == 2 and not axes and name not in ("range", "arange"):
        yield "swapped", "Two arguments have changed places.", node, _swap("args", 0, 1)
    if name in ("range", "arange") and len(node.args) >= 1:
        words = "It is off by one: the first one is left out."
        yield "off by one", words, node, _late_start
    if name == "len":
        for by in (-1, 1):
            words = f"It is off by one: it ends one place too {'early' if by < 0 else 'late'}."
            yield "off by one", words, node, _plus(by)


def _inside_minus(axis: ast.expr, call: ast.Call) -> bool:
    """The 1 of a −1: the UnaryOp around it is the axis."""
    return any(
        isinstance(n, ast.UnaryOp) and n.operand is axis and isinstance(n.op, ast.USub)
        for n in ast.walk(call)
    )


def _binary(node: ast.BinOp, arguments: list[str]) -> Iterator[Found]:
    op, right, left = type(node.op), node.right, node.left
    about = _about(right, arguments)
    if op is ast.Div:
        yield "scale", f"A division is missing{about}.", node, lambda n: n.left
        yield "scale", f"There is a product where a division{about} belongs.", node, _op(ast.Mult)
        yield "swapped", "A fraction stands upside down.", node, _turn
    elif op is ast.Mult:
        yield "factor", f"A factor is missing{about}.", node, lambda n: n.left
        yield "factor", f"A factor is missing{_about(left, arguments)}.", node, lambda n: n.right
        yield "scale", f"There is a division where a product{about} belongs.", node, _op(ast.Div)
        yield "operation", "Two things are added where they are multiplied.", node, _op(ast.Add)
    elif op is ast.Add:
        yield "term", f"A summand is missing{about}.", node, lambda n: n.left
        yield "term", f"A summand is missing{_about(left, arguments)}.", node, lambda n: n.right
        yield "sign", f"There is a minus where a plus belongs{about}.", node, _op(ast.Sub)
        yield "operation", "Two things are multiplied where they are added.", node, _op(ast.Mult)
    elif op is ast.Sub:
        yield "term", f"A subtraction is missing{about}.", node, lambda n: n.left
        yield "sign", f"There is a plus where a minus belongs{about}.", node, _op(ast.Add)
        yield "swapped", "A difference is the wrong way round: b − a is not a − b.", node, _turn
    elif op is ast.MatMult:
        words = "The two sides of a matrix product have changed places."
        yield "swapped", words, node, _turn
        yield "missing", f"A matrix product is missing{about}.", node, lambda n: n.left
        yield (
            "operation",
            "A product entry by entry stands for a matrix product.",
            node,
            _op(ast.Mult),
        )
    elif op is ast.Pow:
        yield "power", "An exponent has the wrong sign.", node, _negative_power
        yield "power", "A power is missing.", node, lambda n: n.left
    elif op is ast.FloorDiv:
        yield "operation", "There is a remainder where a quotient belongs.", node, _op(ast.Mod)
        yield "missing", f"A division is missing{about}.", node, lambda n: n.left
    elif op is ast.Mod:
        yield "operation", "There is a quotient where a remainder belongs.", node, _op(ast.FloorDiv)
        yield "missing", f"A remainder is missing{about}.", node, lambda n: n.left
    elif op in (ast.BitAnd, ast.BitOr):
        other = ast.BitOr if op is ast.BitAnd else ast.BitAnd
        words = "`&` and `|` have changed places: both must hold, or one is enough."
        yield "mask", words, node, _op(other)
        yield "mask", "One of two conditions is missing.", node, lambda n: n.left
        yield "mask", "One of two conditions is missing.", node, lambda n: n.right


def _unary(node: ast.UnaryOp) -> Iterator[Found]:
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


def _compare(node: ast.Compare) -> Iterator[Found]:
    for other, kind, words in _COMPARED.get(type(node.ops[0]), []):
        sentence = (
            f"The border is wrong: {words}. Look at what lies exactly on it."
            if words
            else "A comparison is the wrong way round: what should be kept is dropped."
        )
        yield kind, sentence, node, _set("ops", [other()])


def _constant(node: ast.Constant) -> Iterator[Found]:
    value = node.value
    if isinstance(value, bool):
        words = f"A switch is the wrong way round: {not value} stands where {value} belongs."
        yield "constant", words, node, _constantly(not value)
    elif isinstance(value, int) and abs(value) < 100:
        for by in (-1, 1):
            words = f"It is off by one: a {value + by} stands where a {value} belongs."
            yield "off by one", words, node, _constantly(value + by)
    elif isinstance(value, int | float) and value not in (0, 1):
        for other in (value * 2, value / 2, value / 10, 1 / value):
            words = f"A constant is wrong: {other:g} stands where {value:g} belongs."
            yield "constant", words, node, _constantly(other)
    elif isinstance(value, float):
        words = f"A constant is wrong: {1 - value:g} stands where {value:g} belongs."
        yield "constant", words, node, _constantly(1 - value)


def _subscript(node: ast.Subscript) -> Iterator[Found]:
    if isinstance(node.slice, ast.Slice | ast.Tuple) and not isinstance(node.value, ast.Constant):
        yield "slice", "A part is cut out nowhere: a slice is missing.", node, lambda n: n.value


def _name(node: ast.Name, arguments: list[str], local: list[str]) -> Iterator[Found]:
    pool = arguments if node.id in arguments else local if node.id in local else []
    for other in pool:
        if other != node.id:
            words = (
                f"`{other}` is used where `{node.id}` belongs."
                if pool is arguments
                else f"Two quantities are mixed up: one step uses `{other}` for `{node.id}`."
            )
            yield "wrong name", words, node, _becomes(other)
    if node.id in arguments:
        for value in (0, 1, 2):
            words = f"`{node.id}` plays no part in one place: a fixed number stands there."
            yield "fixed", words, node, _constantly(value)


def _display(node: ast.Tuple | ast.List) -> Iterator[Found]:
    if not isinstance(node.ctx, ast.Load | ast.Store):
        return
    if all(isinstance(one, ast.Constant | ast.Slice) for one in node.elts):
        return
    for i in range(len(node.elts) - 1):
        yield "swapped", "Two results have changed places.", node, _swap("elts", i, i + 1)


def _bool(node: ast.BoolOp) -> Iterator[Found]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "mask", "`and` and `or` have changed places.", node, _set("op", other)
    for i in range(len(node.values)):
        yield "mask", "One of the conditions is missing.", node, _only(i)


def _condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Found]:
    if isinstance(node, ast.While):
        return
    words = "A condition is the wrong way round."
    yield "mask", words, node, lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))
    for value in (True, False):
        words = (
            f"A condition is missing: it goes on as if it {'always' if value else 'never'} held."
        )
        yield "condition", words, node, _set("test", ast.Constant(value))


def _loop(node: ast.For | ast.comprehension) -> Iterator[Found]:
    def cut(lower: int | None, upper: int | None) -> Change:
        def change(n: Any) -> Any:
            whole = ast.Call(_name_of("list"), [n.iter], [])
            ends = [None if e is None else ast.Constant(e) for e in (lower, upper)]
            return _with(n, iter=ast.Subscript(whole, ast.Slice(*ends), ast.Load()))

        return change

    yield "first only", "Only the first one is treated: the loop ends at once.", node, cut(None, 1)
    yield "off by one", "The first one is left out.", node, cut(1, None)
    yield "off by one", "The last one is left out.", node, cut(None, -1)


def _step(node: ast.Assign | ast.AugAssign) -> str:
    if node.value is None:
        return "A step is missing."
    names = [label(n) for n in ast.walk(node.value) if isinstance(n, ast.Call)]
    known = next((n for n in names if n in WITHOUT), "")
    return f"A step is missing, the one with `{known}`." if known else "A step is missing."


# ── how a node is rewritten ─────────────────────────────────────────────────────────────────────


def _with(node: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _set(name: str, value: Any) -> Change:
    return lambda n: _with(n, **{name: value})


def _op(kind: type[ast.operator]) -> Change:
    return _set("op", kind())


def _turn(node: Any) -> Any:
    return _with(node, left=node.right, right=node.left)


def _negative_power(node: Any) -> Any:
    return _with(node, right=ast.UnaryOp(ast.USub(), node.right))


def _constantly(value: Any) -> Change:
    return lambda _: ast.parse(repr(value), mode="eval").body


def _plus(by: int) -> Change:
    return lambda n: ast.BinOp(n, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))


def _swap(name: str, i: int, j: int) -> Change:
    def change(node: Any) -> Any:
        items = list(getattr(node, name))
        items[i], items[j] = items[j], items[i]
        return _with(node, **{name: items})

    return change


def _only(i: int) -> Change:
    def change(node: Any) -> Any:
        rest = [v for at, v in enumerate(node.values) if at != i]
        return rest[0] if len(rest) == 1 else _with(node, values=rest)

    return change


def _receiver(node: Any) -> Any:
    """x.f(…) → x and torch.f(x, …) → x."""
    if isinstance(node.func, ast.Attribute) and not (
        _of_torch(node.func.value) or isinstance(node.func.value, ast.Attribute)
    ):
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "math":
            return node.args[0]
        return node.func.value
    return node.args[0]


def _rename(name: str) -> Change:
    def change(node: Any) -> Any:
        if isinstance(node.func, ast.Attribute):
            node.func.attr = name
        else:
            node.func.id = name
        return node

    return change


def _late_start(node: Any) -> Any:
    if len(node.args) == 1:
        return _with(node, args=[ast.Constant(1), *node.args])
    first = ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))
    return _with(node, args=[first, *node.args[1:]])


def _drop_keyword(name: str) -> Change:
    return lambda n: _with(n, keywords=[k for k in n.keywords if k.arg != name])


def _becomes(name: str) -> Change:
    return lambda _: _name_of(name)


def _name_of(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _about(node: ast.expr, arguments: list[str]) -> str:
    """Which arguments it is about, so that a learner finds the place: " (of `u`)"."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    used = [f"`{name}`" for name in arguments if name in names]
    return f" (with {', '.join(used)} in it)" if 1 <= len(used) <= 2 else ""


def _annotations(tree: ast.FunctionDef) -> Iterator[ast.AST]:
    """The first line is not touched: arguments, defaults, types."""
    for one in (tree.args, tree.returns):
        if one is not None:
            yield from ast.walk(one)
