"""Noun phrases: determiner, adjectives and noun in two languages, every word accounted for.

English puts adjectives before the noun; French puts a few before it and most after it, in
mirrored order: "the beautiful dangerous black dog" is "le beau chien noir dangereux".
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from attnlab.data import lexicon
from attnlab.data.french import English, French
from attnlab.data.lexicon import Adjective, Noun

T = TypeVar("T")

# For one: masculine, feminine, before a vowel.
ONE = {
    "the": ("le", "la", ""), "a": ("un", "une", ""), "this": ("ce", "cette", "cet"),
    "my": ("mon", "ma", "mon"), "your": ("votre", "votre", ""), "his": ("son", "sa", "son"),
    "her": ("son", "sa", "son"), "our": ("notre", "notre", ""), "their": ("leur", "leur", ""),
    "every": ("chaque", "chaque", ""),
}  # fmt: skip
SEVERAL = {
    "the": "les", "some": "des", "these": "ces", "my": "mes", "your": "vos",
    "his": "ses", "her": "ses", "our": "nos", "their": "leurs", "two": "deux",
    "three": "trois", "many": "beaucoup de",
}  # fmt: skip
OWN = ("my", "your", "his", "her", "our", "their")
DEGREES = {"very": "très", "too": "trop"}

OPINION = ("beautiful", "pretty", "good", "bad")  # may stand before another: la belle petite maison
NEVER_AFTER_BE = ("new",)  # that would be "neuf"
NOT_SAID = {
    ("old", "girl"),
    ("old", "boy"),
    ("old", "child"),
    ("young", "child"),
}  # fixed expressions
# "ses femmes" are his wives, "ma fille" is my daughter
NOT_OWNED = ("man", "woman", "king", "queen", "girl", "boy")
SIZE = ("small", "big")  # come first in English: a big clean hotel, but a clean old hotel


@dataclass
class Phrase:
    """The same thing in two languages, and what the rest of the sentence must agree with."""

    english: list[English] = field(default_factory=list)
    french: list[French] = field(default_factory=list)
    person: int = 1  # 0 je, 1 il, 2 nous, 3 vous, 4 ils: the index of a verb's form
    feminine: bool = False
    plural: bool = False
    kind: str = "person"
    determiner: str = ""
    noun: str = ""

    def __len__(self) -> int:
        return len(self.english)

    def __add__(self, other: "Phrase") -> "Phrase":
        """One after the other in both languages; the first one keeps its say in agreement."""
        return Phrase(
            [*self.english, *other.english],
            [*self.french, *other.french],
            self.person,
            self.feminine,
            self.plural,
            self.kind,
            self.determiner,
            self.noun,
        )

    @property
    def agreement(self) -> int:
        """Index of an adjective's form: le, la, les (m), les (f)."""
        return 2 * self.plural + self.feminine


def says(english: str, french: str) -> Phrase:
    """A fixed pair. Where several English words share the French ones, any of them may be the
    match.
    """
    left = [English(word) for word in english.split()]
    right = [
        French(word, list(left) if len(left) == 1 else [], list(left) if len(left) > 1 else [])
        for word in french.split()
    ]
    return Phrase(left, right)


