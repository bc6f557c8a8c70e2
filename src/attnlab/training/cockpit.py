"""A cockpit for training: learning rate, size, Start, Stop, the loss as it falls, samples.

    pilot = training.cockpit(
        make_model=lambda size: TinyGPT(width=size),     # a new model of that size
        batches=lambda: batches(text, seed=0),           # a new stream of batches
        sizes={"small": 32, "large": 128},               # the first is the default
        lr=3e-3, steps=300,
        sample=lambda model: generate(model, "Once"),    # words to look at, now and then
    )
    pilot.model, pilot.history                           # of the last training

The cell trains the default once; then the cockpit is yours. Stop (or ■) ends a training and keeps
the model as it is then. It needs a kernel; a static page shows the run that the cell made.
"""

import html
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from attnlab.training.descent import Descent
from attnlab.training.fit import fit
from attnlab.training.history import History
from attnlab.training.listeners import Listener
from attnlab.training.live_loss import in_notebook, loss_picture
from attnlab.training.schedules import Schedule, cosine

EVERY = 5  # samples per training, at most


class Pilot(Listener):
    """Hears a training: shows what there is about once a second, and ends it when asked to."""

    def __init__(self, cockpit: "Cockpit") -> None:
        self.cockpit = cockpit
        self.shown = 0.0

    def step(self, model: Any, history: History) -> None:
        if self.cockpit.stopping.is_set():
            history.stopped = "asked"
        due = max(1, self.cockpit.steps // EVERY)
        if history.steps % due == 0 and not history.stopped:
            self.cockpit.take_sample(model, history)
        if time.monotonic() - self.shown > 1:
            self.cockpit.show(history)
            self.shown = time.monotonic()

    def close(self, history: History) -> None:
        self.cockpit.take_sample(self.cockpit.model, history)
        self.cockpit.show(history)


class Cockpit:
    """What `cockpit` returns. `model`, `history` and `samples` are those of the last training."""

    def __init__(
        self,
        make_model: Callable[[Any], nn.Module],
        batches: Callable[[], Iterable[Any]],
        *,
        sizes: Mapping[str, Any] | Sequence[Any],
        lr: float,
        steps: int,
        sample: Callable[[Any], str] | None,
        loss: Callable[[Any, Any], Tensor] | None,
        schedule: Schedule,
        seed: int,
    ) -> None:
        named = sizes if isinstance(sizes, Mapping) else {str(size): size for size in sizes}
        if not named:
            raise ValueError("sizes is empty: give at least one, the default.")
        if not lr > 0:
            raise ValueError(f"lr is {lr}: a learning rate is above 0.")
        self.make_model, self.batches, self.sizes = make_model, batches, dict(named)
        self.lr, self.steps, self.sample, self.loss = lr, steps, sample, loss
        self.schedule, self.seed = schedule, seed
        self.model: Any = None
        self.history: History | None = None
        self.samples: list[tuple[int, str]] = []
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None
        self._build()

    def train(self, size: str | None = None, lr: float | None = None) -> History:
        """Train a new model of this size here and now; what was trained before is gone."""
        self.stopping.clear()
        self.samples = []
        model = self.make_model(self.sizes[size or next(iter(self.sizes))])
        self.model = model
        self._running(True)
        try:
            self.history = fit(
                model,
                self.batches(),
                steps=self.steps,
                descent=Descent(lr=lr or self.lr, schedule=self.schedule),
                loss=None if self.loss is None else lambda batch: self.loss(model, batch),  # type: ignore[misc]
                listeners=(Pilot(self),),
                seed=self.seed,
            )
        finally:
            self._running(False)
        return self.history

    def start(self) -> None:
        """Train with what the controls say, beside the notebook's cells; Stop ends it."""
        if self.thread and self.thread.is_alive():
            return
        chosen = {"size": self.size.value, "lr": self.rate.value}
        self.thread = threading.Thread(target=self.train, kwargs=chosen, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End the training after its current step. The model stays as it is then."""
        self.stopping.set()

    def wait(self) -> "Cockpit":
        """Wait until a training that was started is over."""
        if self.thread:
            self.thread.join()
        return self

    def take_sample(self, model: Any, history: History) -> None:
        if self.sample is None or (self.samples and self.samples[-1][0] == history.steps):
            return
        model.eval()
        self.samples.append((history.steps, str(self.sample(model))))

    def show(self, history: History) -> None:
        """The loss and the samples, as they are now."""
        if not history.losses:
            return
        self.picture.value = loss_picture(history.losses).data
        why = {"asked": "stopped", "interrupted": "stopped"}.get(history.stopped, "")
        words = f"step {history.steps} of {self.steps}, loss {history.smooth():.3f}"
        self.status.value = f"{words}{f', {why}: the model is kept' if why else ''}"
        self.words.value = self._sample_table()

    def _sample_table(self) -> str:
        rows = "".join(
            "<tr><td style='text-align:right; vertical-align:top; white-space:nowrap; "
            f"padding-right:0.9em'>step {step}</td>"
            f"<td><code>{html.escape(text)}</code></td></tr>"
            for step, text in self.samples
        )
        return f"<table>{rows}</table>" if rows else ""

    def _running(self, now: bool) -> None:
        self.go.disabled, self.halt.disabled = now, not now

    def _build(self) -> None:
        import ipywidgets as widgets

        names = list(self.sizes)
        self.rate = widgets.FloatLogSlider(
            value=self.lr, base=10, min=-5, max=0, step=0.05, description="learning rate",
            readout_format=".1e", style={"description_width": "initial"},
        )  # fmt: skip
        self.rate.value = self.lr
        self.size = widgets.ToggleButtons(options=names, value=names[0], description="size")
        self.go = widgets.Button(description="Start", button_style="primary", icon="play")
        self.halt = widgets.Button(description="Stop", icon="stop", disabled=True)
        self.go.on_click(lambda _: self.start())
        self.halt.on_click(lambda _: self.stop())
        self.status = widgets.Label()
        self.picture = widgets.Image(format="png", width=700)
        self.words = widgets.HTML()
        self.view = widgets.VBox(
            [
                widgets.HBox([self.rate, self.size]),
                widgets.HBox([self.go, self.halt, self.status]),
                self.picture,
                self.words,
            ]
        )

    def recorded(self) -> str:
        """The last training as HTML, for a page without a kernel."""
        if self.history is None or not self.history.losses:
            return ""
        default = f"{next(iter(self.sizes))}, learning rate {self.lr:g}"
        note = (
            f"<p><em>A recorded run</em> ({html.escape(default)}, {self.history.steps} steps). In "
            "a notebook these are controls: another rate, another size, Start, Stop.</p>"
        )
        return f"{note}{loss_picture(self.history.losses)._repr_html_()}{self._sample_table()}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        live = self.view._repr_mimebundle_()
        data = live[0] if isinstance(live, tuple) else live
        still = self.recorded()
        return {
            **(data or {}), "text/plain": repr(self), **({"text/html": still} if still else {}),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"Cockpit({', '.join(self.sizes)}; {self.steps} steps)"


def cockpit(
    make_model: Callable[[Any], nn.Module],
    batches: Callable[[], Iterable[Any]],
    *,
    sizes: Mapping[str, Any] | Sequence[Any],
    lr: float = 3e-3,
    steps: int = 300,
    sample: Callable[[Any], str] | None = None,
    loss: Callable[[Any, Any], Tensor] | None = None,
    schedule: Schedule = cosine,
    seed: int = 0,
) -> Cockpit:
    """Show a cockpit, train its default once, and return it.

    - `make_model(size)` makes a new model; `sizes` are names and what they stand for, or a list.
    - `batches()` makes a new stream of batches.
    - `loss(model, batch)` gives a scalar; without it `model.loss(batch)` is asked.
    - `sample(model)` gives words to look at: five times a training, and at its end.

    In a notebook its controls start other trainings, beside the cells, and stop them.
    """
    made = Cockpit(
        make_model, batches, sizes=sizes, lr=lr, steps=steps, sample=sample, loss=loss,
        schedule=schedule, seed=seed,
    )  # fmt: skip
    handle = _display(made)
    made.train()
    if handle is not None:
        handle.update(made)  # the same controls, and for pages without a kernel what was trained
    return made


def _display(made: Cockpit) -> Any:
    if not in_notebook():
        return None
    from IPython.display import display

    return display(made, display_id=True)
