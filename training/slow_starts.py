"""Does a slow start rescue post-norm? Depth by warm-up by norm, three seeds each.

    python training/slow_starts.py                 # about 5 CPU minutes on one core

The setting of chapter 10's part 4: a character model on tiny Shakespeare, 80 steps at a rate of
0.008 that falls along a cosine, no clipping. Every run is kept, the failed ones too. A run that is
finished is written down at once, to build/slow_starts.jsonl: interrupted, the script goes on.
"""

import json
from itertools import product
from pathlib import Path

import torch

from attnlab import assets
from attnlab.data import shakespeare
from attnlab.models.modern import Config, LanguageModel
from attnlab.training.pretrain import Plan, train

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "build" / "slow_starts.jsonl"
SIZES = {"width": 64, "heads": 4, "bias": True, "positions": "rope"}
LAYERS, NORMS, WARM_UPS, SEEDS = (4, 6, 8), ("post", "pre"), (0.0, 0.1, 0.25, 0.5), (0, 1, 2)
STEPS, RATE = 80, 8e-3


def run(norm: str, layers: int, warm_up: float, seed: int) -> float:
    """The held-out loss after one training."""
    torch.manual_seed(seed)
    words = len(shakespeare.vocabulary())
    model = LanguageModel(Config(words=words, norm=norm, layers=layers, **SIZES))
    held_out = shakespeare.held_out(64, count=64)
    plan = Plan(steps=STEPS, lr=RATE, warm_up=warm_up, clip=None, seed=seed, interval=STEPS)
    log = train(model, plan, evaluate=lambda m: float(m.loss(held_out)))
    return round(log.entries[-1]["valid"], 4)


def main() -> None:
    torch.set_num_threads(1)
    BOOK.parent.mkdir(parents=True, exist_ok=True)
    lines = BOOK.read_text(encoding="utf-8").splitlines() if BOOK.is_file() else []
    done = [json.loads(line) for line in lines]
    known = {(d["norm"], d["layers"], d["warm_up"], d["seed"]) for d in done}
    for norm, layers, warm_up, seed in product(NORMS, LAYERS, WARM_UPS, SEEDS):
        if (norm, layers, warm_up, seed) in known:
            continue
        loss = run(norm, layers, warm_up, seed)
        one = {"norm": norm, "layers": layers, "warm_up": warm_up, "seed": seed, "valid": loss}
        done.append(one)
        with BOOK.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")
        print(one, flush=True)
    path = assets.folder() / "data" / "slow_starts.json"
    path.write_text(json.dumps(done) + "\n", encoding="utf-8")
    assets.register(
        "data/slow_starts.json",
        licence="MIT",
        origin="measured by this project",
        command="python training/slow_starts.py",
    )


if __name__ == "__main__":
    main()
