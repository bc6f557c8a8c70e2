"""The few functions of Triton's language that a block needs, in torch.

A check that looks for the cause of a mistake runs hundreds of variants of a block. Triton's
interpreter takes 5 ms for each; these take a hundredth of that and compute the same.
"""

from types import SimpleNamespace
from typing import Any

import torch


def _reduce(function: Any) -> Any:
    return lambda x, axis=None: function(x) if axis is None else function(x, dim=axis)


tl: Any = SimpleNamespace(
    max=_reduce(torch.amax), min=_reduce(torch.amin), sum=_reduce(torch.sum),
    maximum=torch.maximum, minimum=torch.minimum, exp=torch.exp, exp2=torch.exp2, log=torch.log,
    log2=torch.log2, sqrt=torch.sqrt, abs=torch.abs, dot=torch.matmul, trans=lambda x: x.mT,
    where=torch.where, expand_dims=torch.unsqueeze, fma=lambda x, y, z: x * y + z,
    zeros_like=torch.zeros_like,
)  # fmt: skip
