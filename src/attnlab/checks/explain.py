"""A learner's exception, or an unfinished stub, in one sentence."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sysconfig
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


class Mistake(Exception):  # noqa: N818 - it is what the learner made, not an error of ours
    """What a property saw and expected, and the likely cause: one sentence each."""

    picture: dict[str, Any] | None = None  # what picture.py draws of it

    def __init__(self, seen: str, likely: str = "", sure: bool = False) -> None:
        super().__init__(seen, likely)
        self.seen = seen
        self.likely = likely
        self.sure = sure  # the likely cause is the cause: no other is looked for


class Unfinished(Mistake):
    """Nothing is wrong yet: the stub has not been filled in."""


# Code that a learner did not write: a traceback is read up to the last line outside these.
_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {str(Path(torch.__file__).parent), str(Path(__file__).parents[1])}
)

# The commonest messages of Python and torch, and what they mean here. The first match is used.
_MEANINGS: list[tuple[type[BaseException], str, str]] = [
    (
        NameError,
        r"name '(\w+)' is not defined",
        "`{0}` has no value here: is the step that makes it missing, or the cell that defines or "
        "imports it not run?",
    ),
    (UnboundLocalError, r"variable '(\w+)'", "`{0}` is read before it gets a value."),
    (
        AttributeError,
        r"'NoneType' object",
        "Something on that line is None: a `return` may be missing.",
    ),
    (AttributeError, r"'numpy.ndarray' object", "Stay in torch: `torch.tensor`, not NumPy."),
    (
        RuntimeError,
        r"cannot be multiplied|[Ee]xpected size for first two|size mismatch|not aligned"
        r"|inconsistent tensor size|incompatible",
        "In a product `a @ b` the last axis of a meets the last but one of b. `b.transpose(-2, "
        "-1)` swaps the last two axes of b, with or without a batch.",
    ),
    (
        RuntimeError,
        r"must match the (existing )?size|shape mismatch|not broadcastable|does not broadcast",
        "Two shapes do not fit together: `print(a.shape, b.shape)` before that line shows them. "
        "After a sum or a maximum, `keepdim=True` keeps its axis.",
    ),
    (
        RuntimeError,
        r"same dtype|expected scalar type|dtype",
        "Two dtypes meet: look at the `dtype` of each.",
    ),
    (
        IndexError,
        r"[Dd]imension out of range",
        "Count axes from the back (-1, -2): a batch may be in front.",
    ),
    (RuntimeError, r"can't call numpy|numpy\(\) on", "Stay in torch: NumPy cuts the gradient."),
    (
        RuntimeError,
        r"leaf [Vv]ariable|in-?place operation",
        "Make a new tensor instead of changing one.",
    ),
    (
        RuntimeError,
        r"t\(\) expects|must be a matrix|matrices expected|must be a 3D|input.dim\(\) = \d",
        "A batch may come in front. `@` and `.transpose(-2, -1)` work with any number of axes.",
    ),
    (
        RuntimeError,
        r"1D tensors expected",
        "`torch.dot` takes two vectors. `a @ b` makes the dot products of all rows and columns.",
    ),
    (
        RuntimeError,
        r"einsum\(\): the number of subscripts",
        "In an equation `...` stands for a batch of any kind: `'...ij,...jk->...ik'`.",
    ),
    (
        RuntimeError,
        r"Boolean value of Tensor",
        "`not`, `and`, `or` and `if` want one truth value. Entry by entry it is `~`, `&` and `|`.",
    ),
    (
        IndexError,
        r"shape of the mask",
        "Indexing with a mask does not broadcast. `masked_fill` and `torch.where` do.",
    ),
    (IndexError, r"out of bounds", "A loop or an index runs past the end of an axis."),
    (
        TypeError,
        r"must be Tensor, not (int|float)",
        "That function of torch wants a tensor. For a plain number take the one in `math`.",
    ),
    (
        TypeError,
        r"must be Tensor, not tensor",
        "Inside a block only Triton's own functions work: `tl.maximum`, `tl.max`, `tl.exp`, …",
    ),
    (
        AttributeError,
        r"'tensor' object has no attribute",
        "Inside a block only Triton's own functions work: `tl.maximum`, `tl.max`, `tl.exp`, …",
    ),
    (
        TypeError,
        r"for @: 'tensor' and 'tensor'",
        "In Triton the product of two blocks is `tl.dot(a, b)`.",
    ),
    (TypeError, r"'Tensor' object is not callable", "A matrix is multiplied, `x @ w`, not called."),
    (RecursionError, r"", "It calls itself without end."),
    (MemoryError, r"", "It asks for far more memory than these small inputs need."),
    (SystemExit, r"", "An answer ends with `return`, not with `exit()`."),
]


_TURNED = (
    "`.T` turns all the axes round, the batch too. `.transpose(-2, -1)` or `.mT` swaps only the "
    "last two."
)


def raised(error: BaseException, name: str, given: str) -> Mistake:
    """The sentence for an exception out of the learner's function, with the line it came from."""
    text = shorten(re.sub(r"\s+", " ", words_of(error).strip().split("\n")[0]), 160)
    what = type(error).__name__ + (f": {text}" if text else "")
    frames = traceback.extract_tb(error.__traceback__, limit=-50)
    place = where([(frame.filename, frame.lineno or 0) for frame in reversed(frames)])
    if isinstance(error, NotImplementedError) and "NotImplementedError" in place:
        return Unfinished(f"`{name}` says it is not implemented.")
    seen = f"`{name}` raised {what.rstrip('.')}{f' ({place})' if place else ''}."
    likely = _TURNED if re.search(r"\.T\b", place) and _clash(error) else _meaning(error)
    return Mistake(f"{seen} It was called with {given}.", likely)


