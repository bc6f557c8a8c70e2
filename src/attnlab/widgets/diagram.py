"""A diagram: boxes, arrows and matrices, described here, laid out here, drawn as one SVG."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from traitlets import Dict, Int, List, Unicode, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet
from attnlab.widgets.drawing import words
from attnlab.widgets.drawing.described import check, flattened, places_of, refuse_unknown
from attnlab.widgets.drawing.parts import (
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
from attnlab.widgets.drawing.values import Values, describe, most_carried, tables_of, values_of

__all__ = ["Arrow", "Box", "Diagram", "Group", "Matrix", "Op", "Step", "Text"]

READABLE = 0.75  # a wide drawing is shown no smaller than this: words of 12 pixels


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
    goes round above in the wide one, left in the tall one. `gap` is the least distance between
    columns or rows; words are 16 units high, and a slide holds about 810 × 400 units at 24 pixels.
    `small` draws the wide one alone, as small as can be read: it was met before. Where a drawing is
    wider than its place, it scrolls sideways, to what is lit.

    `steps` become a slider and buttons on a page, and fragments on a slide; `step` is the
    one shown. `lit` lights parts without a step. `alt` is made from the description. What cannot be
    drawn is refused by name: unknown parts, overlapping parts, arrows that find no way.
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
        check(parts, lines, groups)
        nested = {group.name: group for group in groups}
        flat = [flattened(group, nested) for group in groups]
        values = values_of(parts, lines, steps)
        most = most_carried(lines, values)
        what = describe(parts, lines, flat, values, most)
        self.sheets = _sheets(what, places_of(parts), tall, gap)
        drawing = {
            "parts": {part.name: words.plain(part.words) or part.name for part in parts},
            "arrows": {arrow.called: [arrow.source, arrow.target] for arrow in lines},
            "groups": {group.name: list(group.parts) for group in flat},
            "tables": tables_of(parts, what, values),
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
        refuse_unknown("lit", proposal["value"], known)
        return list(proposal["value"])

    def static_state(self) -> dict[str, Any]:
        """The pictures are already in the HTML."""
        state = super().static_state()
        state.pop("picture", None)
        return state

    def fallback(self) -> str:
        """What the page shows before scripts run, without them, and in print."""
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


def _step(step: Step, place: int, drawing: Mapping[str, Any], values: Values) -> dict[str, Any]:
    refuse_unknown(f"step {place + 1} ({step.text[:40]!r})", step.lit, drawing)
    changed = {name: np.round(value, 4).tolist() for name, value in values.items()}
    return {"text": str(step.text), "lit": list(step.lit), "values": changed}


def _sheets(
    what: Description,
    places: Mapping[str, tuple[Place, Place]],
    tall: Mapping[str, Place] | None,
    gap: tuple[float, float],
) -> list[Sheet]:
    """The wide drawing, and the tall one where it differs."""
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
