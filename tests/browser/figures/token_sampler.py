"""Temperature, top-k and top-p."""

import math
from typing import Any

import torch

from attnlab.decoding import next_word_probabilities
from attnlab.widgets import TokenSampler
from attnlab.widgets.base import LiveFigure
from tests.browser.figures.scale_histogram import mulberry32
from tests.browser.twins import WORDS, entropy, random


def twin(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
    logits = torch.tensor(state["logits"]).double()[state["context"]]
    order = logits.argsort(descending=True, stable=True)
    plain = (logits[order] / state["temperature"]).softmax(-1)
    kept = next_word_probabilities(
        logits,
        temperature=state["temperature"],
        top_k=state["top_k"] or None,
        top_p=state["top_p"] if state["top_p"] < 1 else None,
    )[order]
    uniform = torch.from_numpy(mulberry32(state["seed"], 0, state["draws"]))
    drawn = torch.searchsorted(kept.cumsum(0), uniform, right=True).clamp(max=len(kept) - 1)
    return {
        "order": order,
        "plain": plain,
        "kept": kept,
        "allowed": int((kept > 0).sum()),
        "entropy": entropy(kept),
        "surprise": -(kept * logits.log_softmax(-1)[order]).sum() / math.log(2),
        "counts": torch.bincount(drawn, minlength=len(kept)),
        "last": int(drawn[-1]) if len(drawn) else -1,
    }


def examples() -> list[LiveFigure]:
    contexts = ["the", "the cat", "a <b>dog</b>"]
    return [
        TokenSampler(random(3, 7) * 2, tokens=WORDS, contexts=contexts),
        TokenSampler(random(1, 30), tokens=range(30), contexts=["x"], top_k=5, top_p=0.8, draws=9),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return TokenSampler(random(len(words), len(words)), tokens=words, contexts=words)
