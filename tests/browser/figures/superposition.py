"""The geometry of superposition, a second time with torch."""

from typing import Any

import torch

from attnlab.inside import superposition
from attnlab.widgets import Superposition
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], numbers: dict[str, Any]) -> dict[str, Any]:
    k = state["model"]
    weights = torch.tensor(state["weights"])[k : k + 1].double()  # (1, 2, n)
    bias = torch.tensor(state["bias"])[k : k + 1].double()
    trained = state["sparsity"][k]
    test = trained if state["follow"] else state["test"]
    sizes, luck = torch.tensor(state["sizes"]).double(), torch.tensor(state["luck"]).double()
    x = (sizes * (luck >= test))[None]  # (1, B, n)
    importance = torch.tensor(state["importance"]).double()[None]
    gram = (weights.mT @ weights)[0]
    given = torch.tensor(state["active"]).double()
    return {
        "model": k,
        "trained": trained,
        "test": test,
        "gram": gram,
        "loss": superposition.error(x, weights, bias, importance)[0],
        "input": given,
        "arrows": weights[0].mT,
        "hidden": weights[0] @ given,
        "output": superposition.reconstruct(given[None, None], weights, bias)[0, 0],
        "kept": (gram.diagonal() > 0.5).sum(),
    }


def examples() -> list[LiveFigure]:
    weights = random(4, 2, 5)
    return [
        Superposition(weights, 0.1 * random(4, 5), [0, 0.5, 0.9, 0.99], [1, 0.9, 0.8, 0.7, 0.6]),
        Superposition(
            random(3, 2, 3), random(3, 3), [0.1, 0.2, 0.3], [1, 2, 3], model=1, follow=False
        ),
    ]


def rogue(words: list[str]) -> LiveFigure:
    n = len(words)
    figure = Superposition(
        random(2, 2, n), random(2, n), [0.2, 0.8], [1.0] * n, names=words, title=words[0]
    )
    figure.caption = figure.alt = words[1]
    return figure
