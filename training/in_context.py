"""Watch induction heads form, and a small decoder learn to learn from its prompt, three times each.

    python training/in_context.py                 # about 90 CPU seconds on one core
    python training/in_context.py --steps 40 --seeds 0 --file /tmp/try.json

Goes into assets/data/in_context.json; chapter 7 draws it and trains one seed of each live.

    induction   attention-only models of one and two layers on random tokens that repeat: the loss
                where the text repeats, and the best head's induction score, every 15 steps
    codes       a decoder-only model on prompts of a secret code: right answers by number of
                examples, on codes it has never seen, and on the same prompts with digits shuffled
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from noted import register, write_tables
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnlab import assets, reproducible, training
from attnlab.data import in_context
from attnlab.models.attention_only import AttentionOnly
from attnlab.models.families import DecoderOnly
from attnlab.models.transformer import Config


def induction(layers: int, seed: int, steps: int) -> dict[str, Any]:
    """One model on repeating texts, watched while it learns."""
    reproducible.seed(seed)
    model = AttentionOnly(in_context.WORDS, layers=layers)
    texts = [
        next(in_context.repeats(size=6, seed=1000 + period, shortest=period, longest=period))
        for period in range(8, 21)
    ]

    def look(model: AttentionOnly) -> dict[str, float]:
        losses = [
            cross_entropy(
                model(tokens[:, :-1])[:, period:].flatten(0, 1), tokens[:, period + 1 :].flatten()
            ).item()
            for tokens, period in texts
        ]
        return {"loss": sum(losses) / len(losses), "score": scores(model, texts)[0].max().item()}

    history = training.fit(
        model,
        (batch for batch, _ in in_context.repeats(seed=seed)),
        steps=steps,
        # After a short warm-up the rate stays: a falling one would draw the cliff out.
        descent=training.Descent(lr=5e-3, schedule=lambda done: min(1.0, 10 * done)),
        listeners=(training.Evaluate(look, every=15),),
        seed=seed,
    )
    curve = [[s["step"], round(s["loss"], 3), round(s["score"], 3)] for s in history.scores]
    copying, before = scores(model, texts)
    return {
        "layers": layers,
        "seed": seed,
        "curve": curve,  # step, loss where the text repeats, best induction score
        "induction": _rounded(copying),
        "previous": _rounded(before),
        "seconds": round(history.seconds, 1),
    }


def scores(model: AttentionOnly, texts: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor]:
    """Induction and previous-token scores (layers, H), the mean over texts of every period.

    Of every period: a head that always looks 13 places back would fool a single one.
    """
    copying, before = [], []
    for tokens, period in texts:
        maps = model.maps(tokens)
        copying.append(in_context.induction_scores(maps, period))
        before.append(in_context.previous_scores(maps))
    return torch.stack(copying).mean(0), torch.stack(before).mean(0)


def _rounded(scores: Tensor) -> list[list[float]]:
    return [[round(x, 3) for x in row] for row in scores.tolist()]


def digits_right(model: DecoderOnly, prompts: Tensor) -> list[float]:
    """The share of right digits after 0, 1, 2 … examples."""
    with torch.no_grad():
        guesses = model(prompts[:, :-1])[:, ::2].argmax(-1)  # after each letter
    return [round(x, 4) for x in (guesses == prompts[:, 1::2]).float().mean(0).tolist()]


def secret_codes(seed: int, steps: int) -> dict[str, Any]:
    """A decoder that meets a new code in every prompt."""
    reproducible.seed(seed)
    words = 1 + in_context.LETTERS + in_context.DIGITS
    model = DecoderOnly(Config(words=words, positions="rope"))
    history = training.fit(
        model,
        in_context.codes(seed=seed),
        loss=lambda batch: cross_entropy(
            model(batch[:, :-1])[:, ::2].flatten(0, 1), batch[:, 1::2].flatten()
        ),
        steps=steps,
        descent=training.Descent(lr=5e-3),
        listeners=(),
        seed=seed,
    )
    prompts = next(in_context.codes(size=2000, unseen=True, seed=1000 + seed))
    shuffled = prompts.clone()  # the examples lie: their digits change places; the last one stays
    order = torch.rand(len(prompts), in_context.SHOTS).argsort(dim=-1)
    shuffled[:, 1:-1:2] = prompts[:, 1:-1:2].gather(1, order)
    return {
        "seed": seed,
        "right": digits_right(model, prompts),
        "lied_to": digits_right(model, shuffled)[-1],
        "seconds": round(history.seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=480)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "in_context.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows: dict[str, list[dict[str, Any]]] = {"induction": [], "codes": []}
    for seed in arguments.seeds:
        rows["induction"] += [induction(layers, seed, arguments.steps) for layers in (1, 2)]
        rows["codes"].append(secret_codes(seed, 800))
        print(rows["induction"][-2]["induction"], rows["induction"][-1]["induction"])
        print(rows["codes"][-1], flush=True)
    write_tables(arguments.file, rows)
    register(arguments.file, script="in_context", origin="measured by this project")


if __name__ == "__main__":
    main()
