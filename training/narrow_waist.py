"""How wide must the one vector be, how long the training? A grid of both, for chapter 1.

    python training/narrow_waist.py                # about 10 CPU minutes on one core

The translator of chapter 1 (H = 96, no attention, batches of 32), on its sentences of 3 to 15
words. Only two things differ between the runs: how many of the 192 numbers of the encoder's last
states reach the decoder (all, or 48, half of them of each direction; the others are set to 0), and
how many steps they are trained. Encoder and decoder stay as wide as they are. A run that is
finished is written down at once, to build/narrow_waist.jsonl: interrupted, the script goes on
where it was.
"""

from functools import cache
from itertools import product

import torch
from noted import Run, noted, ship
from torch import Tensor

from attnlab import metrics, reproducible, training
from attnlab.data import batches, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.data.sequences import Pair, Vocabulary
from attnlab.models.seq2seq import Config, Encoder, Seq2Seq
from attnlab.translator import Translator

WAISTS, STEPS, SEEDS = (48, 192), (1100, 2200, 4400), (0, 1, 2)
BUCKETS = [(3, 5), (6, 8), (9, 11), (12, 15)]


class Squeezed(Encoder):
    """An encoder of whose summary `waist` numbers are passed on, half of them of each direction."""

    def __init__(self, config: Config, waist: int) -> None:
        super().__init__(config)
        self.kept = torch.arange(config.hidden).repeat(2) < waist / 2

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        states, summary = super().forward(source, lengths)
        return states, summary * self.kept


def plan() -> list[Run]:
    grid = product(SEEDS, STEPS, reversed(WAISTS))
    return [{"seed": seed, "steps": steps, "waist": waist} for seed, steps, waist in grid]


@cache
def course() -> tuple[list[Pair], list[Pair], Vocabulary, Vocabulary]:
    """Sentences to train with and to test with, English words, French words."""
    corpus = EnglishFrench(longest=15)
    return corpus.take(40_000), corpus.take(400, "test", seed=1), *corpus.vocabularies()


def run(seed: int, steps: int, waist: int) -> Run:
    pairs, test, source, target = course()
    reproducible.seed(seed)
    config = Config(source_words=len(source), target_words=len(target), kind="none", hidden=96)
    model = Seq2Seq(config, Squeezed(config, waist))
    history = training.fit(
        model,
        batches(pairs, source, target, size=32, seed=seed),
        steps=steps,
        descent=training.Descent(lr=5e-3),
        seed=seed,
        listeners=(),
    )
    translator = Translator(model, source, target)
    said = translator.translate([pair.source for pair in test])
    curve = metrics.by_length(said, test, BUCKETS)
    with torch.no_grad():  # −log p per French word, when the right words are read
        new, practised = (
            float(model.loss(collate(p, source, target))) for p in (test, pairs[:1000])
        )
    return {
        "bleu": {f"{low}–{high}": round(value, 1) for (low, high), value in curve.items()},
        "loss": round(new, 3),
        "practised": round(practised, 3),
        "seconds": round(history.seconds),
    }


def main() -> None:
    torch.set_num_threads(1)
    ship(
        "data/narrow_waist.json",
        noted("narrow_waist", plan(), run),
        script="narrow_waist",
        origin="measured by this project on its own English-French grammar",
    )


if __name__ == "__main__":
    main()
