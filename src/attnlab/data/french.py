"""French as it is written: elision, contraction, and the forms used only before a vowel.

A phrase is built word by word as if words did not touch (`à le homme`); `join` then makes them
touch (`à l' homme`). Each French word remembers the English words it translates, so gold
alignments come out for free.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from attnlab.data.lexicon import ASPIRATED

ELIDED = {"le": "l'", "la": "l'", "de": "d'", "que": "qu'", "ne": "n'", "je": "j'", "me": "m'"}
MELTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}


@dataclass(eq=False)
class English:
    """An English word; two words with the same letters are still two."""

    text: str


@dataclass(eq=False)
class French:
    """A French word, the English words it surely translates, and those it may be said to
    translate.
    """

    text: str
    sure: list[English] = field(default_factory=list)
    possible: list[English] = field(default_factory=list)
    before_vowel: str = ""  # its form before a vowel, when that is not in ELIDED
    article: bool = False  # only articles melt: "à le voir" stays


def starts_with_vowel(word: str) -> bool:
    """Does the word begin with a vowel sound? An h is silent, unless it is one of the *h
    aspirés*.
    """
    first = unicodedata.normalize("NFD", word.replace("œ", "o"))[:1]
    return first in "aeiou" or word == "y" or (first == "h" and word not in ASPIRATED)


def melt(words: Sequence[French]) -> list[French]:
    """à + le → au, de + les → des …; not before a vowel, where le becomes l'."""
    out: list[French] = []
    for i, word in enumerate(words):
        melted = MELTED.get((out[-1].text, word.text)) if out and word.article else None
        elides = word.text == "le" and i + 1 < len(words) and starts_with_vowel(words[i + 1].text)
        if melted is None or elides:
            out.append(word)
            continue
        before = out.pop()
        sure, possible = [*before.sure, *word.sure], [*before.possible, *word.possible]
        if len({id(english) for english in [*sure, *possible]}) > 1:  # "to the": either will do
            sure, possible = [], [*sure, *possible]
        out.append(French(melted, sure, possible))
    return out


def elide(words: Sequence[French]) -> list[French]:
    """le → l', ce → cet, beau → bel, ma → mon before a vowel; si → s' before il and ils."""
    out = []
    for i, word in enumerate(words):
        following = words[i + 1].text if i + 1 < len(words) else ""
        text = word.text
        if following and starts_with_vowel(following):
            text = word.before_vowel or ELIDED.get(text, text)
        if text == "si" and following in ("il", "ils"):
            text = "s'"
        out.append(French(text, word.sure, word.possible))
    return out


def join(words: Sequence[French]) -> list[French]:
    """Words that are joined up, from words that are not."""
    return elide(melt(words))
