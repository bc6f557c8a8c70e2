"""Chapter 9: its exercises answered plainly, as the chapter does; slips.py changes them."""

import math

import torch

from attnlab.layers.windows import partition


def my_reverse(windows, rows, columns):
    """(B, W, M·M, E) -> (B, rows, columns, E)"""
    M = math.isqrt(windows.shape[2])  # noqa: N806 - side of a window
    x = windows.reshape(-1, rows // M, columns // M, M, M, windows.shape[3])
    return x.transpose(2, 3).reshape(-1, rows, columns, windows.shape[3])


def my_shift_mask(rows, columns, M, by):
    """(W, M·M, M·M), bool: True = may attend"""
    from_top = torch.arange(rows)[:, None] >= rows - by
    from_left = torch.arange(columns)[None, :] >= columns - by
    region = 2 * from_top.long() + from_left.long()  # (rows, columns)
    cut = partition(region[None, :, :, None], M)[0, :, :, 0]  # (W, M·M)
    return cut[:, :, None] == cut[:, None, :]


def my_relative_index(M):
    """(M·M, M·M), whole numbers from 0 to (2M−1)² − 1"""
    cell = torch.arange(M * M)
    row, column = cell // M, cell % M  # of each cell
    down = row[:, None] - row[None, :] + M - 1  # 0 … 2M−2
    across = column[:, None] - column[None, :] + M - 1
    return down * (2 * M - 1) + across


def my_merge(x):
    """(B, R, C, E) -> (B, R/2, C/2, 4E)"""
    upper_left = x[:, 0::2, 0::2]
    lower_left = x[:, 1::2, 0::2]
    upper_right = x[:, 0::2, 1::2]
    lower_right = x[:, 1::2, 1::2]
    return torch.cat([upper_left, lower_left, upper_right, lower_right], dim=-1)
