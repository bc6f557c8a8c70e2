"""Train the two translators that the course ships: one fixed context, and attention.

    python training/translators.py                  # both, about 25 CPU minutes on one core
    python training/translators.py --kind additive --steps 500 --folder /tmp/try

Sentences of 3 to 32 English words, the same for both, and the same sizes. The one with attention
has some target words hidden while it trains, so that it has to look at the source for them, and is
asked to look at every source word once.
"""

import argparse
from pathlib import Path

import torch
from noted import register

from attnlab import assets, reproducible, training
from attnlab.data import batches, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.training.coverage import with_coverage
from attnlab.translator import Translator

NAMES = {"none": "fixed_context", "additive": "rnnsearch"}
EVEN = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=tuple(NAMES), action="append")
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--longest", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--folder", type=Path, default=assets.folder() / "weights")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    corpus = EnglishFrench(longest=arguments.longest)
    sentences = corpus.take(arguments.sentences)
    held_out = corpus.take(200, "valid")
    test = corpus.take(400, "test")
    source, target = corpus.vocabularies()

    for kind in arguments.kind or NAMES:
        reproducible.seed(0)
        config = Config(
            source_words=len(source),
            target_words=len(target),
            kind=kind,
            hidden=arguments.hidden,
            dropout=0.1,
            word_dropout=0.25 if kind != "none" else 0.0,  # nothing to look at
        )
        translator = Translator(Seq2Seq(config), source, target)
        watched = collate(held_out, source, target)

        def evaluate(model: Seq2Seq, watched=watched, kind=kind) -> dict[str, float]:
            loss = float(model.loss(watched))
            print(f"{kind}: validation loss {loss:.4f}", flush=True)
            return {"loss": loss}

        path = arguments.folder / f"{NAMES[kind]}.safetensors"
        history = training.fit(
            translator.model,
            batches(sentences, source, target, size=48, seed=0),
            steps=arguments.steps,
            descent=training.Descent(lr=3e-3),
            loss=with_coverage(translator.model, EVEN) if kind != "none" else None,
            listeners=(training.Evaluate(evaluate, every=500),),
        )
        translator.save(path, store="int8", steps=history.steps, seconds=round(history.seconds))
        shipped = Translator.load(path)  # measure what is shipped, not what was trained
        line = f"{kind}: {history.seconds:.0f} CPU seconds, BLEU {shipped.bleu(test):.1f}"
        print(line if kind == "none" else f"{line}, AER {shipped.aer(test):.4f}", flush=True)
        register(
            path,
            script="translators",
            origin="trained by this project on its own English-French grammar",
        )


if __name__ == "__main__":
    main()
