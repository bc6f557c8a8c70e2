"""Chapter 10, Transformer++: what its nine exercises must satisfy.

Sizes are unequal everywhere (batch ≠ heads ≠ groups ≠ queries ≠ keys ≠ width), so that a wrong
order of axes cannot pass unseen.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attnlab.attention import attention
from attnlab.checks.answer import Answer
from attnlab.checks.ch10_suspects import (
    BLOCK,
    BYTES,
    CACHED,
    GQA,
    PARTS,
    RMS,
    SOAP,
    TAKE,
    cached,
    gathered,
    rms_norm,
    soap_step,
    taken,
)
from attnlab.checks.compare import a_kind_of, close, difference, numbers, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.layers.cache import cache_bytes


def three(answer: Answer, names: tuple[str, str, str], *given: Any) -> tuple[Tensor, ...]:
    """Three tensors, each equal to the reference's; the first that is not is named."""
    seen = answer(*given)
    assert answer.reference is not None
    for name, one, expected in zip(names, seen, answer.reference(*given), strict=True):
        if not isinstance(one, Tensor):
            raise Mistake(f"`{name}` is {a_kind_of(one)}, expected a tensor.")
        if one.shape != expected.shape:
            raise Mistake(f"`{name}` has shape {tuple(one.shape)}, not {tuple(expected.shape)}.")
        if not close(one, expected):
            raise Mistake(f"In `{name}` {difference(one, expected)}.")
    return tuple(seen)


# 10.1 ────────────────────────────────────────────────────────────────────────────────────────────

take_by_hand = Exercise(
    "10.1",
    title="Take in a block",
    call="my_take(top, total, mixed, scores, values)",
    returns="the new top (L,), total (L,) and mixed (L, D)",
    reference=taken,
    suspects=TAKE,
    lesson="Three numbers per query and one factor: this is the inside of FlashAttention.",
)
KEPT = ("top", "total", "mixed")


def begun(queries: int = 3, keys: int = 4, width: int = 2, seed: int = 0) -> tuple[Tensor, ...]:
    """Running numbers after a first block, and a second block."""
    first, values = numbers(queries, 5, seed=seed, spread=2), numbers(5, width, seed=seed + 1)
    top = first.amax(-1)
    p = (first - top[:, None]).exp()
    scores = numbers(queries, keys, seed=seed + 2, spread=3)
    return top, p.sum(-1), p @ values, scores, numbers(keys, width, seed=seed + 3)


@take_by_hand.property
def a_block_without_a_new_maximum_is_added(answer: Answer) -> None:
    top, total, mixed, scores, values = begun()
    three(answer, KEPT, top, total, mixed, top[:, None] - scores.abs() - 0.1, values)


@take_by_hand.property
def a_larger_score_shrinks_what_was_there(answer: Answer) -> None:
    top, total, mixed, scores, values = begun()
    three(answer, KEPT, top, total, mixed, top[:, None] + scores.abs() + 0.1, values)


@take_by_hand.property
def two_blocks_give_the_softmax_of_both(answer: Answer) -> None:
    three(answer, KEPT, *begun(4, 3, 5))
    three(answer, KEPT, *begun(2, 6, 3, seed=7))


@take_by_hand.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    top, total, mixed, scores, values = begun()
    three(answer, KEPT, top, total, mixed, scores + 300, values)


@take_by_hand.draws
def sums_so_far_and_a_block(draw: Draw) -> tuple[Tensor, ...]:
    queries, keys, width, spread = *draw.sizes(3), draw.choice([1.0, 3.0, 8.0])
    scores, values = draw.numbers(queries, keys, spread=spread), draw.numbers(keys, width)
    if draw.chance(0.2):
        draw.note = "This is the first block: the maximum so far is −inf, and both sums are 0."
        none = torch.zeros(queries)
        return none - torch.inf, none, torch.zeros(queries, width), scores, values
    top, total = draw.numbers(queries, spread=spread), 1 + draw.numbers(queries).abs()
    return top, total, draw.numbers(queries, width), scores, values


# 10.2 ────────────────────────────────────────────────────────────────────────────────────────────

rms_by_hand = Exercise(
    "10.2",
    title="RMSNorm",
    call="my_rms_norm(x, weight, eps)",
    returns="the same shape, (…, E)",
    reference=rms_norm,
    suspects=RMS,
    lesson="One mean instead of two, no bias: the length is set, the mean stays.",
)


