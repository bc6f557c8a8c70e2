"""Every word that the grammar can say, in both languages: the vocabularies of the corpus."""

from attnlab.data import clauses, lexicon, phrases, verbs
from attnlab.data.french import ELIDED, MELTED

ADJECTIVES = [*lexicon.BEFORE, *lexicon.COLOUR, *lexicon.QUALITY]
VERBS = [
    *lexicon.TRANSITIVE,
    *lexicon.ALONE,
    *lexicon.PREPOSITIONAL,
    *lexicon.DITRANSITIVE,
    *lexicon.CLAUSAL,
]
# Words that are in rules, not in tables.
ENGLISH = (
    "an any and of than as more less that who whom which there to going want wants can cannot must "
    "do does did not never today yesterday tomorrow ,"
)
FRENCH = "de à que qui et il y avait ne pas jamais plus moins aussi s' , aujourd'hui hier demain"


def english() -> list[str]:
    found = {
        *phrases.ONE, *phrases.SEVERAL, *phrases.DEGREES, *verbs.AM, *verbs.WAS, *verbs.OFTEN,
        *ENGLISH.split(),
    }  # fmt: skip
    found.update(row[0] for row in verbs.SUBJECTS)
    found.update(row[0] for row in verbs.OBJECTS)
    found.update(link[0] for link in (*clauses.CONJUNCTIONS, *clauses.HOW))
    found.update(word for place in clauses.PLACES for word in place[1].split())
    for noun in lexicon.ALL_NOUNS:
        found.update(noun.english[:1] if noun.kind in lexicon.MASS else noun.english)
    found.update(adjective.english for adjective in ADJECTIVES)
    for verb in VERBS:
        base, third, past = verb.english
        found.update(
            form for form in (base, third, past if verb.has_past else "", verb.particle) if form
        )
    return sorted(found)


def french() -> list[str]:
    found = {
        *ELIDED.values(), *MELTED.values(), *phrases.DEGREES.values(), *verbs.OFTEN.values(),
        *verbs.ETRE, *verbs.ETAIT, *verbs.AVOIR,
        *FRENCH.split(),
    }  # fmt: skip
    found.update(form for forms in verbs.MODALS.values() for form in forms)
    found.update(form for row in phrases.ONE.values() for form in row if form)
    found.update(word for text in phrases.SEVERAL.values() for word in text.split())
    found.update(row[1] for row in verbs.SUBJECTS)
    found.update(form for row in verbs.OBJECTS for form in row[1:3])
    found.update(word for _, text in clauses.CONJUNCTIONS for word in text.split())
    found.update(word for _, word in clauses.HOW)
    found.update(word for place in clauses.PLACES for word in place[2].split())
    for noun in lexicon.ALL_NOUNS:
        found.update(noun.french[:1] if noun.kind in lexicon.MASS else noun.french)
    for adjective in ADJECTIVES:
        found.update(adjective.french)
        found.update([adjective.before_vowel] if adjective.before_vowel else [])
    for verb in VERBS:
        found.update(verb.french)
        if not verb.state and verb not in lexicon.CLAUSAL:
            found.add(verb.infinitive)
        if verb.has_past:
            agrees = verb.moves or verb in lexicon.TRANSITIVE
            forms = 1 if not agrees else 2 if verb.objects <= lexicon.MASS else 4
            found.update(verbs.participle(verb.participle, form) for form in range(forms))
    return sorted(found)
