"""Chapter 3, self-attention: what its exercises must satisfy, and what each mistake is called.

Sizes are unequal everywhere (L ≠ S, D ≠ Dv), so that a transposition cannot pass unseen, but for
the first case of 03.4: there all widths agree, so that a wrong matrix still gives a result to
recognise it by.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnlab import masks
from attnlab.attention import weights
from attnlab.checks.answer import OVERFLOWS, Answer, two_matrices
from attnlab.checks.ch03_suspects import (
    BLOCKS,
    CAUSAL,
    CENTRED,
    CROSS,
    MASKED,
    WEIGHTS,
    attend,
    causal_alone,
    centred,
    lower_right,
)
from attnlab.checks.compare import a_kind_of, close, numbers
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.watching import Largest
from attnlab.scores import dot

# 03.1 ────────────────────────────────────────────────────────────────────────────────────────────


weights_by_hand = Exercise(
    "03.1",
    title="Attention weights by hand",
    call="my_weights(q, k)",
    returns="weights of shape (…, L, S)",
    reference=weights,
    suspects=WEIGHTS,
    lesson="Each query shares out 1 among the keys, by softmax(q·k / √D).",
)


@weights_by_hand.property
def there_is_one_weight_for_each_query_and_key(answer: Answer) -> None:
    answer(numbers(3, 4), numbers(5, 4, seed=1))


@weights_by_hand.property
def every_row_sums_to_one(answer: Answer) -> None:
    sums = answer(numbers(3, 4), numbers(5, 4, seed=1)).sum(-1)
    if not close(sums, 1.0):
        raise Mistake(
            f"The three rows sum to {', '.join(f'{s:.2f}' for s in sums)}, not to 1.",
            likely="Each query shares out 1 among the keys: a softmax along the last axis does "
            "that.",
        )


@weights_by_hand.property
def the_numbers_are_those_of_the_formula(answer: Answer) -> None:
    for q, k in ((numbers(3, 4), numbers(5, 4, seed=1)), (numbers(2, 9), numbers(6, 9, seed=1))):
        answer.must_match(q, k, likely=scale_seen(answer(q, k), q, k))


def scale_seen(seen: Tensor, q: Tensor, k: Tensor) -> str:
    """Are these softmax(c · q kᵀ) for some c? Then name it; otherwise the scores are wrong."""
    scores = dot(q, k)
    logs = seen.log()
    x, y = scores - scores.mean(-1, keepdim=True), logs - logs.mean(-1, keepdim=True)
    c, right = float((x * y).sum() / (x * x).sum()), q.shape[-1] ** -0.5
    if close(y, c * x):
        return f"This is softmax({c:.3f} · q kᵀ). With D = {q.shape[-1]}, 1/√D is {right:.3f}."
    return "The rows sum to 1, so look at the scores: dot products of q and k, divided by √D."


@weights_by_hand.property
def a_batch_and_heads_may_come_first(answer: Answer) -> None:
    answer.must_match(numbers(2, 3, 4), numbers(2, 5, 4, seed=1))
    answer.must_match(numbers(2, 3, 4, 6), numbers(2, 3, 5, 6, seed=1))


@weights_by_hand.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    answer.must_survive(
        numbers(3, 4, spread=40), numbers(5, 4, seed=1, spread=40), likely=OVERFLOWS
    )


@weights_by_hand.draws
def queries_keys(draw: Draw) -> tuple[Tensor, Tensor]:
    front, width, spread = draw.front(), draw.size(), draw.choice([1.0, 3.0, 40.0])
    q = draw.numbers(*front, draw.size(), width, spread=spread)
    return q, draw.numbers(*front, draw.size(), width)


# 03.2 ────────────────────────────────────────────────────────────────────────────────────────────


causal_mask = Exercise(
    "03.2",
    title="A causal mask",
    call="my_causal_mask(L, S)",
    returns="a mask of shape (L, S)",
    reference=lower_right,
    suspects=CAUSAL,
    lesson="The last query sees every key, and each one before it sees one less.",
)


def picture(row: Tensor) -> str:
    return " ".join("■" if cell else "·" for cell in row.tolist())


def must_be_causal(answer: Answer, queries: int, keys: int) -> None:
    """Like must_match, but shows the first wrong row as a picture."""
    seen, expected = answer(queries, keys), lower_right(queries, keys)
    for i in range(queries):
        if not torch.equal(seen[i], expected[i]):
            raise Mistake(
                f"In my_causal_mask({queries}, {keys}) row {i} is `{picture(seen[i])}`, expected "
                f"`{picture(expected[i])}` (■ = may attend).",
                likely="The last query sees all keys, the one before it all but the last.",
            )


@causal_mask.property
def it_is_a_bool_mask_of_the_right_shape(answer: Answer) -> None:
    try:
        answer(3, 5)
    except Mistake as mistake:
        likely = mistake.likely
        if "expected bool" in mistake.seen:
            likely = "This course keeps masks as bool tensors, True = may attend."
        elif "has shape" in mistake.seen:
            likely = "One row for each of the L queries, one column for each of the S keys."
        raise type(mistake)(mistake.seen, likely) from None


@causal_mask.property
def as_many_queries_as_keys(answer: Answer) -> None:
    must_be_causal(answer, 4, 4)


@causal_mask.property
def fewer_queries_than_keys(answer: Answer) -> None:
    must_be_causal(answer, 2, 5)
    must_be_causal(answer, 3, 7)


@causal_mask.property
def a_single_new_token_sees_everything(answer: Answer) -> None:
    must_be_causal(answer, 1, 6)
    must_be_causal(answer, 1, 1)


@causal_mask.draws
def two_lengths(draw: Draw) -> tuple[int, int]:
    keys = draw.size(1, 9)
    return draw.size(1, keys), keys


# 03.3 ────────────────────────────────────────────────────────────────────────────────────────────


masked_attention = Exercise(
    "03.3",
    title="Masked attention that never breaks",
    call="my_attention(q, k, v, mask)",
    returns="one value for each query, shape (…, L, Dv)",
    reference=lambda q, k, v, mask: attend(q, k, v, mask=mask),
    suspects=MASKED,
    lesson="Hidden before the softmax, zero after it: what a query may not see leaves no trace, "
    "not even a nan.",
)


def a_case(*front: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (…, 3, 4), keys (…, 5, 4), values (…, 5, 6)."""
    return numbers(*front, 3, 4), numbers(*front, 5, 4, seed=1), numbers(*front, 5, 6, seed=2)


