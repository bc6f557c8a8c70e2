"""Where is a token? Encodings that are added to the tokens, or rotate queries and keys.

    x = x + sinusoidal(L, E)             waves, for any length             (Vaswani et al. 2017)
    x = Learned(longest, E)(x)           one trained row per position      (Gehring et al. 2017)
    q, k = rope(q, 0), rope(k, 0)        turned by their positions         (Su et al. 2021)
    sinusoidal_2d, Rope2D                the same for the patches of an image

Encodings that change the scores instead (Shaw, T5, ALiBi) are in `relative.py`.

Shapes: B batch, H heads, L length, E model width, D head width; R rows and C columns of an image.
"""

import torch
from torch import Tensor, nn

BASE = 10_000.0  # the longest wave is about 2π · BASE positions long


def frequencies(width: int, base: float = BASE, device: torch.device | None = None) -> Tensor:
    """How many radians each pair turns from one position to the next: base^(-2i/width), (width/2,).

    From 1 down: the first pair turns fastest.
    """
    _check_width(width, 2)
    _check_base(base)
    # In double precision: position 100 000 times a rounded frequency would be far off the circle.
    exact = torch.float32 if device is not None and device.type == "mps" else torch.float64
    return base ** (-torch.arange(0, width, 2, dtype=exact, device=device) / width)


def angles(positions: Tensor, width: int, base: float = BASE) -> Tensor:
    """By how much each pair is turned at each position: (..., L) -> (..., L, width/2)."""
    turns = frequencies(width, base, positions.device)
    return positions[..., None].to(turns.dtype) * turns


def waves(positions: Tensor, width: int, base: float = BASE) -> Tensor:
    """The sinusoids at any positions, whole or not, also negative: (..., L) -> (..., L, width).

    Numbers 2i and 2i + 1 are the sine and the cosine of the same angle.
    """
    turned = angles(positions, width, base)  # (..., L, width/2)
    pairs = torch.stack([turned.sin(), turned.cos()], dim=-1)  # (..., L, width/2, 2)
    return pairs.flatten(-2).float()  # sin cos sin cos …


def sinusoidal(length: int, width: int, *, base: float = BASE, offset: int = 0) -> Tensor:
    """The sinusoids of positions offset, offset + 1, …: (length, width)."""
    return waves(torch.arange(offset, offset + length), width, base)


