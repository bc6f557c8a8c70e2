"""Chapter 3, attention looked into: what must be in memory at once, where the future leaks in, and
what the weights depend on.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnlab.attention import weights
from attnlab.checks.answer import OVERFLOWS, Answer
from attnlab.checks.ch03_inside_suspects import BLOCKS, CENTRED, causal_alone, centred
from attnlab.checks.ch03_suspects import attend
from attnlab.checks.compare import close, numbers
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.predictions import come_true, true_or_false
from attnlab.checks.watching import Largest

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
def a_batch_may_come_first(answer: Answer) -> None:
    answer.must_match(numbers(2, 5, 4))
    answer.must_match(numbers(2, 3, 5, 4))


@find_the_leak.property
def large_scores_do_not_overflow(answer: Answer) -> None:
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


true_or_false(prediction, CHANGES, each="change")
come_true(prediction, CHANGES, stays, what="the weights")
