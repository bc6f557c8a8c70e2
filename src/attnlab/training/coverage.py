"""Every source word wants its share of looks: a penalty, so that attention leaves no word out.

    training.fit(model, batches, loss=with_even_looks(model, 0.2), …)

Softmax makes the looks of one target word sum to 1. Nothing makes the looks *at* one source word
sum to anything. In "he sees her", the annotation of *sees* knows of *her*, so *la* can be said
while looking at either, and nobody ever needs to look at *her*. Xu et al. (2015, §4.2.1) ask that
every place receive one look in all. But *because* is two words in French, *parce que*, and always
is: it wants two. Tu et al. (2016, §3.1) let every word have a number of its own, which Brown et al.
(1993) called its fertility. Ours is the mean of the looks a word has received so far. A word that
sometimes lends its look to a neighbour strays from its mean, and pays; one that always takes two
does not. No alignment is shown to the model.

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
    """The looks that each source word got in all: (B, T, S) -> (B, S)."""
    said = batch.target_out != PAD  # (B, T)
    return (alpha * said.unsqueeze(-1)).sum(dim=-2)


def uneven(alpha: Tensor, batch: Batch, wanted: Tensor | float = 1.0) -> Tensor:
    """Mean over the source words of (wanted − Σ_t α_ti)²: (B, T, S) -> a scalar."""
    return (wanted - received(alpha, batch))[_real(batch)].square().mean()


class Fertility:
    """How many looks each word of a vocabulary wants: the mean of what it got in the last batches.

    `keep` of the past is kept at every batch. Words start with the belief in one look each, which
    counts like five sightings.
    """

    def __init__(self, words: int, keep: float = 0.99) -> None:
        self.keep = keep
        self.seen = torch.zeros(words)
        self.looks = torch.zeros(words)

    def wanted(self) -> Tensor:
        """Looks wanted by every word: (V,)."""
        return (self.looks + 5) / (self.seen + 5)

    @torch.no_grad()
    def learn(self, alpha: Tensor, batch: Batch) -> None:
        """Take a batch's looks, (B, T, S), into the mean."""
        real = _real(batch)
        words, got = batch.source[real], received(alpha, batch)[real]
        self.seen, self.looks = (
            (self.keep * table.to(got)).index_add(0, words, new)
            for table, new in ((self.seen, torch.ones_like(got)), (self.looks, got))
        )

    def penalty(self, alpha: Tensor, batch: Batch) -> Tensor:
        """How far the looks are from what the words want, before this batch is learned from."""
        strayed = uneven(alpha, batch, self.wanted().to(alpha)[batch.source])
        self.learn(alpha, batch)
        return strayed


def with_even_looks(model: Seq2Seq, share: float) -> Callable[[Batch], Tensor]:
    """A loss for `training.fit`: the translator's own, plus `share` times the penalty."""
    fertility = Fertility(model.config.source_words)

    def loss(batch: Batch) -> Tensor:
        with record(model, "context", attached=True) as maps:
            own = model.loss(batch)
        return own + share * fertility.penalty(joined(maps["context"]), batch)

    return loss


def _real(batch: Batch) -> Tensor:
    """Which source places are not padding: (B, S)."""
    return padding(batch.source_lengths, batch.source.shape[1]).dense(batch.source.device)[:, 0, 0]
