"""Figures take what `record` gives: the dict of maps, one of them, or maps that were stacked."""

import numpy as np
import pytest
import torch

from attnlab.layers import EncoderBlock
from attnlab.record import record, stack
from attnlab.widgets import AttentionHeatmap, HeadGrid
from attnlab.widgets.base import FigureError

WORDS = ["a", "b", "c", "d", "e"]


def recording(texts: int = 1) -> dict:
    torch.manual_seed(0)
    model = torch.nn.Sequential(EncoderBlock(12, 3, 20), EncoderBlock(12, 3, 20))
    with record(model) as maps:
        model(torch.randn(texts, len(WORDS), 12) * 3)
    return maps


def test_the_grid_shows_the_recorded_weights() -> None:
    maps = recording()
    figure = HeadGrid(maps=maps, tokens=WORDS)
    shown = torch.as_tensor(figure.scores).softmax(-1)
    torch.testing.assert_close(shown, stack(maps)[0])
    assert figure.scores.shape == (2, 3, 5, 5)
    again = HeadGrid(maps=stack(maps)[0], tokens=WORDS)
    assert np.array_equal(again.scores, figure.scores)


def test_a_hidden_key_stays_hidden_in_the_grid_at_ten_times_the_temperature() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]]).expand(1, 2, 2, 2)
    figure = HeadGrid(maps={"layer": weights}, tokens=["a", "b"])
    hot = torch.as_tensor(figure.scores / 10).softmax(-1)
    assert hot[0, 0, 0, 1] < 1e-3


def test_the_heatmap_names_heads_of_several_layers() -> None:
    maps = recording()
    figure = AttentionHeatmap(maps=maps, tokens=WORDS)
    np.testing.assert_allclose(figure.weights, stack(maps)[0].flatten(0, 1))
    assert figure.head_names == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    one = AttentionHeatmap(maps=maps["1.self_attention"], tokens=WORDS)
    np.testing.assert_allclose(one.weights, maps["1.self_attention"][0])
    assert one.head_names == []


@pytest.mark.parametrize("figure", [AttentionHeatmap, HeadGrid])
@pytest.mark.parametrize(
    ("maps", "words"),
    [
        ({}, "maps is empty"),
        ({"rnn": [torch.ones(1, 1, 5, 5)] * 2}, "called attention 2 times"),
        (recording(texts=2), "shows one text"),
        ({"a": torch.ones(1, 2, 5, 5), "b": torch.ones(1, 2, 5, 4)}, "different shapes"),
        ("maps", "array of numbers"),
    ],
)
def test_what_cannot_be_shown_gets_one_clear_sentence(figure, maps, words: str) -> None:
    with pytest.raises(FigureError, match=words):
        figure(maps=maps, tokens=WORDS)


def test_two_sources_are_one_too_many() -> None:
    with pytest.raises(FigureError, match="both given"):
        AttentionHeatmap(torch.ones(5, 5) / 5, maps=recording(), tokens=WORDS)
    with pytest.raises(FigureError, match="both given"):
        HeadGrid(torch.zeros(1, 1, 5, 5), maps=recording(), tokens=WORDS)