# Every row and every column has both, so that no mistake yields nan by chance.
MIXED = torch.tensor([[1, 0, 1, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 0, 1]], dtype=torch.bool)
# Some keys are hidden from every query, some from one; no row is empty.
SOME = torch.tensor([[1, 0, 1, 1, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 0]], dtype=torch.bool)
# The second query sees nothing.
EMPTY = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0]], dtype=torch.bool)


@masked_attention.property
def there_is_one_value_for_each_query(answer: Answer) -> None:
    answer(*a_case(), MIXED)


@masked_attention.property
def nothing_hidden_is_plain_attention(answer: Answer) -> None:
    everything = torch.ones(3, 5, dtype=torch.bool)
    answer.must_match(*a_case(), everything, likely="It should be softmax(q kᵀ / √D) v, as always.")


@masked_attention.property
def a_hidden_key_has_no_influence(answer: Answer) -> None:
    q, k, v = a_case()
    seen = answer(q, k, v, SOME)
    changed = v.clone()
    changed[4] += 100.0  # no query may see the last key
    moved = (answer(q, k, changed, SOME) - seen).abs().max()
    if moved > 1e-3:
        raise Mistake(
            f"No query may see key 4, yet adding 100 to its value moved the result by {moved:.3g}.",
            likely="The weight of a hidden key must be exactly 0.",
        )


@masked_attention.property
def the_visible_keys_share_out_exactly_one(answer: Answer) -> None:
    q, k, _ = a_case()
    seen = answer(q, k, torch.ones(5, 6), SOME)
    if not close(seen, 1.0):
        raise Mistake(
            "When all values are 1, the result should be 1 as well, but row 0 is "
            f"{seen[0, 0]:.3f}.",
            likely="The visible weights have to sum to 1: hide the scores before the softmax.",
        )


