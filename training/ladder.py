"""Climb from 2017 to Transformer++ one switch at a time, and take each switch away from the top.

    python training/ladder.py                      # about 20 CPU minutes on one core
    python training/ladder.py --steps 20 --file /tmp/try.json

A character model on tiny Shakespeare. Both ends are swept over five learning rates with each
optimiser, with one seed, and trained with two more seeds at the best one. Each rung is trained at
rising rates with one seed, as long as that helps, then at the best one with two more seeds; a
switch is left out at the rate that is best for its optimiser. A run that is finished is written
down at once, to build/ladder.jsonl: interrupted, the script goes on where it was. What a step costs
is measured at the end for all configs in turn, round after round, so that a busy machine is equally
busy for all; the fastest round counts.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from noted import register

from attnlab import assets
from attnlab.data import shakespeare
from attnlab.models.modern import SWITCHES, Config, LanguageModel
from attnlab.training.pretrain import Plan, train

ROOT = Path(__file__).parents[1]
# Biases everywhere, so that rungs differ by their switch alone.
SIZES = {"width": 64, "heads": 4, "layers": 3, "bias": True}
DECAY = {"adam": 0.0, "adamw": 0.1, "soap": 0.1}
SEEDS = (0, 1, 2)
RATES = (2e-3, 4e-3, 8e-3, 16e-3, 32e-3)
ROUNDS, STEPS = 6, 21  # of the measurement of time; SOAP renews its bases twice in a round
EVERY = 20


def rungs() -> dict[str, Config]:
    """Name -> config: the ladder upwards, then each switch left out of the top."""
    words = len(shakespeare.vocabulary())
    config = Config.vanilla_2017(words=words, **SIZES)
    found = {"2017": config}
    for name in SWITCHES:
        config = config.switch(name)
        found[f"+ {name}"] = config
    for name in SWITCHES:
        found[f"++ without {name}"] = config.switch(name)
    return found


def sweeps() -> dict[str, Config]:
    """Both ends with each optimiser."""
    ends = {"2017": rungs()["2017"], "++": rungs()["+ off_by_one"]}
    return {
        f"{end}, {optimiser}": Config(**{**vars(config), "optimiser": optimiser})
        for end, config in ends.items()
        for optimiser in DECAY
    }


def run(config: Config, lr: float, seed: int, steps: int) -> dict[str, Any]:
    """One training: its curve on held-out text."""
    torch.manual_seed(seed)
    model = LanguageModel(config)
    held_out = shakespeare.held_out(64, count=128)
    plan = Plan(
        steps=steps, lr=lr, seed=seed, decay=DECAY[config.optimiser], interval=EVERY, batch=16
    )
    log = train(model, plan, evaluate=lambda m: float(m.loss(held_out)))
    return {
        "steps": [entry["step"] for entry in log.entries],
        "valid": [round(entry["valid"], 4) for entry in log.entries],
        "parameters": sum(p.numel() for p in model.parameters()),
    }


class Book:
    """Finished runs, one JSON line each; a run that is there is not run again."""

    def __init__(self, path: Path, steps: int) -> None:
        self.path, self.steps = path, steps
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        self.runs = [json.loads(line) for line in lines]

    def get(self, config: Config, lr: float, seed: int) -> dict[str, Any]:
        key = {"config": vars(config), "lr": lr, "seed": seed, "of": self.steps}
        for done in self.runs:
            if all(done[name] == value for name, value in key.items()):
                return done
        done = {**key, **run(config, lr, seed, self.steps)}
        self.runs.append(done)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done) + "\n")
        print(f"{len(self.runs):4}  lr {lr:.3f}  seed {seed}  {done['valid'][-1]:.3f}", flush=True)
        return done


def best(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return min(runs, key=lambda one: one["valid"][-1])


def climb(book: Book) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, what is known of it) for every rung and both sweeps."""
    rate = {}  # of the top, for each optimiser
    for name, config in sweeps().items():
        runs = [book.get(config, lr, 0) for lr in RATES]
        lr = rate[config.optimiser] = best(runs)["lr"]  # the top is swept last
        again = [book.get(config, lr, seed) for seed in SEEDS]
        yield name, {"kind": "sweep", "runs": runs, "best": again}
    for name, config in rungs().items():
        without = " without " in name
        lr = rate[config.optimiser] if without else rising(book, config)
        runs = [book.get(config, lr, seed) for seed in SEEDS]
        yield name, {"kind": "without" if without else "rung", "runs": runs}


def rising(book: Book, config: Config) -> float:
    """The rate at which going up stops to help. Below RATES[2], no sweep found its best."""
    tried: list[dict[str, Any]] = []
    for lr in RATES[2:]:
        tried.append(book.get(config, lr, 0))
        if best(tried) is not tried[-1]:
            break
    return best(tried)["lr"]


def step_seconds(configs: Sequence[Config]) -> list[float]:
    """CPU seconds of one training step for each config: the fastest of many interleaved rounds."""
    torch.manual_seed(0)
    models = [LanguageModel(config) for config in configs]
    fastest = [float("inf")] * len(models)
    for _ in range(ROUNDS):
        for i, model in enumerate(models):
            log = train(model, Plan(steps=STEPS, lr=1e-3, batch=16))
            fastest[i] = min(fastest[i], log.seconds / STEPS)
    return [round(seconds, 5) for seconds in fastest]


def slim(found: dict[str, Any]) -> dict[str, Any]:
    """What the chapter needs of a rung: the config is said once."""
    keep = ("lr", "seed", "steps", "valid", "parameters")
    config = found["runs"][0]["config"]
    lists = {
        what: [{name: one[name] for name in keep} for one in found[what]]
        for what in ("runs", "best")
        if what in found
    }
    return {**found, "config": config, **lists}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--book", type=Path, default=ROOT / "build" / "ladder.jsonl")
    parser.add_argument("--file", type=Path, default=assets.folder() / "data" / "ladder.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    book = Book(arguments.book, arguments.steps)
    ladder = {name: slim(found) for name, found in climb(book)}
    costs = step_seconds([Config(**found["config"]) for found in ladder.values()])
    for found, seconds in zip(ladder.values(), costs, strict=True):
        found["step_seconds"] = seconds
    arguments.file.write_text(json.dumps(ladder) + "\n", encoding="utf-8")
    register(arguments.file, script="ladder", origin="measured by this project")


if __name__ == "__main__":
    main()
