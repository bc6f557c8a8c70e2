"""Chapter 0, start here: what its exercises must satisfy, and what each mistake is called."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks.answer import Answer
from attnlab.checks.ch00_suspects import (
    ANALOGY,
    GLUE,
    STRETCHES,
    Pair,
    Puzzle,
    analogy,
    glue,
    stretches,
)
from attnlab.checks.compare import a_kind_of, close, numbers, show, unlike
from attnlab.checks.draw import Draw
from attnlab.checks.exercise import Exercise
from attnlab.checks.explain import Mistake
from attnlab.checks.predictions import come_true, true_or_false
from attnlab.data.tokens import patches

# 00.1 ────────────────────────────────────────────────────────────────────────────────────────────


def unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True)


cosines = Exercise(
    "00.1",
    title="The nearest word",
    call="my_cosines(query, table)",
    returns="one cosine for each row of the table, shape (V,)",
    reference=lambda query, table: unit(table) @ unit(query),
    suspects=[
        (
            "This is the plain dot product. A cosine divides by both lengths.",
            lambda query, table: table @ query,
        ),
        (
            "The rows have length 1, the query has not: divide by its length, too.",
            lambda query, table: unit(table) @ query,
        ),
        (
            "The query has length 1, the rows have not: divide each row by its own length.",
            lambda query, table: table @ unit(query),
        ),
        (
            "These are distances: small means near. A cosine is a dot product of two directions.",
            lambda query, table: (table - query).norm(dim=-1),
        ),
        (
            "This is 1 minus the cosine, a distance: 0 for the same direction. Return the cosine.",
            lambda query, table: 1 - unit(table) @ unit(query),
        ),
        (
            "The length of a row is a sum over its entries, the last axis: dim=-1, keepdim=True.",
            lambda query, table: (table / table.norm(dim=0, keepdim=True)) @ unit(query),
        ),
        (
            "You divided by the squared lengths: the length is the square root of x · x.",
            lambda query, table: (table @ query) / (table.square().sum(-1) * query.square().sum()),
        ),
        (
            "You divided by the length of the whole table; each row has a length of its own.",
            lambda query, table: (table / table.norm()) @ unit(query),
        ),
    ],
    lesson="A cosine compares directions. The length of a vector does not count.",
)


@cosines.property
def there_is_one_number_for_each_row(answer: Answer) -> None:
    answer(numbers(4), numbers(6, 4, seed=1))


@cosines.property
def a_vector_is_most_similar_to_itself(answer: Answer) -> None:
    table = numbers(5, 3, seed=2, spread=4)
    seen = answer(table[2].clone(), table)
    if not close(seen[2], 1.0):
        raise Mistake(
            f"The cosine of a vector with itself came out as {unlike(seen[2], 1, 2)}, not 1.",
            likely="Divide the dot product by both lengths.",
        )


@cosines.property
def the_lengths_do_not_count(answer: Answer) -> None:
    query, table = numbers(4, seed=3), numbers(6, 4, seed=4)
    seen, longer = answer(query, table), answer(3 * query, 5 * table)
    if not close(seen, longer):
        raise Mistake(
            "A query three times as long, or rows five times as long, changed the answer.",
            likely="A cosine compares directions only.",
        )


@cosines.property
def the_numbers_are_those_of_the_formula(answer: Answer) -> None:
    answer.must_match(numbers(4, seed=5), numbers(6, 4, seed=6))
    answer.must_match(numbers(7, seed=7, spread=3), numbers(3, 7, seed=8))


@cosines.draws
def a_query_and_a_table(draw: Draw) -> tuple[Tensor, Tensor]:
    width, spread = draw.size(1, 7), draw.choice([1.0, 1.0, 0.001, 1000.0])
    return draw.numbers(width, spread=spread), draw.numbers(draw.size(), width, spread=spread)


# 00.2 ────────────────────────────────────────────────────────────────────────────────────────────


def by_reshape(picture: Tensor, size: int) -> Tensor:
    return picture.reshape(-1, size * size * picture.shape[0])


def uneven(picture: Tensor, size: int) -> Tensor:
    """Both sides split the other way round."""
    c, h, w = picture.shape
    x = picture.reshape(c, size, h // size, size, w // size)
    return x.permute(2, 4, 1, 3, 0).reshape(-1, size * size * c)


def colours_last(picture: Tensor, size: int) -> Tensor:
    h, w, c = picture.shape
    x = picture.reshape(h // size, size, w // size, size, c)
    return x.permute(0, 2, 1, 3, 4).reshape(-1, size * size * c)


def squares(picture: Tensor, size: int) -> Tensor:
    """(C, H/P, W/P, P, P)"""
    return picture.unfold(1, size, size).unfold(2, size, size)


chop = Exercise(
    "00.2",
    title="A picture into patches",
    call="my_patches(picture, size)",
    returns="one row for each patch, shape (N, P·P·C)",
    reference=patches,
    suspects=[
        (
            "A reshape alone takes the numbers in the order they lie in memory: your rows are "
            "strips of pixels, not squares. Split both sides first, then move the axes.",
            by_reshape,
        ),
        (
            "Both sides are split into (P, H/P): that takes every H/P-th pixel. Patches first: "
            "(H/P, P).",
            uneven,
        ),
        (
            "The picture was taken for (H, W, C). Its colours come first: (C, H, W).",
            colours_last,
        ),
        (
            "The squares are right, but inside a row the colours come first. Put the colour axis "
            "last: (p q c).",
            lambda picture, size: (
                squares(picture, size).permute(1, 2, 0, 3, 4).flatten(2).flatten(0, 1)
            ),
        ),
        (
            "The patches come column by column. Read the picture as a page: row by row.",
            lambda picture, size: (
                squares(picture, size).permute(2, 1, 3, 4, 0).flatten(2).flatten(0, 1)
            ),
        ),
        (
            "Inside each patch rows and columns have changed places.",
            lambda picture, size: (
                squares(picture, size).permute(1, 2, 4, 3, 0).flatten(2).flatten(0, 1)
            ),
        ),
        (
            "One pixel of every patch went into each row: the patch axes and the grid axes have "
            "changed places.",
            lambda picture, size: (
                squares(picture, size)
                .permute(3, 4, 1, 2, 0)
                .reshape(-1, size * size * picture.shape[0])
            ),
        ),
    ],
    lesson="A picture is now a sentence: N tokens of P·P·C numbers each.",
)


@chop.property
def there_is_one_row_for_each_patch(answer: Answer) -> None:
    answer(numbers(3, 4, 6), 2)


@chop.property
def a_patch_of_one_colour_gives_a_row_of_that_colour(answer: Answer) -> None:
    picture = torch.zeros(2, 4, 6)
    picture[:, 0:2, 2:4] = 7.0  # the second patch of the first row
    seen = answer(picture, 2)
    if not (close(seen[1], 7.0) and close(seen.sum(), picture.sum())):
        where = seen.sum(1).nonzero().flatten().tolist()
        raise Mistake(
            f"One square of the picture was painted; its colour came out in rows {where} of the "
            "table, not in row 1 alone.",
            likely="Each row must hold the pixels of one square.",
        )


@chop.property
def the_order_is_that_of_a_page(answer: Answer) -> None:
    answer.must_match(numbers(3, 4, 6), 2)
    answer.must_match(numbers(2, 6, 3, seed=1), 3)
    answer.must_match(numbers(1, 4, 8, seed=2), 4)


@chop.draws
def a_picture_and_a_size(draw: Draw) -> tuple[Tensor, int]:
    size, colours = draw.size(1, 4), draw.choice([3, 1, 2])
    return draw.numbers(colours, size * draw.size(1, 5), size * draw.size(1, 5)), size


# 00.3 ────────────────────────────────────────────────────────────────────────────────────────────

gluing = Exercise(
    "00.3",
    title="Byte-pair encoding",
    call="my_glue(parts, pair)",
    returns="a list of the pieces, with every pair glued",
    reference=glue,
    suspects=GLUE,
    lesson="Count pairs, glue the commonest, repeat: that is all of byte-pair encoding.",
)


def must_glue(answer: Answer, text: str, pair: Pair, likely: str = "") -> None:
    """`text` has its pieces between spaces."""
    parts = text.split()
    expected = glue(parts, pair)
    try:
        seen = answer(parts, pair)
    except Mistake as mistake:
        gave_a_list = answer.calls and isinstance(answer.calls[-1].seen, list | tuple)
        if "in place" in mistake.seen or not gave_a_list:
            raise
        seen = answer.calls[-1].seen  # a list, but too long or too short: show it
    if not close(seen, expected):
        shown = " ".join(one if isinstance(one, str) else show(one) for one in seen)
        raise Mistake(
            f"Of `{text}` with the pair ({', '.join(pair)}), `my_glue` returned {a_kind_of(seen)}: "
            f"`{shown}`, expected `{' '.join(expected)}`.",
            likely,
        )


@gluing.property
def neighbours_become_one_piece(answer: Answer) -> None:
    must_glue(answer, "l o w e r", ("e", "r"), likely="Glue the two: `e` + `r` is `er`.")
    must_glue(answer, "l o w e s t", ("l", "o"))


@gluing.property
def every_pair_is_glued(answer: Answer) -> None:
    must_glue(answer, "s h e s e l l s h e r", ("h", "e"))


@gluing.property
def it_goes_from_left_to_right_and_uses_each_piece_once(answer: Answer) -> None:
    must_glue(answer, "a a a", ("a", "a"), likely="From left to right, each piece once: aa a.")
    must_glue(answer, "a a a a a b a a", ("a", "a"))


@gluing.property
def whole_pieces_are_compared(answer: Answer) -> None:
    must_glue(answer, "b a a b a b", ("a", "b"))
    must_glue(answer, "th in g th ing i ng", ("th", "ing"))
    must_glue(answer, "ab c a bc", ("a", "bc"))
    must_glue(answer, "xa b a b", ("a", "b"))


@gluing.property
def where_there_is_no_pair_nothing_changes(answer: Answer) -> None:
    must_glue(answer, "c a t", ("a", "c"))
    must_glue(answer, "c", ("c", "c"))
    must_glue(answer, "", ("a", "b"), likely="An empty list stays empty.")


@gluing.draws
def pieces_and_a_pair(draw: Draw) -> tuple[list[str], Pair]:
    """Of few kinds, so that pairs are common; signs with a meaning elsewhere are pieces, too."""
    letters = draw.choice([["a", "b"], ["a", "b", "ab"], [".", "*", "+", "("], ["a", "."], ["#"],
                           ["\\", "n", "$"], ["x", " ", "|", "▁"], ["un", "u", "n"]])  # fmt: skip
    parts = [draw.choice(letters) for _ in range(draw.size(0, 9))]
    if any(not one.isalnum() for one in letters):
        draw.note = "A piece may be any sign: a full stop, a blank, a bracket."
    pair = draw.choice(letters), draw.choice(letters)
    if draw.chance(0.3):  # right at the beginning, with two or fewer after it
        parts = [*pair, *parts[:2]]
    return parts, pair


# 00.4 ────────────────────────────────────────────────────────────────────────────────────────────

puzzling = Exercise(
    "00.4",
    title="All puzzles at once",
    call="my_analogy(puzzles, words, table)",
    returns="a list with one word for each puzzle",
    reference=analogy,
    suspects=ANALOGY,
    lesson="One product of (N, E) with (E, V) compares all puzzles with all words. Leaving out the "
    "given words is a choice, and it makes the famous examples work.",
)

WORDS = ["king", "queen", "man", "woman", "prince", "princess", "boy", "girl"]


def meanings() -> Tensor:
    """(8, 5): royal, female, young, human, and a number that means nothing; uneven lengths."""
    index = torch.arange(8)
    royal, female, young = (index % 4 < 2).float(), (index % 2).float(), (index >= 4).float()
    columns = [royal, female, young, torch.ones(8), torch.zeros(8)]
    length = torch.tensor([1.0, 0.6, 3.0, 0.8, 1.5, 0.7, 0.5, 2.0])
    return (torch.stack(columns, dim=-1) + numbers(8, 5, spread=0.15)) * length[:, None]


def must_solve(
    answer: Answer, puzzles: list[Puzzle], words: list[str], table: Tensor, likely: str = ""
) -> None:
    seen, expected = answer(puzzles, words, table), analogy(puzzles, words, table)
    for (a, b, c), one, other in zip(puzzles, seen, expected, strict=True):
        if not close(one, other):
            raise Mistake(
                f"{a} is to {b} as {c} is to {show(one)}: so says yours, expected {other!r}.",
                likely,
            )


@puzzling.property
def a_table_with_meaning_gives_the_words_one_expects(answer: Answer) -> None:
    puzzles: list[Puzzle] = [
        ("man", "king", "woman"),
        ("king", "queen", "prince"),
        ("queen", "woman", "prince"),
    ]
    must_solve(answer, puzzles, WORDS, meanings())


@puzzling.property
def a_single_puzzle_works_as_well(answer: Answer) -> None:
    must_solve(answer, [("man", "woman", "boy")], WORDS, meanings())


@puzzling.property
def all_numbers_are_those_of_the_formula(answer: Answer) -> None:
    words = list("abcdefghi")
    puzzles = [(a, b, c) for a, b, c in zip(words, words[1:], words[4:], strict=False)]
    must_solve(answer, puzzles, words, numbers(9, 4, seed=1) * numbers(9, 1, seed=2).abs())


@puzzling.property
def given_words_stay_out_even_if_all_others_are_far(answer: Answer) -> None:
    table = torch.tensor([[1.0, 0.0], [-0.6, 0.8], [-0.8, 0.6], [0.9, -0.3], [0.5, -0.9]])
    must_solve(answer, [("a", "b", "c")], list("abcde"), table)


@puzzling.draws
def puzzles_words_and_a_table(draw: Draw) -> tuple[list[Puzzle], list[str], Tensor]:
    words = [f"w{i}" for i in range(draw.size(4, 9))]
    puzzles = []
    for _ in range(draw.size(1, 4)):
        a, b, c = draw.dice.sample(words, 3)
        puzzles.append((a, b, c))
    table = draw.numbers(len(words), draw.size(2, 6)) * draw.numbers(len(words), 1).abs()
    if draw.chance(0.4):  # the three given words are nearest, all others far away
        puzzles = puzzles[:1]
        rows = [words.index(word) for word in puzzles[0]]
        unit = torch.nn.functional.normalize(table, dim=-1)
        target = unit[rows[1]] - unit[rows[0]] + unit[rows[2]]
        others = [i for i in range(len(words)) if i not in rows]
        table[others] = draw.numbers(len(others), table.shape[1], spread=0.3) - target
        draw.note = "Here all three given words are nearest; none of them may be the answer."
    elif draw.chance(0.4):  # the first lies between the other two, and would often win
        first, *others = (words.index(word) for word in puzzles[0])
        one, other = torch.nn.functional.normalize(table[others], dim=-1)
        table[first] = one + 0.9 * other  # not as near to both: rounding would decide between them
    return puzzles, words, table


# 00.5 ────────────────────────────────────────────────────────────────────────────────────────────

cut_sound = Exercise(
    "00.5",
    title="Find the bug",
    call="my_frames(sound, size)",
    returns="one row for each stretch of time, shape (N, F·C)",
    reference=stretches,
    suspects=STRETCHES,
    lesson="A reshape keeps the order of the numbers: what lies side by side must be the last axis "
    "that you split off. The shapes were right all along.",
)


@cut_sound.property
def there_is_one_row_for_each_stretch(answer: Answer) -> None:
    answer(numbers(2, 12), 3)


@cut_sound.property
def a_click_is_heard_in_one_row_alone(answer: Answer) -> None:
    sound = torch.zeros(2, 12)
    sound[:, 3:6] = 1.0  # the second stretch of three samples
    seen = answer(sound, 3)
    if not close(seen.sum(1), torch.tensor([0.0, 6.0, 0.0, 0.0])):
        where = seen.sum(1).nonzero().flatten().tolist()
        raise Mistake(
            "A sound of 12 samples clicks at samples 3, 4 and 5 and is silent elsewhere. In "
            f"frames of 3 the click came out in rows {where}, not in row 1 alone.",
            likely="Each row must hold samples that follow one another.",
        )


@cut_sound.property
def moment_by_moment_then_channel_by_channel(answer: Answer) -> None:
    answer.must_match(
        numbers(2, 12), 3,
        likely="Inside a row: the first moment of all channels, then the second moment, and so on.",
    )  # fmt: skip
    answer.must_match(numbers(3, 10, seed=1), 2)


@cut_sound.property
def one_channel_or_one_long_frame(answer: Answer) -> None:
    answer.must_match(numbers(1, 8, seed=2), 4)
    answer.must_match(numbers(2, 5, seed=3), 5)
    answer.must_match(numbers(4, 3, seed=4), 1)


@cut_sound.draws
def a_sound_and_a_size(draw: Draw) -> tuple[Tensor, int]:
    size = draw.size(1, 5)
    return draw.numbers(draw.choice([2, 1, 3]), size * draw.size(1, 6)), size


# 00.6 ────────────────────────────────────────────────────────────────────────────────────────────

CHANGES = {
    "every vector twice as long": "Dot product and lengths grow by the same factor, 2 · 2.",
    "every vector scaled to length 1": "A cosine divides by both lengths anyway.",
    "every sign turned": "(−a) · (−b) = a · b, and the lengths stay.",
    "the columns in another order": "A dot product is a sum over the columns, in any order.",
    "the first column doubled": "Now the first column counts more than the others.",
    "one more column, all 0": "It adds 0 to every dot product and to every length.",
    "one more column, all 1": "It adds 1 to every dot product: all words move closer.",
    "the same vector added to every word": "All words now share something, and move closer to it.",
}

prediction = Exercise(
    "00.6",
    title="Predict, then run",
    call="cosines_stay(change)",
    returns="True or False",
    lesson="Lengths, signs and the order of the columns do not count; directions from the origin "
    "do. One vector added to every word turns those directions, so the cosines change.",
)


def cosines_between(table: Tensor) -> Tensor:
    return unit(table) @ unit(table).T


def stays(change: str) -> bool:
    """Run it, on a table drawn at random."""
    table = numbers(6, 4)
    column = torch.ones(6, 1)
    new = {
        "every vector twice as long": lambda: 2 * table,
        "every vector scaled to length 1": lambda: unit(table),
        "every sign turned": lambda: -table,
        "the columns in another order": lambda: table[:, [2, 0, 3, 1]],
        "the first column doubled": lambda: table * torch.tensor([2.0, 1, 1, 1]),
        "one more column, all 0": lambda: torch.cat([table, 0 * column], dim=1),
        "one more column, all 1": lambda: torch.cat([table, column], dim=1),
        "the same vector added to every word": lambda: table + numbers(4, seed=1),
    }[change]()
    return close(cosines_between(new), cosines_between(table))


true_or_false(prediction, CHANGES, each="change")
come_true(prediction, CHANGES, stays, what="the cosines")
