"""`with record(model) as maps:` shows which weights attention used, and where.

    with record(model, names="*.self_attention") as maps:
        model(x)
    maps["layers.0.self_attention"]              # (B, H, L, S), detached, before dropout

    stack(maps)                                  # of all layers: (B, N, H, L, S)
    maps = seen(model, batch)                    # record and run, in one line

    with record(model, "context", attached=True) as maps:     # for a loss that reads the weights

Keys are module paths, as in `model.named_modules()`: `model.get_submodule(path)` is the module
whose `forward` called `attention()`; the model itself is `""`. A module that called once holds a
tensor; one that called several times (an RNN decoder) holds a list, in order of the calls.

While recording, the recorded calls take the explicit path instead of the fused kernel.
Nothing is stored outside the block, and no module keeps a trace of it.
Outputs are equal with and without it, up to rounding; `record` names two limits.
"""

import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

Maps = dict[str, Tensor | list[Tensor]]


class _Recorder:
    """The maps of one block, and the paths of the modules that are running right now."""

    def __init__(self, patterns: tuple[str, ...] | None, attached: bool) -> None:
        self.patterns = patterns
        self.attached = attached
        self.maps: Maps = {}
        self.running: list[str] = []  # innermost last
        self.thread = threading.get_ident()

    def listens(self) -> bool:
        """Does the module that runs now, in this thread, belong to what is recorded?"""
        if self.thread != threading.get_ident() or not self.running:
            return False
        path = self.running[-1]
        return self.patterns is None or any(fnmatchcase(path, p) for p in self.patterns)

    def store(self, weights: Tensor) -> None:
        weights = weights if self.attached else weights.detach()
        path = self.running[-1]
        if path not in self.maps:
            self.maps[path] = weights
            return
        seen = self.maps[path]
        self.maps[path] = [*seen, weights] if isinstance(seen, list) else [seen, weights]

    def watch(self, module: nn.Module, path: str) -> list:
        """Keep `running` up to date: enter before any other hook, leave even on an error."""

        def enter(*_: object) -> None:
            if self.thread == threading.get_ident():
                self.running.append(path)

        def leave(*_: object) -> None:
            if self.thread == threading.get_ident():
                self.running.pop()

        return [
            module.register_forward_pre_hook(enter, prepend=True),
            module.register_forward_hook(leave, always_call=True),
        ]


_recorders: list[_Recorder] = []  # the open blocks; empty nearly always


@contextmanager
def record(
    model: nn.Module, names: str | Iterable[str] | None = None, *, attached: bool = False
) -> Iterator[Maps]:
    """Collect the attention weights of `model` while the block runs.

    `names` limits the recording to some paths; `*` and `?` work as in file names. One that fits no
    module gets a warning at the end. With `attached` gradients flow through the weights, which then
    hold the whole graph in memory.

    Recording changes no output, up to rounding, within two limits:
    - Keys must be finite, masked ones too. Padding that nobody filled may hold NaN or ±∞: the fused
      kernel then gives NaN, while the explicit path never looks at a masked score.
    - Checkpointing runs `forward` again on the way back, and must go the same way both times: with
      `use_reentrant=False` call `backward()` inside the block, too. Each map then comes twice.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"record was given a {type(model).__name__}, but it watches modules: pass the "
            "nn.Module whose forward calls attention()."
        )
    patterns = (names,) if isinstance(names, str) else None if names is None else tuple(names)
    recorder = _Recorder(patterns, attached)
    handles: list = []
    try:
        for path, module in model.named_modules():
            if not _cannot_attend(module):
                handles += recorder.watch(module, path)
        _recorders.append(recorder)
        yield recorder.maps
        _warn_of_typos(model, patterns or ())
    finally:
        if recorder in _recorders:
            _recorders.remove(recorder)
        for handle in handles:
            handle.remove()


@torch.no_grad()
def seen(model: nn.Module, batch: object, names: str | Iterable[str] | None = None) -> Maps:
    """The maps of one pass over `batch`, as when the model is used: no dropout, no gradients."""
    was_training = model.training
    model.eval()
    try:
        with record(model, names) as maps:
            model(batch)
    finally:
        model.train(was_training)
    return maps


def stack(maps: Maps) -> Tensor:
    """The maps of N layers in one tensor, in the order in which they ran: (B, N, H, L, S)."""
    found = list(maps.values())
    if not found:
        raise ValueError(
            "no maps were recorded: run the model inside of `with record(model) as maps:`."
        )
    for path, one in maps.items():
        if isinstance(one, list):
            raise ValueError(
                f"{path!r} called attention {len(one)} times, so its maps are a list: run the "
                "model once in the block, or stack that list yourself."
            )
    shapes = {tuple(one.shape) for one in found if isinstance(one, Tensor)}
    if len(shapes) > 1:
        raise ValueError(
            f"the maps have different shapes, {sorted(shapes)}: record a part of the model, such "
            'as record(model, "decoder.layers.*.cross_attention").'
        )
    return torch.stack([one for one in found if isinstance(one, Tensor)], dim=1)


def one_text(maps: Maps | Tensor) -> Tensor:
    """What was recorded on a single text: (N, H, L, S). A tensor of that shape stays as it is."""
    if isinstance(maps, Tensor):
        return maps
    if not isinstance(maps, Mapping):
        raise TypeError(
            f"maps is a {type(maps).__name__}, but what record gives is expected, or a tensor "
            "(layers, heads, queries, keys)."
        )
    stacked = stack(maps)
    if len(stacked) != 1:
        raise ValueError(
            f"maps of {len(stacked)} texts were recorded: choose one, as in stack(maps)[0]."
        )
    return stacked[0]


def _cannot_attend(module: nn.Module) -> bool:
    """Torch's own layers never call our attention: hooks on each of them would only cost time."""
    changed = "forward" in vars(module) or module._forward_hooks or module._forward_pre_hooks
    return type(module).__module__.startswith("torch.nn.") and not changed


def _warn_of_typos(model: nn.Module, patterns: Iterable[str]) -> None:
    paths = [path for path, _ in model.named_modules()]
    for pattern in patterns:
        if not any(fnmatchcase(path, pattern) for path in paths):
            warnings.warn(
                f"record found no module called {pattern!r}, so it kept nothing for that name: "
                "model.named_modules() lists the paths.",
                stacklevel=4,  # the line of the block: beyond record and contextlib
            )


def listening() -> bool:
    """Is there a block that wants the weights of the call being made?"""
    return bool(_recorders) and any(recorder.listens() for recorder in _recorders)


def note(weights: Tensor) -> None:
    """Hand the weights just used to every block that listens."""
    for recorder in _recorders:
        if recorder.listens():
            recorder.store(weights)
