"""The loop that scales: two processes are one, parts are the whole, and kill -9 loses nothing."""

import functools
import os
import signal
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from attnlab import checkpoints
from attnlab.data import shakespeare
from attnlab.models.modern import Config, LanguageModel
from attnlab.training import pretrain
from attnlab.training.pretrain import NAME, Plan, train

ROOT = Path(__file__).parents[2]
TINY = ["--width", "16", "--heads", "2", "--layers", "2", "--length", "12", "--batch", "8"]


def model(optimiser: str = "soap") -> LanguageModel:
    torch.manual_seed(0)
    words = len(shakespeare.vocabulary())
    config = Config.plus_plus(words=words, width=16, heads=2, layers=2)
    return LanguageModel(Config(**{**vars(config), "optimiser": optimiser}))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    tensors, _ = checkpoints.load(folder / NAME)
    return {name: value for name, value in tensors.items() if name.startswith("model.")}


def command(folder: Path, *more: str) -> list[str]:
    return [str(ROOT / "training" / "pretrain.py"), *TINY, "--folder", str(folder), *more]


def run(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], env=environment(), capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


def test_parts_are_the_whole() -> None:
    a, b = model("adamw"), model("adamw")
    train(a, Plan(steps=5, batch=8, length=12))
    train(b, Plan(steps=5, batch=8, length=12, accumulate=4))
    for p, q in zip(a.parameters(), b.parameters(), strict=True):
        torch.testing.assert_close(p, q, atol=2e-5, rtol=1e-4)


def test_two_processes_are_one_with_twice_the_batch(tmp_path: Path) -> None:
    # AdamW: SOAP's bases turn a rounding error into another path, two processes or not.
    same = ("--steps", "20", "--interval", "20", "--lr", "0.001", "--optimiser", "adamw")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", port]
    run([*launch, *command(tmp_path / "two", *same)])
    run(command(tmp_path / "one", *same))
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert one.keys() == two.keys()
    worst = max(float((one[name] - two[name]).abs().max()) for name in one)
    assert worst < 1e-5


def test_killed_and_started_again_is_uninterrupted(tmp_path: Path) -> None:
    """kill -9 in the middle of a run, twenty steps before its next checkpoint or anywhere else."""
    same = ("--steps", "120", "--interval", "10")
    process = subprocess.Popen(
        [sys.executable, *command(tmp_path / "killed", *same)], env=environment()
    )
    deadline = time.monotonic() + 200
    while not (tmp_path / "killed" / NAME).is_file() and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, about = checkpoints.load(tmp_path / "killed" / NAME)
    assert 10 <= about["step"] < 120
    run(command(tmp_path / "killed", *same))
    run(command(tmp_path / "whole", *same))
    resumed, whole = weights(tmp_path / "killed"), weights(tmp_path / "whole")
    for name in whole:
        torch.testing.assert_close(resumed[name], whole[name], atol=0, rtol=0)
    logs = [checkpoints.load(tmp_path / x / NAME)[1]["log"] for x in ("killed", "whole")]
    assert logs[0]["losses"] == logs[1]["losses"]


@pytest.mark.parametrize("switch", [{"precision": "bfloat16"}, {"compile": True}])
def test_the_switches_of_speed_learn_the_same(
    switch: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled: traced, forwards and backwards, but not built, which takes half a minute. That
    `inductor` can build a layer, tests/notebooks/test_pretended.py holds.
    """
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))
    plain, fast = model("adamw"), model("adamw")
    a = train(plain, Plan(steps=6, batch=8, length=12))
    b = train(fast, Plan(steps=6, batch=8, length=12, **switch))
    assert b.losses[-1] == pytest.approx(a.losses[-1], abs=0.05)
    assert b.losses[-1] < b.losses[0]


def test_a_batch_that_cannot_be_split_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 3"):
        Plan(steps=1, batch=16, accumulate=3)


@pytest.mark.parametrize("warm_up", [0.0, 0.25])
def test_the_rate_falls_with_and_without_a_warm_up(
    warm_up: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, rates = [], []
    make = pretrain.make

    def kept(*given: Any) -> torch.optim.Optimizer:
        made.append(make(*given))
        return made[-1]

    monkeypatch.setattr(pretrain, "make", kept)
    plan = Plan(steps=8, batch=4, length=8, lr=1e-3, warm_up=warm_up)
    train(
        model("adamw"), plan, watch=lambda step, _: rates.append(made[0].param_groups[0]["lr"])
    )  # fmt: skip
    top = round(8 * warm_up)  # the step at which the rate is at its highest
    assert rates[top] == pytest.approx(1e-3) == max(rates)
    assert all(a > b for a, b in pairwise(rates[top:]))
    assert all(a < b for a, b in pairwise(rates[: top + 1]))


def test_a_warm_up_is_a_share() -> None:
    with pytest.raises(ValueError, match="share of the steps"):
        Plan(steps=100, warm_up=10)
