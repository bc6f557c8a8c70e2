"""Words that name a change of code, tried on the learner's own code before they are said.

A slip (slips.py) is known by what it does to the plain answer. In an answer that is written in
another way the same may come of something else: `== 2` and `== tuple(parts)` never hold, either of
them. So where the words say that one name or number stands for another, that is put right in the
answer itself, wherever it may be. If it does not make the answer right, nobody says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from attnlab.checks.own_code import Code, Edit
from attnlab.checks.quoted import reading, theirs

_NAME = re.compile(r"^`(\w+)` is used where `(\w+)` belongs|one step uses `(\w+)` for `(\w+)`")
_FIXED = re.compile(r"^`(\w+)` plays no part in one place")
_NUMBER = re.compile(r"(?:a|wrong:) (-?[\d.e+-]+) stands where (?:a )?(-?[\d.e+-]+) belongs")


def helps(
    answer: Any, plain: Any, words: str, right: Callable[[], Callable[[Callable[..., Any]], bool]]
) -> bool:
    """Does the change that these words name make the answer right?

    True as well where there is nothing to try: other words, or no code to read. `right` makes the
    judge, which takes its time.
    """
    if not any(pattern.search(words) for pattern in (_NAME, _FIXED, _NUMBER)):
        return True
    try:
        code = Code(answer)
        own, model = reading(answer), reading(plain)
    except (OSError, SyntaxError, TypeError, IndexError, ValueError):
        return True
    if own is None or model is None:
        return True
    judge = right()
    for edit in _edits(code, words, lambda name: theirs(own, model, name)):
        try:
            if judge(code.compiled(edit)):
                return True
        except (SyntaxError, ValueError, TypeError):
            continue
    return False


def _edits(code: Code, words: str, called: Callable[[str], str]) -> Iterator[Edit]:
    nodes = list(ast.walk(code.tree))
    if found := _NAME.search(words):
        wrong, better = (called(name) for name in found.groups() if name)
        for node in nodes:
            if isinstance(node, ast.Name) and node.id == wrong and isinstance(node.ctx, ast.Load):
                yield node, "id", better
    elif found := _FIXED.search(words):
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
                yield code.put(node, ast.Name(called(found[1]), ast.Load()))
    elif found := _NUMBER.search(words):
        wrong, better = found.groups()
        for node in nodes:
            if isinstance(node, ast.Constant | ast.UnaryOp) and _number(node) == float(wrong):
                yield code.put(node, ast.parse(better, mode="eval").body)


def _number(node: ast.expr) -> float | None:
    """A number as written, perhaps with a minus."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
