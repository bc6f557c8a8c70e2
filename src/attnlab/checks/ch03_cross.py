"""Chapter 3: cross-attention, and a head of the learner's own design.

Sizes are unequal everywhere, but for the first case of 03.4: there all widths agree, so that a
wrong matrix still gives a result to recognise it by.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnlab.attention import weights
from attnlab.checks.answer import OVERFLOWS, Answer, two_matrices
from attnlab.checks.ch03_cross_suspects import CROSS
from attnlab.checks.ch03_suspects import attend
from attnlab.checks.compare import close, numbers
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake

# 03.4 ────────────────────────────────────────────────────────────────────────────────────────────

cross_attention = Exercise(
    "03.4",
    title="Cross-attention",
    call="my_cross_attention(x, context, w_q, w_k, w_v)",
    returns="one row for each token of x, shape (…, L, Dv)",
    reference=lambda x, c, w_q, w_k, w_v: attend(x @ w_q, c @ w_k, c @ w_v),
    suspects=CROSS,
    lesson="x asks, context answers. Shuffling context changes nothing; shuffling x shuffles "
    "the result.",
)


def two_sequences(
    *front: int, x_width: int = 4, context_width: int = 4, key_width: int = 4, value_width: int = 4
) -> tuple[Tensor, ...]:
    """x of length 3, context of length 5, and the three matrices."""
    return (
        numbers(*front, 3, x_width),
        numbers(*front, 5, context_width, seed=1),
        numbers(x_width, key_width, seed=2),
        numbers(context_width, key_width, seed=3),
        numbers(context_width, value_width, seed=4),
    )


@cross_attention.property
def there_is_one_result_for_each_token_of_x(answer: Answer) -> None:
    answer(*two_sequences())


@cross_attention.property
def the_order_of_context_does_not_matter(answer: Answer) -> None:
    x, context, *matrices = two_sequences()
    seen = answer(x, context, *matrices)
    if not close(answer(x, context[[2, 0, 3, 4, 1]], *matrices), seen):
        raise Mistake(
            "With the tokens of context in another order, the result changed.",
            likely="A key and its value have to stay together: both come from the same token of "
            "context.",
        )


@cross_attention.property
def x_asks_and_context_answers(answer: Answer) -> None:
    answer.must_match(
        *two_sequences(),
        likely="Follow one token of x: its query, its five scores, its weights, its mix of values.",
    )


@cross_attention.property
def the_two_sequences_may_have_different_widths(answer: Answer) -> None:
    answer.must_match(*two_sequences(x_width=4, context_width=7, key_width=2, value_width=6))


@cross_attention.property
def a_batch_may_come_first(answer: Answer) -> None:
    answer.must_match(*two_sequences(2, x_width=6, context_width=3, key_width=5, value_width=4))


@cross_attention.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    x, context, w_q, w_k, w_v = two_sequences()
    answer.must_survive(x, context, 1000 * w_q, w_k, w_v, likely=OVERFLOWS)


@cross_attention.draws
def two_sequences_of_any_size(draw: Draw) -> tuple[Tensor, ...]:
    front, (of_x, of_context, key, value) = draw.front(), draw.sizes(4)
    spread = draw.choice([1.0, 1.0, 30.0])
    return (
        draw.numbers(*front, draw.size(), of_x, spread=spread),
        draw.numbers(*front, draw.size(), of_context),
        draw.numbers(of_x, key),
        draw.numbers(of_context, key),
        draw.numbers(of_context, value),
    )


# 03.5 ────────────────────────────────────────────────────────────────────────────────────────────

ENOUGH = 0.9

look_back = Exercise(
    "03.5",
    title="Design a head that looks back",
    call="look_back(n)",
    returns="two matrices w_q and w_k of shape (2, D)",
    lesson="No single matrix could do this: with W_q = W_k scores are symmetric, and round the "
    "circle each day would have to score higher than the one before it, for ever.",
)


def circle(n: int) -> Tensor:
    angle = torch.arange(n) * (2 * math.pi / n)
    return torch.stack([angle.cos(), angle.sin()], dim=-1)  # (n, 2)


def projections(answer: Answer, n: int) -> tuple[Tensor, Tensor]:
    """The learner's w_q and w_k, if they are two matrices that fit."""
    known = [call.seen for call in answer.calls if call.given == (n,)]
    seen = known[0] if known else answer(n)  # asked once: an optimiser may need its time
    return two_matrices(
        seen,
        f"look_back({n})",
        2,
        given=f"n = {n}",
        likely="A token is a row of two numbers, and its query is `x @ w_q`: two rows go in.",
    )


