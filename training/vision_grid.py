"""Measure small ViTs on Fashion-MNIST: kinds of positions, and against a CNN with little data.

    python training/vision_grid.py       # about 15 CPU minutes; writes data/vision_grid.json

Every run has the same CPU seconds, the same learning rate and about the same number of parameters.
"""

import argparse
import itertools
import json
from pathlib import Path

import torch
from noted import register
from torch import nn
from torch.nn import functional

from attnlab import assets, reproducible, training
from attnlab.data import fashion
from attnlab.data.fashion import Clothes
from attnlab.models.vit import Config, ViT

CONFIG = Config(size=28, patch=7, channels=1, width=64, layers=4, heads=4, classes=10)
SEEDS, SECONDS, SIZES = (0, 1), 25.0, (250, 1000, 4000, 12_000)
KINDS = ("none", "1d", "2d", "relative")


class CNN(nn.Sequential):
    """Four convolutions of 3 × 3 with pooling between them, about as large as the ViT."""

    def __init__(self) -> None:
        widths = (1, 32, 64, 128, 92)
        layers: list[nn.Module] = []
        for i, (a, b) in enumerate(itertools.pairwise(widths)):
            layers += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if i < 3 else [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        super().__init__(*layers, nn.Linear(widths[-1], 10))

    def loss(self, batch: Clothes) -> torch.Tensor:
        return functional.cross_entropy(self(batch.images), batch.kinds)


@torch.no_grad()
def accuracy(model: nn.Module, shift: int = 0) -> float:
    """On the 2,000 test pictures, moved right by `shift` pixels."""
    images, kinds = fashion.load("test")
    images = functional.pad(images, (shift, 0))[..., :28] if shift else images
    model.eval()
    return round(float((model(images).argmax(-1) == kinds).float().mean()), 4)


def run(model: str, *, positions: str = "1d", count: int = 12_000, jitter: int = 0, seed: int = 0):
    reproducible.seed(seed)
    net = CNN() if model == "cnn" else ViT(Config(**{**vars(CONFIG), "positions": positions}))
    batches = fashion.batches(64, seed=seed, count=count, jitter=jitter)
    history = training.fit(
        net, batches, seconds=SECONDS, descent=training.Descent(lr=2e-3), listeners=(), seed=seed
    )
    return {
        "model": model, "positions": positions, "count": count, "jitter": jitter, "seed": seed,
        "parameters": sum(p.numel() for p in net.parameters()), "steps": history.steps,
        "accuracy": accuracy(net), "shifted": accuracy(net, 3),
    }  # fmt: skip


def plan() -> list[dict]:
    runs = [dict(model="vit", positions=kind) for kind in KINDS]
    runs += [dict(model="vit", count=n) for n in SIZES[:-1]]
    runs += [dict(model="cnn", count=n) for n in SIZES]
    runs += [dict(model="vit", count=n, jitter=2) for n in SIZES[:2]]
    return [{**one, "seed": seed} for one in runs for seed in SEEDS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "vision_grid.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    for one in plan():
        results.append(run(**one))
        print(results[-1], flush=True)
    arguments.file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    register(
        arguments.file, script="vision_grid", origin="measured by this project on Fashion-MNIST"
    )


if __name__ == "__main__":
    main()
