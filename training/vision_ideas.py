"""Train the four ideas of attention in vision, small, beside a plain CNN; at equal steps.

    python training/vision_ideas.py      # about a CPU minute; writes data/vision_ideas.json

Clothes of 14 × 14 pixels (Fashion-MNIST, every 2 × 2 pixels averaged), so that pixels can be tokens
at all. Every model has about 25,000 parameters, the same 300 steps of 32 pictures, the same
learning rate, two seeds; patches also as many steps as take the time of pixels. Memory is what one
such step keeps for the way back, with the weights of attention written down; the fused kernel would
not write them down.
"""

from collections.abc import Iterator
from typing import Any

import torch
from noted import noted, ship
from torch import Tensor, nn
from torch.nn import functional

from attnlab import reproducible, training
from attnlab.attention import softmax
from attnlab.data import fashion
from attnlab.data.fashion import Clothes
from attnlab.layers.heads import MultiHead
from attnlab.models.vit import Config, ViT

SIDE, BATCH, STEPS, RATE, SEEDS = 14, 32, 300, 2e-3, (0, 1)
LONGER = 1250  # steps of patches in the time that pixels take for theirs
IDEAS = ("CNN", "attention in a CNN", "local attention", "pixels", "patches")


class LocalAttention(nn.Module):
    """Every pixel attends to its 3 × 3 neighbours; a trained number says where each one stands.

    Hu et al. 2019, with dot products: (B, E, R, K) -> (B, E, R, K).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.q_k_v = nn.Conv2d(width, 3 * width, 1)
        self.out = nn.Conv2d(width, width, 1)
        self.places = nn.Parameter(torch.zeros(9))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q_k_v(x).chunk(3, dim=1)
        rows, columns = x.shape[-2:]
        near = [(slice(i, i + rows), slice(j, j + columns)) for i in range(3) for j in range(3)]
        k, v, inside = (functional.pad(t, (1,) * 4) for t in (k, v, torch.ones_like(x[:1, :1])))
        scores = torch.stack([(q * k[:, :, i, j]).sum(1) for i, j in near], -1)  # (B, R, K, 9)
        allowed = torch.stack([inside[:, 0, i, j] > 0 for i, j in near], -1)
        scores = scores / x.shape[1] ** 0.5 + self.places
        weights = softmax(scores.masked_fill(~allowed, -torch.inf))
        mixed = sum(weights[:, None, ..., n] * v[:, :, i, j] for n, (i, j) in enumerate(near))
        return self.out(mixed)


class GlobalAttention(nn.Module):
    """Every pixel attends to every pixel, and the rest of the CNN goes on as if nothing were."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = MultiHead(width, heads=2)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(2).mT  # (B, N, E)
        return self.attention(rows).mT.unflatten(-1, x.shape[-2:])


class Residual(nn.Module):
    """x + ReLU(norm(mix(x))): `mix` is a convolution or what takes its place."""

    def __init__(self, mix: nn.Module, width: int) -> None:
        super().__init__()
        self.mix, self.norm = mix, nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.norm(self.mix(x)).relu()


class Clothier(nn.Module):
    """Any network from pictures to ten kinds, with its loss."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        return self.network(images)

    def loss(self, batch: Clothes) -> Tensor:
        return functional.cross_entropy(self(batch.images), batch.kinds)


def build(idea: str) -> Clothier:
    if idea in ("pixels", "patches"):
        patch = 1 if idea == "pixels" else 2
        return Clothier(
            ViT(Config(size=SIDE, patch=patch, channels=1, width=32, layers=2, heads=2, classes=10))
        )
    width = {"CNN": 36, "attention in a CNN": 32, "local attention": 52}[idea]
    stem = [nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    if idea == "local attention":
        mixers: list[nn.Module] = [LocalAttention(width) for _ in range(2)]
    else:
        mixers = [nn.Conv2d(width, width, 3, padding=1) for _ in range(2)]
    if idea == "attention in a CNN":
        mixers.insert(1, GlobalAttention(width))
    body = [Residual(mix, width) for mix in mixers]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)]
    return Clothier(nn.Sequential(*stem, *body, *end))


def small(batch: Clothes) -> Clothes:
    return Clothes(functional.avg_pool2d(batch.images, 2), batch.kinds)


def batches(seed: int) -> Iterator[Clothes]:
    return map(small, fashion.batches(BATCH, seed=seed))


def held(net: Clothier, batch: Clothes) -> int:
    """Bytes kept between the way there and the way back, parameters left out."""
    own = {p.untyped_storage().data_ptr() for p in net.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    for module in net.modules():
        if isinstance(module, MultiHead):
            module.fused = False
    net.train()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = net.loss(batch)
        total = sum(kept.values())  # while the graph lives: no address is used twice
    del loss
    return total


@torch.no_grad()
def accuracy(net: Clothier) -> float:
    images, kinds = small(fashion.load("test"))
    guesses = torch.cat([net(part).argmax(-1) for part in images.split(200)])
    return round(float((guesses == kinds).float().mean()), 4)


def run(idea: str, seed: int, steps: int) -> dict[str, Any]:
    reproducible.seed(seed)
    net = build(idea)
    gently = training.Descent(lr=RATE)
    history = training.fit(net, batches(seed), steps=steps, descent=gently, listeners=(), seed=seed)
    found = accuracy(net)
    return {
        "parameters": sum(p.numel() for p in net.parameters()),
        "accuracy": found,
        "ms": round(1000 * history.seconds / steps, 1),
        "mib": round(held(net, next(batches(seed))) / 2**20, 1),
    }


def main() -> None:
    torch.set_num_threads(1)
    plan = [dict(idea=idea, seed=seed, steps=STEPS) for idea in IDEAS for seed in SEEDS]
    plan += [dict(idea="patches", seed=seed, steps=LONGER) for seed in SEEDS]
    ship(
        "data/vision_ideas.json",
        noted("vision_ideas", plan, run),
        script="vision_ideas",
        origin="measured by this project on Fashion-MNIST",
    )


if __name__ == "__main__":
    main()