def sinusoidal_2d(rows: int, columns: int, width: int, *, base: float = BASE) -> Tensor:
    """concat(PE(x), PE(y)) for each patch of an image: (rows, columns, width).

    The first half of the width says which column the patch is in, the second which row.
    """
    _check_width(width, 4)
    x = sinusoidal(columns, width // 2, base=base)  # (C, width/2)
    y = sinusoidal(rows, width // 2, base=base)  # (R, width/2)
    x, y = x[None].expand(rows, -1, -1), y[:, None].expand(-1, columns, -1)
    return torch.cat([x, y], dim=-1)  # (R, C, width)


class Sinusoidal(nn.Module):
    """Adds the sinusoids to tokens (B, L, E). Nothing to learn, no longest length."""

    def __init__(self, width: int, *, base: float = BASE) -> None:
        super().__init__()
        frequencies(width, base)  # complains now rather than at the first call
        self.width, self.base = width, base

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        _check_tokens(x, self.width)
        positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
        return x + waves(positions, self.width, self.base).to(x.dtype)


class Learned(nn.Module):
    """Adds a trained vector for each position to tokens (B, L, E). It ends at `length`."""

    def __init__(self, length: int, width: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(length, width) * std)  # (length, E)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        longest, width = self.table.shape
        _check_tokens(x, width)
        end = offset + x.shape[-2]
        if offset < 0 or end > longest:
            raise ValueError(
                f"positions {offset} to {end - 1} are asked for, but only 0 to {longest - 1} have "
                f"a learned vector: cut the text, or make Learned({end}, {width}) and train it."
            )
        return x + self.table[offset:end]


class Rope(nn.Module):
    """Rotary positions: turn each pair of numbers of a query or key by an angle that grows with
    its position (Su et al. 2021). The dot product of two turned vectors depends on their distance.

    Fits `MultiHead(..., rope=Rope(D))`. Two ways to reach beyond the trained length:

    - `base`: a larger base turns more slowly (`stretched_base` says how large);
    - `squeeze`: divide all positions by it (Chen et al. 2023, position interpolation).

    Pairs are neighbours (0, 1), (2, 3), …, as in the paper. LLaMA's published weights pair
    number i with i + D/2: the same rotation after a permutation of the rows of W_q and W_k.
    """

    def __init__(self, width: int, *, base: float = BASE, squeeze: float = 1.0) -> None:
        super().__init__()
        frequencies(width, base)
        if squeeze <= 0:
            raise ValueError(
                f"squeeze is {squeeze}, but positions are divided by it: give 1 or more."
            )
        self.width, self.base, self.squeeze = width, base, squeeze
        self._table: tuple[Tensor, Tensor] | None = None  # cosines and sines of positions 0, 1, …

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """x (..., L, D), whose first token is at position `offset`."""
        _check_tokens(x, self.width)
        end = offset + x.shape[-2]
        if offset < 0 or torch.compiler.is_compiling():  # a compiler keeps what it needs itself
            return turn_pairs(x, *self._turns(offset, end, x))
        if not self._fits(x, end):
            with torch.inference_mode(False), torch.no_grad():
                self._table = self._turns(0, max(64, 2 * end), x)
        cos, sin = self._table  # type: ignore[misc]
        return turn_pairs(x, cos[offset:end], sin[offset:end])

    def _turns(self, start: int, end: int, x: Tensor) -> tuple[Tensor, Tensor]:
        positions = torch.arange(start, end, device=x.device) / self.squeeze
        turns = angles(positions, self.width, self.base)
        return turns.cos().to(x.dtype), turns.sin().to(x.dtype)

    def _fits(self, x: Tensor, end: int) -> bool:
        if self._table is None:
            return False
        cos = self._table[0]
        return len(cos) >= end and cos.dtype == x.dtype and cos.device == x.device


class Rope2D(nn.Module):
    """Rotary positions for the patches of an image, row after row, `columns` in each.

    The first half of a head is turned by the column, the second by the row, so that dot products
    depend on both distances. Fits `MultiHead(..., rope=Rope2D(D, columns))`. The first `skip`
    tokens ([CLS]) are not turned.
    """

    def __init__(self, width: int, columns: int, *, base: float = BASE, skip: int = 0) -> None:
        super().__init__()
        _check_width(width, 4)
        _check_base(base)
        if columns < 1 or skip < 0:
            raise ValueError(f"columns is {columns} and skip {skip}: give at least 1 and 0.")
        self.width, self.columns, self.base, self.skip = width, columns, base, skip

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        _check_tokens(x, self.width)
        patch = torch.arange(offset, offset + x.shape[-2], device=x.device) - self.skip
        column = angles(patch % self.columns, self.width // 2, self.base)  # (L, D/4)
        row = angles(patch.div(self.columns, rounding_mode="floor"), self.width // 2, self.base)
        turns = torch.cat([column, row], dim=-1)  # (L, D/2)
        return rotate(x, turns * (patch >= 0)[:, None])


def rotate(x: Tensor, turns: Tensor) -> Tensor:
    """Turn each pair of neighbours in x (..., L, D) by an angle of `turns` (..., L, D/2).

    (a, b) becomes (a cos − b sin, a sin + b cos): counter-clockwise, lengths stay as they are.
    """
    return turn_pairs(x, turns.cos().to(x.dtype), turns.sin().to(x.dtype))


def turn_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """`rotate` by angles whose cosines and sines are known."""
    if _complex_fits(x):
        # (a + ib)(cos + i sin) is the same turn, and runs over x once
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., L, D/2) each
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def _complex_fits(x: Tensor) -> bool:
    """Complex numbers are two neighbours in memory; compilers and some devices have none."""
    if x.dtype not in (torch.float32, torch.float64) or x.device.type not in ("cpu", "cuda"):
        return False
    even = x.stride(-1) == 1 and not any(
        step % 2 for step in (*x.stride()[:-1], x.storage_offset())
    )
    return even and not torch.compiler.is_compiling()


def stretched_base(factor: float, width: int, base: float = BASE) -> float:
    """A base whose slowest pair turns `factor` times more slowly while the fastest stays.

    The "NTK-aware" recipe (in YaRN, Peng et al. 2023, section 3.1): near neighbours are told
    apart as before, and distances `factor` times as long keep angles that were seen in training.
    """
    _check_width(width, 2)
    if width == 2 or factor <= 0:
        raise ValueError(
            f"width {width} and factor {factor} were given: a positive factor and at least two "
            "pairs (width 4) are needed, since the fastest pair stays as it is."
        )
    return base * factor ** (width / (width - 2))


def _check_width(width: int, divisor: int) -> None:
    if width < divisor or width % divisor:
        why = "sines and cosines come in pairs" if divisor == 2 else "x and y need pairs each"
        raise ValueError(f"width is {width}, but must be a multiple of {divisor}: {why}.")


def _check_base(base: float) -> None:
    if not base > 0:
        raise ValueError(f"base is {base}, but must be positive: {BASE:.0f} is usual.")


def _check_tokens(x: Tensor, width: int) -> None:
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(
            f"x has shape {tuple(x.shape)}, but (..., length, {width}) is expected: this encoding "
            f"was made for width {width}."
        )
