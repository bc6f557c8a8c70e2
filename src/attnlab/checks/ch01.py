"""Chapter 1, recurrent networks: what its exercises must satisfy.

Sizes are unequal everywhere (B ≠ T ≠ I ≠ H ≠ V), so that a transposition cannot pass unseen.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks.answer import Answer, look_at_tensor, look_for_nan
from attnlab.checks.ch01_suspects import (
    BALANCE,
    BEAM,
    BOS,
    EOS,
    GRU,
    LOG_P,
    TEACHER,
    UNROLL,
    balance,
    beam_step,
    gru,
    log_p,
    rnn,
    teacher,
)
from attnlab.checks.compare import close, difference, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.predictions import come_true, true_or_false

# 01.1 ────────────────────────────────────────────────────────────────────────────────────────────

unroll = Exercise(
    "01.1",
    title="Unroll a vanilla RNN",
    call="my_rnn(x, w, u, b)",
    returns="one state after each word, shape (…, T, H)",
    reference=rnn,
    suspects=UNROLL,
    lesson="One cell, used T times. The same weights at every step, whatever the length.",
)


def a_sentence(*front: int, time: int = 5) -> tuple[Tensor, ...]:
    """x (…, 5, 3), w (4, 3), u (4, 4), b (4,)."""
    return (
        numbers(*front, time, 3),
        numbers(4, 3, seed=1),
        numbers(4, 4, seed=2, spread=0.7),
        numbers(4, seed=3),
    )


@unroll.property
def there_is_one_state_after_each_word(answer: Answer) -> None:
    answer(*a_sentence(2))


@unroll.property
def the_first_state_reads_the_first_word(answer: Answer) -> None:
    answer.must_match(
        *a_sentence(time=1),
        likely="Before the first word the state is zeros, so h₁ = tanh(W x₁ + b).",
    )


@unroll.property
def every_state_comes_from_the_one_before(answer: Answer) -> None:
    answer.must_match(
        *a_sentence(), likely="Follow it step by step: h = tanh(W x_t + U h + b), with the last h."
    )


@unroll.property
def the_future_has_no_influence(answer: Answer) -> None:
    x, *weights = a_sentence()
    changed = x.clone()
    changed[-1] += 1.0
    if not close(answer(x, *weights)[:-1], answer(changed, *weights)[:-1]):
        raise Mistake(
            "With another last word, earlier states changed.", likely="A state knows the past only."
        )


@unroll.property
def a_batch_may_come_first(answer: Answer) -> None:
    answer.must_match(*a_sentence(2))
    answer.must_match(*a_sentence(2, 6, time=3))


@unroll.draws
def sentences_and_weights(draw: Draw) -> tuple[Tensor, ...]:
    width, state = draw.sizes(2)
    x = draw.numbers(*draw.front(), draw.size(), width)
    return x, draw.numbers(state, width), draw.numbers(state, state), draw.numbers(state)


# 01.2 ────────────────────────────────────────────────────────────────────────────────────────────

gru_step = Exercise(
    "01.2",
    title="One step of a GRU",
    call="my_gru_step(x, h, w, u, b)",
    returns="the new state, shape (…, H)",
    reference=gru,
    suspects=GRU,
    lesson="z = 1 copies the old state unchanged. That copy is the short cut on which gradients "
    "travel.",
)


def a_step(*front: int) -> tuple[Tensor, ...]:
    """x (…, 3), h (…, 4), w (12, 3), u (12, 4), b (12,)."""
    return (
        numbers(*front, 3),
        numbers(*front, 4, seed=1),
        numbers(12, 3, seed=2),
        numbers(12, 4, seed=3),
        numbers(12, seed=4),
    )


@gru_step.property
def the_state_keeps_its_shape(answer: Answer) -> None:
    answer(*a_step(2))


@gru_step.property
def a_closed_update_gate_keeps_the_old_state(answer: Answer) -> None:
    x, h, w, u, b = a_step(2)
    b = b.clone()
    b[4:8] = 50.0  # z = 1
    if not close(answer(x, h, w, u, b), h):
        raise Mistake(
            "With a huge bias on z the new state should be the old one, but it is not.",
            likely="z = 1 means: keep everything.",
        )


@gru_step.property
def the_numbers_are_those_of_the_equations(answer: Answer) -> None:
    answer.must_match(
        *a_step(2),
        likely="Go through r, z, n and the mixture one after the other; the blocks are r, z, n.",
    )


@gru_step.property
def with_a_batch_or_without(answer: Answer) -> None:
    answer.must_match(*a_step())
    answer.must_match(*a_step(5, 2))


@gru_step.draws
def a_word_and_a_state(draw: Draw) -> tuple[Tensor, ...]:
    (width, state), front = draw.sizes(2), draw.front()
    spread = draw.choice([1.0, 1.0, 5.0])
    return (
        draw.numbers(*front, width, spread=spread),
        draw.numbers(*front, state),
        draw.numbers(3 * state, width),
        draw.numbers(3 * state, state),
        draw.numbers(3 * state, spread=spread),
    )


# 01.3 ────────────────────────────────────────────────────────────────────────────────────────────

sentence_probability = Exercise(
    "01.3",
    title="The probability of a sentence",
    call="my_log_p(logits, target)",
    returns="one log-probability for each sentence, shape (…,)",
    reference=log_p,
    suspects=LOG_P,
    lesson="A product of conditionals is a sum of logarithms. Its negative, divided by the number "
    "of words, is the loss of every language model.",
)


def a_batch(batch: int = 3, time: int = 5, padding: int = 0) -> tuple[Tensor, Tensor]:
    """Logits (B, T, 7), targets (B, T); sentence i ends with i · padding positions of padding."""
    logits = numbers(batch, time, 7, spread=2.0)
    generator = torch.Generator().manual_seed(5)
    target = torch.randint(1, 7, (batch, time), generator=generator)
    for row in range(batch):
        if padding:
            target[row, time - min(row * padding, time - 1) :] = 0
    return logits, target


@sentence_probability.property
def there_is_one_number_for_each_sentence(answer: Answer) -> None:
    answer(*a_batch())


@sentence_probability.property
def without_padding_it_is_the_sum_of_log_p(answer: Answer) -> None:
    answer.must_match(
        *a_batch(), likely="log_softmax over the words, then pick the log p of each target word."
    )


@sentence_probability.property
def padding_has_no_influence(answer: Answer) -> None:
    logits, target = a_batch(padding=2)
    seen = answer(logits, target)
    changed = logits.clone()
    changed[target == 0] += numbers(7, seed=8, spread=5.0)
    if not close(answer(changed, target), seen):
        raise Mistake(
            "Other logits where the target is padding changed the result.",
            likely="Those places are no words: leave them out.",
        )
    answer.must_match(logits, target)


@sentence_probability.property
def a_long_sentence_does_not_vanish(answer: Answer) -> None:
    answer.must_match(
        *a_batch(batch=2, time=150, padding=3),
        likely="A product of 150 probabilities is 0 in float32. Add logarithms instead.",
    )


@sentence_probability.property
def large_logits_do_not_overflow(answer: Answer) -> None:
    logits, target = a_batch(padding=1)
    try:
        answer.must_match(100 * logits, target)
    except Mistake as mistake:
        raise Mistake(
            mistake.seen,
            likely="In float32 exp(89) is inf, and log(0) is −inf. `log_softmax` avoids both.",
        ) from None


@sentence_probability.draws
def logits_and_targets(draw: Draw) -> tuple[Tensor, Tensor]:
    batch, time, words = draw.size(1, 4), draw.size(1, 7), draw.size(2, 9)
    target = draw.whole(1, words, batch, time)
    for row in range(batch):
        target[row, draw.size(1, time) :] = 0
    return draw.numbers(batch, time, words, spread=draw.choice([1.0, 3.0, 200.0])), target


# 01.4 ────────────────────────────────────────────────────────────────────────────────────────────

one_step_of_beam_search = Exercise(
    "01.4",
    title="One step of beam search",
    call="my_beam_step(totals, log_p, width)",
    returns="three tensors of shape (width,): new totals, parents, words",
    reference=beam_step,
    suspects=BEAM,
    lesson="All continuations of all beams compete in one list. That is the whole of beam search, "
    "but for the endings.",
)


def some_beams(beams: int = 3, words: int = 5) -> tuple[Tensor, Tensor]:
    """Totals (K,) and log-probabilities (K, V); the second beam is much the likeliest."""
    totals = numbers(beams, seed=6, spread=0.3) - 3.0
    if beams > 1:
        totals[1] += 1.5
    return totals, numbers(beams, words, seed=7, spread=1.5).log_softmax(-1)


NAMES = ("totals", "parents", "words")


def look_at_beams(answer: Answer, totals: Tensor, table: Tensor, width: int) -> tuple[Tensor, ...]:
    """The three results, if they are tensors that fit."""
    seen = answer(totals, table, width)
    kinds = (totals.dtype, torch.int64, torch.int64)
    given = f"totals ({len(totals)},), log_p {tuple(table.shape)}, width = {width}"
    for name, part, dtype in zip(NAMES, seen, kinds, strict=True):
        look_at_tensor(
            part, (width,), dtype, given=given, wanted=f"expected {name} of shape ({width},)",
            name="my_beam_step",
        )  # fmt: skip
        look_for_nan(part, given)
    return tuple(seen)


def must_be_the_best(answer: Answer, totals: Tensor, table: Tensor, width: int) -> None:
    seen = look_at_beams(answer, totals, table, width)
    for name, part, expected in zip(NAMES, seen, beam_step(totals, table, width), strict=True):
        if not close(part, expected):
            where = f"{len(totals)} beams, {table.shape[1]} words and width {width}"
            raise Mistake(
                f"With {where}, in {name} {difference(part, expected)}.",
                likely="Write all K · V sums into one table, take the `width` largest, and find "
                "out which row and column each came from.",
            )


@one_step_of_beam_search.property
def it_returns_totals_parents_and_words(answer: Answer) -> None:
    look_at_beams(answer, *some_beams(), 3)


@one_step_of_beam_search.property
def one_beam_takes_its_best_words(answer: Answer) -> None:
    must_be_the_best(answer, *some_beams(1, 5), 2)


@one_step_of_beam_search.property
def all_continuations_of_all_beams_compete(answer: Answer) -> None:
    must_be_the_best(answer, *some_beams(), 3)
    must_be_the_best(answer, *some_beams(4, 7), 4)


@one_step_of_beam_search.property
def the_width_may_change(answer: Answer) -> None:
    must_be_the_best(answer, *some_beams(2, 6), 5)
    must_be_the_best(answer, *some_beams(5, 4), 1)


@one_step_of_beam_search.draws
def beams_and_a_width(draw: Draw) -> tuple[Tensor, Tensor, int]:
    beams, words = draw.size(1, 5), draw.size(1, 6)
    width = draw.choice([draw.size(1, beams * words), beams * words])
    if width > words:
        draw.note = "The width may be larger than the vocabulary: all beams compete in one list."
    return draw.numbers(beams) - 4, draw.numbers(beams, words, spread=2).log_softmax(-1), width


# 01.5 ────────────────────────────────────────────────────────────────────────────────────────────

as_many_long_as_short = Exercise(
    "01.5",
    title="As many long as short",
    call="my_shares(lengths)",
    returns="one share for each sentence, shape (N,), adding up to 1",
    reference=balance,
    suspects=BALANCE,
    lesson="Draw with these shares, and a rare length is practised as often as a common one. "
    "What is still bad at long sentences is not due to a lack of practice.",
)

SIZES = torch.tensor([2, 3, 2, 9, 2, 3, 2])  # four twos, two threes, one nine


@as_many_long_as_short.property
def there_is_one_share_for_each_sentence(answer: Answer) -> None:
    answer(SIZES)


@as_many_long_as_short.property
def the_shares_add_up_to_one(answer: Answer) -> None:
    total = float(answer(SIZES).sum())
    if not close(total, 1.0):
        raise Mistake(
            f"For lengths {SIZES.tolist()} the shares add up to {unlike(total, 1)}, not to 1.",
            likely="Divide by their sum at the end.",
        )


@as_many_long_as_short.property
def every_length_gets_the_same(answer: Answer) -> None:
    shares = answer(SIZES)
    of_length = {int(n): float(shares[n == SIZES].sum()) for n in SIZES.unique()}
    if not close(torch.tensor(list(of_length.values())), torch.full((3,), 1 / 3)):
        seen = ", ".join(f"{n} words {share:.3f}" for n, share in of_length.items())
        raise Mistake(
            f"Of {SIZES.tolist()}, all sentences of a length together should get 1/3, but get "
            f"{seen}.",
            likely="Count how many sentences share a length, and divide 1 by that count.",
        )


@as_many_long_as_short.property
def other_lengths_work_as_well(answer: Answer) -> None:
    answer.must_match(torch.tensor([40, 1, 1, 1, 17, 40, 5, 5]))
    answer.must_match(torch.tensor([7, 7, 7]))


@as_many_long_as_short.draws
def some_lengths(draw: Draw) -> tuple[Tensor]:
    return (draw.whole(1, draw.choice([2, 4, 9, 3000]), draw.size(1, 12)),)


# 01.6 ────────────────────────────────────────────────────────────────────────────────────────────

teacher_forcing = Exercise(
    "01.6",
    title="Find the bug",
    call="my_teacher(target)",
    returns="two tensors of shape (B, T + 1): what is read, what is to be said",
    reference=teacher,
    suspects=TEACHER,
    lesson="Padding counts for nothing in the loss, so an end mark after the padding is one that "
    "no short sentence learns to say.",
)

ROLES = ("read", "say")
READS = f"What is read: the begin mark {BOS}, then the words, then the padding as it was."


def look_at_lessons(answer: Answer, target: Tensor) -> tuple[Tensor, ...]:
    """The two results, if they are tensors that fit."""
    seen = answer(target)
    shape = (target.shape[0], target.shape[1] + 1)
    for name, part in zip(ROLES, seen, strict=True):
        look_at_tensor(
            part, shape, torch.int64, given=f"target {tuple(target.shape)}",
            wanted=f"expected `{name}` of shape {shape}", name="my_teacher",
        )  # fmt: skip
    return tuple(seen)


def must_teach(answer: Answer, rows: list[list[int]], likely: str = "") -> None:
    """`likely` is said where `say` differs: most mistakes are there."""
    target = torch.tensor(rows)
    seen = look_at_lessons(answer, target)
    for name, part, expected in zip(ROLES, seen, teacher(target), strict=True):
        for sentence, one, other in zip(rows, part.tolist(), expected.tolist(), strict=True):
            if one != other:
                raise Mistake(
                    f"For the sentence {sentence} in a batch, `{name}` is {one}, expected {other}.",
                    likely if name == "say" else READS,
                )


@teacher_forcing.property
def it_returns_what_is_read_and_what_is_said(answer: Answer) -> None:
    look_at_lessons(answer, torch.tensor([[5, 6, 7], [8, 9, 0]]))


@teacher_forcing.property
def without_padding_everything_moves_by_one(answer: Answer) -> None:
    must_teach(
        answer,
        [[5, 6, 7], [8, 9, 4]],
        likely=f"What is said: the words and the end mark {EOS}.",
    )


@teacher_forcing.property
def a_short_sentence_ends_after_its_last_word(answer: Answer) -> None:
    must_teach(
        answer,
        [[5, 6, 7, 8], [9, 4, 0, 0], [3, 0, 0, 0]],
        likely="The end mark comes after the last *word*, before the padding.",
    )


@teacher_forcing.property
def other_batches_work_as_well(answer: Answer) -> None:
    must_teach(answer, [[4, 0, 0]])
    must_teach(answer, [[0, 0], [7, 0], [7, 7]], likely="A sentence may be empty: it ends at once.")


@teacher_forcing.draws
def padded_targets(draw: Draw) -> tuple[Tensor]:
    batch, time = draw.size(1, 4), draw.size(1, 6)
    target = draw.whole(3, draw.choice([5, 40]), batch, time)
    for row in range(batch):
        target[row, draw.size(0, time) :] = 0
    return (target,)


# 01.7 ────────────────────────────────────────────────────────────────────────────────────────────

STATE_CHANGES = {
    "the words in reverse order": "Each step depends on the state before it: order counts.",
    "a word of zeros in front": "tanh(W · 0 + U · 0) = 0: the state is still the first one, zeros.",
    "a word of zeros at the end": "Without a word the state still passes through U and the tanh.",
    "every word doubled, W halved": "W x is the same, and a word is seen through W alone.",
    "the first word said twice": "The second time it meets another state, and leaves another one.",
    "U = 0, and the first two words swapped": "With U = 0 nothing is remembered: only the last "
    "word counts.",
    "U = 0, and the last two words swapped": "With U = 0 the state is tanh(W x) of the last word, "
    "and that is another one now.",
}

prediction = Exercise(
    "01.7",
    title="Predict, then run",
    call="state_stays(change)",
    returns="True or False",
    lesson="A word enters through W, the past through U, and order counts. Without U there is no "
    "memory; with it, even silence changes the state.",
)


def state_stays(change: str) -> bool:
    """Run it, on a sentence and weights drawn at random; b = 0."""
    x, w, u, b = numbers(5, 3), numbers(4, 3, seed=1), numbers(4, 4, seed=2), torch.zeros(4)
    silence = torch.zeros(1, 3)
    if change.startswith("U = 0"):
        u = 0 * u
    new_x, new_w = {
        "the words in reverse order": lambda: (x.flip(0), w),
        "a word of zeros in front": lambda: (torch.cat([silence, x]), w),
        "a word of zeros at the end": lambda: (torch.cat([x, silence]), w),
        "every word doubled, W halved": lambda: (2 * x, w / 2),
        "the first word said twice": lambda: (torch.cat([x[:1], x]), w),
        "U = 0, and the first two words swapped": lambda: (x[[1, 0, 2, 3, 4]], w),
        "U = 0, and the last two words swapped": lambda: (x[[0, 1, 2, 4, 3]], w),
    }[change]()
    return close(rnn(new_x, new_w, u, b)[-1], rnn(x, w, u, b)[-1])


true_or_false(prediction, STATE_CHANGES, each="change")
come_true(prediction, STATE_CHANGES, state_stays, what="the last state")
