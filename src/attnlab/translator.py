"""A translator to pass on: a model with its two vocabularies.

french = Translator.shipped("rnnsearch")
french.translate([["the", "cat", "sleeps"]])           # [["le", "chat", "dort"]]
french.to_browser()                                    # plain numbers for JavaScript
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from attnlab import checkpoints, decoding, metrics
from attnlab.carried import Carried
from attnlab.data.sequences import SPECIAL, Pair, Vocabulary, collate, encode_sources
from attnlab.models import seq2seq, transformer
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.transformer import Transformer

Words = Sequence[str]
# Kind -> its sizes, its model, and how it aligns. A header that names none is a "seq2seq"'s.
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "seq2seq": (seq2seq.Config, Seq2Seq, seq2seq.alignments),
    "transformer": (transformer.Config, Transformer, transformer.alignments),
}


@dataclass(frozen=True)
class Translator(Carried, what="translator", needs=("source", "target")):
    """The model reads the ids of `source` and writes the ids of `target`."""

    model: Seq2Seq | Transformer
    source: Vocabulary
    target: Vocabulary

    @property
    def kind(self) -> str:
        return next(kind for kind, (_, model, _) in KINDS.items() if isinstance(self.model, model))

    @torch.no_grad()
    def translate(
        self,
        sentences: Sequence[Words],
        *,
        beam: int = 1,
        length_penalty: float = 0.6,
        size: int = 100,
    ) -> list[list[str]]:
        """Each sentence in the other language: greedy, or by beam search when `beam` is above 1."""
        self.model.eval()
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))  # like with like
        out: dict[int, list[str]] = {}
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            state, longest = self.start([sentences[i] for i in rows])
            if beam > 1:
                found = decoding.beam(
                    self.model.step,
                    state,
                    width=beam,
                    max_length=2 * longest + 3,
                    length_penalty=length_penalty,
                )
                said = [hypotheses[0].tokens for hypotheses in found]
            else:
                said = decoding.greedy(self.model.step, state, max_length=2 * longest + 3)
            for i, tokens in zip(rows, said, strict=True):
                own = 2 * len(sentences[i]) + 5  # the same limit, whatever else is in the batch
                out[i] = self.target.decode(tokens[:own])
        return [out[i] for i in range(len(sentences))]

    def start(self, sentences: Sequence[Words]) -> tuple[Any, int]:
        """The state before the first word, for a decoder of your own, and the longest length."""
        numbers, lengths = encode_sources(sentences, self.source)
        return self.model.start(numbers, lengths), int(lengths.max())

    def align(self, pairs: Sequence[Pair]) -> list[Tensor]:
        """α for each pair, without padding: (target words + end mark, source words + end mark)."""
        aligns = KINDS[self.kind][2]
        weights = aligns(self.model, collate(pairs, self.source, self.target))
        return [
            weights[i, : len(pair.target) + 1, : len(pair.source) + 1]
            for i, pair in enumerate(pairs)
        ]

    def bleu(self, pairs: Sequence[Pair], *, beam: int = 1) -> float:
        said = self.translate([pair.source for pair in pairs], beam=beam)
        return metrics.bleu(said, [pair.target for pair in pairs])

    def aer(self, pairs: Sequence[Pair]) -> float:
        """Alignment error rate of argmax α against the gold links, when the right target is
        read.
        """
        found = [metrics.links(w, pair) for w, pair in zip(self.align(pairs), pairs, strict=True)]
        return metrics.aer(found, pairs)

    def header(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "source": self.source.words[len(SPECIAL) :],
            "target": self.target.words[len(SPECIAL) :],
        }

    @classmethod
    def from_header(cls, about: dict[str, Any]) -> "Translator":
        kind = about.get("kind", "seq2seq")
        if kind not in KINDS:
            raise ValueError(
                f"this is a translator of kind {kind!r}, but known are {', '.join(KINDS)}: update "
                "attnlab, or check the file."
            )
        config, build, _ = KINDS[kind]
        model = build(config(**about["config"]))
        return cls(model, Vocabulary(about["source"]), Vocabulary(about["target"]))

    @classmethod
    def shipped(cls, name: str) -> "Translator":
        """One that the course carries: "fixed_context", "rnnsearch", "transformer",
        "pronunciation".
        """
        return super().shipped(name)

    def to_browser(self, store: str = "int8") -> dict[str, Any]:
        """Everything that JavaScript needs to run this model, as JSON: sizes, words, arrays.

        Arrays are as `checkpoints.to_json` makes them. Names are torch's; a GRU stacks its gates
        r, z, n along the rows, and `_reverse` reads from right to left. Export a model in the way
        it is stored: then both compute with the same weights.
        """
        return {
            "kind": self.kind,
            "config": asdict(self.model.config),
            "source": list(self.source.words),
            "target": list(self.target.words),
            "arrays": checkpoints.to_json(self.model.state_dict(), store),
        }
