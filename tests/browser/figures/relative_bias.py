"""The table of relative-position biases."""

from typing import Any

import torch

from attnlab.widgets import RelativeBiasTable
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    table = torch.tensor(state["table"])[state["head"]]
    rows, columns = ((n + 1) // 2 for n in table.shape)
    down = state["row"] - torch.arange(rows) + rows - 1
    across = state["column"] - torch.arange(columns) + columns - 1
    offset = [state["row"] - state["key_row"], state["column"] - state["key_column"]]
    index = (offset[0] + rows - 1) * table.shape[1] + offset[1] + columns - 1
    return {
        "rows": rows, "columns": columns, "offset": offset, "index": index,
        "value": table.flatten()[index], "map": table[down[:, None], across].flatten(),
    }  # fmt: skip


def examples() -> list[LiveFigure]:
    table = random(5, 5)
    return [
        RelativeBiasTable(table, row=1, column=2, key_row=0, key_column=2),
        RelativeBiasTable(table, row=2, column=0, key_row=1),
        RelativeBiasTable(random(3, 7, 13), head=1, row=3, column=5, key_row=1),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return RelativeBiasTable(random(3, 3), column=1, title=words[0])
