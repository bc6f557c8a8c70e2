"""Chapter 5: right answers in other hands."""

import math

import numpy as np
import torch
from corpus import hand
from einops import rearrange

# 05.1 my_sinusoids(length, width) ----------------------------------------------------------------


@hand("05.1")
def waves_in_numpy(length, width):
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
    out = np.zeros((length, width), dtype=np.float32)
    out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles)
    return out


@hand("05.1")
def waves_by_einsum(length, width):
    speed = torch.exp(-math.log(10_000) * torch.arange(0, width, 2).double() / width)
    angles = torch.einsum("l,w->lw", torch.arange(length).double(), speed)
    return rearrange(torch.stack([angles.sin(), angles.cos()]), "two l w -> l (w two)").float()


@hand("05.1")
class Waves(torch.nn.Module):
    def forward(self, length, width):
        column = torch.arange(width)
        angles = torch.outer(torch.arange(length), 10_000.0 ** (-(column - column % 2) / width))
        return torch.where(column % 2 == 0, angles.sin(), angles.cos())


# 05.2 shift_matrix(k, width) ---------------------------------------------------------------------


@hand("05.2")
def shift_in_numpy(k, width):
    out = np.zeros((width, width))
    for i in range(0, width, 2):
        angle = k * 10_000 ** (-i / width)
        out[i : i + 2, i : i + 2] = [
            [np.cos(angle), np.sin(angle)],
            [-np.sin(angle), np.cos(angle)],
        ]
    return out.astype(np.float32)


@hand("05.2")
def shift_by_diagonals(k, width):
    angles = k * 10_000 ** (-torch.arange(0, width, 2).double() / width)
    off = torch.stack([angles.sin(), torch.zeros_like(angles)], -1).flatten()[:-1]
    cosines = angles.cos().repeat_interleave(2)
    return (torch.diag(cosines) + torch.diag(off, 1) - torch.diag(off, -1)).float()


@hand("05.2")
class Shift:
    def __call__(self, k, width):
        angles = k * 10_000 ** (-torch.arange(0, width, 2).double() / width)
        small = torch.tensor([[0.0, 1.0], [-1.0, 0.0]]).double()
        return torch.linalg.matrix_exp(torch.block_diag(*(a * small for a in angles)))


# 05.3 my_rope(x, offset) -------------------------------------------------------------------------


@hand("05.3")
def rope_in_numpy(x, offset):
    x = x.numpy()
    places = np.arange(offset, offset + x.shape[-2])[:, None]
    theta = places * 10_000 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    a, b, out = x[..., 0::2], x[..., 1::2], np.empty_like(x)
    out[..., 0::2] = a * np.cos(theta) - b * np.sin(theta)
    out[..., 1::2] = a * np.sin(theta) + b * np.cos(theta)
    return out


@hand("05.3")
class Rope(torch.nn.Module):
    def forward(self, x, offset):
        place = torch.arange(x.shape[-2]).double() + offset
        theta = place[:, None] / 10_000 ** (torch.arange(0, x.shape[-1], 2).double() / x.shape[-1])
        cos, sin = theta.cos().repeat_interleave(2, -1), theta.sin().repeat_interleave(2, -1)
        pairs = x.unflatten(-1, (-1, 2))
        beside = torch.stack([-pairs[..., 1], pairs[..., 0]], -1).flatten(-2)
        return (x * cos + beside * sin).float()


@hand("05.3")
def rope_pair_by_pair(x, offset):
    out = torch.empty_like(x)
    for t in range(x.shape[-2]):
        for i in range(0, x.shape[-1], 2):
            angle = (offset + t) * 10_000 ** (-i / x.shape[-1])
            a, b = x[..., t, i], x[..., t, i + 1]
            out[..., t, i] = a * math.cos(angle) - b * math.sin(angle)
            out[..., t, i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


# 05.4 my_alibi(slopes, L, S) ---------------------------------------------------------------------


@hand("05.4")
def alibi_in_numpy(slopes, L, S):  # noqa: N803
    apart = np.abs(np.subtract.outer(np.arange(S - L, S), np.arange(S)))
    return -np.multiply.outer(slopes.numpy(), apart.astype(np.float32))


@hand("05.4")
def alibi_in_a_loop(slopes, L, S):  # noqa: N803
    out = torch.zeros(len(slopes), L, S)
    for row in range(L):
        for key in range(S):
            out[:, row, key] = -slopes * abs(S - L + row - key)
    return out


@hand("05.4")
class Alibi(torch.nn.Module):
    def forward(self, slopes, L, S):  # noqa: N803
        apart = torch.arange(S)[None] - torch.arange(L)[:, None] - (S - L)
        return torch.tensordot(slopes.double(), -apart.abs().double(), dims=0)


# 05.5 count_back(k, width) -----------------------------------------------------------------------


def turned(k, width):
    angles = k * 10_000 ** (-torch.arange(0, width, 2).double() / width)
    parts = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]]) for a in angles]
    return torch.block_diag(*parts).float()


