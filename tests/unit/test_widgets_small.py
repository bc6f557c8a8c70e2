"""The small live figures, seen from Python: what they accept, refuse and send to the page."""

import re

import numpy as np
import pytest
import torch
from traitlets import TraitError

from attnlab.widgets import PathLength, Quiz, ScaleHistogram, SoftmaxTemperature
from attnlab.widgets.base import STATIC, FigureError, LiveFigure
from tests.unit.asked import WORDS, words_travel_as_text


def question(*correct: bool, text: str = "Which one?") -> dict:
    choices = [
        {"text": f"choice {place}", "correct": right, "why": f"reason {place}"}
        for place, right in enumerate(correct)
    ]
    return {"question": text, "choices": choices}


def figures(words: str = "word") -> dict[str, LiveFigure]:
    return {
        "softmax_temperature": SoftmaxTemperature([words, "b", "c"], [2, 1.0, -1], title=words),
        "scale_histogram": ScaleHistogram(title=words, caption=words),
        "path_length": PathLength(tokens=[words, "b", "c", "d"], caption=words),
        "quiz": Quiz([question(True, False, text=words)], title=words, key="x"),
    }


NAMES = sorted(figures())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", WORDS)
def test_any_words_travel_to_the_page_as_text(name, words):
    words_travel_as_text(figures(words)[name], words)


def test_half_a_character_in_a_label_does_not_stop_the_page():
    half = "half \ud83d"
    for figure in (
        SoftmaxTemperature([half, "b"], [1, 2]),
        PathLength(tokens=[half, "b"]),
        Quiz([question(True, False, text=half)]),
    ):
        assert b"half ?" in figure.to_html().encode("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_words_for_when_it_cannot_be_seen(name):
    figure = figures()[name]
    assert len(figure.alt) > 20
    assert figure.alt.replace("<", "&lt;") in figure.to_html()


@pytest.mark.parametrize("name", NAMES)
def test_text_is_never_set_as_html(name):
    source = (STATIC / f"{name}.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?:", source)


@pytest.mark.parametrize("name", NAMES)
def test_a_stylesheet_touches_only_its_own_figure(name):
    css = (STATIC / f"{name}.css").read_text(encoding="utf-8")
    selectors = re.findall(
        r"([^{}]+)\{", re.sub(r"@media[^{]*\{|/\*.*?\*/", "", css, flags=re.DOTALL)
    )
    assert len(selectors) > 5
    mine = f".al-{name.replace('_', '-')}"
    for selector in selectors:
        ours = (one.strip().removeprefix(".reveal ") for one in _split(selector))  # on slides too
        assert all(one.startswith(mine) for one in ours), selector


def _split(selector: str) -> list[str]:
    """At commas, but not those within brackets."""
    return re.split(r",(?![^(]*\))", selector)


# --- SoftmaxTemperature


def test_softmax_takes_lists_numpy_and_torch():
    for scores in ([1, 2.5], np.array([1, 2.5]), torch.tensor([1, 2.5])):
        assert SoftmaxTemperature(["a", "b"], scores).scores == [1.0, 2.5]


@pytest.mark.parametrize(
    ("labels", "scores", "traits", "words"),
    [
        (["a"], [1, 2], {}, "1 labels and 2 scores"),
        ([], [], {}, "one label for each score"),
        (["a", "b"], [1, float("inf")], {}, r"scores holds inf at \(1,\)"),
        (["a", "b"], [1, float("nan")], {}, r"scores holds nan at \(1,\)"),
        (["a", "b"], [[1, 2]], {}, r"scores has shape \(1, 2\): give a list"),
        (["a", "b"], [1, 2j], {}, "complex"),
        (None, [1, 2], {}, "labels is a NoneType: give a list"),
        (["a", "b"], None, {}, "scores is None: give a list of numbers"),
        (["a", "b"], "ab", {}, "scores must be an array of numbers"),
        (["a", "b"], [1, 2], {"temperature": 0}, "above 0"),
        (["a", "b"], [1, 2], {"temperature": -2.0}, "temperature is -2"),
        (["a", "b"], [1, 2], {"temperature": float("nan")}, "temperature is nan"),
        ("ab", [1, 2], {}, "one string"),
    ],
)
def test_softmax_says_what_is_wrong(labels, scores, traits, words):
    with pytest.raises(FigureError, match=words):
        SoftmaxTemperature(labels, scores, **traits)


def test_softmax_checks_later_changes_too():
    figure = SoftmaxTemperature(["a", "b"], [1, 2])
    figure.temperature = 0.1
    with pytest.raises(FigureError, match="above 0"):
        figure.temperature = 0.0
    assert figure.temperature == 0.1
    for wrong in ([], [1, 2, 3], torch.zeros(3)):
        with pytest.raises(FigureError, match=f"2 labels and {len(wrong)} scores"):
            figure.scores = wrong
    with pytest.raises(FigureError, match="1 labels and 2 scores"):
        figure.labels = ["a"]
    assert (figure.labels, figure.scores) == (["a", "b"], [1, 2])
    figure.scores = torch.tensor([3.0, 4.0])
    assert figure.scores == [3, 4]
    figure.change(labels=["a"], scores=np.array([5]))
    assert (figure.labels, figure.scores) == (["a"], [5])


# --- ScaleHistogram


def test_scale_histogram_sends_its_choices():
    figure = ScaleHistogram(dims=256, scaled=True, keys=10, seed=7, query=3, zoom=True)
    state = figure.static_state()
    assert {
        name: state[name] for name in ("dims", "scaled", "key_count", "seed", "query", "zoom")
    } == {"dims": 256, "scaled": True, "key_count": 10, "seed": 7, "query": 3, "zoom": True}


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"dims": 48}, "powers of two"),
        ({"dims": 0}, "dims is 0"),
        ({"dims": 2048}, "1024"),
        ({"keys": 1}, "key_count is 1"),
        ({"key_count": 65}, "2 to 64"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**32}, "whole number"),
        ({"query": -1}, "counted from 0"),
    ],
)
def test_scale_histogram_says_what_is_wrong(traits, words):
    with pytest.raises(FigureError, match=words):
        ScaleHistogram(**traits)


