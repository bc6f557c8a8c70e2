"""Measure a small Swin against ViTs at equal CPU time, on clothes of all sizes in larger pictures.

    python training/swin.py           # about 16 CPU minutes on one core; writes data/swin_runs.json

Two questions. (1) Fashion-MNIST as it is, 28 × 28: chapter 8's ViT against a Swin. (2) The same
clothes at any size from 14 pixels to the whole picture, anywhere in pictures of 28 and 56 pixels:
from which size on do windows win? At 112 pixels a step is only timed. Every run of a question has
the same CPU seconds, the same batch and the same learning rate. A finished run is written down at
once, to build/swin_runs.jsonl: interrupted, the script goes on where it was.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from noted import noted, register
from torch import Tensor, nn
from torch.nn import functional

from attnlab import assets, reproducible, training
from attnlab.data import fashion
from attnlab.data.fashion import Clothes
from attnlab.models import swin, vit

ROOT = Path(__file__).parents[1]
SMALLEST, SEEDS, BATCH, RATE = 14, (0, 1), 32, 2e-3
SECONDS = 60.0


def build(model: str, side: int) -> nn.Module:
    """The same depth everywhere; the patch is the last part of the name."""
    kind, patch = model.split("/")
    if kind == "vit":
        return vit.ViT(
            vit.Config(
                size=side, patch=int(patch), channels=1, width=64, layers=4, heads=4, classes=10
            )
        )
    stages = 3 if side > 56 else 2
    return swin.Swin(
        swin.Config(
            classes=10, channels=1, patch=int(patch), width=32 if stages == 3 else 48,
            depths=(2,) * stages, heads=(2, 4, 8)[:stages], window=7,
        )
    )  # fmt: skip


def place(images: Tensor, side: int, generator: torch.Generator, share: Tensor) -> Tensor:
    """Each picture made share · side pixels large, somewhere in a square of `side` pixels."""
    free = 1 - share
    x, y = ((2 * torch.rand(len(images), generator=generator) - 1) * free for _ in range(2))
    none = torch.zeros(len(images))
    across = torch.stack([1 / share, none, -x / share], -1)
    down = torch.stack([none, 1 / share, -y / share], -1)
    rows = torch.stack([across, down], dim=1)  # (B, 2, 3)
    grid = functional.affine_grid(rows, [len(images), 1, side, side], align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def sizes(count: int, side: int, generator: torch.Generator) -> Tensor:
    """Sides of the objects in pixels, evenly on a log scale from the smallest to the picture's."""
    return SMALLEST * (side / SMALLEST) ** torch.rand(count, generator=generator)


def batches(side: int, seed: int) -> Iterator[Clothes]:
    generator = torch.Generator().manual_seed(1000 + seed)
    for images, kinds in fashion.batches(BATCH, seed=seed):
        share = sizes(len(images), side, generator) / side
        yield Clothes(place(images, side, generator, share), kinds)


@torch.no_grad()
def by_size(model: nn.Module, side: int, pixels: float) -> float:
    """Accuracy on the test pictures, each so many pixels large."""
    generator = torch.Generator().manual_seed(7)
    right = []
    for images, kinds in zip(*(part.split(100) for part in fashion.load("test")), strict=True):
        share = torch.full((len(images),), pixels / side)
        guess = model(place(images, side, generator, share)).argmax(-1)
        right.append((guess == kinds).float())
    return round(float(torch.cat(right).mean()), 4)


@torch.no_grad()
def plain(model: nn.Module) -> float:
    images, kinds = fashion.load("test")
    return round(float((model(images).argmax(-1) == kinds).float().mean()), 4)


def run(task: str, model: str, side: int, seed: int, lr: float, seconds: float) -> dict[str, Any]:
    reproducible.seed(seed)
    net = build(model, side)
    source = fashion.batches(BATCH, seed=seed) if task == "plain" else batches(side, seed)
    history = training.fit(
        net, source, steps=8 if task == "time" else None, seconds=seconds,
        descent=training.Descent(lr=lr), listeners=(), seed=seed,
    )  # fmt: skip
    net.eval()
    shown = [SMALLEST * 2**k for k in range(4) if SMALLEST * 2**k <= side]
    found: dict[str, Any] = {}
    if task == "plain":
        found = {"accuracy": plain(net)}
    elif task == "sizes":
        found = {"by_size": {str(size): by_size(net, side, size) for size in shown}}
    return {
        "steps": history.steps, "ms": round(1000 * history.seconds / history.steps, 1),
        "parameters": sum(p.numel() for p in net.parameters()), **found,
    }  # fmt: skip


def plan() -> list[dict[str, Any]]:
    runs = [dict(task="sizes", model=m, side=56) for m in ("vit/14", "swin/4", "vit/4")]
    runs += [dict(task="sizes", model=m, side=28) for m in ("swin/4", "vit/4")]
    runs += [dict(task="plain", model=m, side=28) for m in ("vit/7", "swin/2")]
    runs = [{**one, "seed": seed} for seed in SEEDS for one in runs]
    runs += [dict(task="time", model=m, side=112, seed=0) for m in ("swin/4", "vit/4")]
    return [{**one, "lr": RATE} for one in runs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "swin_runs.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    asked = [{**one, "seconds": SECONDS} for one in plan()]
    results = noted("swin_runs", asked, run)
    arguments.file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    register(arguments.file, script="swin", origin="measured by this project on Fashion-MNIST")


if __name__ == "__main__":
    main()
