"""How far apart are two tokens? Encodings that are added to the scores of attention.

    attention(q, k, v, bias=Shaw(D, reach=8)(q, S))       one trained vector per distance (2018)
    attention(q, k, v, bias=T5Bias(H)(L, S))              one trained number per bucket   (2019)
    attention(q, k, v, bias=alibi(H, L, S))               one fixed slope per head        (2021)

Shapes: B batch, H heads, L queries, S keys, D head width. Queries are at the last L of the S
positions, as with `causal=True`, so that the biases are right with a KV cache as well.
"""

import math

import torch
from torch import Tensor, nn


def distances(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Position of the key minus position of the query, (L, S): negative = the key comes before."""
    if not 1 <= queries <= keys:
        raise ValueError(
            f"{queries} queries and {keys} keys were given, but the queries are the last of the "
            "keys' positions: give at least 1 query, and no more than keys."
        )
    positions = torch.arange(keys, device=device)
    return positions - positions[keys - queries :, None]


class Shaw(nn.Module):
    """Relative position representations (Shaw et al. 2018), on the keys.

    The score of a pair becomes q · (k + a) / √D, where the vector a belongs to the distance,
    clipped to ±`reach`; all heads share it. Since q · (k + a) = q · k + q · a, it is a bias.
    Shaw's second set of vectors, on the values, is left out: their ablation (Table 3) finds no
    loss of BLEU without it.
    """

    def __init__(self, width: int, *, reach: int = 16) -> None:
        super().__init__()
        if reach < 1:
            raise ValueError(f"reach is {reach}, but at least distance 1 must be told apart.")
        self.reach = reach
        self.vectors = nn.Parameter(torch.randn(2 * reach + 1, width) * width**-0.5)

    def forward(self, q: Tensor, keys: int) -> Tensor:
        """(B, H, L, D) -> (B, H, L, S). L · (2·reach + 1) dot products, not L · S of them."""
        if q.dim() < 2 or q.shape[-1] != self.vectors.shape[-1]:
            raise ValueError(
                f"q has shape {tuple(q.shape)}, but (..., length, {self.vectors.shape[-1]}) is "
                "expected: give the queries of the heads, before attention."
            )
        scores = q @ self.vectors.T * q.shape[-1] ** -0.5  # (B, H, L, 2·reach + 1)
        clipped = distances(q.shape[-2], keys, q.device).clamp(-self.reach, self.reach)
        return scores.gather(-1, (clipped + self.reach).expand(*q.shape[:-1], keys))


def t5_bucket(
    distance: Tensor, *, buckets: int = 32, furthest: int = 128, both_ways: bool = True
) -> Tensor:
    """The bucket of each distance (key minus query), as in T5 (Raffel et al. 2019, section 2.1).

    Small distances have a bucket each, more distant ones share wider and wider buckets, and from
    `furthest` on all are in the last. With `both_ways` half of the buckets are for keys that come
    after the query; without, those all fall into bucket 0, where a causal mask hides them.
    """
    if buckets < 4 or buckets % 4 or furthest <= buckets // 2:
        raise ValueError(
            f"{buckets} buckets up to distance {furthest} were asked for: give a multiple of 4 "
            "buckets, and a furthest distance above half their number."
        )
    side = buckets // 2 if both_ways else buckets
    far = distance.abs() if both_ways else (-distance).clamp(min=0)
    exact = side // 2  # distances 0 … exact − 1 have a bucket each
    grown = torch.log(far.clamp(min=1).double() / exact) / math.log(furthest / exact)  # 0 … 1
    # 1e-9: a distance on a bucket's edge belongs to it, whatever the rounding of the logarithm
    wide = exact + ((side - exact) * grown + 1e-9).floor().long()
    bucket = torch.where(far < exact, far, wide.clamp(max=side - 1))
    return bucket + side * (distance > 0) if both_ways else bucket


class T5Bias(nn.Module):
    """A trained number for each head and bucket of distances: (H, L, S).

    T5 itself does not divide its scores by √D. With our `attention` they are divided, and the
    bias is added after it.
    """

    def __init__(
        self, heads: int, *, buckets: int = 32, furthest: int = 128, both_ways: bool = True
    ) -> None:
        super().__init__()
        self.buckets, self.furthest, self.both_ways = buckets, furthest, both_ways
        self.table = nn.Parameter(torch.zeros(buckets, heads))

    def forward(self, queries: int, keys: int) -> Tensor:
        bucket = t5_bucket(
            distances(queries, keys, self.table.device),
            buckets=self.buckets, furthest=self.furthest, both_ways=self.both_ways,
        )  # fmt: skip
        return self.table[bucket].movedim(-1, 0)  # (L, S, H) -> (H, L, S)


def alibi_slopes(heads: int) -> Tensor:
    """One slope per head, a geometric sequence that ends at 2⁻⁸ (Press et al. 2021): (H,).

    8 heads: 1/2, 1/4, …, 1/256. If H is not a power of two: the slopes of the power below, filled
    up with every other slope of the power above, as in the authors' code.
    """
    if heads < 1:
        raise ValueError(f"{heads} heads were asked for: give at least 1.")
    below = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8 * (i + 1) / below) for i in range(below)]
    between = [2.0 ** (-8 * (i + 1) / (2 * below)) for i in range(0, 2 * below, 2)]
    return torch.tensor(slopes + between[: heads - below])


def alibi(heads: int, queries: int, keys: int, *, device: torch.device | None = None) -> Tensor:
    """−slope · |distance|: the further, the lower the score, and nothing to learn: (H, L, S)."""
    far = distances(queries, keys, device).abs()  # (L, S)
    return -alibi_slopes(heads).to(far.device)[:, None, None] * far
