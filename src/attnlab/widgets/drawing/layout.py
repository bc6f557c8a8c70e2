"""Places of parts: a grid whose columns and rows are as wide as their contents.

Units are those of the SVG: words are 16 high. A part is centred on its place; a matrix on its
table, so that arrows between tables are straight whatever is written around them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnlab.widgets.base import FigureError
from attnlab.widgets.drawing import words
from attnlab.widgets.drawing.parts import Arrow, Group, Matrix, Op, Part, Place, Text

FONT, DETAIL = 16.0, 14.0  # words, and the smaller ones
LINE, DETAIL_LINE = 20.0, 18.0
PAD_X, PAD_Y = 12.0, 9.0
PAD_TALL = 8.0  # beside the words of the tall drawing: a phone has no width to spare
TITLE = 24.0  # above a table
CELL = 25.0  # height of a cell with a number
FRAME, FRAME_LABEL = 13.0, 22.0  # a group: air around its parts, room for its words
LANE = 20.0  # room for an arrow that goes round


@dataclass(frozen=True)
class Rect:
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def grown(self, by: float) -> "Rect":
        return Rect(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def meets(self, other: "Rect") -> bool:
        """Whether the two overlap."""
        return (
            self.left < other.right - 0.01
            and other.left < self.right - 0.01
            and self.top < other.bottom - 0.01
            and other.top < self.bottom - 0.01
        )


def union(rects: Sequence[Rect]) -> Rect:
    """The smallest rectangle around all of them."""
    return Rect(
        min(r.left for r in rects),
        min(r.top for r in rects),
        max(r.right for r in rects),
        max(r.bottom for r in rects),
    )


@dataclass(frozen=True)
class Placed:
    """A part on the sheet: `room` is all it takes, `core` the frame or the table itself."""

    part: Part
    room: Rect
    core: Rect

    @property
    def ends(self) -> "Ends":
        if not isinstance(self.part, Matrix):
            return Ends(self.core, self.core)
        left = self.core.left - row_words(self.part)
        sides = Rect(left, self.room.top, self.core.right, self.room.bottom)
        return Ends(sides, self.core)


@dataclass(frozen=True)
class Ends:
    """Where arrows meet a part: on these sides, beside its core and not beside its words."""

    sides: Rect
    core: Rect


def row_words(part: Matrix) -> float:
    """How much room the words left of a table need."""
    return max((words.width(w, DETAIL) for w in map(str, part.rows)), default=-8.0) + 8.0


def cell_size(part: Matrix, texts: Sequence[str], columns: int) -> tuple[float, float]:
    """Width and height of a cell: as wide as its widest number or word below it."""
    below = max((words.width(str(w), DETAIL) + 8 for w in part.columns), default=0.0)
    if not texts:
        return max(part.cell, below), part.cell
    return max(max(words.width(text, DETAIL) for text in texts) + 10, below), CELL


def title_of(part: Matrix, size: tuple[int, int]) -> tuple[str, str]:
    """The name of a table, and its shape."""
    shape = f"{size[0]} × {size[1]}" if part.shape is None else part.shape
    return part.words, shape


@dataclass(frozen=True)
class Table:
    """What a Matrix draws: its size, its cells, and the texts in them (none without numbers)."""

    size: tuple[int, int]
    cell: tuple[float, float]
    texts: Sequence[str]


@dataclass(frozen=True)
class Cells:
    """The values of a Matrix (rows, columns), and how they become colours."""

    values: np.ndarray
    law: str
    scale: float


Extent = tuple[float, float, float, float]  # from the middle to the left, up, right, down


def measure(part: Part, table: Table | None, air: float) -> tuple[Extent, Extent]:
    """How far a part reaches from its place: all of it, and its core. `air` is beside its words."""
    if isinstance(part, Op):
        radius = max(13.0, words.width(part.words, FONT) / 2 + 5)
        return (radius,) * 4, (radius,) * 4
    if isinstance(part, Matrix):
        assert table is not None
        return _measure_table(part, table)
    lines = words.lines(part.words)
    detail = words.lines(getattr(part, "detail", ""))
    wide = max((words.width(line, FONT) for line in lines), default=0.0)
    wide = max([wide, *(words.width(line, DETAIL) for line in detail)])
    air_x, air_y = (3.0, 2.0) if isinstance(part, Text) else (air, PAD_Y)
    high = len(lines) * LINE + len(detail) * DETAIL_LINE + 2 * air_y
    half = (max(wide + 2 * air_x, 0.0 if isinstance(part, Text) else 46.0) / 2, high / 2)
    return (*half, *half), (*half, *half)


def _measure_table(part: Matrix, table: Table) -> tuple[Extent, Extent]:
    across = table.size[1] * table.cell[0] / 2
    down = table.size[0] * table.cell[1] / 2
    name, shape = title_of(part, table.size)
    title = words.width(name, FONT, bold=True) + (words.width("  " + shape, DETAIL) if shape else 0)
    above = TITLE if name or shape else 0.0
    below = DETAIL_LINE + 2 if part.columns else 0.0
    left = max(across + row_words(part), title / 2)
    room = (left, down + above, max(across, title / 2), down + below)
    return room, (across, down, across, down)


def grid(
    parts: Sequence[Part],
    places: Mapping[str, tuple[Place, Place]],
    tables: Mapping[str, Table],
    groups: Sequence[Group],
    arrows: Sequence[tuple[Arrow, str]],
    gap: tuple[float, float],
    air: float,
) -> dict[str, Placed]:
    """Put every part on the sheet. `arrows` come with the side that each goes round, or ""."""
    sizes = {part.name: measure(part, tables.get(part.name), air) for part in parts}
    heads = [_heading(group, places) for group in groups if group.label]
    xs = _axis(0, parts, places, sizes, _extras(0, places, groups, arrows), gap[0], heads)
    ys = _axis(1, parts, places, sizes, _extras(1, places, groups, arrows), gap[1])
    placed: dict[str, Placed] = {}
    for part in parts:
        (first, last), (room, core) = places[part.name], sizes[part.name]
        if first == last:
            x, y = _at(xs, first[0]), _at(ys, first[1])
            rects = [Rect(x - e[0], y - e[1], x + e[2], y + e[3]) for e in (room, core)]
        else:
            rects = [_stretched(xs, ys, first, last, room)] * 2
        placed[part.name] = Placed(part, *rects)
    _refuse_overlaps(placed, places)
    return placed


Axis = dict[int, tuple[float, float, float]]  # middle, reach before and after it


def _axis(
    axis: int,
    parts: Sequence[Part],
    places: Mapping[str, tuple[Place, Place]],
    sizes: Mapping[str, tuple[Extent, Extent]],
    extras: Mapping[float, float],
    gap: float,
    heads: Sequence[tuple[int, int, float]] = (),
) -> Axis:
    """The columns (axis 0) or rows (axis 1): where each is, and how far it reaches."""
    before: dict[int, float] = {}
    after: dict[int, float] = {}
    spans = list(heads)  # first line, last line, and how much room there must be
    for part in parts:
        (first, last), (room, _) = places[part.name], sizes[part.name]
        start, end = first[axis], last[axis]
        for line in {math.floor(start), math.ceil(end)}:
            before.setdefault(line, 10.0)
            after.setdefault(line, 10.0)
        if start == end and start == int(start):
            before[int(start)] = max(before[int(start)], room[axis])
            after[int(start)] = max(after[int(start)], room[axis + 2])
        elif start != end:
            spans.append((math.floor(start), math.ceil(end), room[axis] + room[axis + 2]))
    for first_line, last_line, wide in spans:  # a part that stretches may need wider columns
        covered = [line for line in before if first_line <= line <= last_line]
        there = sum(before[line] + after[line] for line in covered) + gap * (len(covered) - 1)
        for line in covered:
            before[line] += max(0.0, wide - there) / (2 * len(covered))
            after[line] += max(0.0, wide - there) / (2 * len(covered))
    made: Axis = {}
    at, previous = 0.0, None
    for line in sorted(before):
        if previous is not None:
            extra = sum(v for k, v in extras.items() if previous < k < line)
            at += after[previous] + max(gap, extras.get(-1000.0 - previous, 0.0)) + extra
            at += before[line]
        made[line] = (at, before[line], after[line])
        previous = line
    return made


def _heading(group: Group, places: Mapping[str, tuple[Place, Place]]) -> tuple[int, int, float]:
    """The columns of a group, and the room that its words need."""
    columns = [place[0] for name in group.parts for place in places[name]]
    wide = words.width(words.lines(group.label)[0], FONT, bold=True)
    return math.floor(min(columns)), math.ceil(max(columns)), wide


def _extras(
    axis: int,
    places: Mapping[str, tuple[Place, Place]],
    groups: Sequence[Group],
    arrows: Sequence[tuple[Arrow, str]],
) -> dict[float, float]:
    """More room between two lines: at line - 0.5 before it, at line + 0.5 after it.

    The key -1000 - line is for the least distance after a line, which a label of an arrow sets.
    """
    extras: dict[float, float] = {}

    def more(key: float, by: float) -> None:
        extras[key] = extras.get(key, 0.0) + by

    for group in groups:
        firsts = [places[name][0][axis] for name in group.parts]
        lasts = [places[name][1][axis] for name in group.parts]
        label = FRAME_LABEL if axis == 1 and group.label else 0.0
        more(math.floor(min(firsts)) - 0.4, FRAME + label)
        more(math.ceil(max(lasts)) + 0.4, FRAME)
    sides = (("left", "right"), ("above", "below"))[axis]
    for arrow, via in arrows:
        ends = [places[name] for name in (arrow.source, arrow.target) if name in places]
        if len(ends) < 2:
            continue
        lines = [place[axis] for end in ends for place in end]
        if via == sides[0]:
            more(math.floor(min(lines)) - 0.3, LANE)
        elif via == sides[1]:
            more(math.ceil(max(lines)) + 0.3, LANE)
        across = [end[0][1 - axis] for end in ends]
        text = label_of(arrow)
        if text and across[0] == across[1] and not via:
            need = words.width(text, DETAIL) + 30 if axis == 0 else 46.0
            key = -1000.0 - math.floor(min(lines))
            extras[key] = max(extras.get(key, 0.0), need)
    return extras


def label_of(arrow: Arrow) -> str:
    """What is written on an arrow."""
    if arrow.label or arrow.value is None:
        return arrow.label
    return f"{arrow.value:.2f}".replace("-", "−")


def _at(axis: Axis, place: float) -> float:
    low, high = axis[math.floor(place)][0], axis[math.ceil(place)][0]
    return low + (place - math.floor(place)) * (high - low)


def _stretched(xs: Axis, ys: Axis, first: Place, last: Place, room: Extent) -> Rect:
    """A part over several columns or rows: from the edge of the first to that of the last."""
    sides: list[tuple[float, float]] = []
    for axis, lines in enumerate((xs, ys)):
        start, end = first[axis], last[axis]
        if start == end:
            middle = _at(lines, start)
            sides.append((middle - room[axis], middle + room[axis + 2]))
        else:
            low, high = lines[math.floor(start)], lines[math.ceil(end)]
            sides.append((low[0] - low[1], high[0] + high[2]))
    return Rect(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def _refuse_overlaps(
    placed: Mapping[str, Placed], places: Mapping[str, tuple[Place, Place]]
) -> None:
    seen: list[tuple[str, Rect]] = []
    for name, one in placed.items():
        for other, room in seen:
            if one.room.meets(room):
                where = [f"{n!r} at {tuple(places[n][0])}" for n in (other, name)]
                raise FigureError(
                    f"the parts {where[0]} and {where[1]} lie on each other: give one of them "
                    "another column or row."
                )
        seen.append((name, one.room))
