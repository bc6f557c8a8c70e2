"""Where an answer went wrong, for the eye: expected, seen and their difference as small maps.

The colours and their law are those of the figures (`attnlab.palette`, "signed"): orange below 0,
blue above, one limit for the first two maps and one for the difference. An entry that is not a
number is a cross. The words beside it say the same for those who cannot see it.
"""

from __future__ import annotations

import html
import math
from typing import Any

import torch
from torch import Tensor

from attnlab import palette

MOST = 16  # rows and columns that are drawn
CELL = 12  # pixels

Table = list[list[float | None]]


def tables(seen: Any, expected: Any) -> dict[str, Any] | None:
    """Plain values for three maps, or None where a picture says nothing: single numbers, lists.

    With more than two axes, the matrix with the largest difference is shown.
    """
    if not isinstance(seen, Tensor) or not isinstance(expected, Tensor):
        return None
    if seen.shape != expected.shape or seen.numel() < 2 or expected.is_complex():
        return None
    a, b = expected.detach().double(), seen.detach().double()
    if a.ndim == 1:
        a, b = a[None], b[None]
    place: list[int] = []
    if a.ndim > 2:
        gap = (a - b).abs().nan_to_num(math.inf).flatten(0, -3).flatten(1)
        worst = int(gap.amax(1).argmax())
        place = [int(i) for i in torch.unravel_index(torch.tensor(worst), a.shape[:-2])]
        a, b = a.flatten(0, -3)[worst], b.flatten(0, -3)[worst]
    cut = (slice(0, MOST), slice(0, MOST))
    whole = tuple(a.shape)
    return {
        "place": place,
        "shape": list(whole),
        "expected": _plain(a[cut]),
        "seen": _plain(b[cut]),
    }


def _plain(matrix: Tensor) -> Table:
    return [[x if math.isfinite(x) else None for x in row] for row in matrix.tolist()]


def svg(found: dict[str, Any]) -> str:
    """The three maps side by side, with alt text."""
    expected, seen = found["expected"], found["seen"]
    gap = [
        [None if a is None or b is None else b - a for a, b in zip(*rows, strict=True)]
        for rows in zip(expected, seen, strict=True)
    ]
    limit = _limit(expected, seen)
    rows, columns = len(gap), len(gap[0])
    width = max(columns * CELL, 78)
    parts = []
    for i, (name, table, most) in enumerate(
        (("expected", expected, limit), ("yours", seen, limit), ("difference", gap, _limit(gap)))
    ):
        left = i * (width + 16)
        parts.append(
            f'<text x="{left}" y="12" font-size="12" fill="currentColor">{name}</text>'
            f'<g transform="translate({left} 18)">{_cells(table, most)}</g>'
        )
    size = (3 * width + 32, rows * CELL + 20)
    alt = html.escape(words(found, gap))
    return (
        f'<svg role="img" aria-label="{alt}" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" style="max-width: 100%; margin-top: 0.5em">'
        f"<title>{alt}</title>{''.join(parts)}</svg>"
    )


def words(found: dict[str, Any], gap: Table) -> str:
    """What the picture shows."""
    shape = " × ".join(map(str, found["shape"]))
    expected, seen = found["expected"], found["seen"]
    bad = [
        (math.inf if g is None else abs(g), i, j)
        for i, row in enumerate(gap)
        for j, g in enumerate(row)
        if _differs(g, expected[i][j], seen[i][j])
    ]
    where = f", the part at {found['place']}" if found["place"] else ""
    text = f"Maps of what was expected, what came, and the difference: {shape} numbers{where}."
    if not bad:
        return f"{text} The difference lies outside the part that is drawn."
    _, i, j = max(bad)
    came, right = (_said(table[i][j]) for table in (seen, expected))
    return f"{text} {len(bad)} differ, most of all row {i}, column {j}: {came} instead of {right}."


def _differs(gap: float | None, expected: float | None, seen: float | None) -> bool:
    if gap is None:
        return (expected is None) != (seen is None)
    return abs(gap) > 1e-5 + 1e-4 * abs(expected or 0)


def _said(value: float | None) -> str:
    return "no number" if value is None else f"{value:.3g}"


def _limit(*found: Table) -> float:
    return max((abs(x) for t in found for row in t for x in row if x is not None), default=0) or 1


def _cells(table: Table, limit: float) -> str:
    drawn = []
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            x, y = j * CELL, i * CELL
            ink = _ink(0 if value is None else value / limit)
            drawn.append(
                f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{ink}" '
                f'stroke="{palette.colour("line")}" stroke-width="0.5"/>'
            )
            if value is None:
                drawn.append(
                    f'<path d="M{x + 2} {y + 2}l8 8m0 -8l-8 8" '
                    f'stroke="{palette.colour("red")}" stroke-width="1.5"/>'
                )
    return "".join(drawn)


def _ink(place: float) -> str:
    """The colour of a number from −1 to 1 on the ramp "signed"."""
    return "#{:02x}{:02x}{:02x}".format(*palette.on_ramp("signed", (place + 1) / 2))
