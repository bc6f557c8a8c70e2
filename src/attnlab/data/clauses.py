"""Clauses and sentences: what is said of whom, where, with which relative clauses, joined how.

A budget of English words is handed down and spent: a large one grows relative clauses, places and
second clauses.
"""

from attnlab.data import lexicon
from attnlab.data.french import English, French, join
from attnlab.data.lexicon import Verb
from attnlab.data.phrases import ADJECTIVES, DEGREES, NEVER_AFTER_BE, Phrase, says
from attnlab.data.sequences import Pair
from attnlab.data.verbs import AM, WAS, VerbSpeaker

ALIVE = ("person", "animal")
BUILT = ("place", "area", "stop", "surface")
THINGS = ("food", "text", "clothing", "vehicle", "thing", "furniture", "place")
SMALL = ("food", "meal", "text", "clothing", "thing")

# Who or what is where: located kinds, English, French, kinds of place.
PLACES = (
    (("person", "animal", *SMALL, "furniture"), "in", "dans", ("place",)),
    (("person", "animal", "vehicle"), "in", "dans", ("area",)),
    (("animal", *SMALL), "on", "sur", ("furniture",)),
    (("person", "animal"), "on", "sur", ("surface",)),
    (("animal", *SMALL), "under", "sous", ("furniture",)),
    ((*ALIVE, "vehicle", *BUILT), "behind", "derrière", ("place", "stop")),
    ((*ALIVE, "vehicle", *BUILT), "in front of", "devant", ("place", "stop")),
    ((*ALIVE, "vehicle", "furniture", *BUILT), "near", "près de", ("place", "stop", "surface")),
    ((*ALIVE, *SMALL), "near", "près de", ("furniture",)),
)
CONJUNCTIONS = (
    ("and", "et"), ("but", "mais"), ("because", "parce que"), ("when", "quand"), ("if", "si"),
    ("while", "pendant que"),
)  # fmt: skip
COMPARISONS = (("more", "plus", "than"), ("less", "moins", "than"), ("as", "aussi", "as"))
WHEN = {
    "now": ("today", "aujourd'hui"),
    "past": ("yesterday", "hier"),
    "going": ("tomorrow", "demain"),
}
COLOURS = {adjective.english for adjective in lexicon.COLOUR}
HOW = (("slowly", "lentement"), ("quickly", "rapidement"), ("quietly", "tranquillement"))