@masked_attention.property
def the_numbers_are_right(answer: Answer) -> None:
    answer.must_match(*a_case(), SOME, likely="Each query has a row of the mask to itself.")


@masked_attention.property
def batches_heads_and_padding_broadcast(answer: Answer) -> None:
    answer.must_match(*a_case(2), masks.padding([5, 2], 5).dense().squeeze(1))  # (2, 1, 5)
    answer.must_match(*a_case(2, 3), masks.padding([4, 1], 5).dense())  # (2, 1, 1, 5)
    answer.must_match(*a_case(2, 3), masks.causal(3, 5).dense())  # (3, 5)


@masked_attention.property
def an_empty_row_gives_zeros(answer: Answer) -> None:
    q, k, v = a_case()
    seen = answer(q, k, v, EMPTY)
    if not close(seen[1], 0.0):
        raise Mistake(
            "Query 1 may see nothing, so its row should be zeros, but it starts with "
            f"{seen[1, 0]:.3f}.",
            likely="Set the weights of such a row to 0 after the softmax.",
        )
    answer.must_match(q, k, v, EMPTY)
    answer.must_match(
        *a_case(2), masks.padding([3, 0], 5).dense().squeeze(1)
    )  # a sequence that is all padding


@masked_attention.property
def the_gradients_are_finite_and_right(answer: Answer) -> None:
    answer.gradients_must_match(*a_case(), EMPTY)


# Three ways to break with extreme scores. In each case the mistakes of the other two do no harm, or
# have been caught, so that its words hit the right one.


@masked_attention.property
def large_scores_do_not_overflow_(answer: Answer) -> None:
    q, k, v = a_case()
    everything = torch.ones(3, 5, dtype=torch.bool)
    answer.must_survive(40 * q, 40 * k, v, everything, likely=OVERFLOWS)


@masked_attention.property
def a_hidden_key_may_score_far_above_the_others(answer: Answer) -> None:
    q, k, v = a_case()
    q, k = q.abs() + 1, k.abs()
    k[4] += 1000  # no query may see it; its scores are above 3000, all others below 5
    answer.must_survive(
        q,
        k,
        v,
        SOME,
        likely="Key 4 is hidden from every query, but has by far the highest score here, and that "
        "still counts in an `exp`, a maximum or a sum. Write −inf there before all of these.",
    )


@masked_attention.property
def the_visible_scores_may_be_very_low(answer: Answer) -> None:
    _, _, v = a_case()
    # Scores of −2000 to −1840 in steps of 40: the best visible key gets all, however one rounds.
    k = torch.tensor([2.0, 0.0, 4.0, 1.0, 3.0]).unsqueeze(-1).expand(5, 4) - 50
    answer.must_survive(
        torch.full((3, 4), 20.0),
        k,
        v,
        SOME,
        likely="All scores are near −2000 here. A finite number at the hidden places, −20 or "
        "−1000, is above that and wins. Only −inf is below every score.",
    )


@masked_attention.draws
def a_masked_case(draw: Draw) -> tuple[Tensor, ...]:
    front, queries, keys, width = draw.front(), draw.size(), draw.size(), draw.size()
    of_mask = draw.choice([[*front, queries, keys], [queries, keys], [1, keys]])
    q = draw.numbers(*front, queries, width, spread=draw.choice([1.0, 3.0, 40.0]))
    k, v = draw.numbers(*front, keys, width), draw.numbers(*front, keys, draw.size())
    return q, k, v, draw.mask(*of_mask, share=draw.choice([0.3, 0.6, 0.9]))


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
def large_scores_do_not_overflow__(answer: Answer) -> None:
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
    """Who looks at whom with these projections: (n, n)."""
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
            _turn(int(ahead[0]), n),
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


def _turn(ahead: int, n: int) -> str:
    if ahead == 0:
        return "Its query points where its key does. Turn one of them."
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


# 03.6, in the GPU notebook ───────────────────────────────────────────────────────────────────────


