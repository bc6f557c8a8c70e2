"""Online softmax, against the library's own update."""

from itertools import pairwise
from typing import Any

import torch

from attnlab.kernels import begin, finish, take
from attnlab.widgets import OnlineSoftmax
from attnlab.widgets.base import LiveFigure


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    scores = torch.tensor(state["scores"], dtype=torch.double)[None]
    values = torch.tensor(state["values"], dtype=torch.double)[:, None]
    block, keys = state["block"], scores.shape[1]
    blocks = -(-keys // block)
    step = min(state["step"], blocks)
    running = [begin(scores, values)]
    for b in range(step):
        part = slice(b * block, (b + 1) * block)
        running.append(take(running[-1], scores[:, part], values[part]))
    seen = min(step * block, keys)
    tops = [float(one.top) for one in running]
    return {
        "step": step,
        "blocks": blocks,
        "seen": seen,
        "tops": tops[1:],
        "totals": [float(one.total) for one in running[1:]],
        "mixed": [float(one.mixed) for one in running[1:]],
        "shrinks": [float(torch.tensor(a - b).exp()) for a, b in pairwise(tops)],
        "weights": scores[0, :seen].softmax(-1).tolist(),
        "result": float(finish(running[-1])),
    }


def examples() -> list[LiveFigure]:
    scores, values = [1.0, 3.0, 2.0, 0.5, 6.0], [1.0, -2.0, 4.0, 0.0, 3.0]
    return [
        OnlineSoftmax(scores, values, block=2, step=2),
        OnlineSoftmax(scores[:3], values[:3], block=1, step=3),
        OnlineSoftmax(scores, values, block=3),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return OnlineSoftmax([1.0, 2.0], [1.0, 2.0], title=words[0], caption=words[-1])
