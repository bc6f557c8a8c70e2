"""What every live figure must show, computed a second time in Python.

A twin takes the figure's state (its traits, as the page holds them now) and gives the numbers the
page must show. It uses attnlab and torch, not a translation of the JavaScript.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from attnlab import attention, masks
from attnlab.widgets import Quiz

TOLERANCE = 1e-4
Twin = Callable[[dict[str, Any], Any], dict[str, Any]]
TWINS: dict[str, Twin] = {}


def twin(kind: str) -> Callable[[Twin], Twin]:
    def keep(function: Twin) -> Twin:
        TWINS[kind] = function
        return function

    return keep


def compare(kind: str, state: dict[str, Any], numbers: dict[str, Any]) -> None:
    """Fail where the page and Python differ by more than 1e-4. Every number must be compared."""
    if kind not in TWINS:
        raise AssertionError(f"the live figure {kind!r} has no twin in tests/browser/twins.py")
    expected = TWINS[kind](state, numbers)
    unheld = set(numbers) - set(expected)
    assert not unheld, f"{kind}: nobody computes {sorted(unheld)} in Python"
    for name, value in expected.items():
        assert name in numbers, f"{kind} does not show {name}"
        _equal(f"{kind}.{name}", numbers[name], value)


def _equal(where: str, shown: Any, expected: Any) -> None:
    if isinstance(expected, Mapping):
        assert set(shown) == set(expected), f"{where}: {sorted(shown)} != {sorted(expected)}"
        for key, value in expected.items():
            _equal(f"{where}.{key}", shown[key], value)
    elif isinstance(expected, str | bool) or (isinstance(expected, list) and _words(expected)):
        assert shown == expected, f"{where}: the page has {shown!r}, Python {expected!r}"
    else:
        np.testing.assert_allclose(
            np.asarray(shown, dtype=float),
            np.asarray(expected, dtype=float),
            rtol=TOLERANCE,
            atol=TOLERANCE,
            err_msg=f"{where}: the page (first) and Python differ",
        )


def _words(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """Bits, along the last axis."""
    return torch.special.entr(weights).sum(-1) / math.log(2)


@twin("softmax_temperature")
def softmax_temperature(state: dict[str, Any], _: Any) -> dict[str, Any]:
    scores = torch.tensor(state["scores"], dtype=torch.float64)
    weights = (scores / state["temperature"]).softmax(-1)
    return {
        "weights": weights,
        "temperature": state["temperature"],
        "entropy": entropy(weights),
        "largest": torch.nonzero(scores == scores.max())[:, 0],
    }


def allowed(state: dict[str, Any], queries: int, keys: int) -> torch.Tensor:
    """The mask a heatmap's state asks for."""
    if state.get("edited") is not None:
        return torch.from_numpy(state["edited"].copy())
    name = state["mask"]
    if name in state["masks"]:
        return torch.from_numpy(np.broadcast_to(state["masks"][name], (queries, keys)).copy())
    if name == "causal":
        return masks.causal(queries, keys).dense()
    if name == "window":
        return masks.window(queries, state["radius"], keys).dense()
    real = keys - state["padding"] if name == "padding" else keys
    dense = masks.padding(torch.tensor([max(0, real)]), keys).dense()
    return dense.reshape(-1, keys).expand(queries, keys)


@twin("attention_heatmap")
def attention_heatmap(state: dict[str, Any], _: Any) -> dict[str, Any]:
    head = state["head"]

    def of_head(name: str) -> torch.Tensor:
        given = torch.from_numpy(state[name].copy()).double()
        return given[head] if given.ndim == 3 else given

    if state["weights"] is not None:
        scores = of_head("weights").log()
        scaled = scores
    else:
        q, k = of_head("q"), of_head("k")
        scores = q @ k.mT
        scaled = scores / math.sqrt(q.shape[-1]) if state["scaled"] else scores
    mask = allowed(state, *scores.shape)
    weights = attention.softmax(scaled / state["temperature"], mask)
    return {
        "weights": weights,
        "temperature": state["temperature"],
        "head": head,
        "mask": mask,
        "entropy": entropy(weights),
        "rowSums": weights.sum(-1),
        "scores": scores,
        "scaledScores": scaled,
        "scaled": state["scaled"],
    }