def own_line(error: BaseException, function: Any) -> int:
    """Which line of the function's own source raised it, the first being 1; 0 if none did."""
    try:
        own = inspect.unwrap(function).__code__
    except (AttributeError, ValueError):
        return 0
    found, step = 0, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is own:
            found = step.tb_lineno - own.co_firstlineno + 1
        step = step.tb_next
    return found


def words_of(error: BaseException) -> str:
    """Its message; an exception may be as broken as the answer it comes from."""
    try:
        return str(error)
    except Exception:
        return ""


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def where(stack: list[tuple[str, int]]) -> str:
    """The learner's own line in a stack, innermost first: "line 3: `scores = q @ k`"."""
    for file, line in stack:
        if not file.startswith((*_LIBRARIES, "<frozen")):
            text = linecache.getline(file, line).strip()
            return f"line {line}: `{shorten(text, 80)}`" if text else f"line {line}"
    return ""


def blank(function: Any, anywhere: bool = True) -> str | None:
    """What is still to be filled in, if anything: a line with `...` in it, or an empty body.

    Unless `anywhere`, only `x = ...`, `return ...`, `if ...` and a line of its own count.

    `x[..., 0]`, `tuple[int, ...]` and `(..., 0)` are no blanks: an Ellipsis inside square brackets
    or a tuple belongs there.
    """
    tree, lines = _source(function)
    if tree is None:
        return None
    at_home = {n for s in ast.walk(tree) if isinstance(s, ast.Subscript) for n in ast.walk(s.slice)}
    if not anywhere:
        lines_of_its_own = (ast.Assign, ast.Return, ast.If, ast.Expr, ast.While)
        whole = [n for n in ast.walk(tree) if isinstance(n, lines_of_its_own)]
        values = {getattr(n, "test", getattr(n, "value", None)) for n in whole}
        at_home |= {n for n in ast.walk(tree) if isinstance(n, ast.Constant)} - values
    at_home |= {n for s in ast.walk(tree) if isinstance(s, ast.Tuple | ast.List) for n in s.elts}
    for node in _in_order(tree):
        if isinstance(node, ast.Constant) and node.value is ... and node not in at_home:
            line = lines[node.lineno - 1].split("#")[0].strip()
            return f"the line `{line}` is still to be written"
    body = getattr(tree.body[0], "body", []) if isinstance(tree, ast.Module) and tree.body else []
    if body and all(isinstance(n, ast.Pass) or _is_docstring(n) for n in body):
        return "its body is still empty"
    return None


def takes(function: Callable[..., Any], count: int) -> bool:
    """Can this be called with this many arguments?"""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature; the call itself will tell
        return True
    return True


def parameters(function: Callable[..., Any]) -> str:
    """The arguments a function takes, as a learner wrote them."""
    names = ", ".join(str(p).split(":")[0] for p in inspect.signature(function).parameters.values())
    return f"({names})"


def _clash(error: BaseException) -> bool:
    """Two shapes that do not fit, with a batch in front?"""
    return bool(re.search(r"must match the size|[Ee]xpected size for first two", words_of(error)))


def _meaning(error: BaseException) -> str:
    for type_, pattern, words in _MEANINGS:
        if isinstance(error, type_) and (match := re.search(pattern, words_of(error))):
            return words.format(*match.groups()) if "{0}" in words else words
    return ""


def _source(function: Any) -> tuple[ast.AST | None, list[str]]:
    if isinstance(function, torch.nn.Module):
        function = type(function).forward
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
        return ast.parse(text), text.splitlines()
    except Exception:  # no source at hand (exec, built-ins, a lambda inside a call): nothing to say
        return None, []


def _in_order(tree: ast.AST) -> list[ast.expr | ast.stmt]:
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr | ast.stmt)]
    return sorted(nodes, key=lambda n: (n.lineno, n.col_offset))


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
