"""Verdict: the result of one check, as text and as HTML."""

from __future__ import annotations

import html
import re
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

from attnlab.checks.picture import svg

# Okabe–Ito green and vermilion: told apart by most colour-blind readers, and legible on white and
# on black. The mark and the words say the same, so nothing depends on the colour.
_COLOURS = {"passed": "#009E73", "failed": "#D55E00", "unfinished": "#808080"}


@dataclass(repr=False)
class Verdict:
    """What a check found. True when passed; `str()` is the text that was shown.

    It has no `repr`, so that a notebook cell ending in `check(…)` shows it once, not twice.
    """

    id: str
    title: str
    passed: bool
    message: str
    failed: str = ""  # the name of the property that did not hold
    held: int = 0  # properties that held before it
    total: int = 0
    unfinished: bool = False
    printed: str = ""  # what the learner's own function printed
    picture: dict[str, Any] | None = None  # expected and seen, for picture.py

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return ""

    def _ipython_display_(self) -> None:
        """Shown already."""

    @property
    def headline(self) -> str:
        name = f"{self.id.removeprefix('0')} {self.title}".strip()
        if self.passed:
            return f"{name}: all properties hold."  # no count: executed notebooks hold this text
        if self.unfinished:
            return f"{name}: not filled in yet."
        if self.failed:
            return f"{name}: not yet “{self.failed}” ({self.held} of {self.total} hold)."
        return f"{name}: not yet." if self.title else name

    def __str__(self) -> str:
        body = textwrap.fill(self.message, 96, initial_indent="  ", subsequent_indent="  ")
        parts = [f"{'✓' if self.passed else '✗'} {self.headline}", body]
        if self.printed.strip():
            parts += ["  Your function printed:", textwrap.indent(self.printed.rstrip(), "  | ")]
        return "\n".join(part for part in parts if part.strip())

    def html(self) -> str:
        state = "passed" if self.passed else "unfinished" if self.unfinished else "failed"
        colour, mark = _COLOURS[state], "✓" if self.passed else "✗"
        drawn = f"<br>{svg(self.picture)}" if self.picture and not self.passed else ""
        printed = ""
        if self.printed.strip():
            text = html.escape(self.printed.rstrip())
            printed = (
                f"<details><summary>Your function printed</summary><pre>{text}</pre></details>"
            )
        return (
            f'<div role="status" class="attnlab-check {state}" '
            f'style="border-left: 4px solid {colour}; padding: 0.4em 0.8em; margin: 0.4em 0">'
            f"<strong>{mark} {_inline(self.headline)}</strong>"
            f"<br>{_inline(self.message)}{drawn}{printed}</div>"
        )

    def show(self) -> None:
        """Display in a notebook, print elsewhere."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is None:
            print(self)
        else:
            from IPython.display import display

            display({"text/plain": str(self), "text/html": self.html()}, raw=True)


def _inline(text: str) -> str:
    """Escape, and turn `code` into code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
