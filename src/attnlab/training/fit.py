"""The training loop of the course, on one device, wherever the loop itself is not the lesson.

    history = fit(model, batches, seconds=60)                  # model.loss(batch) is minimised
    history = fit(model, batches, steps=2000, descent=Descent(lr=1e-2), listeners=(Curve(),))

It has a budget (`steps`, `seconds`), a way down (`descent`), and listeners that watch it and may
end it. Interrupt it (■ in Jupyter, Ctrl-C in a shell) and the model is left as it is: trained so
far, and ready to use. Nothing is printed.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import Tensor, nn

from attnlab import reproducible
from attnlab.training.descent import Descent, Walk
from attnlab.training.history import Budget, History
from attnlab.training.listeners import Listener, Progress


def fit(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    steps: int | None = None,
    seconds: float | None = None,
    descent: Descent = Descent(lr=3e-3),
    loss: Callable[[Any], Tensor] | None = None,
    listeners: Sequence[Listener] = (Progress(),),
    seed: int = 0,
) -> History:
    """Train `model` on `batches` in place, where it is; it is left in evaluation mode.

    - `steps` and `seconds` are budgets; give one or both. Seconds are CPU time of this process,
      spent in steps (not in listeners), so that a busy machine trains as far as an idle one.
    - `descent`: optimizer, learning rate along the budget, bounds.
    - `loss(batch)` gives a scalar; without it `model.loss(batch)` is asked.
    """
    history = History(Budget(steps, seconds))
    reproducible.seed(seed)
    measure: Callable[[Any], Tensor] = loss or model.loss  # type: ignore[assignment]
    walk = Walk(descent, model)
    for listener in listeners:
        listener.start()
    try:
        clock = time.process_time()
        for batch in batches:
            model.train()
            value = measure(_beside(model, batch))
            walk.step(value, history.done)
            history.add(value.item(), time.process_time() - clock)
            for listener in listeners:
                listener.step(model, history)
            if history.stopped:
                break
            clock = time.process_time()
        else:
            history.stopped = "data"
        for listener in listeners:
            listener.last(model, history)
    except KeyboardInterrupt:
        history.stopped = "interrupted"
    finally:
        walk.end()
        model.eval()
        for listener in listeners:
            listener.close(history)
    return history


def _beside(model: nn.Module, batch: Any) -> Any:
    """The batch on the model's device, if it can move."""
    weight = next(model.parameters(), None)
    return batch.to(weight.device) if weight is not None and hasattr(batch, "to") else batch
