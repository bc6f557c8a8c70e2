"""Verb groups: person, number, tense, negation, pronouns, in two languages.

he does not see her        il ne la voit pas
she never ate it           ne … jamais around the auxiliary: elle n'a jamais mangé …
we cannot find them        nous ne pouvons pas les trouver
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.data.french import English, French
from attnlab.data.lexicon import Verb
from attnlab.data.phrases import Phrase, Speaker

# English, French, person, feminine, plural.
SUBJECTS = (
    ("i", "je", 0, False, False), ("he", "il", 1, False, False), ("she", "elle", 1, True, False),
    ("we", "nous", 2, False, True), ("you", "vous", 3, False, True),
    ("they", "ils", 4, False, True),
)  # fmt: skip
# English, French, to whom, agreement of a participle (elle les a vus), persons who do not say it
# of themselves.
OBJECTS = (
    ("me", "me", "me", 0, (0, 2)), ("him", "le", "lui", 0, ()), ("her", "la", "lui", 1, ()),
    ("us", "nous", "nous", 2, (0, 2)), ("you", "vous", "vous", 2, (3,)),
    ("them", "les", "leur", 2, ()),
)  # fmt: skip

AM = ("am", "is", "are", "are", "are")
WAS = ("was", "was", "were", "were", "were")
ETRE = ("suis", "est", "sommes", "êtes", "sont")
ETAIT = ("étais", "était", "étions", "étiez", "étaient")
AVOIR = ("ai", "a", "avons", "avez", "ont")
MODALS = {
    "can": ("peux", "peut", "pouvons", "pouvez", "peuvent"),
    "must": ("dois", "doit", "devons", "devez", "doivent"),
    "want": ("veux", "veut", "voulons", "voulez", "veulent"),
    "going": ("vais", "va", "allons", "allez", "vont"),
}
OFTEN = {"often": "souvent", "always": "toujours", "sometimes": "parfois"}


@dataclass
class VerbGroup:
    """A verb with everything around it. `particle` is the English "to" of "go to", if any.

    `mode` is empty where "how often" has been said: then "when" is not.
    """

    phrase: Phrase
    mode: str
    negated: bool
    particle: English | None


class VerbSpeaker(Speaker):
    def subject_pronoun(self) -> Phrase:
        english, french, person, feminine, plural = self.pick(SUBJECTS)
        self.note("pronoun", person)
        word = English(english)
        return Phrase([word], [French(french, [word])], person, feminine, plural)

    def object_pronoun(
        self, subject: Phrase, *, dative: bool = False
    ) -> tuple[English, French, int]:
        """English (after the verb), French (before it), agreement of a participle."""
        fitting = [row for row in OBJECTS if subject.person not in row[4]]
        english, direct, to_whom, agreement, _ = self.pick(fitting)
        self.note("clitic", dative, agreement)
        word = English(english)
        return word, French(to_whom if dative else direct, [word]), 0 if dative else agreement

    def be(self, subject: Phrase) -> Phrase:
        """is, is not, was: est, n'est pas, était."""
        negated = self.chance(0.2) and subject.determiner != "every"
        then = self.past
        self.note("be", negated, then, subject.person)
        form = English((WAS if then else AM)[subject.person])
        french = [French((ETAIT if then else ETRE)[subject.person], [form])]
        if not negated:
            return Phrase([form], french)
        no = English("not")
        return Phrase([form, no], _around(french, no, "pas", [form]))

    def verb_group(
        self,
        verb: Verb,
        subject: Phrase,
        *,
        clitic: French | None = None,
        agreement: int = 0,
        only_now: bool = False,
    ) -> VerbGroup:
        """The verb for this subject. `agreement`: with an object that comes before the verb."""
        mode = "now" if only_now else self._mode(verb)
        # "Every cat does not sleep" means two things: left out.
        polarity = "" if only_now or subject.determiner == "every" else self._polarity(mode)
        often = ""
        if mode in ("now", "past") and not polarity and not only_now and self.chance(0.12):
            often = self.pick(tuple(OFTEN))
        self.note("verb", mode, polarity, bool(often), subject.person, subject.feminine)
        words = _english(verb, subject, mode, polarity, often)
        agreement = subject.agreement if verb.moves else agreement
        french = _french(verb, subject, mode, polarity, often, clitic, agreement, words)
        english = list(words.order)
        particle = English(verb.particle) if verb.particle else None
        if particle is not None:
            english.append(particle)
            if not verb.preposition:  # look for, chercher: either word may be the match
                found = words.lexical_french
                found.possible = [*found.sure, *found.possible, particle]
                found.sure = []
        if often or polarity == "never":
            mode = ""
        return VerbGroup(Phrase(english, french), mode, bool(polarity), particle)

    def verbs(self, table: Sequence[Verb], kind: str) -> list[Verb]:
        """The verbs that go with such a subject, in the tense of this sentence."""
        return [v for v in self.tensed(table) if kind in v.subjects]

    def tensed(self, table: Sequence[Verb]) -> list[Verb]:
        """The verbs that have the tense of this sentence."""
        return [v for v in table if v.has_past or not self.past]

    def _mode(self, verb: Verb) -> str:
        if verb.has_past and self.past:
            return "past"
        return "now" if verb.state else self.pick(("now", "now", "now", "now", *MODALS))

    def _polarity(self, mode: str) -> str:
        if self.chance(0.72):
            return ""
        return self.pick(("not", "not", "never")) if mode in ("now", "past") else "not"


