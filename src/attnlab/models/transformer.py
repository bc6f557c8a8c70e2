"""The Transformer (Vaswani et al. 2017): an encoder reads, a decoder writes, attention joins them.

    encoder     x = words·√E + positions;  N blocks: self-attention, network
    decoder     x = words·√E + positions;  N blocks: causal self-attention, cross-attention, network
    generator   logits = x Wᵀ, with W the table of target words (tied), or a matrix of its own

Every decoder block reads the output of the *last* encoder block.

`forward` trains it, `start` and `step` let any decoder of `decoding.py` drive it with a KV cache.
`families.py` has the models of one stack, from the same blocks. Where we leave the paper by
default: pre-norm, which trains without a long warm-up; `norm="post", final_norm=False` is 2017.

B batch, S source length, T target length, E model width, V words, H heads, D head width.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.data.sequences import PAD, Batch, forget
from attnlab.layers import DecoderBlock, EncoderBlock, KeysValues, KVCache, LayerNorm
from attnlab.layers.norms import EPS, NORMS
from attnlab.layers.positions import Learned, Rope, sinusoidal
from attnlab.masks import may_ask, padding
from attnlab.record import seen, stack

POSITIONS = ("sinusoidal", "learned", "rope", "none")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes and switches. Without `source_words` the encoder reads the decoder's own words."""

    words: int
    source_words: int | None = None
    width: int = 64
    heads: int = 4
    layers: int = 2  # of the encoder, and of the decoder
    hidden: int | None = None  # of the network in a block; 4 · width unless given
    norm: str = "pre"  # or "post"
    final_norm: bool = True  # after each stack; pre-norm needs it, the 2017 paper has none
    positions: str = "sinusoidal"
    longest: int = 512  # how many positions are prepared; learned ones end there
    activation: str = "relu"
    tied: bool = True  # the generator is the table of words (Press and Wolf 2017)
    eps: float = EPS  # of the LayerNorms
    dropout: float = 0.0
    word_dropout: float = 0.0  # in training, this share of the words y_{t-1} is not read
    alignment_head: Sequence[int] = (-1, 0)  # layer and head whose weights are taken as links

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise ValueError(f"norm is {self.norm!r}, but it must be 'pre' or 'post'.")
        if self.positions not in POSITIONS:
            raise ValueError(
                f"positions is {self.positions!r}, but it must be one of {', '.join(POSITIONS)}."
            )
        for name in ("words", "width", "heads", "layers", "longest"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, but it must be 1 or more.")


class Embedding(nn.Module):
    """Words as vectors, with their positions: (B, L) -> (B, L, E)."""

    waves: Tensor

    def __init__(self, config: Config, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, config.width, padding_idx=PAD)
        self.kind, self.dropout = config.positions, config.dropout
        if self.kind == "learned":
            self.places = Learned(config.longest, config.width)
        elif self.kind == "sinusoidal":
            table = sinusoidal(config.longest, config.width)
            self.register_buffer("waves", table, persistent=False)

    def forward(self, numbers: Tensor, offset: int = 0) -> Tensor:
        """`offset`: the position of the first column, when a cache holds what came before."""
        check_numbers(numbers, self.words.num_embeddings)
        # Entries have variance 1/E, so that tied logits start near 1. √E brings the vector up to
        # the size of the waves.
        x = self.words(numbers) * math.sqrt(self.words.embedding_dim)  # (B, L, E)
        if self.kind == "sinusoidal":
            end = offset + numbers.shape[1]
            if end > len(self.waves):  # waves go on forever
                self.waves = sinusoidal(2 * end, x.shape[-1]).to(self.waves)
            x = x + self.waves[offset:end]
        elif self.kind == "learned":
            x = self.places(x, offset)
        return F.dropout(x, self.dropout) if self.training and self.dropout else x


class Encoder(nn.Module):
    """N blocks of self-attention; with `causal`, each token attends only backwards."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(**options(config)) for _ in range(config.layers))
        self.norm = LayerNorm(config.width, config.eps) if config.final_norm else nn.Identity()

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        caches: Sequence[KVCache] | None = None,
    ) -> Tensor:
        """(B, L, E) -> (B, L, E)"""
        for i, layer in enumerate(self.layers):
            x = layer(x, mask=mask, causal=causal, cache=caches[i] if caches else None)
        return self.norm(x)


class Decoder(nn.Module):
    """N blocks that attend backwards, and to the encoder's output."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderBlock(**options(config)) for _ in range(config.layers))
        self.norm = LayerNorm(config.width, config.eps) if config.final_norm else nn.Identity()

    def read(self, encoded: Tensor) -> tuple[KeysValues, ...]:
        """The keys and values that each block makes of the same encoder output (B, S, E)."""
        return tuple(layer.read(encoded) for layer in self.layers)  # type: ignore[operator]

    def forward(
        self,
        x: Tensor,
        memory: Sequence[KeysValues],
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        caches: Sequence[KVCache] | None = None,
    ) -> Tensor:
        """(B, L, E) -> (B, L, E)"""
        for i, layer in enumerate(self.layers):
            cache = caches[i] if caches else None
            x = layer(x, memory[i], mask=mask, memory_mask=memory_mask, cache=cache)
        return self.norm(x)


class State(NamedTuple):
    """All that a step needs; the batch is the first axis, so rows can be picked and repeated."""

    memory: tuple[KeysValues, ...]  # of the source: one pair per block
    real: Tensor | None  # (B, 1, 1, S), bool: not padding; None when nothing is padded
    past: tuple[KeysValues, ...] = ()  # of the words said so far: one pair per block


class Transformer(nn.Module):
    """The translator, driven as `seq2seq.Seq2Seq` is."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        shared = config.source_words is None
        self.target = Embedding(config, config.words)
        self.source = self.target if shared else Embedding(config, int(config.source_words or 0))
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.out = None if config.tied else nn.Linear(config.width, config.words, bias=False)
        initialise(self)

    def forward(self, batch: Batch) -> Tensor:
        """Teacher forcing: the decoder reads the right words, all at once. Logits (B, T, V)."""
        state = self.start(batch.source, batch.source_lengths)
        read = forget(batch.target_in, self.config.word_dropout if self.training else 0.0)
        x = self.target(read)
        # Padding is at the end: the causal mask already hides it from every real word.
        return self.generate(self.decoder(x, state.memory, memory_mask=state.real))

    def loss(self, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Mean cross-entropy per target word, padding left out."""
        return cross_entropy(self(batch), batch.target_out, label_smoothing)

    def start(self, source: Tensor, lengths: Tensor) -> State:
        """Read the source: (B, S), (B,) -> the state before the first target word."""
        x = self.source(source)
        padded = not may_ask(source) or int(lengths.min()) < source.shape[1]
        real = padding(lengths, source.shape[1]).dense(source.device) if padded else None
        encoded = self.encoder(x, mask=real)
        return State(self.decoder.read(encoded), real)

    def step(self, state: State, token: Tensor) -> tuple[Tensor, State]:
        """One word: last words (B,) -> logits of the next (B, V), and the new state."""
        caches = [KVCache(*pair) for pair in state.past or ((),) * self.config.layers]
        x = self.target(token[:, None], offset=caches[0].length)  # (B, 1, E)
        x = self.decoder(x, state.memory, memory_mask=state.real, caches=caches)
        past = tuple(cache.content for cache in caches)
        return self.generate(x)[:, 0], state._replace(past=past)

    def generate(self, x: Tensor) -> Tensor:
        """(B, L, E) -> logits (B, L, V)"""
        return F.linear(x, self.target.words.weight if self.out is None else self.out.weight)


def options(config: Config) -> dict:
    """What a block needs to know."""
    return {
        "width": config.width,
        "heads": config.heads,
        "hidden": config.hidden or 4 * config.width,
        "norm": config.norm,
        "activation": config.activation,
        "rope": Rope(config.width // config.heads) if config.positions == "rope" else None,
        "dropout": config.dropout,
        "eps": config.eps,
    }


def initialise(model: nn.Module) -> None:
    """Matrices as Glorot and Bengio (2010), so that signals keep their size; words by 1/√E."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            if module.padding_idx is not None:
                with torch.no_grad():
                    module.weight[module.padding_idx].zero_()


def cross_entropy(logits: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Mean over the real words of −log p: (B, T, V), (B, T) -> scalar.

    With label smoothing ε the target is 1 − ε on the right word and ε spread over all words
    (Szegedy et al. 2016): the model is told never to be quite sure.
    """
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=label_smoothing
    )


def check_numbers(numbers: Tensor, words: int) -> None:
    if numbers.dim() != 2 or numbers.is_floating_point() or numbers.dtype == torch.bool:
        raise ValueError(
            f"words have shape {tuple(numbers.shape)} and dtype {numbers.dtype}, but whole "
            "numbers of shape (batch, length) are expected: use torch.tensor([[5, 7, 2]])."
        )
    if not may_ask(numbers) or not numbers.numel():
        return
    if not 0 <= int(numbers.min()) <= int(numbers.max()) < words:
        raise ValueError(
            f"word numbers go from {int(numbers.min())} to {int(numbers.max())}, but the table "
            f"has {words} words: encode the text with the model's own vocabulary."
        )


def cross_maps(model: Transformer, batch: Batch) -> Tensor:
    """The weights of each decoder head when the right target is read: (B, layers, H, T, S)."""
    return stack(seen(model, batch, "decoder.layers.*.cross_attention"))


def alignments(model: Transformer, batch: Batch) -> Tensor:
    """The weights of `config.alignment_head`: (B, T, S), row t before word t is said."""
    layer, head = model.config.alignment_head
    return cross_maps(model, batch)[:, layer, head]
