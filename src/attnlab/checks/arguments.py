"""What goes into an answer: its names, a few words for it, and whether it was left alone."""

from __future__ import annotations

import ast
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlab.checks.compare import kind, numbers
from attnlab.checks.explain import shorten


def argument_names(call: str) -> list[str]:
    """ "my_weights(q, k)" → ["q", "k"]"""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call), f"{call!r} is not a call"
    return [ast.unparse(arg) for arg in tree.args]


def describe(names: list[str], given: tuple[Any, ...]) -> str:
    """The arguments in short: "q (3, 4), k (5, 4)" or "L = 2, S = 5"."""
    pairs = list(zip(names, given, strict=True))
    told = [(n, v) for n, v in pairs if not (callable(v) or is_dataclass(v) or _nested(v))]
    return ", ".join(_describe(name, value) for name, value in told or pairs)


def _nested(value: Any) -> bool:
    """Tensors in tuples, such as the cache of a model: too long for a sentence."""
    return isinstance(value, list | tuple) and any(
        isinstance(one, Tensor) or _nested(one) for one in value
    )


def _describe(name: str, value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{name} {tuple(value.shape)}"
    if callable(value):
        return f"{name} = a function"
    return f"{name} = {shorten(repr(value), 60)}"


def tensor_of(value: Any) -> Any:
    """NumPy's arrays and numbers as tensors: the arithmetic counts, not who did it."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        return torch.as_tensor(np.array(value))
    if type(value) in (tuple, list) and any(isinstance(x, np.ndarray) for x in value):
        return type(value)(map(tensor_of, value))
    return value


def instead(name: str, value: Any) -> str:
    """How to make a new tensor or list where an old one was changed."""
    if isinstance(value, Tensor) and kind(value) == "bool":
        return (
            f"`{name} = {name} | other` makes a new mask; `{name}[0] = True` changes the old one."
        )
    if isinstance(value, list):
        return (
            f"`out = list({name})` makes a new list; `{name}[0] = …`, `append`, `pop` and `del` "
            "change the old one."
        )
    return (
        f"`{name} = {name} / 2` makes a new tensor; `{name} /= 2`, `{name}[0] = 2` and "
        f"`{name}.div_(2)` change the old one."
    )


def asking_for_gradients(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies that ask for gradients where they can."""
    return tuple(
        value.detach().clone().requires_grad_(value.is_floating_point())
        if isinstance(value, Tensor)
        else value
        for value in given
    )


def gradients(result: Tensor, leaves: tuple[Any, ...]) -> dict[int, Tensor]:
    """The gradient of a fixed mixture of all results, for every leaf that asks for one."""
    total = (result * numbers(*result.shape, seed=99)).sum()
    asking = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.requires_grad]
    found = torch.autograd.grad(total, [leaves[i] for i in asking], materialize_grads=True)
    return dict(zip(asking, found, strict=True))


def untouched(before: Any, after: Any) -> bool:
    """Exactly as it was: a change in the last digit is one, too."""
    if isinstance(before, Tensor):
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        return bool(((before == after) | ((before != before) & (after != after))).all())
    return bool(before == after) if isinstance(before, list | dict | set) else True


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
