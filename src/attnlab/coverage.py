"""Every source word wants one look: a penalty that keeps attention from leaving words out.

    training.fit(model, batches, loss=with_even_looks(model, 0.2), …)

Softmax makes the looks of one target word sum to 1. Nothing makes the looks *at* one source word
sum to anything. In "he sees her", the annotation of *sees* knows of *her*, so *la* can be said
while looking at either, and nobody ever needs to look at *her*. Xu et al. (2015, §4.2.1) ask for
both sums: "doubly stochastic" attention. No alignment is shown to the model.

B batch, T target length, S source length.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.data.sequences import PAD, Batch
from attnlab.record import record
from attnlab.seq2seq import Seq2Seq, joined


def with_even_looks(model: Seq2Seq, share: float) -> Callable[[Batch], Tensor]:
    """A loss for `training.fit`: the translator's own, plus `share` times how uneven it looks."""

    def loss(batch: Batch) -> Tensor:
        with record(model, "context", attached=True) as maps:
            own = model.loss(batch)
        return own + share * uneven(joined(maps["context"]), batch)

    return loss


def uneven(alpha: Tensor, batch: Batch) -> Tensor:
    """Mean over the source words of (1 − Σ_t α_ti)²: (B, T, S) -> a scalar, 0 if each gets 1."""
    said = batch.target_out != PAD  # (B, T)
    places = torch.arange(alpha.shape[-1], device=alpha.device)
    real = places < batch.source_lengths.to(alpha.device).unsqueeze(-1)  # (B, S)
    received = (alpha * said.unsqueeze(-1)).sum(dim=-2)  # (B, S)
    return (1 - received)[real].square().mean()
