"""Right answers in many hands: one right answer, written as others would write it.

A class with `__call__`, a module of torch, a `functools.partial`, a bound method, a decorator,
without gradients, in NumPy at the end, in float64, with keyword defaults, from `exec` without a
source: none of these may matter to a check.
"""

import functools
from typing import Any

import numpy as np
import torch


def hands(good, numpy: bool, double: bool, cut: bool) -> list[tuple[str, Any]]:
    """(how it is written, the answer). May the result be NumPy, float64, without gradients?"""

    class Object:
        def __call__(self, *given):
            return good(*given)

        def method(self, *given):
            return good(*given)

    class Layer(torch.nn.Module):
        def forward(self, *given):
            return good(*given)

    @functools.wraps(good)
    def decorated(*given, **named):
        return good(*given, **named)

    def with_more(first, *given):
        return good(*given)

    def without_gradients(*given):
        with torch.no_grad():
            return good(*given)

    def chatty(*given):
        print("shapes:", *(getattr(one, "shape", one) for one in given))
        return good(*given)

    space: dict[str, Any] = {"good": good}
    exec("def nameless(*given):\n    return good(*given)", space)
    found = [
        ("an object that can be called", Object()),
        ("a bound method", Object().method),
        ("a layer of torch", Layer()),
        ("a decorated function", decorated),
        ("a partial", functools.partial(with_more, "first")),
        ("a function without a source", space["nameless"]),
        ("a function that prints", chatty),
    ]
    if cut:
        found.append(("without gradients", without_gradients))
    if numpy and cut:
        found.append(("NumPy at the end", lambda *given: _numpy(good(*given))))
    if double:
        found.append(("float64", lambda *given: _double(good(*given))))
    return found


def _numpy(value):
    if isinstance(value, torch.Tensor):
        return value.detach().numpy() if value.ndim else np.float32(value.item())
    if isinstance(value, tuple):
        return tuple(map(_numpy, value))
    return value


def _double(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return tuple(map(_double, value)) if isinstance(value, tuple) else value
