"""The geometry of superposition: trained toy models as arrows in a plane."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from traitlets import Bool, Float, Int, List, validate

from attnlab.widgets.base import (
    Array,
    FigureError,
    LiveFigure,
    Numbers,
    Words,
    as_array,
    bundle,
    stylesheet,
    together,
)

SAMPLES = 512


class Superposition(LiveFigure):
    """Features as arrows, their interference, and the loss, for models of several sparsities.

    toys = superposition.train(features=5, hidden=2, …)
    Superposition(toys.weights, toys.bias, toys.sparsity, toys.importance[0])

    weights (K, 2, n), bias (K, n), sparsity (K,), importance (n,). `model` is the one shown. It is
    tested at its own sparsity, or at `test` when `follow` is off. `active` says which features the
    reader has switched on. The loss is computed in the browser, always on the same random numbers.
    """

    figure = "superposition"
    _esm, _css = bundle("superposition"), stylesheet("superposition")
    made = ("sizes", "luck")

    weights = Array((3,))
    bias = Array((2,))
    sparsity = Numbers()
    importance = Numbers()
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
        _check_weights(weights)
        models, _, features = weights.shape
        dice = np.random.default_rng(0)
        super().__init__(
            weights=weights,
            bias=bias,
            sparsity=sparsity,
            importance=importance,
            sizes=dice.random((SAMPLES, features), dtype="float32"),
            luck=dice.random((SAMPLES, features), dtype="float32"),
            names=names if names is not None else [f"feature {i + 1}" for i in range(features)],
            active=[i == 0 for i in range(features)]
            if active is None
            else [bool(on) for on in active],
            **traits,
        )
        if not self.alt:
            self.alt = (
                f"{features} features as arrows in a plane, for {models} sparsities, with the "
                "matrix of their interference and the loss."
            )

    @together("weights", "bias", "sparsity", "importance", "names", "active", "model")
    def _fits(self, weights: np.ndarray, model: int, **rest: Any) -> None:
        _check_weights(weights)
        models, _, features = weights.shape
        if self.luck is not None and features != self.luck.shape[1]:
            raise FigureError(
                f"weights has {features} features, but the figure was made for "
                f"{self.luck.shape[1]}: make another Superposition."
            )
        shapes = {"bias": (models, features), "sparsity": (models,)}
        for name, value in rest.items():
            expected = shapes.get(name, (features,))
            if np.shape(value) != expected:
                raise FigureError(
                    f"{name} has shape {np.shape(value)}, but {expected} is expected: weights has "
                    f"{models} models of {features} features."
                )
        for share in rest["sparsity"]:
            if not 0 <= share < 1:
                raise FigureError(f"sparsity holds {share:g}: a share of zeros is 0 to below 1.")
        if not 0 <= model < models:
            raise FigureError(f"model is {model}, but it goes from 0 to {models - 1}.")

    @validate("test")
    def _share(self, proposal: Any) -> float:
        if not 0 <= proposal["value"] < 1 or math.isnan(proposal["value"]):
            raise FigureError(
                f"test is {proposal['value']}: a sparsity is the share of zeros, from 0 to below 1."
            )
        return float(proposal["value"])


def _check_weights(weights: np.ndarray) -> None:
    plane = weights.ndim == 3 and len(weights) > 0 and weights.shape[1] == 2
    if not plane or not 2 <= weights.shape[2] <= 12:
        raise FigureError(
            f"weights has shape {weights.shape}, but (models, 2, features) is expected: "
            "arrows in a plane, 2 to 12 of them."
        )
