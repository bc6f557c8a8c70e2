"""Two more families from the same blocks: models of one stack.

    DecoderOnly   each token sees those before it, and says the next (GPT: Radford et al. 2018)
    EncoderOnly   each token sees all, and says what its position hides (BERT: Devlin et al. 2019)

The third family, encoder and decoder, is `transformer.Transformer` (T5: Raffel et al. 2020).

B batch, L length, E model width, V words.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab import masks
from attnlab.data.sequences import PAD
from attnlab.layers import KeysValues, KVCache
from attnlab.models.transformer import Config, Embedding, Encoder, cross_entropy, initialise


class Past(NamedTuple):
    """The keys and values of the tokens so far, one pair per block."""

    rows: Tensor  # (B,): says how many texts there are, also before the first token
    past: tuple[KeysValues, ...] = ()


class Continuing:
    """What `decoding.py` asks of a model that continues a text: whoever can `read` has it."""

    def read(self, tokens: Tensor, state: Past) -> tuple[Tensor, Past]:
        """New tokens (B, L) after the cached ones -> their logits (B, L, V), and the new state."""
        raise NotImplementedError

    def start(self, prompt: Tensor) -> Past:
        """Read a prompt (B, L), which may be empty (B, 0): the state before the next token."""
        state = Past(torch.arange(len(prompt), device=prompt.device))
        return self.read(prompt, state)[1] if prompt.shape[1] else state

    def step(self, state: Past, token: Tensor) -> tuple[Tensor, Past]:
        """Last tokens (B,) -> logits of the next (B, V), and the new state."""
        logits, state = self.read(token[:, None], state)
        return logits[:, -1], state


class OneStack(nn.Module):
    """From tokens to vectors, through a stack of blocks, and back to tokens."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config, config.words)
        self.stack = Encoder(config)
        self.out = None if config.tied else nn.Linear(config.width, config.words, bias=False)
        initialise(self)

    def generate(self, x: Tensor) -> Tensor:
        """(B, L, E) -> logits (B, L, V)"""
        return F.linear(x, self.embedding.words.weight if self.out is None else self.out.weight)


class DecoderOnly(Continuing, OneStack):
    """A language model: p(next token | tokens so far). Its blocks are an encoder's, made causal."""

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, L) -> logits of the token after each, (B, L, V)"""
        return self.generate(self.stack(self.embedding(tokens), causal=True))

    def loss(self, tokens: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """Every token but the first is predicted from those before it; padding is left out."""
        return cross_entropy(self(tokens[:, :-1]), tokens[:, 1:], label_smoothing)

    def read(self, tokens: Tensor, state: Past) -> tuple[Tensor, Past]:
        """New tokens (B, L) after the cached ones -> their logits (B, L, V), and the new state."""
        caches = [KVCache(*pair) for pair in state.past or ((),) * self.config.layers]
        x = self.embedding(tokens, offset=caches[0].length)
        logits = self.generate(self.stack(x, causal=True, caches=caches))
        return logits, Past(state.rows, tuple(cache.content for cache in caches))


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """Texts with holes: what the model reads, and what stood there. PAD where nothing is asked."""

    tokens: Tensor  # (B, L), some replaced
    answers: Tensor  # (B, L), PAD except at the holes

    def to(self, device: torch.device | str) -> "Hidden":
        return Hidden(tokens=self.tokens.to(device), answers=self.answers.to(device))


def hide(
    tokens: Tensor, mark: int, *, share: float = 0.15, generator: torch.Generator | None = None
) -> Hidden:
    """Ask for a share of the tokens: replace them by `mark`, and keep the answers.

    Devlin et al. replace 80 % of them by the mark, 10 % by a random token and leave 10 %; we
    replace all, since our fine-tuning sees no mark and does well all the same. Padding stays. Each
    text has at least one hole.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}, but it must be above 0 and at most 1.")
    luck = torch.rand(tokens.shape, generator=generator).to(tokens.device)
    luck = luck.masked_fill(tokens == PAD, 2.0)
    holes = (luck < share) | (luck == luck.min(dim=1, keepdim=True).values)
    holes &= tokens != PAD
    return Hidden(tokens=tokens.masked_fill(holes, mark), answers=tokens.masked_fill(~holes, PAD))


class EncoderOnly(OneStack):
    """Reads a whole text at once: `encode` gives vectors to build on, `loss` fills holes."""

    def encode(self, tokens: Tensor) -> Tensor:
        """(B, L), padded with 0 -> a vector per token, in the light of both sides (B, L, E)."""
        return self.stack(self.embedding(tokens), mask=masks.real(tokens, PAD).dense(tokens.device))

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, L) -> logits of what belongs at each position (B, L, V)"""
        return self.generate(self.encode(tokens))

    def loss(self, batch: Hidden) -> Tensor:
        """Cross-entropy at the holes alone."""
        return cross_entropy(self(batch.tokens), batch.answers)