class Speaker:
    """Chooses words at random and notes every choice of grammar, but not of words, in `shape`."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.shape: list[str] = []
        self.past = False  # one tense per sentence

    def note(self, *choices: object) -> None:
        self.shape.append(".".join(map(str, choices)))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, things: Sequence[T]) -> T:
        return things[int(self.rng.random() * len(things))]

    def noun_phrase(
        self,
        kinds: Collection[str],
        budget: int,
        *,
        plain: bool = False,
        negated: bool = False,
        indefinite: bool = False,
        definite: bool = False,
    ) -> Phrase:
        """Determiner, adjectives, noun: at least two English words, not many more than `budget`.

        `plain` leaves out the determiners that do not go with every preposition. `negated`: the
        object of a negated verb takes "de": il n'a pas de chien. `indefinite`: after "there is".
        `definite`: after "love".
        """
        noun = self.pick(_nouns_of(tuple(kinds)))
        mass = noun.kind in lexicon.MASS
        plural = not mass and self.chance(0.35)
        limited = plain or definite
        word = self._determiner(noun, plural, limited, indefinite, definite, negated)
        layout = self._layout(noun, budget - 2)
        self.note(
            "NP", word if word not in OWN else "own", plural, noun.feminine, mass, layout.code
        )
        head = English(noun.english[plural])
        after_adjective = bool(layout.before)  # de grandes maisons
        english, french = _determine(word, noun.feminine, plural, mass, negated, after_adjective)
        form = 2 * plural + noun.feminine

        before = [(English(a.english), a) for a in layout.before]
        colour = [(English(a.english), a) for a in layout.colour]
        quality, french_quality = self._qualities(layout, form)
        opinion = [e for e, a in before if a.english in OPINION]
        size = [e for e, a in before if a.english in SIZE]
        age = [e for e, a in before if a.english not in (*OPINION, *SIZE)]
        middle = [*size, *quality] if len(quality) == 1 else [*quality, *size]
        english += [*opinion, *middle, *age, *(e for e, _ in colour), head]

        french += [_agree(a, form, e) for e, a in before]
        french += [French(noun.french[plural], [head])]
        french += [_agree(a, form, e) for e, a in colour]
        french += french_quality
        person = 4 if plural else 1
        one = noun.english[0]
        return Phrase(english, french, person, noun.feminine, plural, noun.kind, word, one)

    def _determiner(
        self,
        noun: Noun,
        plural: bool,
        plain: bool,
        indefinite: bool,
        definite: bool,
        negated: bool,
    ) -> str:
        if indefinite:
            return self.pick(("some", "some", "two", "many", "three") if plural else ("a",))
        own = self.pick(OWN) if noun.english[0] not in NOT_OWNED else "the"
        if noun.kind in lexicon.MASS:
            return self.pick(("the", "the", "this", own) if plain else ("the", "some", "some", own))
        if plural:
            some = ("the", "the") if plain else ("some", "some", "many", "two", "three")
            return self.pick(("the", "the", "the", "these", own, own, *some))
        if not (plain or negated) and self.chance(0.04):
            return "every"
        a = "the" if definite else "a"
        return self.pick(("the", "the", "the", "the", a, a, "this", own, own))

    def _layout(self, noun: Noun, room: int) -> "Layout":
        """Which adjectives, and where: none in half of the phrases."""
        layout = Layout()
        if room < 1 or self.chance(0.4):
            return layout
        number = 1 + sum(self.chance(0.45) for _ in range(min(room, 4) - 1))
        for _ in range(number):
            place = self.pick(("before", "colour", "quality"))
            layout.add(place, self._adjective(place, noun, layout), room)
        layout.degree = "very" if room > number and layout.quality and self.chance(0.3) else ""
        return layout

    def _adjective(self, place: str, noun: Noun, layout: "Layout") -> Adjective | None:
        fitting = [
            a
            for a in ADJECTIVES[place].get(noun.kind, ())
            if (a.english, noun.english[0]) not in NOT_SAID
        ]
        if layout.before and place == "before":  # a second one only after an opinion
            if layout.before[0].english not in ("beautiful", "pretty"):
                return None
            fitting = [a for a in fitting if a.english not in OPINION]
        return self.pick(fitting) if fitting else None

    def _qualities(self, layout: "Layout", form: int) -> tuple[list[English], list[French]]:
        """calm; very calm; calm and intelligent: in French the same, after the noun."""
        english: list[English] = []
        french: list[French] = []
        for i, adjective in enumerate(layout.quality):
            parts = says("and", "et") if i else says("very", "très") if layout.degree else Phrase()
            word = English(adjective.english)
            english += [*parts.english, word]
            french += [*parts.french, _agree(adjective, form, word)]
        return english, french


@dataclass
class Layout:
    """The adjectives of one noun: before it, its colour or nation, its qualities."""

    before: list[Adjective] = field(default_factory=list)
    colour: list[Adjective] = field(default_factory=list)
    quality: list[Adjective] = field(default_factory=list)
    degree: str = ""

    def add(self, place: str, adjective: Adjective | None, room: int) -> None:
        adjectives: list[Adjective] = getattr(self, place)
        most = {"before": 2, "colour": 1, "quality": 2}[place]
        # A second quality needs an "and".
        words = len(self.before) + len(self.colour) + len(self.quality) + (1 if self.quality else 0)
        fits = words + 1 + (place == "quality" and bool(self.quality)) <= room
        if (
            adjective is not None
            and adjective not in adjectives
            and len(adjectives) < most
            and fits
        ):
            adjectives.append(adjective)

    @property
    def code(self) -> str:
        return f"{len(self.before)}{len(self.colour)}{len(self.quality)}{self.degree}"


def _determine(
    word: str, feminine: bool, plural: bool, mass: bool, negated: bool, after_adjective: bool
) -> tuple[list[English], list[French]]:
    """The determiner in both languages."""
    if negated and word in ("a", "some"):  # il ne voit pas de chat, pas de chats, pas de pain
        english = English("a" if word == "a" else "any")
        return [english], [French("de", [english])]
    english = English(word)
    if mass and word == "some":  # du pain, de la viande, de l'eau
        article = French("la" if feminine else "le", [english], article=True)
        return [english], [French("de", [english]), article]
    if plural:
        text = "de" if word == "some" and after_adjective else SEVERAL[word]
        first, *rest = text.split()
        return [english], [
            French(first, [english], article=word == "the"),
            *(French(r, [english]) for r in rest),
        ]
    masculine, feminine_form, before_vowel = ONE[word]
    changes = before_vowel if feminine == (word != "this") else ""  # cet homme; mon amie
    text = feminine_form if feminine else masculine
    return [english], [French(text, [english], before_vowel=changes, article=word == "the")]


def _agree(adjective: Adjective, form: int, english: English) -> French:
    before_vowel = adjective.before_vowel if form == 0 else ""  # un bel oiseau, de beaux oiseaux
    return French(adjective.french[form], [english], before_vowel=before_vowel)


@cache
def _nouns_of(kinds: tuple[str, ...]) -> list[Noun]:
    return [noun for noun in lexicon.ALL_NOUNS if noun.kind in kinds]


ADJECTIVES = {
    place: {
        kind: [adjective for adjective in table if kind in adjective.kinds]
        for kind in sorted({noun.kind for noun in lexicon.ALL_NOUNS})
    }
    for place, table in (
        ("before", lexicon.BEFORE),
        ("colour", lexicon.COLOUR),
        ("quality", lexicon.QUALITY),
    )
}
