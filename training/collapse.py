"""Watch tiny DINOs collapse, or not: with and without centring and sharpening, by kind of view.

    python training/collapse.py          # about a CPU minute; writes data/collapse.json

A ViT of two layers on pictures of 32 × 32 pixels, 32 prototypes, 240 steps. Two kinds of views:
"gentle" ones are the whole picture, shifted and noisy; "crops" are the paper's, cut out, resized,
mirrored and recoloured. Each curve holds two entropies of what the teacher says about 128 pictures
(`attnlab.models.dino.entropies`), every 10 steps.
"""

from typing import Any

import torch
from noted import noted, ship
from torch import Tensor
from torch.nn import functional

from attnlab import reproducible
from attnlab.data import composed
from attnlab.data.composed import standard
from attnlab.models.dino import DINO, entropies, multi_crop
from attnlab.models.vit import Config, ViT

CONFIG = Config(size=32, patch=8, width=48, layers=2, heads=3, classes=0)
STEPS, BATCH, SEEDS = 240, 32, (0, 1)
SWITCHES = {
    "both": {},
    "no centring": {"centring": False},
    "no sharpening": {"sharpening": False},
}
# What crops were tried with, both parts in place: learning rate, momentum, teacher's temperature.
SETTINGS = ((1e-3, 0.9, 0.04), (3e-4, 0.9, 0.04), (1e-3, 0.99, 0.04), (1e-3, 0.9, 0.02))


def gentle(pixels: Tensor, generator: torch.Generator) -> list[Tensor]:
    """Two copies, each shifted by up to three pixels, with a little noise."""
    padded = functional.pad(pixels, (3,) * 4, mode="reflect")
    views = []
    for _ in range(2):
        i, j = torch.randint(7, (2,), generator=generator).tolist()
        noise = 0.1 * torch.randn(pixels.shape, generator=generator)
        views.append(padded[..., i : i + 32, j : j + 32] + noise)
    return views


def run(
    views: str, switch: str, seed: int, lr: float, momentum: float, sharp: float
) -> dict[str, Any]:
    reproducible.seed(seed)
    both = DINO(
        ViT(CONFIG), prototypes=32, momentum=momentum, teacher_temperature=sharp,
        **SWITCHES[switch],
    )  # fmt: skip
    pool = composed.draw(512, size=32, seed=1).pixels
    watched = standard(composed.draw(128, size=32, seed=7).pixels)
    optimizer = torch.optim.AdamW(both.student.parameters(), lr=lr)
    generator = torch.Generator().manual_seed(seed)
    curve = []
    for step in range(STEPS + 1):
        if step % 10 == 0:
            curve.append([round(value, 3) for value in entropies(both.targets(watched))])
        some = pool[torch.randint(len(pool), (BATCH,), generator=generator)]
        if views == "gentle":
            seen = gentle(some, generator)
        else:
            seen = multi_crop(some, generator, large=32, small=16, count=2)
        loss = both.loss([standard(view) for view in seen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        both.update()
    return {"curve": curve}


def plan() -> list[dict[str, Any]]:
    plain = dict(lr=1e-3, momentum=0.9, sharp=0.04)
    runs = [
        dict(views="gentle", switch=switch, seed=seed, **plain)
        for switch in SWITCHES
        for seed in SEEDS
    ]
    for lr, momentum, sharp in SETTINGS:
        setting = dict(lr=lr, momentum=momentum, sharp=sharp)
        runs.append(dict(views="crops", switch="both", seed=0, **setting))
    return runs


def main() -> None:
    torch.set_num_threads(1)
    ship(
        "data/collapse.json",
        noted("collapse", plan(), run),
        script="collapse",
        origin="measured by this project on pictures made of Fluent Emoji (Microsoft, MIT) and CC0 "
        "textures",
    )


if __name__ == "__main__":
    main()
