"""A `Diagram`'s description, checked: whatever cannot be drawn is refused by name."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab import palette
from attnlab.widgets.base import FigureError
from attnlab.widgets.drawing.parts import SIDES, Arrow, Group, Part, Place

LINK = re.compile(r"#\S+|[\w-]+\.html(#\S+)?")


def check(parts: Sequence[Part], arrows: Sequence[Arrow], groups: Sequence[Group]) -> None:
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


def refuse_unknown(who: str, names: Sequence[str], drawing: Mapping[str, Any]) -> None:
    known = {*drawing["parts"], *drawing["arrows"], *drawing["groups"]}
    for name in names:
        if name not in known:
            raise FigureError(
                f"{who} lights {name!r}, which is no part, arrow or group: there are "
                f"{', '.join(sorted(known))}."
            )


def flattened(group: Group, nested: Mapping[str, Group]) -> Group:
    """The group with the parts of the groups in it."""
    names: list[str] = []
    for name in group.parts:
        names += flattened(nested[name], nested).parts if name in nested else [name]
    return Group(group.name, names, group.label, colour=group.colour, link=group.link)


def places_of(parts: Sequence[Part]) -> dict[str, tuple[Place, Place]]:
    """First and last place of each part; without one, it goes to the right of the part before."""
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