def attended(w_q: Tensor, w_k: Tensor, n: int) -> Tensor:
    """Who attends to whom with these projections: (n, n)."""
    table = weights(circle(n) @ w_q, circle(n) @ w_k)
    if not bool(table.isfinite().all()):
        raise Mistake(
            "The weights are nan: the numbers in w_q and w_k are so large that the scores overflow."
        )
    return table


def must_look_back(answer: Answer, n: int) -> Tensor:
    """Every day looks mostly at the day before; returns how much each gives to it."""
    w_q, w_k = projections(answer, n)
    table = attended(w_q, w_k, n)
    days = torch.arange(n)
    if bool((table.max(-1).values < 1 / n + 1e-3).all()):
        raise Mistake(
            f"With n = {n} every day spreads its attention evenly, {1 / n:.2f} for each.",
            likely="All the scores are nearly the same: are the matrices still zero, or very "
            "small?",
        )
    ahead = (table.argmax(-1) - days) % n  # how many days ahead each one looks
    if bool((ahead == n - 1).all()):
        return table[days, (days - 1) % n]
    symmetric = close(w_q @ w_k.mT, w_k @ w_q.mT)
    if bool((ahead == ahead[0]).all()):
        raise Mistake(
            f"With n = {n} every day looks mostly at {_offset(int(ahead[0]), n)}.",
            _turn(int(ahead[0]), n, symmetric),
            sure=int(ahead[0]) == 0,
        )
    # Where two days score alike, rounding decides: such a day is not held against the answer.
    clear = table.max(-1).values > table[days, (days - 1) % n] + 1e-3
    wrong = clear if bool(clear.any()) else ahead != n - 1
    right, odd = int((~wrong).sum()), int(wrong.nonzero()[0])
    raise Mistake(
        f"With n = {n}, {right} of {n} days look mostly at the day before; day {odd} looks at "
        f"day {int(table[odd].argmax())}, expected day {(odd - 1) % n}.",
        likely="W_q W_kᵀ is symmetric here, so two days always score each other alike; looking "
        "back needs a form that is not."
        if symmetric
        else "A turn by one step, 2π/n radians, treats all days alike.",
    )


def _offset(ahead: int, n: int) -> str:
    if ahead == 0:
        return "itself, expected the day before"
    if ahead == 1:
        return "the day after, expected the day before"
    if ahead <= n // 2:
        return f"the day {ahead} days ahead, expected 1 day back"
    return f"the day {n - ahead} days back, expected 1 day back"


def _turn(ahead: int, n: int, symmetric: bool) -> str:
    if ahead == 0:
        turned = "Queries and keys are turned alike, or not at all: its" if symmetric else "Its"
        return f"{turned} query points where its key does. Turn one of them."
    if ahead == 1:
        return "The turn goes the wrong way: transpose the rotation, or turn the keys instead."
    return "The turn between queries and keys should be one step in all, 2π/n radians, backwards."


@look_back.property
def it_returns_two_matrices_that_fit(answer: Answer) -> None:
    projections(answer, 7)


@look_back.property
def every_day_of_the_week_looks_mostly_at_the_day_before(answer: Answer) -> None:
    must_look_back(answer, 7)


@look_back.property
def with_at_least_nine_tenths_of_its_attention(answer: Answer) -> None:
    must_be_sharp(answer, 7)


@look_back.property
def and_the_same_for_any_number_of_days(answer: Answer) -> None:
    week = projections(answer, 7)
    for n in (12, 3, 365, 4, 5, 30):
        try:
            must_be_sharp(answer, n)
        except Mistake as mistake:
            if all(map(close, projections(answer, n), week)):
                raise Mistake(
                    mistake.seen, f"The matrices for n = {n} are those for n = 7: one step is 2π/n."
                ) from None
            raise


def must_be_sharp(answer: Answer, n: int) -> None:
    given = must_look_back(answer, n)
    if given.min() < ENOUGH:
        raise Mistake(
            f"With n = {n} the direction is right, but day {int(given.argmin())} gives only "
            f"{given.min():.3f} of its attention to the day before, expected at least {ENOUGH}.",
            likely="The neighbours score nearly as high. Larger numbers in w_q widen the gap, "
            "like a low temperature; the larger n, the larger they must be.",
        )
