"""Chapter 2, Bahdanau alignment: what its exercises must satisfy.

Sizes are unequal everywhere (T ≠ S, widths differ), so that a transposition cannot pass unseen.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks import ch02_suspects as known
from attnlab.checks.answer import OVERFLOWS, Answer
from attnlab.checks.compare import apart, close, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.predictions import come_true, true_or_false

# 02.1 ────────────────────────────────────────────────────────────────────────────────────────────

context = Exercise(
    "02.1",
    title="A context for every word",
    call="my_context(e, h)",
    returns="one context for each target word, shape (…, T, d_h)",
    reference=known.context,
    suspects=known.CONTEXT,
    lesson="Every target word gets its own mean of the annotations. Where the scores come from is "
    "the next exercise.",
)


@context.property
def there_is_one_context_for_each_target_word(answer: Answer) -> None:
    answer(numbers(3, 5), numbers(5, 4, seed=1))


@context.property
def equal_annotations_give_that_annotation(answer: Answer) -> None:
    seen = answer(numbers(3, 5), torch.ones(5, 4) * 2.5)
    if not close(seen, 2.5):
        raise Mistake(
            "When every annotation is 2.5, so is every mean of them, but there is "
            f"{unlike(seen, 2.5)}.",
            likely="The weights of a row have to sum to 1: a softmax along the last axis.",
        )


@context.property
def the_numbers_are_those_of_the_formula(answer: Answer) -> None:
    answer.must_match(
        numbers(3, 5), numbers(5, 4, seed=1), likely="Weights first, softmax(e), then weights @ h."
    )


@context.property
def a_batch_may_come_first(answer: Answer) -> None:
    answer.must_match(numbers(2, 3, 5), numbers(2, 5, 4, seed=1))


@context.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    answer.must_survive(numbers(3, 5, spread=1000), numbers(5, 4, seed=1), likely=OVERFLOWS)


@context.draws
def scores_and_annotations(draw: Draw) -> tuple[Tensor, Tensor]:
    front, source, spread = draw.front(), draw.size(), draw.choice([1.0, 5.0, 500.0])
    e = draw.numbers(*front, draw.size(), source, spread=spread)
    return e, draw.numbers(*front, source, draw.size())


# 02.2 ────────────────────────────────────────────────────────────────────────────────────────────

additive_score = Exercise(
    "02.2",
    title="The additive score",
    call="my_additive_score(s, h, w, u, v)",
    returns="scores of shape (…, T, S)",
    reference=known.additive,
    suspects=known.ADDITIVE,
    lesson="A tiny network looks at every pair of target state and source word.",
)


def two_sides(*front: int) -> tuple[Tensor, ...]:
    """States (…, 3, 4), annotations (…, 5, 6), and the network's three arrays."""
    return (
        numbers(*front, 3, 4),
        numbers(*front, 5, 6, seed=1),
        numbers(4, 7, seed=2),
        numbers(6, 7, seed=3),
        numbers(7, seed=4),
    )


@additive_score.property
def there_is_one_score_for_each_pair(answer: Answer) -> None:
    answer(*two_sides())


@additive_score.property
def the_numbers_are_right(answer: Answer) -> None:
    answer.must_match(
        *two_sides(),
        likely="For one pair: tanh(s_t W + h_i U), seven numbers, then their product with v.",
    )


@additive_score.property
def a_batch_comes_in_front(answer: Answer) -> None:
    answer.must_match(
        *two_sides(2),
        likely="Without a batch it was right. Count axes from the back: unsqueeze(-2), "
        "unsqueeze(-3).",
    )


@additive_score.draws
def states_and_annotations(draw: Draw) -> tuple[Tensor, ...]:
    front, (of_s, of_h, shared) = draw.front(), draw.sizes(3)
    return (
        draw.numbers(*front, draw.size(), of_s),
        draw.numbers(*front, draw.size(), of_h),
        draw.numbers(of_s, shared),
        draw.numbers(of_h, shared),
        draw.numbers(shared),
    )


