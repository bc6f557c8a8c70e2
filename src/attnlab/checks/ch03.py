"""Chapter 3, self-attention: what its exercises about weights and masks must satisfy.

The others are in ch03_cross.py and ch03_inside.py. Sizes are unequal everywhere (L ≠ S, D ≠ Dv), so
that a transposition cannot pass unseen.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab import masks
from attnlab.attention import weights
from attnlab.checks import ch03_cross, ch03_inside  # noqa: F401  (their exercises)
from attnlab.checks.answer import OVERFLOWS, Answer
from attnlab.checks.ch03_suspects import CAUSAL, MASKED, WEIGHTS, attend, lower_right
from attnlab.checks.compare import close, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
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
            f"The three rows sum to {', '.join(unlike(s, 1, 2) for s in sums)}, not to 1.",
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
            "When all values are 1, the result should be 1 as well, but there is "
            f"{unlike(seen, 1)}.",
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
            "Query 1 may see nothing, so its row should be zeros, but there is "
            f"{unlike(seen[1], 0)}.",
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
