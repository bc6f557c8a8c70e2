"""Pairs of sequences, vocabularies and batches: what every translation task of the course shares.

B batch, S source length, T target length. A corpus yields `Pair`s of words; a `Vocabulary` turns
words into ids; `collate` stacks them into a `Batch`, padded to the longest.

    pairs = EnglishFrench().take(1000, split="train")
    source, target = Vocabulary.of(pairs, "source"), Vocabulary.of(pairs, "target")
    for batch in batches(pairs, source, target, size=32, seed=0): ...
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Link = tuple[int, int]  # (target position, source position)

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A source sequence, its target, and, where somebody knows them, the gold links between the
    two.

    `sure` links are those every annotator would draw; `possible` ones (which include the sure
    ones) are right, too, but not required: "au" belongs to "to" as much as to "the" (Och and Ney
    2003). `structure` names how the pair was made; corpora are split by it, so that no structure
    is on both sides.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()
    structure: str = ""

    def to_json(self) -> dict[str, list]:
        """Plain lists, for the browser: words, and links as [target, source]."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "sure": sorted(map(list, self.sure)),
            "possible": sorted(map(list, self.possible)),
        }


class Vocabulary:
    """Words ↔ ids. The first four ids are padding, begin, end and unknown."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words: tuple[str, ...] = (*SPECIAL, *(w for w in words if w not in SPECIAL))
        self.number = {word: i for i, word in enumerate(self.words)}
        if len(self.number) != len(self.words):
            twice = [word for word, n in Counter(self.words).items() if n > 1]
            raise ValueError(f"the words {twice[:5]} occur twice: give every word once.")

    @classmethod
    def of(cls, pairs: Iterable[Pair], side: str, smallest: int = 1) -> "Vocabulary":
        """The words on one side ("source" or "target") that occur at least `smallest` times, in
        alphabetical order.
        """
        if side not in ("source", "target"):
            raise ValueError(f"side is {side!r}, but a pair has the sides 'source' and 'target'.")
        counts = Counter(word for pair in pairs for word in getattr(pair, side))
        return cls(sorted(word for word, count in counts.items() if count >= smallest))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.number

    def encode(self, words: Iterable[str]) -> list[int]:
        return [self.number.get(word, UNK) for word in words]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Ids to words, up to the first end mark; padding and begin marks are left out."""
        words = []
        for number in numbers:
            if number == EOS:
                break
            if number not in (PAD, BOS):
                words.append(self.words[number])
        return words

    def unknown(self, words: Iterable[str]) -> list[str]:
        """The words that are not here, in order, each once: to be named kindly to whoever typed
        them.
        """
        return list(dict.fromkeys(word for word in words if word not in self.number))


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Ids, padded with 0. The target appears twice: what the decoder reads, and what it must say.

    source        the cat sleeps <eos>          (B, S)
    target_in     <bos> le chat dort            (B, T)
    target_out    le chat dort <eos>            (B, T)
    """

    source: Tensor
    source_lengths: Tensor  # (B,), the end mark included
    target_in: Tensor
    target_out: Tensor

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: torch.device | str) -> "Batch":
        return Batch(**{name: tensor.to(device) for name, tensor in vars(self).items()})


def stack(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids, padded to the longest: (B, longest)."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def encode_sources(rows: Sequence[Sequence[str]], words: Vocabulary) -> tuple[Tensor, Tensor]:
    """Source sentences as ids with an end mark, and their lengths: (B, S), (B,)."""
    numbers = [[*words.encode(row), EOS] for row in rows]
    return stack(numbers), torch.tensor([len(row) for row in numbers])


def collate(pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary) -> Batch:
    sources, lengths = encode_sources([pair.source for pair in pairs], source)
    targets = [target.encode(pair.target) for pair in pairs]
    return Batch(
        source=sources,
        source_lengths=lengths,
        target_in=stack([[BOS, *row] for row in targets]),
        target_out=stack([[*row, EOS] for row in targets]),
    )


def batches(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary, *, size: int, seed: int = 0
) -> Iterator[Batch]:
    """Endless batches of pairs of similar length, in an order that the seed fixes.

    Sorting by source length leaves little padding in the source, more in the target; a little
    noise in the key mixes neighbours afresh in each epoch. Ids are looked up once, not in every
    epoch.
    """
    rng = random.Random(seed)
    rows = [(source.encode(pair.source), target.encode(pair.target)) for pair in pairs]
    if not rows:
        raise ValueError("there are no pairs to make batches of.")
    while True:
        order = sorted(rows, key=lambda row: len(row[0]) + rng.random())
        chunks = [order[start : start + size] for start in range(0, len(order), size)]
        rng.shuffle(chunks)
        for chunk in chunks:
            yield Batch(
                source=stack([[*words, EOS] for words, _ in chunk]),
                source_lengths=torch.tensor([len(words) + 1 for words, _ in chunk]),
                target_in=stack([[BOS, *words] for _, words in chunk]),
                target_out=stack([[*words, EOS] for _, words in chunk]),
            )


def forget(words: Tensor, share: float) -> Tensor:
    """Hide this share of the words from a decoder that trains (Bowman et al. 2016).

    "que" after "parce" needs no source: the weights are idle there, and drift to the next word. A
    decoder that may not have read "parce" has to look at "because".
    """
    if not share:
        return words
    hidden = torch.rand(words.shape, device=words.device) < share
    return torch.where(hidden & (words > UNK), UNK, words)


def split_of(key: str, valid: float = 0.05, test: float = 0.05) -> str:
    """'train', 'valid' or 'test', decided by the key alone: the same on every machine, forever."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    return "test" if place < test else "valid" if place < test + valid else "train"
