"""Six sizes learn to say eight letters backwards: what a threshold hides.

    python training/emergence.py                  # about 40 CPU seconds on one core
    python training/emergence.py --steps 40 --seeds 0 --file /tmp/try.json

All letters right or not is what one counts when a task is said to emerge (Wei et al. 2022); the
log-likelihood of the right answer is what training lowers (Schaeffer et al. 2023). Both are written
to assets/data/emergence.json for each size and seed, and chapter 7 draws them side by side. One
learning rate for all: with 0.2 / width, tried first, the wider ones learned too slowly and fell
behind narrower ones.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from noted import register
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnlab import assets, reproducible, training
from attnlab.models.families import DecoderOnly
from attnlab.models.transformer import Config

WIDTHS = (8, 12, 16, 24, 32, 48)
LETTERS, LENGTH = 10, 8
RATE = 1e-2


def backwards(size: int, seed: int) -> Iterator[Tensor]:
    """Endless batches (size, 2 · LENGTH + 1): letters, a mark, the same letters from the end."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        letters = torch.randint(1, LETTERS + 1, (size, LENGTH), generator=generator)
        mark = torch.full((size, 1), LETTERS + 1)
        yield torch.cat([letters, mark, letters.flip(1)], dim=1)


def run(width: int, seed: int, steps: int) -> dict[str, Any]:
    """One size, trained and measured by both yardsticks."""
    reproducible.seed(seed)
    model = DecoderOnly(Config(words=LETTERS + 2, width=width, heads=2, layers=2, positions="rope"))

    def answer(batch: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the answer's letters, and the letters."""
        return model(batch[:, :-1])[:, LENGTH:], batch[:, LENGTH + 1 :]

    def loss(batch: Tensor) -> Tensor:
        logits, letters = answer(batch)
        return cross_entropy(logits.flatten(0, 1), letters.flatten())

    training.fit(
        model,
        backwards(64, seed),
        loss=loss,
        steps=steps,
        descent=training.Descent(lr=RATE),
        listeners=(),
        seed=seed,
    )
    batch = next(backwards(2000, 1000 + seed))
    with torch.no_grad():
        logits, letters = answer(batch)
        right = logits.argmax(-1) == letters
        nats = float(loss(batch))
    return {
        "width": width,
        "parameters": sum(p.numel() for p in model.stack.parameters()),
        "seed": seed,
        "all_right": round(right.all(1).float().mean().item(), 4),
        "letters_right": round(right.float().mean().item(), 4),
        "nats": round(nats, 4),  # a letter
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=350)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "emergence.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for width in WIDTHS:
        rows += [run(width, seed, arguments.steps) for seed in arguments.seeds]
        print(rows[-1], flush=True)
    text = "[\n " + ",\n ".join(json.dumps(row) for row in rows) + "\n]\n"
    arguments.file.write_text(text, encoding="utf-8")
    register(arguments.file, script="emergence", origin="measured by this project")


if __name__ == "__main__":
    main()