@rms_by_hand.property
def the_mean_square_becomes_one(answer: Answer) -> None:
    x = numbers(3, 5, spread=2) + 1.5
    seen = answer(x, torch.ones(5), 1e-6)
    size = float(seen.square().mean(-1)[0])
    if abs(size - 1) > 1e-3:
        raise Mistake(f"With weight 1, the mean square of a token is {unlike(size, 1, 2)}, not 1.")


@rms_by_hand.property
def it_equals_the_formula(answer: Answer) -> None:
    answer.must_match(numbers(2, 3, 5) + 1.5, numbers(5, seed=1), 1e-6)
    answer.must_match(numbers(4, 7) - 0.5, numbers(7, seed=2), 1e-5)


@rms_by_hand.property
def epsilon_protects_small_tokens(answer: Answer) -> None:
    answer.must_match(0.01 * numbers(3, 6), numbers(6, seed=1), 1e-2)
    answer.must_match(torch.zeros(2, 6), numbers(6, seed=1), 1e-5)


@rms_by_hand.draws
def tokens_weight_and_epsilon(draw: Draw) -> tuple[Tensor, Tensor, float]:
    width = draw.size(1, 9)
    x = draw.numbers(*draw.front(), width, spread=draw.choice([1.0, 0.01, 100.0]))
    return x + draw.choice([0.0, 2.0]), draw.numbers(width), draw.choice([1e-5, 1e-3, 0.5])


# 10.3 ────────────────────────────────────────────────────────────────────────────────────────────

gqa_by_hand = Exercise(
    "10.3",
    title="Grouped-query attention",
    call="my_gqa(q, k, v)",
    returns="shape (B, H, L, D)",
    reference=lambda q, k, v: attention(q, k, v),
    suspects=GQA,
    lesson="Neighbouring heads of queries share keys and values: 0 0 1 1.",
)


def grouped(heads: int, groups: int, seed: int = 0) -> tuple[Tensor, ...]:
    q = numbers(2, heads, 5, 3, seed=seed, spread=2)
    return q, numbers(2, groups, 7, 3, seed=seed + 1), numbers(2, groups, 7, 3, seed=seed + 2)


@gqa_by_hand.property
def there_is_one_result_for_each_head_of_queries(answer: Answer) -> None:
    answer(*grouped(6, 3))


@gqa_by_hand.property
def neighbouring_heads_share(answer: Answer) -> None:
    answer.must_match(*grouped(6, 3))
    answer.must_match(*grouped(4, 2, seed=3))


@gqa_by_hand.property
def both_ends_are_old_friends(answer: Answer) -> None:
    answer.must_match(*grouped(4, 4))  # multi-head
    answer.must_match(*grouped(4, 1))  # multi-query


@gqa_by_hand.draws
def heads_in_groups(draw: Draw) -> tuple[Tensor, ...]:
    batch, groups, (queries, keys, width) = draw.size(1, 3), draw.size(1, 3), draw.sizes(3)
    q = draw.numbers(batch, groups * draw.size(1, 4), queries, width)
    k, v = (draw.numbers(batch, groups, keys, width) for _ in range(2))
    return q * draw.choice([1.0, 3.0, 40.0]), k, v


# 10.4 ────────────────────────────────────────────────────────────────────────────────────────────

soap_by_hand = Exercise(
    "10.4",
    title="One step of SOAP",
    call="my_soap_step(w, g, left, right, square, lr)",
    returns="the new matrix, the shape of w",
    reference=soap_step,
    suspects=SOAP,
    lesson="Turn, divide, turn back: Adam, in axes of the gradient's own.",
)


def turned(rows: int, columns: int, seed: int = 0) -> tuple[Any, ...]:
    left = torch.linalg.qr(numbers(rows, rows, seed=seed + 2))[0]
    right = torch.linalg.qr(numbers(columns, columns, seed=seed + 3))[0]
    square = numbers(rows, columns, seed=seed + 4).square() + 0.1
    w, g = numbers(rows, columns, seed=seed), numbers(rows, columns, seed=seed + 1)
    return w, g, left, right, square, 0.1


@soap_by_hand.property
def along_the_own_axes_it_is_adam(answer: Answer) -> None:
    w, g, _, _, square, lr = turned(2, 3)
    answer.must_match(w, g, torch.eye(2), torch.eye(3), square, lr)


@soap_by_hand.property
def a_turned_matrix_of_two_by_two(answer: Answer) -> None:
    answer.must_match(*turned(2, 2))
    answer.must_match(*turned(2, 2, seed=9))


