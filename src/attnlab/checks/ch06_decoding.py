"""Chapter 6, decoding and training: the exercises about the nucleus, the cache, the loss and its
scale.

Sizes are unequal everywhere, but for the first case of 06.7: there all widths agree, so that a
forgotten matrix still gives a result to recognise it by.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks.answer import OVERFLOWS, Answer
from attnlab.checks.ch06_suspects import (
    CACHED,
    NUCLEUS,
    SCALED,
    SMOOTHED,
    cached,
    nucleus,
    scaled,
    smoothed,
)
from attnlab.checks.compare import close, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake

# 06.6 ─────────────────────────────────────────────────────────────────────────────────────────────

nucleus_sampling = Exercise(
    "06.6",
    title="The nucleus",
    call="my_top_p(probabilities, p)",
    returns="probabilities of the shape given",
    reference=nucleus,
    suspects=NUCLEUS,
    lesson="A sure model keeps few words and an unsure one many: that is the point of top-p.",
)

SHARES = torch.tensor([0.1, 0.4, 0.05, 0.25, 0.2])


@nucleus_sampling.property
def the_shape_stays_as_given(answer: Answer) -> None:
    answer(SHARES, 0.7)


@nucleus_sampling.property
def the_kept_words_add_up_to_one(answer: Answer) -> None:
    total = answer(SHARES, 0.7).sum()
    if not close(total, torch.tensor(1.0)):
        raise Mistake(
            f"The result adds up to {unlike(total, 1, 2)}, not to 1.", likely="Divide by the sum."
        )


@nucleus_sampling.property
def the_smallest_set_that_reaches_p(answer: Answer) -> None:
    answer.must_match(
        SHARES, 0.7, likely="Likeliest first: 0.4, 0.25 and 0.2 are needed to reach 0.7."
    )
    answer.must_match(SHARES, 0.3, likely="0.4 alone reaches 0.3.")


@nucleus_sampling.property
def the_likeliest_word_always_stays(answer: Answer) -> None:
    answer.must_match(SHARES, 0.01)


@nucleus_sampling.property
def rows_are_cut_on_their_own(answer: Answer) -> None:
    answer.must_match(numbers(3, 6).softmax(-1), 0.8)
    answer.must_match((numbers(2, 3, 7) * 2).softmax(-1), 0.6)


@nucleus_sampling.draws
def probabilities_and_p(draw: Draw) -> tuple[Tensor, float]:
    """In sixteenths and thirty-seconds at times, so that a sum can meet p exactly."""
    if draw.chance(0.4):
        shares = torch.tensor(draw.dice.sample([1.0, 2.0, 3.0, 4.0, 6.0], 5)) / 16
        draw.note = "Here a sum meets p exactly: that reaches p, and no further word is needed."
        return shares, draw.choice([4, 6, 7, 10, 13, 15]) / 16
    p = draw.choice([0.3, 0.55, 0.8, 0.9, 0.97, 1e-6])
    return draw.numbers(*draw.front(), draw.size(1, 9), spread=2).softmax(-1), p


@nucleus_sampling.property
def all_of_the_probability(answer: Answer) -> None:
    answer.must_match(
        torch.tensor([0.5, 0.25, 0.125, 0.125]), 1.0, likely="With p = 1 every word is needed."
    )
    rare = torch.tensor([0.5, 0.25, 0.24995, 0.00005])
    answer.must_match(rare, 1.0, likely="With p = 1 every word is needed, a rare one, too.")
    many = numbers(1000, seed=3).softmax(-1)
    kept = answer(many, 1.0).float()
    if not torch.allclose(kept, many, atol=0.002) or not close(kept.sum(), torch.tensor(1.0)):
        raise Mistake(
            f"With a thousand words and p = 1, {int((kept == 0).sum())} of them got 0, and the "
            f"others add up to {kept.sum():.3f}.",
            likely="Rounding may leave the sum of all just below 1. All words stay here.",
        )


@nucleus_sampling.property
def of_equal_words_no_more_than_needed(answer: Answer) -> None:
    for shares, p, count in (([0.25] * 4, 0.5, 2), ([0.125] * 8, 0.3, 3), ([0.5, 0.5], 0.1, 1)):
        seen = answer(torch.tensor(shares), p)
        kept = int((seen > 0).sum())
        if kept != count or not close(seen.sum(), torch.tensor(1.0)):
            raise Mistake(
                f"Of {len(shares)} words with {shares[0]} each, {count} reach p = {p}, but "
                f"{kept} were kept.",
                likely="Words that are equally likely are still counted one by one.",
            )


# 06.7 ─────────────────────────────────────────────────────────────────────────────────────────────

cached_attention = Exercise(
    "06.7",
    title="One step with a cache",
    call="my_cached_attention(x, past_k, past_v, w_q, w_k, w_v)",
    returns="one output for the newest token, shape (…, 1, Dv)",
    reference=cached,
    suspects=CACHED,
    lesson="One token is projected and S + 1 are looked at: a step costs S, not S².",
)


def cache_case(
    *front: int, past: int = 4, width: int = 3, key: int = 3, value: int = 3
) -> tuple[Tensor, ...]:
    return (
        numbers(*front, 1, width),
        numbers(*front, past, key, seed=1),
        numbers(*front, past, value, seed=2),
        numbers(width, key, seed=3),
        numbers(width, key, seed=4),
        numbers(width, value, seed=5),
    )


@cached_attention.property
def there_is_one_output(answer: Answer) -> None:
    answer(*cache_case())


@cached_attention.property
def it_is_the_last_row_of_full_attention(answer: Answer) -> None:
    answer.must_match(
        *cache_case(), likely="Project x three times, append key and value to the past, attend."
    )


@cached_attention.property
def widths_may_differ(answer: Answer) -> None:
    answer.must_match(*cache_case(past=6, width=5, key=2, value=4))


@cached_attention.property
def the_past_may_be_empty(answer: Answer) -> None:
    answer.must_match(*cache_case(past=0))


@cached_attention.property
def a_batch_comes_first(answer: Answer) -> None:
    answer.must_match(*cache_case(2, past=5, width=4, key=3, value=6))


@cached_attention.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    x, past_k, past_v, w_q, w_k, w_v = cache_case(2)
    answer.must_survive(x, past_k, past_v, 1000 * w_q, w_k, w_v, likely=OVERFLOWS)


@cached_attention.draws
def a_token_and_a_past(draw: Draw) -> tuple[Tensor, ...]:
    front, (width, key, value), past = draw.front(), draw.sizes(3), draw.size(0, 6)
    return (
        draw.numbers(*front, 1, width, spread=draw.choice([1.0, 1.0, 40.0])),
        draw.numbers(*front, past, key),
        draw.numbers(*front, past, value),
        draw.numbers(width, key),
        draw.numbers(width, key),
        draw.numbers(width, value),
    )


# 06.8, in the GPU notebook ────────────────────────────────────────────────────────────────────────

scaled_step = Exercise(
    "06.8",
    title="A step with a loss scale",
    call="my_scaled_step(weight, gradient, scale, rate)",
    returns="the new weight, in float32 and in the shape of the old one",
    reference=scaled,
    suspects=SCALED,
    lesson="Scale up where small numbers vanish, scale down where they do not, skip overflows.",
)


def scaled_case(*shape: int, scale: float = 8.0) -> tuple[Tensor, Tensor, float, float]:
    return numbers(*shape), (numbers(*shape, seed=1) * scale).half(), scale, 0.1


@scaled_step.property
def the_weight_keeps_its_shape_and_type(answer: Answer) -> None:
    answer(*scaled_case(3))


@scaled_step.property
def the_step_has_the_true_size(answer: Answer) -> None:
    answer.must_match(
        *scaled_case(3), likely="Divide by the scale, times the rate, and go against the gradient."
    )
    answer.must_match(*scaled_case(2, 5, scale=64.0))


@scaled_step.property
def small_gradients_survive(answer: Answer) -> None:
    """1e-4 fits into float16; divided by 2^16 it does not. The rate makes it visible."""
    gradient = torch.tensor([1e-4, -2e-4, 3e-4]).half()
    answer.must_match(numbers(3), gradient, 2.0**16, 1e8)


@scaled_step.property
def an_overflow_skips_the_step(answer: Answer) -> None:
    for bad in (torch.inf, -torch.inf, torch.nan):
        weight, gradient, scale, rate = scaled_case(4)
        gradient[2] = bad
        answer.must_match(
            weight, gradient, scale, rate, likely="One bad number, and the weight stays as it was."
        )
    weight, gradient, scale, rate = scaled_case(3)
    answer.must_match(weight, torch.full_like(gradient, torch.inf), scale, rate)


@scaled_step.property
def the_weight_is_in_float32(answer: Answer) -> None:
    seen = answer(*scaled_case(3))
    if seen.dtype != torch.float32:
        short = str(seen.dtype).removeprefix("torch.")
        raise Mistake(f"The new weight is in {short}, expected float32.")


@scaled_step.draws
def a_weight_and_a_gradient(draw: Draw) -> tuple[Tensor, Tensor, float, float]:
    shape, scale = [draw.size() for _ in range(draw.size(1, 3))], draw.choice([1.0, 8.0, 1024.0])
    gradient = draw.numbers(*shape) * scale
    if draw.chance(0.3):
        draw.note = "All gradients are large, but finite: no overflow, so the step is made."
        gradient = 20_000 + 40_000 * draw.mask(*shape).float()
        scale = 2.0**14
    elif draw.chance(0.3):
        draw.note = "A gradient of 0 is a gradient like any other."
        gradient = gradient * draw.mask(*shape)
    elif draw.chance(0.4):
        gradient.view(-1)[draw.dice.randrange(gradient.numel())] = draw.choice(
            [torch.inf, -torch.inf, torch.nan]
        )
    return draw.numbers(*shape), gradient.half(), scale, draw.choice([0.1, 1.0])


# 06.9, in the GPU notebook ────────────────────────────────────────────────────────────────────────

label_smoothing = Exercise(
    "06.9",
    title="Label smoothing",
    call="my_smoothed_losses(logits, target, epsilon)",
    returns="one loss a word, shape (N,)",
    reference=smoothed,
    suspects=SMOOTHED,
    lesson="(1 − ε) on the right word and ε spread over all: the model is told never to be sure.",
)


def loss_case(words: int = 5, count: int = 3) -> tuple[Tensor, Tensor]:
    return numbers(count, words, spread=2), torch.arange(count) * 2 % words


@label_smoothing.property
def there_is_one_loss_for_each_word(answer: Answer) -> None:
    answer(*loss_case(), 0.1)


@label_smoothing.property
def without_smoothing_it_is_cross_entropy(answer: Answer) -> None:
    answer.must_match(*loss_case(), 0.0, likely="With ε = 0: minus the log-probability of target.")


@label_smoothing.property
def with_smoothing_every_word_has_a_share(answer: Answer) -> None:
    answer.must_match(*loss_case(), 0.3, likely="(1 − ε) of the right word, ε of the mean of all.")


@label_smoothing.property
def any_number_of_words(answer: Answer) -> None:
    answer.must_match(*loss_case(11, 4), 0.1)


@label_smoothing.property
def huge_logits_do_not_overflow(answer: Answer) -> None:
    logits, target = loss_case()
    try:
        answer.must_match(logits * 100, target, 0.1)
    except Mistake as mistake:
        raise Mistake(
            mistake.seen,
            likely="The softmax rounds to 0 here, and log 0 is −inf: use `log_softmax`.",
        ) from None


@label_smoothing.draws
def logits_targets_and_epsilon(draw: Draw) -> tuple[Tensor, Tensor, float]:
    words, count = draw.size(1, 9), draw.size()
    logits = draw.numbers(count, words, spread=draw.choice([1.0, 3.0, 200.0]))
    return logits, draw.whole(0, words, count), draw.choice([0.0, 0.1, 0.4, 1.0])
