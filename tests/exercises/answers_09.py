"""Chapter 9: wrong answers with the words they must get, and right ones written differently."""

import math

import torch
from corpus import right, wrong
from einops import rearrange

from attnlab.layers.windows import partition, shift

# 09.1 my_reverse(windows, rows, columns) ---------------------------------------------------------


@wrong("09.1", "only reshaped")
def bare_reshape(windows, rows, columns):
    return windows.reshape(windows.shape[0], rows, columns, windows.shape[-1])


@wrong("09.1", "down the columns")
def columns_first(windows, rows, columns):
    m = math.isqrt(windows.shape[2])
    return rearrange(windows, "b (c r) (i j) e -> b (r i) (c j) e", r=rows // m, i=m)


@wrong("09.1", "transposed inside")
def turned_inside(windows, rows, columns):
    m = math.isqrt(windows.shape[2])
    return rearrange(windows, "b (r c) (j i) e -> b (r i) (c j) e", r=rows // m, i=m)


@wrong("09.1", "transposed")
def transposed(windows, rows, columns):
    return by_einops(windows, rows, columns).transpose(1, 2)


@right("09.1")
def by_einops(windows, rows, columns):
    m = math.isqrt(windows.shape[2])
    return rearrange(windows, "b (r c) (i j) e -> b (r i) (c j) e", r=rows // m, i=m)


@right("09.1")
def window_by_window(windows, rows, columns):
    m = math.isqrt(windows.shape[2])
    out = windows.new_zeros(windows.shape[0], rows, columns, windows.shape[3])
    for k in range(windows.shape[1]):
        r, c = divmod(k, columns // m)
        piece = windows[:, k].reshape(-1, m, m, windows.shape[3])
        out[:, r * m : (r + 1) * m, c * m : (c + 1) * m] = piece
    return out


# 09.2 my_shift_mask(rows, columns, M, by) --------------------------------------------------------


def same(region, m):
    cut = partition(region[None, :, :, None], m)[0, :, :, 0]
    return cut[:, :, None] == cut[:, None, :]


def regions(rows, columns, by):
    down = (torch.arange(rows) >= rows - by).long()[:, None]
    return down, (torch.arange(columns) >= columns - by).long()[None]


@wrong("09.2", "lets everybody see everybody")
def the_published_bug(rows, columns, M, by):  # noqa: N803
    region = torch.zeros(1, 1, rows, columns)
    cuts = slice(0, -M), slice(-M, -by), slice(-by, None)
    for count, (h, w) in enumerate((h, w) for h in cuts for w in cuts):
        region[h, w] = count
    return same(region[0, 0], M)


@wrong("09.2", "the wrong way round")
def inverted(rows, columns, M, by):  # noqa: N803
    return ~by_nine_regions(rows, columns, M, by)


@wrong("09.2", "but columns are not")
def rows_alone(rows, columns, M, by):  # noqa: N803
    return same(regions(rows, columns, by)[0].expand(rows, columns), M)


@wrong("09.2", "1 + 0 = 0 + 1")
def added_up(rows, columns, M, by):  # noqa: N803
    down, across = regions(rows, columns, by)
    return same(down + across, M)


@wrong("09.2", "last M − by rows")
def the_other_part(rows, columns, M, by):  # noqa: N803
    return by_nine_regions(rows, columns, M, M - by)


@right("09.2")
def by_nine_regions(rows, columns, M, by):  # noqa: N803
    region = torch.zeros(rows, columns)
    cuts = slice(0, -M), slice(-M, -by), slice(-by, None)
    for count, (h, w) in enumerate((h, w) for h in cuts for w in cuts):
        region[h, w] = count
    return same(region, M)


@right("09.2")
def by_true_places(rows, columns, M, by):  # noqa: N803
    place = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    cut = partition(shift(place.reshape(1, rows, columns, 2), by), M)[0]
    return ((cut[:, :, None] - cut[:, None, :]).abs() < M).all(-1)


# 09.3 my_relative_index(M) -----------------------------------------------------------------------


def apart(M):  # noqa: N803
    cell = torch.arange(M * M)
    row, column = cell // M, cell % M
    return row[:, None] - row[None, :], column[:, None] - column[None, :]


@wrong("09.3", "Keys minus queries")
def keys_minus_queries(M):  # noqa: N803
    down, across = apart(M)
    return (M - 1 - down) * (2 * M - 1) + M - 1 - across


@wrong("09.3", "multiplied by M")
def times_m(M):  # noqa: N803
    down, across = apart(M)
    return (down + M - 1) * M + across + M - 1


@wrong("09.3", "add M − 1 to both")
def negative(M):  # noqa: N803
    down, across = apart(M)
    return down * (2 * M - 1) + across


@wrong("09.3", "Rows and columns are exchanged")
def exchanged(M):  # noqa: N803
    down, across = apart(M)
    return (across + M - 1) * (2 * M - 1) + down + M - 1


@right("09.3")
def by_loops(M):  # noqa: N803
    cells = [(r, c) for r in range(M) for c in range(M)]
    return torch.tensor(
        [[(r - a + M - 1) * (2 * M - 1) + c - b + M - 1 for a, b in cells] for r, c in cells]
    )


@right("09.3")
def by_one_number(M):  # noqa: N803
    cell = torch.arange(M * M)
    line = (cell // M) * (2 * M - 1) + cell % M
    return line[:, None] - line[None, :] + 2 * M * (M - 1)


# 09.4 my_merge(x) --------------------------------------------------------------------------------


@wrong("09.4", "row by row")
def reading_order(x):
    return rearrange(x, "b (r i) (c j) e -> b r c (i j e)", i=2, j=2)


@wrong("09.4", "joins four tokens of one")
def in_memory_order(x):
    return x.reshape(x.shape[0], x.shape[1] // 2, x.shape[2] // 2, -1)


@wrong("09.4", "taken four times")
def four_times_the_first(x):
    return torch.cat([x[:, ::2, ::2]] * 4, dim=-1)


@right("09.4")
def merged_by_einops(x):
    return rearrange(x, "b (r i) (c j) e -> b r c (j i e)", i=2, j=2)


# 09.5 trustworthy(make_mask) ---------------------------------------------------------------------


@wrong("09.5", "It never masks anything")
def the_poor_test(make_mask):
    mask = make_mask(8, 8, 4, 2)
    return mask.shape == (4, 16, 16) and torch.equal(mask, mask.mT)


@wrong("09.5", "In it every token sees only itself")
def only_asks_whether_it_blocks(make_mask):
    mask = make_mask(8, 12, 4, 1)
    return not bool(mask[-1, 0, -1]) and not bool(mask[2, 0, 3]) and not bool(mask[3, 0, 15])


@wrong("09.5", "a shift of half a window")
def always_half(make_mask):
    return torch.equal(make_mask(8, 12, 4, 2), by_nine_regions(8, 12, 4, 2)) and torch.equal(
        make_mask(12, 8, 4, 2), by_nine_regions(12, 8, 4, 2)
    )


@wrong("09.5", "refuses a mask that is right")
def trusts_nobody(make_mask):
    return False


@wrong("09.5", "a test says True or False")
def gives_the_mask_back(make_mask):
    return make_mask(8, 12, 4, 1)


@right("09.5")
def by_nine(make_mask):
    return all(
        torch.equal(make_mask(*sizes), by_nine_regions(*sizes))
        for sizes in ((8, 12, 4, 1), (12, 8, 4, 3))
    )


@right("09.5")
def by_neighbours(make_mask):
    mask = make_mask(6, 9, 3, 2)
    return mask.shape == (6, 9, 9) and bool((mask == by_true_places(6, 9, 3, 2)).all())
