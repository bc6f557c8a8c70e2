"""The head grid, a second time with torch."""

from typing import Any

import torch

from attnlab.attention import softmax
from attnlab.widgets import HeadGrid
from attnlab.widgets.base import LiveFigure
from tests.browser.live import Live
from tests.browser.twins import WORDS, entropy, random


def twin(state: dict[str, Any], numbers: dict[str, Any]) -> dict[str, Any]:
    scores = torch.tensor(state["scores"]).double()  # (N, H, L, L)
    heat = torch.tensor(state["temperatures"]).double()
    alive = ~torch.tensor(state["knocked"])  # (N, H)
    layer, head, query = state["layer"], state["head"], state["query"]
    weights = softmax(scores / heat[..., None, None])
    living = weights[layer][alive[layer]]
    together = living.mean(0) if len(living) else torch.zeros(scores.shape[-2:])
    top = numbers["top"]
    row = weights[layer, head, query]
    assert row[top] >= row.max() - 1e-6, "the strongest key is not the strongest"
    return {
        "layer": layer,
        "head": head,
        "query": query,
        "temperature": heat[layer, head],
        "alive": alive.double(),
        "weights": weights[layer, head],
        "together": together,
        "entropies": entropy(weights).mean(-1),
        "top": top,
    }


def examples() -> list[LiveFigure]:
    return [
        HeadGrid(
            2 * random(2, 3, 7, 7), tokens=WORDS, layer=1, head=2, notes={"0.1": "a note of ours"}
        ),
        HeadGrid(random(3, 2, 4, 4), tokens=[], title="Two heads", query=3),
    ]


def rogue(words: list[str]) -> LiveFigure:
    notes = {"0.0": words[0], "0.1": words[2]}
    figure = HeadGrid(
        random(1, 2, len(words), len(words)), tokens=words, notes=notes, title=words[1]
    )
    figure.caption = figure.alt = words[0]
    return figure


def move(live: Live) -> None:
    """Open the last head of the last layer."""
    live.controls(".al-g-thumb")[-1 if live.state()["head"] == 0 else 0].click()
