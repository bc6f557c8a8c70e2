"""Chapter 4, multi-head attention: what its seven exercises must satisfy.

Sizes are unequal everywhere (batch ≠ tokens ≠ heads ≠ head width), so that a wrong order of axes
cannot pass unseen.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnlab.checks.answer import OVERFLOWS, Answer, look_at_tensor, look_for_nan
from attnlab.checks.ch04_suspects import (
    KNOCK,
    MULTI,
    PREVIOUS,
    SHARE,
    SPLIT,
    multi_head,
    previous,
    without,
)
from attnlab.checks.compare import a_kind_of, close, is_number, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.plain import ch04 as plain
from attnlab.checks.watching import Products
from attnlab.layers.heads import MultiHead, split
from attnlab.record import record

# 04.1 ────────────────────────────────────────────────────────────────────────────────────────────

split_by_hand = Exercise(
    "04.1",
    title="Find the bug",
    call="my_split(x, heads)",
    returns="shape (…, heads, L, D) with D = E / heads",
    reference=split,
    suspects=SPLIT,
    lesson="A head is a block of D neighbouring columns, for all tokens.",
)


@split_by_hand.property
def the_heads_come_before_the_tokens(answer: Answer) -> None:
    answer(numbers(2, 5, 12), 4)


@split_by_hand.property
def every_head_gets_its_block_of_columns(answer: Answer) -> None:
    x = torch.arange(5 * 12.0).reshape(1, 5, 12)
    seen = answer(x, 4)
    if not close(seen[0, 1, 0], torch.tensor([3.0, 4.0, 5.0])):
        raise Mistake(
            "Token 0 was the numbers 0 to 11. With 4 heads, head 1 should get 3, 4, 5 of it, but "
            f"got {', '.join(f'{value:.0f}' for value in seen[0, 1, 0].tolist())}.",
            likely="Cut the last axis into (heads, D), then move the heads to the front.",
        )
    answer.must_match(numbers(2, 5, 12), 4)


@split_by_hand.property
def any_number_of_leading_axes(answer: Answer) -> None:
    answer.must_match(numbers(5, 6), 2)
    answer.must_match(numbers(3, 2, 4, 10), 5)


@split_by_hand.property
def one_head_is_the_whole_width(answer: Answer) -> None:
    answer.must_match(numbers(2, 5, 6), 1)


@split_by_hand.draws
def tokens_and_heads(draw: Draw) -> tuple[Tensor, int]:
    heads = draw.size()
    return draw.numbers(*draw.front(), draw.size(), heads * draw.size()), heads


# 04.2 ────────────────────────────────────────────────────────────────────────────────────────────

multi_head_by_hand = Exercise(
    "04.2",
    title="Build the sum over heads",
    call="my_multi_head(x, w_q, w_k, w_v, w_o, heads)",
    returns="shape (…, L, E)",
    reference=multi_head,
    suspects=MULTI,
    lesson="Side by side and then one matrix, or block by block and then a sum: the same numbers.",
)


def given(*lead: int, width: int, heads: int) -> tuple[Tensor | int, ...]:
    matrices = (numbers(width, width, seed=i, spread=width**-0.5) for i in range(1, 5))
    return numbers(*lead, width, spread=2), *matrices, heads


@multi_head_by_hand.property
def the_shape_stays(answer: Answer) -> None:
    answer(*given(2, 5, width=12, heads=3))


@multi_head_by_hand.property
def with_one_head_it_is_chapter_3(answer: Answer) -> None:
    answer.must_match(*given(2, 5, width=6, heads=1))


@multi_head_by_hand.property
def the_numbers_are_those_of_the_formula(answer: Answer) -> None:
    answer.must_match(*given(2, 5, width=12, heads=3))
    answer.must_match(*given(3, 4, width=10, heads=5))


@multi_head_by_hand.property
def without_a_batch(answer: Answer) -> None:
    answer.must_match(*given(5, width=8, heads=2))


@multi_head_by_hand.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    x, w_q, *others = given(3, width=6, heads=2)
    answer.must_survive(x, 1000 * w_q, *others, likely=OVERFLOWS)


@multi_head_by_hand.draws
def tokens_matrices_and_heads(draw: Draw) -> tuple[Tensor | int, ...]:
    heads = draw.size(1, 4)
    width = heads * draw.size(1, 4)
    matrices = (draw.numbers(width, width, spread=width**-0.5) for _ in range(4))
    spread = draw.choice([1.0, 3.0, 100.0])
    return draw.numbers(*draw.front(), draw.size(), width, spread=spread), *matrices, heads


# 04.3 ────────────────────────────────────────────────────────────────────────────────────────────

previous_by_hand = Exercise(
    "04.3",
    title="Find the previous-token head",
    call="previous_token_score(attention)",
    returns="one score a head, shape (…)",
    reference=previous,
    suspects=PREVIOUS,
    lesson="The diagonal below the main one, averaged over the L − 1 tokens that have a previous.",
)


def maps(*shape: int, seed: int = 0) -> Tensor:
    return numbers(*shape, shape[-1], seed=seed, spread=2).softmax(-1)


@previous_by_hand.property
def a_head_that_looks_back_scores_high(answer: Answer) -> None:
    # Token i gives 0.8 to i − 1 (token 0 to the last one) and 0.2 to itself; then to i + 1.
    back, ahead = (0.8 * torch.eye(5).roll(by, 1) + 0.2 * torch.eye(5) for by in (-1, 1))
    seen = answer(torch.stack([back, ahead]))
    if not close(seen, torch.tensor([0.8, 0.0])):
        raise Mistake(
            "In one head every token gives 0.8 to the token before it, in another to the one "
            f"after it. The scores are {unlike(seen[0], 0.8, 2)} and {unlike(seen[1], 0, 2)}, "
            "expected 0.80 and 0.00.",
            likely="Row i is a query. Its previous token is column i − 1.",
        )


@previous_by_hand.property
def the_mean_of_the_right_weights(answer: Answer) -> None:
    answer.must_match(maps(6))


@previous_by_hand.property
def one_score_for_every_layer_and_head(answer: Answer) -> None:
    answer.must_match(maps(3, 6))
    answer.must_match(maps(2, 3, 5, seed=1))


@previous_by_hand.draws
def maps_of_heads(draw: Draw) -> tuple[Tensor]:
    length = draw.size(2, 8)
    scores = draw.numbers(*draw.front(), length, length, spread=2)
    if draw.chance(0.4):
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
    return (scores.softmax(-1),)


# 04.4 ────────────────────────────────────────────────────────────────────────────────────────────

knock_by_hand = Exercise(
    "04.4",
    title="Knock a head out",
    call="my_knock_out(merged, heads, gone)",
    returns="the same shape, (…, L, E)",
    reference=without,
    suspects=KNOCK,
    lesson="Zeros in its block before W^O: the head is silent, everything else as before.",
)


@knock_by_hand.property
def the_shape_stays_as_it_is(answer: Answer) -> None:
    answer(numbers(2, 9, 12), 4, [1])  # 9 // 4 is neither one column nor a head


@knock_by_hand.property
def the_block_is_empty_and_the_rest_untouched(answer: Answer) -> None:
    answer.must_match(numbers(2, 9, 12), 4, [1])
    answer.must_match(numbers(2, 5, 12, seed=1), 3, [2])


@knock_by_hand.property
def several_heads_or_none(answer: Answer) -> None:
    answer.must_match(numbers(2, 5, 12), 4, [3, 0])
    answer.must_match(numbers(3, 7, 10), 5, [])


@knock_by_hand.property
def any_leading_axes(answer: Answer) -> None:
    answer.must_match(numbers(4, 6), 2, [1])


@knock_by_hand.draws
def merged_heads(draw: Draw) -> tuple[Tensor, int, list[int]]:
    heads = draw.size(1, 5)
    gone = draw.dice.sample(range(heads), draw.dice.randint(0, heads))
    return draw.numbers(*draw.front(), draw.size(), heads * draw.size()), heads, gone


# 04.5 ────────────────────────────────────────────────────────────────────────────────────────────

arrows = Exercise(
    "04.5",
    title="Room for one more feature",
    call="arrows(n)",
    returns="unit arrows as columns, shape (2, n)",
    lesson="A regular polygon: every neighbour is 2π/n away. The toy model found it by itself.",
)


def look(answer: Answer, n: int) -> Tensor:
    seen = answer(n)
    wanted = f"expected n = {n} unit arrows as columns, shape (2, {n})"
    if isinstance(seen, Tensor) and seen.dtype == torch.float64:
        seen = seen.float()
    look_at_tensor(seen, (2, n), torch.float32, given=f"n = {n}", wanted=wanted, name=answer.name)
    look_for_nan(seen, f"n = {n}")
    return seen.detach()


@arrows.property
def there_are_n_arrows_in_a_plane(answer: Answer) -> None:
    look(answer, 5)


@arrows.property
def every_arrow_has_length_one(answer: Answer) -> None:
    for n in (3, 5, 8):
        lengths = look(answer, n).norm(dim=0)
        if not bool(((lengths - 1).abs() < 1e-3).all()):
            worst = lengths[(lengths - 1).abs().argmax()]
            raise Mistake(
                f"With n = {n} one arrow has length {unlike(worst, 1, 2)}, not 1.",
                likely="Divide each column by its norm, or use (cos, sin) of an angle.",
            )


@arrows.property
def no_two_arrows_are_closer_than_need_be(answer: Answer) -> None:
    for n in (3, 5, 8):
        w = look(answer, n)
        cosine = w.mT @ w - 2 * torch.eye(n)
        worst, best = float(cosine.max()), math.cos(2 * math.pi / n)
        if worst <= best + 1e-3:
            continue
        i, j = divmod(int(cosine.argmax()), n)
        words = "Share the full circle out evenly: n arrows, n equal gaps."
        gaps = gaps_between(w)
        if in_degrees(w):
            words = "Angles are in radians: 2π is once round, not 360."
        elif worst > 0.9999:
            words = "Two arrows are the same: does your circle count 0 and 2π as two angles?"
        elif float(gaps.max()) > math.pi - 1e-2:
            words = (
                "Half of the plane is empty. Opposite arrows have cosine −1, which a ReLU turns "
                "into 0: use the full circle."
            )
        raise Mistake(
            f"With n = {n}, arrows {i} and {j} have cosine {worst:.3f}; {best:.3f} is possible.",
            likely=words,
        )


def in_degrees(w: Tensor) -> bool:
    """Are the arrows evenly spaced, had their angles not been taken for radians?"""
    steps = torch.arange(float(w.shape[1]))
    apart = steps[:, None] - steps
    return any(close(w.mT @ w, (apart * 360 / n).cos()) for n in (len(steps), len(steps) - 1))


def gaps_between(w: Tensor) -> Tensor:
    """The angles between neighbours, all the way round: (n,)."""
    angles = torch.atan2(w[1], w[0]).sort().values
    return torch.diff(angles, append=angles[:1] + 2 * math.pi)


# 04.6 ────────────────────────────────────────────────────────────────────────────────────────────

SAME = "The four matrices are (E, E), whatever the number of heads."
REASONS = {
    "parameters": SAME,
    "products": "Twice the tables, but each entry is a sum of half as many products.",
    "weights": "Each head has a whole table of its own, L × L.",
    "head width": "The heads share the width: D = E / H.",
}

prediction = Exercise(
    "04.6",
    title="Predict, then run",
    call="times(what)",
    returns="a number",
    lesson="More heads: the same parameters and products, more tables, narrower heads.",
)


def counted(heads: int) -> dict[str, float]:
    """Build a layer, run it, and count."""
    width, length = 16, 6
    layer = MultiHead(width, heads, bias=False)
    with record(layer) as maps, Products() as products:
        layer(numbers(1, length, width))
    return {
        "parameters": sum(p.numel() for p in layer.parameters()),
        "products": products.total,
        "weights": sum(int(t.numel()) for t in maps.values() if isinstance(t, Tensor)),
        "head width": width // heads,
    }


@prediction.property
def it_says_a_number_for_each(answer: Answer) -> None:
    for what in REASONS:
        said = answer(what)
        if not is_number(said):
            raise Mistake(
                f'`times("{what}")` returned {a_kind_of(said)}, expected a number.',
                likely="Fill in a prediction for each of the four.",
            )


@prediction.property
def the_predictions_come_true(answer: Answer) -> None:
    few, many = counted(2), counted(4)
    for what, reason in REASONS.items():
        said, seen = float(answer(what)), many[what] / few[what]
        if not abs(said - seen) < 1e-6:
            raise Mistake(
                f'`times("{what}")` returned a number, {said:g}, but from 2 to 4 heads it went '
                f"from {few[what]:g} to {many[what]:g}: × {seen:g}.",
                likely=reason,
            )


# 04.7, in the GPU notebook ───────────────────────────────────────────────────────────────────────

share = Exercise(
    "04.7",
    title="Predict the clerk",
    call="my_share(heads, wishes, shelves)",
    returns="one number",
    reference=plain.my_share,
    suspects=SHARE,
    lesson="One wish for each head, luck for the rest: now see whether training agrees.",
)


def _share(answer: Answer, heads: int, wishes: int, shelves: int) -> float:
    seen = answer(heads, wishes, shelves)
    if isinstance(seen, Tensor) and seen.ndim:
        raise Mistake(f"`my_share` returned {a_kind_of(seen)}, expected one number.")
    return float(seen)


@share.property
def one_head_for_each_wish_serves_everybody(answer: Answer) -> None:
    seen = _share(answer, 4, 4, 5)
    if abs(seen - 1) > 1e-6:
        raise Mistake(
            f"With 4 heads for 4 wishes every film is right: share 1, not {unlike(seen, 1)}.",
            likely="Served wishes are right, whatever the number of shelves.",
        )


@share.property
def heads_without_a_wish_change_nothing(answer: Answer) -> None:
    seen = _share(answer, 9, 4, 5)
    if abs(seen - 1) > 1e-6:
        raise Mistake(
            f"With 9 heads for 4 wishes the share is 1, not {unlike(seen, 1)}.",
            likely="No more wishes can be served than there are: min(heads, wishes).",
        )


@share.property
def one_head_for_two_wishes(answer: Answer) -> None:
    seen = _share(answer, 1, 2, 4)
    if abs(seen - 0.625) > 1e-6:
        raise Mistake(
            "One head, two wishes, four shelves: one film is right for certain, the other 1 time "
            f"in 4, so 1.25 of 2 films, a share of 0.625, not {unlike(seen, 0.625)}."
        )


@share.property
def the_numbers_are_those_of_the_reasoning(answer: Answer) -> None:
    answer.must_match(2, 5, 3)
    answer.must_match(3, 7, 2)


@share.draws
def a_shop(draw: Draw) -> tuple[int, int, int]:
    return draw.size(1, 9), draw.size(1, 9), draw.size(2, 9)