class _Words:
    """The English words of a verb group, by role, so that French ones can link to them."""

    def __init__(self) -> None:
        self.order: list[English] = []
        self.role: dict[str, English] = {}
        self.lexical_french = French("")

    def add(self, role: str, text: str) -> None:
        self.role[role] = English(text)
        self.order.append(self.role[role])

    def get(self, *roles: str) -> list[English]:
        return [self.role[role] for role in roles if role in self.role]


def _english(verb: Verb, subject: Phrase, mode: str, polarity: str, often: str) -> _Words:
    base, third, past = verb.english
    he = subject.person == 1
    words = _Words()
    if mode == "going":
        words.add("be", AM[subject.person])
    if mode in ("now", "past", "want") and polarity == "not":
        words.add("do", "did" if mode == "past" else "does" if he else "do")
    if mode == "can":
        words.add("modal", "cannot" if polarity else "can")
    if mode == "must":
        words.add("modal", "must")
    if polarity and mode != "can":
        words.add("no", polarity)
    if mode in ("want", "going"):
        words.add(
            "modal", "going" if mode == "going" else "wants" if he and not polarity else "want"
        )
        words.add("to", "to")
    if often:
        words.add("often", often)
    finite = mode in ("now", "past") and polarity != "not"
    words.add("verb", (past if mode == "past" else third if he else base) if finite else base)
    return words


def _french(
    verb: Verb,
    subject: Phrase,
    mode: str,
    polarity: str,
    often: str,
    clitic: French | None,
    agreement: int,
    words: _Words,
) -> list[French]:
    main = words.get("verb")
    before = [clitic] if clitic is not None else []
    adverb = [French(OFTEN[often], words.get("often"))] if often else []
    # cannot says both "can" and "not"
    no = words.get("no") or words.get("modal")
    closing = "jamais" if polarity == "never" else "pas"
    if mode == "now":
        words.lexical_french = French(verb.french[subject.person], main, words.get("do"))
        finite = [*before, words.lexical_french]
        do = words.get("do")
        return [*(_around(finite, no[0], closing, do) if polarity else finite), *adverb]
    if mode == "past":
        forms = ETRE if verb.moves else AVOIR
        with_did = words.get("do")  # did … see: either may stand for the auxiliary
        auxiliary = French(forms[subject.person], [] if with_did else main, [*with_did, *main])
        finite = [*before, auxiliary]
        words.lexical_french = French(participle(verb.participle, agreement), main)
        group = _around(finite, no[0], closing, with_did) if polarity else finite
        return [*group, *adverb, words.lexical_french]
    going = words.get("be")  # is going, va: either word may be the match
    modal = French(
        MODALS[mode][subject.person],
        [] if going else words.get("modal"),
        words.get("modal", "be", "do"),
    )
    words.lexical_french = French(verb.infinitive, main, words.get("to"))
    helper = words.get("be") or words.get("do") or words.get("modal")
    group = _around([modal], no[0], closing, helper) if polarity else [modal]
    return [*group, *before, words.lexical_french]


def _around(group: list[French], no: English, closing: str, helper: list[English]) -> list[French]:
    """ne … pas, ne … jamais: two French words for one English word.

    The second carries the meaning. "ne" only announces it, as did, do, is and must do in English
    before "not": where there is such a helper, either of the two words may be the match.
    """
    either = [word for word in helper if word is not no]
    ne = French("ne", [], [no, *either]) if either else French("ne", [no])
    return [ne, *group, French(closing, [no])]


def participle(form: str, agreement: int) -> str:
    ending = ("", "e", "s", "es")[agreement]
    return form if ending == "s" and form.endswith("s") else form + ending
