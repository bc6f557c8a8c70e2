"""Teach a small ViT with little data: by augmentation, by a CNN that teaches it, by both.

    python training/distil.py            # about 90 CPU seconds; writes data/distil.json

1,000 pictures of Fashion-MNIST and no other, for teacher and student alike; the same number of
steps, batches and learning rate for every student, two seeds. As in DeiT (Touvron et al. 2021),
the teacher is a CNN that is frozen, it sees the very view its student sees, and its answer counts
as much as the label. "hard" takes the teacher's best guess as a second label, "soft" its whole
answer.
"""

import itertools
from typing import Any

import torch
from noted import noted, ship
from torch import Tensor, nn
from torch.nn import functional
from vision_grid import CNN, CONFIG, accuracy

from attnlab import reproducible, training
from attnlab.data import fashion
from attnlab.data.fashion import Clothes
from attnlab.models.vit import ViT

COUNT, STEPS, BATCH, RATE, SEEDS, JITTERS = 1000, 300, 32, 2e-3, (0, 1), (0, 2)
LESSONS = ("labels", "hard", "soft")


def fit(net: nn.Module, jitter: int, seed: int, steps: int, loss: Any = None) -> None:
    batches = fashion.batches(BATCH, seed=seed, count=COUNT, jitter=jitter)
    gently = training.Descent(lr=RATE)
    training.fit(net, batches, steps=steps, descent=gently, loss=loss, listeners=(), seed=seed)


def run(jitter: int, seed: int, steps: int) -> dict[str, Any]:
    """One teacher, and a student for each way of teaching: all of one seed and one augmentation."""
    reproducible.seed(seed)
    teacher = CNN()
    fit(teacher, jitter, seed, steps)
    found: dict[str, Any] = {"teacher": [accuracy(teacher), accuracy(teacher, 3)]}
    for lesson in LESSONS:
        reproducible.seed(seed)
        student = ViT(CONFIG)

        def loss(batch: Clothes, student: ViT = student, lesson: str = lesson) -> Tensor:
            answer = student(batch.images)
            label = functional.cross_entropy(answer, batch.kinds)
            if lesson == "labels":
                return label
            with torch.no_grad():
                said = teacher(batch.images)
            target = said.argmax(-1) if lesson == "hard" else said.softmax(-1)
            return (label + functional.cross_entropy(answer, target)) / 2

        fit(student, jitter, seed, steps, loss)
        found[lesson] = [accuracy(student), accuracy(student, 3)]  # as they are; moved by 3 pixels
    return found


def main() -> None:
    torch.set_num_threads(1)
    pairs = itertools.product(JITTERS, SEEDS)
    plan = [dict(jitter=jitter, seed=seed, steps=STEPS) for jitter, seed in pairs]
    ship(
        "data/distil.json",
        noted("distil", plan, run),
        script="distil",
        origin="measured by this project on Fashion-MNIST",
    )


if __name__ == "__main__":
    main()