@soap_by_hand.property
def a_matrix_need_not_be_square(answer: Answer) -> None:
    answer.must_match(*turned(3, 2))


@soap_by_hand.draws
def a_matrix_and_its_bases(draw: Draw) -> tuple[Any, ...]:
    rows, columns = draw.sizes(2, high=5)
    w, g = draw.numbers(rows, columns), draw.numbers(rows, columns)
    left, right = (torch.linalg.qr(draw.numbers(n, n))[0] for n in (rows, columns))
    square = draw.numbers(rows, columns).square() + 0.1
    return w, g, left, right, square, draw.choice([0.01, 0.1, 1.0])


# 10.5 ────────────────────────────────────────────────────────────────────────────────────────────

cache_by_hand = Exercise(
    "10.5",
    title="One token with a cache",
    call="my_cached_step(q, k, v, past_k, past_v)",
    returns="the result (…, 1, D), all keys and all values (…, S + 1, D)",
    reference=cached,
    suspects=CACHED,
    lesson="Append, attend, hand the cache on. Old keys are never computed again.",
)
HELD = ("the result", "the keys", "the values")


def a_token(*lead: int, past: int, width: int = 3, seed: int = 0) -> tuple[Tensor, ...]:
    new = [numbers(*lead, 1, width, seed=seed + i, spread=2) for i in range(3)]
    return (*new, *(numbers(*lead, past, width, seed=seed + 3 + i) for i in range(2)))


@cache_by_hand.property
def the_newest_token_sees_all_and_itself(answer: Answer) -> None:
    three(answer, HELD, *a_token(past=4))


@cache_by_hand.property
def with_batch_and_heads(answer: Answer) -> None:
    three(answer, HELD, *a_token(2, 3, past=5, seed=7))


@cache_by_hand.property
def the_first_token_has_an_empty_past(answer: Answer) -> None:
    three(answer, HELD, *a_token(2, past=0))


@cache_by_hand.draws
def a_token_and_its_past(draw: Draw) -> tuple[Tensor, ...]:
    front, past, width = draw.front(), draw.size(0, 6), draw.size()
    q, k, v = (draw.numbers(*front, 1, width) for _ in range(3))
    past_k, past_v = (draw.numbers(*front, past, width) for _ in range(2))
    return q * draw.choice([1.0, 3.0, 40.0]), k, v, past_k, past_v


# 10.6 ────────────────────────────────────────────────────────────────────────────────────────────

bytes_by_hand = Exercise(
    "10.6",
    title="The size of a cache",
    call="my_cache_bytes(layers, kv_heads, head_width, context, batch, item)",
    returns="a number of bytes",
    reference=lambda n, g, d, s, b, item: cache_bytes(
        layers=n, kv_heads=g, head_width=d, context=s, batch=b, item=item
    ),
    suspects=BYTES,
    lesson="Linear in everything, so halving any one factor halves the cache.",
)


def one_number(answer: Answer, *given: int) -> None:
    """A plain number, or a tensor without axes; then the right one."""
    seen = answer(*given)
    if isinstance(seen, Tensor) and seen.dim():
        raise Mistake(f"`{answer.name}` returned {a_kind_of(seen)}, expected a number of bytes.")
    answer.must_match(*given)


@bytes_by_hand.property
def llama_2_of_70_billion(answer: Answer) -> None:
    one_number(answer, 80, 8, 128, 4096, 3, 2)


@bytes_by_hand.property
def any_other_model(answer: Answer) -> None:
    answer.must_match(6, 5, 48, 256, 7, 4)
    answer.must_match(3, 2, 10, 20, 5, 1)


@bytes_by_hand.draws
def a_small_model(draw: Draw) -> tuple[int, ...]:
    return tuple(draw.size(1, 12) for _ in range(6))


# 10.7 ────────────────────────────────────────────────────────────────────────────────────────────

block_in_triton = Exercise(
    "10.7",
    title="The block, in Triton",
    call="my_block(top, total, mixed, scores, values)",
    returns="three blocks: the new top (M,), total (M,) and mixed (M, D)",
    reference=taken,
    suspects=TAKE,
    lesson="These lines are the inside of `kernels/flash.py`: you have written the heart of a "
    "FlashAttention kernel.",
)
POWERS = (2, 4, 8, 16)  # Triton's blocks have sizes of this kind


@block_in_triton.property
def triton_runs_here(answer: Answer) -> None:
    from attnlab.kernels.block import missing

    if answer.function is not answer.reference and missing():
        raise Mistake(missing())


