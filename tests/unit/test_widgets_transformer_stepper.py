"""The whole Transformer as a live figure, seen from Python: what it accepts and refuses."""

import json
import re

import pytest

from attnlab import reproducible
from attnlab.data.english_french import EnglishFrench
from attnlab.data.sequences import Vocabulary
from attnlab.models.seq2seq import Config as RecurrentConfig
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.transformer import Config, Transformer
from attnlab.translator import Translator
from attnlab.widgets import TransformerStepper
from attnlab.widgets.base import FigureError
from attnlab.widgets.browser_translator import reading
from attnlab.widgets.transformer_stepper import telling


@pytest.fixture(scope="module")
def translator() -> Translator:
    reproducible.seed(0)
    source = Vocabulary(["we", "do", "not", "love", "her", "cannot", ","])
    target = Vocabulary(["nous", "l'", "aimons"])
    config = Config(source_words=len(source), words=len(target), width=12, heads=3, layers=2)
    return Translator(Transformer(config).eval(), source, target)


def test_state_travels_as_json(translator):
    figure = TransformerStepper(translator, "We love her!", said=["nous"], off=["cross.1.2"])
    html = figure.to_html()
    state = json.loads(re.search(r'json">(.*)</script>', html, re.DOTALL)[1])
    assert state["sentence"] == "we love her"
    assert (state["said"], state["off"]) == (["nous"], ["cross.1.2"])
    assert (state["layer"], state["head"]) == (1, 0)  # the head that aligns
    assert state["model"]["source"][4:] == ["we", "do", "not", "love", "her", "cannot", ","]
    assert "encoder.layers.0.self_attention.query.weight" in state["model"]["arrays"]
    assert len(figure.alt) > 20


def test_it_opens_after_three_words_of_the_model_unless_told_otherwise(translator):
    own = translator.translate([["we", "love", "her"]])[0]
    assert TransformerStepper(translator, "we love her").said == own[:3]
    assert TransformerStepper(translator, "we love her", said=[]).said == []


def test_a_new_sentence_starts_again(translator):
    figure = TransformerStepper(translator, "we love her", said=["nous"], row=0)
    figure.sentence = "we do not love her"
    assert (figure.said, figure.row) == ([], -1)


@pytest.mark.parametrize(
    ("traits", "answer"),
    [
        ({"sentence": ""}, "0 words, but this figure shows 1 to 24"),
        ({"sentence": "🦜"}, "0 words"),
        ({"sentence": "we " * 10_000}, "10000 words"),
        ({"sentence": "we lowe <script>"}, "never learned 'lowe', 'script'. Close to 'lowe': love"),
        ({"sentence": "we love her", "examples": ["we hate her"]}, "never learned 'hate'"),
        ({"sentence": "we love her", "said": ["vous"]}, "cannot say 'vous'"),
        ({"sentence": "we love her", "off": ["cross.2.0"]}, "a layer below 2, a head below 3"),
        ({"sentence": "we love her", "off": ["decoder"]}, "off names 'decoder'"),
        ({"sentence": "we love her", "layer": 2}, "layer is 2, but they are counted from 0 to 1"),
        ({"sentence": "we love her", "head": -1}, "head is -1"),
        ({"sentence": "we love her", "temperature": 0}, "temperature is 0"),
        ({"sentence": "we love her", "temperature": float("nan")}, "temperature is nan"),
        ({"sentence": "we love her", "top_k": -1}, "top_k is -1"),
        ({"sentence": "we love her", "top_p": 1.5}, "top_p is 1.5"),
    ],
)
def test_what_cannot_be_shown_is_named(translator, traits, answer):
    with pytest.raises(FigureError, match=re.escape(answer)):
        TransformerStepper(translator, **traits)


def test_other_models_are_refused(translator):
    recurrent = Seq2Seq(RecurrentConfig(source_words=11, target_words=7))
    with pytest.raises(FigureError, match="was given a Seq2Seq"):
        TransformerStepper(Translator(recurrent, translator.source, translator.target))
    with pytest.raises(FigureError, match="was given a Transformer"):
        TransformerStepper(translator.model)
    with pytest.raises(FigureError, match="was given a str"):
        TransformerStepper("transformer")
    config = Config(source_words=11, words=7, width=12, heads=3, activation="gelu")
    with pytest.raises(FigureError, match="'gelu'"):
        TransformerStepper(Translator(Transformer(config), translator.source, translator.target))


def test_text_is_read_as_on_the_page(translator):
    assert reading("We CAN'T, don’t!") == ["we", "cannot", ",", "do", "not"]
    assert TransformerStepper(translator, "we love her").examples == []  # it knows too few words
    assert telling(translator, ["we love her", "we love him", "we " * 30]) == ["we love her"]
    shipped = TransformerStepper.shipped()
    assert len(shipped.examples) >= 10
    assert " ".join(EnglishFrench().examples()[0].source) in shipped.examples
