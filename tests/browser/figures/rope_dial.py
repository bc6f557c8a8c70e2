"""Rotary positions as clocks."""

from typing import Any

import torch

from attnlab.layers.positions import Rope, frequencies
from attnlab.widgets import RopeDial
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    q, k = (torch.tensor(state[name]).double() for name in ("q", "k"))
    rope = Rope(len(q), base=state["base"])
    query, key, longest = state["query"], state["key"], state["longest"]
    turned_q, turned_k = rope(q[None], query)[0], rope(k[None], key)[0]
    keys = rope(k.expand(2 * longest + 1, -1), -longest)  # at every distance
    return {
        "base": state["base"],
        "query": query,
        "key": key,
        "distance": key - query,
        "speeds": frequencies(len(q), state["base"]),
        "q": turned_q,
        "k": turned_k,
        "parts": (turned_q * turned_k).unflatten(0, (-1, 2)).sum(-1),
        "score": turned_q @ turned_k,
        "curve": keys @ q,
    }


def examples() -> list[LiveFigure]:
    return [
        RopeDial(),
        RopeDial(random(6), random(12)[6:], base=100, query=7, key=2, longest=20, tied=True),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return RopeDial([1, 0], [0, 1], title=words[0], caption=words[6])
