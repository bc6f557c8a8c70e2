"""Train four small aligners for chapter 2 that differ in one word of their config, and ship them.

    python training/score_functions.py                 # about 4 CPU minutes on one core
    python training/score_functions.py --steps 200 --folder /tmp/try

Same sentences, steps and seed for all: three score functions, and the additive one once more with
the paper's order (it asks before it has read the last word). They are as wide as the chapter's
live translator, and trained a little shorter.
"""

import argparse
from pathlib import Path

import torch
from noted import register

from attnlab import assets, reproducible, training
from attnlab.data import batches
from attnlab.data.english_french import EnglishFrench
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.training.coverage import with_coverage
from attnlab.translator import Translator

VARIANTS = {
    "align_additive": {"kind": "additive"},
    "align_dot": {"kind": "dot"},
    "align_bilinear": {"kind": "bilinear"},
    "align_before": {"kind": "additive", "order": "before"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--sentences", type=int, default=40_000)
    parser.add_argument("--name", choices=tuple(VARIANTS), action="append")
    parser.add_argument("--folder", type=Path, default=assets.folder() / "weights")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    corpus = EnglishFrench(longest=15)
    sentences = corpus.take(arguments.sentences)
    test = corpus.take(400, "test", seed=1)
    source, target = corpus.vocabularies()
    for name in arguments.name or VARIANTS:
        reproducible.seed(0)
        sizes = {"source_words": len(source), "target_words": len(target), "hidden": 96}
        translator = Translator(Seq2Seq(Config(**sizes, **VARIANTS[name])), source, target)  # type: ignore[arg-type]
        history = training.fit(
            translator.model,
            batches(sentences, source, target, size=32, seed=0),
            steps=arguments.steps,
            descent=training.Descent(lr=5e-3),
            loss=with_coverage(translator.model, 0.1),
            listeners=(),
        )
        path = arguments.folder / f"{name}.safetensors"
        translator.save(path, store="int8", steps=history.steps, seconds=round(history.seconds))
        shipped = Translator.load(path)  # measure what is shipped, not what was trained
        print(
            f"{name}: {history.seconds:.0f} CPU seconds, BLEU {shipped.bleu(test):.1f}, "
            f"AER {shipped.aer(test):.4f}",
            flush=True,
        )
        register(
            path,
            script="score_functions",
            origin="trained by this project on its own English-French grammar",
        )


if __name__ == "__main__":
    main()
