"""What cannot be drawn is refused by name; what is drawn is said in words, too."""

import re
from collections.abc import Callable

import pytest

from attnlab.widgets.base import FigureError
from attnlab.widgets.diagram import Arrow, Box, Diagram, Group, Matrix, Op, Step, Text
from attnlab.widgets.machine import PARTS, machine

A, B, C = Box("a"), Box("b"), Box("c")
TABLE = Matrix("m", values=[[1.0, 2.0]])
WRONG: dict[str, tuple[Callable[[], Diagram], str]] = {
    "one place for two": (
        lambda: Diagram([Box("a", at=(0, 0)), Box("b", at=(0, 0))]),
        r"the parts 'a' at \(0, 0\) and 'b' at \(0, 0\) lie on each other",
    ),
    "partly on each other": (
        lambda: Diagram([Box("a", at=(0, 0)), Box("b", at=(0.25, 0))]),
        r"'a' at \(0, 0\) and 'b' at \(0\.25, 0\) lie on each other",
    ),
    "on each other in the tall one alone": (
        lambda: Diagram([A, B], tall={"b": (0, 0)}),
        "the parts 'a' .* and 'b' .* lie on each other",
    ),
    "tall place of a stranger": (
        lambda: Diagram([A, B], tall={"z": (0, 1)}),
        "tall places 'z', which is no part",
    ),
    "arrow to nowhere": (
        lambda: Diagram([A], ["a -> z"]),
        "the arrow 'a->z' leads from or to 'z', which is no part: there are a",
    ),
    "arrow to itself": (
        lambda: Diagram([A], ["a -> a"]),
        "the arrow 'a->a' leads back to where it begins",
    ),
    "unknown side": (
        lambda: Diagram([A, B], [Arrow("a", "b", via="behind")]),
        "the arrow 'a->b' goes via 'behind': choose one of left, right, above, below",
    ),
    "a step lights a stranger": (
        lambda: Diagram([A, B], steps=[Step("Look.", ["z"])]),
        r"step 1 \('Look\.'\) lights 'z', which is no part, arrow or group: there are a, b",
    ),
    "lit stranger": (lambda: Diagram([A, B], lit=["z"]), "lit lights 'z', which is no part"),
    "a step changes what has no values": (
        lambda: Diagram([A, B], ["a -> b"], steps=[Step("x", [], {"a->b": 1.0})]),
        "step 1 changes 'a->b', which has no values",
    ),
    "a step changes the shape": (
        lambda: Diagram([TABLE], steps=[Step("x", [], {"m": [[1.0]]})]),
        r"step 1 changes 'm' to shape \(1, 1\), but it has \(1, 2\)",
    ),
    "a step too far": (
        lambda: Diagram([A, B], steps=[Step("x")], step=1),
        "step is 1, but there are 1 steps, counted from 0",
    ),
    "frame over a stranger": (
        lambda: Diagram([A, B, C], groups=[Group("g", ["a", "c"])]),
        "the frame of the group 'g' runs over the part 'b'",
    ),
    "group of strangers": (
        lambda: Diagram([A], groups=[Group("g", ["z"])]),
        "the group 'g' holds 'z', which is no part",
    ),
    "one name twice": (lambda: Diagram([A, A]), "the name 'a' is used twice"),
    "unknown colour": (
        lambda: Diagram([Box("a", colour="mauve")]),
        "the part 'a': no colour is called 'mauve'",
    ),
    "link out of the course": (
        lambda: Diagram([Box("a", link="http://example.org")]),
        "the part 'a' links to 'http://example.org': give the anchor of a section",
    ),
    "matrix of no size": (
        lambda: Diagram([Matrix("m")]),
        "the matrix 'm' has neither values nor a size",
    ),
    "matrix too large": (
        lambda: Diagram([Matrix("m", size=(40, 40))]),
        "the matrix 'm' is 40 × 40: a diagram shows 1 to 1024 cells",
    ),
    "words for other rows": (
        lambda: Diagram([Matrix("m", size=(2, 2), rows=["one"])]),
        "the matrix 'm' has 2 rows but 1 words for them",
    ),
    "nothing at all": (lambda: Diagram([]), "the diagram has no parts"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_bad_description_is_refused_by_name(what: str) -> None:
    make, words = WRONG[what]
    with pytest.raises(FigureError, match=words):
        make()


def test_a_diagram_says_in_words_what_it_draws() -> None:
    drawn = Diagram(
        [Text("in", "the cat"), Box("q", "W_q^T"), Op("sum"), Box("out", "layer\nnorm")],
        ["in -> q: d_k", "in -> sum", "q -> sum -> out"],
        [Group("block", ["q", "sum"], "block × 6")],
        [Step("One."), Step("Two.")],
    )
    assert drawn.alt == (
        "A diagram. the cat leads to Wqᵀ (dk) and +. Wqᵀ leads to +. + leads to layer norm. "
        "block × 6 frames Wqᵀ and +. 2 steps light parts of it."
    )
    assert Diagram([A, B, C]).alt == "A diagram. a, b and c."
    assert f'aria-label="{drawn.alt}"' in drawn.fallback()
    assert Diagram([A, B], alt="Two boxes.").alt == "Two boxes.", "an author's words go first"


def test_an_arrow_is_as_thick_as_its_share_of_the_largest_value_it_ever_carries() -> None:
    drawn = Diagram(
        [A, B, C],
        [Arrow("a", "b", value=0.25), Arrow("b", "c", value=-0.5)],
        steps=[Step("x"), Step("y", [], {"a->b": 1.0})],
    )
    assert drawn.drawing["most"] == 1.0
    found = re.findall(r'data-part="(a|b)-&gt;\w".*?stroke-width:([\d.]+)', drawn.sheets[0].svg)
    assert dict(found) == {"a": "2.4", "b": "3.6"}  # 1.2 + 4.8 × share


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_machine_can_be_lit(part: str) -> None:
    assert machine(part).lit == list(PARTS[part])