@twin("attention_workbench")
def attention_workbench(state: dict[str, Any], _: Any) -> dict[str, Any]:
    x, w_q, w_k, w_v = (
        torch.from_numpy(state[name].copy()).double() for name in ("x", "w_q", "w_k", "w_v")
    )
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    length = len(x)
    scores = q @ k.mT
    scaled = scores / math.sqrt(q.shape[-1]) if state["scaled"] else scores
    if state["edited"] is not None:
        mask = torch.from_numpy(state["edited"].copy())
    else:
        mask = (
            masks.causal(length).dense() if state["causal"] else scores.new_ones(scores.shape) > 0
        )
    options: dict[str, Any] = {
        "mask": mask,
        "scale": None if state["scaled"] else 1.0,
        "temperature": state["temperature"],
    }
    weights = attention.weights(q, k, **options)
    return {
        **{"tokens": state["tokens"], "x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v},
        **{"q": q, "k": k, "v": v, "scores": scores, "scaledScores": scaled, "mask": mask},
        "masked": scaled.masked_fill(~mask, -math.inf),
        "weights": weights,
        "output": attention.attention(q, k, v, **options),
        **{name: state[name] for name in ("temperature", "scaled", "causal")},
        "entropy": entropy(weights),
        "rowSums": weights.sum(-1),
    }


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


@twin("scale_histogram")
def scale_histogram(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
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


def convolution_reach(n: int, kernel: int, layers: int, dilated: bool) -> torch.Tensor:
    """(n, n): may token i reach token j through so many layers? A product of band matrices."""
    radius = (kernel - 1) // 2
    place = torch.arange(n)
    offset = place[:, None] - place[None, :]
    reach = torch.eye(n)
    for layer in range(layers):
        gap = (radius + 1) ** layer if dilated else 1
        band = (offset % gap == 0) & (offset.abs() <= radius * gap)
        reach = reach @ band.float()
    return reach > 0


def convolution_depth(n: int, kernel: int, source: int, target: int, dilated: bool) -> int:
    layers = 1  # even a token's way to itself goes through one
    while not convolution_reach(n, kernel, layers, dilated)[source, target]:
        layers += 1
    return layers


@twin("path_length")
def path_length(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
    n, kernel, width, dilated = (state[key] for key in ("n", "kernel", "width", "dilated"))
    source, target = min(state["source"], n - 1), min(state["target"], n - 1)
    depth = convolution_depth(n, kernel, source, target, dilated)
    _legal_way(numbers["paths"]["convolution"], kernel, source, target, dilated)
    step = 1 if target >= source else -1
    return {
        "n": n,
        "kernel": kernel,
        "dilated": dilated,
        "source": source,
        "target": target,
        "width": width,
        "paths": {
            "rnn": list(range(source, target + step, step)),
            "convolution": numbers["paths"]["convolution"],
            "attention": [source, target],
        },
        "path": {"rnn": abs(target - source) + 1, "convolution": depth, "attention": 1},
        "longest": {
            "rnn": n,
            "convolution": convolution_depth(n, kernel, 0, n - 1, dilated),
            "attention": 1,
        },
        "sequential": {"rnn": n, "convolution": 1, "attention": 1},
        "operations": {
            "rnn": n * width**2,
            "convolution": kernel * n * width**2,
            "attention": n**2 * width,
        },
    }


def _legal_way(way: Sequence[int], kernel: int, source: int, target: int, dilated: bool) -> None:
    """The drawn path starts and ends right, and every hop is one the kernel can make."""
    radius = (kernel - 1) // 2
    assert (way[0], way[-1]) == (source, target)
    for layer, (here, there) in enumerate(itertools.pairwise(way)):
        gap = (radius + 1) ** layer if dilated else 1
        hop = abs(there - here)
        assert hop % gap == 0, f"the path {way} hops between the taps"
        assert hop <= radius * gap, f"the path {way} hops too far"


@twin("quiz")
def quiz(state: dict[str, Any], _: Any) -> dict[str, Any]:
    """The Python side counts again from the answers given."""
    figure = Quiz(state["questions"])
    figure.answers = state["answers"]
    found = 0
    for number, question in enumerate(state["questions"]):
        right = {i for i, choice in enumerate(question["choices"]) if choice["correct"]}
        found += right <= set(state["answers"].get(str(number), ()))
    assert figure.score == state["score"], "the page and Python count the score differently"
    return {"answered": found, "correct": figure.score, "total": len(state["questions"])}
