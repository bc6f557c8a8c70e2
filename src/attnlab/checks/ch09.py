"""Chapter 9, Swin windows: what its five exercises must satisfy.

Pictures are not square and shifts not half a window where it matters: swapped axes show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from attnlab.checks.answer import Answer
from attnlab.checks.ch09_suspects import (
    BROKEN,
    INDEX,
    MERGE,
    REVERSE,
    SHIFT,
    second_right_mask,
    shift_mask,
)
from attnlab.checks.compare import a_kind_of, numbers
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.layers.windows import partition, relative_index, reverse
from attnlab.models.swin import four_neighbours

# 09.1 ────────────────────────────────────────────────────────────────────────────────────────────

put_back = Exercise(
    "09.1",
    title="Put the windows back",
    call="my_reverse(windows, rows, columns)",
    returns="the picture, shape (B, rows, columns, E)",
    reference=reverse,
    suspects=REVERSE,
    lesson="Split, swap the two inner axes, flatten: partition backwards.",
)


@put_back.property
def the_picture_has_its_shape(answer: Answer) -> None:
    answer(numbers(2, 6, 9, 5), 6, 9)


@put_back.property
def every_token_is_back_in_its_place(answer: Answer) -> None:
    picture = numbers(2, 6, 9, 5)
    answer.must_match(partition(picture, 3), 6, 9)


@put_back.property
def tall_pictures_and_other_windows(answer: Answer) -> None:
    answer.must_match(partition(numbers(1, 12, 4, 3, seed=1), 2), 12, 4)
    answer.must_match(partition(numbers(3, 4, 8, 2, seed=2), 4), 4, 8)


@put_back.draws
def windows_of_any_picture(draw: Draw) -> tuple[Tensor, int, int]:
    side = draw.size(1, 4)
    rows, columns = side * draw.size(1, 4), side * draw.size(1, 4)
    return partition(draw.numbers(draw.size(1, 3), rows, columns, draw.size()), side), rows, columns


# 09.2 ────────────────────────────────────────────────────────────────────────────────────────────

mask_by_hand = Exercise(
    "09.2",
    title="The mask of shifted windows",
    call="my_shift_mask(rows, columns, M, by)",
    returns="bool, shape (W, M·M, M·M), True = may attend",
    reference=shift_mask,
    suspects=SHIFT,
    lesson="Two cells may meet when both came round the same edges, or neither did.",
)


@mask_by_hand.property
def one_table_for_every_window(answer: Answer) -> None:
    answer(8, 12, 4, 1)


@mask_by_hand.property
def something_is_blocked(answer: Answer) -> None:
    seen = answer(8, 12, 4, 1)
    if bool(seen.all()):
        raise Mistake(
            "Your mask lets everybody see everybody, also the four corners of the picture.",
            likely="After the roll the last rows and columns hold cells from the other side.",
        )


@mask_by_hand.property
def the_right_pairs_may_meet(answer: Answer) -> None:
    answer.must_match(8, 12, 4, 1)
    answer.must_match(4, 4, 2, 1)


@mask_by_hand.property
def for_any_shift_and_shape(answer: Answer) -> None:
    answer.must_match(15, 10, 5, 3)
    answer.must_match(6, 9, 3, 2)
    answer.must_match(16, 8, 4, 1)
    answer.must_match(6, 18, 3, 1)


@mask_by_hand.draws
def any_picture_and_shift(draw: Draw) -> tuple[int, int, int, int]:
    side = draw.size(2, 5)
    rows, columns = side * draw.dice.randint(2, 4), side * draw.dice.randint(2, 4)
    return rows, columns, side, draw.dice.randint(1, side - 1)


# 09.3 ────────────────────────────────────────────────────────────────────────────────────────────

index_by_hand = Exercise(
    "09.3",
    title="The relative index",
    call="my_relative_index(M)",
    returns="whole numbers, shape (M·M, M·M)",
    reference=relative_index,
    suspects=INDEX,
    lesson="Row offset times (2M − 1) plus column offset, both moved to begin at 0.",
)


@index_by_hand.property
def a_number_for_every_pair(answer: Answer) -> None:
    answer(3)


@index_by_hand.property
def as_in_the_three_by_three_table(answer: Answer) -> None:
    answer.must_match(3)


@index_by_hand.property
def for_any_window(answer: Answer) -> None:
    for side in (2, 4, 7):
        answer.must_match(side)


@index_by_hand.draws
def a_side(draw: Draw) -> tuple[int]:
    return (draw.size(1, 8),)


# 09.4 ────────────────────────────────────────────────────────────────────────────────────────────

merge_by_hand = Exercise(
    "09.4",
    title="Merge four neighbours",
    call="my_merge(x)",
    returns="shape (B, R/2, C/2, 4E)",
    reference=four_neighbours,
    suspects=MERGE,
    lesson="Four strided slices side by side: a quarter of the tokens, four times as wide.",
)


@merge_by_hand.property
def a_quarter_of_the_tokens(answer: Answer) -> None:
    answer(numbers(2, 4, 6, 3))


@merge_by_hand.property
def the_published_order(answer: Answer) -> None:
    answer.must_match(numbers(2, 4, 6, 3))
    answer.must_match(numbers(1, 6, 2, 5, seed=1))


@merge_by_hand.draws
def a_picture_with_even_sides(draw: Draw) -> tuple[Tensor]:
    return (draw.numbers(draw.size(1, 3), 2 * draw.size(), 2 * draw.size(), draw.size()),)


# 09.5 ────────────────────────────────────────────────────────────────────────────────────────────

catch = Exercise(
    "09.5",
    title="The mask that masked nothing",
    call="trustworthy(make_mask)",
    returns="True or False",
    lesson="A test of a mask asserts that it blocks something, and exactly what it should.",
)

MakeMask = Callable[[int, int, int, int], Tensor]


def verdict(answer: Answer, make_mask: MakeMask) -> bool:
    seen: Any = answer(make_mask)
    if not isinstance(seen, bool):
        raise Mistake(
            f"`trustworthy` returned {seen if isinstance(seen, float) else a_kind_of(seen)}, but "
            "a test says True or False.",
        )
    return seen


@catch.property
def a_right_mask_is_trusted(answer: Answer) -> None:
    for right in (shift_mask, second_right_mask):
        if not verdict(answer, right):
            raise Mistake(
                "Your test refuses a mask that is right.",
                likely="Print what your test expects for one window and compare it by hand: the "
                "windows come in reading order, and True means may attend.",
            )


def _refuse(answer: Answer, which: str) -> None:
    words, make_mask = BROKEN[which]
    if verdict(answer, make_mask):
        raise Mistake("Your test trusts a mask that is wrong.", likely=words)


@catch.property
def the_published_mistake_is_caught(answer: Answer) -> None:
    _refuse(answer, "nothing")


@catch.property
def half_a_mask_is_caught(answer: Answer) -> None:
    _refuse(answer, "rows only")
    _refuse(answer, "columns only")


@catch.property
def too_much_is_caught_as_well(answer: Answer) -> None:
    _refuse(answer, "everything")
    _refuse(answer, "inverted")


@catch.property
def a_wrong_shift_and_swapped_axes_are_caught(answer: Answer) -> None:
    _refuse(answer, "half a window")
    _refuse(answer, "swapped")
