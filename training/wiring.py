"""Train Transformers whose decoder blocks read the wrong encoder block, and write down how good.

    python training/wiring.py                      # about 7 CPU minutes on one core
    python training/wiring.py --steps 20 --file /tmp/try.json

Chapter 6's sentences of 3 to 10 words and its steps, batches and rate, with 4 + 4 blocks. Every
decoder block reads the last encoder block (as it should), the first, or the one on its own floor;
three seeds each. The right one is also rewired after its training. A run that is finished is
written down at once, to build/wiring/: interrupted, the script goes on where it was.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from noted import register

from attnlab import assets, reproducible, training
from attnlab.data import batches, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.inside.rewired import Rewired
from attnlab.models.transformer import Config
from attnlab.translator import Translator

ROOT = Path(__file__).parents[1]
SEEDS = (0, 1, 2)
DEEP = 4  # blocks in each stack
WIRINGS = {"last": [3, 3, 3, 3], "first": [0, 0, 0, 0], "floor by floor": [0, 1, 2, 3]}


class Course:
    """The sentences, and how a translator is trained and measured on them."""

    def __init__(self, steps: int) -> None:
        corpus = EnglishFrench(longest=10)
        self.steps = steps
        self.pairs, self.test = corpus.take(24_000), corpus.take(400, "test")
        self.source, self.target = corpus.vocabularies()
        self.exam = collate(self.test, self.source, self.target)

    def train(self, model: Rewired, seed: int) -> dict[str, Any]:
        history = training.fit(
            model,
            batches(self.pairs, self.source, self.target, size=32, seed=seed),
            steps=self.steps,
            descent=training.Descent(lr=4e-3),
            seed=seed,
            listeners=(),
        )
        size = sum(p.numel() for p in model.parameters())
        return {"seconds": round(history.seconds, 1), "parameters": size}

    @torch.no_grad()
    def scores(self, model: Rewired) -> dict[str, float]:
        """BLEU of what it says by itself, and its loss when the right words are read."""
        translator = Translator(model.eval(), self.source, self.target)
        return {
            "bleu": round(translator.bleu(self.test), 2),
            "loss": round(float(model.loss(self.exam)), 4),
        }


def run(course: Course, kind: str, seed: int) -> dict[str, Any]:
    """Trained in one wiring; the right one is then rewired in the two wrong ways."""
    reproducible.seed(seed)
    sizes = {"words": len(course.target), "source_words": len(course.source), "layers": DEEP}
    model = Rewired(Config(**sizes), WIRINGS[kind])
    found = course.train(model, seed) | course.scores(model)
    if kind == "last":
        found["rewired"] = {}
        for other in ("first", "floor by floor"):
            model.reads = WIRINGS[other]
            found["rewired"][other] = course.scores(model)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "wiring.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    course = Course(arguments.steps)
    folder = ROOT / "build" / "wiring" / str(arguments.steps)
    folder.mkdir(parents=True, exist_ok=True)
    whole = []
    for seed in SEEDS:
        for kind in WIRINGS:
            note = folder / f"{kind}, {seed}.json"
            if not note.exists():
                note.write_text(json.dumps(run(course, kind, seed)), encoding="utf-8")
                print(note.stem, flush=True)
            found = json.loads(note.read_text(encoding="utf-8"))
            whole.append({"kind": kind, "seed": seed, **found})
    lines = ",\n".join(json.dumps(run) for run in whole)
    arguments.file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    register(arguments.file, script="wiring", origin="measured by this project")


if __name__ == "__main__":
    main()
