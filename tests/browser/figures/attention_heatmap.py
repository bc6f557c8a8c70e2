"""The attention heatmap."""

import math
from typing import Any

import numpy as np
import torch

from attnlab import attention, masks
from attnlab.widgets import AttentionHeatmap
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import WORDS, entropy, random


def allowed(state: dict[str, Any], queries: int, keys: int) -> torch.Tensor:
    """The mask a heatmap's state asks for."""
    if state.get("edited") is not None:
        return torch.from_numpy(state["edited"].copy())
    name = state["mask"]
    if name in state["masks"]:
        return torch.from_numpy(np.broadcast_to(state["masks"][name], (queries, keys)).copy())
    if name == "causal":
        return masks.causal(queries, keys).dense()
    if name == "window":
        return masks.window(queries, state["radius"], keys).dense()
    real = keys - state["padding"] if name == "padding" else keys
    dense = masks.padding(torch.tensor([max(0, real)]), keys).dense()
    return dense.reshape(-1, keys).expand(queries, keys)


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    head = state["head"]

    def of_head(name: str) -> torch.Tensor:
        given = torch.from_numpy(state[name].copy()).double()
        return given[head] if given.ndim == 3 else given

    if state["weights"] is not None:
        scores = of_head("weights").log()
        scaled = scores
    else:
        q, k = of_head("q"), of_head("k")
        scores = q @ k.mT
        scaled = scores / math.sqrt(q.shape[-1]) if state["scaled"] else scores
    mask = allowed(state, *scores.shape)
    weights = attention.softmax(scaled / state["temperature"], mask)
    return {
        "weights": weights,
        "temperature": state["temperature"],
        "head": head,
        "mask": mask,
        "entropy": entropy(weights),
        "rowSums": weights.sum(-1),
        "scores": scores,
        "scaledScores": scaled,
        "scaled": state["scaled"],
    }


def examples() -> list[LiveFigure]:
    n = len(WORDS)
    own = torch.ones(n, n, dtype=torch.bool)
    own[2:5, 1:3] = False
    return [
        AttentionHeatmap(q=random(3, n, 8), k=random(3, n, 8), tokens=WORDS, masks={"own": own}),
        AttentionHeatmap(
            random(2, 4, n).softmax(-1), tokens=WORDS[:4], key_tokens=WORDS, mask="causal"
        ),
    ]


def rogue(words: list[str]) -> LiveFigure:
    n = len(words)
    return AttentionHeatmap(
        q=random(n, 4),
        k=random(n, 4),
        tokens=words,
        masks={word: torch.ones(n, n, dtype=torch.bool) for word in words},
        title=words[0],
        caption=words[1],
        alt=words[2],
    )
