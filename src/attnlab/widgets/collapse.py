"""The collapse of DINO in a plane: dots for pictures, trained in the reader's browser."""

from typing import Any

import numpy as np
from traitlets import Bool, Int

from attnlab.widgets.base import Array, FigureError, LiveFigure, bundle, stylesheet, together

# As in static/tiny_dino.js; the browser tests train the same in torch and compare every step.
STEPS, STUDENT, SHARP, MOMENTUM, CENTRE, RATE = 200, 0.1, 0.03, 0.9, 0.8, 0.02


class Collapse(LiveFigure):
    """Switch centring and sharpening off and on, pull through 200 steps, choose a dot.

    Collapse.dots(step=200, centring=False)

    points (N, 2) are the pictures; a view is a picture and `noise` (2 · rounds, N, 2), two of them
    for every step. A network has one hidden layer, `first` (starts, H, 3) with its bias last, and
    `prototypes` (starts, K, H); its logits are cosines. All of it is trained in the browser.
    """

    figure = "collapse"
    _esm, _css = bundle("collapse"), stylesheet("collapse")
    made = ("points", "noise", "first", "prototypes")

    points = Array((2,))
    noise = Array((3,))
    first = Array((3,))
    prototypes = Array((3,))
    step = Int(0).tag(sync=True)
    centring = Bool(True).tag(sync=True)
    sharpening = Bool(True).tag(sync=True)
    start = Int(0).tag(sync=True)
    picture = Int(0).tag(sync=True)

    def __init__(self, points: Any, *, noise: Any, first: Any, prototypes: Any, **traits: Any):
        _check(*(np.asarray(x) for x in (points, noise, first, prototypes)))
        super().__init__(
            points=points,
            noise=noise,
            first=first,
            prototypes=prototypes,
            **{
                "alt": "Dots in a plane, coloured by the prototype that wins there, beside the "
                "answers of teacher and student and two entropies against training steps.",
                **traits,
            },
        )

    @classmethod
    def dots(
        cls, *, kinds: int = 6, each: int = 6, prototypes: int = 7, starts: int = 3, **traits: Any
    ) -> "Collapse":
        """Some kinds of pictures around a circle, and networks that first say much the same of all.

        The first layer is weak beside its bias: so is a fresh ViT, whose [CLS] hardly depends on
        the picture. That common part is what centring has to take away.
        """
        dice = np.random.default_rng(0)
        angle = np.repeat(np.arange(kinds), each) * 2 * np.pi / kinds
        points = np.stack([np.cos(angle), np.sin(angle)], -1)
        points = points + 0.12 * dice.standard_normal(points.shape)
        noise = 0.3 * dice.standard_normal((16, len(points), 2))
        first = dice.standard_normal((starts, 16, 3)) * [0.2, 0.2, 1.0]
        return cls(
            points,
            noise=noise,
            first=first,
            prototypes=dice.standard_normal((starts, prototypes, 16)),
            **traits,
        )

    @together("step", "start", "picture")
    def _fits(self, **now: Any) -> None:
        if self.points is None or self.prototypes is None:
            return
        for name, most in (
            ("step", STEPS),
            ("start", len(self.prototypes) - 1),
            ("picture", len(self.points) - 1),
        ):
            if not 0 <= now[name] <= most:
                raise FigureError(f"{name} is {now[name]}, but it goes from 0 to {most}.")


def _check(
    points: np.ndarray, noise: np.ndarray, first: np.ndarray, prototypes: np.ndarray
) -> None:
    if points.ndim != 2 or points.shape[1] != 2 or not 2 <= len(points) <= 200:
        raise FigureError(f"points has shape {points.shape}: give 2 to 200 dots (N, 2).")
    if noise.ndim != 3 or noise.shape[1:] != points.shape or len(noise) % 2 or not len(noise):
        raise FigureError(
            f"noise has shape {noise.shape}, but (2 · rounds, {len(points)}, 2) is expected: two "
            "views of every dot."
        )
    if first.ndim != 3 or prototypes.ndim != 3 or first.shape[2] != 3:
        raise FigureError(
            f"first has shape {first.shape} and prototypes {prototypes.shape}, but (starts, H, 3) "
            "and (starts, K, H) are expected."
        )
    if (len(first), first.shape[1]) != (len(prototypes), prototypes.shape[2]):
        raise FigureError(
            f"first {first.shape} and prototypes {prototypes.shape} do not fit: the same number of "
            "starts and the same hidden width are expected."
        )
    if not 2 <= prototypes.shape[1] <= 7:
        raise FigureError(f"{prototypes.shape[1]} prototypes were given: 2 to 7 have a colour.")
