"""What each GPU holds in training, against the arithmetic in Python."""

from dataclasses import asdict
from typing import Any

from attnlab.training.memory import GIB, Budget, budget, parameters
from attnlab.widgets import MemoryBudget
from attnlab.widgets.base import LiveFigure


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    names = ("layers", "width", "vocabulary", "length", "batch", "optimiser", "mixed", "recompute")
    sizes = {name: state[name] for name in names}

    def said(one: Budget) -> dict[str, float]:
        return {**asdict(one), "total": one.total}

    ddp, fsdp = budget(**sizes, gpus=state["gpus"])
    fits = [2**n for n in range(11) if budget(**sizes, gpus=2**n)[1].total <= state["card"] * GIB]
    return {
        "count": parameters(state["layers"], state["width"], state["vocabulary"]),
        "ddp": said(ddp), "fsdp": said(fsdp), "fewest": fits[0] if fits else 0,
    }  # fmt: skip


def examples() -> list[LiveFigure]:
    return [
        MemoryBudget(),
        MemoryBudget(layers=12, width=768, optimiser="soap", mixed=False, recompute=True, gpus=1),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return MemoryBudget(title=words[0], caption=words[1])
