"""Where the answers of all chapters are collected: `answers_NN.py` fills WRONG and RIGHT.

    @wrong("03.1", "did you divide the scores by √D")
    def forgets_the_scale(q, k): ...

    @right("03.1")
    def with_einsum(q, k): ...

    @hand("03.1")
    class AsALayer(torch.nn.Module): ...

A wrong answer gives the words a learner must read; a right one is written unlike the solution. So
are those of `right_NN.py`, in other hands again: NumPy, loops, einsum, einops, modules, objects,
float64. mutants.py makes near-misses of both, wherever they are plain functions.
"""

import importlib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

Function = Callable[..., Any]

WRONG: dict[str, list[tuple[Function, str]]] = defaultdict(list)
RIGHT: dict[str, list[Function]] = defaultdict(list)
HANDS: dict[str, list[Any]] = defaultdict(list)


def load() -> None:
    """Every chapter's answers."""
    for pattern in ("answers_*.py", "right_*.py"):
        for file in sorted(Path(__file__).parent.glob(pattern)):
            importlib.import_module(file.stem)


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


def hand(id: str) -> Callable[[Any], Any]:
    """A function, or a class whose objects are called."""

    def collect(answer: Any) -> Any:
        HANDS[id].append(answer() if isinstance(answer, type) else answer)
        return answer

    return collect
