"""The attention of a ViT on a picture."""

from typing import Any

import torch

from attnlab.inside.outlines import keep_mass
from attnlab.inside.rollout import rollout
from attnlab.widgets import PatchAttention
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import random


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    weights = (torch.tensor(state["roots"]).double() / 255) ** 2  # (N, H, L, L)
    layer, head, skip = state["layer"], state["head"], state["skip"]
    side = round((weights.shape[2] - skip) ** 0.5)
    cls = state["row"] < 0 or state["column"] < 0
    token = 0 if cls else skip + state["row"] * side + state["column"]
    if head >= 0:
        row = weights[layer, head, token]
    elif head == -1:
        row = weights[layer].mean(0)[token]
    else:
        row = rollout(weights[None, : layer + 1])[0, token]
    found = row[skip:]
    kept = keep_mass(found.reshape(side, side), state["share"]).flatten()
    return {
        "side": side, "cls": cls, "token": token, "map": found, "kept": kept.double(),
        "count": int(kept.sum()), "elsewhere": row[:skip].sum(),
    }  # fmt: skip


def examples() -> list[LiveFigure]:
    maps = random(3, 2, 18, 18).softmax(-1)
    image = random(32, 32, 3).sigmoid()
    return [
        PatchAttention(maps, image=image, skip=2, layer=2, head=1),
        PatchAttention(maps, image=image, skip=2, layer=1, head=-1, row=2, column=1, share=0.35),
        PatchAttention(maps, image=image, skip=2, layer=2, head=-2, row=0, column=3),
    ]


def rogue(words: list[str]) -> LiveFigure:
    maps = random(2, 1, 5, 5).softmax(-1)
    return PatchAttention(maps, image=random(8, 8, 3).sigmoid(), title=words[0])
