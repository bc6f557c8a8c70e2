"""Why attention divides by √d: the spread of q·k, and what it does to the softmax."""

from typing import Any

from traitlets import Bool, Int, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet

LARGEST = 1024  # the slider's last step; a power of two
PAIRS = 4096  # dot products in the histogram, shared out over PAIRS // keys queries


class ScaleHistogram(LiveFigure):
    """Histogram of q·k for random q and k of width d, beside the softmax it leads to.

    The browser draws standard normal queries and keys from `seed`, so every reader sees the
    same numbers. `dims` is the width d, `scaled` divides the scores by √d, `key_count` is how many
    keys one query sees (`keys` for short, when the figure is made), `query` is the one whose
    softmax is drawn, and `zoom` lets the histogram's axis follow the bell instead of staying still.

    ScaleHistogram(dims=64, scaled=False, key_count=16, seed=0)
    """

    figure = "scale_histogram"
    _esm, _css = bundle("scale_histogram"), stylesheet("scale_histogram")

    dims = Int(64).tag(sync=True)
    scaled = Bool(False).tag(sync=True)
    key_count = Int(16).tag(sync=True)  # every Jupyter widget already has a `keys`
    seed = Int(0).tag(sync=True)
    query = Int(0).tag(sync=True)
    zoom = Bool(False).tag(sync=True)

    def __init__(self, dims: int = 64, scaled: bool = False, keys: int = 16, **traits: Any):
        super().__init__(
            dims=dims,
            scaled=scaled,
            **{
                "key_count": keys,
                "alt": "Histogram of the dot products of random vectors of width d. Their "
                "variance is d; without the division by √d the softmax beside it puts nearly "
                "all its weight on one key and its gradient vanishes.",
                **traits,
            },
        )

    @validate("dims")
    def _power_of_two(self, proposal: Any) -> int:
        dims = proposal["value"]
        if not 1 <= dims <= LARGEST or dims & (dims - 1):
            raise FigureError(
                f"dims is {dims}: the slider has the powers of two 1, 2, 4, … {LARGEST}."
            )
        return dims

    @validate("key_count")
    def _some_keys(self, proposal: Any) -> int:
        if not 2 <= proposal["value"] <= 64:
            raise FigureError(
                f"key_count is {proposal['value']}: give 2 to 64 keys for each query."
            )
        return proposal["value"]

    @validate("seed")
    def _seed(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < 2**32:
            raise FigureError(f"seed is {proposal['value']}: give a whole number, 0 to 2³² − 1.")
        return proposal["value"]

    @validate("query")
    def _query(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise FigureError(f"query is {proposal['value']}: queries are counted from 0.")
        return proposal["value"]
