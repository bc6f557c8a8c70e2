"""Chapter 6, the Transformer: what its exercises about masks, blocks and parameters must satisfy.

The others, about decoding and training, are in ch06_decoding.py. Sizes are unequal everywhere.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks import ch06_decoding  # noqa: F401  (its exercises register themselves)
from attnlab.checks.answer import OVERFLOWS, Answer
from attnlab.checks.ch06_blocks import (
    CUT,
    DECODER,
    ENCODER,
    MASK,
    MENDED,
    PARAMETERS,
    decoder_block,
    encoder_block,
    mask,
    mended,
    parameters,
)
from attnlab.checks.compare import a_kind_of, numbers
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake

# 06.1 ────────────────────────────────────────────────────────────────────────────────────────────

two_masks = Exercise(
    "06.1",
    title="Two masks in one",
    call="my_mask(lengths, size)",
    returns="a bool mask of shape (B, 1, L, L)",
    reference=mask,
    suspects=MASK,
    lesson="A key must be in the past and real: two bool masks meet in `&`.",
)


@two_masks.property
def there_is_a_row_for_each_query_and_a_column_for_each_key(answer: Answer) -> None:
    answer(torch.tensor([3, 2]), 3)


@two_masks.property
def only_real_words_of_the_past_are_seen(answer: Answer) -> None:
    answer.must_match(
        torch.tensor([4, 2]), 4, likely="Row i, column j: True if j ≤ i and j < length."
    )


@two_masks.property
def any_batch(answer: Answer) -> None:
    answer.must_match(torch.tensor([1, 5, 3]), 5)


@two_masks.draws
def lengths_and_a_size(draw: Draw) -> tuple[Tensor, int]:
    size = draw.size(1, 7)
    return draw.whole(1, size + 1, draw.size(1, 5)), size


# 06.2 ────────────────────────────────────────────────────────────────────────────────────────────

LIKELY = "Two times: norm, sublayer, add to the stream."

block_by_hand = Exercise(
    "06.2",
    title="An encoder block",
    call="my_encoder_block(x, w, w1, w2)",
    returns="the stream after the block, in the shape of x",
    reference=encoder_block,
    suspects=ENCODER,
    lesson="Two additions to the stream, and each sublayer reads it through a LayerNorm.",
)


def block_case(*front: int, length: int = 4, width: int = 3, hidden: int = 5) -> tuple[Tensor, ...]:
    return (
        numbers(*front, length, width) * 2,
        numbers(3, width, width, seed=1),
        numbers(width, hidden, seed=2),
        numbers(hidden, width, seed=3),
    )


@block_by_hand.property
def the_stream_keeps_its_shape(answer: Answer) -> None:
    answer(*block_case())


@block_by_hand.property
def it_is_two_additions(answer: Answer) -> None:
    answer.must_match(*block_case(), likely=LIKELY)


@block_by_hand.property
def sublayers_that_say_nothing_change_nothing(answer: Answer) -> None:
    x, w, w1, w2 = block_case()
    answer.must_match(x, w * 0, w1, w2 * 0, likely="With f = 0 a block is the identity.")


@block_by_hand.property
def a_batch_may_stand_in_front(answer: Answer) -> None:
    answer.must_match(*block_case(2, length=5, width=4, hidden=7), likely=LIKELY)


@block_by_hand.draws
def a_stream_and_matrices(draw: Draw) -> tuple[Tensor, ...]:
    front, (length, width, hidden) = draw.front(), draw.sizes(3, 2)
    return (
        draw.numbers(*front, length, width, spread=draw.choice([1.0, 1.0, 10.0])),
        draw.numbers(3, width, width),
        draw.numbers(width, hidden),
        draw.numbers(hidden, width),
    )


# 06.3 ────────────────────────────────────────────────────────────────────────────────────────────

decoder_by_hand = Exercise(
    "06.3",
    title="A decoder block",
    call="my_decoder_block(y, encoded, w, u, w1, w2)",
    returns="the target's stream after the block, in the shape of y",
    reference=decoder_block,
    suspects=DECODER,
    lesson="Look back, look at the source, think: three additions to the target's stream.",
)


def decoder_case(
    *front: int, length: int = 4, source: int = 5, width: int = 3
) -> tuple[Tensor, ...]:
    y, w, w1, w2 = block_case(*front, length=length, width=width, hidden=7)
    encoded = numbers(*front, source, width, seed=4) * 2 + 1
    return y, encoded, w, numbers(3, width, width, seed=5), w1, w2


@decoder_by_hand.property
def the_target_keeps_its_shape(answer: Answer) -> None:
    answer(*decoder_case())


@decoder_by_hand.property
def it_is_three_additions(answer: Answer) -> None:
    answer.must_match(
        *decoder_case(), likely="Three times: norm, sublayer, add. The second reads `encoded`."
    )


@decoder_by_hand.property
def other_lengths_and_a_batch(answer: Answer) -> None:
    answer.must_match(*decoder_case(2, length=3, source=6, width=4))


@decoder_by_hand.draws
def two_streams_and_matrices(draw: Draw) -> tuple[Tensor, ...]:
    front, (length, source, width, hidden) = draw.front(), draw.sizes(4, 2)
    return (
        draw.numbers(*front, length, width, spread=draw.choice([1.0, 1.0, 10.0])),
        draw.numbers(*front, source, width) + draw.choice([0.0, 2.0]),
        draw.numbers(3, width, width),
        draw.numbers(3, width, width),
        draw.numbers(width, hidden),
        draw.numbers(hidden, width),
    )


# 06.4 ────────────────────────────────────────────────────────────────────────────────────────────

three_bugs = Exercise(
    "06.4",
    title="Find the bugs: a block that does not learn",
    call="my_mended_block(x, w, w1, w2)",
    returns="the stream after the block, in the shape of x",
    reference=mended,
    suspects=MENDED,
    lesson="The softmax shares out over keys, the stream is kept, and gradients reach everything.",
)


@three_bugs.property
def it_still_runs(answer: Answer) -> None:
    answer(*block_case())


@three_bugs.property
def the_numbers_are_those_of_a_block(answer: Answer) -> None:
    answer.must_match(*block_case(length=5), likely="Compare it line by line with exercise 6.2.")
    answer.must_match(*block_case(2, length=3, width=4, hidden=6))


@three_bugs.property
def every_matrix_learns(answer: Answer) -> None:
    try:
        answer.gradients_must_match(*block_case())
    except Mistake as mistake:
        x, w, w1, w2 = block_case()
        some = answer.run(x, w.requires_grad_(), w1, w2).sum()
        got = torch.autograd.grad(some, w, allow_unused=True)[0] if some.requires_grad else None
        without = [n for n in range(3) if got is None or not got[n].any()]
        raise Mistake(mistake.seen, likely=CUT.get(len(without), "")) from None


@three_bugs.property
def large_scores_do_not_overflow(answer: Answer) -> None:
    x, w, w1, w2 = block_case()
    w[0] *= 1000
    answer.must_survive(x, w, w1, w2, likely=OVERFLOWS)


@three_bugs.draws
def any_stream(draw: Draw) -> tuple[Tensor, ...]:
    return a_stream_and_matrices(draw)


# 06.5 ────────────────────────────────────────────────────────────────────────────────────────────

predicted = Exercise(
    "06.5",
    title="Predict, then run: how many numbers?",
    call="my_count(words, source_words, width, blocks)",
    returns="a number of parameters",
    reference=parameters,
    suspects=PARAMETERS,
    lesson="12E² and 16E² a block, and the tables of words: the rest is small change.",
)


def one_number(answer: Answer, *given: int) -> None:
    """A plain number, or a tensor without axes; then the right one."""
    seen = answer(*given)
    if isinstance(seen, Tensor) and seen.dim():
        raise Mistake(f"`{answer.name}` returned {a_kind_of(seen)}, expected one number.")
    answer.must_match(*given)


@predicted.property
def the_model_of_this_chapter(answer: Answer) -> None:
    one_number(answer, 550, 450, 64, 2)


@predicted.property
def the_tables_alone(answer: Answer) -> None:
    answer.must_match(100, 70, 16, 0, likely="Without blocks: two tables and two LayerNorms.")


@predicted.property
def one_block_more(answer: Answer) -> None:
    answer.must_match(100, 70, 16, 1)
    answer.must_match(31, 17, 8, 3)


@predicted.draws
def any_sizes(draw: Draw) -> tuple[int, ...]:
    return draw.size(5, 900), draw.size(5, 700), draw.size(1, 40), draw.size(0, 9)
