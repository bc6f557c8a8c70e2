"""Training: one loop, its schedules, and what one can watch while it runs.

`fit` is the loop; the rest is handed to it.
"""

from attnlab.training.fit import History, fit
from attnlab.training.schedules import constant, cosine, inverse_sqrt

__all__ = [
    "History",
    "constant",
    "cosine",
    "fit",
    "inverse_sqrt",
]
