"""The training loop that chapters call, wherever the loop itself is not the lesson.

    history = fit(model, batches, seconds=60)                  # model.loss(batch) is minimised
    history = fit(model, batches, steps=2000, evaluate=scores, stop=lambda s: s["bleu"] >= 97)

It shows a bar with the time left, can draw the loss while it falls, and stops after `steps`,
after `seconds` of CPU time, or when a bar is reached, whichever comes first. Interrupt it (■ in
Jupyter, Ctrl-C in a shell) and the model is left as it is: trained so far, and ready to use.
Nothing is printed.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from attnlab import checkpoints, reproducible
from attnlab.training.live_loss import LiveLoss
from attnlab.training.schedules import Schedule, cosine


@dataclass
class History:
    """What happened. `stopped` says why it ended: "steps", "seconds", "bar", "interrupted" or
    "data".
    """

    losses: list[float] = field(default_factory=list)  # one a step
    scores: list[dict[str, float]] = field(default_factory=list)  # each with "step" and "seconds"
    seconds: float = 0.0  # CPU time of the steps alone
    stopped: str = ""

    @property
    def steps(self) -> int:
        return len(self.losses)

    def smooth(self, last: int = 50) -> float:
        """Mean of the last losses: one batch says little."""
        recent = self.losses[-last:]
        return sum(recent) / len(recent) if recent else math.nan


def fit(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    loss: Callable[[Any], Tensor] | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    lr: float = 3e-3,
    schedule: Schedule = cosine,
    optimizer: torch.optim.Optimizer | None = None,
    clip: float | None = 1.0,
    scaler: torch.amp.GradScaler | None = None,
    evaluate: Callable[[Any], dict[str, float]] | None = None,
    every: int = 200,
    stop: Callable[[dict[str, float]], bool] | None = None,
    checkpoint: str | Path | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool = True,
    figure: bool = False,
) -> History:
    """Train `model` on `batches` in place; it is left in evaluation mode.

    - `loss(batch)` gives a scalar; without it `model.loss(batch)` is asked.
    - `steps` and `seconds` are budgets; give one or both. Seconds are CPU time of this process,
      spent in steps (not in `evaluate`), so that a busy machine trains as far as an idle one. The
      learning rate follows `schedule` along the budget.
    - `optimizer`: Adam with learning rate `lr`, unless given. `clip` bounds the norm of the
      gradient.
    - `scaler`: for losses in float16, whose small gradients would vanish (Micikevicius et al.
      2018).
    - `evaluate(model)` is called every `every` steps and at the end; its numbers go into
      `history.scores`. When `stop(numbers)` is true, the bar is reached and training ends.
    - `checkpoint`: a safetensors file, written after each evaluation and at the end.
    """
    _check_budget(steps, seconds, stop, evaluate)
    reproducible.seed(seed)
    device = torch.device(device) if device is not None else _device_of(model)
    model.to(device)
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr, fused=device.type == "cpu")
    rates = [group["lr"] for group in optimizer.param_groups]
    measure: Callable[[Any], Tensor] = loss or model.loss  # type: ignore[assignment]
    history = History()
    picture = LiveLoss() if figure else None
    bar = tqdm(total=100, leave=False, disable=not progress, bar_format=_BAR)
    source = iter(batches)
    try:
        while not history.stopped:
            start = time.process_time()
            done = _share(history, steps, seconds)
            batch = next(source, None) if done < 1 else None
            if batch is None:
                history.stopped = (
                    "data" if done < 1 else "steps" if history.steps == steps else "seconds"
                )
                break
            _set_rates(optimizer, rates, schedule(done))
            history.losses.append(_step(model, batch, measure, optimizer, clip, scaler, device))
            history.seconds += time.process_time() - start
            if history.steps % 10 == 0:
                bar.update(100 * _share(history, steps, seconds) - bar.n)
                bar.set_postfix_str(f"loss {history.smooth():.3f}", refresh=False)
            if picture is not None:
                picture.update(history.losses)
            if history.steps % every == 0 and _look(model, history, evaluate, stop, checkpoint):
                history.stopped = "bar"
        if history.steps % every:
            _look(model, history, evaluate, stop, checkpoint)
    except KeyboardInterrupt:
        history.stopped = "interrupted"
    finally:
        bar.close()
        _set_rates(optimizer, rates, 1.0)  # an optimizer that was given goes back as it came
        model.eval()
        if picture is not None:
            picture.finish(history.losses)
    return history


def _step(
    model: nn.Module,
    batch: Any,
    measure: Callable[[Any], Tensor],
    optimizer: torch.optim.Optimizer,
    clip: float | None,
    scaler: torch.amp.GradScaler | None,
    device: torch.device,
) -> float:
    """Forwards, backwards, and one move of the optimizer."""
    scaler = scaler or _UNSCALED
    model.train()
    value = measure(batch.to(device) if hasattr(batch, "to") else batch)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(value).backward()
    if clip is not None:
        scaler.unscale_(optimizer)  # the bound is for gradients of their true size
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return value.item()


_UNSCALED = torch.amp.GradScaler("cpu", enabled=False)  # hands everything on as it is


def _look(
    model: nn.Module,
    history: History,
    evaluate: Callable[[Any], dict[str, float]] | None,
    stop: Callable[[dict[str, float]], bool] | None,
    checkpoint: str | Path | None,
) -> bool:
    """Evaluate, note the numbers, save; is the bar reached?"""
    reached = False
    if evaluate is not None:
        model.eval()
        with torch.no_grad():
            numbers = evaluate(model)
        history.scores.append({"step": history.steps, "seconds": history.seconds, **numbers})
        reached = stop is not None and stop(numbers)
    if checkpoint is not None:
        checkpoints.save(checkpoint, model.state_dict(), _about(model))
    return reached


def _set_rates(optimizer: torch.optim.Optimizer, rates: list[float], factor: float) -> None:
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * factor


_BAR = "{percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} left {postfix}"


def _share(history: History, steps: int | None, seconds: float | None) -> float:
    """How much of the budget is spent, 0…1: of the steps or the seconds, whichever is further
    on.
    """
    shares = [history.steps / steps] if steps else []
    shares += [history.seconds / seconds] if seconds else []
    return min(max(shares), 1.0)


def _check_budget(steps: Any, seconds: Any, stop: Any, evaluate: Any) -> None:
    if not (steps or seconds):
        raise ValueError("fit needs a budget: give steps=…, seconds=… (CPU time), or both.")
    if stop is not None and evaluate is None:
        raise ValueError("stop is asked about the numbers of evaluate: give evaluate=…, too.")


def _device_of(model: nn.Module) -> torch.device:
    first = next(model.parameters(), None)
    return first.device if first is not None else torch.device("cpu")


def _about(model: nn.Module) -> dict[str, Any]:
    config = getattr(model, "config", None)
    return {"config": vars(config)} if config is not None else {}
