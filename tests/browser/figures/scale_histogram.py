"""The histogram of dot products."""

import math
from typing import Any

import numpy as np
import torch

from attnlab.widgets import ScaleHistogram
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import entropy


def mulberry32(seed: int, start: int, count: int) -> np.ndarray:
    """Numbers `start`, `start` + 1, … of the seeded generator, in [0, 1)."""
    with np.errstate(over="ignore"):
        steps = np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(0x6D2B79F5)
        t = (steps + np.uint64(seed)).astype(np.uint32)
        t = (t ^ (t >> np.uint32(15))) * (t | np.uint32(1))
        t ^= t + (t ^ (t >> np.uint32(7))) * (t | np.uint32(61))
        return (t ^ (t >> np.uint32(14))) / 2.0**32


def normals(seed: int, start: int, count: int) -> np.ndarray:
    """Box–Muller on pairs of them; `start` and `count` are even."""
    uniform = mulberry32(seed, start, count).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log(1 - uniform[:, 0]))
    angle = 2 * np.pi * uniform[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1)


def twin(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
    dims, keys, scaled = state["dims"], state["key_count"], state["scaled"]
    rows = 4096 // keys
    block = rows * (keys + 1)
    block += block % 2
    stream = normals(state["seed"], 0, dims * block).reshape(dims, block)
    q = torch.from_numpy(stream[:, :rows].T.copy())  # (rows, d)
    k = torch.from_numpy(stream[:, rows : rows * (keys + 1)].reshape(dims, rows, keys).copy())
    scores = torch.einsum("rd,drk->rk", q, k) / (math.sqrt(dims) if scaled else 1.0)
    theory = 1 if scaled else dims
    edge = 4 * math.sqrt(theory)
    counts = torch.histc(scores.flatten(), bins=32, min=-edge, max=edge)
    # A score on the border of two bins may fall to either side.
    moved = (counts - torch.tensor(numbers["counts"])).abs().sum()
    assert moved <= 2, f"{int(moved)} scores are in other bins than Python's"
    weights = scores.softmax(-1)
    jacobian = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
    norms = torch.linalg.matrix_norm(jacobian)
    query = state["query"] % rows
    return {
        "dims": dims,
        "scaled": scaled,
        "keys": keys,
        "rows": rows,
        "query": query,
        "mean": scores.mean(),
        "variance": scores.var(correction=0),
        "theory": theory,
        "std": scores.std(correction=0),
        "weights": weights[query],
        "largest": weights[query].max(),
        "entropy": entropy(weights[query]),
        "meanLargest": weights.max(-1).values.mean(),
        "gradient": norms.mean(),
        "saturated": (norms < 0.01).double().mean(),
        "counts": numbers["counts"],
        "outside": 4096 // keys * keys - sum(numbers["counts"]),
        "edge": edge,
    }


def examples() -> list[LiveFigure]:
    return [ScaleHistogram(dims=64), ScaleHistogram(16, keys=10)]


def rogue(words: list[str]) -> LiveFigure:
    return ScaleHistogram(title=words[1], caption=words[0])
