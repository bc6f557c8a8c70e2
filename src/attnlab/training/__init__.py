"""Training: the loop, the way down, and what one can watch while it runs.

`fit` is the loop, and the rest is handed to it. `pretrain.train` is another one: for many devices,
and for runs that survive a power cut.
"""

from attnlab.training.cockpit import Cockpit, cockpit
from attnlab.training.descent import Descent
from attnlab.training.fit import fit
from attnlab.training.history import History
from attnlab.training.listeners import Curve, Evaluate, Listener, Progress, Save
from attnlab.training.schedules import constant, cosine, inverse_sqrt

__all__ = [
    "Cockpit",
    "Curve",
    "Descent",
    "Evaluate",
    "History",
    "Listener",
    "Progress",
    "Save",
    "cockpit",
    "constant",
    "cosine",
    "fit",
    "inverse_sqrt",
]
