"""English → French, made by a grammar of ours, with gold word alignments. No download, no end.

    corpus = EnglishFrench(longest=15)
    for pair in corpus.stream("train", seed=0): ...       # endless
    pairs = corpus.take(1000, "test")                     # always the same thousand

Sentences are 3–40 English words long. They are split by *structure*: the grammatical choices
behind a sentence, not its words, decide whether it may be used for training. So a test
sentence is new not only in its words, but in its structure. `phrases.py`, `verbs.py` and
`clauses.py` hold the grammar, `lexicon.py` the words.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from attnlab.data import lexicon, words
from attnlab.data.clauses import Derivation, finish
from attnlab.data.pairs import detokenise
from attnlab.data.sequences import Pair, Vocabulary, split_of

SPLITS = ("train", "valid", "test")
SHORTEST, LONGEST = 3, 40


@dataclass(frozen=True, kw_only=True)
class EnglishFrench:
    """The corpus, with English sentences of `shortest` to `longest` words."""

    shortest: int = SHORTEST
    longest: int = 15

    def __post_init__(self) -> None:
        if not SHORTEST <= self.shortest <= self.longest <= LONGEST:
            raise ValueError(
                f"lengths {self.shortest}…{self.longest} were asked for, but the grammar speaks "
                f"{SHORTEST}…{LONGEST} words: choose shortest ≤ longest within that."
            )

    def stream(self, split: str = "train", *, seed: int = 0) -> Iterator[Pair]:
        """Pairs without end; the same ones for the same seed. All lengths are about equally
        frequent.
        """
        if split not in SPLITS:
            raise ValueError(f"split is {split!r}, but there are {', '.join(SPLITS)}.")
        rng = random.Random(f"{split} {seed}")
        while True:
            length = rng.randint(self.shortest, self.longest)
            for _ in range(200):
                derivation = Derivation(rng)
                said = derivation.sentence(length)
                if not max(length - 1, self.shortest) <= len(said) <= length:
                    continue
                shape = " ".join(derivation.shape)
                if split_of(shape, valid=0.1, test=0.1) == split:
                    yield finish(said, shape)
                    break

    def take(self, count: int, split: str = "train", *, seed: int = 0) -> list[Pair]:
        """The first `count` different pairs of the stream, as a list."""
        different: dict[tuple[str, ...], Pair] = {}
        for pair in self.stream(split, seed=seed):
            if len(different) == count:
                break
            different.setdefault(pair.source, pair)
        return list(different.values())

    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """All English and all French words that the grammar can say, whatever the lengths."""
        return _vocabularies()

    def examples(self) -> list[Pair]:
        """A few telling sentences, short to long, for figures and menus."""
        return list(_examples())

    def tokenise(self, text: str) -> list[str]:
        """English text to words: lower case, commas separate, full stops removed."""
        return re.findall(r"[a-z]+|,", text.lower().replace("can not", "cannot"))

    def detokenise(self, words: list[str]) -> str:
        """French words to text: l' homme → l'homme."""
        return detokenise(words)


@cache
def _vocabularies() -> tuple[Vocabulary, Vocabulary]:
    return Vocabulary(words.english()), Vocabulary(words.french())


def _mirrored(pair: Pair) -> bool:
    """A noun whose two adjectives change sides and order: livre anglais triste"""
    at = dict(sorted(pair.sure))
    nouns = {form for noun in lexicon.ALL_NOUNS for form in noun.french}
    return any(
        pair.target[t] in nouns and at[t] > at.get(t + 1, 99) > at.get(t + 2, 99) for t in at
    )


# How long an example is, what it must show, and the seed of a stream of test sentences whose first
# one does: found by `python training/find_examples.py`, held by a test.
TELLING: tuple[tuple[int, int, Callable[[Pair], bool], int], ...] = (
    (3, 4, lambda pair: "l'" in pair.target, 34),
    (4, 6, lambda pair: {"ne", "pas"} <= {*pair.target} and "not" in pair.source, 9),
    (4, 6, lambda pair: {"n'", "pas"} <= {*pair.target} and "did" in pair.source, 20),
    (5, 7, _mirrored, 61),
    (5, 8, lambda pair: "au" in pair.target, 4),
    (6, 8, lambda pair: "leur" in pair.target and "to them" in " ".join(pair.source), 118),
    (6, 9, lambda pair: "cannot" in pair.source, 65),
    (7, 9, lambda pair: "que" in pair.target and "that" in pair.source, 30),
    (7, 10, lambda pair: "jamais" in pair.target and "a" in pair.target, 11),
    (9, 11, lambda pair: "whom" in pair.source, 26),
    (10, 12, _mirrored, 53),
    (12, 14, lambda pair: "parce" in pair.target, 4),
    (14, 16, lambda pair: "," in pair.source, 4),
    (18, 20, lambda pair: "qui" in pair.target, 11),
    (22, 24, _mirrored, 19),
    (27, 30, lambda pair: "pas" in pair.target, 0),
)


@cache
def _examples() -> tuple[Pair, ...]:
    return tuple(
        next(EnglishFrench(shortest=low, longest=high).stream("test", seed=seed))
        for low, high, _, seed in TELLING
    )
