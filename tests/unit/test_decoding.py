"""Decoders against brute force: every sentence of a tiny language, enumerated."""

import itertools
import math

import pytest
import torch

from attnlab.decoding import beam, first_tensor, greedy, next_word_probabilities, sample, select

BOS, EOS = 1, 2
V, LONGEST = 5, 4


class TinyLanguage:
    """Log-probabilities of the next word depend on the last two words and on the sentence's row."""

    def __init__(self, rows: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.table = 2 * torch.randn(rows, V, V, V, generator=generator)
        self.table[..., [0, BOS]] = -torch.inf  # padding and begin are never said

    def start(self):
        rows = len(self.table)
        return {"row": torch.arange(rows), "before": torch.zeros(rows, dtype=torch.long), "n": 3}

    def step(self, state, token):
        logits = self.table[state["row"], state["before"], token]
        return logits, {"row": state["row"], "before": token, "n": state["n"]}

    def log_p(self, row, words):
        """Of a sentence with its end mark."""
        total, before, last = 0.0, 0, BOS
        for word in words:
            total += float(self.table[row, before, last].log_softmax(-1)[word])
            before, last = last, word
        return total

    def sentences(self):
        """All that end within LONGEST words, the end mark counted."""
        for n in range(LONGEST):
            yield from itertools.product([3, 4], repeat=n)


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_a_wide_beam_finds_what_brute_force_finds(penalty):
    language = TinyLanguage(rows=3, seed=0)
    found = beam(
        language.step, language.start(), width=32, max_length=LONGEST, length_penalty=penalty
    )
    for row, hypotheses in enumerate(found):
        scored = []
        for words in language.sentences():
            log_p = language.log_p(row, [*words, EOS])
            scored.append((log_p / ((5 + len(words) + 1) / 6) ** penalty, log_p, list(words)))
        scored.sort(reverse=True)
        assert len(hypotheses) == 15  # all sentences there are
        for hypothesis, (score, log_p, words) in zip(hypotheses, scored, strict=True):
            assert hypothesis.tokens == words
            assert hypothesis.score == pytest.approx(score, abs=1e-4)
            assert hypothesis.log_probability == pytest.approx(log_p, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_without_penalty_is_greedy(seed):
    language = TinyLanguage(rows=4, seed=seed)
    one = beam(language.step, language.start(), width=1, max_length=12, length_penalty=0.0)
    # Greedy stops at its first end mark; a beam of one then looks on, but never finds better.
    said = greedy(language.step, language.start(), max_length=12)
    assert [hypotheses[0].tokens for hypotheses in one] == said


def test_greedy_takes_the_best_word_at_every_step():
    language = TinyLanguage(rows=3, seed=7)
    for row, words in enumerate(greedy(language.step, language.start(), max_length=LONGEST)):
        before, last = 0, BOS
        for word in [*words, EOS][:LONGEST]:
            assert word == int(language.table[row, before, last].argmax())
            before, last = last, word


def test_sentences_of_a_batch_do_not_disturb_each_other():
    language = TinyLanguage(rows=4, seed=3)
    together = beam(language.step, language.start(), width=3, max_length=8)
    for row in range(4):
        state = select(language.start(), torch.tensor([row]))
        alone = beam(language.step, state, width=3, max_length=8)[0]
        assert [h.tokens for h in alone] == [h.tokens for h in together[row]]


def test_a_larger_length_penalty_prefers_longer_sentences():
    language = TinyLanguage(rows=30, seed=1)
    lengths = []
    for penalty in (0.0, 3.0):
        found = beam(
            language.step, language.start(), width=32, max_length=LONGEST, length_penalty=penalty
        )
        lengths.append(sum(len(hypotheses[0].tokens) for hypotheses in found))
    assert lengths[0] < lengths[1]


def test_a_sentence_that_never_ends_is_cut():
    def step(state, token):
        return torch.tensor([[0.0, 0.0, -1e9, 1.0, 0.5]]).expand(len(token), -1), state

    state = (torch.zeros(2, 1),)
    assert greedy(step, state, max_length=3) == [[3, 3, 3]] * 2
    found = beam(step, state, width=2, max_length=3)
    assert [hypotheses[0].tokens for hypotheses in found] == [[3, 3, 3]] * 2


def test_watching_a_beam_changes_nothing_and_shows_every_step():
    language = TinyLanguage(rows=2, seed=5)
    steps = []
    plain = beam(language.step, language.start(), width=3, max_length=LONGEST)
    seen = beam(language.step, language.start(), width=3, max_length=LONGEST, watch=steps.append)
    assert plain == seen
    assert [row[:2] for row in steps[0].parents] == [[0, 0]] * 2  # the one begin mark, two words
    assert [row[2] for row in steps[0].log_probabilities] == [-math.inf] * 2  # an empty place
    for step in steps:
        for row in step.log_probabilities:
            assert row == sorted(row, reverse=True)
    first = steps[0].tokens[0][0]
    assert steps[0].log_probabilities[0][0] == pytest.approx(language.log_p(0, [first]), abs=1e-4)


def test_probabilities_with_top_k_and_top_p_against_sorting_by_hand():
    torch.manual_seed(0)
    logits = torch.randn(6, 9)
    for row in logits:
        shares = row.softmax(-1)
        order = shares.argsort(descending=True).tolist()
        for k in (1, 3, 9):
            kept = next_word_probabilities(row, top_k=k)
            assert set(kept.nonzero().flatten().tolist()) == set(order[:k])
        for p in (0.1, 0.5, 0.9, 1.0):
            kept, total = set(), 0.0
            for word in order:
                if total >= p:
                    break
                kept.add(word)
                total += float(shares[word])
            found = next_word_probabilities(row, top_p=p)
            assert set(found.nonzero().flatten().tolist()) == kept
            assert float(found.sum()) == pytest.approx(1.0, abs=1e-6)


def test_temperature_sharpens_and_flattens():
    logits = torch.tensor([2.0, 1.0, 0.0])
    cold, warm = (next_word_probabilities(logits, temperature=t) for t in (0.1, 10.0))
    assert cold[0] > 0.99
    assert warm.max() - warm.min() < 0.1
    torch.testing.assert_close(warm, (logits / 10).softmax(-1))


def test_samples_have_the_models_distribution():
    language = TinyLanguage(rows=1, seed=2)
    count = 4000
    state = select(language.start(), torch.zeros(count, dtype=torch.long))
    drawn = sample(language.step, state, max_length=20, generator=torch.Generator().manual_seed(0))
    for words in [(), (3,), (4,), (3, 4)]:
        share = sum(tuple(sentence) == words for sentence in drawn) / count
        expected = math.exp(language.log_p(0, [*words, EOS]))
        assert share == pytest.approx(expected, abs=0.03)


def test_cold_or_narrow_sampling_is_greedy_and_the_seed_decides():
    language = TinyLanguage(rows=3, seed=4)
    said = greedy(language.step, language.start(), max_length=6)

    def draw(seed, **options):
        generator = torch.Generator().manual_seed(seed)
        return sample(language.step, language.start(), max_length=6, generator=generator, **options)

    assert draw(0, temperature=1e-3) == draw(0, top_k=1) == draw(0, top_p=1e-6) == said
    assert draw(1, temperature=3.0) == draw(1, temperature=3.0)
    assert any(draw(1, temperature=3.0) != draw(seed, temperature=3.0) for seed in range(2, 8))


def test_states_of_any_nest_can_be_reordered():
    state = {"a": torch.arange(3), "b": (torch.eye(3), [torch.arange(6).view(3, 2)]), "n": 7}
    picked = select(state, torch.tensor([2, 0, 0, 1]))
    assert picked["a"].tolist() == [2, 0, 0, 1]
    assert picked["b"][1][0].tolist() == [[4, 5], [0, 1], [0, 1], [2, 3]]
    assert picked["n"] == 7
    assert len(first_tensor((3, {"x": [torch.zeros(5)]}))) == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [({"temperature": 0.0}, "above 0"), ({"top_k": 0}, "top_k"), ({"top_p": 1.5}, "probability")],
)
def test_wrong_settings_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        next_word_probabilities(torch.zeros(4), **options)


def test_a_state_without_tensors_and_an_empty_beam_are_named():
    with pytest.raises(ValueError, match="no tensor"):
        first_tensor((1, "x"))
    with pytest.raises(ValueError, match="1 or more"):
        beam(lambda s, t: (t, s), (torch.zeros(1),), width=0, max_length=3)
