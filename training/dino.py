"""Train small DINOs and a supervised twin on composed pictures, and measure where they look.

    python training/dino.py                                  # about 22 CPU minutes on one core
    python training/dino.py --only dino-0 --seconds 60 --folder /tmp/try

Each run may be interrupted: it saves itself every 100 steps and goes on where it was. Held out are
the *objects* of the test split, which no run has seen. Writes weights/dino_small.safetensors (the
teacher of seed 0) and data/dino_small.json (what was measured, and the course of every run).
"""

import argparse
import json
import math
import time
from pathlib import Path

import torch
from torch.nn import functional

from attnlab import assets, checkpoints, reproducible
from attnlab.data import composed
from attnlab.data.composed import standard
from attnlab.inside import outlines
from attnlab.models.dino import DINO, crops, entropies, multi_crop
from attnlab.models.vit import Config, ViT

CONFIG = Config(size=64, patch=8, width=96, layers=4, heads=3, classes=0)
BATCH, EVERY = 32, 100
RUNS = {"dino-0": 480.0, "dino-1": 480.0, "supervised-0": 300.0}  # CPU seconds
LR = 5e-4


def rate(done: float) -> float:
    """Up in a straight line for a tenth, then down along a cosine."""
    return LR * (done / 0.1 if done < 0.1 else 0.5 * (1 + math.cos(math.pi * (done - 0.1) / 0.9)))


class Run:
    """One training that can be laid down and taken up again."""

    def __init__(self, name: str, seconds: float, folder: Path) -> None:
        self.kind, seed = name.split("-")
        self.seed, self.budget = int(seed), seconds
        self.path = folder / f"{name}.state.safetensors"
        reproducible.seed(self.seed)
        self.dino = DINO(
            ViT(CONFIG), prototypes=64, momentum=0.98, teacher_temperature=0.02, balanced=True
        )
        self.classes = torch.nn.Linear(CONFIG.width, composed.kinds("train"))
        parts = (self.dino.student, self.classes)
        self.trained = [p for part in parts for p in part.parameters()]
        self.optimizer = torch.optim.AdamW(self.trained, lr=LR, weight_decay=0.0)
        self.step, self.seconds = 0, 0.0
        self.course: list[dict[str, float]] = []
        if self.path.is_file():
            self._take_up()

    def _take_up(self) -> None:
        tensors, about = checkpoints.load(self.path)
        self.step, self.seconds, self.course = about["step"], about["seconds"], about["course"]
        part = {n.removeprefix("dino."): t for n, t in tensors.items() if n.startswith("dino.")}
        self.dino.load_state_dict(part)
        part = {n.removeprefix("classes."): t for n, t in tensors.items() if "classes." in n}
        self.classes.load_state_dict(part)
        state = {
            i: {
                "step": torch.tensor(float(self.step)),
                "exp_avg": tensors[f"first.{i}"],
                "exp_avg_sq": tensors[f"second.{i}"],
            }
            for i in range(len(self.trained))
            if f"first.{i}" in tensors
        }
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})

    def lay_down(self) -> None:
        tensors = {f"dino.{n}": t for n, t in self.dino.state_dict().items()}
        tensors |= {f"classes.{n}": t for n, t in self.classes.state_dict().items()}
        for i, parameter in enumerate(self.trained):
            state = self.optimizer.state.get(parameter, {})
            if "exp_avg" in state:
                tensors |= {f"first.{i}": state["exp_avg"], f"second.{i}": state["exp_avg_sq"]}
        about = {"step": self.step, "seconds": self.seconds, "course": self.course}
        checkpoints.save(self.path, tensors, about)

    @property
    def backbone(self) -> ViT:
        """What is measured: the teacher of a DINO, the network itself of a supervised run."""
        found = (self.dino.teacher if self.kind == "dino" else self.dino.student)[0]
        assert isinstance(found, ViT)
        return found

    def loss(self) -> torch.Tensor:
        seed = 1_000_003 * (self.seed + 1) + self.step
        generator = torch.Generator().manual_seed(seed)
        pictures = composed.draw(BATCH, seed=seed)
        if self.kind == "dino":
            views = multi_crop(pictures.pixels, generator, count=2)
            return self.dino.loss([standard(view) for view in views])
        view = crops(pictures.pixels, CONFIG.size, (0.6, 1.0), generator)
        return functional.cross_entropy(
            self.classes(self.dino.student[0](standard(view))), pictures.kinds
        )

    def train(self) -> None:
        torch.manual_seed(self.seed)
        while self.seconds < self.budget:
            start = time.process_time()
            for group in self.optimizer.param_groups:
                group["lr"] = rate(self.seconds / self.budget)
            loss = self.loss()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.trained, 3.0)
            self.optimizer.step()
            if self.kind == "dino":
                done = self.seconds / self.budget
                self.dino.momentum = 1 - (1 - 0.98) * 0.5 * (1 + math.cos(math.pi * done))
                self.dino.update()
            self.step += 1
            self.seconds += time.process_time() - start
            if self.step % EVERY == 0 or self.seconds >= self.budget:
                self.note(float(loss.detach()))

    def note(self, loss: float) -> None:
        seen = {"step": self.step, "seconds": round(self.seconds), "loss": round(loss, 3)}
        if self.kind == "dino":
            watched = standard(composed.draw(128, seed=7).pixels)
            of_mean, mean_of = entropies(self.dino.targets(watched))
            seen |= {"entropy_of_mean": round(of_mean, 3), "mean_entropy": round(mean_of, 3)}
        seen |= measure(self.backbone, count=128)
        self.course.append(seen)
        print(self.path.name, seen, flush=True)
        self.lay_down()


