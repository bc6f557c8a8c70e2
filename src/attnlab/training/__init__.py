"""Training: the loop, the way down, and what you can watch while it runs.

    history  schedules  descent      how far, at which rate, by which steps
    live_loss  listeners             what watches a training, and may end it
    fit                              the loop: all of the above is handed to it
    cockpit                          the same with a slider, Start and Stop
    coverage  corruption             a loss for alignments; texts with holes
    optimisers  pretrain             Adam, AdamW, SOAP; another loop, for many devices
    cost  memory  scaling_law        what a training takes, and what it will reach

Read from top to bottom.
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
