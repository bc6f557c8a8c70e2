"""Train language models of five sizes on the same text, and write down how good each becomes.

    python training/scaling.py                    # about a CPU minute on one core
    python training/scaling.py --steps 20 --file /tmp/try.json

Every model sees the same stretches of tiny Shakespeare in the same order; only the width differs.
One seed each: the log says nothing about luck.
Chapter 6 fits a power law to the log. Parameters are counted without the tables of letters and
places, as Kaplan et al. (2020) do.
"""

import argparse
import json
from pathlib import Path

import torch

from attnlab import assets, reproducible, training
from attnlab.data import shakespeare
from attnlab.models.families import DecoderOnly
from attnlab.models.transformer import Config

WIDTHS = (8, 12, 16, 24, 32)
LENGTH, SIZE, LAYERS = 64, 16, 2


def run(width: int, steps: int) -> dict[str, float]:
    """One size, trained and measured."""
    reproducible.seed(0)
    words = len(shakespeare.vocabulary())
    config = Config(words=words, width=width, heads=2, layers=LAYERS, positions="rope")
    model = DecoderOnly(config)
    held_out = shakespeare.held_out(LENGTH, count=256)
    history = training.fit(
        model,
        shakespeare.windows(length=LENGTH, size=SIZE, seed=0),
        steps=steps,
        # The same for all: none of these is wide enough to want smaller steps.
        descent=training.Descent(lr=1e-2),
        listeners=(),
    )
    with torch.no_grad():
        loss = float(model.loss(held_out))
    size = sum(p.numel() for p in model.stack.parameters())
    return {
        "width": width,
        "layers": LAYERS,
        "parameters": size,
        "tokens": steps * SIZE * LENGTH,
        "loss": round(loss, 4),
        "seconds": round(history.seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "scaling.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    runs: list[dict[str, float]] = []
    for width in WIDTHS:
        runs.append(run(width, arguments.steps))
        print(runs[-1], flush=True)
    arguments.file.write_text(json.dumps(runs, indent=2) + "\n", encoding="utf-8")
    if arguments.file.parent == assets.folder() / "data":
        assets.register(
            "data/scaling.json",
            licence="MIT",
            origin="measured by this project",
            command="python training/scaling.py",
        )


if __name__ == "__main__":
    main()
