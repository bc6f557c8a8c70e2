"""Paths of arrows: right angles with round corners, around the parts that are not theirs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from attnlab.widgets.base import FigureError
from attnlab.widgets.drawing import words
from attnlab.widgets.drawing.layout import DETAIL, LANE, Ends, Rect, label_of
from attnlab.widgets.drawing.parts import SIDES, Arrow

Point = tuple[float, float]
OUT: dict[str, Point] = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}
BEND, STEP, CORNER = 40.0, 15.0, 8.0
ASIDE = 60.0  # what leaving or arriving across the flow costs
WRONG_WAY = 70.0  # what leaving against the flow of the drawing costs
HIT, SHARED, CROSSED = 10_000.0, 400.0, 30.0


@dataclass(frozen=True)
class Route:
    """An arrow's path: its corners, and the sides at which it leaves and arrives."""

    arrow: Arrow
    points: tuple[Point, ...]
    leaves: str
    arrives: str
    label: tuple[str, Point, str] | None = None  # words, where, text-anchor

    @property
    def segments(self) -> list[tuple[Point, Point]]:
        return list(pairwise(self.points))


def routes(
    arrows: Sequence[tuple[Arrow, str]],
    ports: Mapping[str, Ends],
    rooms: Mapping[str, Rect],
    flow: str,
    inside: Mapping[str, set[str]],
    done: Sequence[Route] = (),
) -> list[Route]:
    """The path of each arrow. `inside` holds the parts of a group, which is no wall for them."""
    made: list[Route] = []
    for arrow, via in arrows:
        own = {arrow.source, arrow.target}
        own |= {part for end in tuple(own) for part in inside.get(end, ())}
        walls = {name: room for name, room in rooms.items() if name not in own}
        made.append(_best(arrow, via, ports, walls, flow, [*done, *made]))
    spread = _spread(made, ports)
    checked = [
        new if hits(new.points, [r for n, r in rooms.items() if n not in _own(new, inside)]) == 0
        else old
        for old, new in zip(made, spread, strict=True)
    ]  # fmt: skip
    return checked


def _own(route: Route, inside: Mapping[str, set[str]]) -> set[str]:
    ends = {route.arrow.source, route.arrow.target}
    return ends | {part for end in ends for part in inside.get(end, ())}


def _best(
    arrow: Arrow,
    via: str,
    ports: Mapping[str, Ends],
    walls: Mapping[str, Rect],
    flow: str,
    others: Sequence[Route],
) -> Route:
    a, b = ports[arrow.source], ports[arrow.target]
    choices = sorted(_candidates(arrow, via, a, b, flow), key=lambda pair: pair[0])
    best: tuple[float, Route] | None = None
    rects = list(walls.values())
    narrow = min(b.core.right - b.core.left, b.core.bottom - b.core.top) < 3 * STEP
    for cost, route in choices:
        if best is not None and cost >= best[0]:
            break
        total = cost + HIT * hits(route.points, rects) + _meets(route, others, narrow)
        if best is None or total < best[0]:
            best = (total, route)
    if best is None or best[0] >= HIT:
        hit = [n for n, r in walls.items() if best and hits(best[1].points, [r])]
        through = f" except through {' and '.join(map(repr, hit))}" if hit else ""
        raise FigureError(
            f"the arrow {arrow.called!r} finds no way{through}: move a part, or give the arrow "
            'another side with via="left", "right", "above" or "below".'
        )
    return best[1]


