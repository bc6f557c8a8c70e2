"""Shifted windows on a picture."""

from typing import Any

import torch

from attnlab import masks
from attnlab.layers.windows import partition, reverse, shift
from attnlab.widgets import WindowExplorer
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def allowed(side: int, window: int, by: int, masked: bool) -> torch.Tensor:
    """Who sees whom in one block: (side², side²)."""
    number = torch.arange(side * side).reshape(1, side, side, 1)
    cut = partition(shift(number, by), window)[0, :, :, 0]  # (W, M·M): which token is where
    mask = masks.shifted_window(side, side, window, by).dense()[:, 0]
    if not masked:
        mask = torch.ones_like(mask)
    out = torch.zeros(side * side, side * side, dtype=torch.bool)
    for cells, one in zip(cut, mask, strict=True):
        out[cells[:, None], cells] = one
    assert torch.equal(reverse(cut[None, :, :, None], side, side), shift(number, by))
    return out


def ways(rolled: torch.Tensor, cut: torch.Tensor, mine: int, by: int) -> list[list[int]]:
    """The way of each token of the window; beyond an edge, once more from the other side."""
    side, found = len(rolled), []
    for cell in cut[mine].tolist() if by else []:
        row, column = divmod(cell, side)
        after = (rolled == cell).nonzero()[0].tolist()
        round_it = (side * (row < by), side * (column < by))
        for down, right in [(0, 0), round_it] if any(round_it) else [(0, 0)]:
            found.append([row + down, column + right, row - by + down, column - by + right])
        assert found[-1][2:] == after
    return found


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    side, window, by = state["side"], state["window"], state["shift"]
    seen = torch.zeros(side * side)
    seen[state["row"] * side + state["column"]] = 1
    for k in range(state["blocks"]):
        one = allowed(side, window, 0 if k % 2 else by, state["masked"])
        seen = ((seen @ one.float()) > 0).float()
    number = torch.arange(side * side).reshape(1, side, side, 1)
    rolled = shift(number, by)[0, :, :, 0]
    at = (rolled == state["row"] * side + state["column"]).nonzero()[0].tolist()
    cut = partition(shift(number, by), window)[0, :, :, 0]
    mine = (cut == state["row"] * side + state["column"]).any(-1).nonzero().item()
    return {
        "step": state["step"], "at": at, "number": mine, "windows": len(cut),
        "seen": seen, "count": int(seen.sum()), "ways": ways(rolled, cut, mine, by),
        "entries": cut.numel() * window**2, "all": side**4,
    }  # fmt: skip


def examples() -> list[LiveFigure]:
    image = random(48, 48, 3).sigmoid()
    return [
        WindowExplorer(image=image, side=12, window=4, shift=1, row=0, column=11, step=4),
        WindowExplorer(image=image, side=24, window=6, shift=3, row=5, column=7, blocks=2, step=5),
        WindowExplorer(image=image, side=12, window=3, shift=2, row=1, masked=False, blocks=3),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return WindowExplorer(image=random(8, 8, 3).sigmoid(), title=words[0])
