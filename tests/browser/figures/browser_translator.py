"""The translators on a page."""

from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch

from attnlab import checkpoints, decoding, reproducible
from attnlab.attention import attention, softmax
from attnlab.data import Pair, Vocabulary, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.data.sequences import SPECIAL
from attnlab.models.seq2seq import Config, Seq2Seq, alignments
from attnlab.translator import Translator
from attnlab.widgets import BrowserTranslator
from attnlab.widgets.base import LiveFigure
from attnlab.widgets.browser_translator import MOST, reading
from tests.browser.live import Live

ENGLISH = "the a black white cat cats dog sleep sleeps run , not and eats walked"
FRENCH = "le la l' homme chat chats chien dort , ne pas et noir blanc mange"
SOURCE, TARGET = Vocabulary(ENGLISH.split()), Vocabulary(FRENCH.split())
PAIRS = [
    Pair(source=tuple(source.split()), target=tuple(target.split()))
    for source, target in (
        ("the black cat sleeps", "le chat noir dort"),
        ("the cat , the dog and the cats run", "le chat , le chien et les chats"),
        ("a white dog eats", "l' homme mange"),
    )
]


def received(sent: dict[str, Any]) -> Translator:
    """The translator that the page computes with, from what was sent to it."""
    model = Seq2Seq(Config(**sent["config"]))
    model.load_state_dict(checkpoints.from_json(sent["arrays"]))
    words = [Vocabulary(sent[side][len(SPECIAL) :]) for side in ("source", "target")]
    return Translator(model.eval(), *words)


def said(translator: Translator, words: list[str], temperature: float = 1.0) -> dict[str, Any]:
    """Everything greedy decoding says of one sentence, by torch, with looks of a temperature."""
    heated = partial(attention, temperature=temperature)
    with mock.patch("attnlab.models.seq2seq.attention", heated), torch.no_grad():
        return _said(translator, words)


def _said(translator: Translator, words: list[str]) -> dict[str, Any]:
    state, _ = translator.start([words])
    longest = 2 * len(words) + 5
    tokens = decoding.greedy(translator.model.step, state, max_length=longest)[0]
    finished = len(tokens) < longest
    target = [translator.target.words[token] for token in tokens]
    rows = len(tokens) + finished
    batch = collate([Pair(source=tuple(words), target=tuple(target))], *vocabularies(translator))
    shares = softmax(translator.model(batch))[0, :rows]
    attends = translator.model.config.kind != "none"
    weights = alignments(translator.model, batch)[0, :rows] if attends else None
    return {
        "target": target,
        "finished": finished,
        "total": rows,
        "probability": shares.amax(-1),
        "weights": weights,
        "summary": state.memory.summary[0],
    }


def vocabularies(translator: Translator) -> tuple[Vocabulary, Vocabulary]:
    return translator.source, translator.target


def check_right(right: list[bool], said: list[str], gold: tuple[str, ...] | list[str]) -> None:
    """The words called right must stand in the reference in this order, and none can be added."""
    kept = [word for word, ok in zip(said, right, strict=True) if ok]
    rest = iter(gold)
    assert all(word in rest for word in kept), f"{kept} do not stand in {gold} in this order"
    table = np.zeros((len(said) + 1, len(gold) + 1), dtype=int)
    for i, word in enumerate(said):
        for j, other in enumerate(gold):
            table[i + 1, j + 1] = (
                table[i, j] + 1 if word == other else max(table[i, j + 1], table[i + 1, j])
            )
    assert len(kept) == table[-1, -1], f"{table[-1, -1]} words are right, not {len(kept)}"


def twin(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
    words = reading(state["text"])
    pick = state["attending"] if state["attention"] else state["fixed"]
    translator = received(pick or state["attending"] or state["fixed"])
    kind = translator.model.config.kind
    shown = numbers["shown"]  # while it plays, the page may be a word ahead
    legible = [] if len(words) > MOST else words
    unknown = [word for word in translator.source.unknown(legible) if word not in SPECIAL]
    expected = {
        "words": words[:MOST],
        "left": numbers["left"],
        "unknown": unknown,
        "suggestions": {word: numbers["suggestions"][word] for word in unknown},
        "kind": kind,
        "speed": state["speed"],
        "temperature": state["temperature"],
        "shown": shown,
    }
    for word, close in numbers["suggestions"].items():
        assert len(close) <= 3
        assert all(other in translator.source for other in close), f"{word}: {close}"
    if not legible:
        keys = "french probability weights summary looked right"
        silent = {key: [] for key in keys.split()}
        return {
            **expected, **silent, "total": 0, "finished": True, "translation": "", "selected": -1,
            "gold": "",
        }  # fmt: skip
    found = said(translator, legible, state["temperature"])
    assert 0 <= shown <= found["total"]
    if state["shown"] < 0:
        assert shown == found["total"]
    visible = found["target"][:shown]
    pair = next((p for p in state["examples"] if p["source"] == legible), None)
    if pair and shown >= len(found["target"]):
        check_right(numbers["right"], found["target"], pair["target"])
    now = numbers["selected"]
    assert -1 <= now < max(shown, 1)
    attends = found["weights"] is not None
    detokenise = EnglishFrench().detokenise
    return {
        **expected,
        "total": found["total"],
        "finished": found["finished"],
        "french": visible,
        "translation": detokenise(translator.target.decode(translator.target.encode(visible))),
        "probability": found["probability"][:shown],
        "weights": found["weights"][:shown].tolist() if attends else [],
        "summary": [] if attends else found["summary"],
        "selected": now,
        "looked": found["weights"][now] if attends and now >= 0 else [],
        "gold": detokenise(pair["target"]) if pair else "",
        "right": numbers["right"],
    }


def translator(kind: str, seed: int, source: Vocabulary, target: Vocabulary) -> Translator:
    """One that was never trained, with large weights, so that its words differ."""
    reproducible.seed(seed)
    config = Config(
        source_words=len(source), target_words=len(target), kind=kind, embedding=5, hidden=7
    )
    model = Seq2Seq(config).eval()
    model.load_state_dict({name: 2.5 * value for name, value in model.state_dict().items()})
    return Translator(model, source, target)


def made(kind: str, seed: int) -> Translator:
    return translator(kind, seed, SOURCE, TARGET)


def examples() -> list[LiveFigure]:
    return [
        BrowserTranslator(
            made("additive", 1), made("none", 2), examples=PAIRS, trained=6, title="Test"
        ),
        BrowserTranslator(
            made("dot", 3), text="the cat, the zebra and 🦜", store="float16", temperature=4.0
        ),
        BrowserTranslator(
            made("bilinear", 4), made("none", 5), text="a dog", attention=False, store="float32"
        ),
    ]


def lecture() -> LiveFigure:
    """A trained model: one that was not says up to 16 words, and no lecturer shows that."""
    return BrowserTranslator.shipped(text="the black cat sleeps")


def rogue(words: list[str]) -> LiveFigure:
    return BrowserTranslator(
        made("additive", 1),
        made("none", 2),
        examples=[*PAIRS, Pair(source=tuple(words), target=tuple(words[::-1]))],
        text=" ".join(words),
        title=words[0],
        caption=words[1],
    )


def move(live: Live) -> None:
    """Type a sentence: the speed alone changes no picture."""
    box = live.place.locator("input[type=text]")
    box.fill("the white cats run")
    box.press("Enter")
