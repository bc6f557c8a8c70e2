"""Slips in a call: another function, another axis, an option, an argument, or no call at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attnlab.checks.answer import OVERFLOWS
from attnlab.checks.axes import OTHER_AXES, axes_of, axis_words, inside_minus, label, number_of
from attnlab.checks.rewrite import (
    Change,
    by_bare_exp,
    constantly,
    late_start,
    logarithm_of,
    plus,
    receiver,
    renamed,
    setting,
    swapping,
    without_keyword,
)

Found = tuple[str, str, ast.AST, Change]  # the kind, the words, the node, what becomes of it

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


def in_a_call(node: ast.Call) -> Iterator[Found]:
    name = label(node)
    axes = [a for a in axes_of(node) if number_of(a) is not None and not inside_minus(a, node)]
    if name in ("permute", "transpose", "movedim"):
        if name == "permute" and len(node.args) > 2:
            for i in range(len(node.args) - 1):
                yield "transpose", "Two axes have changed places.", node, swapping("args", i, i + 1)
        words = f"Axes have not changed places: a `{name}` is missing."
        yield "transpose", words, node, receiver
    else:
        for axis in axes:
            right = number_of(axis)
            assert right is not None
            for now in OTHER_AXES.get(right, ()):
                yield "axis", axis_words(name, now, right), axis, constantly(now)
    for keyword in node.keywords:
        if keyword.arg == "keepdim":
            words = "An axis got lost: after the reduction, `keepdim=True` keeps it."
            yield "keepdim", words, node, without_keyword("keepdim")
        elif keyword.arg in ("descending", "largest", "correction", "unbiased"):
            words = (
                "The variance divides by n − 1 here; it divides by n."
                if keyword.arg in ("correction", "unbiased")
                else "The order is the wrong way round: the smallest come first."
            )
            yield "order", words, node, without_keyword(keyword.arg)
        elif keyword.arg == "offset":
            words = "It is off by one: the diagonal is the wrong one."
            yield "off by one", words, node, without_keyword("offset")
        elif keyword.arg in ("dim", "axis"):
            words = f"`{name}` runs over all axes at once: one axis is meant."
            yield "reduction", words, node, without_keyword(keyword.arg)
    if name in ("sum", "mean", "max", "amax", "any", "all", "prod") and axes and node.args:
        words = f"`{name}` runs over all axes at once: one axis is meant."
        yield "reduction", words, node, setting("args", [])
    if name in ("softmax", "log_softmax") and axes:
        yield from _overflowing(node, name)
    for good, wrong in INSTEAD:
        if name == good:
            words = f"`{wrong}` stands where `{good}` belongs."
            yield "function", words, node, renamed(wrong)
    if name in WITHOUT:
        words = f"The `{name}` is missing."
        if name == "flip":
            words = "The order is turned round: a `flip` is missing."
        yield "missing", words, node, receiver
    if len(node.args) == 2 and not axes and name not in ("range", "arange"):
        yield "swapped", "Two arguments have changed places.", node, swapping("args", 0, 1)
    if name in ("range", "arange") and len(node.args) >= 1:
        words = "It is off by one: the first one is left out."
        yield "off by one", words, node, late_start
    if name == "len":
        for by in (-1, 1):
            words = f"It is off by one: it ends one place too {'early' if by < 0 else 'late'}."
            yield "off by one", words, node, plus(by)


def _overflowing(node: ast.Call, name: str) -> Iterator[Found]:
    """Right in arithmetic, but not for every number in float32."""
    if name == "softmax":
        yield "overflow", OVERFLOWS, node, by_bare_exp
        return
    words = "A softmax rounds to 0 where a logit is very low, and log 0 is −∞: use `log_softmax`."
    yield "overflow", words, node, logarithm_of(renamed("softmax"))
    yield "overflow", OVERFLOWS, node, logarithm_of(by_bare_exp)


def step_left_out(node: ast.Assign | ast.AugAssign) -> str:
    if node.value is None:
        return "A step is missing."
    names = [label(n) for n in ast.walk(node.value) if isinstance(n, ast.Call)]
    known = next((n for n in names if n in WITHOUT), "")
    return f"A step is missing, the one with `{known}`." if known else "A step is missing."
