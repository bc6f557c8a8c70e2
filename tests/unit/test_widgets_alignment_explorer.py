"""The alignment explorer, seen from Python: what it accepts, refuses and sends to the page."""

import json

import numpy as np
import pytest
import torch

from attnlab.data import Pair
from attnlab.widgets import AlignmentExplorer
from attnlab.widgets.base import FigureError

PAIR = Pair(
    source=("the", "black", "cat"),
    target=("le", "chat", "noir"),
    sure=frozenset({(0, 0), (1, 2), (2, 1)}),
    possible=frozenset({(0, 0), (1, 2), (2, 1)}),
)
SHORT = Pair(source=("dogs", "sleep"), target=("les", "chiens", "dorment"))


def even(pair: Pair) -> torch.Tensor:
    shape = (len(pair.target) + 1, len(pair.source) + 1)
    return torch.full(shape, 1 / shape[1])


def explorer(**traits) -> AlignmentExplorer:
    pairs = [PAIR, SHORT]
    weights = {name: [even(pair) for pair in pairs] for name in ("additive", "dot")}
    return AlignmentExplorer(pairs, weights, **traits)


def test_the_logarithms_lie_name_by_name_and_sentence_by_sentence():
    figure = explorer(aer={"dot": 0.25})
    assert figure.names == ["additive", "dot"]
    assert figure.kind == "additive"
    assert figure.logs.shape == (2 * (4 * 4 + 4 * 3),)
    np.testing.assert_allclose(figure.logs[:16], np.log(1 / 4), rtol=1e-6)
    np.testing.assert_allclose(figure.logs[16:28], np.log(1 / 3), rtol=1e-6)
    assert figure.sentences[0]["target"] == ["le", "chat", "noir", "(end)"]
    assert figure.aer == {"dot": 0.25}


def test_a_weight_that_rounded_to_zero_stays_finite():
    weights = torch.zeros(4, 4)
    weights[:, 0] = 1
    figure = AlignmentExplorer([PAIR], {"hard": [weights]})
    assert np.isfinite(figure.logs).all()


def test_another_sentence_keeps_the_word_within_it():
    figure = explorer(word=3)
    figure.sentences[1]["target"] = ["les", "(end)"]
    figure.sentence = 1
    assert figure.word == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AlignmentExplorer([], {}), "at least one sentence pair"),
        (lambda: AlignmentExplorer([PAIR], {"dot": []}), "weights for 0 pairs, but there are 1"),
        (lambda: AlignmentExplorer([PAIR], {"dot": [torch.ones(3, 3)]}), r"needs \(4, 4\)"),
        (lambda: AlignmentExplorer([PAIR], {"dot": [-torch.ones(4, 4)]}), "negative"),
        (lambda: AlignmentExplorer([PAIR], {"dot": [torch.ones(4, 4) * torch.nan]}), "finite"),
        (lambda: explorer(aer={"additve": 0.1}), "aer knows 'additve'"),
        (lambda: explorer(sentence=2), "there are 2, counted from 0"),
        (lambda: explorer(kind="cosine"), "there are additive, dot"),
        (lambda: explorer(temperature=0.0), "above 0"),
        (
            lambda: AlignmentExplorer(
                [Pair(source=("a",) * 80, target=("b",))], {"dot": [torch.ones(2, 81)]}
            ),
            "at most 60",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(make, words):
    with pytest.raises(FigureError, match=words):
        make()


def test_rogue_words_travel_as_text():
    rogue = "</script><script>alert(1)</script>"
    pair = Pair(source=(rogue, "🙂"), target=(rogue,))
    html = AlignmentExplorer([pair], {rogue: [even(pair)]}, title=rogue).to_html()
    assert html.count("<script") == 1
    assert json.dumps(rogue)[1:-1].replace("<", "\\u003c") in html