@hand("05.5")
def back_in_numpy(k, width):
    return 250 * turned(k, width).numpy(), np.eye(width, dtype=np.float32)


@hand("05.5")
class Back:
    def __call__(self, k, width):
        return 220 * torch.eye(width), turned(-k, width)


@hand("05.5")
def half_the_way_each(k, width):
    return 15 * turned(k / 2, width), 15 * turned(-k / 2, width)


# 05.8 my_base(factor, width, base) ---------------------------------------------------------------


@hand("05.8")
def base_in_numpy(factor, width, base):
    return np.float64(base) * np.power(factor, width / (width - 2))


@hand("05.8")
def base_as_a_tensor(factor, width, base):
    return torch.tensor(base).double() * torch.tensor(factor).double() ** (width / (width - 2))


@hand("05.8")
def base_by_bisection(factor, width, base):
    power = (width - 2) / width
    low, high = base, base * factor**3
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if (middle / base) ** power < factor else (low, middle)
    return low


@hand("05.8")
class Base:
    def __call__(self, factor, width, base):
        return base * factor * factor ** (2 / (width - 2))


# 05.6 rope_scores(q, k) --------------------------------------------------------------------------


@hand("05.6")
def rope_scores_in_complex_numbers(q, k):
    def turned(x, first):
        angles = np.arange(first, first + len(x))[:, None] / 10_000 ** (
            np.arange(0, x.shape[-1], 2) / x.shape[-1]
        )
        pairs = x.numpy().astype(np.float64)
        return (pairs[:, ::2] + 1j * pairs[:, 1::2]) * np.exp(1j * angles)

    one, other = turned(q, len(k) - len(q)), turned(k, 0)
    return (one @ other.conj().T).real / np.sqrt(q.shape[-1])


@hand("05.6")
class RopeScores(torch.nn.Module):
    """By distance alone: the key stays, the query is turned by how far apart they stand."""

    def forward(self, q, k):
        width = q.shape[-1]
        apart = torch.arange(len(k) - len(q), len(k))[:, None] - torch.arange(len(k))
        angle = apart[..., None] * 10_000 ** (-torch.arange(0, width, 2) / width)
        (a, b), (c, d) = q.unflatten(-1, (-1, 2)).unbind(-1), k.unflatten(-1, (-1, 2)).unbind(-1)
        same = torch.einsum("lp,sp,lsp->ls", a, c, angle.cos())
        same = same + torch.einsum("lp,sp,lsp->ls", b, d, angle.cos())
        cross = torch.einsum("lp,sp,lsp->ls", a, d, angle.sin())
        return (same + cross - torch.einsum("lp,sp,lsp->ls", b, c, angle.sin())) / width**0.5


@hand("05.6")
def rope_scores_with_matrices(q, k):
    def matrix(place):
        turns = place * 10_000 ** (-torch.arange(0, q.shape[-1], 2).double() / q.shape[-1])
        return torch.block_diag(
            *(torch.tensor([[t.cos(), -t.sin()], [t.sin(), t.cos()]]).double() for t in turns)
        )

    first = len(k) - len(q)
    turned_q = torch.stack([matrix(first + i) @ row for i, row in enumerate(q.double())])
    turned_k = torch.stack([matrix(i) @ row for i, row in enumerate(k.double())])
    return turned_q @ turned_k.mT * q.shape[-1] ** -0.5


# 05.7 moves_with_you(kind) -----------------------------------------------------------------------


@hand("05.7")
class MovesWithYou:
    absolute = frozenset({"sinusoidal", "learned"})

    def __call__(self, kind):
        return kind not in self.absolute


@hand("05.7")
def moves_if_it_is_relative(kind):
    if kind == "Shaw" or kind == "T5":
        return True
    if kind == "learned":
        return False
    return kind == "ALiBi" or kind == "RoPE"


@hand("05.7")
def moves_by_capitals(kind):
    """Absolute places are common nouns here; the relative ones are names."""
    return not kind.islower()


@hand("05.7")
def moves_by_cases(kind):
    match kind:
        case "Shaw" | "T5" | "ALiBi" | "RoPE":
            return True
        case _:
            return False
