"""Speed of Swin: forward and backward against `transformers` and timm, and how windows grow.

    python -m benchmarks.swin
    PYTHONPATH=src:THROWAWAY python -m benchmarks.swin   # after: pip install --no-deps
                                                         #   --target THROWAWAY timm torchvision

CPU seconds on one thread, as ratios within one run. Rounds alternate, so that a busy machine slows
all alike, and each begins with another model; a ratio of models is the median over the rounds.
Growth takes the best round of each. timm is measured where it is installed.

Ours and timm's call the same matrix products on the same shapes (their three for query, key and
value in one call), and those take about 86 % of the time. So the two lie close together: 0.996 to
1.025 in three runs of six rounds on a busy machine.
"""

import sys

import torch
from torch import nn

from attnlab.attention import attention
from attnlab.layers.windows import WindowAttention, partition
from attnlab.models.swin import Swin, swin_t
from benchmarks.peers import (
    Logits,
    declare_vision_ops,
    median_ratio,
    seconds,
    training_steps,
)

BARS = {
    "Swin-T, ours / transformers": 1.0,
    "Swin-T, ours / timm": 1.0,
    "windows from 28² to 112² tokens, over linear": 1.15,
}
LEAST = {"global from 28² to 112² tokens, over quadratic": 1.0}
# Windows and global attention both write their weights down here. The fused kernel does not, and
# grows as counted, 1.0 within a few per cent either way: printed, but no bar can hold it. Nor can
# one hold the whole layer, where the projections' 4.8 MB tensors leave the caches.


def from_transformers() -> nn.Module:
    from transformers import SwinConfig, SwinForImageClassification

    return Logits(SwinForImageClassification(SwinConfig(num_labels=1000, drop_path_rate=0.0)))


def from_timm() -> nn.Module | None:
    declare_vision_ops()
    try:
        import timm  # type: ignore[import-not-found]
    except (ImportError, RuntimeError):
        return None
    return timm.create_model("swin_tiny_patch4_window7_224", pretrained=False, drop_path_rate=0.0)


def swin_t_ratios(batch: int = 1, rounds: int = 12) -> dict[str, float]:
    """Our forward and backward over theirs, at the same batch."""
    keep_what_is_freed()
    torch.manual_seed(0)
    pictures = torch.randn(batch, 3, 224, 224)
    found = from_timm()  # first: once it has mended torchvision, transformers finds that, too
    models: dict[str, nn.Module] = {"ours": Swin(swin_t()), "transformers": from_transformers()}
    if found is not None:
        models["timm"] = found
    spent = training_steps(models, pictures, rounds)
    return {
        f"Swin-T, ours / {name}": median_ratio(spent["ours"], times)
        for name, times in spent.items()
        if name != "ours"
    }


def keep_what_is_freed() -> None:
    """Take 28 MiB and give them back.

    After that the C library of Linux keeps blocks up to this size for the next one who asks.
    Before, it may return 5 MB of weights to the system after every call and fetch them anew: 1169
    pages at 112² tokens, none at 28², and more time than the arithmetic takes. Whether it does
    depends on what happens to lie behind them in memory. Global tables (600 MB) are always fetched.
    """
    torch.empty(7 * 2**20)


def growth(rounds: int = 8) -> dict[str, float]:
    """How attention grows with 16 times the tokens, over what it should."""
    keep_what_is_freed()
    layer = WindowAttention(96, 3, 7, shift=3)  # Swin-T's, first stage
    best: dict[tuple[str, int], float] = {}
    for _ in range(rounds):
        for side in (28, 112):
            x = torch.randn(1, side, side, 32)
            line, cut = x.flatten(1, 2)[:, None], partition(x, 7)[:, :, None]
            for name, z, fused, times in (
                ("global", line, False, 1), ("fused", line, True, 1), ("windows", cut, False, 20)
            ):  # fmt: skip
                for _ in range(times):
                    spent = seconds(lambda z=z, fused=fused: attention(z, z, z, fused=fused))
                    best[name, side] = min(best.get((name, side), float("inf")), spent)
            wide = torch.randn(1, side, side, 96)
            for _ in range(5):
                spent = seconds(lambda wide=wide: layer(wide).sum().backward())
                best["layer", side] = min(best.get(("layer", side), float("inf")), spent)
    names = "global", "fused", "windows", "layer"
    factor = {name: best[name, 112] / best[name, 28] for name in names}
    return {
        "windows from 28² to 112² tokens, over linear": factor["windows"] / 16,
        "the whole layer, both ways, over linear": factor["layer"] / 16,
        "global from 28² to 112² tokens, over quadratic": factor["global"] / 256,
        "global, fused, over quadratic": factor["fused"] / 256,
    }


def main() -> bool:
    torch.set_num_threads(1)
    held = True
    for name, ratio in {**growth(), **swin_t_ratios()}.items():
        good = LEAST.get(name, 0.0) <= ratio <= BARS.get(name, float("inf"))
        bar = f"at most {BARS[name]}" if name in BARS else ""
        bar = f"at least {LEAST[name]}" if name in LEAST else bar
        print(f"{name:48} {ratio:6.3f}   {bar}{'' if good else '   BROKEN'}", flush=True)
        held &= good
    return held


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
