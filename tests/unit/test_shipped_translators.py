"""The bars of the shipped translators, measured on what is shipped: fast, with room to spare."""

import pytest

from attnlab import metrics
from attnlab.data import pronunciation
from attnlab.data.english_french import EnglishFrench
from attnlab.translator import Translator


@pytest.fixture(scope="module")
def sentences():
    return EnglishFrench(longest=32).take(200, "test", seed=3)


@pytest.fixture(scope="module")
def rnnsearch():
    return Translator.shipped("rnnsearch")


def test_rnnsearch_translates_sentences_of_unseen_build(rnnsearch, sentences):
    assert rnnsearch.bleu(sentences) >= 98


def test_rnnsearch_aligns_words_that_nobody_aligned_for_it(rnnsearch):
    """The bar, on 1,200 sentences: sets of 400 gave 0.010 to 0.015."""
    corpus = EnglishFrench(longest=32)
    sets = [corpus.take(400, "test", seed=seed) for seed in (0, 1, 3)]
    assert sum(map(rnnsearch.aer, sets)) / len(sets) <= 0.015


def test_the_fixed_context_is_far_behind_and_loses_the_long_sentences(rnnsearch, sentences):
    fixed = Translator.shipped("fixed_context")
    said = fixed.translate([pair.source for pair in sentences])
    assert metrics.bleu(said, [pair.target for pair in sentences]) <= rnnsearch.bleu(sentences) - 30
    curve = metrics.by_length(said, sentences, [(3, 8), (25, 32)])
    assert curve[3, 8] - curve[25, 32] >= 40


def test_both_translators_are_of_the_same_size_but_for_the_attention(rnnsearch):
    fixed = Translator.shipped("fixed_context")
    for name in ("hidden", "embedding", "source_words", "target_words"):
        assert getattr(fixed.model.config, name) == getattr(rnnsearch.model.config, name)
    assert fixed.source.words == rnnsearch.source.words


def test_sounds_of_unseen_words():
    words = pronunciation.pairs("test")
    words = words[:: len(words) // 500][:500]
    speaker = Translator.shipped("pronunciation")
    said = speaker.translate([pair.source for pair in words])
    accepted = [pronunciation.variants(pair.structure) for pair in words]
    assert metrics.error_rate(said, accepted) <= 0.08
    assert metrics.accuracy(said, accepted) >= 0.6


@pytest.mark.parametrize(
    ("name", "bleu", "aer"),
    [("additive", 95, 0.03), ("dot", 95, 0.03), ("bilinear", 93, 0.08), ("before", 95, 0.07)],
)
def test_the_small_aligners_of_chapter_2(name, bleu, aer):
    pairs = EnglishFrench(longest=15).take(100, "test", seed=1)
    aligner = Translator.shipped(f"align_{name}")
    assert aligner.bleu(pairs) >= bleu
    assert aligner.aer(pairs) <= aer
