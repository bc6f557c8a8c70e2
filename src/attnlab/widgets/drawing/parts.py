"""What a diagram is described with: parts, arrows between them, groups around them, steps.

A label may have several lines ("\\n") and scripts: `d_k`, `W_{out}`, `K^T`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Place = tuple[float, float]  # column, row; a place between two columns or rows is a fraction
SIDES = ("left", "right", "above", "below")


@dataclass(frozen=True)
class Part:
    """What all parts have. A part without `at` stands to the right of the one before it.

    name    what arrows, groups and steps call it
    label   what is written in it; the name, if nothing is given
    at      column and row, counted from 0; `to` is the last column and row of one that stretches
    colour  what it stands for ("query", "attention", "encoder"), or a hue ("blue"): any name of
            `attnlab.palette`
    link    "#anchor" of the section about it: a click jumps there
    """

    name: str
    label: str | None = None
    at: Place | None = field(default=None, kw_only=True)
    to: Place | None = field(default=None, kw_only=True)
    colour: str = field(default="", kw_only=True)
    link: str = field(default="", kw_only=True)

    @property
    def words(self) -> str:
        return self.name if self.label is None else self.label


@dataclass(frozen=True)
class Box(Part):
    """A rectangle with words; `detail` is a smaller line below them, such as a shape."""

    detail: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Text(Part):
    """Words without a frame."""

    detail: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Op(Part):
    """A circle with a sign: + where a residual path comes back, × for a product."""

    @property
    def words(self) -> str:
        return "+" if self.label is None else self.label


@dataclass(frozen=True)
class Matrix(Part):
    """A table of numbers, one cell each, coloured by value; the shape is written beside the name.

    values   (rows, columns), or (columns,) for a single row
    size     (rows, columns) of an empty table, where there are no values
    shape    words for the shape, such as "L × D"; the numbers, if nothing is given; "" for none
    rows     a word for each row, left of the table; `columns` one for each column, below it
    numbers  write the values into the cells; by default when there are at most 40 cells
    digits   after the point; none for whole numbers, otherwise 2
    law      how numbers become colours (see `attnlab.palette`): "weights", "signed" or "amounts";
             found from the numbers, if nothing is given
    scale    the value that has the strongest colour; by default 1 for weights, else the largest
    cell     side of a cell without numbers, in units (words are 16 units high)
    """

    values: Any = field(default=None, kw_only=True)
    size: tuple[int, int] | None = field(default=None, kw_only=True)
    shape: str | None = field(default=None, kw_only=True)
    rows: Sequence[str] = field(default=(), kw_only=True)
    columns: Sequence[str] = field(default=(), kw_only=True)
    numbers: bool | None = field(default=None, kw_only=True)
    digits: int | None = field(default=None, kw_only=True)
    law: str = field(default="", kw_only=True)
    scale: float | None = field(default=None, kw_only=True)
    cell: float = field(default=16.0, kw_only=True)


@dataclass(frozen=True)
class Arrow:
    """An arrow from a part (or group) to another.

    via     the side it goes round: "left", "right", "above" or "below", as a residual path does;
            a pair is for the wide and the tall drawing
    value   a number it carries: written on it if it has no label, and shown as its thickness
    name    what steps call it; "source->target" by default
    """

    source: str
    target: str
    label: str = ""
    via: str | tuple[str, str] = field(default="", kw_only=True)
    value: float | None = field(default=None, kw_only=True)
    dashed: bool = field(default=False, kw_only=True)
    head: bool = field(default=True, kw_only=True)
    name: str = field(default="", kw_only=True)

    @property
    def called(self) -> str:
        return self.name or f"{self.source}->{self.target}"


@dataclass(frozen=True)
class Group:
    """A dashed frame around parts, with words on top: a stack of layers and "× 6"."""

    name: str
    parts: Sequence[str]
    label: str = ""
    colour: str = field(default="", kw_only=True)
    link: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Step:
    """One state of the diagram: a sentence, the parts that are lit, and values that change.

    An arrow is lit when it is named, or when both its ends are. `values` holds a matrix for the
    name of a Matrix, a number for the name of an arrow with a value; later steps keep them.
    """

    text: str
    lit: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


def chain(text: str) -> list[Arrow]:
    """Arrows from a line: "x -> norm -> attention: softmax" labels its last arrow."""
    path, _, label = text.partition(":")
    names = [name.strip() for name in path.split("->")]
    made = [Arrow(a, b) for a, b in pairwise(names)]
    if made and label.strip():
        made[-1] = Arrow(made[-1].source, made[-1].target, label.strip())
    return made
