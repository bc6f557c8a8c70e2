"""What the shipped ladder says: chapter 10 tells it, these tests hold it."""

import json

import numpy as np
import pytest

from attnlab import assets
from attnlab.models.modern import SWITCHES

LADDER = json.loads(assets.find("data/ladder.json").read_text(encoding="utf-8"))
TOP = "+ off_by_one"


def curve(name: str) -> np.ndarray:
    """(seeds, measurements)"""
    return np.array([run["valid"] for run in LADDER[name]["runs"]])


def steps_to(run: dict, goal: float) -> int:
    return next(s for s, v in zip(run["steps"], run["valid"], strict=True) if v <= goal)


def test_every_rung_and_every_omission_has_three_seeds() -> None:
    names = ["2017", *(f"+ {n}" for n in SWITCHES), *(f"++ without {n}" for n in SWITCHES)]
    for name in names:
        runs = LADDER[name]["runs"]
        assert {run["seed"] for run in runs} == {0, 1, 2}
        assert len({run["lr"] for run in runs}) == 1
        assert all(run["steps"][-1] == 300 for run in runs)


@pytest.mark.parametrize("seed", range(3))
def test_plus_plus_needs_at_most_half_the_steps_and_less_time(seed: int) -> None:
    goal = LADDER["2017"]["runs"][seed]["valid"][-1]
    reached = steps_to(LADDER[TOP]["runs"][seed], goal)
    assert reached <= 150
    assert reached * LADDER[TOP]["step_seconds"] < 300 * LADDER["2017"]["step_seconds"]


@pytest.mark.parametrize("end", ["2017", "++"])
def test_soap_needs_fewer_steps_than_adamw_each_at_its_best_rate(end: str) -> None:
    curves = {}
    for name in ("adamw", "soap"):
        swept = LADDER[f"{end}, {name}"]
        lowest = min(swept["runs"], key=lambda run: run["valid"][-1])["lr"]
        rates = sorted(run["lr"] for run in swept["runs"])
        assert rates[0] < lowest < rates[-1]  # the sweep reaches beyond it on both sides
        assert [(run["lr"], run["seed"]) for run in swept["best"]] == [
            (lowest, n) for n in range(3)
        ]
        curves[name] = np.array([run["valid"] for run in swept["best"]])  # (seeds, measurements)
    for slow, fast in zip(curves["adamw"], curves["soap"], strict=True):
        assert fast[-1] < slow[-1]  # each seed
    mean = {"steps": swept["best"][0]["steps"], "valid": curves["soap"].mean(0)}
    assert steps_to(mean, curves["adamw"][:, -1].mean()) <= 260


def test_rope_is_missed_most_and_pre_norm_not_at_all() -> None:
    top = curve(TOP)[:, -1].mean()
    gaps = {name: curve(f"++ without {name}")[:, -1].mean() - top for name in SWITCHES}
    assert max(gaps, key=lambda name: gaps[name]) == "positions"
    assert gaps["optimiser"] > 0.02
    assert gaps["norm"] < 0


def test_slow_starts_rescue_post_norm_at_four_layers_alone() -> None:
    runs = json.loads(assets.find("data/slow_starts.json").read_text(encoding="utf-8"))
    assert len(runs) == 2 * 3 * 4 * 3  # norms, depths, warm-ups, seeds: every run is kept
    stuck = {(r["layers"], r["warm_up"]) for r in runs if r["norm"] == "post" and r["valid"] > 3.3}
    assert {(6, w) for w in (0.0, 0.1, 0.25, 0.5)} <= stuck
    assert {(8, w) for w in (0.0, 0.1, 0.25, 0.5)} <= stuck
    assert (4, 0.5) not in stuck
    assert all(r["valid"] < 3.1 for r in runs if r["norm"] == "pre")
