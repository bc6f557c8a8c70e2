"""From an attention map to an outline, and how well the outline fits.

    mask = keep_mass(cls_map, 0.6)             # the fewest patches that hold 60 % of the mass
    jaccard(enlarge(mask, 64), gold)           # |A ∩ B| / |A ∪ B|

The protocol of DINO (Caron et al. 2021, §4.2.2): the last layer's [CLS] map of each head, 60 % of
its mass, the best head of each picture. "Best" needs the gold outline; a rule fixed beforehand,
such as the mean of all heads, does not. `score` gives both.

B pictures, H heads, R rows and K columns of patches, S side in pixels.
"""

import torch
from torch import Tensor

from attnlab.models.vit import ViT, grid
from attnlab.record import record


def keep_mass(values: Tensor, share: float = 0.6) -> Tensor:
    """The fewest entries of a map whose sum reaches `share` of the whole: (..., R, K) -> bool."""
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}, but it must be above 0 and at most 1.")
    flat = values.flatten(-2)
    order = flat.argsort(dim=-1, descending=True, stable=True)  # of equals, the first
    mass = flat.gather(-1, order)
    mass = mass / mass.sum(dim=-1, keepdim=True)
    before = mass.cumsum(dim=-1) - mass  # what the larger ones already hold
    kept = torch.zeros_like(flat, dtype=torch.bool).scatter(-1, order, before < share)
    return kept.unflatten(-1, values.shape[-2:])


def jaccard(mask: Tensor, gold: Tensor) -> Tensor:
    """Intersection over union: bool (..., S, S) twice -> (...). Two empty masks agree: 1."""
    both = (mask & gold).flatten(-2).sum(dim=-1)
    either = (mask | gold).flatten(-2).sum(dim=-1)
    return torch.where(either > 0, both / either.clamp(min=1), torch.ones(()))


def enlarge(mask: Tensor, size: int) -> Tensor:
    """Every patch as the square it stands for: (..., R, K) -> (..., size, size)."""
    rows, columns = mask.shape[-2:]
    if size % rows or size % columns:
        raise ValueError(f"{rows} × {columns} patches do not tile {size} pixels evenly.")
    grown = mask.repeat_interleave(size // rows, dim=-2)
    return grown.repeat_interleave(size // columns, dim=-1)


@torch.no_grad()
def cls_maps(model: ViT, images: Tensor, layer: int = -1) -> Tensor:
    """Where [CLS] attends in one layer, per head: (B, H, R, K)."""
    name = f"blocks.{range(len(model.blocks))[layer]}.attention"
    with record(model, name) as maps:
        model.tokens(images)
    found = maps[name]
    assert isinstance(found, Tensor)
    return grid(found[:, :, 0], model, images)


def score(maps: Tensor, gold: Tensor, share: float = 0.6) -> dict[str, float]:
    """Mean Jaccard of maps (B, H, R, K) with gold (B, S, S): best head, mean of the heads."""
    size = gold.shape[-1]
    each = jaccard(enlarge(keep_mass(maps, share), size), gold[:, None])  # (B, H)
    together = jaccard(enlarge(keep_mass(maps.mean(dim=1), share), size), gold)  # (B,)
    return {"best": float(each.amax(dim=1).mean()), "mean": float(together.mean())}


def nearest_neighbours(bank: Tensor, kinds: Tensor, queries: Tensor, count: int = 5) -> Tensor:
    """The kind most common among the `count` nearest by cosine: (M, E), (M,), (B, E) -> (B,)."""
    unit = torch.nn.functional.normalize
    close = (unit(queries, dim=-1) @ unit(bank, dim=-1).T).topk(count, dim=-1).indices
    return kinds[close].mode(dim=-1).values
