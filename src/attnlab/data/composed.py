"""Pictures with outlines: an object on a ground, and exactly which pixels are the object.

    pictures = composed.draw(32, size=64, split="train", seed=0)
    pictures.pixels                # (32, 3, 64, 64), 0…1
    pictures.gold                  # (32, 64, 64), bool: True where the object is
    pictures.kinds                 # (32,), which object it is

The objects of the test split never occur in training. The grounds are three real textures (grass,
gravel, brick) in changing tints; the objects are Fluent Emoji (Microsoft, MIT licence), whose
transparency says where they end. `training/vision_data.py` made the sheets.

B pictures, S their side in pixels, N objects.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from attnlab import assets

SHEET, GROUND_SHEET = "pictures/objects_many.webp", "pictures/grounds.webp"
TILE, COLUMNS, GROUND = 96, 16, 256  # pixels, objects in a row, pixels
GROUNDS = ("grass", "gravel", "brick")
# Unicode: animals, fruit and food, vehicles, more food, more animals.
RANGES = (
    (0x1F400, 0x1F43C), (0x1F344, 0x1F370), (0x1F680, 0x1F69B), (0x1F950, 0x1F96A),
    (0x1F980, 0x1F9AD),
)  # fmt: skip
EVERY = 5  # every fifth object is kept for testing
SMALLEST, LARGEST = 0.45, 0.75  # side of an object, as a share of the picture's


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """B pictures, their gold outlines, and which object each shows."""

    pixels: Tensor  # (B, 3, S, S), 0…1
    gold: Tensor  # (B, S, S), bool
    kinds: Tensor  # (B,): index of the object within its split


def codes() -> list[str]:
    """The Unicode codes of all objects, in the order of the sheet."""
    return [f"{code:x}" for first, last in RANGES for code in range(first, last + 1)]


def kinds(split: str) -> int:
    """How many objects a split has."""
    return len(_members(split))


def draw(count: int, *, size: int = 64, split: str = "train", seed: int = 0) -> Pictures:
    """`count` pictures of `size` × `size` pixels; the same for the same seed."""
    if count < 1 or size < 8:
        raise ValueError(f"{count} pictures of size {size} were asked for: give at least 1 of 8.")
    generator = torch.Generator().manual_seed(seed)
    members = _members(split)
    chosen = torch.randint(len(members), (count,), generator=generator)
    objects = _place(_objects()[members[chosen]], size, generator)  # (B, 4, S, S)
    colour, alpha = objects[:, :3], objects[:, 3:]
    ground = _ground(count, size, generator)
    # The colours on the sheet are multiplied by alpha already, so that edges stay clean.
    pixels = (colour + (1 - alpha) * ground).clamp(0, 1)
    return Pictures(pixels=pixels, gold=alpha[:, 0] > 0.5, kinds=chosen)


def standard(pixels: Tensor) -> Tensor:
    """Pixels of 0 … 1 as the small models read them: about mean 0 and variance 1."""
    return (pixels - 0.5) / 0.25


def _members(split: str) -> Tensor:
    if split not in ("train", "test"):
        raise ValueError(f"split is {split!r}, but the objects have 'train' and 'test'.")
    places = torch.arange(len(codes()))
    return places[(places % EVERY == 0) == (split == "test")]


@cache
def _objects() -> Tensor:
    """All objects, colours multiplied by alpha: (N, 4, TILE, TILE)."""
    with Image.open(assets.find(SHEET)) as file:
        sheet = torch.from_numpy(np.array(file.convert("RGBA"))).float() / 255
    rows = sheet.shape[0] // TILE
    tiles = sheet.reshape(rows, TILE, COLUMNS, TILE, 4).permute(0, 2, 4, 1, 3).flatten(0, 1)
    tiles = tiles[: len(codes())]
    return torch.cat([tiles[:, :3] * tiles[:, 3:], tiles[:, 3:]], dim=1).contiguous()


@cache
def _grounds() -> Tensor:
    """(3, GROUND, GROUND), 0…1"""
    with Image.open(assets.find(GROUND_SHEET)) as file:
        sheet = torch.from_numpy(np.array(file.convert("L"))).float() / 255
    return sheet.reshape(GROUND, len(GROUNDS), GROUND).transpose(0, 1).contiguous()


def _uniform(count: int, low: float, high: float, generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(count, generator=generator)


def _place(tiles: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Each tile at its own size, place and tilt, some mirrored: (B, 4, T, T) -> (B, 4, S, S)."""
    count = len(tiles)
    share = _uniform(count, SMALLEST, LARGEST, generator)
    mirror = torch.where(torch.rand(count, generator=generator) < 0.5, -1.0, 1.0)
    tilt = _uniform(count, -0.3, 0.3, generator)  # radians
    free = 1 - share  # the centre may move so far either way: the tile stays inside
    x = free * _uniform(count, -1, 1, generator)
    y = free * _uniform(count, -1, 1, generator)
    # From a pixel of the picture back to the tile: shift, then turn, then scale and mirror.
    cos, sin = tilt.cos() / share, tilt.sin() / share
    rows = torch.stack(
        [
            torch.stack([mirror * cos, mirror * sin, -mirror * (cos * x + sin * y)], dim=-1),
            torch.stack([-sin, cos, sin * x - cos * y], dim=-1),
        ],
        dim=1,
    )  # (B, 2, 3)
    if size < TILE // 2:  # sampling single pixels of a large tile would look jagged
        tiles = F.avg_pool2d(tiles, 2)
    grid = F.affine_grid(rows, [count, 4, size, size], align_corners=False)
    return F.grid_sample(tiles, grid, align_corners=False)


def _ground(count: int, size: int, generator: torch.Generator) -> Tensor:
    """A piece of one of the textures, tinted: (B, 3, S, S)."""
    texture = torch.randint(len(GROUNDS), (count,), generator=generator)
    share = _uniform(count, 0.25, 0.5, generator)  # how much of the texture is seen
    x, y = ((1 - share) * _uniform(count, -1, 1, generator) for _ in range(2))
    none = torch.zeros(count)
    rows = torch.stack(
        [torch.stack([share, none, x], dim=-1), torch.stack([none, share, y], dim=-1)], dim=1
    )
    grid = F.affine_grid(rows, [count, 1, size, size], align_corners=False)
    grey = F.grid_sample(_grounds()[texture][:, None], grid, align_corners=False)  # (B, 1, S, S)
    tint = 0.75 + 0.5 * torch.rand(count, 3, 1, 1, generator=generator)
    return (grey * tint).clamp(0, 1)