def test_scale_histogram_knows_its_keys_by_the_name_of_the_trait():
    assert ScaleHistogram(key_count=5).key_count == ScaleHistogram(keys=5).key_count == 5
    assert "key_count=" in ScaleHistogram.__doc__


def test_a_misspelt_argument_is_named():
    with pytest.raises(TypeError, match="dim"):
        ScaleHistogram(dim=64)


# --- PathLength


def test_path_length_starts_from_one_end_to_the_other():
    figure = PathLength(n=11, kernel=5)
    assert (figure.n, figure.kernel, figure.source, figure.target) == (11, 5, 0, 10)


def test_path_length_counts_the_tokens_it_is_given():
    figure = PathLength(tokens=["the", "cat", "sat"], source=2, target=0)
    assert (figure.n, figure.source, figure.target) == (3, 2, 0)
    assert PathLength(n=2, tokens=["the", "cat", "sat"]).target == 1


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"n": 1}, "2 to 16 tokens"),
        ({"n": 17}, "n is 17"),
        ({"kernel": 4}, "middle token"),
        ({"n": 5, "source": 5}, "source is 5"),
        ({"n": 5, "target": -1}, "target is -1"),
        ({"width": 100}, "powers of two"),
        ({"layers": ["rnn", "lstm"]}, "'lstm'"),
        ({"layers": []}, "at least one"),
        ({"layers": ["rnn", "rnn"]}, "only once"),
        ({"layers": "rnn"}, "one string"),
        ({"tokens": "the cat"}, "one string"),
    ],
)
def test_path_length_says_what_is_wrong(traits, words):
    with pytest.raises(FigureError, match=words):
        PathLength(**traits)


def test_path_length_is_as_strict_later():
    with pytest.raises(TraitError, match=r"'n' trait .* expected an int, not the str '8'"):
        PathLength("8")
    figure = PathLength()
    with pytest.raises(FigureError, match="layers is one string"):
        figure.layers = "rnn"
    assert figure.layers == ["rnn", "convolution", "attention"]


def test_path_length_may_shrink_before_its_places_do():
    figure = PathLength(n=8)
    figure.n = 4  # the page clips the target to the last token
    figure.target = 3
    with pytest.raises(FigureError, match="counted from 0"):
        figure.target = -1


# --- Quiz


