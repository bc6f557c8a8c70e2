"""How far a signal travels from one token to another: RNN, convolution, self-attention."""

from collections.abc import Sequence
from typing import Any

from traitlets import Bool, Int, validate

from attnlab.widgets.base import FigureError, LiveFigure, Words, bundle, stylesheet

KINDS = ("rnn", "convolution", "attention")
KERNELS = (3, 5, 7)
LONGEST = 16  # tokens that can still be told apart on a phone


class PathLength(LiveFigure):
    """Pick two tokens and compare the path between them in three kinds of layer.

    A path is counted from an input to an output: every arrow on the way is one step, so
    self-attention always needs 1. `source` and `target` count tokens from 0. `dilated` lets the
    convolution's steps grow from layer to layer. `width` is the model width d of the cost
    column. `layers` chooses the diagrams and their order.

    PathLength(n=8, kernel=3, layers=["rnn", "attention"])
    """

    figure = "path_length"
    _esm, _css = bundle("path_length"), stylesheet("path_length")

    n = Int(8).tag(sync=True)
    kernel = Int(3).tag(sync=True)
    dilated = Bool(False).tag(sync=True)
    source = Int(0).tag(sync=True)
    target = Int(7).tag(sync=True)
    width = Int(512).tag(sync=True)
    tokens = Words()
    layers = Words()

    def __init__(
        self,
        n: int | None = None,
        kernel: int = 3,
        *,
        tokens: Sequence[str] = (),
        layers: Sequence[str] = KINDS,
        source: int = 0,
        target: int | None = None,
        **traits: Any,
    ):
        super().__init__(
            kernel=kernel,
            tokens=tokens,
            layers=layers,
            source=source,
            **{
                "alt": "Diagrams of a recurrent, a convolutional and a self-attention layer. "
                "The path from the first token to the last grows with the distance in the RNN, "
                "more slowly in a stack of convolutions, and is one step in self-attention.",
                **traits,
            },
        )
        self.n = n if n is not None else len(self.tokens) or 8
        self.target = self.n - 1 if target is None else target
        for name in ("source", "target"):
            if (place := getattr(self, name)) >= self.n:
                raise FigureError(
                    f"{name} is {place}: with n={self.n} tokens, 0 to {self.n - 1} exist."
                )

    @validate("n")
    def _drawable(self, proposal: Any) -> int:
        if not 2 <= proposal["value"] <= LONGEST:
            raise FigureError(f"n is {proposal['value']}: the figure draws 2 to {LONGEST} tokens.")
        return int(proposal["value"])

    @validate("kernel")
    def _odd(self, proposal: Any) -> int:
        if proposal["value"] not in KERNELS:
            raise FigureError(
                f"kernel is {proposal['value']}: choose 3, 5 or 7, "
                "so that the window has a middle token."
            )
        return proposal["value"]

    @validate("source", "target")
    def _place(self, proposal: Any) -> int:
        # The browser clips to the last token, so that n may shrink before the positions do.
        if not 0 <= proposal["value"] < LONGEST:
            raise FigureError(
                f"{proposal['trait'].name} is {proposal['value']}: tokens are counted from 0, "
                f"and there are at most {LONGEST}."
            )
        return proposal["value"]

    @validate("width")
    def _width(self, proposal: Any) -> int:
        width = proposal["value"]
        if not 4 <= width <= 4096 or width & (width - 1):
            raise FigureError(f"width is {width}: the slider has the powers of two 4, 8, … 4096.")
        return width

    @validate("layers")
    def _kinds(self, proposal: Any) -> list[str]:
        kinds = list(proposal["value"])
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown:
            raise FigureError(f"layers holds {unknown[0]!r}: choose from {', '.join(KINDS)}.")
        if not kinds or len(set(kinds)) < len(kinds):
            raise FigureError(f"layers is {kinds}: name at least one kind, and each only once.")
        return kinds
