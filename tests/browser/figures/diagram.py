"""The diagram; among the examples the whole Transformer, about 40 parts."""

from typing import Any

import numpy as np

from attnlab.widgets.base import LiveFigure
from attnlab.widgets.diagram import Arrow, Box, Diagram, Group, Matrix, Op, Step, Text
from tests.browser.live import Live
from tests.browser.play import pull_first_slider


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    drawing, steps, step = state["drawing"], state["steps"], state["step"]
    named = state["lit"] or (steps[step]["lit"] if steps else [])
    lit = set(named).union(*(drawing["groups"].get(name, []) for name in named))
    lit |= {name for name, ends in drawing["arrows"].items() if set(ends) <= lit}
    tables = {name: table["values"] for name, table in drawing["tables"].items()}
    carried = dict(drawing["carried"])
    for one in steps[: step + 1]:
        for name, value in one["values"].items():
            (carried if name in carried else tables)[name] = value
    return {"step": step, "lit": sorted(lit), "tables": tables, "carried": carried}


def move(live: Live) -> None:
    """Pull the slider of the steps; a diagram without steps has parts to press."""
    if live.controls("input[type=range]"):
        pull_first_slider(live)
    else:
        live.controls("g.al-dg-part")[0].click()


def transformer(**traits: Any) -> Diagram:
    """Encoder and decoder of Vaswani et al. 2017, in three lanes from left to right."""
    places = np.arange(4)[:, None] / 100 ** (np.arange(8) // 2 / 4)
    waves = np.where(np.arange(8) % 2, np.cos(places), np.sin(places))
    parts = [
        Text("source", "the cat\nsat", at=(0, 0)),
        Box("embed", "embed", at=(1, 0), colour="embedding"),
        Matrix("waves", "", values=waves, shape="", numbers=False, cell=7, at=(1, 1)),
        Op("place", at=(2, 0)),
        Box("self", "self-\nattention", at=(3, 0), colour="attention", link="#self"),
        Op("self-add", at=(4, 0)),
        Box("self-norm", "norm", at=(5, 0), colour="norm"),
        Box("feed", "feed-\nforward", at=(6, 0), colour="feed forward", link="#feed"),
        Op("feed-add", at=(7, 0)),
        Box("feed-norm", "norm", at=(8, 0), colour="norm"),
        Text("target", "<s> le\nchat", at=(0, 2)),
        Box("t-embed", "embed", at=(1, 2), colour="embedding"),
        Op("t-place", at=(2, 2)),
        Matrix("mask", "", values=np.tri(4), shape="", numbers=False, cell=7, at=(3, 1)),
        Box("masked", "masked\nattention", at=(3, 2), colour="attention", link="#masked"),
        Op("masked-add", at=(4, 2)),
        Box("masked-norm", "norm", at=(5, 2), colour="norm"),
        Box("cross", "cross-\nattention", at=(3, 3), colour="attention", link="#cross"),
        Op("cross-add", at=(4, 3)),
        Box("cross-norm", "norm", at=(5, 3), colour="norm"),
        Box("d-feed", "feed-\nforward", at=(6, 3), colour="feed forward"),
        Op("d-feed-add", at=(7, 3)),
        Box("d-feed-norm", "norm", at=(8, 3), colour="norm"),
        Box("linear", at=(9, 3), colour="green"),
        Box("softmax", at=(9, 2), colour="green"),
        Matrix("next", "", values=[0.05, 0.9, 0.05], shape="", numbers=False, at=(9, 1)),
        Text("word", "s’est assis", at=(9, 0)),
    ]
    arrows = [
        "source -> embed -> place -> self -> self-add -> self-norm",
        "self-norm -> feed -> feed-add -> feed-norm",
        "target -> t-embed -> t-place -> masked -> masked-add -> masked-norm -> cross",
        "cross -> cross-add -> cross-norm -> d-feed -> d-feed-add -> d-feed-norm",
        "d-feed-norm -> linear -> softmax -> next -> word",
        *("waves -> place", "waves -> t-place", "mask -> masked"),
        Arrow("feed-norm", "cross", "memory: K, V"),
        Arrow("place", "self-add", via=("above", "left")),
        Arrow("self-norm", "feed-add", via=("above", "left")),
        Arrow("t-place", "masked-add", via=("below", "right")),
        Arrow("masked-norm", "cross-add", via=("", "right")),
        Arrow("cross-norm", "d-feed-add", via=("below", "right")),
    ]
    groups = [
        Group("encoder", ["self", "self-add", "self-norm", "feed", "feed-add", "feed-norm"],
              "encoder × 6"),
        Group("decoder", ["masked", "masked-add", "masked-norm", "cross", "cross-add",
                          "cross-norm", "d-feed", "d-feed-add", "d-feed-norm"], "decoder × 6"),
    ]  # fmt: skip
    steps = [
        Step("Words become vectors, and places are added.", ["source", "embed", "waves", "place"]),
        Step("The encoder lets them look at each other.", ["encoder", "place"]),
        Step("The decoder looks back at what it has written.", ["masked", "mask", "masked-add"]),
        Step("It asks the encoder.", ["cross", "feed-norm", "cross-add"]),
        Step("A softmax says which word is next.", ["linear", "softmax", "next", "word"],
             {"next": [0.1, 0.1, 0.8]}),
    ]  # fmt: skip
    left = ["self", "self-add", "self-norm", "feed", "feed-add", "feed-norm"]
    right = ["masked", "masked-add", "masked-norm", "cross", "cross-add", "cross-norm"]
    right += ["d-feed", "d-feed-add", "d-feed-norm", "linear", "softmax", "next", "word"]
    tall: dict[str, tuple[float, float]] = {"waves": (1, 2), "mask": (1, 3)}
    tall |= {name: (0, row) for row, name in enumerate(["source", "embed", "place", *left])}
    tall |= {name: (2, row) for row, name in enumerate(["target", "t-embed", "t-place", *right])}
    return Diagram(
        parts, arrows, groups, steps, tall=tall, gap=(26, 26), title="The Transformer", **traits
    )


def small() -> LiveFigure:
    values = np.arange(6).reshape(2, 3) / 2 - 1
    return Diagram(
        [
            Matrix("x", "X", values=values, rows=["a", "b"], columns=["u", "v", "w"]),
            Box("f", "W_q^T", detail="2 × 3", link="#nowhere"),
            Matrix("y", size=(2, 4), shape="L × D"),
        ],
        ["x -> f: d_k", Arrow("f", "y", value=0.25)],
        steps=[
            Step("One.", ["x"]),
            Step("Two.", ["x", "f"], {"x": -values, "f->y": 0.75}),
            Step("Three.", []),
        ],
        step=1,
    )


def examples() -> list[LiveFigure]:
    return [transformer(), transformer(step=3), small()]


def lecture() -> LiveFigure:
    """A slide has room for a few parts with large letters; the whole Transformer is for a page."""
    return small()


def rogue(words: list[str]) -> LiveFigure:
    parts = [Box(f"{i} {word}", word, detail=word) for i, word in enumerate(words)]
    names = [part.name for part in parts]
    steps = [Step(word, [name]) for word, name in zip(words, names, strict=True)]
    table = Matrix("m", words[0], values=[[1.0], [2.0]], rows=words[:2], columns=[words[2]])
    arrows = [Arrow(names[0], names[1], words[2]), Arrow(names[1], names[2], words[0])]
    group = Group(words[1], names[3:5], words[1])
    return Diagram([*parts, table], arrows, [group], steps, title=words[0], caption=words[1])