# 02.3 ────────────────────────────────────────────────────────────────────────────────────────────

error_rate = Exercise(
    "02.3",
    title="The alignment error rate",
    call="my_aer(alpha, sure, possible)",
    returns="one rate for each sentence, shape (…)",
    reference=known.aer,
    suspects=known.AER,
    lesson="Sure links are asked for, possible ones allowed: a word with two right places may "
    "look at either.",
)


def gold(*front: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights (…, 4, 6). Links 0 and 1 of four are sure, link 2 is only possible, link 3 wrong."""
    alpha = (2 * numbers(*front, 4, 6)).softmax(-1)
    best = known.links(alpha)
    sure = (numbers(*front, 4, 6, seed=1) > 0.9) & ~best
    possible = (numbers(*front, 4, 6, seed=2) > 0.4) & ~best
    sure[..., :2, :] |= best[..., :2, :]
    possible = possible | sure
    possible[..., 2, :] |= best[..., 2, :]
    return alpha, sure, possible


@error_rate.property
def a_perfect_alignment_has_rate_zero(answer: Answer) -> None:
    order = torch.tensor([[0, 2, 1, 3], [3, 0, 1, 2]])  # two sentences
    alpha = torch.eye(4, 6)[order] * 0.8 + 0.03  # (2, 4, 6)
    sure = known.links(alpha)
    seen = answer(alpha, sure, sure)
    if not close(seen, 0.0):
        raise Mistake(
            f"Every word looks at its gold place, so the rate is 0, but there is {unlike(seen, 0)}."
        )


@error_rate.property
def the_rate_is_that_of_och_and_ney(answer: Answer) -> None:
    answer.must_match(*gold(), likely="1 − (|A∩S| + |A∩P|) / (|A| + |S|), with |A| = T links.")


@error_rate.property
def a_flat_row_still_has_one_link(answer: Answer) -> None:
    alpha, sure, possible = gold()
    flat = alpha / 4 + (1 - alpha.sum(-1, keepdim=True) / 4) / 6  # no weight above one half
    answer.must_match(flat, sure, possible, likely="Each target word makes exactly one link.")


@error_rate.property
def each_sentence_of_a_batch_has_its_own_rate(answer: Answer) -> None:
    answer.must_match(*gold(3), likely="Sum over the last two axes only.")


@error_rate.draws
def weights_and_gold_links(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    """At times two weights of a row are equal, and both positions are gold, or neither is."""
    shape = (*draw.front(), draw.size(1, 5), draw.size(1, 6))
    alpha = draw.numbers(*shape, spread=draw.choice([0.2, 1.0, 3.0])).softmax(-1)
    best = known.links(alpha)
    sure = torch.where(best, draw.mask(*shape), draw.mask(*shape, share=0.15))
    possible = sure | torch.where(best, draw.mask(*shape), draw.mask(*shape, share=0.3))
    if shape[-1] > 1 and draw.chance(0.5):
        draw.note = "Two weights of a row may be equal. Each target word still makes one link."
        twin = best.roll(1, -1)
        alpha = torch.where(twin, alpha.amax(-1, keepdim=True), alpha)
        sure = torch.where(twin, (sure & best).any(-1, keepdim=True), sure)
        possible = torch.where(twin, (possible & best).any(-1, keepdim=True), possible)
    return alpha, sure, possible


# 02.4 ────────────────────────────────────────────────────────────────────────────────────────────

gru_weights = Exercise(
    "02.4",
    title="The attention hidden in a GRU",
    call="my_gru_weights(z)",
    returns="one weight for each step and each entry of the state, shape (…, T, H)",
    reference=known.gate_weights,
    suspects=known.GATES,
    lesson="A GRU is a weighted sum of its candidates, and its weights fade with every step. "
    "Attention sets them free.",
)


def gates(*shape: int, seed: int = 0) -> Tensor:
    return torch.sigmoid(numbers(*shape, seed=seed))


@gru_weights.property
def there_is_one_weight_for_each_gate(answer: Answer) -> None:
    answer(gates(5, 3))


@gru_weights.property
def one_step_is_one_minus_z(answer: Answer) -> None:
    answer.must_match(gates(1, 3), likely="After a single step h_1 = (1 − z_1) n_1 + z_1 h_0.")


@gru_weights.property
def the_weighted_sum_of_candidates_is_the_last_state(answer: Answer) -> None:
    z, n = gates(5, 3), numbers(5, 3, seed=1)
    h = torch.zeros(3)
    for gate, candidate in zip(z, n, strict=True):
        h = (1 - gate) * candidate + gate * h
    seen = (answer(z) * n).sum(-2)
    if not close(seen, h):
        ours, theirs = apart(seen, h)
        raise Mistake(
            f"The weighted sum of the candidates has an entry {ours}, where the GRU ends with "
            f"{theirs}.",
            likely="Follow candidate 1: it enters with 1 − z_1, then step 2 keeps z_2 of it, "
            "step 3 keeps z_3 of that …",
        )


@gru_weights.property
def and_every_weight_is_right(answer: Answer) -> None:
    answer.must_match(gates(6, 2, seed=2))
    answer.must_match(
        0.97 + 0.03 * gates(40, 2),
        likely="Of 40 steps with gates near 1 even the first one counts.",
    )


@gru_weights.property
def a_closed_gate_is_no_trouble(answer: Answer) -> None:
    z = gates(4, 3)
    z[2, 1] = 0.0  # everything before step 2 is forgotten in entry 1
    try:
        answer.must_match(z)
    except Mistake as mistake:
        raise Mistake(
            mistake.seen,
            likely="One gate is exactly 0. A division by z, or its logarithm, breaks there.",
        ) from None


@gru_weights.property
def a_batch_goes_first(answer: Answer) -> None:
    answer.must_match(gates(2, 5, 3))


@gru_weights.draws
def gates_of_all_steps(draw: Draw) -> tuple[Tensor]:
    z = draw.numbers(*draw.front(), draw.size(), draw.size(), spread=2).sigmoid()
    if draw.chance(0.25):
        draw.note = "A long sentence with gates near 0: a product of many rounds to 0, so that "
        draw.note += "nothing may be divided by it."
        z = draw.numbers(60, draw.size(), spread=2).sub(6).sigmoid()
    elif draw.chance(0.5):
        draw.note = "Some gates are exactly 0 or 1."
        z = torch.where(draw.mask(*z.shape, share=0.3), z.round(), z)
    return (z,)


# 02.5 ────────────────────────────────────────────────────────────────────────────────────────────

local_attention = Exercise(
    "02.5",
    title="Content and location",
    call="my_local_weights(e, p, d)",
    returns="weights of shape (…, T, S)",
    reference=known.local,
    suspects=known.LOCAL,
    lesson="The window says where to look, the softmax what to look for, and the Gaussian prefers "
    "the middle.",
)


@local_attention.property
def there_is_one_weight_for_each_target_and_source_word(answer: Answer) -> None:
    answer(numbers(3, 8), torch.tensor([1.0, 4.5, 6.0]), 2)


@local_attention.property
def nothing_outside_the_window(answer: Answer) -> None:
    seen = answer(numbers(3, 8), torch.tensor([1.0, 4.5, 6.0]), 2)
    if bool((seen[0, 4:] != 0).any()):
        raise Mistake(
            f"Word 0 looks around place 1 with d = 2, so places 4 to 7 get 0, but one of them "
            f"has {unlike(seen[0, 4:], 0)}.",
            likely="Hide the scores outside |i − p| ≤ d with −inf before the softmax.",
        )


@local_attention.property
def the_weights_inside_are_right(answer: Answer) -> None:
    answer.must_match(
        numbers(3, 8),
        torch.tensor([1.0, 4.5, 6.0]),
        2,
        likely="softmax inside the window, times exp(−(i − p)² / 2σ²) with σ = d / 2.",
    )


@local_attention.property
def another_window_at_the_edges(answer: Answer) -> None:
    answer.must_match(numbers(4, 9, seed=1), torch.tensor([0.0, 8.0, 3.3, 5.0]), 3)


@local_attention.property
def a_batch_in_front(answer: Answer) -> None:
    answer.must_match(numbers(2, 3, 8), torch.tensor([[1.0, 4.5, 6.0], [7.0, 0.4, 3.0]]), 2)


@local_attention.property
def large_scores_do_not_overflow_(answer: Answer) -> None:
    for level in (1000, -1000):  # all alike: only their differences count
        e = numbers(3, 8) + level
        answer.must_survive(e, torch.tensor([1.0, 4.5, 6.0]), 2, likely=OVERFLOWS)


@local_attention.draws
def scores_places_and_a_window(draw: Draw) -> tuple[Tensor, Tensor, int]:
    front, target, source = draw.front(), draw.size(), draw.size(1, 9)
    p = draw.whole(0, 2 * source - 1, *front, target) / 2  # between two words, or on one
    e = draw.numbers(*front, target, source, spread=draw.choice([1.0, 3.0]))
    return e, p, draw.size(1, 4)


# 02.6 ────────────────────────────────────────────────────────────────────────────────────────────

spread_of_weights = Exercise(
    "02.6",
    title="Over how many words?",
    call="my_spread(alpha)",
    returns="one number for each target word, shape (…, T)",
    reference=known.spread,
    suspects=known.SPREAD,
    lesson="A number for the eye: 1 is a pointed finger, S a shrug. It needs no gold links; but "
    "sharp weights can still point at the wrong word.",
)


@spread_of_weights.property
def there_is_one_number_for_each_target_word(answer: Answer) -> None:
    answer(torch.full((3, 5), 0.2))


@spread_of_weights.property
def five_even_weights_are_five(answer: Answer) -> None:
    seen = answer(torch.full((3, 5), 0.2))
    if not close(seen, 5.0):
        raise Mistake(
            f"Equal weights on 5 words count as 5, but got {unlike(seen, 5)}.",
            likely="The entropy −Σ α ln α of five equal weights is ln 5; its exponential is 5.",
        )


@spread_of_weights.property
def a_pointed_finger_is_one(answer: Answer) -> None:
    seen = answer(torch.eye(3, 5))
    if not close(seen, 1.0):
        raise Mistake(
            f"All weight on a single word, with zeros elsewhere, counts as 1, but got "
            f"{unlike(seen, 1)}.",
            likely="0 · ln 0 is 0 here: `torch.xlogy(a, a)` knows that.",
        )


@spread_of_weights.property
def the_spread_is_that_of_the_formula(answer: Answer) -> None:
    answer.must_match(known.softmax(numbers(3, 5)), likely="exp(−Σ α ln α), summed over a row.")


@spread_of_weights.property
def several_sentences_may_come_first(answer: Answer) -> None:
    answer.must_match(known.softmax(numbers(2, 3, 5)))


@spread_of_weights.draws
def weights_with_zeros(draw: Draw) -> tuple[Tensor]:
    shape = (*draw.front(), draw.size(), draw.size(1, 8))
    alpha = draw.numbers(*shape, spread=draw.choice([0.3, 1.0, 3.0])).softmax(-1)
    if draw.chance(0.7):
        draw.note = "Some weights of a row are 0, and several are not."
        seen = draw.mask(*shape) | (alpha == alpha.amax(-1, keepdim=True))
        alpha = alpha * seen / (alpha * seen).sum(-1, keepdim=True)
    return (alpha,)


# 02.7 ────────────────────────────────────────────────────────────────────────────────────────────

padded = Exercise(
    "02.7",
    title="Find the bug",
    call="padded_context(e, h, real)",
    returns="contexts of shape (B, T, d_h)",
    reference=known.padded,
    suspects=known.PADDED,
    lesson="What must not take part has to be gone before the softmax, or it takes its share.",
)


def padded_batch() -> tuple[Tensor, Tensor, Tensor]:
    """Two sentences, of 5 and of 2 words."""
    real = torch.arange(5) < torch.tensor([[5], [2]])
    return numbers(2, 3, 5), numbers(2, 5, 4, seed=1), real


@padded.property
def there_is_one_context_for_each_word(answer: Answer) -> None:
    answer(*padded_batch())


@padded.property
def without_padding_nothing_changes(answer: Answer) -> None:
    e, h, _ = padded_batch()
    answer.must_match(e, h, torch.ones(2, 5, dtype=torch.bool))


@padded.property
def a_short_sentence_still_shares_out_one(answer: Answer) -> None:
    e, _, real = padded_batch()
    seen = answer(e, torch.full((2, 5, 4), 2.5), real)[1]
    if not close(seen, 2.5):
        raise Mistake(
            "When every annotation is 2.5, so is every context, but for the sentence of 2 words it "
            f"is {unlike(seen, 2.5)}.",
            likely="The weights of its two words do not add up to 1.",
        )


@padded.property
def alone_or_in_a_batch(answer: Answer) -> None:
    answer.must_match(
        *padded_batch(), likely="The sentence of 2 words must get the contexts it gets alone."
    )


@padded.property
def large_scores_do_not_overflow__(answer: Answer) -> None:
    e, h, real = padded_batch()
    for level in (1000, -1000):
        answer.must_survive(e + level, h, real, likely=OVERFLOWS)


@padded.draws
def sentences_of_several_lengths(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    batch, source = draw.size(), draw.size(1, 7)
    real = torch.arange(source) < draw.whole(1, source + 1, batch, 1)
    e = draw.numbers(batch, draw.size(), source, spread=draw.choice([1.0, 5.0]))
    return e, draw.numbers(batch, source, draw.size()), real


# 02.8 ────────────────────────────────────────────────────────────────────────────────────────────

CHANGES = {
    "3 more for every score": "The factor e³ stands above and below the fraction line.",
    "every score doubled": "Differences between scores double, so the largest weight grows.",
    "words in reverse order": "Each annotation keeps its own score, and a sum has no order.",
    "every word twice": "All weights are halved, and each annotation counts twice.",
    "the last word twice": "The last word now has two shares, and all others less.",
    "a word with score −∞": "e^(−∞) = 0: it takes no share.",
    "a word with score 0": "e^0 = 1: it takes a share like any other.",
}

prediction = Exercise(
    "02.8",
    title="Predict, then run",
    call="context_stays(change)",
    returns="True or False",
    lesson="A context depends on differences of scores, and on which annotations carry them: not "
    "on their order.",
)


def stays(change: str) -> bool:
    """Run it, on scores and annotations drawn at random."""
    e, h = numbers(5), numbers(5, 4, seed=1)
    more = numbers(1, 4, seed=2)
    new = {
        "3 more for every score": lambda: (e + 3, h),
        "every score doubled": lambda: (2 * e, h),
        "words in reverse order": lambda: (e.flip(0), h.flip(0)),
        "every word twice": lambda: (torch.cat([e, e]), torch.cat([h, h])),
        "the last word twice": lambda: (torch.cat([e, e[-1:]]), torch.cat([h, h[-1:]])),
        "a word with score −∞": lambda: (
            torch.cat([e, torch.tensor([-torch.inf])]),
            torch.cat([h, more]),
        ),
        "a word with score 0": lambda: (torch.cat([e, torch.zeros(1)]), torch.cat([h, more])),
    }[change]()
    return close(known.context(*new), known.context(e, h))


true_or_false(prediction, CHANGES, each="change")


@prediction.property
def true_means_that_it_stays(answer: Answer) -> None:
    if all(answer(change) != stays(change) for change in CHANGES):
        raise Mistake(
            "Every prediction is the wrong way round.",
            likely="`True` means that the context stays the same; a `not` is missing or too many.",
        )


come_true(prediction, CHANGES, stays, what="the context")
