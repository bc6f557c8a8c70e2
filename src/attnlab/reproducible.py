"""One helper for every random seed of the course."""

import random

import numpy as np
import torch


def seed(number: int = 0) -> torch.Generator:
    """Seed Python, NumPy and torch, and return a torch generator with the same seed."""
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)
    return torch.Generator().manual_seed(number)
