"""The chopper of texts, pictures and sounds."""

from typing import Any

import torch

from attnlab.data.tokens import frames, landscape, learn_merges, patches, pieces, tune
from attnlab.widgets import Chopper
from attnlab.widgets.base import LiveFigure

MERGES = learn_merges("the old bank by the river is the oldest bank of the old town", 30)


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    what = state["what"]
    if what == "text":
        merges = [(left, right) for left, right in state["merges"]]
        tokens = pieces(state["text"], merges[: state["used"]])
        return {"what": what, "tokens": tokens, "count": len(tokens), "used": state["used"]}
    if what == "picture":
        cut = patches(torch.from_numpy(state["picture"].copy()), state["patch"])
        means = cut.unflatten(1, (-1, 3)).mean(1)
        return {"what": what, "means": means, "count": len(cut), "width": cut.shape[1]}
    cut = frames(torch.from_numpy(state["sound"].copy()), state["frame"])
    loud = cut.square().mean(1).sqrt()
    return {"what": what, "loud": loud, "count": len(cut), "width": cut.shape[1]}


def examples() -> list[LiveFigure]:
    text = "the oldest river"
    return [
        Chopper(text, MERGES, picture=landscape(32), sound=tune(0.5), patch=8),
        Chopper(text, MERGES, picture=landscape(16), sound=tune(0.3), patch=4, what="picture"),
        Chopper(text, MERGES, picture=landscape(16), sound=tune(0.3), patch=4, what="sound"),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return Chopper(
        " ".join(words[:6]), MERGES, picture=landscape(16), sound=tune(0.3), title=words[0]
    )
