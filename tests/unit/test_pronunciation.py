"""Spelling to sound: the dictionary, its split, its variants."""

import pytest

from attnlab.data import pronunciation
from attnlab.data.sequences import UNK


def test_words_have_their_sounds_without_stress():
    assert pronunciation.variants("knight") == (("N", "AY", "T"),)
    assert pronunciation.variants("Phone") == (("F", "OW", "N"),)
    assert len(pronunciation.variants("tomato")) == 2
    assert pronunciation.variants("xqzt") == ()


def test_variants_that_differ_only_in_stress_are_one():
    for ways in pronunciation.dictionary().values():
        assert len(set(ways)) == len(ways)


def test_the_split_goes_by_word_and_covers_all():
    counts, words = [], set()
    for split in ("train", "valid", "test"):
        pairs = pronunciation.pairs(split, every_variant=True)
        here = {pair.structure for pair in pairs}
        assert not here & words
        words |= here
        counts.append(len(here))
    assert words == set(pronunciation.dictionary())
    assert len(words) > 120_000
    assert 0.04 < counts[2] / len(words) < 0.06


def test_the_vocabularies_know_every_letter_and_sound():
    letters, sounds = pronunciation.vocabularies()
    for pair in pronunciation.pairs("valid", every_variant=True):
        assert UNK not in letters.encode(pair.source)
        assert UNK not in sounds.encode(pair.target)
    assert len(pronunciation.PHONEMES) == 39


def test_one_pair_a_word_unless_variants_are_wanted():
    plain, every = pronunciation.pairs("valid"), pronunciation.pairs("valid", every_variant=True)
    assert len(plain) == len({pair.source for pair in plain}) < len(every)


def test_examples_are_real_words():
    assert all(pronunciation.variants(word) for word in pronunciation.examples())


def test_wrong_splits_are_named():
    with pytest.raises(ValueError, match="'train', 'valid' and 'test'"):
        pronunciation.pairs("dev")
