"""The alignment explorer."""

from typing import Any

import torch

from attnlab import metrics
from attnlab.attention import softmax
from attnlab.data import Pair
from attnlab.data.english_french import EnglishFrench
from attnlab.widgets import AlignmentExplorer
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import entropy, random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    shapes = [(len(one["target"]), len(one["source"])) for one in state["sentences"]]
    sizes = [rows * columns for rows, columns in shapes]
    maps = torch.from_numpy(state["logs"].copy()).split(sizes * len(state["names"]))
    place = state["names"].index(state["kind"]) * len(sizes) + state["sentence"]
    logs = maps[place].reshape(shapes[state["sentence"]])
    weights = softmax(logs.double() / state["temperature"])
    one = state["sentences"][state["sentence"]]
    pair = Pair(
        source=tuple(one["source"][:-1]),
        target=tuple(one["target"][:-1]),
        sure=frozenset(map(tuple, one["sure"])),
        possible=frozenset(map(tuple, one["possible"])),
    )
    found = metrics.links(logs, pair)
    linked = {t for t, _ in pair.possible}
    on_gold = sum(float(weights[t, s]) for t, s in pair.possible)
    return {
        "weights": weights,
        "looks": logs.argmax(-1),
        "bits": entropy(weights),
        "sentenceError": metrics.aer([found], [pair]) if found or pair.sure else 0.0,
        "onGold": on_gold / len(linked) if linked else 0.0,
        "temperature": state["temperature"],
        "kind": state["kind"],
        "gold": state["gold"],
        "word": state["word"],
        "corpusError": state["aer"].get(state["kind"], -1),
    }


def explorer(pairs: list[Pair], names: list[str], **traits: Any) -> LiveFigure:
    weights = {
        name: [
            (3 * random(i + 1, len(pair.target) + 1, len(pair.source) + 1)[-1]).softmax(-1)
            for pair in pairs
        ]
        for i, name in enumerate(names)
    }
    return AlignmentExplorer(pairs, weights, **traits)


def examples() -> list[LiveFigure]:
    pairs = EnglishFrench().examples()
    rates = {"additive": 0.01, "dot": 0.04}
    return [
        explorer(pairs[:5], ["additive", "dot", "bilinear"], aer=rates, sentence=3),
        explorer(pairs[-1:], ["one"], temperature=3.0, word=2),
    ]


def rogue(words: list[str]) -> LiveFigure:
    pair = Pair(source=tuple(words), target=tuple(words[:3]), sure=frozenset({(0, 1)}))
    return explorer([pair], [*words[:2]], title=words[0], caption=words[1], alt=words[2])
