"""What is shared by figures that say something one word, or one sound, at a time."""

from typing import Any, ClassVar

from traitlets import Float, Int, Unicode, validate

from attnlab.widgets.base import FigureError, LiveFigure

SLOWEST, FASTEST = 1.0, 12.0  # words per second


def whole(text: str) -> str:
    """The text without lone surrogates: half a character cannot be sent as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


class OneByOne(LiveFigure):
    """`text` is what is read, `shown` how much of the answer is visible (−1: all), `speed` how many
    of its units, words or sounds, come per second.
    """

    unit: ClassVar[str]

    text = Unicode("").tag(sync=True)
    shown = Int(-1).tag(sync=True)
    speed = Float(3.0).tag(sync=True)

    @validate("text")
    def _whole(self, proposal: Any) -> str:
        return whole(proposal["value"])

    @validate("speed")
    def _possible(self, proposal: Any) -> float:
        if not SLOWEST <= proposal["value"] <= FASTEST:
            raise FigureError(
                f"speed is {proposal['value']}: choose {SLOWEST:.0f} to {FASTEST:.0f} {self.unit} "
                "a second."
            )
        return float(proposal["value"])
