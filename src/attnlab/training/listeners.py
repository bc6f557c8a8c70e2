"""What you can watch while a model trains, and what can end it: listeners of `fit`.

    fit(model, batches, seconds=60, listeners=(Progress(), Curve()))
    fit(model, batches, steps=2000, listeners=(Evaluate(scores, stop=lambda s: s["bleu"] >= 97),))

A listener of your own is a `Listener` with the methods it needs.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tqdm.auto import tqdm

from attnlab import checkpoints
from attnlab.training.history import History
from attnlab.training.live_loss import LiveLoss


class Listener:
    """Is told about a training. One listener may hear several, one after the other."""

    def start(self) -> None:
        """Before the first step."""

    def step(self, model: Any, history: History) -> None:
        """After every step. What is put into `history.stopped` ends the training."""

    def last(self, model: Any, history: History) -> None:
        """After the last step, unless the training was interrupted."""

    def close(self, history: History) -> None:
        """At the very end, whatever happened."""


class Progress(Listener):
    """A bar with the time left. It goes when the training is over."""

    BAR = "{percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} left {postfix}"

    def start(self) -> None:
        self.bar = tqdm(total=100, leave=False, bar_format=self.BAR)

    def step(self, model: Any, history: History) -> None:
        if history.steps % 10 == 0:
            self.bar.update(100 * history.done - self.bar.n)
            self.bar.set_postfix_str(f"loss {history.smooth():.3f}", refresh=False)

    def close(self, history: History) -> None:
        self.bar.close()


class Curve(Listener):
    """The loss, drawn while it falls."""

    def start(self) -> None:
        self.picture = LiveLoss()

    def step(self, model: Any, history: History) -> None:
        self.picture.update(history.losses)

    def close(self, history: History) -> None:
        self.picture.finish(history.losses)


class Regular(Listener):
    """Does its work every `every` steps and after the last."""

    def __init__(self, every: int = 200) -> None:
        self.every = every

    def step(self, model: Any, history: History) -> None:
        if history.steps % self.every == 0:
            self.work(model, history)

    def last(self, model: Any, history: History) -> None:
        if history.steps % self.every:
            self.work(model, history)

    def work(self, model: Any, history: History) -> None:
        raise NotImplementedError


class Evaluate(Regular):
    """Asks `scores(model)` for numbers and puts them into `history.scores`.

    When `stop(numbers)` is true, the bar is reached and training ends.
    """

    def __init__(
        self,
        scores: Callable[[Any], dict[str, float]],
        every: int = 200,
        stop: Callable[[dict[str, float]], bool] | None = None,
    ) -> None:
        super().__init__(every)
        self.scores, self.stop = scores, stop

    def work(self, model: Any, history: History) -> None:
        model.eval()
        with torch.no_grad():
            numbers = self.scores(model)
        history.scores.append({"step": history.steps, "seconds": history.seconds, **numbers})
        if self.stop is not None and self.stop(numbers):
            history.stopped = "bar"


class Save(Regular):
    """Keeps the weights in a safetensors file, which is there whole or not at all."""

    def __init__(self, path: str | Path, every: int = 200) -> None:
        super().__init__(every)
        self.path = path

    def work(self, model: Any, history: History) -> None:
        config = getattr(model, "config", None)
        about = {"config": vars(config)} if config is not None else {}
        checkpoints.save(self.path, model.state_dict(), about)
