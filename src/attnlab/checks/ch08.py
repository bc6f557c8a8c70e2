"""Chapter 8, ViT and DINO maps: what its six exercises must satisfy.

Pictures are never square and their rows never as many as their columns, so that a swap of the two
cannot pass unseen.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks.answer import Answer
from attnlab.checks.ch08_suspects import (
    CLS,
    OUTLINE,
    PATCHIFY,
    RESIZE,
    TEACHER,
    UNPATCHIFY,
    cls_picture,
    outline_score,
    resize_with_cls,
    teacher_step,
)
from attnlab.checks.compare import numbers
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.layers.patches import patchify, unpatchify

# 08.1 ────────────────────────────────────────────────────────────────────────────────────────────

patchify_by_hand = Exercise(
    "08.1",
    title="Cut a picture into patches",
    call="my_patchify(images, patch)",
    returns="one row per patch, shape (B, N, C·P·P)",
    reference=patchify,
    suspects=PATCHIFY,
    lesson="Cut height and width in two, bring the two grid axes to the front, flatten the rest.",
)


@patchify_by_hand.property
def one_row_per_patch(answer: Answer) -> None:
    answer(numbers(2, 3, 4, 6), 2)


@patchify_by_hand.property
def a_grey_picture(answer: Answer) -> None:
    answer.must_match(torch.arange(24.0).reshape(1, 1, 4, 6), 2)


@patchify_by_hand.property
def colours_and_a_batch(answer: Answer) -> None:
    answer.must_match(numbers(2, 3, 4, 6), 2)
    answer.must_match(numbers(3, 2, 9, 6), 3)


@patchify_by_hand.property
def patches_of_one_pixel(answer: Answer) -> None:
    answer.must_match(numbers(2, 3, 4, 5), 1)


@patchify_by_hand.draws
def any_pictures(draw: Draw) -> tuple[Tensor, int]:
    patch = draw.size(1, 4)
    height, width = patch * draw.size(1, 4), patch * draw.size(1, 4)
    return draw.numbers(draw.size(1, 3), draw.size(1, 3), height, width), patch


# 08.2 ────────────────────────────────────────────────────────────────────────────────────────────

unpatchify_by_hand = Exercise(
    "08.2",
    title="And back again",
    call="my_unpatchify(tokens, patch, rows)",
    returns="pictures, shape (B, C, rows·P, columns·P)",
    reference=unpatchify,
    suspects=UNPATCHIFY,
    lesson="The same six axes, moved back: nothing was lost by cutting.",
)


@unpatchify_by_hand.property
def pictures_come_back(answer: Answer) -> None:
    answer(patchify(numbers(2, 3, 4, 6), 2), 2, 2)


@unpatchify_by_hand.property
def it_undoes_the_cut(answer: Answer) -> None:
    answer.must_match(patchify(torch.arange(24.0).reshape(1, 1, 4, 6), 2), 2, 2)
    answer.must_match(patchify(numbers(2, 3, 4, 6), 2), 2, 2)
    answer.must_match(patchify(numbers(2, 2, 9, 6), 3), 3, 3)


@unpatchify_by_hand.draws
def any_cut_pictures(draw: Draw) -> tuple[Tensor, int, int]:
    images, patch = any_pictures(draw)
    return patchify(images, patch), patch, images.shape[2] // patch


# 08.3 ────────────────────────────────────────────────────────────────────────────────────────────

resize_by_hand = Exercise(
    "08.3",
    title="Positions for a larger picture",
    call="my_resize(table, old, new)",
    returns="shape (1 + new·new, E)",
    reference=resize_with_cls,
    suspects=RESIZE,
    lesson="[CLS] keeps its place; the patches' places are a picture of E channels, resized.",
)


@resize_by_hand.property
def the_table_grows(answer: Answer) -> None:
    answer(numbers(1 + 9, 5), 3, 6)


@resize_by_hand.property
def cls_stays_and_the_grid_is_resized(answer: Answer) -> None:
    answer.must_match(numbers(1 + 9, 5), 3, 6)
    answer.must_match(numbers(1 + 16, 3, seed=1), 4, 7)


@resize_by_hand.property
def smaller_works_too(answer: Answer) -> None:
    answer.must_match(numbers(1 + 36, 4), 6, 3)


@resize_by_hand.draws
def any_two_sizes(draw: Draw) -> tuple[Tensor, int, int]:
    old, new = draw.size(1, 5), draw.size(1, 7)
    return draw.numbers(1 + old * old, draw.size()), old, new


# 08.4 ────────────────────────────────────────────────────────────────────────────────────────────

score_by_hand = Exercise(
    "08.4",
    title="Jaccard at 60 %",
    call="my_outline_score(weights, gold, share)",
    returns="one number between 0 and 1, as a tensor",
    reference=outline_score,
    suspects=OUTLINE,
    lesson="The fewest patches that reach the share, as pixels, intersection over union.",
)


def scene(rows: int, scale: int, seed: int) -> tuple[Tensor, Tensor]:
    """A map (rows, rows) and an outline of rows · scale pixels that it half finds."""
    weights = numbers(rows, rows, seed=seed, spread=1.5).softmax(0)
    gold = numbers(rows * scale, rows * scale, seed=seed + 50) > 0.3
    return weights / weights.sum(), gold


@score_by_hand.property
def a_number_comes_out(answer: Answer) -> None:
    answer(*scene(3, 2, 0), 0.6)


@score_by_hand.property
def a_map_by_hand(answer: Answer) -> None:
    # 0.5 alone is too little, 0.5 + 0.3 reaches 60 %: the left half of the picture.
    weights = torch.tensor([[0.5, 0.15], [0.3, 0.05]])
    gold = torch.zeros(4, 4, dtype=torch.bool)
    gold[:, 0] = True
    answer.must_match(weights, gold, 0.6)


@score_by_hand.property
def other_maps_and_shares(answer: Answer) -> None:
    for seed, share in ((1, 0.6), (2, 0.3), (3, 0.9)):
        answer.must_match(*scene(4, 3, seed), share)


@score_by_hand.property
def weights_that_do_not_sum_to_one(answer: Answer) -> None:
    weights, gold = scene(4, 3, 4)
    answer.must_match(
        0.7 * weights, gold, 0.6, likely="What went to [CLS] is gone: divide by the sum of the map."
    )


@score_by_hand.draws
def any_map_and_outline(draw: Draw) -> tuple[Tensor, Tensor, float]:
    side, scale = draw.size(1, 5), draw.size(1, 4)
    if draw.chance(0.25):  # in sixteenths there is no rounding
        weights = torch.tensor([8, 4, 3, 1])[draw.numbers(4).argsort()].reshape(2, 2) / 16
        given = weights, draw.mask(2 * scale, 2 * scale), draw.choice([0.5, 0.75])
        return draw.say("Here the share is met exactly, and that is enough.", given)
    weights = draw.numbers(side, side).exp()  # they sum to anything
    return weights, draw.mask(side * scale, side * scale), draw.choice([0.25, 0.6, 0.85])


# 08.5 ────────────────────────────────────────────────────────────────────────────────────────────

teacher_by_hand = Exercise(
    "08.5",
    title="The teacher moves",
    call="my_teacher_step(teacher, student, centre, logits, momentum)",
    returns="two tensors: the teacher (E,), the centre (K,)",
    reference=teacher_step,
    suspects=TEACHER,
    lesson="Both are running means: of the student's weights, and of the teacher's own logits.",
)


def state(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    first, second = numbers(2, 5, seed=seed)
    return first, second, numbers(3, seed=seed + 1), numbers(4, 3, seed=seed + 2)


@teacher_by_hand.property
def two_tensors_come_back(answer: Answer) -> None:
    seen = answer(*state(), 0.9)
    shapes = [tuple(one.shape) if isinstance(one, Tensor) else None for one in seen]
    if shapes != [(5,), (3,)]:
        answer.must_match(*state(), 0.9, likely="Return `teacher, centre`, in this order.")


@teacher_by_hand.property
def both_move_a_little(answer: Answer) -> None:
    answer.must_match(*state(), 0.9)
    answer.must_match(*state(3), 0.75)


@teacher_by_hand.property
def momentum_one_moves_nothing(answer: Answer) -> None:
    answer.must_match(*state(5), 1.0)


@teacher_by_hand.draws
def any_step(draw: Draw) -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    width, prototypes = draw.sizes(2)
    teacher, student = draw.numbers(2, width)
    logits = draw.numbers(draw.size(), prototypes)
    momentum = draw.choice([0.0, 0.5, 0.9, 0.996, 1.0])
    return teacher, student, draw.numbers(prototypes), logits, momentum


# 08.6 ────────────────────────────────────────────────────────────────────────────────────────────

bug_in_the_map = Exercise(
    "08.6",
    title="Find the bug: a map with a seam",
    call="cls_picture(weights, registers, rows)",
    returns="shape (…, rows, columns)",
    reference=cls_picture,
    suspects=CLS,
    lesson="Row 0 is where [CLS] looks; 1 + registers tokens are no patches.",
)


def maps(*lead: int, skip: int, patches: int) -> Tensor:
    return numbers(*lead, skip + patches, skip + patches, spread=2).softmax(-1)


@bug_in_the_map.property
def with_registers(answer: Answer) -> None:
    answer.must_match(maps(2, 3, skip=5, patches=12), 4, 3)
    answer.must_match(maps(3, skip=3, patches=10), 2, 2)


@bug_in_the_map.property
def without_registers(answer: Answer) -> None:
    answer.must_match(maps(2, 3, skip=1, patches=12), 0, 3)


@bug_in_the_map.draws
def any_map(draw: Draw) -> tuple[Tensor, int, int]:
    registers, rows, columns = draw.dice.randint(0, 4), draw.size(1, 4), draw.size(1, 5)
    length = 1 + registers + rows * columns
    return draw.numbers(*draw.front(), length, length).softmax(-1), registers, rows
