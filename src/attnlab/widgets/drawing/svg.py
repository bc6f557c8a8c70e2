"""Draws a laid-out diagram as SVG. Colours are in diagram.css, except those of cells."""

import math
from collections.abc import Mapping, Sequence

from attnlab.widgets.drawing import colours, words
from attnlab.widgets.drawing.layout import (
    CELL,
    DETAIL,
    DETAIL_LINE,
    FONT,
    LINE,
    TITLE,
    Cells,
    Placed,
    Rect,
    Table,
    title_of,
)
from attnlab.widgets.drawing.parts import Group, Matrix, Op, Part, Text
from attnlab.widgets.drawing.routes import CORNER, Point, Route
from attnlab.widgets.drawing.words import number as n

HEAD = 10.0  # length of an arrow's head


def drawing(
    kind: str,
    placed: Mapping[str, Placed],
    made: Sequence[Route],
    frames: Sequence[tuple[Group, Rect, float]],
    tables: Mapping[str, Table],
    values: Mapping[str, Cells],
    thickness: Mapping[str, float],
    sheet: Rect,
) -> str:
    """The whole picture; `kind` is wide or tall."""
    wide, high = math.ceil(sheet.right - sheet.left), math.ceil(sheet.bottom - sheet.top)
    inside = "".join(_arrow(route, thickness.get(route.arrow.called)) for route in made)
    inside += "".join(_frame(*frame) for frame in frames)  # its words lie over arrows
    for name, one in placed.items():
        table = tables.get(name)
        body = _table(one, table, values.get(name)) if table else _box(one)
        inside += _wrapped(one.part, body)
    box = f"{n(sheet.left)} {n(sheet.top)} {wide} {high}"
    return (
        f'<svg class="al-dg-{kind}" viewBox="{box}" width="{wide}" height="{high}" '
        f'style="--w:{wide};--h:{high}" role="group" aria-label="Parts">{inside}</svg>'
    )


def _wrapped(part: Part, body: str) -> str:
    """A part as something that can be found, lit and, with a link, followed even without scripts"""
    kind = type(part).__name__.lower()
    said = words.plain(part.words) or part.name
    attributes = (
        f'class="al-dg-part al-dg-{kind}" data-part="{words.escape(part.name)}" '
        f'aria-label="{words.escape(said)}"{_hue(part.colour)}'
    )
    if part.link:
        return f'<a href="{words.escape(part.link)}" {attributes}>{body}</a>'
    return f"<g {attributes}>{body}</g>"


def _hue(colour: str) -> str:
    """The colour of a part, as a variable of the stylesheet."""
    return f' style="--dg:var(--al-{colour.replace(" ", "-")})"' if colour else ""


def _box(one: Placed) -> str:
    part, core = one.part, one.core
    x, y = core.middle
    if isinstance(part, Op):
        radius = (core.right - core.left) / 2
        return (
            f'<circle cx="{n(x)}" cy="{n(y)}" r="{n(radius)}"/>'
            + _line(part.words, x, y + FONT * 0.35, FONT)
        )  # fmt: skip
    shape = "" if isinstance(part, Text) else _rect(core, 7)
    lines, detail = words.lines(part.words), words.lines(getattr(part, "detail", ""))
    top = y - (len(lines) * LINE + len(detail) * DETAIL_LINE) / 2
    for line in lines:
        shape += _line(line, x, top + LINE * 0.74, FONT)
        top += LINE
    for line in detail:
        shape += _line(line, x, top + DETAIL_LINE * 0.74, DETAIL, "al-dg-small")
        top += DETAIL_LINE
    return shape


def _line(line: str, x: float, y: float, size: float, kind: str = "") -> str:
    extra = f' class="{kind}"' if kind else ""
    return f'<text x="{n(x)}" y="{n(y)}"{extra}>{words.tspans(line, size)}</text>'


def _rect(rect: Rect, radius: float, kind: str = "") -> str:
    extra = f' class="{kind}"' if kind else ""
    return (
        f'<rect x="{n(rect.left)}" y="{n(rect.top)}" width="{n(rect.right - rect.left)}" '
        f'height="{n(rect.bottom - rect.top)}" rx="{n(radius)}"{extra}/>'
    )