@block_in_triton.property
def a_smaller_block_is_added(answer: Answer) -> None:
    top, total, mixed, scores, values = begun(4, 8, 2, seed=0)
    three(answer, KEPT, top, total, mixed, top[:, None] - scores.abs() - 0.1, values)


@block_in_triton.property
def a_larger_score_shrinks_what_is_there(answer: Answer) -> None:
    top, total, mixed, scores, values = begun(4, 8, 2, seed=0)
    three(answer, KEPT, top, total, mixed, top[:, None] + scores.abs() + 0.1, values)


@block_in_triton.property
def any_block_gives_the_softmax_of_both(answer: Answer) -> None:
    three(answer, KEPT, *begun(8, 2, 16, seed=3))
    top, total, mixed, scores, values = begun(2, 16, 4, seed=7)
    three(answer, KEPT, top, total, mixed, scores + 300, values)


@block_in_triton.draws
def sums_and_begun(draw: Draw) -> tuple[Tensor, ...]:
    rows, keys, width = draw.dice.sample(POWERS, 3)
    scores = draw.numbers(rows, keys, spread=draw.choice([1.0, 3.0, 8.0]))
    values = draw.numbers(keys, width)
    if draw.chance(0.2):
        draw.note = "This is the first block: the maximum so far is −inf, and both sums are 0."
        none = torch.zeros(rows)
        return none - torch.inf, none, torch.zeros(rows, width), scores, values
    top, total = draw.numbers(rows, spread=3.0), 1 + draw.numbers(rows).abs()
    return top, total, draw.numbers(rows, width), scores, values


@block_in_triton.property
def it_ran_as_a_block_of_triton(answer: Answer) -> None:
    from attnlab.kernels.block import LAUNCHES

    before = len(LAUNCHES)
    answer(*begun(4, 8, 2, seed=0))
    if answer.function is not answer.reference and len(LAUNCHES) == before:
        raise Mistake(
            "The numbers are right, but no kernel ran: this is exercise 10.1 once more.",
            likely="Keep `@in_triton` above the function and use `tl` inside.",
        )


# 10.8 ────────────────────────────────────────────────────────────────────────────────────────────

block_by_hand = Exercise(
    "10.8",
    title="The largest block",
    call="block_bytes(m, n, d)",
    returns="a number of bytes",
    reference=lambda m, n, d: 4 * (2 * m * d + 2 * n * d + m * n + 2 * m),
    suspects=BLOCK,
    lesson="Fast memory sets the size of a block, and the size of a block sets the traffic.",
)


@block_by_hand.property
def a_block_of_32_by_32(answer: Answer) -> None:
    one_number(answer, 32, 32, 64)


@block_by_hand.property
def any_block(answer: Answer) -> None:
    answer.must_match(128, 64, 32)
    answer.must_match(5, 3, 7)


@block_by_hand.draws
def a_block(draw: Draw) -> tuple[int, ...]:
    return tuple(draw.sizes(3, high=20))


# 10.9 ────────────────────────────────────────────────────────────────────────────────────────────

parts_by_hand = Exercise(
    "10.9",
    title="The same batch in unequal parts",
    call="my_gradient(parts, sizes)",
    returns="the gradient of the whole batch, shape (P,)",
    reference=gathered,
    suspects=PARTS,
    lesson="Each token counts once, whichever part or GPU it came to.",
)


def some_parts(count: int, width: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Mean gradients of parts of unequal sizes."""
    sizes = torch.tensor([3, 50, 8, 21, 2, 13][:count])
    return numbers(count, width, seed=seed) + torch.arange(count)[:, None], sizes


@parts_by_hand.property
def equal_parts_are_averaged(answer: Answer) -> None:
    parts, _ = some_parts(4, 3)
    answer.must_match(parts, torch.full((4,), 5))


@parts_by_hand.property
def a_part_counts_by_its_tokens(answer: Answer) -> None:
    answer.must_match(*some_parts(3, 5))
    answer.must_match(*some_parts(6, 2, seed=4))


@parts_by_hand.property
def an_empty_part_counts_for_nothing(answer: Answer) -> None:
    parts, _ = some_parts(3, 4, seed=8)
    answer.must_match(parts, torch.tensor([7, 0, 2]))


@parts_by_hand.draws
def parts_and_sizes(draw: Draw) -> tuple[Tensor, Tensor]:
    count, width = draw.sizes(2)
    sizes = draw.whole(0, 40, count)
    sizes[draw.dice.randrange(count)] += 1  # at least one token somewhere
    return draw.numbers(count, width), sizes
