"""Train the speller-to-speaker of chapter 2 on CMUdict and ship it: about 40 minutes on one core.

python training/pronunciation.py                 # writes assets/weights/pronunciation.safetensors
python training/pronunciation.py --steps 1000 --out /tmp/small.safetensors
"""

import argparse
from pathlib import Path

import torch

from attnlab import reproducible, training
from attnlab.data import batches, collate, pronunciation
from attnlab.seq2seq import Config, Seq2Seq

OUT = Path(__file__).parents[1] / "assets" / "weights" / "pronunciation.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    reproducible.seed(arguments.seed)
    letters, sounds = pronunciation.vocabularies()
    config = Config(
        source_words=len(letters), target_words=len(sounds), hidden=arguments.hidden, dropout=0.15
    )
    model = Seq2Seq(config)
    words = pronunciation.pairs("train")
    held_out = collate(pronunciation.pairs("valid")[::10], letters, sounds)

    def evaluate(model: Seq2Seq) -> dict[str, float]:
        loss = float(model.loss(held_out))
        print(f"validation loss {loss:.4f}", flush=True)
        return {"loss": loss}

    history = training.fit(
        model,
        batches(words, letters, sounds, size=128, seed=arguments.seed),
        steps=arguments.steps,
        lr=2e-3,
        evaluate=evaluate,
        every=400,
        seed=arguments.seed,
        progress=False,
        checkpoint=arguments.out.with_suffix(".draft"),
    )
    print(f"{history.steps} steps, {history.seconds:.0f} CPU seconds, loss {history.smooth():.4f}")


if __name__ == "__main__":
    main()
