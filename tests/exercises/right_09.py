"""Chapter 9: right answers in other hands."""

import math

import numpy as np
import torch
from corpus import hand
from einops import rearrange

from attnlab.layers.windows import partition

# 09.1 my_reverse(windows, rows, columns) ---------------------------------------------------------


@hand("09.1")
def reverse_in_numpy(windows, rows, columns):
    b, _, cells, e = windows.shape
    m = math.isqrt(cells)
    x = windows.numpy().reshape(b, rows // m, columns // m, m, m, e)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, rows, columns, e)


@hand("09.1")
class Reverse(torch.nn.Module):
    def forward(self, windows, rows, columns):
        place = torch.arange(rows * columns).reshape(1, rows, columns, 1)
        order = partition(place, math.isqrt(windows.shape[2])).flatten()
        flat = windows.flatten(1, 2)
        return torch.empty_like(flat).index_copy(1, order, flat).unflatten(1, (rows, columns))


@hand("09.1")
def reverse_by_concatenation(windows, rows, columns):
    m = math.isqrt(windows.shape[2])
    squares = windows.unflatten(2, (m, m)).unbind(1)
    across = columns // m
    lines = [torch.cat(squares[i : i + across], 2) for i in range(0, len(squares), across)]
    return torch.cat(lines, 1)


# 09.2 my_shift_mask(rows, columns, M, by) --------------------------------------------------------


@hand("09.2")
def mask_in_numpy(rows, columns, M, by):  # noqa: N803
    came = np.stack(np.meshgrid(np.arange(rows) >= rows - by, np.arange(columns) >= columns - by,
                                indexing="ij"), -1)  # fmt: skip
    x = came.reshape(rows // M, M, columns // M, M, 2).transpose(0, 2, 1, 3, 4)
    x = x.reshape(-1, M * M, 2)
    return (x[:, :, None] == x[:, None]).all(-1)


@hand("09.2")
class Mask(torch.nn.Module):
    def forward(self, rows, columns, M, by):  # noqa: N803
        down = (torch.arange(rows) >= rows - by).float() * 2 - 1
        across = (torch.arange(columns) >= columns - by).float() * 2 - 1
        same_row = rearrange(down, "(r m) -> r m", m=M)
        same_column = rearrange(across, "(k m) -> k m", m=M)
        a = torch.einsum("ri,rj->rij", same_row, same_row) > 0
        b = torch.einsum("ki,kj->kij", same_column, same_column) > 0
        both = a[:, None, :, None, :, None] & b[None, :, None, :, None, :]
        return both.reshape(-1, M * M, M * M)


@hand("09.2")
def mask_cell_by_cell(rows, columns, M, by):  # noqa: N803
    tables = []
    for top in range(0, rows, M):
        for left in range(0, columns, M):
            cells = [(r >= rows - by, c >= columns - by)
                     for r in range(top, top + M) for c in range(left, left + M)]  # fmt: skip
            tables.append([[one == other for other in cells] for one in cells])
    return torch.tensor(tables)


# 09.3 my_relative_index(M) -----------------------------------------------------------------------


@hand("09.3")
def index_in_numpy(M):  # noqa: N803
    row, column = np.divmod(np.arange(M * M), M)
    return (
        (np.subtract.outer(row, row) + M - 1) * (2 * M - 1)
        + np.subtract.outer(column, column)
        + M
        - 1
    )


@hand("09.3")
class Index:
    def __call__(self, M):  # noqa: N803
        cells = torch.cartesian_prod(torch.arange(M), torch.arange(M))
        apart = cells[:, None] - cells[None] + M - 1
        return apart @ torch.tensor([2 * M - 1, 1])


@hand("09.3")
def index_by_meshgrid(M):  # noqa: N803
    grid = torch.stack(torch.meshgrid(torch.arange(M), torch.arange(M), indexing="ij")).flatten(1)
    apart = (grid[:, :, None] - grid[:, None, :]).permute(1, 2, 0).contiguous()
    apart += M - 1
    apart[:, :, 0] *= 2 * M - 1
    return apart.sum(-1)


# 09.4 my_merge(x) --------------------------------------------------------------------------------


@hand("09.4")
def merge_in_numpy(x):
    x = x.numpy()
    return np.concatenate([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], axis=-1)


@hand("09.4")
class Merge(torch.nn.Module):
    def forward(self, x):
        b, r, c, e = x.shape
        x = x.reshape(b, r // 2, 2, c // 2, 2, e)
        return x.permute(0, 1, 3, 4, 2, 5).reshape(b, r // 2, c // 2, 4 * e)


@hand("09.4")
def merge_in_a_loop(x):
    b, r, c, e = x.shape
    out = x.new_zeros(b, r // 2, c // 2, 4 * e)
    for i in range(r // 2):
        for j in range(c // 2):
            square = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            out[:, i, j] = square.transpose(1, 2).flatten(1)
    return out


@hand("09.4")
def merge_by_pixels(x):
    picture = torch.nn.functional.pixel_unshuffle(x.permute(0, 3, 1, 2), 2)  # (B, E·4, …)
    groups = picture.unflatten(1, (-1, 2, 2)).permute(0, 4, 5, 3, 2, 1)
    return groups.flatten(3)


# 09.5 trustworthy(make_mask) ---------------------------------------------------------------------


def truth(rows, columns, side, by):
    """Two cells may attend when both, or neither, came round each border."""
    place = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    came = place >= torch.tensor([rows - by, columns - by])
    came = partition(came.reshape(1, rows, columns, 2), side)[0]
    return (came[:, :, None] == came[:, None]).all(-1)


@hand("09.5")
class Trust:
    def __call__(self, make_mask):
        cases = [(4, 6, 2, 1), (6, 9, 3, 1), (8, 12, 4, 3), (10, 15, 5, 2)]
        return all(torch.equal(make_mask(*case), truth(*case)) for case in cases)


@hand("09.5")
def trust_in_numpy(make_mask):
    case = (6, 12, 3, 1)
    return bool(np.array_equal(make_mask(*case).numpy(), truth(*case).numpy())) and bool(
        np.array_equal(make_mask(8, 12, 4, 3).numpy(), truth(8, 12, 4, 3).numpy())
    )


@hand("09.5")
def trust_by_counting(make_mask):
    for case in ((6, 9, 3, 1), (8, 12, 4, 1), (12, 8, 4, 3)):
        seen, wanted = make_mask(*case), truth(*case)
        if seen.shape != wanted.shape or int((seen ^ wanted).sum()) > 0:
            return False
    return True
