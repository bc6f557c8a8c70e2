"""Coverage: every source word gets its share of the weights, so that attention leaves no word out.

    training.fit(model, batches, loss=with_coverage(model, 0.2), …)

Softmax makes the weights of one target word add up to 1. Nothing is said about what one source word
receives in all. In "he sees her", the annotation of *sees* knows of *her*, so *la* can be written
from there, and no weight ever has to fall on *her*. Xu et al. (2015, §4.2.1) ask that every part of
a picture receive a weight of 1 in all. But *because* always becomes two words in French, *parce
que*: it should receive 2. Tu et al. (2016, §3.1) give every word a number of its own, which Brown
et al. (1993) called its fertility. Ours is the mean of what a word has received so far. A word that
sometimes leaves its weight to a neighbour strays from its mean, and pays; one that always receives
2 does not. No alignment is shown to the model.

B batch, T target length, S source length.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.data.sequences import PAD, Batch
from attnlab.masks import padding
from attnlab.models.seq2seq import Seq2Seq, joined
from attnlab.record import record


def received(alpha: Tensor, batch: Batch) -> Tensor:
    """The weight that each source word receives in all: (B, T, S) -> (B, S)."""
    said = batch.target_out != PAD  # (B, T)
    return (alpha * said.unsqueeze(-1)).sum(dim=-2)


def uneven(alpha: Tensor, batch: Batch, wanted: Tensor | float = 1.0) -> Tensor:
    """Mean over the source words of (wanted − Σ_t α_ti)²: (B, T, S) -> a scalar."""
    return (wanted - received(alpha, batch))[_real(batch)].square().mean()


class Fertility:
    """The weight each word of a vocabulary should receive: the mean of what it received recently.

    `keep` of the past is kept at every batch. Every word starts at 1, as if it had been seen
    five times.
    """

    def __init__(self, words: int, keep: float = 0.99) -> None:
        self.keep = keep
        self.seen = torch.zeros(words)
        self.received = torch.zeros(words)

    def wanted(self) -> Tensor:
        """What every word should receive: (V,)."""
        return (self.received + 5) / (self.seen + 5)

    @torch.no_grad()
    def learn(self, alpha: Tensor, batch: Batch) -> None:
        """Take the weights of a batch, (B, T, S), into the mean."""
        real = _real(batch)
        words, got = batch.source[real], received(alpha, batch)[real]
        self.seen, self.received = (
            (self.keep * table.to(got)).index_add(0, words, new)
            for table, new in ((self.seen, torch.ones_like(got)), (self.received, got))
        )

    def penalty(self, alpha: Tensor, batch: Batch) -> Tensor:
        """How far the weights are from what they should be, before this batch is learned from."""
        strayed = uneven(alpha, batch, self.wanted().to(alpha)[batch.source])
        self.learn(alpha, batch)
        return strayed


def with_coverage(model: Seq2Seq, share: float) -> Callable[[Batch], Tensor]:
    """A loss for `training.fit`: the translator's own, plus `share` times the penalty."""
    fertility = Fertility(model.config.source_words)

    def loss(batch: Batch) -> Tensor:
        with record(model, "context", attached=True) as maps:
            own = model.loss(batch)
        return own + share * fertility.penalty(joined(maps["context"]), batch)

    return loss


def _real(batch: Batch) -> Tensor:
    """Which source positions are not padding: (B, S)."""
    return padding(batch.source_lengths, batch.source.shape[1]).dense(batch.source.device)[:, 0, 0]
