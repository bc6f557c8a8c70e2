"""The attention workbench."""

import math
from typing import Any

import torch

from attnlab import attention, masks
from attnlab.widgets import AttentionWorkbench
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import WORDS, entropy, random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    x, w_q, w_k, w_v = (
        torch.from_numpy(state[name].copy()).double() for name in ("x", "w_q", "w_k", "w_v")
    )
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    length = len(x)
    scores = q @ k.mT
    scaled = scores / math.sqrt(q.shape[-1]) if state["scaled"] else scores
    if state["edited"] is not None:
        mask = torch.from_numpy(state["edited"].copy())
    else:
        mask = (
            masks.causal(length).dense() if state["causal"] else scores.new_ones(scores.shape) > 0
        )
    options: dict[str, Any] = {
        "mask": mask,
        "scale": None if state["scaled"] else 1.0,
        "temperature": state["temperature"],
    }
    weights = attention.weights(q, k, **options)
    return {
        **{"tokens": state["tokens"], "x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v},
        **{"q": q, "k": k, "v": v, "scores": scores, "scaledScores": scaled, "mask": mask},
        "masked": scaled.masked_fill(~mask, -math.inf),
        "weights": weights,
        "output": attention.attention(q, k, v, **options),
        **{name: state[name] for name in ("temperature", "scaled", "causal")},
        "entropy": entropy(weights),
        "rowSums": weights.sum(-1),
    }


def examples() -> list[LiveFigure]:
    return [
        AttentionWorkbench(WORDS[:5], random(5, 4), random(4, 2), random(4, 2) * 2, random(4, 3))
    ]


def rogue(words: list[str]) -> LiveFigure:
    # Six tokens at most: the last, 10,000 letters long, is one of them.
    return AttentionWorkbench(
        words[-6:], random(6, 2), *random(3, 2, 2), title=words[0], caption=words[1]
    )
