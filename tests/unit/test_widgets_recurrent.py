"""The live figures of chapter 1, seen from Python: what they accept, refuse and send."""

import math
import re

import pytest
import torch
from torch import nn

from attnlab.decoding import beam
from attnlab.models.recurrent import GRUCell, LSTMCell, RNNCell
from attnlab.widgets import BeamTree, GradientThroughTime, RNNStepper
from attnlab.widgets.base import STATIC, FigureError
from attnlab.widgets.beam_tree import END, Node
from tests.beam_on_a_tree import search, sentence
from tests.unit.asked import WORDS, words_travel_as_text

TABLE = {(): {"a": 0.6, "b": 0.4}, ("a",): {END: 1.0}, ("b",): {END: 0.7, "a": 0.3}}


def stepper(**traits):
    given = {"vocabulary": ["a", "b"], "embedding": torch.eye(2), **traits}
    return RNNStepper(given.pop("cell", GRUCell(2, 3)), given.pop("tokens", ["a", "b"]), **given)


def figures(words="word"):
    return {
        "rnn_stepper": stepper(tokens=[words, "b"], title=words),
        "gradient_through_time": GradientThroughTime(title=words),
        "beam_tree": BeamTree([Node(0, "", 0.0), Node(0, words, -1.0)], title=words),
    }


NAMES = sorted(figures())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", WORDS)
def test_any_words_travel_to_the_page_as_text(name, words):
    figure = figures(words)[name]
    words_travel_as_text(figure, words)
    assert len(figure.alt) > 20


@pytest.mark.parametrize("name", NAMES)
def test_modules_and_styles_keep_to_themselves(name):
    source = (STATIC / f"{name}.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?:", source)
    css = (STATIC / f"{name}.css").read_text(encoding="utf-8")
    mine = f".al-{name.replace('_', '-')}"
    for selector in re.findall(r"([^{}]+)\{", re.sub(r"@media[^{]*\{", "", css)):
        assert all(one.strip().startswith(mine) for one in selector.split(",")), selector


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (RNNCell(2, 3), "rnn"),
        (nn.RNNCell(2, 3), "rnn"),
        (GRUCell(2, 3), "gru"),
        (LSTMCell(2, 3), "lstm"),
        (nn.LSTMCell(2, 3), "lstm"),
    ],
)
def test_the_stepper_tells_cells_apart(cell, kind):
    assert stepper(cell=cell).cell == kind
    assert stepper(cell=cell).step == 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"cell": nn.GRU(2, 3)}, "not a whole layer"),
        ({"cell": nn.GRUCell(2, 3, bias=False)}, "with biases"),
        ({"cell": nn.RNNCell(2, 3, nonlinearity="relu")}, "knows the tanh RNN"),
        ({"embedding": torch.eye(3)}, "give (2, 2)"),
        ({"tokens": []}, "0 tokens were given"),
        ({"tokens": ["a"] * 17}, "17 tokens were given"),
        ({"tokens": "a b"}, "one string"),
        ({"step": 40}, "step is 40"),
        ({"readout": nn.Linear(3, 2), "labels": ["one"]}, "one label for each row"),
        ({"embedding": torch.full((2, 2), math.nan)}, "finite numbers"),
    ],
)
def test_the_stepper_refuses_in_words(wrong, words):
    with pytest.raises(FigureError, match=re.escape(words)):
        stepper(**wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"scale": 3.0}, "scale is 3: the slider goes from 0.3 to 1.6"),
        ({"forget": math.nan}, "forget is nan"),
        ({"distance": 50}, "0 to 49 exist"),
        ({"length": 1000}, "length is 1000"),
    ],
)
def test_the_gradient_figure_refuses_in_words(wrong, words):
    with pytest.raises(FigureError, match=words):
        GradientThroughTime(**wrong)


def test_the_recurrent_weights_of_the_gradient_figure_neither_shrink_nor_stretch():
    figure = GradientThroughTime(hidden=5)
    q = torch.tensor(figure.rnn_hh)
    torch.testing.assert_close(q @ q.T, torch.eye(5))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BeamTree([Node(0, "", 0.0)]), "1 nodes"),
        (lambda: BeamTree([Node(0, "", 0.0), Node(1, "a", -1.0)]), "smaller number"),
        (lambda: BeamTree([Node(0, "", 0.0), Node(0, "a", 0.5)]), "not above 0"),
        (lambda: BeamTree([Node(0, "", 0.0), Node(0, "a", -math.inf)]), "finite"),
        (
            lambda: BeamTree([Node(0, "", 0.0), Node(0, END, -1.0, True), Node(1, "a", -1.0)]),
            "which has ended",
        ),
        (lambda: BeamTree.from_table({("a",): {"b": 1.0}}), "nothing leads there"),
        (lambda: BeamTree.from_table({(): {"b": 1.5}}), "at most 1"),
        (lambda: BeamTree.from_table(TABLE, width=9), "1 to 5 beams"),
        (lambda: BeamTree.from_table(TABLE, length_penalty=-1.0), "from 0 to 2"),
        (lambda: BeamTree.from_table(TABLE, widest=50), "draws 1 to 6"),
        (lambda: BeamTree.from_table(TABLE, shown=-1), "shown is -1"),
    ],
)
def test_the_tree_refuses_in_words(make, words):
    with pytest.raises(FigureError, match=words):
        make()


def test_the_tree_knows_its_depth_and_the_best_sentence():
    tree = BeamTree.from_table(TABLE, width=2)
    assert tree.longest == 2
    _, endings = search(tree.nodes(), 2, 0.0, 2)
    assert [sentence(tree.nodes(), ending.node) for ending in endings] == [["a"], ["b"]]
    assert endings[0].total == pytest.approx(math.log(0.6))


class Language:
    """The next word depends on the last one; numbers 0, 1 and 2 are padding, begin and end."""

    words = ("<pad>", "<bos>", "<eos>", "a", "b", "c", "d")

    def __init__(self, seed):
        self.table = 1.5 * torch.randn(7, 7, generator=torch.Generator().manual_seed(seed))
        self.table[:, :2] = -torch.inf

    def step(self, state, token):
        return self.table[token], state


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.5])
def test_the_tree_of_a_model_is_searched_as_by_the_decoder(seed, penalty):
    language = Language(seed)
    state = (torch.zeros(1, 1),)
    tree = BeamTree.from_model(language.step, state, language, longest=6, widest=4)
    for width in (1, 2, 3, 4):
        steps = []
        found = beam(
            language.step,
            state,
            width=width,
            max_length=6,
            length_penalty=penalty,
            watch=steps.append,
        )[0]
        rankings, endings = search(tree.nodes(), width, penalty, 6)
        said = [" ".join(language.words[token] for token in h.tokens) for h in found]
        assert [" ".join(sentence(tree.nodes(), e.node)) for e in endings] == said
        for ending, hypothesis in zip(endings, found, strict=True):
            assert ending.score == pytest.approx(hypothesis.score, abs=1e-4)
        assert len(rankings) == len(steps)
        for ranking, step in zip(rankings, steps, strict=True):
            kept = [p for p in step.log_probabilities[0] if p > -torch.inf]
            assert len(ranking.kept) == len(kept)
