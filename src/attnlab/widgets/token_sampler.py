"""Temperature, top-k and top-p on the logits of a real model."""

from typing import Any

from traitlets import Float, Int, validate

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    Temperature,
    Words,
    bundle,
    stylesheet,
    together,
)


class TokenSampler(LiveFigure):
    """What may be said next, and what a die says: cut and reshape a model's distribution.

    TokenSampler(logits, tokens=vocabulary, contexts=["the cat", …])     logits (contexts, words)
    """

    figure = "token_sampler"
    _esm, _css = bundle("token_sampler"), stylesheet("token_sampler")

    logits = Array(ndim=(2,))
    tokens = Words()
    contexts = Words()
    context = Int(0).tag(sync=True)
    temperature = Temperature("Near 0 the likeliest word always wins, so try 0.1.")
    top_k = Int(0).tag(sync=True)  # 0: off
    top_p = Float(1.0).tag(sync=True)  # 1: off
    draws = Int(0).tag(sync=True)
    seed = Int(0).tag(sync=True)

    def __init__(self, logits: Any, *, tokens: Any, contexts: Any, **traits: Any):
        super().__init__(
            logits=logits,
            tokens=tokens,
            contexts=contexts,
            **{
                "alt": "Bars of next-word probabilities; temperature, top-k and top-p decide which "
                "words may be drawn, and a button draws.",
                **traits,
            },
        )

    @together("logits", "tokens", "contexts", "context")
    def _fits(self, logits: Any, tokens: list[str], contexts: list[str], context: int) -> None:
        if 0 in logits.shape:
            raise FigureError("logits must be an array (contexts, words) with something in it.")
        if logits.shape != (len(contexts), len(tokens)):
            raise FigureError(
                f"logits have shape {logits.shape}, but there are {len(contexts)} contexts and "
                f"{len(tokens)} tokens: give one row per context and one column per token."
            )
        if not 0 <= context < len(contexts):
            raise FigureError(
                f"context is {context}, but there are {len(contexts)}, counted from 0."
            )

    @validate("top_p")
    def _probability(self, proposal: Any) -> float:
        if not 0 < proposal["value"] <= 1:
            raise FigureError(f"top_p is {proposal['value']}: use a number above 0 and at most 1.")
        return float(proposal["value"])

    @validate("top_k", "draws")
    def _count(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            name = proposal["trait"].name
            raise FigureError(f"{name} is {proposal['value']}: use 0 or more.")
        return int(proposal["value"])
