"""A real corpus from a file of sentence pairs, one per line, separated by tabs, as Tatoeba and
Anki publish them.

    Go.<tab>Va !<tab>CC-BY 2.0 (France) Attribution: …

    corpus = PairFile("fra.txt", longest=12)
    pairs = corpus.take(1000, "train")

It has the methods of `EnglishFrench`; only the gold alignments are missing, since nobody drew
them. A sentence often has several translations: the split goes by the source, so that no sentence
is on both sides.
"""

import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from attnlab.data.sequences import Pair, Vocabulary, split_of

_word = re.compile(r"\w+(?:-\w+)*['’]?|[^\w\s]")


def tokenise(text: str) -> list[str]:
    """Lower case, punctuation separate, the apostrophe with the word before it: l' | école | ."""
    text = unicodedata.normalize("NFC", text).lower().replace("’", "'")
    return _word.findall(" ".join(text.split()))  # odd spaces before ! and ? are removed


def detokenise(words: Sequence[str]) -> str:
    """Words to text: l' homme → l'homme; commas, full stops and other marks close up."""
    text = " ".join(words).replace("' ", "'")
    return re.sub(r" ([,.;:!?…)])", r"\1", text)


class PairFile:
    """A file of tab-separated sentence pairs. Sentences outside of the lengths are left out."""

    def __init__(
        self, path: str | Path, *, shortest: int = 1, longest: int = 15, smallest: int = 1
    ) -> None:
        self.path = Path(path)
        self.shortest, self.longest = shortest, longest
        self.smallest = smallest  # a rarer word is unknown
        if not self.path.is_file():
            raise FileNotFoundError(
                f"there is no file {self.path}: download sentence pairs (for example fra-eng.zip "
                "of www.manythings.org/anki), unpack it, and give the path of the .txt file."
            )

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs that fit, in the order of the file."""
        found = {}
        with self.path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                columns = line.rstrip("\n").split("\t")
                if len(columns) < 2:
                    raise ValueError(
                        f"line {number} of {self.path.name} has no tab: each line must be a "
                        "sentence, a tab, and its translation."
                    )
                source, target = tokenise(columns[0]), tokenise(columns[1])
                if source and target and self.shortest <= len(source) <= self.longest:
                    pair = Pair(
                        source=tuple(source), target=tuple(target), structure=" ".join(source)
                    )
                    found[pair.source, pair.target] = pair
        return list(found.values())

    def stream(self, split: str = "train", *, seed: int = 0) -> Iterator[Pair]:
        """The pairs of a split, reshuffled in every round, without end."""
        rng = random.Random(f"{split} {seed}")
        pairs = self._of(split)
        while True:
            yield from rng.sample(pairs, len(pairs))

    def take(self, count: int, split: str = "train", *, seed: int = 0) -> list[Pair]:
        """`count` different pairs of a split, or all of them if there are fewer."""
        pairs = self._of(split)
        return random.Random(f"{split} {seed}").sample(pairs, min(count, len(pairs)))

    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """The words of the training pairs: an unseen word is unknown, as in life."""
        pairs = self._of("train")
        return (
            Vocabulary.of(pairs, "source", self.smallest),
            Vocabulary.of(pairs, "target", self.smallest),
        )

    def examples(self) -> list[Pair]:
        """A dozen test sentences, short to long."""
        pairs = sorted(self._of("test"), key=lambda pair: len(pair.source))
        return pairs[:: max(1, len(pairs) // 12)][:12]

    def tokenise(self, text: str) -> list[str]:
        return tokenise(text)

    def detokenise(self, words: list[str]) -> str:
        return detokenise(words)

    def _of(self, split: str) -> list[Pair]:
        if split not in ("train", "valid", "test"):
            raise ValueError(f"split is {split!r}, but there are train, valid and test.")
        pairs = [pair for pair in self.pairs if split_of(pair.structure) == split]
        if not pairs:
            raise ValueError(
                f"{self.path.name} has no pairs of {self.shortest}…{self.longest} words for "
                f"{split}: take a larger file, or allow other lengths."
            )
        return pairs
