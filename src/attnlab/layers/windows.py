"""Windows: attention inside small squares of a picture (Swin: Liu et al. 2021).

    x                 (B, R, C, E)          a picture of R × C tokens
    partition(x, M)   (B, W, M·M, E)        W = R/M · C/M windows, each a short sequence of its own
    reverse(w, R, C)  (B, R, C, E)          and back

Every other block rolls the picture first, so that its windows straddle the borders of the last
ones. Then some windows hold cells from opposite edges: `masks.shifted_window` keeps those apart.

B batch, R rows, C columns, M window side, W windows, E model width, H heads.
"""

from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.layers.heads import MultiHead
from attnlab.masks import check_whole, shifted_window


def partition(x: Tensor, window: int) -> Tensor:
    """Cut a picture into windows, in reading order: (B, R, C, E) -> (B, W, M·M, E)."""
    _check_picture(x)
    check_whole(1, window=window)
    rows, columns = x.shape[1:3]
    if rows % window or columns % window:
        raise ValueError(
            f"a {rows}×{columns} picture does not divide into {window}×{window} windows: pad it "
            f"first, pad_to(x, {window})."
        )
    x = x.unflatten(2, (-1, window)).unflatten(1, (-1, window))  # (B, R/M, M, C/M, M, E)
    return x.transpose(2, 3).flatten(3, 4).flatten(1, 2)


def reverse(windows: Tensor, rows: int, columns: int) -> Tensor:
    """Put windows back into their picture: (B, W, M·M, E) -> (B, R, C, E)."""
    side = round(windows.shape[-2] ** 0.5) if windows.dim() == 4 else 0
    if side * side != windows.shape[-2] or windows.shape[1] * side * side != rows * columns:
        raise ValueError(
            f"windows have shape {tuple(windows.shape)}, but (batch, windows, side·side, width) "
            f"with {rows * columns} cells in all is expected for a {rows}×{columns} picture."
        )
    x = windows.unflatten(2, (side, side)).unflatten(1, (-1, columns // side))
    return x.transpose(2, 3).flatten(3, 4).flatten(1, 2)  # (B, R/M, M, C/M, M, E) in between


def shift(x: Tensor, by: int) -> Tensor:
    """Roll a picture up and left; what leaves on one side comes back on the other."""
    return torch.roll(x, (-by, -by), dims=(1, 2)) if by else x


def pad_to(x: Tensor, multiple: int) -> Tensor:
    """Zeros below and on the right, until both sides are multiples of it."""
    _check_picture(x)
    below, right = -x.shape[1] % multiple, -x.shape[2] % multiple
    return F.pad(x, (0, 0, 0, right, 0, below)) if below or right else x


def relative_index(window: int, table: int | None = None) -> Tensor:
    """Which entry of the table belongs to query i and key j: (M·M, M·M).

    Two cells of a window are −(M−1) … M−1 rows apart, and as many columns: (2M−1)² offsets. The
    offset (0, 0) has the entry in the middle. `table` is the window that the table was made for, if
    a larger one.
    """
    side = window if table is None else table
    check_whole(1, window=window, table=side)
    if window > side:
        raise ValueError(
            f"a table made for windows of {side}×{side} knows no offsets of {window}×{window} ones."
        )
    cell = torch.arange(window * window)
    row, column = cell // window, cell % window
    down = row[:, None] - row[None, :] + side - 1  # 0 … 2M−2
    across = column[:, None] - column[None, :] + side - 1
    return down * (2 * side - 1) + across


class RelativeBias(nn.Module):
    """One trained number per head for every offset between two cells of a window (§3.2)."""

    index: Tensor

    def __init__(self, window: int, heads: int) -> None:
        super().__init__()
        check_whole(1, window=window, heads=heads)
        self.window = window
        self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        nn.init.trunc_normal_(self.table, std=0.02)
        self.register_buffer("index", relative_index(window), persistent=False)

    def forward(self, window: int | None = None) -> Tensor:
        """What is added to the scores: (H, M·M, M·M). A smaller window uses the table's middle."""
        smaller = window is not None and window != self.window
        index = relative_index(window, self.window) if smaller and window else self.index
        index = index.to(self.table.device)
        # Heads first, as in the scores: what is added to them is then read in one go.
        return self.table.T.index_select(1, index.flatten()).unflatten(1, index.shape)


class WindowAttention(nn.Module):
    """Multi-head attention in windows, shifted or not: (B, R, C, E) -> (B, R, C, E).

    - A picture smaller than a window is one window, and is not shifted.
    - A picture that windows do not divide is padded with zeros. As in the published models, padding
      is not masked: its keys score what the bias says.
    """

    def __init__(self, width: int, heads: int, window: int, *, shift: int = 0) -> None:
        super().__init__()
        check_whole(0, shift=shift)
        if shift >= window:
            raise ValueError(f"shift is {shift}, but it must lie in 0…{window - 1}.")
        self.attend = MultiHead(width, heads)
        self.bias = RelativeBias(window, heads)
        self.window, self.shift = window, shift

    def forward(self, x: Tensor) -> Tensor:
        rows, columns = x.shape[1:3]
        window = min(self.window, rows, columns)
        by = 0 if min(rows, columns) <= self.window else self.shift
        x = pad_to(x, window)
        padded = x.shape[1:3]
        there, back = _ways(*padded, window, by, str(x.device))
        windows = _Move.apply(x.flatten(1, 2), there, back).unflatten(1, (-1, window**2))
        mask = _shift_mask(*padded, window, by, str(x.device)) if by else None  # (W, 1, M·M, M·M)
        windows = self.attend(windows, mask=mask, bias=self.bias(window))  # (B, W, M·M, E)
        x = _Move.apply(windows.flatten(1, 2), back, there).unflatten(1, padded)
        return x[:, :rows, :columns]


class _Move(torch.autograd.Function):
    """Tokens (B, L, E) in another order: one copy, where a roll and a cut would make three.

    The gradient takes the reverse order.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, there: Tensor, back: Tensor) -> Tensor:
        ctx.save_for_backward(there, back)
        return x.index_select(1, there)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        there, back = ctx.saved_tensors
        return _Move.apply(grad, back, there), None, None


# Made once for each size of picture. Not as inference tensors: no training could use those later.
@lru_cache(maxsize=64)
@torch.inference_mode(False)
def _ways(rows: int, columns: int, window: int, by: int, device: str) -> tuple[Tensor, Tensor]:
    """Where each token of `partition(shift(x, by), window)` comes from, and the inverse."""
    number = torch.arange(rows * columns, device=device).view(1, rows, columns, 1)
    there = partition(shift(number, by), window).flatten()
    return there, there.argsort()


@lru_cache(maxsize=64)
@torch.inference_mode(False)
def _shift_mask(rows: int, columns: int, window: int, by: int, device: str) -> Tensor:
    return shifted_window(rows, columns, window, by).dense(device)


def _check_picture(x: Tensor) -> None:
    if x.dim() != 4:
        raise ValueError(
            f"x has shape {tuple(x.shape)}, but a picture of tokens is (batch, rows, columns, "
            "width): unflatten a sequence with x.unflatten(1, (rows, columns))."
        )