def _table(one: Placed, table: Table, values: Cells | None) -> str:
    part, core = one.part, one.core
    assert isinstance(part, Matrix)
    wide, high = table.cell
    name, shape = title_of(part, table.size)
    x = core.middle[0]
    made = ""
    if name or shape:
        back = words.drop(name, FONT)
        down = f' dy="{n(back)}"' if back else ""
        small = f'<tspan class="al-dg-small"{down}>  {words.tspans(shape, DETAIL)}</tspan>'
        title = words.tspans(name, FONT) + (small if shape else "")
        made += (
            f'<text x="{n(x)}" y="{n(core.top - TITLE + 16)}" class="al-dg-name" '
            f'xml:space="preserve">{title}</text>'
        )
    for row, word in enumerate(part.rows):
        y = core.top + (row + 0.5) * high + DETAIL * 0.35
        text = words.tspans(str(word), DETAIL)
        made += f'<text x="{n(core.left - 6)}" y="{n(y)}" class="al-dg-row">{text}</text>'
    for column, word in enumerate(part.columns):
        at = core.left + (column + 0.5) * wide
        made += _line(str(word), at, core.bottom + DETAIL_LINE - 3, DETAIL, "al-dg-small")
    cells = texts = ""
    for row in range(table.size[0]):
        for column in range(table.size[1]):
            left, top = core.left + column * wide, core.top + row * high
            fill = ink = ""
            if values is not None:
                fill, ink = colours.cell(
                    float(values.values[row, column]), values.scale, values.law
                )
            cells += f'<rect x="{n(left)}" y="{n(top)}" width="{n(wide)}" height="{n(high)}"'
            cells += f' fill="{fill}"/>' if fill else "/>"
            if table.texts:
                text = words.escape(table.texts[row * table.size[1] + column])
                y = top + CELL / 2 + DETAIL * 0.35
                texts += f'<text x="{n(left + wide / 2)}" y="{n(y)}" fill="{ink}">{text}</text>'
    filled = "" if values is None else " al-dg-filled"
    made += f'<g class="al-dg-cells{filled}">{cells}{texts}</g>'
    return made + _rect(Rect(core.left, core.top, core.right, core.bottom), 2, "al-dg-edge")


def _arrow(route: Route, thickness: float | None) -> str:
    """A line with round corners, its head and its words."""
    points = list(route.points)
    if route.arrow.head:
        points[-1] = _back(points[-2], points[-1], HEAD - 2)
    path = f"M{n(points[0][0])} {n(points[0][1])}"
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        one = _back(before, here, min(CORNER, _long(before, here) / 2))
        two = _back(after, here, min(CORNER, _long(after, here) / 2))
        path += f"L{n(one[0])} {n(one[1])}Q{n(here[0])} {n(here[1])} {n(two[0])} {n(two[1])}"
    path += f"L{n(points[-1][0])} {n(points[-1][1])}"
    stroke = f' style="stroke-width:{n(thickness)}"' if thickness is not None else ""
    made = f'<path d="{path}"{stroke}/>'
    if route.arrow.head:
        made += _head(route.points[-2], route.points[-1])
    if route.label:
        text, (x, y), anchor = route.label
        side = "" if anchor == "middle" else f' style="text-anchor:{anchor}"'
        made += f'<text x="{n(x)}" y="{n(y)}"{side}>{words.tspans(text, DETAIL)}</text>'
    dashed = " al-dg-dashed" if route.arrow.dashed else ""
    name = words.escape(route.arrow.called)
    return f'<g class="al-dg-arrow{dashed}" data-part="{name}" aria-hidden="true">{made}</g>'


def _long(a: Point, b: Point) -> float:
    return math.hypot(b[0] - a[0], b[1] - a[1])


def _back(origin: Point, end: Point, by: float) -> Point:
    """The point on the line from origin to end that is `by` before the end."""
    share = by / (_long(origin, end) or 1.0)
    return end[0] - share * (end[0] - origin[0]), end[1] - share * (end[1] - origin[1])


def _head(before: Point, tip: Point) -> str:
    foot = _back(before, tip, HEAD)
    across = (tip[1] - foot[1]) / HEAD * 4.6, -(tip[0] - foot[0]) / HEAD * 4.6
    corners = (
        tip,
        (foot[0] + across[0], foot[1] + across[1]),
        (foot[0] - across[0], foot[1] - across[1]),
    )
    at = "L".join(f"{n(x)} {n(y)}" for x, y in corners)
    return f'<path class="al-dg-head" d="M{at}Z"/>'


def _frame(group: Group, rect: Rect, heading: float) -> str:
    body = _rect(rect, 10)
    if group.label:
        text = words.tspans(words.lines(group.label)[0], FONT)
        at = f'x="{n(heading)}" y="{n(rect.top + 19)}"'
        body += f'<text {at} class="al-dg-name">{text}</text>'
    said = words.escape(words.plain(group.label) or group.name)
    attributes = (
        f'class="al-dg-group" data-part="{words.escape(group.name)}" aria-label="{said}"'
        f"{_hue(group.colour)}"
    )
    if group.link:
        return f'<a href="{words.escape(group.link)}" {attributes}>{body}</a>'
    return f"<g {attributes}>{body}</g>"
