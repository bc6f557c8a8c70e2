"""A diagram: boxes, arrows and matrices, described here, laid out here, drawn as one SVG."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from traitlets import Dict, Int, List, Unicode, validate

from attnlab import palette
from attnlab.widgets.base import FigureError, LiveFigure, as_array, bundle, stylesheet
from attnlab.widgets.drawing import words
from attnlab.widgets.drawing.colours import LAWS, law_of
from attnlab.widgets.drawing.layout import Cells, Table, cell_size
from attnlab.widgets.drawing.parts import (
    SIDES,
    Arrow,
    Box,
    Group,
    Matrix,
    Op,
    Part,
    Place,
    Step,
    Text,
    chain,
)
from attnlab.widgets.drawing.sheet import Description, Sheet, sheet

__all__ = ["Arrow", "Box", "Diagram", "Group", "Matrix", "Op", "Step", "Text"]

MOST_CELLS = 1024  # of one matrix
WITH_NUMBERS = 40  # cells; more are shown by colour alone, unless numbers=True
READABLE = 0.75  # a wide drawing is shown no smaller than this: words of 12 pixels
LINK = re.compile(r"#\S+|[\w-]+\.html(#\S+)?")


class Diagram(LiveFigure):
    """Boxes, arrows and matrices; parts can be lit step by step, and clicked to jump to a section.

    from attnlab.widgets.diagram import Arrow, Box, Diagram, Group, Matrix, Op, Step

    Diagram(
        [
            Matrix("x", values=x, rows=words, at=(0, 1)),         # at = (column, row)
            Box("norm", "layer norm", at=(1, 1)),
            Box("mix", "attention", detail="softmax(Q K^T / √d_k) V", at=(2, 1), colour="attention",
                link="#step-3-three-matrices-three-jobs"),
            Op("add", at=(3, 1)),                                 # a circle with a +
            Matrix("y", size=(3, 4), shape="L × E", at=(4, 1)),   # no values: an empty table
        ],
        arrows=[
            "x -> norm -> mix: L × D",                            # the label is the last arrow's
            "mix -> add -> y",
            Arrow("x", "add", via="above"),                       # a residual path goes round
        ],
        groups=[Group("block", ["norm", "mix", "add"], "block × 6")],
        steps=[
            Step("Every word is a row of X.", lit=["x"]),
            Step("The words look at each other.", lit=["norm", "mix"]),
            Step("What they found is added.", lit=["mix", "add", "x->add", "y"]),
        ],
        title="One block", caption="What to look for.",
    )

    The drawing exists twice, wide for a desk and a slide, tall for a phone. By itself the tall one
    exchanges columns and rows, where that makes it narrower; `tall={"norm": (0, 1), …}` gives its
    places instead (a part that is not named keeps its place). An arrow with `via=("above", "left")`
    goes round above in the wide one, left in the tall one. `gap` is the least distance of columns
    and of rows; words are 16 units high, and a slide holds about 810 × 400 units at 24 pixels.
    `small` draws the wide one alone, as small as can be read: it was met before. Where a drawing is
    wider than its place, it scrolls sideways, to what is lit.

    `steps` become a slider and buttons on a page, and fragments on a slide; `step` is where it
    stands. `lit` lights parts without a step. `alt` is made from the description. What cannot be
    drawn is refused by name: unknown parts, parts on each other, arrows that find no way.
    """

    figure = "diagram"
    made = ("drawing", "steps", "picture")
    _esm, _css = bundle("diagram"), stylesheet("diagram")

    drawing = Dict().tag(sync=True)  # names, ends of arrows, values: what is not in the picture
    picture = Unicode("").tag(sync=True)  # both drawings; on a static page they are in the HTML
    steps = List(Dict()).tag(sync=True)
    step = Int(0).tag(sync=True)
    lit = List(Unicode()).tag(sync=True)

    def __init__(
        self,
        parts: Sequence[Part],
        arrows: Sequence[Arrow | str] = (),
        groups: Sequence[Group] = (),
        steps: Sequence[Step] = (),
        *,
        tall: Mapping[str, Place] | None = None,
        gap: tuple[float, float] = (36.0, 30.0),
        small: bool = False,
        **traits: Any,
    ):
        if isinstance(parts, str | Part) or not isinstance(parts, Iterable):
            raise FigureError(f"parts is a {type(parts).__name__}: give a list of parts.")
        lines = [
            one for given in arrows for one in (chain(given) if isinstance(given, str) else [given])
        ]
        _check(parts, lines, groups)
        nested = {group.name: group for group in groups}
        flat = [_flat(group, nested) for group in groups]
        values = _values(parts, lines, steps)
        most = _most(lines, values)
        what = _describe(parts, lines, flat, values, most)
        self.sheets = _sheets(what, _places(parts), tall, gap)
        drawing = {
            "parts": {part.name: words.plain(part.words) or part.name for part in parts},
            "arrows": {arrow.called: [arrow.source, arrow.target] for arrow in lines},
            "groups": {group.name: list(group.parts) for group in flat},
            "tables": _tables(parts, what, values),
            "carried": {a.called: float(a.value) for a in lines if a.value is not None},
            "most": most,
        }
        said = [_step(step, place, drawing, values[place + 1]) for place, step in enumerate(steps)]
        super().__init__(
            drawing=drawing,
            steps=said,
            picture=_picture(self.sheets, small),
            **{"alt": _alt(parts, lines, groups, steps), **traits},
        )

    @validate("step")
    def _a_step(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < max(1, len(self.steps)):
            raise FigureError(
                f"step is {proposal['value']}, but there are {len(self.steps)} steps, counted "
                "from 0."
            )
        return int(proposal["value"])

    @validate("lit")
    def _known(self, proposal: Any) -> list[str]:
        known = self.drawing
        _refuse_unknown("lit", proposal["value"], known)
        return list(proposal["value"])

    def static_state(self) -> dict[str, Any]:
        """The pictures are in the HTML already."""
        state = super().static_state()
        state.pop("picture", None)
        return state

    def fallback(self) -> str:
        """What stands on the page before scripts run, without them, and in print."""
        first = self.steps[0]["text"] if self.steps else ""
        rest = "".join(f"<li>{words.escape(step['text'])}</li>" for step in self.steps)
        title = f'<div class="al-title">{words.escape(self.title)}</div>' if self.title else ""
        caption = (
            f'<div class="al-caption">{words.escape(self.caption)}</div>' if self.caption else ""
        )
        said = '<div class="al-controls al-dg-wait"></div>' if first else ""
        reading = f'<div class="al-readout">{words.escape(first)}</div>' if first else ""
        listed = f"<noscript><ol>{rest}</ol></noscript>" if rest else ""
        return (
            '<div class="al-fallback al-figure al-diagram" role="figure" '
            f'aria-label="{words.escape(self.alt)}">{title}{said}'
            f'<div class="al-body">{self.picture}{reading}</div>{caption}{listed}</div>'
        )


def _check(parts: Sequence[Part], arrows: Sequence[Arrow], groups: Sequence[Group]) -> None:
    """Refuse names that are unknown or used twice, and words that mean nothing here."""
    for what, kind, words_for in (
        (parts, Part, "parts: give a list of Box, Matrix, Op and Text"),
        (arrows, Arrow, 'arrows: give a list of Arrow, or of lines such as "x -> y"'),
        (groups, Group, "groups: give a list of Group"),
    ):
        wrong = [one for one in what if not isinstance(one, kind)]
        if wrong:
            raise FigureError(f"a {type(wrong[0]).__name__} is among the {words_for}.")
    if not parts:
        raise FigureError("the diagram has no parts: give at least one Box, Matrix, Op or Text.")
    seen: set[str] = set()
    everything: list[Part | Group] = [*parts, *groups]
    for name in [*(one.name for one in everything), *(arrow.called for arrow in arrows)]:
        if name in seen:
            raise FigureError(
                f"the name {name!r} is used twice: every part, group and arrow needs its own. "
                "A second arrow between two parts takes one with name=…."
            )
        seen.add(name)
    names = {one.name for one in everything}
    for arrow in arrows:
        for end in (arrow.source, arrow.target):
            if end not in names:
                raise FigureError(
                    f"the arrow {arrow.called!r} leads from or to {end!r}, which is no part: "
                    f"there are {', '.join(sorted(names))}."
                )
        if arrow.source == arrow.target:
            raise FigureError(f"the arrow {arrow.called!r} leads back to where it begins.")
        for side in [arrow.via] if isinstance(arrow.via, str) else arrow.via:
            if side and side not in SIDES:
                raise FigureError(
                    f"the arrow {arrow.called!r} goes via {side!r}: choose one of "
                    f"{', '.join(SIDES)}."
                )
    for group in groups:
        unknown = [name for name in group.parts if name not in names]
        if unknown or not group.parts:
            which = f"holds {unknown[0]!r}, which is no part" if unknown else "is empty"
            raise FigureError(f"the group {group.name!r} {which}: name parts of the diagram.")
    for one in everything:
        if one.colour:
            try:
                palette.colour(one.colour)
            except KeyError as error:
                raise FigureError(f"the part {one.name!r}: {error.args[0]}") from None
        if one.link and not LINK.fullmatch(one.link):
            raise FigureError(
                f"the part {one.name!r} links to {one.link!r}: give the anchor of a section, "
                'such as "#the-mask", or "05_positions.html#rope".'
            )


def _flat(group: Group, nested: Mapping[str, Group]) -> Group:
    """The group with the parts of the groups in it."""
    names: list[str] = []
    for name in group.parts:
        names += _flat(nested[name], nested).parts if name in nested else [name]
    return Group(group.name, names, group.label, colour=group.colour, link=group.link)


def _places(parts: Sequence[Part]) -> dict[str, tuple[Place, Place]]:
    """First and last place of each part; without one, it stands right of the part before."""
    places: dict[str, tuple[Place, Place]] = {}
    column, row = -1.0, 0.0
    for part in parts:
        first = part.at if part.at is not None else (column + 1, row)
        last = part.to if part.to is not None else first
        for place in (first, last):
            if len(place) != 2 or not all(np.isfinite(place)):
                raise FigureError(
                    f"the part {part.name!r} stands at {place!r}: give a column and a row."
                )
        if last[0] < first[0] or last[1] < first[1]:
            raise FigureError(
                f"the part {part.name!r} stretches from {first} to {last}: `to` is the last column "
                "and row, not before the first."
            )
        places[part.name] = (first, last)
        column, row = last[0], first[1]
    return places


Values = dict[str, np.ndarray]


def _values(parts: Sequence[Part], arrows: Sequence[Arrow], steps: Sequence[Step]) -> list[Values]:
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


def _most(arrows: Sequence[Arrow], values: list[Values]) -> float:
    """The largest value that an arrow ever carries: it is drawn thickest."""
    carried = {a.called: abs(float(a.value)) for a in arrows if a.value is not None}
    later = [abs(float(v)) for step in values for name, v in step.items() if name in carried]
    return max([*carried.values(), *later], default=0.0) or 1.0


def _describe(
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


def _tables(parts: Sequence[Part], what: Description, values: list[Values]) -> dict[str, Any]:
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


def _step(step: Step, place: int, drawing: Mapping[str, Any], values: Values) -> dict[str, Any]:
    _refuse_unknown(f"step {place + 1} ({step.text[:40]!r})", step.lit, drawing)
    changed = {name: np.round(value, 4).tolist() for name, value in values.items()}
    return {"text": str(step.text), "lit": list(step.lit), "values": changed}


def _refuse_unknown(who: str, names: Sequence[str], drawing: Mapping[str, Any]) -> None:
    known = {*drawing["parts"], *drawing["arrows"], *drawing["groups"]}
    for name in names:
        if name not in known:
            raise FigureError(
                f"{who} lights {name!r}, which is no part, arrow or group: there are "
                f"{', '.join(sorted(known))}."
            )


def _sheets(
    what: Description,
    places: Mapping[str, tuple[Place, Place]],
    tall: Mapping[str, Place] | None,
    gap: tuple[float, float],
) -> list[Sheet]:
    """The wide drawing, and the tall one where it is another."""
    wide = sheet(what, "wide", places, gap, turned=False)
    close = (min(gap[0], 24.0), max(gap[1], 14.0))  # a phone scrolls down, not sideways
    if tall is None:
        turned = sheet(what, "tall", places, close, turned=True)
        return [wide, turned] if turned.width < wide.width else [wide]
    unknown = sorted(set(tall) - set(places))
    if unknown:
        raise FigureError(f"tall places {unknown[0]!r}, which is no part.")
    moved = dict(places)
    for name, place in tall.items():
        (x0, y0), (x1, y1) = places[name]
        ends = tuple(place) if len(place) == 4 else (*place, place[0] + x1 - x0, place[1] + y1 - y0)
        moved[name] = ((ends[0], ends[1]), (ends[2], ends[3]))
    return [wide, sheet(what, "tall", moved, close, turned=False)]


def _picture(sheets: Sequence[Sheet], small: bool) -> str:
    """Both drawings; the width of their place decides which one is seen (diagram.css).

    A small one has no tall twin: it was met before, a page may have it a dozen times, and a phone
    scrolls it to what is lit.
    """
    pick = "al-dg-pick al-dg-less" if small else "al-dg-pick"
    if len(sheets) == 1 or small:
        return f'<div class="{pick}">{sheets[0].svg}</div>'
    turn = min(1200, max(320, round(sheets[0].width * READABLE / 80 + 0.5) * 80))
    return f'<div class="{pick} al-dg-u{turn}">{sheets[0].svg}{sheets[1].svg}</div>'


def _alt(
    parts: Sequence[Part], arrows: Sequence[Arrow], groups: Sequence[Group], steps: Sequence[Step]
) -> str:
    """The description in words: what there is, what leads where, what happens."""
    said = {part.name: words.plain(part.words) or part.name for part in parts}
    said |= {group.name: words.plain(group.label) or group.name for group in groups}
    leads: dict[str, list[str]] = {}
    for arrow in arrows:
        note = f" ({words.plain(arrow.label)})" if arrow.label else ""
        leads.setdefault(arrow.source, []).append(said[arrow.target] + note)
    sentences = [f"{said[a]} leads to {_listed(b)}." for a, b in leads.items()]
    if not sentences:
        sentences = [f"{_listed([said[part.name] for part in parts])}."]
    sentences += [
        f"{said[group.name]} frames {_listed([said[name] for name in group.parts])}."
        for group in groups
    ]
    if steps:
        sentences.append(f"{len(steps)} steps light parts of it.")
    return "A diagram. " + " ".join(sentences)


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
