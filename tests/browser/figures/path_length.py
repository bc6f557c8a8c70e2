"""The path-length diagram."""

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from attnlab.widgets import PathLength
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import WORDS


def convolution_reach(n: int, kernel: int, layers: int, dilated: bool) -> torch.Tensor:
    """(n, n): may token i reach token j through so many layers? A product of band matrices."""
    radius = (kernel - 1) // 2
    place = torch.arange(n)
    offset = place[:, None] - place[None, :]
    reach = torch.eye(n)
    for layer in range(layers):
        gap = (radius + 1) ** layer if dilated else 1
        band = (offset % gap == 0) & (offset.abs() <= radius * gap)
        reach = reach @ band.float()
    return reach > 0


def convolution_depth(n: int, kernel: int, source: int, target: int, dilated: bool) -> int:
    layers = 1  # even a token's way to itself goes through one
    while not convolution_reach(n, kernel, layers, dilated)[source, target]:
        layers += 1
    return layers


def twin(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
    n, kernel, width, dilated = (state[key] for key in ("n", "kernel", "width", "dilated"))
    source, target = min(state["source"], n - 1), min(state["target"], n - 1)
    depth = convolution_depth(n, kernel, source, target, dilated)
    _legal_way(numbers["paths"]["convolution"], kernel, source, target, dilated)
    step = 1 if target >= source else -1
    return {
        "n": n,
        "kernel": kernel,
        "dilated": dilated,
        "source": source,
        "target": target,
        "width": width,
        "paths": {
            "rnn": list(range(source, target + step, step)),
            "convolution": numbers["paths"]["convolution"],
            "attention": [source, target],
        },
        "path": {"rnn": abs(target - source) + 1, "convolution": depth, "attention": 1},
        "longest": {
            "rnn": n,
            "convolution": convolution_depth(n, kernel, 0, n - 1, dilated),
            "attention": 1,
        },
        "sequential": {"rnn": n, "convolution": 1, "attention": 1},
        "operations": {
            "rnn": n * width**2,
            "convolution": kernel * n * width**2,
            "attention": n**2 * width,
        },
    }


def _legal_way(way: Sequence[int], kernel: int, source: int, target: int, dilated: bool) -> None:
    """The drawn path starts and ends right, and every hop is one the kernel can make."""
    radius = (kernel - 1) // 2
    assert (way[0], way[-1]) == (source, target)
    for layer, (here, there) in enumerate(itertools.pairwise(way)):
        gap = (radius + 1) ** layer if dilated else 1
        hop = abs(there - here)
        assert hop % gap == 0, f"the path {way} hops between the taps"
        assert hop <= radius * gap, f"the path {way} hops too far"


def examples() -> list[LiveFigure]:
    return [PathLength(n=9, kernel=3), PathLength(tokens=WORDS)]


def rogue(words: list[str]) -> LiveFigure:
    return PathLength(tokens=words)
