"""Encoder–decoder translators: one fixed context, or a new context for every word.

    h_1 … h_S = bi-directional GRU over the source                    the annotations
    s_t       = GRU(y_{t-1}, s_{t-1})                                 the decoder's state
    c_t       = one vector for the whole sentence (Sutskever et al. 2014, Cho et al. 2014), or
                Σ_i α_ti h_i, with α_t = softmax(score(s_t, h_i))     (Bahdanau et al. 2015)
    p(y_t)    = softmax(W tanh(R [s_t; c_t]))

Nothing but c_t differs between the two. B batch, S source length, T target length, H hidden width,
E embedding width, V target words.

Where we leave the papers: Bahdanau's decoder asks with s_{t-1}, before it has read y_{t-1}, and
feeds c_t to the GRU. Ours asks with s_t (the order of Luong et al. 2015): the query then knows
the last word, alignments come out sharper, and with teacher forcing all T steps run at once.
`order="before"` gives the paper's decoder.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlab.attention import attention
from attnlab.data.sequences import PAD, Batch, forget
from attnlab.masks import padding
from attnlab.record import seen
from attnlab.scores import Additive, Bilinear, dot
from attnlab.shapes import Score

KINDS = ("none", "additive", "dot", "bilinear")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of a translator. `kind` is the score of its attention; "none" is the fixed context."""

    source_words: int
    target_words: int
    kind: str = "additive"
    order: str = "after"  # attend after the state has read y_{t-1}, or "before" (the paper)
    embedding: int = 64
    hidden: int = 128
    dropout: float = 0.0
    word_dropout: float = 0.0  # in training, this share of the words y_{t-1} is not read

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}, but it must be one of {', '.join(KINDS)}.")
        if self.order not in ("after", "before"):
            raise ValueError(f"order is {self.order!r}, but it must be 'after' or 'before'.")


class Memory(NamedTuple):
    """What the encoder leaves for the decoder. The batch is the first axis of every tensor."""

    annotations: Tensor  # (B, S, 2H)
    keys: Tensor  # (B, S, 2H) or (B, S, H): what a query is compared with
    real: Tensor  # (B, 1, 1, S), bool: not padding
    summary: Tensor  # (B, 2H): where both directions end


class State(NamedTuple):
    """All that a step needs; rows can be picked and repeated, as beam search does."""

    hidden: Tensor  # (B, H)
    memory: Memory


class Encoder(nn.Module):
    """A GRU that reads forwards and another that reads backwards: h_i knows both sides of
    word i.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.source_words, config.embedding, padding_idx=PAD)
        self.gru = nn.GRU(config.embedding, config.hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S), (B,) -> annotations (B, S, 2H), summary (B, 2H)."""
        x = self.dropout(self.embedding(source))
        if int(lengths.min()) == source.shape[1]:  # nothing is padded
            states, last = self.gru(x)
        else:  # packed, so that the backward GRU starts at the last real word
            packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            packed_states, last = self.gru(packed)
            states, _ = pad_packed_sequence(
                packed_states, batch_first=True, total_length=source.shape[1]
            )
        return self.dropout(states), torch.cat([last[0], last[1]], dim=-1)


class FixedContext(nn.Module):
    """The same vector for every target word: no attention."""

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations

    def forward(self, query: Tensor, memory: Memory) -> Tensor:
        """(B, T, H) -> (B, T, 2H)."""
        return memory.summary.unsqueeze(1).expand(-1, query.shape[1], -1)


