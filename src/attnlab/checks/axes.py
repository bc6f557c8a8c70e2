"""Which arguments of a call say along which axis, and the words for a wrong one."""

from __future__ import annotations

import ast

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
        if isinstance(node.func, ast.Attribute) and of_torch(node.func.value) and place == 0:
            place = 1
        found += node.args[place : place + 1]
    elif name in ("transpose", "swapaxes", "permute", "movedim"):
        found += node.args
    whole: list[ast.expr] = []
    for one in found:
        whole += one.elts if isinstance(one, ast.Tuple | ast.List) else [one]
    inner = [n for one in whole for n in ast.walk(one) if isinstance(n, ast.Constant)]
    return [*whole, *inner]


def of_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "np", "numpy")


def number_of(node: ast.expr) -> int | None:
    """A whole number, perhaps negative, as written."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


AXES = (-1, -2, -3, 0, 1, 2)
OTHER_AXES = {-1: (-2, 0), -2: (-1, -3), -3: (-2,), 0: (1, -1), 1: (0, -1)}
_PLACES = {-1: "the last axis", -2: "the second-last axis", -3: "the third-last axis",
           0: "the first axis", 1: "the second axis"}  # fmt: skip


def axis_words(name: str, now: int, right: int) -> str:
    there, here = _PLACES.get(now, f"axis {now}"), _PLACES.get(right, f"axis {right}")
    if name in _SHAPERS:
        return f"The axis is the wrong one: `{name}` acts on {there}, where it belongs to {here}."
    return f"`{name}` runs along {there}; it belongs along {here}."


def inside_minus(axis: ast.expr, call: ast.Call) -> bool:
    """The 1 of a −1: the UnaryOp around it is the axis."""
    return any(
        isinstance(n, ast.UnaryOp) and n.operand is axis and isinstance(n.op, ast.USub)
        for n in ast.walk(call)
    )
