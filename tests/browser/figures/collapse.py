"""A tiny DINO on dots, trained a second time with torch's autograd and the library's own parts."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attnlab.models.dino import centre_and_sharpen, entropies
from attnlab.widgets import Collapse
from attnlab.widgets import collapse as settings
from attnlab.widgets.base import LiveFigure

Weights = list[Tensor]


def look(weights: Weights, x: Tensor) -> Tensor:
    """(N, 2) -> cosines (N, K)"""
    first, prototypes = weights
    hidden = torch.tanh(functional.linear(x, first[:, :2], first[:, 2]))
    return functional.normalize(hidden, dim=-1) @ functional.normalize(prototypes, dim=-1).T


def tensor(values: Any) -> Tensor:
    return torch.tensor(np.array(values, dtype="float32")).double()


@lru_cache
def course(
    bytes_: tuple[tuple[bytes, tuple[int, ...]], ...], start: int, centred: bool, tau: float
):
    """Student, teacher, centre and entropies before every step and after the last."""
    points, noise, first, prototypes = (
        tensor(np.frombuffer(data, "float32").reshape(shape)) for data, shape in bytes_
    )
    student = [w[start].clone().requires_grad_() for w in (first, prototypes)]
    teacher = [w.detach().clone() for w in student]
    centre = torch.zeros(prototypes.shape[1]).double()
    adam = torch.optim.Adam(student, lr=settings.RATE)
    found = []
    for step in range(settings.STEPS + 1):
        answers = centre_and_sharpen(look(teacher, points), centre, tau)
        kept = ([w.detach().clone() for w in student], [w.clone() for w in teacher], centre)
        found.append((*kept, answers, entropies(answers)))
        at = 2 * (step % (len(noise) // 2))
        views = [points + noise[at], points + noise[at + 1]]
        said = [look(teacher, view) for view in views]
        loss = sum(
            -(centre_and_sharpen(said[1 - i], centre, tau)
              * (look(student, view) / settings.STUDENT).log_softmax(-1)).sum(-1).mean() / 2
            for i, view in enumerate(views)
        )  # fmt: skip
        adam.zero_grad()
        loss.backward()
        adam.step()
        with torch.no_grad():
            for old, new in zip(teacher, student, strict=True):
                old.lerp_(new, 1 - settings.MOMENTUM)
        if centred:
            centre = centre.lerp(torch.cat(said).mean(0), 1 - settings.CENTRE)
    return found


def twin(state: dict[str, Any], numbers: dict[str, Any]) -> dict[str, Any]:
    arrays = [np.asarray(state[n], "float32") for n in ("points", "noise", "first", "prototypes")]
    tau = settings.SHARP if state["sharpening"] else settings.STUDENT
    key = tuple((a.tobytes(), a.shape) for a in arrays)
    all_ = course(key, state["start"], state["centring"], tau)
    student, _, _, answers, _ = all_[state["step"]]
    chosen = tensor(arrays[0])[state["picture"]][None]
    # Of equal answers either may win: the page's choice must be as good as the best.
    winners = torch.tensor(numbers["winners"])
    best = answers.gather(1, winners[:, None])[:, 0]
    torch.testing.assert_close(best, answers.max(-1).values, atol=1e-5, rtol=0)
    return {
        "ofMean": [e[0] for *_, e in all_],
        "meanOf": [e[1] for *_, e in all_],
        "mean": answers.mean(0),
        "teacher": answers[state["picture"]],
        "student": (look(student, chosen)[0] / settings.STUDENT).softmax(-1),
        "winners": numbers["winners"],
        "used": len(set(numbers["winners"])),
    }


def examples() -> list[LiveFigure]:
    return [
        Collapse.dots(step=20),
        Collapse.dots(kinds=3, each=5, prototypes=4, starts=2, step=200, sharpening=False),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return Collapse.dots(step=200, title=words[0], caption=words[1], alt=words[2])
