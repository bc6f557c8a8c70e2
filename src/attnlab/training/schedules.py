"""How the learning rate moves along a training: a function of the share that is done.

cosine(0.5)      # the factor of the learning rate after half of the budget
"""

import math
from collections.abc import Callable

# Share of the training done, 0…1 -> factor of the learning rate.
Schedule = Callable[[float], float]


def constant(done: float) -> float:
    return 1.0


def cosine(done: float, warm_up: float = 0.03, floor: float = 0.02) -> float:
    """Up in a straight line for a moment, then down along a cosine (Loshchilov and Hutter 2017)."""
    if done < warm_up:
        return max(done / warm_up, floor)
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))


def inverse_sqrt(done: float, warm_up: float = 0.04) -> float:
    """Up in a straight line, then down as 1/√step (Vaswani et al. 2017, §5.3).

    The paper warms up for 4,000 of 100,000 steps: 0.04. Its peak, 1/√(E · 4000), is `lr` here.
    """
    if not 0 < warm_up < 1:
        raise ValueError(f"warm_up is {warm_up}, but it is a share of the training: 0 < … < 1.")
    return done / warm_up if done < warm_up else math.sqrt(warm_up / done)
