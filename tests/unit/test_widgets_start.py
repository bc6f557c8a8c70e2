"""The figures of the first chapter, seen from Python."""

import pytest
import torch

from attnlab.data.tokens import landscape, tune
from attnlab.widgets import Chopper, Timeline, WordDirections
from attnlab.widgets.base import FigureError

EVENT = {"year": 1997, "name": "LSTM", "text": "A memory with gates.", "thread": "recurrence"}
WORDS = ["king", "queen", "man", "woman", "apple"]


def test_events_are_kept_in_order_and_whole():
    figure = Timeline([EVENT, {**EVENT, "year": "2014"}])
    assert [event["year"] for event in figure.events] == [1997, 2014]
    with pytest.raises(FigureError, match="not in the order"):
        Timeline([EVENT, {**EVENT, "year": 1986}])
    with pytest.raises(FigureError, match="event 0 lacks text, thread"):
        Timeline([{"year": 1997, "name": "LSTM"}])
    with pytest.raises(FigureError, match="whole number"):
        Timeline([{**EVENT, "year": "long ago"}])
    with pytest.raises(FigureError, match="at least one"):
        Timeline([])
    for outside in (-1, 2):
        with pytest.raises(FigureError, match="there are 2 events, counted from 0"):
            figure.selected = outside


def test_directions_know_their_words():
    figure = WordDirections(WORDS, torch.eye(5), start="king", away="man", towards="woman")
    assert (figure.start, figure.away, figure.towards) == (0, 2, 3)
    with pytest.raises(FigureError, match="'prince', which is not among the 5 words"):
        WordDirections(WORDS, torch.eye(5), start="prince", away="man", towards="woman")
    with pytest.raises(FigureError, match="one row for each word"):
        WordDirections(WORDS, torch.eye(4), start="king", away="man", towards="woman")
    with pytest.raises(FigureError, match="between 0 and 3"):
        figure.amount = -1.0
    for outside in (-1, 5):
        with pytest.raises(FigureError, match="there are 5 words, counted from 0"):
            figure.towards = outside
    with pytest.raises(FigureError, match="finite"):
        figure.vectors = torch.full((5, 5), torch.nan)


def test_the_chopper_says_what_it_cannot_cut():
    given = {"picture": landscape(16), "sound": tune(0.2)}
    assert Chopper("a text", [("a", "b")], **given).used == 1
    with pytest.raises(FigureError, match="2,000 at most"):
        Chopper("x" * 10_000, [], **given)
    with pytest.raises(FigureError, match="a pair of pieces"):
        Chopper("a", [("a",)], **given)
    with pytest.raises(FigureError, match=r"\(3, size, size\)"):
        Chopper("a", [], picture=torch.zeros(3, 4, 5), sound=tune(0.2))
    with pytest.raises(FigureError, match="shorter than 100"):
        Chopper("a", [], picture=landscape(16), sound=torch.zeros(10))
    with pytest.raises(FigureError, match="text, picture or sound"):
        Chopper("a", [], what="video", **given)
    for wrong in ({"used": -1}, {"patch": 0}, {"frame": 0}):
        with pytest.raises(FigureError, match="or more"):
            Chopper("a", [], **wrong, **given)
