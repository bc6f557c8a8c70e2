"""BERT (Devlin et al. 2019): the encoder alone, reading both ways.

    x = LayerNorm(word + position + segment);  N blocks, post-norm:  self-attention, network

Against our own `families.EncoderOnly` only the entrance is different: segments tell a first
sentence from a second one, a LayerNorm closes the sum, and nothing is scaled by √E.

B batch, L length, E model width, N blocks.
"""

import torch
from torch import Tensor, nn

from attnlab import masks
from attnlab.data.sequences import PAD
from attnlab.layers import LayerNorm, Learned
from attnlab.models.transformer import Config, Encoder, check_numbers

SEGMENTS = 2  # a sentence, and the one it is compared with


class Bert(nn.Module):
    """Word ids (B, L), padded with 0 -> a vector for every token, in the light of both sides."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.words, config.width, padding_idx=PAD)
        self.places = Learned(config.longest, config.width)
        self.segments = nn.Embedding(SEGMENTS, config.width)
        self.norm = LayerNorm(config.width, config.eps)
        self.encoder = Encoder(config)

    def forward(self, numbers: Tensor) -> Tensor:
        """(B, L) -> (B, L, E)"""
        return self.encoder(self.embed(numbers), mask=real(numbers))

    def embed(self, numbers: Tensor) -> Tensor:
        """What the first block reads: (B, L) -> (B, L, E). All of it is the first segment."""
        check_numbers(numbers, self.words.num_embeddings)
        return self.norm(self.places(self.words(numbers)) + self.segments.weight[0])

    def states(self, numbers: Tensor) -> Tensor:
        """The embeddings, and what leaves each block: (B, L) -> (N + 1, B, L, E)."""
        states, mask = [self.embed(numbers)], real(numbers)
        for layer in self.encoder.layers:
            states.append(layer(states[-1], mask=mask))
        return torch.stack(states)


def real(numbers: Tensor) -> Tensor | None:
    """Which keys are not padding, (B, 1, 1, L); None when nothing is padded."""
    mask = masks.real(numbers, PAD).dense(numbers.device)
    return None if masks.surely(mask) else mask
