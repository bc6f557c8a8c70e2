"""The Python side of chapter 6's live figures: what they take, and what they say to bad input."""

import numpy as np
import pytest
import torch

from attnlab.widgets import NormAxes, TokenSampler
from attnlab.widgets.base import FigureError

X = torch.arange(24.0).view(2, 3, 4)
LOGITS = torch.randn(2, 5, generator=torch.Generator().manual_seed(0))


def sampler(**changes):
    given = {"logits": LOGITS, "tokens": "abcde", "contexts": ["x", "y"]}
    given.update(changes)
    given["tokens"] = list(given["tokens"])
    return TokenSampler(given.pop("logits"), **given)


def test_norm_axes_takes_a_batch():
    figure = NormAxes(X, tokens=list("abcdef"), row=5, column=3, norm="batch")
    assert figure.x.shape == (2, 3, 4)
    assert 'data-widget="norm_axes"' in figure.to_html()
    figure.volume = 2.0
    with pytest.raises(FigureError, match="between"):
        figure.volume = 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: NormAxes(X[0]), "shape"),
        (lambda: NormAxes(torch.zeros(0, 3, 4)), "none of them 0"),
        (lambda: NormAxes(torch.zeros(2, 3, 99)), "show a part"),
        (lambda: NormAxes(X * float("nan")), "finite"),
        (lambda: NormAxes(X, tokens=["a"]), "1 tokens were given for 6 rows"),
        (lambda: NormAxes(X, row=6), "counted from 0"),
        (lambda: NormAxes("hello"), "array of numbers"),
        (lambda: sampler(tokens="abc"), "one column per token"),
        (lambda: sampler(contexts=["x"]), "one row per context"),
        (lambda: sampler(context=2), "counted from 0"),
        (lambda: sampler(temperature=0.0), "above 0"),
        (lambda: sampler(top_p=0.0), "above 0 and at most 1"),
        (lambda: sampler(top_k=-1), "top_k is -1"),
        (lambda: sampler(logits=np.zeros((0, 5))), "something in it"),
        (lambda: sampler(logits=LOGITS * float("inf")), "finite"),
    ],
)
def test_bad_input_gets_a_sentence(call, words):
    with pytest.raises(FigureError, match=words):
        call()


def test_norm_must_be_known():
    with pytest.raises(Exception, match="layer"):
        NormAxes(X, norm="group")


def test_sampler_state_travels():
    figure = sampler(top_k=3, draws=4)
    html = figure.to_html()
    assert 'data-widget="token_sampler"' in html
    assert figure.static_state()["top_k"] == 3
