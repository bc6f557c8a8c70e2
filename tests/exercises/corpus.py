"""Where the answers of all chapters are collected: `answers_NN.py` fills WRONG and RIGHT.

    @wrong("03.1", "did you divide the scores by √D")
    def forgets_the_scale(q, k): ...

    @right("03.1")
    def with_einsum(q, k): ...

A wrong answer gives the words a learner must read; a right one is written unlike the solution.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]

WRONG: dict[str, list[tuple[Function, str]]] = defaultdict(list)
RIGHT: dict[str, list[Function]] = defaultdict(list)


def wrong(id: str, words: str) -> Callable[[Function], Function]:
    def collect(function: Function) -> Function:
        WRONG[id].append((function, words))
        return function

    return collect


def right(id: str) -> Callable[[Function], Function]:
    def collect(function: Function) -> Function:
        RIGHT[id].append(function)
        return function

    return collect
