"""The corpus speaks French that a French reader accepts, and knows which word is which."""

from collections import defaultdict
from itertools import islice, pairwise

import pytest

from attnlab.data import lexicon, phrases, verbs
from attnlab.data.english_french import TELLING, EnglishFrench
from attnlab.data.french import English, French, join, starts_with_vowel
from attnlab.data.pairs import detokenise

CORPUS = EnglishFrench(longest=30)
MASCULINE, FEMININE = False, True


@pytest.fixture(scope="module")
def pairs():
    return CORPUS.take(1500)


def spoken(*words):
    return [word.text for word in join(list(words))]


def the(text="le"):
    return French(text, article=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([the(), French("homme")], "l' homme"),
        ([the(), French("héros")], "le héros"),
        ([the("la"), French("hache")], "la hache"),
        ([the("la"), French("horloge")], "l' horloge"),
        ([French("à"), the(), French("roi")], "au roi"),
        ([French("à"), the(), French("ami")], "à l' ami"),
        ([French("à"), the("les"), French("amis")], "aux amis"),
        ([French("de"), the("les"), French("œufs")], "des œufs"),
        ([French("de"), the(), French("hibou")], "du hibou"),
        ([French("de"), French("un"), French("œuf")], "d' un œuf"),
        ([French("de"), French("le"), French("voir")], "de le voir"),  # a pronoun does not melt
        ([French("parce"), French("que"), French("elle")], "parce qu' elle"),
        ([French("si"), French("ils")], "s' ils"),
        ([French("si"), French("elle")], "si elle"),
        ([French("ce", before_vowel="cet"), French("hôpital")], "cet hôpital"),
        ([French("ce", before_vowel="cet"), French("homard")], "ce homard"),
        ([French("beau", before_vowel="bel"), French("oiseau")], "bel oiseau"),
        ([French("je"), French("ne"), French("ai")], "je n' ai"),
    ],
)
def test_words_touch_as_in_french(words, expected):
    assert spoken(*words) == expected.split()


def test_a_melted_word_belongs_to_both_of_its_sources():
    to, article = English("to"), English("the")
    (melted,) = join([French("à", [to]), French("le", [article], article=True)])
    assert melted.text == "au"
    assert melted.sure == []
    assert melted.possible == [to, article]


def test_text_closes_up():
    assert (
        detokenise(["s'", "il", "pleut", ",", "j'", "aime", "l'", "eau"])
        == "s'il pleut, j'aime l'eau"
    )


def test_no_word_is_elided_wrongly(pairs):
    elided = {"l'", "d'", "qu'", "n'", "j'", "m'"}
    full = {"le", "la", "de", "que", "ne", "je", "me"}
    seen = set()
    for pair in pairs:
        for word, following in pairwise(pair.target):
            if word in full:
                assert not starts_with_vowel(following), pair.target
            if word in elided:
                assert starts_with_vowel(following), pair.target
                seen.add(word)
            assert (word, following) not in {("à", "le"), ("à", "les"), ("de", "le"), ("de", "les")}
            assert (word, following) not in {("si", "il"), ("si", "ils")}
    assert seen == elided


def test_nothing_is_elided_before_an_aspirated_h(pairs):
    assert {"héros", "hache", "hutte", "hiboux"} <= lexicon.ASPIRATED
    befores = {
        word
        for pair in pairs
        for word, following in pairwise(pair.target)
        if following in lexicon.ASPIRATED
    }
    assert {"le", "la", "ce"} <= befores
    assert not befores & {"l'", "d'", "cet", "bel", "nouvel", "vieil"}


