"""Scores against values worked out by hand."""

import pytest
import torch

from attnlab import metrics
from attnlab.data import Pair

GOLD = Pair(
    source=("does", "not", "eat"),
    target=("ne", "mange", "pas"),
    sure=frozenset({(0, 1), (1, 2), (2, 1)}),
    possible=frozenset({(0, 1), (1, 2), (2, 1), (1, 0)}),
)


def test_bleu_is_100_for_the_reference_and_0_for_nonsense():
    references = [["le", "chat", "dort", "ici"], ["il", "ne", "mange", "pas", "de", "pain"]]
    assert metrics.bleu(references, references) == pytest.approx(100.0)
    assert metrics.bleu([["x"] * 4, ["y"] * 6], references) == pytest.approx(0.0, abs=1.0)


def test_bleu_of_one_wrong_word_by_hand():
    # 6 words, the last wrong: precisions 5/6, 4/5, 3/4, 2/3, no brevity penalty.
    expected = 100 * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25
    assert metrics.bleu([list("abcdex")], [list("abcdef")]) == pytest.approx(expected, abs=0.01)


def test_exact_counts_whole_sentences():
    assert metrics.exact([["a", "b"], ["c"]], [("a", "b"), ("d",)]) == 0.5


def test_bleu_by_length_looks_at_the_source_and_leaves_out_empty_buckets():
    pairs = [
        Pair(source=("a",) * 3, target=("x",) * 5),
        Pair(source=("a",) * 9, target=("y",) * 5),
    ]
    said = [["x"] * 5, ["z"] * 5]
    scores = metrics.by_length(said, pairs, [(3, 5), (6, 10), (11, 15)])
    assert list(scores) == [(3, 5), (6, 10)]
    assert scores[3, 5] == pytest.approx(100)
    assert scores[6, 10] == pytest.approx(0.0, abs=1e-6)


def test_aer_by_hand():
    perfect = set(GOLD.sure)
    assert metrics.aer([perfect], [GOLD]) == 0.0
    # (1, 0) is possible but not sure: A∩S = 2, A∩P = 3, |A| = 3, |S| = 3.
    assert metrics.aer([{(0, 1), (1, 0), (2, 1)}], [GOLD]) == pytest.approx(1 - 5 / 6)
    # (1, 1) is plainly wrong: A∩S = 2, A∩P = 2.
    assert metrics.aer([{(0, 1), (1, 1), (2, 1)}], [GOLD]) == pytest.approx(1 - 4 / 6)
    assert metrics.aer([perfect, {(0, 0), (1, 1), (2, 2)}], [GOLD, GOLD]) == pytest.approx(0.5)


def test_links_are_the_largest_weights_of_real_words():
    weights = torch.zeros(5, 4)  # 3 words + end mark + padding, 3 words + end mark
    weights[0, 1] = weights[1, 2] = weights[2, 3] = weights[3, 0] = 0.9
    assert metrics.links(weights, GOLD) == {(0, 1), (1, 2), (2, 3)}  # (2, 3) looks at the end mark
    assert metrics.aer([metrics.links(weights, GOLD)], [GOLD]) == pytest.approx(1 - 4 / 6)


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("kitten", "sitting", 3),
        ("", "abc", 3),
        ("abc", "", 3),
        ("same", "same", 0),
        ("ab", "ba", 2),
    ],
)
def test_edit_distance(one, other, edits):
    assert metrics.edit_distance(one, other) == edits
    assert metrics.edit_distance(other, one) == edits


def test_error_rate_takes_the_nearest_variant():
    said = [["T", "AH", "M", "EY", "T", "OW"], ["K", "AE", "T"]]
    accepted = [
        [["T", "AH", "M", "AA", "T", "OW"], ["T", "AH", "M", "EY", "T", "OW"]],
        [["K", "AH", "T"], ["K", "AH", "T", "S"]],
    ]
    assert metrics.error_rate(said, accepted) == pytest.approx(1 / 9)
    assert metrics.accuracy(said, accepted) == 0.5


def test_unequal_numbers_are_named():
    with pytest.raises(ValueError, match="2 translations and 1 references"):
        metrics.bleu([["a"], ["b"]], [["a"]])
    with pytest.raises(ValueError, match="no alignments"):
        metrics.aer([set()], [Pair(source=("a",), target=("b",))])
