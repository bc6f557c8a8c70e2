"""Train language models of six sizes on three amounts of text, three times each: a scaling law.

    python training/scaling.py                    # about 70 CPU seconds on one core
    python training/scaling.py --widths 8 16 --seeds 0 --file /tmp/try.json

Two sets of runs go into assets/data/scaling_law.json; chapter 7 fits and draws them.

    grid     every width with 31 to 276 thousand letters of tiny Shakespeare
    budget   every width with as many letters as one budget of compute pays for, C = 6 N D

Each run has a cosine of its own length, since a run cut short is worse than a short run (Hoffmann
et al. 2022, §3.1). The learning rate is 0.4 / width, at most 0.04: that was best or nearly so at
widths 16 and 64, the two that were tried. Parameters are counted without the table of letters, as
Kaplan et al. (2020) do. No run draws as many letters as the training text has.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from noted import register, write_tables

from attnlab import assets, reproducible, training
from attnlab.data import shakespeare
from attnlab.models.families import DecoderOnly
from attnlab.models.transformer import Config

WIDTHS = (8, 12, 16, 24, 32, 48)
STEPS = (30, 90, 270)
BUDGETS = (4e9, 1e10)  # FLOPs
LENGTH, SIZE, LAYERS = 64, 16, 2
MOST = 1_000_000  # letters a run may draw; the training text has 1,003,854


def run(width: int, steps: int, seed: int, rate: float = 1.0, size: int = SIZE) -> dict[str, Any]:
    """One width on one amount of text, trained at `rate` times its learning rate, and measured.

    Each step reads `size` windows of text.
    """
    reproducible.seed(seed)
    words = len(shakespeare.vocabulary())
    model = DecoderOnly(Config(words=words, width=width, heads=2, layers=LAYERS, positions="rope"))
    history = training.fit(
        model,
        shakespeare.windows(length=LENGTH, size=size, seed=seed),
        steps=steps,
        descent=training.Descent(lr=rate * min(0.4 / width, 0.04)),
        listeners=(),
        seed=seed,
    )
    with torch.no_grad():
        loss = float(model.loss(shakespeare.held_out(LENGTH, count=512)))
    return {
        "width": width,
        "parameters": sum(p.numel() for p in model.stack.parameters()),
        "tokens": steps * size * LENGTH,
        "seed": seed,
        "loss": round(loss, 4),
        "seconds": round(history.seconds, 1),
    }


def affordable(width: int, budget: float) -> int:
    """How many steps of this width a budget pays for: C = 6 N D."""
    size = parameters(width)
    return round(budget / (6 * size * SIZE * LENGTH))


def parameters(width: int) -> int:
    config = Config(words=4, width=width, heads=2, layers=LAYERS, positions="rope")
    with torch.device("meta"):
        return sum(p.numel() for p in DecoderOnly(config).stack.parameters())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "scaling_law.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    grid, budget = [], []
    for seed in arguments.seeds:
        for width in arguments.widths:
            grid += [run(width, steps, seed) for steps in STEPS]
            print(grid[-1], flush=True)
            for flops in BUDGETS:
                steps = affordable(width, flops)
                if steps >= 5 and steps * SIZE * LENGTH <= MOST:
                    budget.append({"flops": flops, **run(width, steps, seed)})
                    print(budget[-1], flush=True)
    rows = {"grid": grid, "budget": budget}
    write_tables(arguments.file, rows)
    register(arguments.file, script="scaling", origin="measured by this project")


if __name__ == "__main__":
    main()