class Derivation(VerbSpeaker):
    """One sentence, grown from a random generator."""

    timed = False  # has the time been said already?

    def sentence(self, budget: int) -> Phrase:
        """Clauses in a row; now and then one is put in front: when the cat sleeps , the mice
        dance.
        """
        self.past = self.chance(0.3)
        self.timed = False
        self.note("past" if self.past else "now")
        left = [link for link in CONJUNCTIONS if link[0] != "while" or not self.past]
        said = Phrase()
        if budget >= 9 and self.chance(0.25):
            front = [link for link in left if link[0] not in ("and", "but")]
            link = self._link(front, left)
            said = link + self.clause(self.rng.randint(3, min(budget - 6, 12))) + says(",", ",")
        while True:
            rest = budget - len(said)
            if rest < 8 or (rest < 24 and self.chance(1 - rest / 24)):
                return said + self.clause(rest)
            said = (
                said + self.clause(self.rng.randint(3, min(rest - 4, 14))) + self._link(left, left)
            )

    def _link(self, choices: list[tuple[str, str]], left: list[tuple[str, str]]) -> Phrase:
        """A conjunction. But for "and", none is said twice in a sentence."""
        link = self.pick(choices)
        if link[0] != "and":
            left.remove(link)
        self.note("join", link[0])
        return says(*link)

    def clause(self, budget: int) -> Phrase:
        if budget >= 6 and self.chance(0.05):
            return self.there_is(budget)
        kinds = ALIVE if self.chance(0.85) else THINGS
        subject = self.subject(kinds, budget)
        reports = subject.kind == "person" and not self.past  # who thinks, thinks now
        if reports and budget - len(subject) >= 5 and self.chance(0.12):
            return self.reported(subject, budget - len(subject))
        return subject + self.predicate(subject, budget - len(subject))

    def subject(self, kinds: tuple[str, ...], budget: int) -> Phrase:
        if kinds == ALIVE and (budget < 4 or self.chance(0.35)):
            return self.subject_pronoun()
        share = max(2, int(budget * self.rng.uniform(0.25, 0.6)))
        if kinds == ALIVE and share >= 5 and self.chance(0.15):
            return self.both(kinds, share)
        # What is, is not "some": "des clés sont rouges" is hardly said.
        return self.described(kinds, min(share, max(budget - 2, 2)), plain=kinds == THINGS)

    def both(self, kinds: tuple[str, ...], budget: int) -> Phrase:
        """The cat and the dog: plural, and feminine only if both are."""
        self.note("both")
        left = self.noun_phrase(kinds, budget // 2)
        right = self.noun_phrase((left.kind,), budget - 1 - budget // 2)
        while right.noun == left.noun:
            right = self.noun_phrase((left.kind,), budget - 1 - budget // 2)
        pair = left + says("and", "et") + right
        pair.person, pair.plural = 4, True
        pair.feminine = left.feminine and right.feminine
        return pair

    def described(
        self,
        kinds: tuple[str, ...],
        budget: int,
        *,
        plain: bool = False,
        negated: bool = False,
        definite: bool = False,
    ) -> Phrase:
        """A noun phrase, and, where the budget allows, whose it is, where it is, or a relative
        clause.
        """
        grow = self.rng.random() if budget >= 5 else 1.0
        share = 2 + int((budget - 2) * self.rng.uniform(0.0, 0.5)) if grow < 0.75 else budget
        noun = self.noun_phrase(kinds, share, plain=plain, negated=negated, definite=definite)
        rest = budget - len(noun)
        if rest >= 3 and grow < 0.15 and noun.kind in (*SMALL, "vehicle", "animal"):
            self.note("of")
            return noun + says("of", "de") + self.noun_phrase(("person",), rest - 1, plain=True)
        if rest >= 3 and grow < 0.3:
            return noun + self.place(noun.kind, rest)
        if rest >= 3 and grow < 0.75 and not negated:
            return noun + self.relative(noun, rest)
        return noun

    def relative(self, noun: Phrase, budget: int) -> Phrase:
        """who sleeps: qui dort; that the boy reads: que le garçon lit."""
        verbs = [v for v in self.tensed(lexicon.TRANSITIVE) if noun.kind in v.objects]
        of_object = bool(verbs) and self.chance(0.4)
        self.note("relative", of_object, noun.kind == "person")
        person = "whom" if of_object else "who"
        link = says(person if noun.kind == "person" else self.pick(("that", "which")), "qui")
        if not of_object:
            return link + self.predicate(noun, budget - 1)
        link.french[0].text = "que"
        verb = self.pick(verbs)
        subject = self.subject_for(verb, budget - 2)
        group = self.verb_group(verb, subject, agreement=noun.agreement)
        return link + subject + group.phrase

    def subject_for(self, verb: Verb, budget: int) -> Phrase:
        if budget < 2 or self.chance(0.4):
            return self.subject_pronoun()
        return self.noun_phrase(sorted(verb.subjects), min(budget, 4))

    def place(self, kind: str, budget: int) -> Phrase:
        """in the garden: dans le jardin; near the station: près de la gare."""
        fitting = [place for place in PLACES if kind in place[0]] or [PLACES[-2]]
        _, english, french, where = self.pick(fitting)
        self.note("place", english)
        spot = self.noun_phrase(where, budget - len(english.split()), plain=True)
        return says(english, french) + spot

    def there_is(self, budget: int) -> Phrase:
        """there is a cat in the garden: il y a un chat dans le jardin."""
        noun = self.noun_phrase((*ALIVE, "thing", "text"), budget - 5, indefinite=True)
        self.note("there")
        there = English("there")
        be = English((WAS if self.past else AM)[noun.person])
        has = French("avait" if self.past else "a", [be])
        french = [French("il", [there]), French("y", [], [there, be]), has]
        return Phrase([there, be], french) + noun + self.place(noun.kind, budget - 2 - len(noun))

    def reported(self, subject: Phrase, budget: int) -> Phrase:
        """she thinks that …: elle pense que …"""
        group = self.verb_group(self.pick(lexicon.CLAUSAL), subject, only_now=True)
        self.note("that")
        return subject + group.phrase + says("that", "que") + self.clause(budget - 2)

    def predicate(self, subject: Phrase, budget: int) -> Phrase:
        """What the subject does or is; at least one English word."""
        kind = subject.kind
        can_be = budget >= 2 and subject.determiner != "some"
        if kind not in ALIVE or (can_be and self.chance(0.15)):
            return self.being(subject, budget)
        options = [self.alone]
        options += [self.transitive] * 4 if budget >= 2 else []
        options += [self.prepositional] * 2 if budget >= 4 else []
        options += [self.giving] if budget >= 6 and kind == "person" else []
        return self.pick(options)(subject, budget)

    def being(self, subject: Phrase, budget: int) -> Phrase:
        be = self.be(subject)
        rest = budget - len(be)
        said_already = {word.text for word in subject.english}
        if said_already & COLOURS:  # no red key is blue, no English friend Italian
            said_already |= COLOURS
        adjectives = [
            a
            for place in ("before", "colour", "quality")
            for a in ADJECTIVES[place][subject.kind]
            if a.english not in NEVER_AFTER_BE and a.english not in said_already
        ]
        if (rest >= 3 and self.chance(0.4)) or not adjectives:
            return be + self.place(subject.kind, rest)
        adjective = self.pick(adjectives)
        word = English(adjective.english)
        said = Phrase([word], [French(adjective.french[subject.agreement], [word])])
        compared = ADJECTIVES["quality"][subject.kind]
        if rest >= 5 and adjective in compared and self.chance(0.4):
            more, plus, than = self.pick(COMPARISONS)
            self.note("compare", more)
            other = self.noun_phrase((subject.kind,), rest - 3, plain=True)
            return be + says(more, plus) + said + says(than, "que") + other
        can_be_more = adjective not in lexicon.COLOUR and rest >= 2
        degree = self.pick(tuple(DEGREES)) if can_be_more and self.chance(0.4) else ""
        self.note("is", subject.agreement, degree)
        return be + (says(degree, DEGREES[degree]) if degree else Phrase()) + said

    def alone(self, subject: Phrase, budget: int) -> Phrase:
        verb = self.pick(self.verbs(lexicon.ALONE, subject.kind))
        group = self.verb_group(verb, subject)
        rest = budget - len(group.phrase)
        said = group.phrase
        if rest >= 1 and verb.infinitive in ("courir", "marcher") and self.chance(0.4):
            self.note("how")
            said, rest = said + says(*self.pick(HOW)), rest - 1
        return self._where_and_when(said, subject, rest, group.mode)

    def transitive(self, subject: Phrase, budget: int) -> Phrase:
        verb = self.pick(self.verbs(lexicon.TRANSITIVE, subject.kind))
        if "person" in verb.objects and (budget < 3 or self.chance(0.2)):
            english, french, agreement = self.object_pronoun(subject)
            group = self.verb_group(verb, subject, clitic=french, agreement=agreement)
            said = group.phrase + Phrase([english])
            return self._where_and_when(said, subject, budget - len(said), group.mode)
        group = self.verb_group(verb, subject)
        rest = budget - len(group.phrase)
        objects = tuple(sorted(verb.objects))
        if rest >= 5 and not (group.negated or verb.state) and self.chance(0.15):
            return group.phrase + self.both(objects, rest)
        definite = verb.infinitive == "aimer"  # elle aime le thé
        thing = self.described(objects, rest, negated=group.negated, definite=definite)
        said = group.phrase + thing
        return self._where_and_when(said, subject, budget - len(said), group.mode)

    def prepositional(self, subject: Phrase, budget: int) -> Phrase:
        """goes to the market: va au marché."""
        verb = self.pick(self.verbs(lexicon.PREPOSITIONAL, subject.kind))
        group = self.verb_group(verb, subject)
        assert group.particle is not None
        group.phrase.french.append(French(verb.preposition, [group.particle]))
        rest = budget - len(group.phrase)
        said = group.phrase + self.described(tuple(sorted(verb.objects)), rest, plain=True)
        return self._where_and_when(said, subject, budget - len(said), group.mode, where=False)

    def giving(self, subject: Phrase, budget: int) -> Phrase:
        """gives the book to the king: donne le livre au roi; gives the book to him: lui donne le
        livre.
        """
        verb = self.pick(self.verbs(lexicon.DITRANSITIVE, subject.kind))
        to = English("to")
        objects = tuple(sorted(verb.objects))
        if self.chance(0.4):
            english, french, _ = self.object_pronoun(subject, dative=True)
            french.possible.append(to)
            group = self.verb_group(verb, subject, clitic=french)
            thing = self.described(objects, budget - len(group.phrase) - 2, negated=group.negated)
            return group.phrase + thing + Phrase([to, english])
        group = self.verb_group(verb, subject)
        rest = budget - len(group.phrase) - 1
        thing = self.noun_phrase(objects, rest - 2, negated=group.negated)
        whom = self.described(("person",), rest - len(thing), plain=True)
        return group.phrase + thing + Phrase([to], [French("à", [to])]) + whom

    def _where_and_when(
        self, said: Phrase, subject: Phrase, rest: int, mode: str, *, where: bool = True
    ) -> Phrase:
        """Spend what is left of the budget on a place and a time."""
        if where and rest >= 3 and self.chance(0.7):
            spot = self.place(subject.kind, rest - self.rng.randint(0, 1))
            said, rest = said + spot, rest - len(spot)
        if rest >= 1 and mode in WHEN and not self.timed and self.chance(0.5):
            self.timed = True
            self.note("when", mode)
            said = said + says(*WHEN[mode])
        return said


def finish(said: Phrase, shape: str) -> Pair:
    """Make words touch in both languages, and read off the links."""
    place = {id(word): i for i, word in enumerate(said.english)}
    english = [word.text for word in said.english]
    for i, word in enumerate(english[:-1]):
        if word == "a" and english[i + 1][0] in "aeiou":
            english[i] = "an"
    french = join(said.french)
    sure = {(i, place[id(e)]) for i, word in enumerate(french) for e in word.sure}
    possible = {(i, place[id(e)]) for i, word in enumerate(french) for e in word.possible}
    return Pair(
        source=tuple(english),
        target=tuple(word.text for word in french),
        sure=frozenset(sure),
        possible=frozenset(sure | possible),
        structure=shape,
    )