class Attend(nn.Module):
    """A new weighted mean of the annotations for every query."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden
        self.score: Score
        # A dot product needs two sides of the same width, so its keys are the annotations, made
        # narrower.
        self.key = (
            nn.Linear(2 * width, width, bias=False) if config.kind == "dot" else nn.Identity()
        )
        if config.kind == "additive":
            self.score = Additive(width, 2 * width, width)
        elif config.kind == "bilinear":
            self.score = Bilinear(width, 2 * width)
        else:
            self.score = dot

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key(annotations)

    def forward(self, query: Tensor, memory: Memory) -> Tensor:
        """(B, T, H) -> (B, T, 2H). One head: a head axis of size 1 for the attention core."""
        context = attention(
            query.unsqueeze(1),  # (B, 1, T, H)
            memory.keys.unsqueeze(1),  # (B, 1, S, H or 2H)
            memory.annotations.unsqueeze(1),  # (B, 1, S, 2H)
            mask=memory.real,
            score=self.score,
        )
        return context.squeeze(1)


class Seq2Seq(nn.Module):
    """The translator. `forward` trains it, `start` and `step` let any decoder of `decoding.py`
    drive it.
    """

    def __init__(self, config: Config, encoder: nn.Module | None = None) -> None:
        """`encoder`: a reader of something other than words, such as pictures."""
        super().__init__()
        self.config = config
        width = config.hidden
        extra = 2 * width if config.order == "before" else 0  # the paper's GRU reads c_t, too
        self.encoder = Encoder(config) if encoder is None else encoder
        self.bridge = nn.Linear(2 * width, width)  # the summary becomes the first state
        self.embedding = nn.Embedding(config.target_words, config.embedding, padding_idx=PAD)
        self.gru = nn.GRU(config.embedding + extra, width, batch_first=True)
        self.context = FixedContext() if config.kind == "none" else Attend(config)
        self.readout = nn.Linear(3 * width, width)
        self.out = nn.Linear(width, config.target_words)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Teacher forcing: the decoder reads the right words. Logits (B, T, V)."""
        state = self.start(batch.source, batch.source_lengths)
        read = forget(batch.target_in, self.config.word_dropout if self.training else 0.0)
        words = self.dropout(self.embedding(read))  # (B, T, E)
        return self._decode(words, state)[0]

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy per target word, padding left out."""
        return F.cross_entropy(
            self(batch).flatten(0, 1), batch.target_out.flatten(), ignore_index=PAD
        )

    def start(self, source: Tensor, lengths: Tensor) -> State:
        """Read the source: (B, S), (B,) -> the state before the first target word."""
        annotations, summary = self.encoder(source, lengths)
        real = padding(lengths, source.shape[1]).dense(source.device)  # (B, 1, 1, S)
        memory = Memory(annotations, self.context.keys(annotations), real, summary)
        return State(torch.tanh(self.bridge(summary)), memory)

    def step(self, state: State, token: Tensor) -> tuple[Tensor, State]:
        """One word: last words (B,) -> logits of the next (B, V), and the new state."""
        logits, state = self._decode(self.embedding(token).unsqueeze(1), state)
        return logits.squeeze(1), state

    def _decode(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """(B, T, E) -> logits (B, T, V), and the state after the last word."""
        hidden, memory = state
        if self.config.order == "after":
            states, last = self.gru(words, hidden.unsqueeze(0))  # all T steps at once
            contexts = self.context(states, memory)
            hidden = last[0]
        else:
            states, contexts, hidden = self._paper_steps(words, hidden, memory)
        read = torch.tanh(self.readout(torch.cat([states, contexts], dim=-1)))
        return self.out(self.dropout(read)), State(hidden, memory)

    def _paper_steps(
        self, words: Tensor, hidden: Tensor, memory: Memory
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Bahdanau's order: c_t is found with s_{t-1}, so the steps must wait for each other."""
        states, contexts = [], []
        for word in words.unbind(1):
            context = self.context(hidden.unsqueeze(1), memory)  # (B, 1, 2H)
            state, _ = self.gru(torch.cat([word.unsqueeze(1), context], -1), hidden.unsqueeze(0))
            states.append(state)
            contexts.append(context)
            hidden = state.squeeze(1)
        return torch.cat(states, 1), torch.cat(contexts, 1), hidden


def alignments(model: Seq2Seq, batch: Batch) -> Tensor:
    """The weights α when the right target is read: (B, T, S). Row t holds the weights before
    word t is said.
    """
    if model.config.kind == "none":
        raise ValueError("this translator has a fixed context and no attention: it aligns nothing.")
    return joined(seen(model, batch, "context")["context"])


def joined(looks: Tensor | list[Tensor]) -> Tensor:
    """Recorded weights as (B, T, S): from (B, 1, T, S), or from T times (B, 1, 1, S)."""
    return (torch.cat(looks, dim=2) if isinstance(looks, list) else looks).squeeze(1)
