"""Rotary positions as clocks: two of them, the hands they turn, and the score of their distance."""

from typing import Any

from traitlets import Bool, Float, Int, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, bundle, stylesheet, together


class RopeDial(LiveFigure):
    """Drag the positions of a query and a key. Each pair of their numbers is a clock hand.

    RopeDial(q=[1, 0, 1, 0], k=[1, 0, 0, 1], query=3, key=8, base=100)

    `tied` moves both positions together: the hands turn, the score stays.
    """

    figure = "rope_dial"
    _esm, _css = bundle("rope_dial"), stylesheet("rope_dial")

    q = Array(ndim=(1,))
    k = Array(ndim=(1,))
    base = Float(10_000.0).tag(sync=True)
    query = Int(3).tag(sync=True)
    key = Int(8).tag(sync=True)
    longest = Int(48).tag(sync=True)
    tied = Bool(False).tag(sync=True)

    def __init__(self, q: Any = (1, 0) * 4, k: Any = (1, 0) * 4, **traits: Any):
        super().__init__(
            q=q,
            k=k,
            **{
                "alt": "Clocks, one for each pair of numbers of a query and a key. Moving a token "
                "turns its hands; moving both tokens together turns all hands alike, and the "
                "score stays.",
                **traits,
            },
        )

    @together("q", "k")
    def _vectors(self, q: Any, k: Any) -> None:
        for name, vector in (("q", q), ("k", k)):
            if not 2 <= len(vector) <= 24 or len(vector) % 2:
                raise FigureError(
                    f"{name} has {len(vector)} numbers: give an even number of them, 2 to 24, for "
                    "1 to 12 clocks."
                )
        if len(q) != len(k):
            raise FigureError(
                f"q has {len(q)} numbers and k {len(k)}: give both the same width (later: "
                "change(q=…, k=…))."
            )

    @validate("base")
    def _base(self, proposal: Any) -> float:
        if not 10 <= proposal["value"] <= 1e6:
            raise FigureError(f"base is {proposal['value']}: the slider goes from 10 to 1000000.")
        return proposal["value"]

    @validate("longest")
    def _longest(self, proposal: Any) -> int:
        if not 2 <= proposal["value"] <= 1000:
            raise FigureError(f"longest is {proposal['value']}: give 2 to 1000 places.")
        return proposal["value"]

    @validate("query", "key")
    def _place(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] <= 1000:
            raise FigureError(
                f"{proposal['trait'].name} is {proposal['value']}: places go from 0 to 1000."
            )
        return proposal["value"]
