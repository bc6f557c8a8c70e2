"""Chapter 5, positional encoding: what its eight exercises must satisfy."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.attention import weights
from attnlab.checks.answer import Answer, two_matrices
from attnlab.checks.ch05_suspects import (
    ALIBI,
    BASES,
    CACHED,
    ROPE,
    SHIFT,
    SINUSOIDS,
    alibi,
    cached,
    rope,
    shift,
)
from attnlab.checks.compare import a_kind_of, apart, close, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.predictions import come_true, true_or_false
from attnlab.layers.positions import sinusoidal, stretched_base
from attnlab.layers.relative import T5Bias

# 05.1 ────────────────────────────────────────────────────────────────────────────────────────────

sinusoids = Exercise(
    "05.1",
    title="Sinusoids by hand",
    call="my_sinusoids(length, width)",
    returns="a table of shape (length, width)",
    reference=sinusoidal,
    suspects=SINUSOIDS,
    lesson="A position is E/2 hands of clocks, from a fast one to a very slow one.",
)


@sinusoids.property
def there_is_one_row_for_each_place(answer: Answer) -> None:
    answer(5, 8)


@sinusoids.property
def at_place_0_all_sines_are_0_and_all_cosines_1(answer: Answer) -> None:
    first = answer(5, 8)[0]
    if not close(first, torch.tensor([0.0, 1.0] * 4)):
        row = ", ".join(unlike(x, i % 2, 2) for i, x in enumerate(first))
        raise Mistake(f"The row of position 0 is ({row}), expected (0, 1, 0, 1, 0, 1, 0, 1).")


@sinusoids.property
def the_first_pair_turns_by_one_radian_a_place(answer: Answer) -> None:
    place = torch.arange(7.0)
    expected = torch.stack([place.sin(), place.cos()], dim=-1)
    if not close(answer(7, 6)[:, :2], expected):
        raise Mistake(
            "The first two columns are not sin(p) and cos(p).",
            likely="Pair 0 has exponent 0, and 10000⁰ is 1.",
        )


@sinusoids.property
def the_numbers_are_those_of_the_formula(answer: Answer) -> None:
    answer.must_match(5, 8, likely="Pair i has the angle p / 10000^(2i/E).")
    answer.must_match(40, 6)


@sinusoids.draws
def a_length_and_a_width(draw: Draw) -> tuple[int, int]:
    return draw.size(1, 50), 2 * draw.size(1, 9)


# 05.2 ────────────────────────────────────────────────────────────────────────────────────────────

shifting = Exercise(
    "05.2",
    title="A shift is a rotation",
    call="shift_matrix(k, width)",
    returns="a matrix of shape (width, width)",
    reference=shift,
    suspects=SHIFT,
    lesson="One matrix moves every position by k. A linear layer could learn it.",
)


@shifting.property
def it_is_a_square_matrix(answer: Answer) -> None:
    answer(3, 8)


@shifting.property
def no_shift_changes_nothing(answer: Answer) -> None:
    if not torch.allclose(answer(0, 6).double(), torch.eye(6).double(), atol=1e-3):
        raise Mistake(
            "`shift_matrix(0, 6)` is not the identity.",
            likely="cos 0 = 1 belongs on the diagonal, sin 0 = 0 beside it.",
        )


@shifting.property
def it_moves_every_place_by_k(answer: Answer) -> None:
    for k, width in ((1, 4), (3, 8), (-2, 6), (7, 8)):
        moved = sinusoidal(12, width).double() @ answer(k, width).double().T
        expected = sinusoidal(12, width, offset=k).double()
        gap = (moved - expected).abs().amax(-1)
        if bool((gap > 1e-3).any()):
            place = int((gap > 1e-3).nonzero()[0])
            raise Mistake(
                f"With k = {k} and width {width}, M · PE({place}) is not PE({place + k}): off by "
                f"{gap[place]:.2g}.",
                likely="Each pair (sin, cos) has a 2 × 2 block on the diagonal, with the angle "
                "k · ω.",
            )


@shifting.property
def it_is_a_rotation(answer: Answer) -> None:
    m = answer(5, 8).double()
    if not torch.allclose(m @ m.T, torch.eye(8).double(), atol=1e-2):
        raise Mistake(
            "M Mᵀ is not the identity, so M is no rotation: it changes lengths.",
            likely="Outside the 2 × 2 blocks everything is 0.",
        )


def a_shift_and_a_width(draw: Draw) -> tuple[int, int]:
    return draw.dice.randint(-9, 9), 2 * draw.size(1, 6)


shifting.drawing = a_shift_and_a_width  # for the tests; the properties allow for a fitted matrix


# 05.3 ────────────────────────────────────────────────────────────────────────────────────────────

rotary = Exercise(
    "05.3",
    title="Rotary positions",
    call="my_rope(x, offset)",
    returns="the turned x, with the shape of x",
    reference=rope,
    suspects=ROPE,
    lesson="Absolute positions went in, and dot products see their distance only.",
)


@rotary.property
def the_shape_stays(answer: Answer) -> None:
    answer(numbers(5, 8), 0)


@rotary.property
def a_turn_keeps_lengths(answer: Answer) -> None:
    x = numbers(5, 8)
    before, after = x.norm(dim=-1), answer(x, 3).norm(dim=-1)
    if not close(after, before):
        token = int((after - before).abs().argmax())
        now, once = apart(after[token], before[token], 2)
        raise Mistake(
            f"Token {token} had length {once} and now has {now}.",
            likely="(a, b) becomes (a cos − b sin, a sin + b cos).",
        )


@rotary.property
def place_0_is_not_turned(answer: Answer) -> None:
    x = numbers(5, 8)
    if not close(answer(x, 0)[0], x[0]):
        raise Mistake("With offset 0 the first token stands at position 0, yet it has changed.")


@rotary.property
def each_pair_turns_at_its_own_speed(answer: Answer) -> None:
    answer.must_match(
        numbers(5, 8), 0, likely="Pair i at position p is turned by p / 10000^(2i/D)."
    )
    answer.must_match(numbers(7, 4, seed=1), 0)


@rotary.property
def the_first_token_stands_at_offset(answer: Answer) -> None:
    answer.must_match(numbers(3, 6), 10, likely="Positions are offset, offset + 1, …")
    answer.must_match(numbers(2, 4), 600, likely="A position may be far out: there is no last one.")


@rotary.property
def scores_depend_on_the_distance_only(answer: Answer) -> None:
    q, k = numbers(1, 6), numbers(1, 6, seed=1)
    near = (answer(q, 2) * answer(k, 7)).sum()
    far = (answer(q, 102) * answer(k, 107)).sum()
    if abs(near - far) > 1e-2:
        raise Mistake(
            f"The score of positions 2 and 7 is {near:.3f}, that of 102 and 107 {far:.3f}: the "
            "distance is the same."
        )


@rotary.property
def a_batch_and_heads_may_come_first(answer: Answer) -> None:
    answer.must_match(numbers(2, 3, 5, 4), 1)


@rotary.draws
def tokens_and_an_offset(draw: Draw) -> tuple[Tensor, int]:
    """Up to position 50: further out, an angle in float32 depends on how it was computed."""
    length = draw.choice([draw.size(1, 7), 30])
    x = draw.numbers(*draw.front(), length, 2 * draw.size(1, 5))
    return x, draw.choice([0, draw.size(0, 20)])


# 05.4 ────────────────────────────────────────────────────────────────────────────────────────────

linear = Exercise(
    "05.4",
    title="ALiBi",
    call="my_alibi(slopes, L, S)",
    returns="a bias of shape (H, L, S)",
    reference=alibi,
    suspects=ALIBI,
    lesson="No parameter, no table, no longest length: just a slope.",
)

SLOPES = torch.tensor([0.5, 0.25])


@linear.property
def there_is_one_bias_for_each_head_query_and_key(answer: Answer) -> None:
    answer(SLOPES, 4, 4)


@linear.property
def a_token_is_at_distance_0_from_itself(answer: Answer) -> None:
    own = answer(SLOPES, 4, 4).diagonal(dim1=-2, dim2=-1)
    if not close(own, 0.0):
        raise Mistake(f"A token's bias towards itself is {own.abs().max():.2g}, expected 0.")


@linear.property
def as_many_queries_as_keys(answer: Answer) -> None:
    answer.must_match(
        SLOPES, 4, 4, likely="−slope · |position of the key − position of the query|."
    )


@linear.property
def fewer_queries_than_keys(answer: Answer) -> None:
    answer.must_match(torch.tensor([0.5, 0.1, 0.2]), 2, 5)


@linear.property
def a_single_new_token(answer: Answer) -> None:
    answer.must_match(SLOPES, 1, 6)


@linear.draws
def slopes_and_lengths(draw: Draw) -> tuple[Tensor, int, int]:
    keys = draw.size(1, 30)
    return draw.numbers(draw.size()).abs(), draw.size(1, keys), keys


# 05.5 ────────────────────────────────────────────────────────────────────────────────────────────

ENOUGH, LENGTH = 0.9, 60

ruler = Exercise(
    "05.5",
    title="A head that counts back",
    call="count_back(k, width)",
    returns="two matrices w_q and w_k of shape (width, D)",
    lesson="These weights never saw a text, and work at any position. Sinusoids can extrapolate: "
    "what fails is what training on short texts finds.",
)


def matrices(answer: Answer, k: int, width: int) -> tuple[Tensor, Tensor]:
    return two_matrices(
        answer(k, width),
        f"count_back({k}, {width})",
        width,
        given=f"k = {k}, width = {width}",
        likely="A position is a row of `width` numbers, and its query is `pe @ w_q`.",
    )


def must_count_back(answer: Answer, k: int, width: int, first: int = 0) -> None:
    w_q, w_k = matrices(answer, k, width)
    places = sinusoidal(LENGTH, width, offset=first)
    table = weights(places @ w_q, places @ w_k)
    if not bool(table.isfinite().all()):
        raise Mistake("The weights are nan: the numbers are so large that the scores overflow.")
    if bool((table.amax(-1) < 1 / LENGTH + 1e-3).all()):
        raise Mistake(
            "Every position spreads its attention evenly.",
            likely="All scores are nearly the same: are the matrices still zero?",
        )
    here = torch.arange(k, LENGTH)
    found = here - table[k:].argmax(-1)  # how far each one looks back
    where = f"With k = {k}, width = {width}" + (f" and positions from {first}" if first else "")
    if not bool((found == k).all()):
        odd = int((found != k).nonzero()[0])
        seen, seen_later = int(found[odd]), int(found[-1])
        likely = "The query of position p should be the key of position p − k, made longer."
        if bool((found == 0).all()):
            likely = "Its query points where its key does: turn one of them by k positions."
        elif bool((found == -k).any()):
            likely = "It looks ahead: the turn goes the wrong way. Transpose the matrix."
        elif bool((found[10:] == seen_later).all()):
            likely = f"All look {seen_later} back. Does your turn depend on k?"
        raise Mistake(
            f"{where}, position {first + k + odd} looks mostly at the position {seen} back, "
            f"expected {k} back.",
            likely,
        )
    least = float(table[here, here - k].min())
    if least < ENOUGH:
        raise Mistake(
            f"{where}, the direction is right, but only {least:.2f} of the attention goes there, "
            f"expected {ENOUGH}.",
            likely="Multiply w_q by a larger number: the neighbours score almost as high.",
        )


@ruler.property
def two_matrices_come_back(answer: Answer) -> None:
    matrices(answer, 3, 32)


@ruler.property
def it_looks_three_back(answer: Answer) -> None:
    must_count_back(answer, 3, 32)


@ruler.property
def it_looks_any_number_back(answer: Answer) -> None:
    for k, width in ((1, 32), (5, 64), (2, 32), (4, 64), (7, 64)):
        must_count_back(answer, k, width)


@ruler.property
def it_works_far_away_as_well(answer: Answer) -> None:
    must_count_back(answer, 3, 32, first=5000)


# 05.6 ────────────────────────────────────────────────────────────────────────────────────────────

newest = Exercise(
    "05.6",
    title="Find the bug",
    call="rope_scores(q, k)",
    returns="scores of shape (L, S)",
    reference=cached,
    suspects=CACHED,
    lesson="With the whole text at once the offset is 0, so no test of whole texts can find this.",
)


@newest.property
def there_is_one_score_for_each_query_and_key(answer: Answer) -> None:
    answer(numbers(2, 8), numbers(5, 8, seed=1))


@newest.property
def a_whole_text_at_once(answer: Answer) -> None:
    answer.must_match(numbers(5, 8), numbers(5, 8, seed=1))


@newest.property
def a_single_new_token_against_a_cache(answer: Answer) -> None:
    answer.must_match(
        numbers(1, 8),
        numbers(6, 8, seed=1),
        likely="With 6 keys, the only query stands at position 5.",
    )


@newest.property
def token_by_token_is_the_whole_text(answer: Answer) -> None:
    q, k = numbers(7, 4), numbers(7, 4, seed=1)
    whole = answer(q, k)
    for last in range(1, 8):
        row = answer(q[last - 1 : last], k[:last])[0]
        if not close(row, whole[last - 1, :last]):
            raise Mistake(
                f"Token {last - 1} alone, against {last} keys, has other scores than in the whole "
                "text.",
                likely="Its query stands at the last position, its keys from position 0 on.",
            )


@newest.draws
def newest_queries_and_all_keys(draw: Draw) -> tuple[Tensor, Tensor]:
    keys, width = draw.size(1, 12), 2 * draw.size(1, 5)
    return draw.numbers(draw.size(1, keys), width), draw.numbers(keys, width)


# 05.7 ────────────────────────────────────────────────────────────────────────────────────────────

WHY = {
    "sinusoidal": "Positions are added before W_q and W_k. Expand the score: words meet positions "
    "in two of its four terms, and W_q W_kᵀ stands between the two positions.",
    "learned": "Every position has a row of its own, and row 28 has nothing to do with row 8.",
    "Shaw": "The added vector depends on j − i alone.",
    "T5": "The bucket depends on j − i alone.",
    "ALiBi": "The bias depends on |j − i| alone.",
    "RoPE": "Turning back by i and forward by j is turning by j − i.",
}

prediction = Exercise(
    "05.7",
    title="Predict, then run",
    call="moves_with_you(kind)",
    returns="True or False",
    lesson="Relative is what enters after the projections: a bias on the scores, or a turn of "
    "queries and keys.",
)


def stays(kind: str) -> bool:
    """Run it: a pair at positions 3 and 8, then at 23 and 28, with random words and weights."""
    width, places = 8, 40
    x, w_q, w_k = numbers(2, width), numbers(width, width, seed=1), numbers(width, width, seed=2)
    table = {"sinusoidal": sinusoidal(places, width), "learned": numbers(places, width, seed=3)}
    apart = numbers(places, width, seed=4)  # Shaw's vectors, one for each distance
    t5 = T5Bias(1, buckets=16, furthest=24)
    t5.table.data = numbers(*t5.table.shape, seed=5)

    def score(i: int, j: int) -> float:
        first, second = x[0], x[1]
        if kind in table:
            first, second = first + table[kind][i], second + table[kind][j]
        q, k = first @ w_q, second @ w_k
        if kind == "RoPE":
            q, k = rope(q[None], i)[0], rope(k[None], j)[0]
        if kind == "Shaw":
            k = k + apart[j - i]
        bias = {
            "T5": lambda: t5(places, places).detach()[0, i, j],
            "ALiBi": lambda: -0.25 * abs(j - i),
        }
        return float(q @ k) + float(bias.get(kind, lambda: 0.0)())

    return abs(score(3, 8) - score(23, 28)) < 1e-3


true_or_false(prediction, WHY, each="encoding")
come_true(prediction, WHY, stays, what="the score", when=" when both tokens moved")


# 05.8, in the GPU notebook ───────────────────────────────────────────────────────────────────────

base_by_hand = Exercise(
    "05.8",
    title="A base for longer texts",
    call="my_base(factor, width, base)",
    returns="one number",
    reference=stretched_base,
    suspects=BASES,
    lesson="The fastest hand turns as before, the slowest exactly `factor` times more slowly.",
)


def _speed(base: float, width: int) -> float:
    """How far the slowest hand turns in one step."""
    return base ** -((width - 2) / width)


@base_by_hand.property
def the_slowest_hand_turns_factor_times_more_slowly(answer: Answer) -> None:
    for factor, width, base in ((4.0, 4, 100.0), (3.0, 8, 10_000.0)):
        seen = answer(factor, width, base)
        if isinstance(seen, Tensor) and seen.ndim:
            raise Mistake(f"`my_base` returned {a_kind_of(seen)}, expected one number.")
        if not float(seen) > 0:
            raise Mistake(f"`my_base` returned {float(seen):.3g}, but a base is above 0.")
        slower = _speed(base, width) / _speed(float(seen), width)
        if abs(slower - factor) > 1e-3 * factor:
            raise Mistake(
                f"With base {base:g} and {width // 2} hands, your base {float(seen):.4g} makes the "
                f"slowest hand {slower:.4g} times slower, not {factor:g} times.",
                likely="The slowest hand turns by base ** (−(width − 2) / width) in one step.",
            )


@base_by_hand.property
def factor_1_leaves_the_base_as_it_is(answer: Answer) -> None:
    answer.must_match(1.0, 16, 10_000.0)


@base_by_hand.property
def other_widths_and_bases(answer: Answer) -> None:
    answer.must_match(8.0, 64, 500_000.0)
    answer.must_match(2.5, 6, 100.0)


@base_by_hand.draws
def a_longer_text(draw: Draw) -> tuple[float, int, float]:
    factor = 1.5 + 6 * draw.dice.random()
    return factor, 2 * draw.size(2, 24), draw.choice([100.0, 1000.0, 10_000.0, 500_000.0])
