"""Train a language model on one core, on many GPUs, and again after the power went out.

    train(model, Plan(steps=400, batch=16, length=64, lr=3e-3))
    torchrun --nproc-per-node 2 training/pretrain.py          # the same script on two devices

Each step's batch is drawn from (seed, step) alone. So nothing is lost by starting again in the
middle, and P processes, each with its share of the batch, walk the path of one process with all of
it: DistributedDataParallel averages the gradients. `accumulate` splits a batch too large for
memory; `precision` and `compile` are switches. A checkpoint is written every `interval` steps, in
safetensors, under another name first: kill -9 costs the last interval and nothing else.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attnlab import checkpoints
from attnlab.data import shakespeare
from attnlab.training.optimisers import make
from attnlab.training.schedules import cosine

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to train. `batch` is what one step sees, over all processes and accumulated parts."""

    steps: int
    batch: int = 16
    length: int = 64
    lr: float = 3e-3
    decay: float = 0.0
    warm_up: float = 0.05  # share of the steps; 0 starts at the full rate, which still falls
    clip: float | None = 1.0
    seed: int = 0
    accumulate: int = 1
    precision: str = "float32"
    compile: bool = False
    interval: int = 50  # steps between evaluations, and between checkpoints

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise ValueError(
                f"precision is {self.precision!r}, but it must be one of {', '.join(PRECISIONS)}."
            )
        if not 0 <= self.warm_up < 1:
            raise ValueError(
                f"warm_up is {self.warm_up}, but it is a share of the steps: 0 <= … < 1."
            )
        if self.batch % (self.accumulate * processes()):
            raise ValueError(
                f"a batch of {self.batch} cannot be split into {self.accumulate} parts on each of "
                f"{processes()} processes: choose a multiple of {self.accumulate * processes()}."
            )


@dataclass
class Log:
    """What happened: one entry for each evaluation, and the loss of every step."""

    entries: list[dict[str, float]] = field(default_factory=list)  # step, seconds, valid
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0  # CPU time of the steps alone


def processes() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def batch_at(plan: Plan, step: int) -> list[Tensor]:
    """This process's share of a step's batch, in `accumulate` parts: (rows, length + 1) each."""
    rows = next(
        shakespeare.windows(length=plan.length, size=plan.batch, seed=plan.seed * 1_000_003 + step)
    )
    mine = rows.chunk(processes())[rank()]
    return list(mine.chunk(plan.accumulate))


def train(
    model: Any,
    plan: Plan,
    *,
    evaluate: Callable[[Any], float] | None = None,
    folder: Path | None = None,
    watch: Callable[[int, Any], None] | None = None,
) -> Log:
    """Train `model` in place by `plan`; go on from `folder`'s checkpoint if there is one.

    `watch(step, model)` is called after every backward pass, before the weights move.
    """
    device = next(model.parameters()).device
    optimiser = make(model.config.optimiser, model, plan.lr, plan.decay)
    log = Log()
    first = resume(folder, model, optimiser, log) if folder else 0
    runner: Any = torch.compile(model.loss) if plan.compile else model.loss
    if dist.is_initialized():
        runner = DistributedDataParallel(Loss(model, runner))
    for step in range(first, plan.steps):
        start = time.process_time()
        factor = cosine(step / plan.steps, warm_up=plan.warm_up)
        for group in optimiser.param_groups:
            group["lr"] = plan.lr * factor
        model.train()
        optimiser.zero_grad(set_to_none=True)
        log.losses.append(_backward(runner, batch_at(plan, step), plan, device))
        if watch is not None:
            watch(step, model)
        if plan.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        optimiser.step()
        log.seconds += time.process_time() - start
        if (step + 1) % plan.interval == 0 or step + 1 == plan.steps:
            _look(model, optimiser, step + 1, evaluate, log, folder)
    model.eval()
    return log


class Loss(nn.Module):
    """DDP watches a module's `forward`: this one's is the loss."""

    def __init__(self, model: nn.Module, loss: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, tokens: Tensor) -> Tensor:
        return self.loss(tokens)


def _backward(runner: Any, parts: list[Tensor], plan: Plan, device: torch.device) -> float:
    """Gradients of the mean loss over the parts. DDP talks to the others only after the last."""
    total = 0.0
    kind = PRECISIONS[plan.precision]
    for i, tokens in enumerate(parts):
        quiet = isinstance(runner, DistributedDataParallel) and i + 1 < len(parts)
        with runner.no_sync() if quiet else nullcontext():
            with torch.autocast(device.type, dtype=kind, enabled=kind is not None):
                loss = runner(tokens.to(device)) / len(parts)
            loss.backward()
        total += loss.item()
    return total


def _look(
    model: Any,
    optimiser: torch.optim.Optimizer,
    step: int,
    evaluate: Callable[[Any], float] | None,
    log: Log,
    folder: Path | None,
) -> None:
    if evaluate is not None:
        model.eval()
        with torch.no_grad():
            value = evaluate(model)
        log.entries.append({"step": step, "seconds": log.seconds, "valid": value})
    if folder is not None and rank() == 0:
        save(folder, model, optimiser, step, log)


NAME = "latest.safetensors"


def save(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, step: int, log: Log
) -> None:
    """Model, optimiser, step and log in one file that is there whole or not at all."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    numbers: dict[str, dict[str, Any]] = {}
    for index, state in optimiser.state_dict()["state"].items():
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{index}.{name}"] = value.contiguous()
            else:
                numbers.setdefault(str(index), {})[name] = value
    about = {"step": step, "log": asdict(log), "numbers": numbers}
    checkpoints.save(folder / NAME, tensors, about)


def resume(folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, log: Log) -> int:
    """Put everything back as it was; the number of steps that are done."""
    path = folder / NAME
    if not path.is_file():
        return 0
    tensors, about = checkpoints.load(path)
    model.load_state_dict(
        {n.removeprefix("model."): v for n, v in tensors.items() if n.startswith("model.")}
    )
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimiser."):
            _, index, key = name.split(".")
            state.setdefault(int(index), {})[key] = value
    for index, values in about["numbers"].items():
        state.setdefault(int(index), {}).update(values)
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
    log.__dict__.update(about["log"])
    return about["step"]