def test_quiz_fills_in_what_may_be_left_out():
    given = question(True, False)
    del given["choices"][1]["correct"]
    quiz = Quiz([given])
    assert [choice["correct"] for choice in quiz.questions[0]["choices"]] == [True, False]
    assert "1 question." in quiz.alt
    assert "correct" not in given["choices"][1], "what was given is left alone"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q: q.pop("question"), "Question 1 has no 'question'"),
        (lambda q: q.update(question="  "), "cannot be empty"),
        (lambda q: q.pop("choices"), "at least two 'choices'"),
        (lambda q: q.update(choices=q["choices"][:1]), "at least two 'choices'"),
        (lambda q: q["choices"][0].update(correct=False), "no correct choice"),
        (lambda q: [c.update(correct=True) for c in q["choices"]], "nothing to choose"),
        (lambda q: q["choices"][1].pop("why"), "choice 2 has no 'why'.*explain every choice"),
        (lambda q: q["choices"][1].pop("text"), "choice 2 has no 'text'"),
        (lambda q: q["choices"][1].update(corect=True), "'corect'"),
        (lambda q: q["choices"][1].update(correct="yes"), "True or False"),
        (lambda q: q["choices"][1].update(text="choice 0"), "same text"),
        (lambda q: q.update(choices=["a", "b"]), "choice 1 is a str"),
        (lambda q: q.update(hint="…"), "'hint'"),
    ],
)
def test_quiz_says_what_is_wrong_and_where(change, words):
    given = question(True, False, False)
    change(given)
    with pytest.raises(FigureError, match=words):
        Quiz([given])
    with pytest.raises(FigureError, match=words.replace("Question 1", "Question 2")):
        Quiz([question(True, False), given])


def test_quiz_wants_a_list_of_questions():
    for wrong in ("Which one?", question(True, False), 3, None):
        with pytest.raises(FigureError, match="list of dicts"):
            Quiz(wrong)
    with pytest.raises(FigureError, match="at least one question"):
        Quiz([])
    with pytest.raises(FigureError, match="Question 1 is a str"):
        Quiz(["Which one?"])


@pytest.mark.parametrize(
    ("tried", "score"),
    [
        ({}, 0),
        ({"0": [1]}, 1),
        ({"0": [0, 1]}, 0),  # right, but not at once
        ({"0": [1, 0, 2]}, 1),  # reading the other reasons afterwards costs nothing
        ({"1": [0]}, 0),  # one of two found
        ({"1": [2, 0]}, 1),
        ({"1": [2, 1, 0]}, 0),
        ({"0": [1], "1": [0, 2, 1]}, 2),
    ],
)
def test_quiz_counts_questions_answered_without_a_wrong_try(tried, score):
    quiz = Quiz([question(False, True, False), question(True, False, True)])
    quiz.answers = tried
    assert quiz.score == score


def test_quiz_refuses_answers_to_questions_it_does_not_have():
    quiz = Quiz([question(False, True)])
    with pytest.raises(FigureError, match="question '1'"):
        quiz.answers = {"1": [0]}
    with pytest.raises(FigureError, match="choice 2"):
        quiz.answers = {"0": [2]}
    with pytest.raises(FigureError, match="give a list of the choices"):
        quiz.answers = {"0": 1}
    assert quiz.answers == {}
    assert quiz.score == 0


def test_quiz_counts_a_choice_that_was_tried_again_only_once():
    quiz = Quiz([question(False, True, False, True)])
    quiz.answers = {0: [3, 3, 1, 3, 0]}
    assert quiz.answers == {"0": [3, 1, 0]}
    assert quiz.score == 1


def test_quiz_shuffles_alike_for_every_reader():
    given = [question(True, *[False] * 7, text=f"Number {i}") for i in range(6)]
    one, two, plain = Quiz(given, shuffle=True), Quiz(given, shuffle=True), Quiz(given)
    assert one.questions == two.questions
    assert one.questions != plain.questions
    places = {[c["correct"] for c in q["choices"]].index(True) for q in one.questions}
    assert len(places) > 1, "the right choice is not always in the same place"
    for mixed, straight in zip(one.questions, plain.questions, strict=True):
        assert sorted(c["text"] for c in mixed["choices"]) == [
            c["text"] for c in straight["choices"]
        ]
