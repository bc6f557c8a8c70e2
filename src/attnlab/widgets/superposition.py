"""The geometry of superposition: trained toy models as arrows in a plane."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from traitlets import Bool, Float, Int, List, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, Words, as_array, bundle, stylesheet

SAMPLES = 512


class Superposition(LiveFigure):
    """Features as arrows, their interference, and the loss, for models of several sparsities.

    toys = superposition.train(features=5, hidden=2, …)
    Superposition(toys.weights, toys.bias, toys.sparsity, toys.importance[0])

    weights (K, 2, n), bias (K, n), sparsity (K,), importance (n,). `model` is the one shown. It is
    tested at its own sparsity, or at `test` when `follow` is off. `active` says which features the
    reader has switched on. The loss is computed in the browser, on the same drawn numbers always.
    """

    figure = "superposition"
    _esm, _css = bundle("superposition"), stylesheet("superposition")

    weights = Array((3,))
    bias = Array((2,))
    sparsity = List(Float()).tag(sync=True)
    importance = List(Float()).tag(sync=True)
    sizes = Array((2,))
    luck = Array((2,))
    names = Words()
    model = Int(0).tag(sync=True)
    test = Float(0.9).tag(sync=True)
    follow = Bool(True).tag(sync=True)
    active = List(Bool()).tag(sync=True)

    def __init__(
        self,
        weights: Any,
        bias: Any,
        sparsity: Sequence[float],
        importance: Sequence[float],
        *,
        names: Sequence[str] | None = None,
        active: Sequence[bool] | None = None,
        **traits: Any,
    ):
        weights = as_array("weights", weights)
        if weights.ndim != 3 or weights.shape[1] != 2 or not 2 <= weights.shape[2] <= 12:
            raise FigureError(
                f"weights has shape {weights.shape}, but (models, 2, features) is expected: "
                "arrows in a plane, 2 to 12 of them."
            )
        models, _, features = weights.shape
        dice = np.random.default_rng(0)
        super().__init__(
            weights=weights,
            bias=_shaped("bias", bias, (models, features)),
            sparsity=_shaped("sparsity", sparsity, (models,)).astype(float).tolist(),
            importance=_shaped("importance", importance, (features,)).astype(float).tolist(),
            sizes=dice.random((SAMPLES, features), dtype="float32"),
            luck=dice.random((SAMPLES, features), dtype="float32"),
            names=names if names is not None else [f"feature {i + 1}" for i in range(features)],
            active=[bool(on) for on in active] if active else [True] + [False] * (features - 1),
            **traits,
        )
        if not self.alt:
            self.alt = (
                f"{features} features as arrows in a plane, for {models} sparsities, with the "
                "matrix of their interference and the loss."
            )

    @validate("model")
    def _known(self, proposal: Any) -> int:
        count = len(self.sparsity) or len(self.weights) if self.weights is not None else 0
        if count and not 0 <= proposal["value"] < count:
            raise FigureError(f"model is {proposal['value']}, but it goes from 0 to {count - 1}.")
        return int(proposal["value"])

    @validate("test")
    def _share(self, proposal: Any) -> float:
        if not 0 <= proposal["value"] < 1 or math.isnan(proposal["value"]):
            raise FigureError(
                f"test is {proposal['value']}: a sparsity is the share of zeros, from 0 to below 1."
            )
        return float(proposal["value"])

    @validate("sparsity")
    def _shares(self, proposal: Any) -> list[float]:
        for value in proposal["value"]:
            if not 0 <= value < 1:
                raise FigureError(f"sparsity holds {value:g}: a share of zeros is 0 to below 1.")
        return list(proposal["value"])

    @validate("active", "names")
    def _one_each(self, proposal: Any) -> Any:
        value, name = proposal["value"], proposal["trait"].name
        if self.weights is not None and len(value) != self.weights.shape[2]:
            raise FigureError(
                f"{name} has {len(value)} entries for {self.weights.shape[2]} features: "
                "give one for each."
            )
        return value


def _shaped(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = as_array(name, value)
    if array.shape != shape:
        raise FigureError(f"{name} has shape {array.shape}, but {shape} is expected.")
    return array
