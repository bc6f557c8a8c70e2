"""The shipped translator with one fixed context: good when short, and it falls with the length."""

from attnlab import metrics
from attnlab.data.english_french import EnglishFrench
from attnlab.translator import Translator


def test_it_falls_by_40_points_within_the_lengths_it_was_trained_on():
    short = EnglishFrench(shortest=3, longest=6).take(120, "test", seed=1)
    long = EnglishFrench(shortest=26, longest=32).take(120, "test", seed=1)
    translator = Translator.shipped("fixed_context")
    scores = [translator.bleu(pairs) for pairs in (short, long)]
    assert scores[0] >= 97, f"BLEU for 3 to 6 words: {scores[0]:.1f}"
    assert scores[0] - scores[1] >= 40, f"BLEU short and long: {scores}"


def test_a_beam_of_five_is_no_worse_than_greedy():
    pairs = EnglishFrench(shortest=12, longest=20).take(60, "test", seed=2)
    translator = Translator.shipped("fixed_context")
    sources, references = [p.source for p in pairs], [p.target for p in pairs]
    greedy, wide = translator.translate(sources), translator.translate(sources, beam=5)
    assert greedy != wide
    assert metrics.bleu(wide, references) > metrics.bleu(greedy, references) - 1