def by_blocks(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return torch.cat([attend(part, k, v) for part in q.split(block, -2)], dim=-2)


blocks_of_queries = Exercise(
    "03.6",
    title="Attention in blocks of queries",
    call="in_blocks(q, k, v, block)",
    returns="one value for each query, shape (…, L, Dv)",
    reference=by_blocks,
    suspects=BLOCKS,
    lesson="A row of the softmax needs all keys, but no other row: the table need never be whole.",
)


def queries_and_keys(*front: int, queries: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (…, queries, 4), keys (…, 9, 4), values (…, 9, 6)."""
    return (
        numbers(*front, queries, 4),
        numbers(*front, 9, 4, seed=1),
        numbers(*front, 9, 6, seed=2),
    )


@blocks_of_queries.property
def each_query_gets_its_value(answer: Answer) -> None:
    answer.must_match(
        *queries_and_keys(queries=6),
        2,
        likely="It should be softmax(q kᵀ / √D) v, with every key, for two queries at a time.",
    )


@blocks_of_queries.property
def the_last_block_may_be_shorter(answer: Answer) -> None:
    for block in (3, 10):  # 3 + 3 + 1, and all in one
        answer.must_match(*queries_and_keys(queries=7), block)


@blocks_of_queries.property
def heads_and_a_batch_may_stand_in_front(answer: Answer) -> None:
    answer.must_match(*queries_and_keys(3, queries=5), 2)
    answer.must_match(*queries_and_keys(2, 3, queries=5), 2)


@blocks_of_queries.property
def the_table_is_never_whole(answer: Answer) -> None:
    queries, keys, block = 48, 40, 4  # far more than the 2 numbers of a query, a key, a value
    q, k, v = numbers(queries, 2), numbers(keys, 2, seed=1), numbers(keys, 2, seed=2)
    with Largest() as largest:  # the reference runs in it as well, in blocks
        answer(q, k, v, block)
    size = math.prod(largest.shape)
    if size > block * keys:
        raise Mistake(
            f"With {queries} queries, {keys} keys and block = {block}, the largest tensor on the "
            f"way has shape {tuple(largest.shape)}, {size} numbers; {block} rows of the table are "
            f"{block * keys}.",
            likely=too_large(tuple(largest.shape), queries, keys, block),
        )
    if largest.fused > block:
        raise Mistake(
            f"With block = {block}, `scaled_dot_product_attention` got {largest.fused} queries at "
            "once.",
            likely="The numbers are right, and the kernel makes blocks of its own. Here you are to "
            "make them: hand over `block` queries at a time.",
        )


def too_large(shape: tuple[int, ...], queries: int, keys: int, block: int) -> str:
    """Why a tensor of this shape is larger than `block` rows of the table."""
    if math.prod(shape) >= queries * keys:
        return "The numbers are right, but this is the whole table."
    others = list(shape)
    if keys in others:
        others.remove(keys)
        if max(others) == math.ceil(queries / block):
            return (
                "The numbers are right, but there are `block` parts. "
                "`chunk(n)` makes n parts; `split(n)` makes parts of n rows."
            )
        if max(others) > block:  # along the queries: no other axis is longer than a block
            return "The numbers are right, but the blocks are larger than `block`."
    return (
        "The numbers are right, but the scores of a block, `q @ k.mT`, need no tensor larger than "
        "block × S."
    )


@blocks_of_queries.draws
def a_case_for_blocks(draw: Draw) -> tuple[Tensor, Tensor, Tensor, int]:
    front, keys, width = draw.front(), draw.size(), draw.size()
    return (
        draw.numbers(*front, draw.size(1, 8), width, spread=draw.choice([1.0, 30.0])),
        draw.numbers(*front, keys, width),
        draw.numbers(*front, keys, draw.size()),
        draw.size(1, 9),
    )


# 03.7 ────────────────────────────────────────────────────────────────────────────────────────────

find_the_leak = Exercise(
    "03.7",
    title="Find the bug",
    call="centred_attention(x)",
    returns="one output for each token, shape (…, L, D)",
    reference=lambda x: causal_alone(centred(x)),
    suspects=CENTRED,
    lesson="A mask guards the attention alone. Whatever else mixes tokens, a mean, a maximum, a "
    "sort, can leak just as well: test the whole layer.",
)


@find_the_leak.property
def there_is_one_output_for_each_token(answer: Answer) -> None:
    answer(numbers(5, 4))


@find_the_leak.property
def another_future_leaves_the_past_alone(answer: Answer) -> None:
    x = numbers(5, 4)
    other = x.clone()
    other[-1] = torch.tensor([3.0, -1.0, 2.0, 5.0])
    moved = (answer(other) - answer(x))[:-1].abs().max()
    if moved > 1e-5:
        raise Mistake(
            f"With another last token, the outputs before it moved by up to {moved:.2f}.",
            likely="The mask is not the only line through which tokens meet. Which other line "
            "mixes numbers of several tokens?",
        )


@find_the_leak.property
def each_vector_loses_its_own_mean(answer: Answer) -> None:
    answer.must_match(numbers(5, 4), likely="Centre each vector, then compare, hide and mix.")
    answer.must_match(numbers(3, 7, seed=1))


@find_the_leak.property
def a_batch_may_come_first_(answer: Answer) -> None:
    answer.must_match(numbers(2, 5, 4))
    answer.must_match(numbers(2, 3, 5, 4))


@find_the_leak.property
def large_scores_do_not_overflow___(answer: Answer) -> None:
    answer.must_survive(numbers(5, 4, spread=40), likely=OVERFLOWS)


@find_the_leak.draws
def some_tokens(draw: Draw) -> tuple[Tensor]:
    spread = draw.choice([1.0, 3.0, 40.0])
    return (draw.numbers(*draw.front(), draw.size(2, 7), draw.size(2, 7), spread=spread),)


# 03.8 ────────────────────────────────────────────────────────────────────────────────────────────

CHANGES = {
    "W_q doubled": "All scores double, as at half the temperature: the weights become sharper.",
    "W_v doubled": "Values are compared with nothing: the output doubles, the weights stay.",
    "W_q doubled, W_k halved": "The two factors cancel in every product q·k.",
    "W_q and W_k swapped": "The table of scores is transposed: the one who is asked now asks.",
    "the same vector added to every key": "It adds q·c to all scores of a row: the same number for "
    "each key, and the softmax cancels it.",
    "the same vector added to every query": "It adds c·k to a score, another number for each key.",
    "queries and keys turned by the same rotation": "A rotation keeps every dot product.",
}

prediction = Exercise(
    "03.8",
    title="Predict, then run",
    call="weights_stay(change)",
    returns="True or False",
    lesson="The weights depend on W_q W_kᵀ alone, and in each row on differences of scores. So a "
    "bias of the keys does nothing, and a bias of the queries does.",
)


def stays(change: str) -> bool:
    """Run it, on tokens and matrices drawn at random."""
    x, w_q, w_k = numbers(5, 4), numbers(4, 3, seed=1), numbers(4, 3, seed=2)
    more = numbers(3, seed=3)
    turn = torch.linalg.qr(numbers(3, 3, seed=4)).Q
    q, k = x @ w_q, x @ w_k
    new_q, new_k = {
        "W_q doubled": lambda: (2 * q, k),
        "W_v doubled": lambda: (q, k),
        "W_q doubled, W_k halved": lambda: (2 * q, k / 2),
        "W_q and W_k swapped": lambda: (k, q),
        "the same vector added to every key": lambda: (q, k + more),
        "the same vector added to every query": lambda: (q + more, k),
        "queries and keys turned by the same rotation": lambda: (q @ turn, k @ turn),
    }[change]()
    return close(weights(new_q, new_k), weights(q, k))


@prediction.property
def it_says_yes_or_no_for_each_change(answer: Answer) -> None:
    for change in CHANGES:
        said = answer(change)
        if not isinstance(said, bool):
            raise Mistake(
                f'`weights_stay("{change}")` returned {a_kind_of(said)}, expected True or False.',
                likely="Fill in a prediction for every change.",
            )


@prediction.property
def the_predictions_come_true(answer: Answer) -> None:
    for change, why in CHANGES.items():
        said, seen = answer(change), stays(change)
        if said != seen:
            happened = "stayed the same" if seen else "changed"
            raise Mistake(
                f"With {change}, you predicted {said}, but the weights {happened}.", likely=why
            )