def _candidates(
    arrow: Arrow, via: str, a: Ends, b: Ends, flow: str
) -> Iterator[tuple[float, Route]]:
    pairs = [(via, via)] if via else list(product(SIDES, SIDES))
    opposite = {"right": "left", "below": "above"}[flow]
    for leaves, arrives in pairs:
        start, end = _port(a, b, leaves), _port(b, a, arrives)
        gap = abs((end[0] - start[0]) if leaves in ("left", "right") else (end[1] - start[1]))
        stubs = {LANE - 4, LANE + 8, LANE + 20} if via else {14.0, 24.0, max(7.0, gap / 2)}
        wrong = WRONG_WAY * ((leaves == opposite) + (arrives == flow)) if not via else 0.0
        side = ASIDE * ((leaves != flow) + (arrives != opposite))  # with the flow, when in doubt
        for out, back, corner in product(stubs, stubs, (0, 1)):
            points = _path(start, OUT[leaves], end, OUT[arrives], out, back, corner)
            if points is None:
                continue
            length = sum(abs(p[0] - q[0]) + abs(p[1] - q[1]) for p, q in pairwise(points))
            cost = length + BEND * (len(points) - 2) + wrong + side
            yield cost, Route(arrow, points, leaves, arrives)


def _port(a: Ends, b: Ends, side: str) -> Point:
    """Where an arrow between a and b meets that side of a: straight across, where it can."""
    flat = side in ("left", "right")
    (low, high), (low_b, high_b) = (
        (r.top, r.bottom) if flat else (r.left, r.right) for r in (a.core, b.core)
    )
    middle, middle_b = (low + high) / 2, (low_b + high_b) / 2
    along = middle
    if low_b + 6 <= middle <= high_b - 6:
        along = middle
    elif low + 6 <= middle_b <= high - 6:
        along = middle_b
    return {
        "left": (a.sides.left, along),
        "right": (a.sides.right, along),
        "above": (along, a.sides.top),
        "below": (along, a.sides.bottom),
    }[side]


def _path(
    start: Point, leave: Point, end: Point, arrive: Point, out: float, back: float, corner: int
) -> tuple[Point, ...] | None:
    """Corners from start to end, or None where the line would turn back on itself."""
    ahead = (end[0] - start[0]) * leave[0] + (end[1] - start[1]) * leave[1]
    beside = (end[0] - start[0]) * leave[1] + (end[1] - start[1]) * leave[0]
    if ahead > 0 and abs(beside) < 0.1 and leave == (-arrive[0], -arrive[1]):
        return (start, end)
    first = (start[0] + leave[0] * out, start[1] + leave[1] * out)
    last = (end[0] + arrive[0] * back, end[1] + arrive[1] * back)
    turn = (last[0], first[1]) if corner == 0 else (first[0], last[1])
    points: list[Point] = []
    for point in (start, first, turn, last, end):
        if points and abs(points[-1][0] - point[0]) < 0.1 and abs(points[-1][1] - point[1]) < 0.1:
            continue
        if len(points) >= 2:
            (x0, y0), (x1, y1) = points[-2:]
            one, two = (x1 - x0, y1 - y0), (point[0] - x1, point[1] - y1)
            if abs(one[0] * two[1] - one[1] * two[0]) < 0.1:  # on one line
                if one[0] * two[0] + one[1] * two[1] < 0:
                    return None
                points[-1] = point
                continue
        points.append(point)
    return tuple(points) if len(points) > 2 else None


def hits(points: Sequence[Point], rects: Sequence[Rect]) -> int:
    """How many of the rectangles the line runs through."""
    return sum(
        any(
            min(p[0], q[0]) < r.right + 3
            and max(p[0], q[0]) > r.left - 3
            and min(p[1], q[1]) < r.bottom + 3
            and max(p[1], q[1]) > r.top - 3
            for p, q in pairwise(points)
        )
        for r in rects
    )


