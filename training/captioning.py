"""Train the captioner of chapter 2 on the course's scenes and ship it: about 3 CPU minutes.

python training/captioning.py                 # writes assets/weights/captioning.safetensors
python training/captioning.py --steps 200 --out /tmp/small.safetensors
"""

import argparse
from pathlib import Path

import torch
from noted import register

from attnlab import assets, reproducible, training
from attnlab.data import scenes
from attnlab.models.captioning import Captioner, Config, Teller, batches

NAME = "weights/captioning.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=assets.folder() / NAME)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    reproducible.seed(arguments.seed)
    words = scenes.vocabulary()
    teller = Teller(Captioner(Config(target_words=len(words))), words)
    held_out = scenes.take(100, split="valid")

    def evaluate(model: Captioner) -> dict[str, float]:
        exact, pointing = teller.exact(held_out), teller.pointing(held_out).nouns
        print(f"validation: exact {exact:.3f}, pointing {pointing:.3f}", flush=True)
        return {"exact": exact, "pointing": pointing}

    history = training.fit(
        teller.model,
        batches(words, size=32, seed=arguments.seed),
        steps=arguments.steps,
        descent=training.Descent(lr=4e-3),
        listeners=(training.Evaluate(evaluate, every=250),),
        seed=arguments.seed,
    )
    teller.save(arguments.out, store="float16", steps=history.steps)
    shipped = Teller.load(arguments.out)  # measure what is shipped, not what was trained
    test = scenes.take(1000, split="test")
    pointing = shipped.pointing(test)
    print(
        f"{history.steps} steps, {history.seconds:.0f} CPU seconds, {len(test)} held-out scenes: "
        f"exact {shipped.exact(test):.3f}, pointing at {pointing.words} nouns "
        f"{pointing.nouns:.3f} (chance {pointing.chance:.3f}), at colours {pointing.colours:.3f}",
        flush=True,
    )
    register(
        arguments.out,
        script="captioning",
        origin="trained by this project on scenes made of Fluent Emoji (Microsoft, MIT)",
    )


if __name__ == "__main__":
    main()
