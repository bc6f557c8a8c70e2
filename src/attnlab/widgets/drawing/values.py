"""The numbers of a `Diagram`: in the cells of its matrices, on its arrows, at each step."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab.widgets.base import FigureError, as_array
from attnlab.widgets.drawing.colours import LAWS, law_of
from attnlab.widgets.drawing.layout import Cells, Table, cell_size
from attnlab.widgets.drawing.parts import Arrow, Group, Matrix, Part, Step
from attnlab.widgets.drawing.sheet import Description

MOST_CELLS = 1024  # of one matrix
WITH_NUMBERS = 40  # cells; more are shown by colour alone, unless numbers=True

Values = dict[str, np.ndarray]


def values_of(
    parts: Sequence[Part], arrows: Sequence[Arrow], steps: Sequence[Step]
) -> list[Values]:
    """The values that are given: at the start, then those that each step changes."""
    start = {p.name: _matrix(p) for p in parts if isinstance(p, Matrix) and p.values is not None}
    carried = {arrow.called for arrow in arrows if arrow.value is not None}
    found = [start]
    for number, step in enumerate(steps, start=1):
        here: Values = {}
        for name, given in step.values.items():
            where = f"step {number} changes {name!r}"
            if name in carried:
                here[name] = as_array(where, given, "float64").reshape(())
            elif name not in start:
                raise FigureError(
                    f"{where}, which has no values: give the Matrix values, or the arrow a value."
                )
            else:
                here[name] = np.atleast_2d(as_array(where, given, "float64"))
                if here[name].shape != start[name].shape:
                    raise FigureError(
                        f"{where} to shape {here[name].shape}, but it has {start[name].shape}."
                    )
        found.append(here)
    return found


def _matrix(part: Matrix) -> np.ndarray:
    """The values of a matrix, (rows, columns)."""
    values = np.atleast_2d(as_array(f"the matrix {part.name!r}", part.values, "float64"))
    if values.ndim != 2 or not values.size:
        raise FigureError(
            f"the matrix {part.name!r} has shape {values.shape}: it shows rows and columns; choose "
            "one head and one sentence."
        )
    if part.size is not None and tuple(part.size) != values.shape:
        raise FigureError(
            f"the matrix {part.name!r} has values of shape {values.shape} and the size "
            f"{tuple(part.size)}: leave size out."
        )
    return values


def most_carried(arrows: Sequence[Arrow], values: list[Values]) -> float:
    """The largest value that an arrow ever carries: it is drawn thickest."""
    carried = {a.called: abs(float(a.value)) for a in arrows if a.value is not None}
    later = [abs(float(v)) for step in values for name, v in step.items() if name in carried]
    return max([*carried.values(), *later], default=0.0) or 1.0


def describe(
    parts: Sequence[Part],
    arrows: Sequence[Arrow],
    groups: Sequence[Group],
    values: list[Values],
    most: float,
) -> Description:
    tables: dict[str, Table] = {}
    shown: dict[str, Cells] = {}
    for part in parts:
        if not isinstance(part, Matrix):
            continue
        size = values[0][part.name].shape if part.name in values[0] else part.size
        if size is None:
            raise FigureError(f"the matrix {part.name!r} has neither values nor a size.")
        rows, columns = int(size[0]), int(size[1])
        if rows * columns > MOST_CELLS or min(rows, columns) < 1:
            raise FigureError(
                f"the matrix {part.name!r} is {rows} × {columns}: a diagram shows 1 to "
                f"{MOST_CELLS} cells. Slice it, or use AttentionHeatmap."
            )
        for kind, given, count in (("rows", part.rows, rows), ("columns", part.columns, columns)):
            if len(given) not in (0, count):
                raise FigureError(
                    f"the matrix {part.name!r} has {count} {kind} but {len(given)} words for them."
                )
        every = [step[part.name] for step in values if part.name in step]
        written = part.numbers if part.numbers is not None else rows * columns <= WITH_NUMBERS
        digits = _digits(part, every)
        first = _texts(every[0], digits) if every and written else []
        widest = [text for one in every for text in _texts(one, digits)] if first else []
        tables[part.name] = Table((rows, columns), cell_size(part, widest, columns), first)
        if every:
            law = part.law or law_of(every)
            if law not in LAWS:
                raise FigureError(
                    f"the matrix {part.name!r} has the law {law!r}: choose one of "
                    f"{', '.join(LAWS)}."
                )
            largest = max(float(np.abs(one).max()) for one in every)
            scale = part.scale or (1.0 if law == "weights" else largest) or 1.0
            shown[part.name] = Cells(every[0], law, float(scale))
    thick = {a.called: thickness(float(a.value), most) for a in arrows if a.value is not None}
    return Description(parts, arrows, groups, tables, shown, thick)


def thickness(value: float, most: float) -> float:
    """How thick an arrow is that carries a value, in units."""
    return 1.2 + 4.8 * min(1.0, abs(value) / most)


def _digits(part: Matrix, every: Sequence[np.ndarray]) -> int:
    """Digits after the point: none when all numbers are whole."""
    if part.digits is not None:
        return part.digits
    return 0 if all(np.array_equal(one, np.round(one)) for one in every) else 2


def _texts(values: np.ndarray, digits: int) -> list[str]:
    rounded = np.round(values, digits) + 0.0  # no −0
    return [f"{value:.{digits}f}".replace("-", "−") for value in rounded.ravel()]


def tables_of(parts: Sequence[Part], what: Description, values: list[Values]) -> dict[str, Any]:
    """What the page needs to paint the cells again."""
    return {
        part.name: {
            "values": np.round(values[0][part.name], 4).tolist(),
            "law": what.values[part.name].law,
            "scale": round(what.values[part.name].scale, 4),
            "digits": _digits(part, [step[part.name] for step in values if part.name in step]),
        }
        for part in parts
        if isinstance(part, Matrix) and part.name in what.values
    }
