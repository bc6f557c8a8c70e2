"""One block of Triton, called with tensors: to learn the language, and to check what was learned.

    @in_triton
    def my_block(top, total, mixed, scores, values):      # blocks of Triton's language, `tl`
        higher = tl.maximum(top, tl.max(scores, 1))
        ...
        return higher, total, mixed

    top, total, mixed = my_block(top, total, mixed, scores, values)        # tensors

A kernel loads the five tensors, hands them over as blocks, and stores the three that come back. It
runs in Triton's interpreter on the CPU (TRITON_INTERPRET=1, set before Triton is imported). There
the sizes must be powers of two, as on a GPU. `flash.py` has the same lines inside a real kernel.

M queries, N keys in a block, D head width.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlab.kernels.in_torch import tl as in_torch

try:
    import triton
    import triton.language as tl
except ImportError:  # Triton is for Linux alone
    triton = tl = None

NAMES = ("top", "total", "mixed")
LAUNCHES: list[str] = []  # the name of every block that has run in a kernel


def missing() -> str:
    """Why no block of Triton can run here, in one sentence; empty if it can."""
    if triton is None:
        return (
            "Triton is not installed here (it runs on Linux: `pip install attnlab[gpu]`); "
            "exercise 10.1 asks for the same update in torch."
        )
    if not triton.knobs.runtime.interpret:
        return (
            "Triton was started for a GPU: restart the kernel and set TRITON_INTERPRET=1 before "
            "anything is imported; exercise 10.1 asks for the same update in torch."
        )
    return ""


def in_triton(block: Callable[..., Any]) -> Callable[..., tuple[Tensor, ...]]:
    """A block of Triton as a function on tensors: (M,), (M,), (M, D), (M, N), (N, D)."""
    if not missing():
        _warm_up()

    @functools.wraps(block)
    def run(
        top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, values: Tensor
    ) -> tuple[Tensor, ...]:
        if missing():
            raise RuntimeError(missing())
        given = [x.contiguous() for x in (top, total, mixed, scores, values)]
        made = [torch.empty_like(x) for x in given[:3]]
        shapes = [tuple(x.shape) for x in made]

        def look(*blocks: Any) -> Any:
            """The learner's block, with its shapes checked: a store would broadcast silently."""
            found = block(*blocks)
            if not isinstance(found, tuple) or len(found) != 3:
                raise ValueError("the block must return three blocks: top, total and mixed")
            for name, one, shape in zip(NAMES, found, shapes, strict=True):
                seen = tuple(int(n) for n in getattr(one, "shape", ()))
                if seen != shape:
                    raise ValueError(f"`{name}` is a block of shape {seen}, not {shape}")
            return found

        LAUNCHES.append(block.__name__)
        with _inside():
            _kernel[(1,)](*given, *made, look, *scores.shape, values.shape[-1])
        return tuple(made)

    vars(run)["stand_ins"] = {"tl": in_torch}  # for callers that try many variants of the block
    return run


@functools.cache
def _warm_up() -> None:
    """Triton rewrites each of its functions when it first runs: a fifth of a second, once."""
    one, square = torch.zeros(2), torch.zeros(2, 2)

    def uses(top: Any, total: Any, mixed: Any, scores: Any, values: Any) -> Any:
        top = tl.maximum(top, tl.max(scores, 1))
        return top, total * tl.exp(top) + tl.sum(scores, 1), mixed + tl.dot(scores, values)

    with _inside():
        _kernel[(1,)](one, one, square, square, square, one, one, square, uses, 2, 2, 2)


@contextmanager
def _inside() -> Iterator[None]:
    """The interpreter runs 80,000 lines of its own for a block, and wraps what the block raises:
    whoever traces lines need not see those, and whoever reads an error wants the first."""
    tracing = sys.gettrace()
    sys.settrace(None)
    try:
        with np.errstate(all="ignore"):  # it computes in NumPy: an overflow shows in the result
            yield
    except triton.runtime.errors.InterpreterError as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise cause from None
    finally:
        sys.settrace(tracing)


if triton is not None:

    @triton.jit
    def _kernel(
        top, total, mixed, scores, values, new_top, new_total, new_mixed, TAKE: tl.constexpr,
        M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
    ):  # fmt: skip
        """Load, take, store: one program, one block of each."""
        rows, keys, cols = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
        at = rows[:, None] * D + cols[None, :]
        higher, sums, mix = TAKE(
            tl.load(top + rows),
            tl.load(total + rows),
            tl.load(mixed + at),
            tl.load(scores + rows[:, None] * N + keys[None, :]),
            tl.load(values + keys[:, None] * D + cols[None, :]),
        )
        tl.store(new_top + rows, higher)
        tl.store(new_total + rows, sums)
        tl.store(new_mixed + at, mix)
