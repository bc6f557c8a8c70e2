"""The figures that run trained models, seen from Python: what they accept, refuse and send."""

import json
import re

import pytest
import torch

from attnlab import checkpoints
from attnlab.data import Pair, Vocabulary, pronunciation
from attnlab.data.english_french import EnglishFrench
from attnlab.data.pronunciation import SOUNDS_LIKE
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.models.transformer import Config as TransformerConfig
from attnlab.models.transformer import Transformer
from attnlab.translator import Translator
from attnlab.widgets import BrowserTranslator, Pronouncer
from attnlab.widgets.base import STATIC, FigureError, LiveFigure, stylesheet
from attnlab.widgets.browser_translator import reading
from attnlab.widgets.pronouncer import spelling

ROGUE = "</script><script>alert(1)</script>"
SOURCE, TARGET = Vocabulary(["the", "cat", "sleeps"]), Vocabulary(["le", "chat", "dort", "l'"])
PAIR = Pair(source=("the", "cat"), target=("le", "chat"))
NAMES = ["browser_translator", "pronouncer"]


def made(kind="additive", source=SOURCE, target=TARGET, **config) -> Translator:
    sizes = {"source_words": len(source), "target_words": len(target), "embedding": 3, "hidden": 5}
    torch.manual_seed(0)
    return Translator(Seq2Seq(Config(kind=kind, **sizes, **config)), source, target)


def transformer() -> Translator:
    sizes = {"source_words": len(SOURCE), "words": len(TARGET)}
    return Translator(Transformer(TransformerConfig(**sizes)), SOURCE, TARGET)


def speaker(**config) -> Translator:
    letters, sounds = pronunciation.vocabularies()
    return made(source=letters, target=sounds, **config)


