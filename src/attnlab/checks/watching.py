"""What torch does while an answer runs: a torch mode that sees every operation.

Its own FlopCounterMode, and any mode as torch makes it, first imports the compiler: more than a
second, and again in every check, because each has a process of its own.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


class Watching(TorchDispatchMode):
    """Runs each operation, and shows it to `saw`."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: then torch does not wrap what is below in a function of its compiler."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.saw(func, args, kwargs or {}, made)
        return made

    def saw(self, func: Any, args: Any, kwargs: Any, made: Any) -> None:
        raise NotImplementedError


class Largest(Watching):
    """While active, remembers the largest tensor that was made, and what a fused kernel took."""

    def __init__(self) -> None:
        super().__init__()
        self.shape = torch.Size([0])
        self.fused = 0  # the most queries that a kernel of scaled_dot_product_attention took

    def saw(self, func: Any, args: Any, kwargs: Any, made: Any) -> None:
        for one in made if isinstance(made, tuple | list) else [made]:
            # The inputs are copied as bytes: those are not numbers of the answer.
            if isinstance(one, Tensor) and one.is_floating_point():
                self.shape = max(self.shape, one.shape, key=math.prod)
        if "scaled_dot_product" in func.name():
            self.fused = max(self.fused, args[0].shape[-2])


class Products(Watching):
    """While active, counts operations in matrix products, 2 for each multiply and add."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def saw(self, func: Any, args: Any, kwargs: Any, made: Any) -> None:
        count = flop_registry.get(func.overloadpacket)
        if count is not None:
            self.total += count(*args, **kwargs, out_val=made)
