"""The story teller, seen from Python: the story that travels with the page, what is refused."""

import numpy as np
import pytest

from attnlab.models.stories import stories15m
from attnlab.widgets import StoryTeller, weights
from attnlab.widgets.base import FigureError
from attnlab.widgets.story_teller import LIKELIEST, piece_name

MAPS = np.tril(np.ones((2, 3, 4, 4))) / np.arange(1, 5)[:, None]
GIVEN = {
    "maps": MAPS,
    "tokens": ["<s>", "a", "b", "c"],
    "logits": np.arange(20.0).reshape(4, 5),
    "words": list("vwxyz"),
}


def test_the_shipped_story_is_the_models_own() -> None:
    figure = StoryTeller.shipped("The cat", length=9, temperature=0.7)
    teller = stories15m()
    opened = teller.numbers("The cat").shape[1]
    assert figure.opened == opened
    assert "".join(figure.tokens[1:]).strip() == teller.tell("The cat", length=9)
    assert figure.tokens[0] == "<s>"
    assert figure.roots.shape == (6, 6, opened + 9, opened + 9)
    assert figure.logits.shape == (opened + 9, LIKELIEST)
    # What it told is what it held likeliest.
    assert [row[0] for row in figure.nexts[opened - 1 : -1]] == figure.tokens[opened:]
    html = figure.to_html()
    assert len(html) < 1_000_000
    assert weights.named(html) == ["stories15m"]


def test_the_likeliest_come_first() -> None:
    figure = StoryTeller(**GIVEN)
    assert figure.nexts[0] == list("zyxwv")
    np.testing.assert_array_equal(figure.logits[1], [9, 8, 7, 6, 5])
    assert figure.static_state()["weights"] is None


def test_pieces_have_names_that_can_be_seen() -> None:
    pieces = stories15m().pieces
    assert [piece_name(pieces, n) for n in range(3)] == ["<unk>", "<s>", "</s>"]
    assert piece_name(pieces, 3 + 0xF0) == "⟨F0⟩"
    assert piece_name(pieces, 3 + 10) == "\n"
    assert piece_name(pieces, pieces.encode("time")[0]) == " time"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(maps=MAPS * 3), "outside of 0"),
        (dict(maps=MAPS.transpose(0, 1, 3, 2)), "look ahead"),
        (dict(maps=MAPS[0, 0]), "\\(layers, heads, tokens, tokens\\)"),
        (dict(tokens=["a"]), "list of 4 texts"),
        (dict(words=list("vw")), "4 tokens, 2 words"),
        (dict(opened=5), "opened is 5: give 1 to 4"),
        (dict(layer=2), "layer is 2, but goes from 0 to 1"),
        (dict(position=4), "position is 4, but goes from -1 to 3"),
        (dict(temperature=2.5), "temperature is 2.5: give 0 to 2"),
        (dict(top_p=0.0), "top_p is 0.0"),
        (dict(opening="x" * 10_000), "10,000 characters"),
    ],
)
def test_what_does_not_fit_is_said(given, words) -> None:
    with pytest.raises(FigureError, match=words):
        StoryTeller(**{**GIVEN, **given})


def test_an_opening_that_is_too_long_is_refused_before_the_work() -> None:
    with pytest.raises(FigureError, match="opening has 10,000 characters"):
        StoryTeller.shipped("x" * 10_000)