def figures(words: str) -> dict[str, LiveFigure]:
    return {
        "browser_translator": BrowserTranslator(
            made(), made("none"), examples=[Pair(source=(words,), target=(words,))], text=words
        ),
        "pronouncer": Pronouncer(speaker(), text=words),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", ["", "word", ROGUE, "🙂 héllo", "x" * 10_000])
def test_any_words_travel_to_the_page_as_text(name, words):
    html = figures(words)[name].to_html()
    assert html.count("<script") == 1
    state = re.search(r'<script type="application/json">(.*)</script>', html, re.DOTALL)
    assert "<" not in state[1]
    assert json.loads(state[1])["text"] == words


def test_half_a_character_does_not_stop_the_page():
    for figure in figures("half \ud83d").values():
        figure.to_html().encode("utf-8")


@pytest.mark.parametrize("name", [*NAMES, "layers", "seq2seq_model", "alignment_view"])
def test_a_module_sets_no_html(name):
    source = (STATIC / f"{name}.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?:", source)


@pytest.mark.parametrize("name", NAMES)
def test_the_style_of_a_shared_part_comes_along(name):
    css = stylesheet(name)
    assert css.count(".al-av-unsaid") == 1
    assert css.index(".al-figure {") < css.index(".al-av-unsaid")
    own = (STATIC / f"{name}.css").read_text(encoding="utf-8")
    rules = re.sub(r"/\*.*?\*/\s*", "", own, flags=re.DOTALL)
    selectors = re.findall(r"^([^{}@]+)\{", rules, re.MULTILINE)
    assert selectors
    assert all(one.startswith(f".al-{name.replace('_', '-')}") for one in selectors)
    assert ".al-av-unsaid" not in stylesheet("quiz")


# --- the translator


def test_translator_reads_as_the_corpus_does():
    corpus = EnglishFrench()
    for pair in [*corpus.take(50, "test"), *corpus.examples()]:
        text = corpus.detokenise(list(pair.source)).capitalize() + "."
        assert tuple(reading(text)) == pair.source == tuple(corpus.tokenise(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  🦜 12 !?", []),
        ("I don't sleep", ["i", "do", "not", "sleep"]),
        ("She can’t run.", ["she", "cannot", "run"]),
        ("You can not; they're old", ["you", "cannot", "they", "are", "old"]),
        ("the king's café, 🏳️‍🌈", ["the", "king's", "café", ","]),
        ("'quoted' <script>", ["quoted", "script"]),
        ("cafe\u0301", ["café"]),
    ],
)
def test_translator_reads_what_people_type(text, words):
    assert reading(text) == words


def test_translator_sends_both_models_and_starts_with_the_first_example():
    figure = BrowserTranslator(made(), made("none"), examples=[PAIR], trained=12)
    state = figure.static_state()
    assert state["text"] == "the cat"
    assert state["attention"] is True
    assert state["examples"] == [{"source": ["the", "cat"], "target": ["le", "chat"]}]
    assert state["attending"]["config"]["kind"] == "additive"
    assert state["fixed"]["config"]["kind"] == "none"
    assert len(figure.alt) > 20
    assert BrowserTranslator(fixed=made("none")).attention is False


def test_what_is_sent_is_the_model():
    one = made()
    sent = BrowserTranslator(one, store="float32").attending
    back = checkpoints.from_json(sent["arrays"])
    for name, value in one.model.state_dict().items():
        assert torch.equal(back[name], value), name


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BrowserTranslator(), "no translator was given"),
        (lambda: BrowserTranslator(made().model), "attending is a Seq2Seq"),
        (lambda: BrowserTranslator(transformer()), "holds a Transformer"),
        (lambda: BrowserTranslator(made("none")), "give it as fixed="),
        (lambda: BrowserTranslator(made(), made("dot")), "kind='dot'"),
        (lambda: BrowserTranslator(made(order="before")), "order='before'"),
        (
            lambda: BrowserTranslator(made(), made("none", target=Vocabulary(["le"]))),
            "different target words",
        ),
        (lambda: BrowserTranslator(made(), examples=["the cat"]), "an example is a str"),
        (lambda: BrowserTranslator(made(), speed=0.0), "speed is 0"),
        (lambda: BrowserTranslator(made(), temperature=0.0), "above 0"),
        (lambda: BrowserTranslator(made(), shown=-2), "−1 shows all"),
        (lambda: BrowserTranslator(made(), trained=-1), "trained is -1"),
        (lambda: Pronouncer("knight"), "speaker is a str"),
        (lambda: Pronouncer(speaker(order="before")), "order='before'"),
        (lambda: Pronouncer(speaker(), examples="knight"), "one string"),
        (lambda: Pronouncer(speaker(), examples=["two words"]), "'two words' is not one word"),
        (lambda: Pronouncer(speaker(), speed=99.0), "sounds a second"),
        (lambda: Pronouncer(speaker(), shown=-3), "count of sounds"),
        (lambda: Pronouncer(speaker(), which=-1), "counted from 0"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(FigureError, match=re.escape(words)):
        make()


# --- the pronouncer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Ada Lovelace", ["ada", "lovelace"]),
        ("José-María", ["jose", "maria"]),
        ("O’Hara", ["o'hara"]),
        ("'tis r2d2", ["tis", "rd"]),
        ("李 Иван 🦜", []),
        ("<script>", ["script"]),
    ],
)
def test_pronouncer_reads_what_people_type(text, words):
    assert spelling(text) == words


def test_pronouncer_knows_the_dictionary_and_what_sounds_are_like():
    figure = Pronouncer(speaker(), examples=["Knight", "xyzzy"])
    assert figure.examples[0] == {"word": "knight", "ways": [["N", "AY", "T"]]}
    assert figure.examples[1]["ways"] == []
    assert figure.text == "knight"
    assert set(figure.hints) == set(SOUNDS_LIKE)
    assert figure.hints["AY"] == "as in hide"
    assert max(map(len, pronunciation.dictionary())) == figure.trained
