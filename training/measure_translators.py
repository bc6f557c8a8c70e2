"""Measure the translators of chapters 1 and 2, as tables.

python training/measure_translators.py live        # train both here, 60 CPU seconds each
python training/measure_translators.py shipped     # the checkpoints in assets/weights
python training/measure_translators.py live --seconds 30 --kind additive --order before
"""

import argparse
import time

import torch

from attnlab import metrics, reproducible, training
from attnlab.data import batches
from attnlab.data.english_french import EnglishFrench
from attnlab.models.seq2seq import KINDS, Config, Seq2Seq
from attnlab.translator import Translator

BUCKETS = ((3, 5), (6, 10), (11, 15), (16, 20), (21, 25), (26, 30), (31, 35), (36, 40))


def table(name: str, translator: Translator, longest: int, seconds: float | None = None) -> None:
    """One block of numbers: within the trained lengths, then by length up to 40."""
    test = EnglishFrench(longest=longest).take(400, "test", seed=1)
    beyond = EnglishFrench(longest=40).take(600, "test", seed=2)
    said = translator.translate([pair.source for pair in test])
    size = sum(p.numel() for p in translator.model.parameters())
    line = f"{name}: {size / 1e3:.0f}k parameters"
    line += f", {seconds:.1f} CPU s" if seconds is not None else ""
    line += f", BLEU {metrics.bleu(said, [pair.target for pair in test]):.1f}"
    line += f", exact {metrics.exact(said, [pair.target for pair in test]):.3f}"
    if translator.model.config.kind != "none":
        line += f", AER {translator.aer(test):.4f}"
    print(line + f" (3-{longest} words)")
    everything = [*test, *(pair for pair in beyond if len(pair.source) > longest)]
    said = translator.translate([pair.source for pair in everything])
    scores = metrics.by_length(said, everything, BUCKETS)
    print("   ", "  ".join(f"{low}-{high}: {score:.1f}" for (low, high), score in scores.items()))


def live(kind: str, arguments: argparse.Namespace) -> None:
    corpus = EnglishFrench(longest=15)
    start = time.process_time()
    pairs = corpus.take(arguments.sentences)
    print(f"{len(pairs)} sentences made in {time.process_time() - start:.1f} CPU s")
    source, target = corpus.vocabularies()
    reproducible.seed(arguments.seed)
    config = Config(
        source_words=len(source),
        target_words=len(target),
        kind=kind,
        order=arguments.order,
        hidden=arguments.hidden,
    )
    translator = Translator(Seq2Seq(config), source, target)
    history = training.fit(
        translator.model,
        batches(pairs, source, target, size=arguments.size, seed=arguments.seed),
        steps=arguments.steps,
        seconds=None if arguments.steps else arguments.seconds,
        descent=training.Descent(lr=arguments.lr),
        listeners=(),
        seed=arguments.seed,
    )
    name = f"{kind}, order {arguments.order}, {history.steps} steps"
    table(name, translator, 15, history.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("live", "shipped"))
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--order", default="after", choices=("after", "before"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--sentences", type=int, default=40_000)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "shipped":
        for name in ("fixed_context", "rnnsearch"):
            table(name, Translator.shipped(name), 32)
        return
    for kind in arguments.kind or ("none", "additive"):
        live(kind, arguments)


if __name__ == "__main__":
    main()
