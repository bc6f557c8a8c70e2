"""A story that is told already, as it stands on a page before the model is loaded."""

from typing import Any

import torch

from attnlab.decoding import next_word_probabilities
from attnlab.widgets import StoryTeller
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import WORDS, random

SHOWN = 10


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    maps = (torch.tensor(state["roots"]).double() / 255) ** 2  # (N, H, T, T)
    layers, _, length, _ = maps.shape
    one = maps[state["layer"], state["head"]]
    at = length - 1 if state["position"] < 0 else state["position"]
    logits, heat = torch.tensor(state["logits"])[at].double(), state["temperature"]
    shown: dict[str, Any] = {
        "length": length, "at": at, "weights": one[at, : at + 1], "sink": one[1:, 0].mean(),
        "sinks": maps[:, :, 1:, 0].mean(-1).flatten(),
        "cache": 2 * layers * state["width"] * 4 * length,
    }  # fmt: skip
    order = logits.argsort(descending=True, stable=True)
    plain = next_word_probabilities(logits, temperature=heat or 1)[order]
    cut = {"top_p": state["top_p"]} if heat else {"top_k": 1}  # 0: always the likeliest
    shares = next_word_probabilities(logits, temperature=heat or 1, **cut)[order]
    return {
        **shown, "names": [state["nexts"][at][i] for i in order[:SHOWN].tolist()],
        "plain": plain[:SHOWN], "shares": shares[:SHOWN], "kept": int((shares > 0).sum()),
    }  # fmt: skip


def told(tokens: list[str], words: list[str], **traits: Any) -> StoryTeller:
    """A story of made-up numbers: 2 layers of 3 heads."""
    length = len(tokens)
    ahead = torch.ones(length, length, dtype=torch.bool).triu(1)
    maps = random(2, 3, length, length).masked_fill(ahead, -torch.inf).softmax(-1)
    logits = 2 * random(length, len(words))
    return StoryTeller(maps, tokens=tokens, logits=logits, words=words, **traits)


def examples() -> list[LiveFigure]:
    words = [*WORDS, "a", "b", "c", "d", "e"]
    return [
        told(["<s>", *WORDS], words, opened=3, temperature=1.0),
        told(["<s>", *WORDS[:5]], words, opened=2, layer=1, head=2, position=3, top_p=0.6,
             temperature=0.5, width=12),
        told(["<s>", *WORDS], words[:4]),
    ]  # fmt: skip


def rogue(words: list[str]) -> LiveFigure:
    return told(["<s>", *words], words, title=words[0], temperature=1.0)
