"""Chapter 9: the mistakes we know, as the words a learner reads and the wrong answer itself."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab import masks
from attnlab.checks.exercise import Suspects
from attnlab.layers.windows import partition, relative_index, reverse, shift

# 09.1 my_reverse(windows, rows, columns) ---------------------------------------------------------


def _side(windows: Tensor) -> int:
    return round(windows.shape[-2] ** 0.5)


def _six(w: Tensor, rows: int, columns: int) -> Tensor:
    """(B, rows/M, columns/M, M, M, E)"""
    side = _side(w)
    return w.reshape(len(w), rows // side, columns // side, side, side, w.shape[-1])


def _of_side(w: Tensor, rows: int, columns: int, side: int) -> Tensor:
    x = w.reshape(len(w), rows // side, columns // side, side, side, -1)
    return x.transpose(2, 3).reshape(len(w), rows, columns, -1)


def _square(w: Tensor, rows: int, columns: int) -> Tensor:
    side, across = _side(w), round(w.shape[1] ** 0.5)
    x = w.unflatten(2, (side, side)).unflatten(1, (across, across))
    return x.transpose(2, 3).reshape(len(w), rows, columns, -1)


REVERSE: Suspects = [
    (
        "The numbers were only reshaped, so each window became a strip of the picture. Split into "
        "(B, rows/M, columns/M, M, M, E), swap the two axes in the middle, then flatten.",
        lambda w, r, c: w.reshape(len(w), r, c, -1),
    ),
    (
        "The windows are laid out down the columns: they come in reading order, row by row.",
        lambda w, r, c: (
            w.reshape(len(w), c // _side(w), r // _side(w), _side(w), _side(w), -1)
            .permute(0, 2, 3, 1, 4, 5)
            .reshape(len(w), r, c, -1)
        ),
    ),
    (
        "As many windows across as down were taken for granted. Pictures need not be square: "
        "there are rows/M and columns/M.",
        lambda w, r, c: _square(w, r, c),
    ),
    (
        "Axis 2 has M² places: the side of a window is its root.",
        lambda w, r, c: _of_side(w, r, c, w.shape[2]),
    ),
    (
        "7 was taken for granted, Swin's own. Axis 2 has M² places: M is its root.",
        lambda w, r, c: _of_side(w, r, c, 7),
    ),
    (
        "Every window is transposed inside: its first axis is rows.",
        lambda w, r, c: _six(w, r, c).permute(0, 1, 4, 2, 3, 5).reshape(len(w), r, c, -1),
    ),
    (
        "The picture is transposed: rows come before columns.",
        lambda w, r, c: reverse(w, r, c).transpose(1, 2),
    ),
    (
        "Rows and columns were taken for each other when the windows were counted.",
        lambda w, r, c: reverse(w, c, r),
    ),
]

# 09.2 my_shift_mask(rows, columns, M, by) --------------------------------------------------------


def shift_mask(rows: int, columns: int, window: int, by: int) -> Tensor:
    """The right answer: (W, M·M, M·M)."""
    return masks.shifted_window(rows, columns, window, by).dense()[:, 0]


def _of(region: Tensor, window: int) -> Tensor:
    cut = partition(region[None, :, :, None], window)[0, :, :, 0]
    return cut[:, :, None] == cut[:, None, :]


def _came(length: int, by: int) -> Tensor:
    return (torch.arange(length) >= length - by).long()


def rows_only(rows: int, columns: int, window: int, by: int) -> Tensor:
    return _of(_came(rows, by)[:, None].expand(rows, columns), window)


def columns_only(rows: int, columns: int, window: int, by: int) -> Tensor:
    return _of(_came(columns, by)[None].expand(rows, columns), window)


def nothing(rows: int, columns: int, window: int, by: int) -> Tensor:
    return torch.ones_like(shift_mask(rows, columns, window, by))


def _either(rows: int, columns: int, window: int, by: int) -> Tensor:
    came = _came(rows, by)[:, None] | _came(columns, by)[None]
    return _of(came, window)


def _counted(rows: int, columns: int, window: int, by: int) -> Tensor:
    """Regions added up, so that two of the four get the same number."""
    return _of(_came(rows, by)[:, None] + _came(columns, by)[None], window)


def _first_rows(rows: int, columns: int, window: int, by: int) -> Tensor:
    """The cells that come round taken to be the first ones."""
    near = (torch.arange(rows) < by).long()[:, None], (torch.arange(columns) < by).long()[None]
    return _of(2 * near[0] + near[1], window)


def _the_rest(rows: int, columns: int, window: int, by: int) -> Tensor:
    return shift_mask(rows, columns, window, window - by)


SHIFT: Suspects = [
    ("True means *may* attend here: the mask is the wrong way round.",
     lambda r, c, m, by: ~shift_mask(r, c, m, by)),
    ("Rows that came round are kept apart, but columns are not: the right edge holds strangers, "
     "too.", rows_only),
    ("Columns that came round are kept apart, but rows are not: the lower edge holds strangers, "
     "too.", columns_only),
    ("Three pieces of the last window got one number. Whether a cell came from the top and "
     "whether it came from the left are two questions: four pieces.", _either),
    ("Two of the four pieces got the same number: 1 + 0 = 0 + 1. Count one of the two double.",
     _counted),
    ("The first rows and columns were taken for those that came round. After the roll they are "
     "the last ones.", _first_rows),
    ("The last M − by rows and columns were taken for those that came round; it is the last `by`.",
     _the_rest),
    ("Every cell sees only itself.",
     lambda r, c, m, by: torch.eye(m * m, dtype=torch.bool).expand(r * c // m**2, -1, -1)),
]  # fmt: skip


def second_right_mask(rows: int, columns: int, window: int, by: int) -> Tensor:
    """Right by another way: true neighbours are less than a window apart, both ways."""
    place = torch.stack(
        torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"), dim=-1
    )
    cut = partition(shift(place[None], by), window)[0]
    return ((cut[:, :, None] - cut[:, None, :]).abs() < window).all(-1)


# 09.3 my_relative_index(M) -----------------------------------------------------------------------


def _parts(side: int) -> tuple[Tensor, Tensor]:
    cell = torch.arange(side * side)
    row, column = cell // side, cell % side
    return row[:, None] - row[None], column[:, None] - column[None]


def _index(side: int, factor: int, start: int) -> Tensor:
    down, across = _parts(side)
    return (down + start) * factor + across + start


INDEX: Suspects = [
    ("Keys minus queries: it is the query's row minus the key's, and likewise for columns.",
     lambda m: relative_index(m).T),
    ("The row offset is multiplied by M, but a row of the table has 2M − 1 entries: different "
     "offsets got the same number.", lambda m: _index(m, m, m - 1)),
    ("The row offset is multiplied by 2M. A row of the table has 2M − 1 entries.",
     lambda m: _index(m, 2 * m, m - 1)),
    ("Offsets are negative at first: add M − 1 to both, so that they begin at 0.",
     lambda m: _index(m, 2 * m - 1, 0)),
    ("M was added to both. Offsets begin at −(M − 1): add M − 1, so that they begin at 0.",
     lambda m: _index(m, 2 * m - 1, m)),
    ("Rows and columns are exchanged: the row offset is the one that is multiplied.",
     lambda m: (_parts(m)[1] + m - 1) * (2 * m - 1) + _parts(m)[0] + m - 1),
    ("The row offset is not multiplied: (1, 0) and (0, 1) get the same entry.",
     lambda m: sum(_parts(m)) + 2 * (m - 1)),
    ("Distances without a sign: left and right, above and below get the same entry.",
     lambda m: _parts(m)[0].abs() * (2 * m - 1) + _parts(m)[1].abs()),
]  # fmt: skip

# 09.4 my_merge(x) --------------------------------------------------------------------------------


def _corners(x: Tensor, order: list[tuple[int, int]]) -> Tensor:
    return torch.cat([x[:, r::2, c::2] for r, c in order], dim=-1)


MERGE: Suspects = [
    ("The order is row by row. The published one is column by column: upper left, *lower* left, "
     "upper right, lower right.",
     lambda x: _corners(x, [(0, 0), (0, 1), (1, 0), (1, 1)])),
    ("The four are added up or averaged. They stand side by side: 4E numbers.",
     lambda x: _corners(x, [(0, 0), (1, 0), (0, 1), (1, 1)]).unflatten(-1, (4, -1)).mean(-2)),
    ("The same token was taken four times.", lambda x: _corners(x, [(0, 0)] * 4)),
    ("The numbers were reshaped in the order they lie in memory: that joins four tokens of one "
     "row, not of a square.",
     lambda x: x.reshape(len(x), x.shape[1] // 2, x.shape[2] // 2, -1)),
]  # fmt: skip

# 09.5 trustworthy(make_mask) ---------------------------------------------------------------------

BROKEN: dict[str, tuple[str, Callable[[int, int, int, int], Tensor]]] = {
    "nothing": (
        "It never masks anything. Which pairs must not see each other? Ask for one of them, such "
        "as two corners in the last window.",
        nothing,
    ),
    "rows only": (
        "It keeps apart what came round from the top, but not what came from the left. Look at a "
        "window at the right edge, too.",
        rows_only,
    ),
    "columns only": (
        "It keeps apart what came round from the left, but not what came from the top. Look at a "
        "window at the lower edge, too.",
        columns_only,
    ),
    "everything": (
        "In it every token sees only itself. Ask also for pairs that *must* see each other.",
        lambda r, c, m, by: torch.eye(m * m, dtype=torch.bool).expand(r * c // m**2, -1, -1),
    ),
    "inverted": (
        "It is the right mask, inverted. True means may attend: real neighbours must see each "
        "other.",
        lambda r, c, m, by: ~shift_mask(r, c, m, by),
    ),
    "half a window": (
        "It always assumes a shift of half a window, whatever `by` says. Ask with another shift.",
        lambda r, c, m, by: shift_mask(r, c, m, m // 2),
    ),
    "swapped": (
        "It has rows and columns of the picture exchanged, which a square picture does not show. "
        "Ask with more rows than columns, and look at single windows.",
        lambda r, c, m, by: shift_mask(c, r, m, by),
    ),
}
