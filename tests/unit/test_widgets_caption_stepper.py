"""The caption stepper's Python side: what it takes, what it refuses, what it weighs."""

import numpy as np
import pytest
import torch

from attnlab.data import scenes
from attnlab.models.captioning import Telling
from attnlab.widgets import CaptionStepper
from attnlab.widgets.base import FigureError


def scene(**changes):
    words = ["a", "cat", "sleeps"]
    return {
        "picture": np.zeros((20, 30, 3), dtype=np.uint8),
        "words": words,
        "weights": torch.rand(3, 2, 5) + 0.1,
        "boxes": {1: [(0, 0, 10, 20)]},
        **changes,
    }


def test_scores_give_the_weights_back():
    weights = torch.rand(3, 2, 5) + 0.01
    weights /= weights.sum((1, 2), keepdim=True)
    weights[0, 0, 0] = 0.0
    shown = CaptionStepper([scene(weights=weights)]).scenes[0]
    back = torch.tensor(shown["scores"]).softmax(-1).view(3, 2, 5)
    torch.testing.assert_close(back[1:], weights[1:], atol=1e-3, rtol=1e-2)
    assert back[0, 0, 0] < 1e-20
    assert shown["size"] == [30, 20]
    assert shown["grid"] == [2, 5]
    assert shown["boxes"] == [[], [[0, 0, 10, 20]], []]
    assert shown["picture"].startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": "a cat"}, "list of words"),
        ({"words": []}, "nothing to step through"),
        ({"weights": torch.rand(2, 2, 5)}, "one grid for each word"),
        ({"weights": torch.full((3, 2, 5), torch.nan)}, "finite"),
        ({"weights": -torch.rand(3, 2, 5)}, "not below 0"),
        ({"weights": torch.zeros(3, 2, 5)}, "not all 0"),
        ({"picture": np.zeros((20, 30), dtype=np.uint8)}, r"\(height, width, 3\)"),
        ({"picture": np.zeros((20, 30, 3))}, "uint8"),
        ({"picture": np.zeros((600, 30, 3), dtype=np.uint8)}, "512"),
        ({"boxes": {7: [(0, 0, 1, 1)]}}, "words are 0 to 2"),
        ({"boxes": {1: [(0, 0, 31, 5)]}}, "inside a picture of 30 by 20"),
        ({"colour": "red"}, "has the key 'colour'"),
    ],
)
def test_what_cannot_be_drawn_is_named(changes, message):
    with pytest.raises(FigureError, match=message):
        CaptionStepper([scene(**changes)])


def test_scenes_words_and_temperatures_that_do_not_exist():
    with pytest.raises(FigureError, match="scenes is empty"):
        CaptionStepper([])
    with pytest.raises(FigureError, match="list of dicts"):
        CaptionStepper("a cat")
    with pytest.raises(FigureError, match="'picture', 'words' and 'weights'"):
        CaptionStepper([{"words": ["a"]}])
    figure = CaptionStepper([scene(), scene()], scene=1, word=2)
    for name, value in {"scene": 2, "word": 3, "temperature": 0.0}.items():
        with pytest.raises(FigureError, match=name):
            setattr(figure, name, value)
    assert (figure.scene, figure.word, figure.temperature) == (1, 2, 1.0)


def test_eight_scenes_weigh_less_than_a_photograph():
    some = scenes.take(8, split="test")
    told = [Telling(s.caption, 1.0, torch.rand(len(s.caption) + 1, 8, 8)) for s in some]
    figure = CaptionStepper.of(some, told)
    assert len(figure.to_html()) < 250_000
    assert [s["right"] for s in figure.scenes] == [s["words"] for s in figure.scenes]
    assert all(any(boxes) for boxes in (s["boxes"] for s in figure.scenes))


def test_a_wrong_caption_keeps_only_the_boxes_it_can_vouch_for():
    [right] = scenes.take(1, split="test")
    said = ("two", *right.caption)  # one word too many: the places no longer agree
    figure = CaptionStepper.of([right], [Telling(said, 0.5, torch.rand(len(said) + 1, 8, 8))])
    assert not any(figure.scenes[0]["boxes"])
