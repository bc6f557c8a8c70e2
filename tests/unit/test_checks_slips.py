"""Slips: near-misses of a right answer; draws: fresh inputs; the picture of a difference."""

import itertools
import math

import pytest
import torch

from attnlab import checks
from attnlab.checks import Exercise
from attnlab.checks.draw import Draw
from attnlab.checks.picture import svg, tables
from attnlab.checks.quoted import bears_out
from attnlab.checks.slips import Endless, careful, few_steps, slips
from attnlab.checks.tried import helps


def halves(x, scale):
    """The rows, halved and shifted."""
    y = x.mean(dim=-1, keepdim=True)
    return x / scale - y


def counted(n):
    i = 0
    while i < n:
        i += 1
    return i


def test_code_that_nobody_has_written_makes_no_tensor_of_a_list_without_end():
    """`torch.tensor` of a list that contains itself crashes Python."""
    space = careful({"torch": torch, "one": 1})
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        space["torch"].tensor([1, endless])
    wide = [1]
    for _ in range(8):
        wide = [wide] * 8
    with pytest.raises(Endless):
        space["torch"].tensor(wide)
    assert space["torch"].tensor([[1, 2]]).shape == (1, 2)
    assert space["torch"].nn is torch.nn
    assert space["one"] == 1


def test_every_slip_is_another_text_with_words():
    found = list(slips(halves))
    assert len({slip.text for slip in found}) == len(found) >= 15
    kinds = {slip.kind for slip in found}
    assert {"axis", "keepdim", "scale", "sign", "function", "too early", "fixed"} <= kinds
    assert all(slip.words[-1] in ".:" for slip in found)


def test_a_slip_does_what_it_says():
    (sign,) = [s for s in slips(halves) if s.kind == "sign"]
    x = torch.arange(6.0).reshape(2, 3)
    seen = sign.function(halves.__globals__)(x, 2.0)
    assert torch.equal(seen, x / 2 + x.mean(-1, keepdim=True))
    assert "plus where a minus belongs" in sign.words


def shifted(y, scale):
    z = y * scale
    return z - 3 if scale < 1 else z


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("`scale` is used where `x` belongs.", True),  # read once in `halves`, twice here
        ("`x` is used where `scale` belongs.", False),
        ("Two quantities are mixed up: one step uses `z` for `y`.", False),  # y is an argument
        ("It is off by one: a 3 stands where a 2 belongs.", True),
        ("It is off by one: a 1 stands where a 2 belongs.", False),  # as often as in `halves`
        ("It is off by one: a 0 stands where a 1 belongs.", False),
        ("A constant is wrong: 0.5 stands where 2 belongs.", False),
        ("Two things are multiplied where they are added.", True),
        ("Two things are added where they are multiplied.", False),
        ("A difference is the wrong way round: b − a is not a − b.", True),
        ("The border is wrong: `>` stands where `>=` belongs. Look at what lies on it.", True),
        ("The border is wrong: `<=` stands where `<` belongs. Look at what lies on it.", False),
        ("The two sides of a matrix product have changed places.", False),
        ("`mean` stands where `sum` belongs.", False),  # it is not called here
        ("`mean` runs over all axes at once: one axis is meant.", False),
        ("`mean` runs along the first axis; it belongs along the last axis.", False),
        ("The `mean` is missing.", True),
        ("The `abs` is missing.", False),  # nor is it called in `halves`
        ("A matrix product is missing.", False),  # there is none in `halves`
        ("A condition is missing: it goes on as if it never held.", False),
        ("The rows do not add up to 1.", True),  # no code is quoted
    ],
)
def test_words_that_quote_code_need_it_in_the_answer(words, told):
    assert bears_out(shifted, halves, words) is told


def never(parts, pair):
    """It compares with a fixed number; `parts` for `pair` would do the same."""
    return [one for one in itertools.pairwise(parts) if one == 2]


def found(parts, pair):
    return [one for one in itertools.pairwise(parts) if one == pair]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("`parts` is used where `pair` belongs.", False),  # nowhere does it help
        ("`pair` plays no part in one place: a fixed number stands there.", True),
        ("It is off by one: a 2 stands where a 1 belongs.", False),
        ("A summand is missing.", True),  # nothing to try
    ],
)
def test_a_change_that_words_name_must_help_the_answer_itself(words, told):
    given = ["a", "b", "a"], ("a", "b")
    assert helps(never, found, words, lambda: lambda f: f(*given) == found(*given)) is told
    assert helps(max, found, words, lambda: lambda f: False)  # no code to try it on


@pytest.mark.parametrize("answer", [max, torch.nn.ReLU(), lambda x, scale: x])
def test_where_there_is_no_code_to_read_every_word_may_be_said(answer):
    assert bears_out(answer, halves, "Two things are added where they are multiplied.")


def test_an_endless_slip_is_stopped():
    for slip in slips(counted):
        try:
            with few_steps(1000):
                slip.function(counted.__globals__)(3)
        except Endless:
            return
        except Exception:
            continue
    pytest.fail("no slip of a loop was endless")


def test_a_drawing_is_the_same_again_and_sizes_differ():
    one, other = Draw(3), Draw(3)
    assert torch.equal(one.numbers(2, 3), other.numbers(2, 3))
    assert one.sizes(4) == other.sizes(4)
    assert len(set(Draw(5).sizes(4))) == 4


@pytest.fixture
def norm():
    exercise = Exercise(
        "99.3", title="The length", call="my_norm(x)", reference=lambda x: x.norm(dim=-1)
    )

    @exercise.property
    def equals_the_formula(answer):
        answer.must_match(torch.ones(2, 4))

    @exercise.draws
    def rows(draw):
        draw.note = "Numbers may be negative."
        return (draw.numbers(draw.size(), draw.size()),)

    yield exercise
    del checks.EXERCISES["99.3"]


def test_drawn_inputs_catch_what_the_properties_do_not(norm):
    verdict = norm.judge(lambda x: x.sum(-1).div(x.shape[-1] ** 0.5))
    assert not verdict
    assert verdict.failed == "other sizes and values as well"
    assert "Numbers may be negative." in verdict.message
    assert norm.judge(lambda x: x.square().sum(-1).sqrt())


def test_a_verdict_has_a_picture_with_words(norm):
    verdict = norm.judge(lambda x: x.sum(-1))
    assert "<svg" in verdict.html()
    assert 'role="img"' in verdict.html()
    assert "instead of 2" in verdict.html()
    assert "<svg" not in norm.judge(lambda x: x.norm(dim=-1)).html()


def test_the_picture_shows_the_worst_part_and_marks_what_is_no_number():
    expected = torch.zeros(2, 3, 4)
    seen = expected.clone()
    seen[1, 2, 0] = math.nan
    found = tables(seen, expected)
    assert found["place"] == [1]
    assert found["seen"][2][0] is None
    assert "no number instead of 0" in svg(found)
    assert tables(1.0, 2.0) is None
    assert tables(torch.ones(2), torch.ones(3)) is None
