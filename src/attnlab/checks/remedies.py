"""The single changes that may mend an answer, likely ones first, each with its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attnlab.checks.additions import Found, applied, joined, wrapped
from attnlab.checks.axes import AXES, axes_of, label, of_torch
from attnlab.checks.own_code import Code
from attnlab.checks.slip_calls import INSTEAD, WITHOUT

_TWINS = {a: {b for x, y in INSTEAD for a_, b in ((x, y), (y, x)) if a_ == a}
          for pair in INSTEAD for a in pair}  # fmt: skip
_TOO_MUCH = WITHOUT - {"float", "bool", "mean", "outer"} | {"squeeze", "unsqueeze", "abs"}
_REDUCE = ("sum", "mean", "amax", "amin", "max", "min", "any", "all", "prod", "norm", "var", "std")


def changes(
    code: Code, called: set[str], known: set[float], flags: set[str], line: int = 0
) -> Iterator[Found]:
    """`line` is where it raised an error, if it did: what is there is tried first."""
    tree = code.tree
    head = {n for part in (tree.args, tree.returns) if part for n in ast.walk(part)}
    body = [n for n in ast.walk(tree) if n not in head]
    callees = {n.func for n in body if isinstance(n, ast.Call)}
    stored = [n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names = list(dict.fromkeys([*(a.arg for a in tree.args.args), *stored]))
    axes = {id(a) for n in body if isinstance(n, ast.Call) for a in axes_of(n)}
    sites = [
        n
        for n in body
        if isinstance(n, ast.expr)
        and n not in callees
        and not isinstance(n, ast.Constant | ast.Slice | ast.Starred | ast.Lambda)
        and not isinstance(getattr(n, "operand", None), ast.Constant)
        and isinstance(getattr(n, "ctx", None), ast.Load | None)
        and not isinstance(code.parents[n][0], ast.keyword)
        and id(n) not in axes
    ]
    body.sort(key=lambda n: isinstance(n, ast.Name))  # stable; names last: for each there are many
    if line:  # what is there comes first, the rest as before
        body.sort(key=lambda n: code.number(n) != line)
        sites.sort(key=lambda n: code.number(n) != line)
    for node in body:
        yield from _alone(code, node, names, axes, known)
    for node in sites:
        yield from wrapped(code, node)
    for node in sites:
        yield from joined(code, node, names, flags)
    for node in sites:
        yield from applied(code, node, called)


def _alone(
    code: Code, node: ast.AST, names: list[str], axes: set[int], known: set[float]
) -> Iterator[Found]:
    """Changes of one node that leave everything around it."""
    if isinstance(node, ast.Call):
        yield from _call(code, node)
    elif isinstance(node, ast.BinOp):
        yield from _binary(code, node)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        what = {ast.USub: "a minus", ast.Invert: "a `~`", ast.Not: "a `not`"}.get(type(node.op))
        if what:
            yield f"there is {what} too many.", node, code.put(node, node.operand)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _compare(node)
    elif isinstance(node, ast.Constant):
        yield from _constant(code, node, names, axes, known)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for other in names:
            if other != node.id:
                words = f"`{node.id}` is used where something else belongs."
                yield words, node, (node, "id", other)
    elif isinstance(node, ast.Tuple | ast.List) and 1 < len(node.elts) < 7:
        for i in range(len(node.elts) - 1):
            elts = list(node.elts)
            elts[i], elts[i + 1] = elts[i + 1], elts[i]
            yield "two things have changed places.", node, (node, "elts", elts)
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "`and` and `or` have changed places.", node, (node, "op", other_op)
        for gone in node.values:
            rest = [one for one in node.values if one is not gone]
            left = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            yield f"the condition `{_short(gone)}` is too much there.", node, code.put(node, left)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        test = ast.UnaryOp(ast.Not(), node.test)
        yield "the condition is the wrong way round.", node, (node, "test", test)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "mH"):
        yield "there is a transpose too many.", node, code.put(node, node.value)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        inner = node.value
        if isinstance(inner, ast.Call) and label(inner) == "list" and inner.args:
            words = "the loop leaves some out."
            yield words, node, code.put(node, inner.args[0])


def _call(code: Code, node: ast.Call) -> Iterator[Found]:
    name = label(node)
    for other in sorted(_TWINS.get(name, ())):
        field = "attr" if isinstance(node.func, ast.Attribute) else "id"
        words = f"`{name}` stands where something else belongs."
        yield words, node, (node.func, field, other)
    given = {k.arg for k in node.keywords}
    if name in _REDUCE:
        if "keepdim" not in given:
            more = [*node.keywords, ast.keyword("keepdim", ast.Constant(True))]
            words = f"`{name}` loses an axis here; `keepdim=True` keeps it."
            yield words, node, (node, "keywords", more)
        if not ({"dim", "axis"} & given) and not axes_of(node):
            for axis in (-1, -2, 0, 1):
                for keep in (False, True):
                    more = [*node.keywords, ast.keyword("dim", ast.Constant(axis))]
                    more += [ast.keyword("keepdim", ast.Constant(True))] * keep
                    words = f"`{name}` runs over all axes at once: one axis is meant."
                    yield words, node, (node, "keywords", more)
    for keyword in node.keywords:
        if keyword.arg == "keepdim":
            rest = [k for k in node.keywords if k is not keyword]
            yield f"`{name}` keeps an axis that must go.", node, (node, "keywords", rest)
    if name == "sort" or name == "argsort":
        more = [*node.keywords, ast.keyword("descending", ast.Constant(True))]
        yield "the order is the wrong way round.", node, (node, "keywords", more)
    if name in ("var", "std"):
        more = [*node.keywords, ast.keyword("correction", ast.Constant(0))]
        yield "it divides by n − 1 here, not by n.", node, (node, "keywords", more)
    if name in ("tril", "triu") and "diagonal" not in given and len(node.args) < 2:
        for by in (-1, 1):
            more = [*node.keywords, ast.keyword("diagonal", ast.Constant(by))]
            yield "the diagonal is off by one.", node, (node, "keywords", more)
    for i in range(len(node.args) - 1):
        args = list(node.args)
        args[i], args[i + 1] = args[i + 1], args[i]
        yield f"two arguments of `{name}` have changed places.", node, (node, "args", args)
    if name == "where" and len(node.args) == 3:
        for one in node.args[1:]:
            yield "`where` is too much there.", node, code.put(node, one)
    if name in _TOO_MUCH and isinstance(node.func, ast.Attribute):
        inner = node.args[0] if of_torch(node.func.value) and node.args else node.func.value
        yield f"`{name}` is too much there.", node, code.put(node, inner)


_OTHER_OPS: dict[type[ast.operator], list[tuple[type[ast.operator], str]]] = {
    ast.Add: [
        (ast.Sub, "the sign is wrong, a plus for a minus."),
        (ast.Mult, "a sum stands where a product belongs."),
    ],
    ast.Sub: [
        (ast.Add, "the sign is wrong, a minus for a plus."),
        (ast.Div, "a difference stands where a quotient belongs."),
    ],
    ast.Mult: [
        (ast.Div, "a product stands where a division belongs."),
        (ast.Add, "a product stands where a sum belongs."),
        (ast.MatMult, "a product entry by entry stands for a matrix product."),
        (ast.Pow, "a product stands where a power belongs."),
    ],
    ast.Div: [
        (ast.Mult, "a division stands where a product belongs."),
        (ast.FloorDiv, "a whole quotient is meant."),
    ],
    ast.MatMult: [(ast.Mult, "a matrix product stands for a product entry by entry.")],
    ast.FloorDiv: [(ast.Mod, "a quotient stands where a remainder belongs.")],
    ast.Mod: [(ast.FloorDiv, "a remainder stands where a quotient belongs.")],
    ast.BitAnd: [(ast.BitOr, "`&` and `|` have changed places.")],
    ast.BitOr: [(ast.BitAnd, "`&` and `|` have changed places.")],
}


def _binary(code: Code, node: ast.BinOp) -> Iterator[Found]:
    one = any(ast.unparse(side) in ("1", "-1") for side in (node.left, node.right))
    if ast.unparse(node.right) == "1" and isinstance(node.op, ast.Add | ast.Sub):
        # Before its sign: (n − 1) // 2 may be mended by n + 1 as well, but by n for sure.
        yield "`1` is too much there.", node, code.put(node, node.left)
    for other, words in _OTHER_OPS.get(type(node.op), []):
        if one and (type(node.op), other) in ((ast.Add, ast.Mult), (ast.Sub, ast.Div)):
            continue  # a 1 too many is not a product: to multiply by 1 is to leave it out
        yield words, node, (node, "op", other())
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult | ast.FloorDiv | ast.Mod | ast.Pow):
        words = "the two sides have changed places."
        yield words, node, code.put(node, ast.BinOp(node.right, node.op, node.left))
    if isinstance(node.op, ast.Pow):
        minus = ast.UnaryOp(ast.USub(), node.right)
        yield "the exponent has the wrong sign.", node, (node, "right", minus)
    for keep, gone in ((node.left, node.right), (node.right, node.left)):
        if gone is node.left and isinstance(node.op, ast.Div | ast.Pow | ast.FloorDiv | ast.Mod):
            continue
        words = f"`{_short(gone)}` is too much there."
        yield words, node, code.put(node, keep)


_OPS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_OTHER_WAY = {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
_BORDER = {(ast.Lt, ast.LtE), (ast.LtE, ast.Lt), (ast.Gt, ast.GtE), (ast.GtE, ast.Gt)}


def _compare(node: ast.Compare) -> Iterator[Found]:
    now = type(node.ops[0])
    if now in _OTHER_WAY:
        words = "the condition is the wrong way round."
        yield words, node, (node, "ops", [_OTHER_WAY[now]()])
    for other in _OPS if now in _OPS else ():
        if other is not now:
            words = (
                "the border is wrong. What happens exactly on it?"
                if (now, other) in _BORDER
                else "the comparison is the wrong way round."
            )
            yield words, node, (node, "ops", [other()])


def _constant(
    code: Code, node: ast.Constant, names: list[str], axes: set[int], known: set[float]
) -> Iterator[Found]:
    value = node.value
    parent = code.parents[node][0]
    minus = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)
    spot: ast.AST = parent if minus else node
    if isinstance(value, bool):
        words = f"a switch is the wrong way round, `{value}`."
        yield words, node, (node, "value", not value)
        return
    if not isinstance(value, int | float):
        return
    now = -value if minus else value
    if id(spot) in axes:
        for axis in AXES:
            if axis != now:
                yield f"axis {now} is the wrong one.", node, code.put(spot, ast.Constant(axis))
    near = [now - 1, now + 1] if isinstance(value, int) else []
    others = [*near, *sorted(known), -now, 2 * now, now / 2, 10 * now, now / 10, 1 - now]
    others += [1 / now] if now else []
    for other in dict.fromkeys(x for x in others if x != now):
        words = f"it is off by one, at the {now}." if other in near else f"the {now} is wrong."
        if _of_a_shape(code, spot):
            words = f"`shape[{now}]` is not the size that is meant."
        made = int(other) if isinstance(value, int) and other == int(other) else other
        yield words, node, code.put(spot, ast.Constant(made))
    for name in names:
        words = f"the fixed number {now} stands where something else belongs."
        yield words, node, code.put(spot, ast.Name(name, ast.Load()))


def _of_a_shape(code: Code, node: ast.AST) -> bool:
    """The −1 of `x.shape[-1]`."""
    parent = code.parents[node][0]
    return isinstance(parent, ast.Subscript) and getattr(parent.value, "attr", "") == "shape"


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 24 else text[:23] + "…"