@torch.no_grad()
def measure(model: ViT, count: int = 512) -> dict[str, float]:
    """Jaccard of the last layer's [CLS] maps and k-NN, on objects that were never trained on."""
    model.eval()
    pictures = composed.draw(count, split="test", seed=99)
    found = outlines.score(outlines.cls_maps(model, standard(pictures.pixels)), pictures.gold)
    bank = composed.draw(2 * count, split="test", seed=100)
    guesses = outlines.nearest_neighbours(
        model.describe(standard(bank.pixels)),
        bank.kinds,
        model.describe(standard(pictures.pixels)),
    )
    knn = float((guesses == pictures.kinds).float().mean())
    model.train()
    return {name: round(value, 4) for name, value in (found | {"knn": knn}).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=RUNS)
    parser.add_argument("--seconds", type=float, help="CPU seconds of each run")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/attnlab-dino"), help="of states")
    parser.add_argument("--ship", action="store_true", help="write the assets at the end")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = {}
    for name, seconds in RUNS.items():
        if arguments.only in (None, name):
            runs[name] = Run(name, arguments.seconds or seconds, arguments.folder)
            runs[name].train()
    results = {}
    for seed in (0, 1):
        reproducible.seed(seed)
        results[f"random-{seed}"] = measure(ViT(CONFIG))
    results |= {name: measure(run.backbone) for name, run in runs.items()}
    print(json.dumps(results, indent=1))
    if arguments.ship:
        ship(runs, results)


def ship(runs: dict[str, Run], results: dict[str, dict[str, float]]) -> None:
    made = dict(
        licence="MIT",
        origin="trained by this project on pictures made of Fluent Emoji (Microsoft, MIT) and CC0 "
        "textures",
        command="python training/dino.py --ship",
    )
    for name, run in (("dino_small", "dino-0"), ("supervised_small", "supervised-0")):
        path = assets.folder() / "weights" / f"{name}.safetensors"
        about = {"config": vars(CONFIG), "steps": runs[run].step}
        checkpoints.save(path, runs[run].backbone.state_dict(), about, store="int8")
        assets.register(f"weights/{path.name}", **made)
    report = {"results": results, "courses": {name: run.course for name, run in runs.items()}}
    path = assets.folder() / "data" / "dino_small.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    assets.register(f"data/{path.name}", **made)


if __name__ == "__main__":
    main()
