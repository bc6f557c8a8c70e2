"""A timeline: one event after the other, with what changed."""

from collections.abc import Mapping, Sequence
from typing import Any

from traitlets import Dict, Int, List, Unicode, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet

KEYS = ("year", "name", "text", "thread")


class Timeline(LiveFigure):
    """Walk through events in time; `thread` names the line of thought each belongs to.

    Timeline([{"year": 1997, "name": "LSTM", "text": "…", "thread": "recurrence"}, …])
    """

    figure = "timeline"
    _esm, _css = bundle("timeline"), stylesheet("timeline")

    events = List(Dict()).tag(sync=True)
    selected = Int(0).tag(sync=True)  # index in the whole list, whatever is shown
    thread = Unicode("").tag(sync=True)  # "" shows all

    def __init__(self, events: Sequence[Mapping[str, Any]], **traits: Any):
        super().__init__(
            events=events,
            **{"alt": "A timeline of events; a slider walks through them.", **traits},
        )

    @validate("selected")
    def _an_event(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < len(self.events):
            raise FigureError(
                f"selected is {proposal['value']}, but there are {len(self.events)} events, "
                "counted from 0."
            )
        return int(proposal["value"])

    @validate("events")
    def _complete(self, proposal: Any) -> list[dict[str, Any]]:
        events = proposal["value"]
        if not events:
            raise FigureError("there are no events: give at least one.")
        checked: list[dict[str, Any]] = []
        for place, event in enumerate(events):
            missing = [key for key in KEYS if key not in event]
            if missing:
                raise FigureError(f"event {place} lacks {', '.join(missing)}.")
            try:
                year = int(event["year"])
            except (TypeError, ValueError):
                raise FigureError(
                    f"event {place} has the year {event['year']!r}: give a whole number."
                ) from None
            rest = {key: str(event.get(key, "")) for key in ("name", "text", "thread", "paper")}
            checked.append({"year": year, **rest})
        years = [event["year"] for event in checked]
        if years != sorted(years):
            raise FigureError("the events are not in the order of their years: sort them first.")
        return checked
