"""Chapter 7, from one Transformer to all of them: what its seven exercises must satisfy."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks.answer import OVERFLOWS, Answer
from attnlab.checks.ch07_suspects import (
    IDEAL,
    INDUCTION,
    LAW,
    MASKING,
    PERPLEXITY,
    SPANS,
    UTILISATION,
)
from attnlab.checks.compare import a_kind_of, apart, close, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.plain import ch07 as plain

# 07.1 ────────────────────────────────────────────────────────────────────────────────────────────

masking = Exercise(
    "07.1",
    title="80, 10, 10",
    call="my_masking(tokens, asked, luck, other, mark)",
    returns="what is read and the answers, both of shape (B, L)",
    reference=plain.my_masking,
    suspects=MASKING,
    lesson="Some asked words look untouched, so the model must have an opinion about every word.",
)

Masking = tuple[Tensor, Tensor, Tensor, Tensor, int]


def _texts(draw: Draw, rows: int, length: int) -> Masking:
    tokens = draw.whole(4, 30, rows, length)
    luck = torch.rand(rows, length, generator=draw.generator)
    return tokens, draw.mask(rows, length), luck, draw.whole(4, 30, rows, length), 30


@masking.property
def two_texts_of_the_same_shape_come_back(answer: Answer) -> None:
    answer(*_texts(Draw(90), 2, 7))


@masking.property
def what_was_not_asked_for_stays_and_has_no_answer(answer: Answer) -> None:
    tokens, _, luck, other, mark = _texts(Draw(91), 3, 8)
    read, answers = answer(tokens, torch.zeros(3, 8, dtype=torch.bool), luck, other, mark)
    if not close(read, tokens):
        raise Mistake(
            "Nothing was asked for, yet what is read differs from the tokens.",
            likely="Every change needs `asked & (…)`.",
        )
    if bool((answers != 0).any()):
        raise Mistake("Nothing was asked for, yet there are answers other than 0.")


@masking.property
def everything_asked_for_has_its_answer(answer: Answer) -> None:
    tokens, _, luck, other, mark = _texts(Draw(92), 3, 8)
    _, answers = answer(tokens, torch.ones(3, 8, dtype=torch.bool), luck, other, mark)
    if not close(answers, tokens):
        raise Mistake(
            "All tokens were asked for, so the answers are the tokens themselves.",
            likely="The answer is the *old* token, whatever is read in its place.",
        )


@masking.property
def four_fifths_are_marked_a_tenth_swapped_a_tenth_kept(answer: Answer) -> None:
    answer.must_match(*_texts(Draw(93), 4, 9), likely="luck: below 0.8, below 0.9, the rest.")


@masking.draws
def tokens_and_luck(draw: Draw) -> Masking:
    return _texts(draw, draw.size(), draw.size(1, 9))


# 07.2 ────────────────────────────────────────────────────────────────────────────────────────────

spans = Exercise(
    "07.2",
    title="Spans and sentinels",
    call="my_spans(tokens, hidden, first)",
    returns="source and target: two tensors of whole numbers",
    reference=plain.my_spans,
    suspects=SPANS,
    lesson="The target is short: only what was hidden is written, so T5 trains on fewer tokens.",
)


def _hidden(*places: int, length: int) -> Tensor:
    mask = torch.zeros(length, dtype=torch.bool)
    mask[list(places)] = True
    return mask


@spans.property
def one_hidden_token_in_the_middle(answer: Answer) -> None:
    answer.must_match(torch.tensor([5, 6, 7, 8]), _hidden(2, length=4), 100)


@spans.property
def a_run_of_hidden_tokens_shares_a_sentinel(answer: Answer) -> None:
    answer.must_match(torch.tensor([5, 6, 7, 8, 9]), _hidden(1, 2, 3, length=5), 100)


@spans.property
def each_run_has_the_next_sentinel(answer: Answer) -> None:
    answer.must_match(torch.arange(5, 13), _hidden(2, 3, 7, length=8), 90)


@spans.property
def a_run_may_begin_or_end_the_text(answer: Answer) -> None:
    answer.must_match(torch.arange(5, 11), _hidden(0, 1, 5, length=6), 50)


@spans.draws
def tokens_and_holes(draw: Draw) -> tuple[Tensor, Tensor, int]:
    length = draw.size(2, 12)
    hidden = draw.mask(length, share=0.4)
    hidden[draw.dice.randrange(length)] = True
    hidden[draw.dice.randrange(length)] = False  # something stays
    return draw.whole(4, 40, length), hidden, draw.dice.randint(50, 60)


# 07.3 ────────────────────────────────────────────────────────────────────────────────────────────

ideal = Exercise(
    "07.3",
    title="Predict, then run: how good can it be?",
    call="ideal_accuracy(shots, letters, digits)",
    returns="one share for each number of examples, shape (K,)",
    reference=plain.ideal_accuracy,
    suspects=IDEAL,
    lesson="A bound from counting says when a model has nothing left to learn.",
)


@ideal.property
def without_examples_it_is_a_guess(answer: Answer) -> None:
    seen = answer(torch.tensor([0.0]), 5, 4)
    if not close(seen, 0.25):
        raise Mistake(
            f"With no example and 4 digits the answer is {unlike(seen, 0.25, 2)}, expected 0.25.",
            likely="Nothing was seen: one digit in four is right.",
        )


@ideal.property
def more_examples_never_hurt(answer: Answer) -> None:
    seen = answer(torch.arange(30.0), 6, 3)
    if bool((seen.diff() < -1e-6).any()) or seen[-1] > 1 + 1e-6:
        raise Mistake("The shares should rise with the examples, and never above 1.")


@ideal.property
def the_numbers_are_those_of_the_formula(answer: Answer) -> None:
    answer.must_match(torch.arange(8.0), 6, 4)
    answer.must_match(torch.tensor([3.0, 1.0]), 2, 10)


@ideal.draws
def counts(draw: Draw) -> tuple[Tensor, int, int]:
    return draw.whole(0, 20, draw.size()).float(), draw.size(2, 9), draw.size(2, 9)


# 07.4 ────────────────────────────────────────────────────────────────────────────────────────────

induction = Exercise(
    "07.4",
    title="An induction head by hand",
    call="my_induction(x, strength)",
    returns="weights of shape (L, L)",
    reference=plain.my_induction,
    suspects=INDUCTION,
    lesson="Two heads in a row do what no single one can: find what came after the last time.",
)


def one_hot(*tokens: int, words: int) -> Tensor:
    return torch.eye(words)[list(tokens)]


@induction.property
def every_row_sums_to_one(answer: Answer) -> None:
    seen = answer(one_hot(0, 1, 2, 0, words=4), 50.0).sum(-1)
    if not close(seen, 1.0):
        raise Mistake(f"A row sums to {unlike(seen, 1, 2)}, expected 1.")


@induction.property
def nobody_sees_the_future(answer: Answer) -> None:
    seen = answer(one_hot(0, 1, 2, 0, 1, words=3), 50.0)
    if not close(seen.triu(1), 0.0):
        raise Mistake("A token weighs one that comes after it.", likely="Mask before the softmax.")


@induction.property
def it_finds_what_came_after_the_last_time(answer: Answer) -> None:
    x = one_hot(3, 1, 2, 0, 3, words=4)  # d b c a d: after d came b
    seen = answer(x, 50.0)[4]
    if seen.argmax() != 1 or seen[1] < 0.9:
        most = int(seen.argmax())
        more = "" if most == 1 else f" and position {most} gets {seen.max():.2f}"
        raise Mistake(
            "The tokens are d b c a d. The last d should weigh position 1, the b that came after "
            f"the first d, but that gets {seen[1]:.2f}{more}.",
            likely="The key of a position is the token *before* it; the query is the token there.",
        )


@induction.property
def the_numbers_are_those_of_two_heads(answer: Answer) -> None:
    answer.must_match(one_hot(2, 0, 1, 2, 2, 0, words=3), 3.0)
    answer.must_match(one_hot(0, 0, 1, words=5), 7.0)


@induction.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    answer.must_survive(one_hot(2, 0, 1, 2, 2, 0, words=3), 1000.0, likely=OVERFLOWS)


@induction.draws
def tokens_and_a_strength(draw: Draw) -> tuple[Tensor, float]:
    words = draw.size(2, 6)
    tokens = draw.whole(0, words, draw.size(2, 9))
    return torch.eye(words)[tokens], draw.choice([2.0, 5.0, 20.0])


# 07.5 ────────────────────────────────────────────────────────────────────────────────────────────

law = Exercise(
    "07.5",
    title="Predict a loss before paying for it",
    call="predict_loss(sizes, losses, larger)",
    returns="the losses to expect, shape (M,)",
    reference=plain.predict_loss,
    suspects=LAW,
    lesson="Small runs cost little. A line through them says what a large one would bring.",
)


@law.property
def a_true_power_law_is_continued(answer: Answer) -> None:
    sizes = torch.tensor([1e3, 1e4, 1e5])
    seen = answer(sizes, 5 * sizes**-0.1, torch.tensor([1e6]))
    expected = 5 * 1e6**-0.1
    if not close(seen, torch.tensor([expected])):
        yours, due = apart(seen[0], expected)
        raise Mistake(
            f"The losses follow 5 · N^−0.1 exactly, so at a million {due} is due; yours "
            f"says {yours}.",
            likely="Fit a straight line to log loss against log size.",
        )


@law.property
def all_runs_count(answer: Answer) -> None:
    sizes = torch.tensor([1e3, 3e3, 1e4, 5e4])
    answer.must_match(sizes, torch.tensor([3.0, 2.6, 2.5, 2.1]), torch.tensor([1e5, 1e6]))


@law.draws
def runs(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    count = draw.size(2, 7)
    sizes = torch.tensor([1e3 * 2.5**i for i in range(count)])
    losses = 4 * sizes ** -draw.choice([0.05, 0.1, 0.3]) * (1 + 0.03 * draw.numbers(count))
    return sizes, losses, sizes[-1] * 10 ** (1 + draw.numbers(draw.size()).abs())


# 07.6 ────────────────────────────────────────────────────────────────────────────────────────────

perplexity = Exercise(
    "07.6",
    title="Find the bug: a model that gets better by padding",
    call="my_perplexity(logits, target)",
    returns="one number",
    reference=plain.my_perplexity,
    suspects=PERPLEXITY,
    lesson="A mean is over what was asked. Who counts padding measures the padding.",
)


@perplexity.property
def who_knows_nothing_is_lost_among_all_words(answer: Answer) -> None:
    seen = answer(torch.zeros(2, 5, 7), torch.full((2, 5), 3))
    if not close(float(seen), 7.0):
        raise Mistake(
            f"Seven words, all equally likely: perplexity 7, but yours is {unlike(seen, 7, 2)}.",
            likely="e to the mean of −log p.",
        )


@perplexity.property
def padding_changes_nothing(answer: Answer) -> None:
    logits, target = numbers(2, 4, 6), torch.tensor([[1, 5, 2, 3], [4, 4, 1, 2]])
    short = float(answer(logits, target))
    more = torch.cat([logits, numbers(2, 3, 6, seed=1, spread=3)], dim=1)
    padded = float(answer(more, torch.cat([target, torch.zeros(2, 3, dtype=torch.long)], dim=1)))
    if abs(short - padded) > 1e-3 * short:
        longer, bare = apart(padded, short, 2)
        raise Mistake(
            f"The same texts have perplexity {bare}, and with padding {longer}.",
            likely="Leave out the positions where the target is 0.",
        )


@perplexity.property
def texts_of_unequal_length_count_by_their_tokens(answer: Answer) -> None:
    answer.must_match(
        numbers(3, 4, 6, seed=2), torch.tensor([[1, 5, 0, 0], [4, 4, 1, 2], [3, 0, 0, 0]])
    )


@perplexity.property
def large_logits_do_not_overflow(answer: Answer) -> None:
    target = torch.tensor([[1, 5, 2, 3], [4, 4, 1, 2]])
    for level in (1000, -1000):  # of all words alike: only their differences count
        answer.must_survive(numbers(2, 4, 6) + level, target, likely=OVERFLOWS)
    logits = numbers(2, 4, 6)
    logits[0, 0, 3] = 120  # one of eight tokens takes the model by surprise
    answer.must_survive(
        logits,
        target,
        likely="A probability of e⁻¹²⁰ is 0 in float32, and log 0 is −∞: use `log_softmax`.",
    )


@perplexity.draws
def texts(draw: Draw) -> tuple[Tensor, Tensor]:
    rows, length, words = draw.size(), draw.size(1, 6), draw.size(2, 8)
    target = draw.whole(1, words, rows, length)
    target[:, 1:] *= draw.mask(rows, length - 1).long()
    return draw.numbers(rows, length, words, spread=2), target


# 07.7 ────────────────────────────────────────────────────────────────────────────────────────────

utilisation = Exercise(
    "07.7",
    title="What share of the peak?",
    call="my_utilisation(parameters, tokens, seconds, peak)",
    returns="one number",
    reference=plain.my_utilisation,
    suspects=UTILISATION,
    lesson="A card is busy long before it is used well: only matrix products count here.",
)


@utilisation.property
def a_card_at_its_peak_is_used_wholly(answer: Answer) -> None:
    share = answer(1e6, 1e7, 60.0, 1e12)
    if isinstance(share, Tensor) and share.ndim:
        raise Mistake(f"`my_utilisation` returned {a_kind_of(share)}, expected one number.")
    seen = float(share)
    if abs(seen - 1) > 1e-4:
        raise Mistake(
            f"6 · 10¹³ operations in 60 seconds are 10¹² a second, the peak: share 1, not "
            f"{seen:.3g}.",
            likely="operations / (seconds · peak)",
        )


@utilisation.property
def the_numbers_are_those_of_the_rule(answer: Answer) -> None:
    answer.must_match(1e7, 5e7, 300.0, 6.5e13)


@utilisation.draws
def a_training(draw: Draw) -> tuple[float, float, float, float]:
    digits = [10 ** (draw.dice.random() * 3) for _ in range(4)]
    return 1e4 * digits[0], 1e5 * digits[1], 10 * digits[2], 1e10 * digits[3]
