"""Fashion-MNIST: small grey pictures of ten kinds of clothes (Xiao et al. 2017, MIT licence).

    images, kinds = fashion.load("train")      # (12000, 1, 28, 28) in 0…1, and (12000,)
    for images, kinds in fashion.batches(64, seed=0): ...                 # endless

The course carries the first 12,000 of its 60,000 training pictures and the first 2,000 of its
10,000 test pictures, in 16 grey levels instead of 256.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from attnlab import assets

KINDS = (
    "T-shirt", "trousers", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip
COUNTS = {"train": 12_000, "test": 2_000}
SHEETS = {split: f"data/fashion_{split}.png" for split in COUNTS}
KINDS_OF = {split: f"data/fashion_{split}.kinds" for split in COUNTS}
SIDE, COLUMNS, LEVELS = 28, 100, 16


class Clothes(NamedTuple):
    """A batch of pictures and what they show."""

    images: Tensor  # (B, 1, 28, 28), 0…1
    kinds: Tensor  # (B,), 0…9

    def to(self, device: torch.device | str) -> "Clothes":
        return Clothes(self.images.to(device), self.kinds.to(device))


@cache
def load(split: str = "train") -> Clothes:
    """All pictures of a split."""
    if split not in COUNTS:
        raise ValueError(f"split is {split!r}, but Fashion-MNIST has 'train' and 'test'.")
    with Image.open(assets.find(SHEETS[split])) as file:
        sheet = torch.from_numpy(np.array(file.convert("L"))).float() / 255
    rows = sheet.shape[0] // SIDE
    images = sheet.reshape(rows, SIDE, COLUMNS, SIDE).transpose(1, 2).reshape(-1, 1, SIDE, SIDE)
    kinds = np.frombuffer(assets.find(KINDS_OF[split]).read_bytes(), np.uint8)
    return Clothes(images, torch.from_numpy(kinds.astype(np.int64)))


def batches(
    size: int, *, seed: int = 0, count: int | None = None, jitter: int = 0
) -> Iterator[Clothes]:
    """Endless shuffled batches of the first `count` training pictures.

    With `jitter` each picture is shifted by up to that many pixels and mirrored half of the time.
    """
    images, kinds = load("train")
    count = len(images) if count is None else count
    if not 1 <= size <= count <= len(images):
        raise ValueError(
            f"batches of {size} out of {count} pictures were asked for, but there are "
            f"{len(images)}: give 1 ≤ size ≤ count ≤ {len(images)}."
        )
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(count, generator=generator)
        for start in range(0, count - size + 1, size):
            chosen = order[start : start + size]
            batch = images[chosen]
            yield Clothes(_jitter(batch, jitter, generator) if jitter else batch, kinds[chosen])


def _jitter(images: Tensor, reach: int, generator: torch.Generator) -> Tensor:
    """Shift by −reach…reach pixels either way and mirror half of them: (B, 1, 28, 28)."""
    count = len(images)
    padded = torch.nn.functional.pad(images, (reach,) * 4)
    top, left = torch.randint(2 * reach + 1, (2, count, 1), generator=generator)
    mirrored = torch.rand(count, 1, generator=generator) < 0.5
    rows, columns = top + torch.arange(SIDE), left + torch.arange(SIDE)  # (B, 28)
    columns = torch.where(mirrored, columns.flip(-1), columns)
    return padded[torch.arange(count)[:, None, None], :, rows[:, :, None], columns[:, None, :]][
        :, None, :, :, 0
    ]
