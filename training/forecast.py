"""A prediction that is written down before its runs: a size 2.2 times the largest of chapter 7.

    python training/forecast.py predict           # a loss and a bar for each amount of text
    python training/forecast.py run               # about 20 CPU seconds: three seeds on each amount
    python training/forecast.py rates             # about 40: the same at half and twice the rate
    python training/forecast.py updates           # about 40: the same text in four times the steps

The law is fitted to all 54 runs of `scaling.py`, and the bar is made as in the chapter: other seeds
that might have come up (a bootstrap), and how far the same prediction missed one size earlier,
which was a step of 2.2 as well. `predict` goes into assets/data/forecast.json, and was committed
before `run` trained anything of that width; it refuses to change once there are runs. They came out
worse than the bar allows, so `rates` asks whether the learning rate was to blame, and `updates`
whether the number of steps was: the sixth and the seventh size read the same text in batches a
quarter as large.
"""

import json
import sys
from typing import Any

import torch
from noted import register, write_tables
from scaling import SIZE, STEPS, WIDTHS, parameters, run
from torch import Tensor

from attnlab import assets
from attnlab.training.scaling_law import fit_law, resampled

WIDTH = 72
SEEDS = (0, 1, 2)
RATES = (0.5, 2.0)  # times the rule's rate
MORE = 4  # times the steps, each on a quarter of the text
FILE = assets.folder() / "data" / "forecast.json"


def measured() -> tuple[Tensor, Tensor, Tensor]:
    """Sizes (N,), amounts (D,) and losses (N, D, seeds) of the grid."""
    grid = json.loads((FILE.parent / "scaling_law.json").read_text(encoding="utf-8"))["grid"]
    sizes = sorted({r["parameters"] for r in grid})
    amounts = sorted({r["tokens"] for r in grid})
    losses = [
        [[r["loss"] for r in grid if (r["parameters"], r["tokens"]) == (n, d)] for d in amounts]
        for n in sizes
    ]
    return torch.tensor(sizes).double(), torch.tensor(amounts).double(), torch.tensor(losses)


def predicted(sizes: Tensor, amounts: Tensor, losses: Tensor, larger: Tensor) -> Tensor:
    """What a law fitted to mean losses (N, D) expects of a larger size, on each amount."""
    n, d = sizes[:, None].expand_as(losses), amounts.expand_as(losses)
    law = fit_law(n.flatten(), d.flatten(), losses.flatten())
    return law(larger, amounts)


def predict() -> list[dict[str, Any]]:
    sizes, amounts, losses = measured()
    larger = torch.tensor(float(parameters(WIDTH)), dtype=torch.float64)
    best = predicted(sizes, amounts, losses.mean(-1), larger)
    luck = torch.Generator().manual_seed(0)
    guesses = []
    for _ in range(100):
        drawn = resampled(losses.flatten(0, 1), luck).view_as(losses)
        guesses.append(predicted(sizes, amounts, drawn.mean(-1), larger))
    low, high = torch.stack(guesses).quantile(torch.tensor([0.025, 0.975]).double(), dim=0)
    rehearsal = predicted(sizes[:-1], amounts, losses[:-1].mean(-1), sizes[-1])
    miss = (rehearsal - losses[-1].mean(-1)).abs()
    return [
        {"width": WIDTH, "parameters": int(larger), "tokens": int(d),
         "predicted": round(float(best[i]), 4),
         "low": round(float(low[i] - miss[i]), 4), "high": round(float(high[i] + miss[i]), 4)}
        for i, d in enumerate(amounts)
    ]  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    tables = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    if sys.argv[1:] == ["predict"]:
        if tables.get("runs"):
            raise SystemExit("There are runs already: a prediction made now would not be one.")
        tables = {"written_down": predict()}
    elif sys.argv[1:] == ["run"]:
        tables["runs"] = [run(WIDTH, steps, seed) for seed in SEEDS for steps in STEPS]
    elif sys.argv[1:] == ["rates"]:
        tables["rates"] = [
            {"rate": rate, **run(WIDTH, steps, seed, rate)}
            for rate in RATES
            for seed in SEEDS
            for steps in STEPS
        ]
    elif sys.argv[1:] == ["updates"]:
        tables["updates"] = [
            {"times": MORE, **run(width, MORE * steps, seed, size=SIZE // MORE)}
            for width in (WIDTHS[-1], WIDTH)
            for seed in SEEDS
            for steps in STEPS
        ]
    else:
        raise SystemExit("python training/forecast.py predict, then run, rates, updates")
    write_tables(FILE, tables)
    register(FILE, script="forecast", origin="measured by this project")


if __name__ == "__main__":
    main()