def forms_of_words():
    """French form → the (feminine, plural) it can be; for nouns, and for adjectives."""
    nouns, adjectives = defaultdict(set), defaultdict(set)
    for noun in lexicon.ALL_NOUNS:
        for plural, form in enumerate(noun.french):
            nouns[form].add((noun.feminine, bool(plural)))
    for adjective in (*lexicon.BEFORE, *lexicon.COLOUR, *lexicon.QUALITY):
        for i, form in enumerate(adjective.french):
            adjectives[form].add((bool(i % 2), bool(i // 2)))
        if adjective.before_vowel:
            adjectives[adjective.before_vowel].add((MASCULINE, False))
    del nouns["lit"], nouns["marché"]  # these are verbs, too
    return nouns, adjectives


# Determiners, and the (feminine, plural) of nouns that they can stand before.
DETERMINERS = {
    word: can_be
    for words, can_be in (
        ("le un ce cet du au", {(MASCULINE, False)}),
        ("la une cette ma sa", {(FEMININE, False)}),
        ("l' votre notre leur chaque mon son", {(MASCULINE, False), (FEMININE, False)}),
        ("les des ces mes vos ses nos leurs aux deux trois", {(MASCULINE, True), (FEMININE, True)}),
    )
    for word in words.split()
}


def test_determiners_and_adjectives_agree_with_their_noun(pairs):
    nouns, adjectives = forms_of_words()
    checked = 0
    for pair in pairs:
        words = pair.target
        for i, word in enumerate(words):
            if word not in nouns:
                continue
            can_be = set(nouns[word])
            left = i - 1
            while left >= 0 and words[left] in adjectives and words[left] not in nouns:
                can_be &= adjectives[words[left]]
                left -= 1
            if left >= 0 and words[left] in DETERMINERS:
                can_be &= DETERMINERS[words[left]]
                checked += 1
            right = i + 1
            while right < len(words) and (words[right] in adjectives or words[right] == "très"):
                if words[right] != "très":
                    can_be &= adjectives[words[right]]
                right += 1
            assert can_be, (i, word, words)
    assert checked > 2000


def test_mon_and_son_stand_for_ma_and_sa_only_before_a_vowel(pairs):
    nouns, adjectives = forms_of_words()
    for pair in pairs:
        for word, following in pairwise(pair.target):
            can_be = nouns.get(following) or adjectives.get(following)
            if word in ("mon", "son") and can_be == {(FEMININE, False)}:
                assert starts_with_vowel(following)
            if word in ("ma", "sa", "ce", "beau", "nouveau"):
                assert not starts_with_vowel(following) or word in ("beau", "nouveau")


def test_verbs_agree_with_pronouns(pairs):
    forms = defaultdict(set)
    for verb in (
        *lexicon.TRANSITIVE,
        *lexicon.ALONE,
        *lexicon.PREPOSITIONAL,
        *lexicon.DITRANSITIVE,
    ):
        for person, form in enumerate(verb.french):
            forms[form].add(person)
    for table in (verbs.ETRE, verbs.ETAIT, verbs.AVOIR, *verbs.MODALS.values()):
        for person, form in enumerate(table):
            forms[form].add(person)
    persons = {"je": 0, "j'": 0, "elle": 1, "ils": 4}  # il, nous and vous are also other things
    between = {"ne", "n'", "me", "m'", "le", "la", "l'", "les", "lui", "leur", "nous", "vous"}
    seen = defaultdict(int)
    for pair in pairs:
        for i, word in enumerate(pair.target):
            if word in persons and i + 1 < len(pair.target):
                at = i + 1
                while pair.target[at] in between:
                    at += 1
                if pair.target[at] in forms:
                    assert persons[word] in forms[pair.target[at]], pair.target
                    seen[word] += 1
    assert set(seen) == set(persons)
    assert sum(seen.values()) > 300


NE = {"ne", "n'"}


def test_negation_takes_two_words_and_is_linked_twice_to_one(pairs):
    seen = 0
    for pair in pairs:
        for t, word in enumerate(pair.target):
            if word in ("pas", "jamais"):
                (no,) = {s for at, s in pair.sure if at == t}
                assert pair.source[no] in ("not", "never", "cannot")
                partners = {at for at, s in pair.possible if s == no and pair.target[at] in NE}
                assert len(partners) == 1
                # With did, do, is, must before "not", the "ne" may belong to either.
                (ne,) = partners
                matches = {s for at, s in pair.possible if at == ne}
                assert matches in ({no}, {no - 1, no})
                assert (len(matches) == 1) == ((ne, no) in pair.sure)
                seen += 1
    assert seen > 200


def test_a_participle_agrees_with_an_object_before_it():
    # elle l' a vue: "her" is feminine, though the elided pronoun no longer shows it.
    seen = set()
    for pair in islice(EnglishFrench(longest=9).stream(seed=3), 4000):
        for t, word in enumerate(pair.target):
            if word in ("vu", "vue", "vus", "vues") and t >= 2 and "que" not in pair.target:
                objects = {pair.source[s] for _, s in pair.sure} & {
                    "her",
                    "him",
                    "them",
                    "me",
                    "us",
                }
                spoken_objects = {"la", "l'", "le", "les", "m'", "nous"} & set(pair.target[:t])
                if len(objects) == 1 and spoken_objects and pair.target[t - 1] in verbs.AVOIR:
                    seen.add((*objects, word))
    assert ("her", "vue") in seen
    assert ("them", "vus") in seen
    assert not {("him", "vue"), ("them", "vu"), ("him", "vus")} & seen


def test_every_french_word_is_aligned_and_the_links_are_the_dictionary(pairs):
    translation = defaultdict(set)
    for noun in lexicon.ALL_NOUNS:
        for english, french in zip(noun.english, noun.french, strict=True):
            translation[french].add(english)
    for adjective in (*lexicon.BEFORE, *lexicon.COLOUR, *lexicon.QUALITY):
        for form in (*adjective.french, adjective.before_vowel):
            translation[form].add(adjective.english)
    del translation["lit"], translation["marché"]  # a bed, he reads; a market, walked
    counts = 0
    for pair in pairs:
        assert pair.sure <= pair.possible
        for t, word in enumerate(pair.target):
            looked_at = {pair.source[s] for at, s in pair.possible if at == t}
            assert looked_at, (word, pair.target)
            if word in translation:
                assert looked_at & translation[word], (word, looked_at)
                counts += 1
        assert all(t < len(pair.target) and s < len(pair.source) for t, s in pair.possible)
    assert counts > 4000


def test_only_little_english_words_stay_unaligned(pairs):
    silent = {
        pair.source[s]
        for pair in pairs
        for s in range(len(pair.source))
        if all(at != s for _, at in pair.possible)
    }
    assert silent == set()


def test_adjectives_change_sides_and_order():
    crossed = sum(
        any(a[1] > b[1] for a, b in pairwise(sorted(pair.sure)))
        for pair in CORPUS.take(300, seed=5)
    )
    assert crossed > 150


def test_one_english_sentence_has_one_translation(pairs):
    seen = {}
    for pair in [*pairs, *EnglishFrench(longest=5).take(2000)]:
        assert seen.setdefault(pair.source, pair.target) == pair.target


def test_lengths_are_spread_over_the_whole_range():
    lengths = [len(pair.source) for pair in EnglishFrench(longest=40).take(800)]
    assert min(lengths) == 3
    assert max(lengths) == 40
    assert all(sum(low <= n < low + 10 for n in lengths) > 100 for low in (3, 13, 23, 31))


def test_the_same_seed_says_the_same_and_another_says_something_else():
    corpus = EnglishFrench(longest=12)
    assert corpus.take(20, seed=4) == corpus.take(20, seed=4)
    assert corpus.take(20, seed=4) != corpus.take(20, seed=5)
    assert next(corpus.stream("test")) == corpus.take(1, "test")[0]


def test_test_structures_are_never_trained_on():
    corpus = EnglishFrench(longest=10)
    shapes = {
        split: {pair.structure for pair in corpus.take(count, split)}
        for split, count in (("train", 1500), ("valid", 150), ("test", 150))
    }
    assert not shapes["test"] & shapes["train"]
    assert not shapes["valid"] & (shapes["train"] | shapes["test"])
    assert len(shapes["test"]) > 75


def test_the_vocabularies_cover_what_is_said(pairs):
    source, target = CORPUS.vocabularies()
    assert len(source) > 254
    assert len(target) > 254
    said = {word for pair in pairs for word in pair.target}
    assert not source.unknown(word for pair in pairs for word in pair.source)
    assert not target.unknown(said)
    assert len(said) > 0.8 * len(target)


def test_examples_show_what_they_should_and_are_unseen():
    from attnlab.data.sequences import split_of

    examples = CORPUS.examples()
    assert len(examples) == len(TELLING)
    for pair, (low, high, telling, _) in zip(examples, TELLING, strict=True):
        assert low <= len(pair.source) <= high
        assert telling(pair), pair.source
        assert split_of(pair.structure, valid=0.1, test=0.1) == "test"
    assert len(examples[0].to_json()["sure"][0]) == 2


def test_english_text_becomes_words():
    assert CORPUS.tokenise("When the cat can not sleep, I sing.") == (
        ["when", "the", "cat", "cannot", "sleep", ",", "i", "sing"]
    )
    assert CORPUS.detokenise(["l'", "ami"]) == "l'ami"


def test_wrong_requests_are_named():
    with pytest.raises(ValueError, match="3…40"):
        EnglishFrench(longest=50)
    with pytest.raises(ValueError, match="train, valid, test"):
        next(CORPUS.stream("dev"))


def test_tables_are_well_formed():
    assert phrases.ONE["my"] == ("mon", "ma", "mon")
    eat = next(verb for verb in lexicon.TRANSITIVE if verb.infinitive == "manger")
    assert eat.french == ("mange", "mange", "mangeons", "mangez", "mangent")
    assert eat.participle == "mangé"
    old = next(adjective for adjective in lexicon.BEFORE if adjective.english == "old")
    assert (old.french, old.before_vowel) == (("vieux", "vieille", "vieux", "vieilles"), "vieil")


def test_one_tense_a_sentence(pairs):
    """Relative clauses and reported speech, too: never "when we were …, we think"."""
    past = [pair.structure for pair in pairs if pair.structure.startswith("past")]
    assert len(past) > 100
    assert not [s for s in past if "verb.past" not in s and "verb." in s]
    assert not [s for s in past for mode in ("now", "can", "must", "going") if f"verb.{mode}." in s]


def test_who_says_how_often_does_not_say_when(pairs):
    how_often = {"never", "often", "always", "sometimes"}
    when = {"today", "yesterday", "tomorrow"}
    both = [p.source for p in pairs if how_often & {*p.source} and when & {*p.source}]
    clauses = [" ".join(words) for words in both if not {",", "and", "but", "if", "who"} & {*words}]
    joined = {"because", "when", "while", "whom", "that", "which"}
    assert not [text for text in clauses if not joined & {*text.split()}]
