"""The runtime that runs trained models on a page: every layer equal to torch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page
from torch.nn import functional

from attnlab import checkpoints
from attnlab.widgets.base import bundle
from tests.browser.twins import random

CALL = """async ([source, code, given]) => {
  const module = new Blob([source], { type: "text/javascript" });
  window.runtime ??= await import(URL.createObjectURL(module));
  const found = new Function("r", "given", `return ${code}`)(window.runtime, given);
  return Array.from(found);
}"""


@pytest.fixture
def run(made_page: Callable[..., Page]) -> Callable[..., np.ndarray]:
    """Evaluate an expression with the runtime as `r` and what is given."""
    page = made_page()

    def call(code: str, **given: Any) -> np.ndarray:
        return np.asarray(page.evaluate(CALL, [bundle("runtime"), code, given]))

    return call


def sent(tensor: torch.Tensor, store: str = "float32") -> dict[str, Any]:
    """A tensor as a model is sent to a page."""
    return checkpoints.to_json({"x": tensor}, store)["x"]


@pytest.mark.parametrize("store", checkpoints.STORES)
@pytest.mark.parametrize("shape", [(5,), (3, 7), (2, 3, 5)])
def test_arrays_arrive_as_they_are_stored(run, store, shape):
    given = random(*shape) * torch.logspace(-6, 3, shape[-1])
    packed = checkpoints.pack({"x": given}, store)
    expected = checkpoints.unpack(packed)["x"]
    assert torch.equal(checkpoints.from_json({"x": sent(given, store)})["x"], expected)
    found = run("r.tensor(given.x).data", x=sent(given, store))
    np.testing.assert_array_equal(found.astype(np.float32), expected.flatten().numpy())


def test_half_precision_at_its_ends(run):
    halves = np.array([0.0, -0.0, 6e-8, -3e-5, 6.1e-5, 1.0, -2.5, 65504.0], np.float16)
    bits = halves.view(np.uint16).tolist()
    found = run("given.bits.map(r.fromHalf)", bits=bits)
    np.testing.assert_array_equal(found, halves.astype(float))


def test_a_wrong_size_or_type_is_named(run):
    with pytest.raises(Exception, match="shape 2×3 has 6 numbers, not 5"):
        run("r.tensor({ ...given.x, shape: [2, 3] }).data", x=sent(random(5)))
    with pytest.raises(Exception, match="not float64"):
        run("r.tensor({ ...given.x, dtype: 'float64' }).data", x=sent(random(5)))


def test_layers_are_torchs(run):
    x, weight, bias = random(4, 6), random(3, 6) * 2, random(3)
    arrays = {"x": sent(x), "w": sent(weight), "b": sent(bias)}
    t = "Object.fromEntries(Object.entries(given).map(([k, v]) => [k, r.tensor(v)]))"
    found = run(f"(({{ x, w, b }}) => r.linear(x.data, w, b))({t})", **arrays)
    np.testing.assert_allclose(found, functional.linear(x, weight, bias).flatten(), atol=1e-6)
    found = run(f"(({{ x, w }}) => r.matVec(w, r.rowOf(x, 2)))({t})", **arrays)
    np.testing.assert_allclose(found, weight @ x[2], atol=1e-6)

    gain, shift = random(6) + 1, random(6) / 3
    arrays = {"x": sent(x), "w": sent(gain), "b": sent(shift)}
    found = run(f"(({{ x, w, b }}) => r.layerNorm(x.data, w, b))({t})", **arrays)
    np.testing.assert_allclose(
        found, functional.layer_norm(x, (6,), gain, shift).flatten(), atol=1e-6
    )


def test_small_functions(run):
    values = [-800.0, -1.5, 0.0, 2.0, 800.0]
    found = run("given.values.map(r.sigmoid)", values=values)
    np.testing.assert_allclose(found, torch.tensor(values, dtype=torch.float64).sigmoid())
    assert run("[r.argmax([1, 3, 2, 3])]").tolist() == [1]
    assert run("r.add([1, 2], [10, 20])").tolist() == [11, 22]
