"""Clocks, and the device a GPU exercise runs on: sizes that fit it, and what memory a run takes.

    gpu = device.find()
    width, steps = gpu.choose(cuda=(1024, 3000), mps=(512, 2000), cpu=(128, 300), pretended=(8, 2))
    gpu.banner(cuda="a few minutes.", mps="a few minutes.", cpu="a small version, seconds.")
    x = torch.randn(width, width, device=gpu.place)
    print(gpu.seconds(lambda: x @ x), gpu.memory(lambda: x @ x))

    print(seconds(lambda: x @ x))                      # on the CPU no device is needed

`kind` says what to be ready for, `place` where tensors go. They differ when a device is pretended:
with ATTNLAB_PRETEND_GPU=1 the kind is "cuda", so every line for it runs, but on CPU tensors of tiny
sizes, with little memory to run out of. That is how the tests reach the lines of a GPU notebook on
a machine without one. ATTNLAB_PRETEND_GPU=cpu (or mps) takes the other branches, as tiny.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

T = TypeVar("T")
PRETEND = "ATTNLAB_PRETEND_GPU"
PRETENDED_BYTES = 6 * 2**20  # a card of six megabytes is soon full


@dataclass(frozen=True, kw_only=True)
class Device:
    """What was found, or what is pretended."""

    kind: str  # cuda, mps or cpu: which branch a notebook takes
    place: str  # where tensors go
    name: str
    half: torch.dtype  # the 16 bits the hardware is good at
    pretended: bool = False

    def choose(self, *, cuda: T, cpu: T, mps: T | None = None, pretended: T | None = None) -> T:
        """The sizes for this device. An Apple GPU and a pretended device default to the CPU's."""
        if self.pretended:
            return cpu if pretended is None else pretended
        return {"cuda": cuda, "mps": cpu if mps is None else mps, "cpu": cpu}[self.kind]

    def banner(self, *, cuda: str, cpu: str, mps: str | None = None) -> None:
        """Say which device was found and what the learner can expect of it."""
        print(f"Device found: {self.name}.")
        tiny = "every line runs, in sizes that teach nothing."
        print(f"What to expect: {self.choose(cuda=cuda, cpu=cpu, mps=mps, pretended=tiny)}")

    def wait(self) -> None:
        """Let the device finish: a GPU takes orders and works through them in the background."""
        if self.place == "cuda":
            torch.cuda.synchronize()
        elif self.place == "mps":
            torch.mps.synchronize()

    def seconds(self, run: Callable[[], Any], repeats: int = 3) -> float:
        """The best of a few runs, after one to warm up."""

        def awaited() -> None:
            run()
            self.wait()

        awaited()
        return seconds(awaited, repeats)

    def stopwatch(self) -> Callable[[], float]:
        """Starts now; call it to read it, in seconds. It lets the device finish first."""
        spent = stopwatch(time.perf_counter)

        def read() -> float:
            self.wait()
            return spent()

        return read

    def memory(self, run: Callable[[], Any]) -> int:
        """Bytes `run` takes beyond what was there: the peak on CUDA, which keeps a record of it.

        Other devices keep none; there it is the largest tensor that is made on the way.
        """
        if self.place == "cuda":
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            run()
            return torch.cuda.max_memory_allocated() - before
        with Largest() as largest:
            run()
        if self.pretended and largest.bytes > PRETENDED_BYTES:
            raise torch.OutOfMemoryError(f"pretended: {largest.bytes} bytes of memory")
        return largest.bytes

    def compile(self, model: torch.nn.Module) -> Callable[..., Any]:
        """The model's forward pass, compiled for changing shapes. Pretended: traced, not built.

        Building C++ or Triton is slow; a test builds one small layer.
        """
        backend = "aot_eager" if self.pretended else "inductor"
        return torch.compile(model, dynamic=True, backend=backend)

    @contextlib.contextmanager
    def until_full(self, name: str) -> Iterator[None]:
        """Running out of memory ends the block instead of the notebook, and is said."""
        try:
            yield
        except RuntimeError as error:  # Apple's and the CPU's have no type of their own
            if "memory" not in str(error).lower():
                raise
            print(f"{name}: out of memory")
        finally:
            if self.place == "cuda":
                torch.cuda.empty_cache()


def seconds(
    run: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.perf_counter
) -> float:
    """How long `run` takes on the CPU: the best of a few runs, because others were disturbed."""
    times = []
    for _ in range(repeats):
        spent = stopwatch(clock)
        run()
        times.append(spent())
    return min(times)


def stopwatch(clock: Callable[[], float] = time.process_time) -> Callable[[], float]:
    """Starts now; call it to read it. CPU seconds of this process, unless another clock is given.

    spent = stopwatch()
    …
    print(f"{spent():.0f} CPU seconds")
    """
    start = clock()
    return lambda: clock() - start


class Largest(TorchDispatchMode):
    """While active, remembers the largest tensor that is made; views of older ones do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {one.untyped_storage().data_ptr() for one in _tensors((args, kwargs))}
        made = func(*args, **(kwargs or {}))
        for one in _tensors(made):
            storage = one.untyped_storage()
            if storage.data_ptr() not in given:
                self.bytes = max(self.bytes, storage.nbytes())
        return made


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def find(*kinds: str) -> Device:
    """The best device here, among `kinds` (unless said: cuda, then mps) and the CPU."""
    pretend = os.environ.get(PRETEND, "")
    if pretend not in ("", "0"):
        return _pretended("cuda" if pretend == "1" else pretend)
    kinds = kinds or ("cuda", "mps")
    if "cuda" in kinds and torch.cuda.is_available():
        return _cuda()
    if "mps" in kinds and torch.backends.mps.is_available():
        return Device(kind="mps", place="mps", name="an Apple GPU", half=torch.float16)
    return Device(kind="cpu", place="cpu", name="no GPU, so the CPU", half=torch.bfloat16)


def _cuda() -> Device:
    gigabytes = torch.cuda.get_device_properties(0).total_memory / 1e9
    # A T4 only emulates bfloat16, slowly: take it where the hardware has it.
    native = torch.cuda.is_bf16_supported(including_emulation=False)
    half = torch.bfloat16 if native else torch.float16
    name = f"{torch.cuda.get_device_name()}, {gigabytes:.0f} GB"
    return Device(kind="cuda", place="cuda", name=name, half=half)


def _pretended(kind: str) -> Device:
    if kind not in ("cuda", "mps", "cpu"):
        raise ValueError(f"{PRETEND} is {kind!r}; expected 1 (or cuda), mps or cpu.")
    os.environ["TRITON_INTERPRET"] = "1"  # kernels run too, line by line, on CPU tensors
    half = torch.bfloat16 if kind == "cpu" else torch.float16  # as on a T4: losses are scaled
    name = f"a pretended device ({kind}) of tiny size"
    return Device(kind=kind, place="cpu", name=name, half=half, pretended=True)
