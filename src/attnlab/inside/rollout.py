"""Attention rollout: follow the attention of all layers back to the patches.

    with record(model) as maps:
        model.tokens(images)
    rollout(maps)                          # (B, L, L): row i = where token i's content comes from

A token of the last layer attended to tokens of the layer before, which attended to others. If
each layer only mixed tokens, half by attention and half by its residual connection, the products of
all layers would say where the content comes from (Abnar and Zuidema 2020). The values, the
projections and the feed-forward network are left out: a picture of the paths, not of their effect.

B batch, N layers, H heads, L tokens.
"""

import torch
from torch import Tensor

from attnlab.record import Maps, stack


def rollout(maps: Maps | Tensor, *, residual: float = 0.5, discard: float = 0.0) -> Tensor:
    """Multiply the layers' mean maps, each mixed with the identity: (B, L, L), rows sum to 1.

    - `maps`: what `record` gave, or the same stacked: (B, N, H, L, L).
    - `residual`: how much of a token stays where it is at each layer.
    - `discard`: this share of each row's smallest weights counts as nothing.
    """
    if not 0 <= residual <= 1 or not 0 <= discard < 1:
        raise ValueError(
            f"residual is {residual} and discard {discard}: shares of 0 … 1 are expected, and "
            "something must be left."
        )
    stacked = maps if isinstance(maps, Tensor) else stack(maps)  # (B, N, H, L, L)
    same = torch.eye(stacked.shape[-1], dtype=stacked.dtype, device=stacked.device)
    total = same.expand(len(stacked), -1, -1)
    for weights in stacked.unbind(dim=1):
        mean = weights.mean(dim=-3)  # (B, L, L), over the heads
        if discard:
            edge = mean.quantile(discard, dim=-1, keepdim=True)
            mean = mean.where(mean >= edge, 0)
            mean = mean / mean.sum(dim=-1, keepdim=True)
        total = (residual * same + (1 - residual) * mean) @ total
    return total


def distance(weights: Tensor, columns: int, skip: int = 1) -> Tensor:
    """How far a head attends on average, in patches: (B, H, L, L) -> (B, H).

    The mean over all patches of the distance to the patches they attend to, by weight; what goes
    to [CLS] and registers is left out (Dosovitskiy et al. 2021, Figure 7).
    """
    among = weights[..., skip:, skip:]  # (B, H, N, N)
    among = among / among.sum(dim=-1, keepdim=True)
    place = torch.arange(among.shape[-1], device=weights.device)
    spot = torch.stack([place // columns, place % columns], dim=-1).float()  # (N, 2)
    return (among * torch.cdist(spot, spot)).sum(dim=-1).mean(dim=-1)