def _meets(route: Route, others: Sequence[Route], narrow: bool) -> float:
    """What it costs to cross other arrows, or to lie on them; one source may share its line.

    Arrows that arrive at one side are spread later, but for a `narrow` part.
    """
    cost = 0.0
    for other in others:
        kin = route.arrow.source == other.arrow.source
        if kin and route.leaves == other.leaves:
            continue
        into = route.arrow.target == other.arrow.target and route.arrives == other.arrives
        for (p, q), (r, s) in product(route.segments, other.segments):
            flat, flat_other = p[1] == q[1], r[1] == s[1]
            if flat != flat_other:
                (h, v) = ((p, q), (r, s)) if flat else ((r, s), (p, q))
                if (
                    min(h[0][0], h[1][0]) < v[0][0] < max(h[0][0], h[1][0])
                    and min(v[0][1], v[1][1]) < h[0][1] < max(v[0][1], v[1][1])
                ):  # fmt: skip
                    cost += CROSSED
            else:
                axis = 0 if flat else 1
                apart = abs(p[1 - axis] - r[1 - axis])
                low = max(min(p[axis], q[axis]), min(r[axis], s[axis]))
                high = min(max(p[axis], q[axis]), max(r[axis], s[axis]))
                if apart < 6 and high - low > 2:
                    cost += 15.0 if into and not narrow else SHARED
    return cost


def _spread(made: Sequence[Route], ports: Mapping[str, Ends]) -> list[Route]:
    """Several arrows that arrive at one side of a part are spread along it."""
    result = list(made)
    sides: dict[tuple[str, str], list[int]] = {}
    for index, route in enumerate(made):
        sides.setdefault((route.arrow.target, route.arrives), []).append(index)
    for (name, side), indices in sides.items():
        if len(indices) < 2:
            continue
        axis = 1 if side in ("left", "right") else 0
        rect = ports[name].core
        low, high = ((rect.top, rect.bottom), (rect.left, rect.right))[1 - axis]
        ends = {i: made[i].points[-1][axis] for i in indices}
        order = sorted(indices, key=lambda i: (ends[i], made[i].points[0][axis]))
        if all(b - a >= STEP - 1 for a, b in pairwise(sorted(ends.values()))):
            continue
        straight = next((n for n, i in enumerate(order) if len(made[i].points) == 2), None)
        base = ends[order[straight]] if straight is not None else (low + high) / 2
        zero = straight if straight is not None else (len(order) - 1) / 2
        step = min(STEP, (high - low - 12) / max(1, len(order) - 1))
        for n, index in enumerate(order):
            goal = base + (n - zero) * step
            if low + 3 <= goal <= high - 3:
                result[index] = _moved(made[index], axis, goal)
    return result


def _moved(route: Route, axis: int, goal: float) -> Route:
    """The same path, its last line shifted to `goal`."""
    if len(route.points) < 3:
        return route
    points = list(route.points)
    for place in (-1, -2):
        point = [*points[place]]
        point[axis] = goal
        points[place] = (point[0], point[1])
    return replace(route, points=tuple(points))


def label_places(made: Sequence[Route], rooms: Sequence[Rect]) -> list[Route]:
    """Write the labels beside the lines, where nothing else is."""
    taken: list[Rect] = []
    result = []
    for route in made:
        text = label_of(route.arrow)
        if not text:
            result.append(route)
            continue
        wide = words.width(text, DETAIL)
        best: tuple[float, Rect, Point, str] | None = None
        for p, q in route.segments:
            long = abs(p[0] - q[0]) + abs(p[1] - q[1])
            x, y = (p[0] + q[0]) / 2, (p[1] + q[1]) / 2
            if p[1] == q[1]:
                spots = [((x, y - 8), "middle", 0.0), ((x, y + 17), "middle", 4.0)]
            else:
                spots = [((x + 7, y + 5), "start", 0.0), ((x - 7, y + 5), "end", 4.0)]
            for point, anchor, cost in spots:
                left = point[0] - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
                box = Rect(left, point[1] - 12, left + wide, point[1] + 4)
                cost += 1000.0 * sum(box.meets(r) for r in [*rooms, *taken])
                cost += 60.0 * sum(hits(other.points, [box]) for other in made)
                cost -= min(long, 60.0) / 4
                if best is None or cost < best[0]:
                    best = (cost, box, point, anchor)
        assert best is not None
        taken.append(best[1])
        result.append(replace(route, label=(text, best[2], best[3])))
    return result
