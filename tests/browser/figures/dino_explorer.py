"""DINOv2 on a photograph, as it stands on a page before the model is loaded."""

from typing import Any

import torch

from attnlab.inside.outlines import keep_mass
from attnlab.widgets import DinoExplorer
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    firsts, lasts = (
        (torch.tensor(state[name]).double() / 255) ** 2 for name in ("firsts", "lasts")
    )
    layers, _, length = firsts.shape
    side, layer = round((length - 1) ** 0.5), state["layer"]
    cls = state["row"] < 0 or state["column"] < 0
    token = 0 if cls else 1 + state["row"] * side + state["column"]
    shown: dict[str, Any] = {
        "side": side, "cls": cls, "token": token, "own": False,
        "colours": torch.tensor(state["colours"]).double().flatten() / 255,
    }  # fmt: skip
    if not cls and layer < layers - 1:  # needs the model
        return {**shown, "known": False, "map": [], "kept": [], "count": 0, "elsewhere": 0}
    heads = firsts[layer] if cls else lasts[:, token]  # (H, L)
    row = heads.mean(0) if state["head"] < 0 else heads[state["head"]]
    kept = keep_mass(row[1:].reshape(side, side), state["share"]).flatten()
    return {
        **shown, "known": True, "map": row[1:], "kept": kept.double(), "count": int(kept.sum()),
        "elsewhere": row[0],
    }  # fmt: skip


def examples() -> list[LiveFigure]:
    maps, tokens = random(3, 2, 17, 17).softmax(-1), random(16, 5)
    image = random(32, 32, 3).sigmoid()
    given: dict[str, Any] = {"image": image, "tokens": tokens}
    return [
        DinoExplorer(maps, **given, shows="noise"),
        DinoExplorer(maps, **given, head=-1, row=2, column=1, share=0.35),
        DinoExplorer(maps, **given, head=1, layer=1, row=0, column=3),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return DinoExplorer(
        random(3, 1, 5, 5).softmax(-1), image=random(8, 8, 3).sigmoid(), tokens=random(4, 3),
        title=words[0], caption=words[6], shows=words[1],
    )  # fmt: skip
