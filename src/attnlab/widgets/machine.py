"""The whole Transformer in one drawing; chapter 6 lights the part that it is building.

    machine("norms", caption="…")                    # one or several of PARTS are lit
    machine(counts={"embed": "24,448", …})           # numbers of parameters under the words

The straight lines are the residual streams. Every box links to the section that builds it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attnlab.widgets.diagram import Arrow, Box, Diagram, Group, Op, Part, Text
from attnlab.widgets.drawing.parts import Place

EMBED = "#embeddings-times-e"
NORM = "#layernorm-who-shares-a-mean"
ADD = "#residuals-why-add"
FEED = "#the-network-features-taken-apart"
BLOCK = "#the-encoder-block"
MASKS = "#two-masks"
DECODING = "#the-decoder-block"
COPIES = "#n-copies-that-share-nothing"
GENERATOR = "#the-whole-model"
LOSS = "#never-quite-sure-label-smoothing"

# What a section calls a part, and the parts that are lit for it.
PARTS: dict[str, tuple[str, ...]] = {
    "embedding": ("embed", "places", "in", "embed'", "places'", "in'"),
    "norms": ("n1", "n2", "n3", "n1'", "n2'", "n3'", "n4'"),
    "residuals": ("a1", "a2", "a1'", "a2'", "a3'"),
    "network": ("feed", "feed'"),
    "masks": ("real", "past", "n3->cross"),
    "encoder block": ("n1", "self", "a1", "n2", "feed", "a2"),
    "decoder block": ("n1'", "self'", "a1'", "n2'", "cross", "a2'", "n3'", "feed'", "a3'"),
    "copies": ("n1", "self", "a1", "n2", "feed", "a2", "n1'", "self'", "a1'", "n2'", "cross",
               "a2'", "n3'", "feed'", "a3'"),
    "generator": ("n4'", "generator", "softmax", "said"),
    "smoothing": ("softmax", "loss", "answer"),
    "dropout": ("in", "self", "self->a1", "feed->a2",
                "in'", "self'", "self'->a1'", "cross", "cross->a2'", "feed'->a3'"),
    "wiring": ("n3", "n3->cross", "cross"),
}  # fmt: skip


def machine(
    *parts: str, counts: Mapping[str, str] | None = None, copies: str = "N", **traits: Any
) -> Diagram:
    """The Transformer. With some of PARTS lit it is drawn small: a reminder of where you are.

    `counts` writes numbers of parameters into boxes.
    """
    numbers = dict(counts or {})
    drawn = [
        replace(part, detail=numbers[part.name])
        if isinstance(part, Box) and part.name in numbers
        else part
        for part in (*ENCODER, *DECODER)
    ]
    lit = list(dict.fromkeys(name for part in parts for name in PARTS[part]))
    return Diagram(
        drawn,
        arrows=ARROWS,
        groups=[
            Group(
                "encoder",
                [*PARTS["encoder block"], "real"],
                f"encoder block × {copies}",
                link=COPIES,
            ),
            Group(
                "decoder",
                [*PARTS["decoder block"], "past"],
                f"decoder block × {copies}",
                link=COPIES,
            ),
        ],
        tall=TALL,
        gap=(8.0, 4.0),
        lit=lit,
        small=bool(lit),
        **traits,
    )


ENCODER: list[Part] = [
    Text("source", "the cat\nsleeps", at=(0, 1)),
    Box("embed", "embed", at=(0, 2), colour="encoder", link=EMBED),
    Box("places", "position", at=(1, 1), link="05_positions.html"),
    Op("in", at=(1, 2), link=EMBED),
    Box("n1", "LN", at=(2, 1), link=NORM),
    Box("self", "self-\nattention", at=(3, 1), colour="attention", link=BLOCK),
    Box("real", "no pads", at=(3, 0), link=MASKS),
    Op("a1", at=(3, 2), link=ADD),
    Box("n2", "LN", at=(4, 1), link=NORM),
    Box("feed", "FFN", at=(5, 1), colour="value", link=FEED),
    Op("a2", at=(5, 2), link=ADD),
    Box("n3", "LN", at=(6, 2), link=NORM),
]

DECODER: list[Part] = [
    Text("so far", "⟨s⟩ le\nchat", at=(0, 4)),
    Box("embed'", "embed", at=(0, 5), colour="decoder", link=EMBED),
    Box("places'", "position", at=(1, 4), link="05_positions.html"),
    Op("in'", at=(1, 5), link=EMBED),
    Box("n1'", "LN", at=(2, 4), link=NORM),
    Box("self'", "self-\nattention", at=(3, 4), colour="attention", link=DECODING),
    Box("past", "past only", at=(3, 3), link=MASKS),
    Op("a1'", at=(3, 5), link=ADD),
    Box("n2'", "LN", at=(4, 4), link=NORM),
    Box("cross", "cross-\nattention", at=(5, 4), colour="attention", link=DECODING),
    Op("a2'", at=(5, 5), link=ADD),
    Box("n3'", "LN", at=(6, 4), link=NORM),
    Box("feed'", "FFN", at=(7, 4), colour="value", link=FEED),
    Op("a3'", at=(7, 5), link=ADD),
    Box("n4'", "LN", at=(8, 5), link=NORM),
    Box("generator", "generator", at=(8, 4), colour="decoder", link=GENERATOR),
    Box("softmax", "softmax", at=(8, 3), link=GENERATOR),
    Text("said", "dort", at=(8, 2)),
    Box("loss", "loss", at=(8, 1), link=LOSS),
    Text("answer", "truth", at=(8, 0)),
]

ARROWS: list[Arrow | str] = [
    "source -> embed -> in -> a1 -> a2 -> n3",
    "places -> in",
    "in -> n1 -> self -> a1",
    "real -> self",
    "a1 -> n2 -> feed -> a2",
    "n3 -> cross",
    "so far -> embed' -> in' -> a1' -> a2' -> a3' -> n4'",
    "places' -> in'",
    "in' -> n1' -> self' -> a1'",
    "past -> self'",
    "a1' -> n2' -> cross -> a2'",
    "a2' -> n3' -> feed' -> a3'",
    "n4' -> generator -> softmax -> said",
    "said -> loss",
    "answer -> loss",
]


# On a phone both stacks run downwards, side by side.
TALL: dict[str, Place] = {
    "source": (1, 0), "embed": (1, 1), "places": (0, 2), "in": (1, 2),
    "n1": (0, 3), "self": (0, 4), "a1": (1, 4), "real": (0, 5),
    "n2": (0, 6), "feed": (0, 7), "a2": (1, 7), "n3": (1, 8),
    "so far": (3, 0), "embed'": (3, 1), "places'": (2, 2), "in'": (3, 2),
    "n1'": (2, 3), "self'": (2, 4), "a1'": (3, 4), "past": (2, 5),
    "n2'": (2, 6), "cross": (2, 7), "a2'": (3, 7),
    "n3'": (2, 9), "feed'": (2, 10), "a3'": (3, 10), "n4'": (3, 11),
    "generator": (2.75, 12), "softmax": (2.75, 13), "said": (2.75, 14),
    "loss": (2, 14), "answer": (2, 13),
}  # fmt: skip
