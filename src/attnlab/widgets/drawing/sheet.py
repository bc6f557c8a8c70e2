"""One drawing from a description: places, paths, frames, SVG. Made twice, wide and tall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnlab.widgets.base import FigureError
from attnlab.widgets.drawing import svg, words
from attnlab.widgets.drawing.layout import (
    DETAIL,
    FONT,
    FRAME,
    FRAME_LABEL,
    PAD_TALL,
    PAD_X,
    Cells,
    Ends,
    Placed,
    Rect,
    Table,
    grid,
    union,
)
from attnlab.widgets.drawing.parts import Arrow, Group, Part, Place
from attnlab.widgets.drawing.routes import Route, hits, label_places, routes

TURNED = {"left": "above", "right": "below", "above": "left", "below": "right", "": ""}


@dataclass(frozen=True)
class Description:
    """What is drawn, checked: names are known and no name is used twice."""

    parts: Sequence[Part]
    arrows: Sequence[Arrow]
    groups: Sequence[Group]
    tables: Mapping[str, Table]
    values: Mapping[str, Cells]
    thickness: Mapping[str, float]


@dataclass(frozen=True)
class Sheet:
    """A drawing, and its natural size."""

    svg: str
    width: float
    height: float


def sheet(
    what: Description,
    kind: str,
    places: Mapping[str, tuple[Place, Place]],
    gap: tuple[float, float],
    *,
    turned: bool,
) -> Sheet:
    """Draw it with these places; `turned` exchanges columns and rows, and sides with them."""
    if turned:
        places = {n: (_swapped(first), _swapped(last)) for n, (first, last) in places.items()}
    arrows = [(arrow, _side(arrow, kind, turned)) for arrow in what.arrows]
    air = PAD_X if kind == "wide" else PAD_TALL
    placed = grid(what.parts, places, what.tables, what.groups, arrows, gap, air)
    ports = {name: one.ends for name, one in placed.items()}
    rooms = {name: one.room for name, one in placed.items()}
    columns = {place[0] for pair in places.values() for place in pair}
    rows = {place[1] for pair in places.values() for place in pair}
    flow = "right" if len(columns) >= len(rows) else "below"
    inside = {group.name: set(group.parts) for group in what.groups}
    plain = [pair for pair in arrows if not {pair[0].source, pair[0].target} & set(inside)]
    made = routes(plain, ports, rooms, flow, inside)
    frames = _frames(what.groups, placed, made)
    to_groups = [pair for pair in arrows if pair not in plain]
    around = {**ports, **{group.name: Ends(rect, rect) for group, rect in frames}}
    made += routes(to_groups, around, rooms, flow, inside, made)
    made = label_places(made, list(rooms.values()))
    whole = union([*rooms.values(), *(rect for _, rect in frames), *_boxes(made)]).grown(6)
    heads = [(group, rect, _heading(group, rect, made)) for group, rect in frames]
    text = svg.drawing(kind, placed, made, heads, what.tables, what.values, what.thickness, whole)
    return Sheet(text, whole.right - whole.left, whole.bottom - whole.top)


def _swapped(place: Place) -> Place:
    return place[1], place[0]


def _side(arrow: Arrow, kind: str, turned: bool) -> str:
    if not isinstance(arrow.via, str):
        return arrow.via[0 if kind == "wide" else 1]
    return TURNED[arrow.via] if turned else arrow.via


def _frames(
    groups: Sequence[Group], placed: Mapping[str, Placed], made: Sequence[Route]
) -> list[tuple[Group, Rect]]:
    """The frame of each group: its parts, the arrows between them, and the frames within."""
    found: list[tuple[Group, Rect]] = []
    for group in sorted(groups, key=lambda g: len(g.parts)):
        names = set(group.parts)
        rects = [placed[name].room for name in names]
        rects += [rect for inner, rect in found if set(inner.parts) <= names]
        rects += [
            union([Rect(*p, *p) for p in route.points])
            for route in made
            if {route.arrow.source, route.arrow.target} <= names
        ]
        rect = union(rects).grown(FRAME)
        if group.label:
            need = words.width(words.lines(group.label)[0], FONT, bold=True) + 2 * FRAME
            more = max(0.0, need - (rect.right - rect.left)) / 2
            rect = Rect(
                rect.left - more, rect.top - FRAME_LABEL + 4, rect.right + more, rect.bottom
            )
        for name, one in placed.items():
            if name not in names and one.room.meets(rect):
                raise FigureError(
                    f"the frame of the group {group.name!r} runs over the part {name!r}, which is "
                    "not in it: move the part, or add it to the group."
                )
        for other, frame in found:
            if frame.meets(rect) and not set(other.parts) <= names:
                raise FigureError(
                    f"the frames of the groups {other.name!r} and {group.name!r} lie on each "
                    "other: move their parts apart."
                )
        found.append((group, rect))
    return found[::-1]


def _heading(group: Group, rect: Rect, made: Sequence[Route]) -> float:
    """Where the words of a frame begin: on the left, or where no arrow runs through them."""
    if not group.label:
        return rect.left
    wide = words.width(words.lines(group.label)[0], FONT, bold=True)
    spots = [rect.left + 11, rect.right - wide - 11, (rect.left + rect.right - wide) / 2]
    return min(
        spots,
        key=lambda x: sum(
            hits(route.points, [Rect(x, rect.top + 5, x + wide, rect.top + 22)]) for route in made
        ),
    )


def _boxes(made: Sequence[Route]) -> list[Rect]:
    """What the arrows and their words take, for the edge of the sheet."""
    rects = [union([Rect(*p, *p) for p in route.points]) for route in made]
    for route in made:
        if route.label:
            text, (x, y), anchor = route.label
            wide = words.width(text, DETAIL)
            left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            rects.append(Rect(left, y - 12, left + wide, y + 4))
    return rects
