"""The matrix of sinusoids, with probes on a position and a dimension, and the binary counter."""

from typing import Any

from traitlets import Float, Int, Unicode, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet

VIEWS = ("waves", "binary")


class SinusoidMatrix(LiveFigure):
    """Drag a position and a dimension: the wave of that dimension, the vector of that position.

    SinusoidMatrix(length=48, width=32, place=20, dim=8, base=10_000)

    `view="binary"` shows the positions as binary numbers instead, lowest bit first.
    """

    figure = "sinusoid_matrix"
    _esm, _css = bundle("sinusoid_matrix"), stylesheet("sinusoid_matrix")

    length = Int(48).tag(sync=True)
    width = Int(32).tag(sync=True)
    base = Float(10_000.0).tag(sync=True)
    place = Int(20).tag(sync=True)
    dim = Int(8).tag(sync=True)
    view = Unicode("waves").tag(sync=True)

    def __init__(self, **traits: Any):
        super().__init__(
            **{
                "alt": "A matrix of sine and cosine waves: one row for each position, one column "
                "for each dimension. The left columns change fast from row to row, the right ones "
                "slowly, as the digits of a binary counter do.",
                **traits,
            }
        )

    @validate("length")
    def _length(self, proposal: Any) -> int:
        if not 2 <= proposal["value"] <= 256:
            raise FigureError(f"length is {proposal['value']}: give 2 to 256 positions.")
        return proposal["value"]

    @validate("width")
    def _width(self, proposal: Any) -> int:
        width = proposal["value"]
        if not 2 <= width <= 128 or width % 2:
            raise FigureError(
                f"width is {width}: give an even number from 2 to 128, as sines and cosines "
                "come in pairs."
            )
        return width

    @validate("base")
    def _base(self, proposal: Any) -> float:
        if not 10 <= proposal["value"] <= 1e6:
            raise FigureError(f"base is {proposal['value']}: the slider goes from 10 to 1000000.")
        return proposal["value"]

    @validate("place", "dim")
    def _probe(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise FigureError(
                f"{proposal['trait'].name} is {proposal['value']}: it is counted from 0."
            )
        return proposal["value"]

    @validate("view")
    def _view(self, proposal: Any) -> str:
        if proposal["value"] not in VIEWS:
            raise FigureError(f"view is {proposal['value']!r}: choose one of {', '.join(VIEWS)}.")
        return proposal["value"]
