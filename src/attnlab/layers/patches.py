"""A picture as a row of tokens: cut it into patches, project each, say where it was.

    patchify(images, 16)                   # (B, 3, 224, 224) -> (B, 196, 768): only rearranged
    PatchEmbedding(3, 16, E)(images)       # (B, 196, E): one linear map for every patch
    positions = GridPositions("1d", 14, 14, E)

Positions of patches, the switch of the ViT paper's ablation (Dosovitskiy et al. 2021, D.4):

    none       a bag of patches
    1d         a trained vector for each patch, numbered row after row
    2d         a trained vector for the column and one for the row, half the width each
    relative   a trained number for each offset between two patches, added to the scores

Shapes: B batch, C channels, P side of a patch in pixels, R rows and K columns of patches,
N = R·K patches, E model width, H heads, `skip` tokens before the patches ([CLS]).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KINDS = ("none", "1d", "2d", "relative")


def patchify(images: Tensor, patch: int) -> Tensor:
    """Cut into squares and flatten each: (B, C, R·P, K·P) -> (B, N, C·P·P). No number changes."""
    rows, columns = grid_of(images, patch)
    x = images.unflatten(-2, (rows, patch)).unflatten(-1, (columns, patch))  # (B, C, R, P, K, P)
    return x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # (B, N, C·P·P)


def unpatchify(tokens: Tensor, patch: int, rows: int) -> Tensor:
    """Undo `patchify`: (B, N, C·P·P) -> (B, C, R·P, K·P)."""
    if tokens.dim() != 3 or tokens.shape[1] % rows or tokens.shape[2] % patch**2:
        raise ValueError(
            f"tokens have shape {tuple(tokens.shape)}, but (batch, patches, channels · {patch}²) "
            f"is expected, with a number of patches that {rows} rows divide: drop [CLS] first."
        )
    x = tokens.unflatten(1, (rows, -1)).unflatten(3, (-1, patch, patch))  # (B, R, K, C, P, P)
    return x.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)  # (B, C, R·P, K·P)


def grid_of(images: Tensor, patch: int) -> tuple[int, int]:
    """How many rows and columns of patches a batch of pictures has."""
    if images.dim() != 4:
        raise ValueError(
            f"images have shape {tuple(images.shape)}, but (batch, channels, height, width) is "
            "expected: one picture is images[None]."
        )
    height, width = images.shape[-2:]
    if height % patch or width % patch or not height or not width:
        raise ValueError(
            f"pictures of {height} × {width} pixels cannot be cut into patches of {patch}: crop or "
            f"resize them to multiples of {patch}."
        )
    return height // patch, width // patch


class PatchEmbedding(nn.Module):
    """One linear map for every patch, written as a convolution whose step is its width.

    The convolution's weight (E, C, P, P), flattened, is the matrix of the linear map: `by_hand`
    computes the same from `patchify`, and the tests hold that both agree.
    """

    def __init__(self, channels: int, patch: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.project = nn.Conv2d(channels, width, kernel_size=patch, stride=patch)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, R·P, K·P) -> (B, N, E)"""
        grid_of(images, self.patch)
        return self.project(images).flatten(2).transpose(1, 2)  # (B, E, R, K) -> (B, N, E)

    def by_hand(self, images: Tensor) -> Tensor:
        """The same, patch after patch: cut, flatten, multiply by one matrix."""
        flat = patchify(images, self.patch)  # (B, N, C·P·P)
        return F.linear(flat, self.project.weight.flatten(1), self.project.bias)


class GridPositions(nn.Module):
    """Says where each patch is, in one of four ways (`KINDS`), for pictures of R × K patches.

    Tokens are given and returned with their `skip` leading tokens. With "1d" those have trained
    positions, too, as in the paper; with the other kinds they have none.
    """

    def __init__(
        self, kind: str, rows: int, columns: int, width: int, *, skip: int = 1, heads: int = 1
    ) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"positions are {kind!r}, but must be one of {', '.join(KINDS)}.")
        self.kind, self.rows, self.columns, self.skip = kind, rows, columns, skip
        if kind == "1d":
            self.table = nn.Parameter(torch.randn(skip + rows * columns, width) * 0.02)
        elif kind == "2d":
            self.row = nn.Parameter(torch.randn(rows, width // 2) * 0.02)
            self.column = nn.Parameter(torch.randn(columns, width - width // 2) * 0.02)
        elif kind == "relative":
            self.offsets = nn.Parameter(torch.zeros((2 * rows - 1) * (2 * columns - 1), heads))

    def forward(self, x: Tensor, rows: int, columns: int) -> Tensor:
        """Add the positions to tokens (B, skip + N, E) of a picture of rows × columns patches."""
        if self.kind in ("none", "relative"):
            return x
        if self.kind == "1d":
            return x + self.places(rows, columns)
        return torch.cat([x[:, : self.skip], x[:, self.skip :] + self.places(rows, columns)], 1)

    def places(self, rows: int, columns: int) -> Tensor:
        """The trained vectors, resized if the picture is not R × K: (skip + N, E) or (N, E)."""
        if self.kind == "1d":
            own, patches = self.table[: self.skip], self.table[self.skip :]
            return torch.cat([own, resize(patches, (self.rows, self.columns), (rows, columns))])
        if self.kind == "2d":
            row = resize(self.row, (self.rows, 1), (rows, 1))
            column = resize(self.column, (1, self.columns), (1, columns))
            halves = [row[:, None].expand(-1, columns, -1), column.expand(rows, -1, -1)]
            return torch.cat(halves, dim=-1).flatten(0, 1)  # (R, K, E) -> (N, E)
        raise ValueError(f"positions of kind {self.kind!r} are not vectors that are added.")

    def bias(self, rows: int, columns: int) -> Tensor | None:
        """What "relative" adds to the scores, (H, skip + N, skip + N); None for the other kinds."""
        if self.kind != "relative":
            return None
        if (rows, columns) != (self.rows, self.columns):
            raise ValueError(
                f"relative positions were made for {self.rows} × {self.columns} patches, but the "
                f"picture has {rows} × {columns}: give it that size."
            )
        among = self.offsets[offsets(rows, columns)].movedim(-1, 0)  # (N, N, H) -> (H, N, N)
        return F.pad(among, (self.skip, 0, self.skip, 0))  # [CLS] is nowhere: 0


def offsets(rows: int, columns: int) -> Tensor:
    """The index of the offset from patch i to patch j, 0 … (2R − 1)(2K − 1) − 1: (N, N)."""
    row = torch.arange(rows).repeat_interleave(columns)  # (N,)
    column = torch.arange(columns).repeat(rows)
    down = row - row[:, None] + rows - 1  # 0 … 2R − 2
    right = column - column[:, None] + columns - 1
    return down * (2 * columns - 1) + right


def resize(table: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """Trained positions for another grid, between the old ones: (R·K, E) -> (R'·K', E).

    Bicubic, as published ViTs do it. The picture is larger in patches, not in what it shows, so the
    corners stay in the corners.
    """
    if old == new:
        return table
    if len(table) != old[0] * old[1]:
        raise ValueError(
            f"the table has {len(table)} places, but a grid of {old[0]} × {old[1]} has "
            f"{old[0] * old[1]}: leave [CLS] out."
        )
    picture = table.unflatten(0, old).permute(2, 0, 1)[None]  # (1, E, R, K)
    mode = "bicubic" if min(*old, *new) > 1 else "bilinear"
    grown = F.interpolate(picture, size=new, mode=mode, align_corners=False)
    return grown[0].permute(1, 2, 0).flatten(0, 1)  # (R'·K', E)
