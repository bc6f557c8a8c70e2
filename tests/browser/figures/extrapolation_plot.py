"""Accuracy against length."""

from typing import Any

import torch

from attnlab.widgets import ExtrapolationPlot
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    accuracy = torch.tensor(state["accuracy"]).double()  # (tasks, encodings, seeds, lengths)
    task, at = min(state["task"], len(accuracy) - 1), min(state["at"], accuracy.shape[-1] - 1)
    mean = accuracy[task].mean(1)
    shown = [kind for kind, yes in enumerate(state["shown"]) if yes]
    ranking = sorted(shown, key=lambda kind: -mean[kind, at].item())
    return {
        "task": task,
        "at": at,
        "length": state["lengths"][at],
        "shown": shown,
        "mean": mean,
        "low": accuracy[task].amin(1),
        "high": accuracy[task].amax(1),
        "ranking": ranking,
    }


def examples() -> list[LiveFigure]:
    scores = random(2, 3, 4, 5).sigmoid()
    return [
        ExtrapolationPlot(
            ["none", "RoPE", "ALiBi"], [8, 16, 24, 32, 64], scores, 16, tasks=["echo", "shop"]
        )
    ]


def rogue(words: list[str]) -> LiveFigure:
    scores = random(2, len(words), 1, 3).sigmoid()
    return ExtrapolationPlot(words, [1, 2, 3], scores, 1, tasks=[words[0], words[6]])
