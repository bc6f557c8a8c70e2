"""Train the speller-to-speaker of chapter 2 on CMUdict and ship it: about 25 minutes on one core.

python training/pronunciation.py                 # writes assets/weights/pronunciation.safetensors
python training/pronunciation.py --steps 1000 --out /tmp/small.safetensors
"""

import argparse
from pathlib import Path

import torch
from noted import register

from attnlab import assets, metrics, reproducible, training
from attnlab.data import batches, collate, pronunciation
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.translator import Translator

NAME = "weights/pronunciation.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--out", type=Path, default=assets.folder() / NAME)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    reproducible.seed(arguments.seed)
    letters, sounds = pronunciation.vocabularies()
    config = Config(
        source_words=len(letters), target_words=len(sounds), hidden=arguments.hidden, dropout=0.15
    )
    speaker = Translator(Seq2Seq(config), letters, sounds)
    words = pronunciation.pairs("train")
    held_out = collate(pronunciation.pairs("valid")[::10], letters, sounds)

    def evaluate(model: Seq2Seq) -> dict[str, float]:
        loss = float(model.loss(held_out))
        print(f"validation loss {loss:.4f}", flush=True)
        return {"loss": loss}

    history = training.fit(
        speaker.model,
        batches(words, letters, sounds, size=128, seed=arguments.seed),
        steps=arguments.steps,
        descent=training.Descent(lr=2e-3),
        listeners=(training.Evaluate(evaluate, every=1000),),
        seed=arguments.seed,
    )
    speaker.save(arguments.out, store="int8", steps=history.steps)
    shipped = Translator.load(arguments.out)  # measure what is shipped, not what was trained
    test = pronunciation.pairs("test")
    said = shipped.translate([pair.source for pair in test])
    accepted = [pronunciation.variants(pair.structure) for pair in test]
    print(
        f"{history.steps} steps, {history.seconds:.0f} CPU seconds, {len(test)} held-out words: "
        f"phoneme error rate {metrics.error_rate(said, accepted):.3f}, "
        f"words right {metrics.accuracy(said, accepted):.3f}",
        flush=True,
    )
    register(
        arguments.out,
        script="pronunciation",
        origin="trained by this project on the CMU Pronouncing Dictionary (BSD licence)",
    )


if __name__ == "__main__":
    main()
