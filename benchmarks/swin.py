"""Speed of Swin: forward and backward against `transformers` and timm, and how windows grow.

    python benchmarks/swin.py
    PYTHONPATH=src:THROWAWAY python benchmarks/swin.py   # after: pip install --no-deps
                                                         #   --target THROWAWAY timm torchvision

CPU seconds on one thread, as ratios within one run; rounds alternate, so that a busy machine slows
all. The best round of each counts. timm is measured where it is installed.
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import nn

from attnlab.attention import attention
from attnlab.layers.windows import partition
from attnlab.models.swin import Swin, swin_t

BARS = {
    "Swin-T, ours / transformers": 1.0,
    "Swin-T, ours / timm": 1.0,
    "windows from 28² to 112² tokens, over linear": 1.15,
}
# Every pair of tokens costs the same from 28² tokens up (1.4 to 1.5 ns each in one run), so global
# attention grows quadratically and this ratio is 1: not above, and on a busy machine it wavers.
LEAST = {"global from 28² to 112² tokens, over quadratic": 0.85}


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def from_transformers() -> nn.Module:
    from transformers import SwinConfig, SwinForImageClassification

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = SwinForImageClassification(SwinConfig(num_labels=1000, drop_path_rate=0.0))

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return self.model(pictures).logits

    return Logits()


def from_timm() -> nn.Module | None:
    try:
        library = torch.library.Library("torchvision", "FRAGMENT")  # a build without its own ops
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:
        pass  # they are there
    try:
        import timm  # type: ignore[import-not-found]
    except (ImportError, RuntimeError):
        return None
    return timm.create_model("swin_tiny_patch4_window7_224", pretrained=False, drop_path_rate=0.0)


def swin_t_ratios(batch: int = 1, rounds: int = 5) -> dict[str, float]:
    """Our forward and backward over theirs, at the same batch."""
    torch.manual_seed(0)
    pictures = torch.randn(batch, 3, 224, 224)
    found = from_timm()  # first: once it has mended torchvision, transformers finds that, too
    models: dict[str, nn.Module] = {"ours": Swin(swin_t()), "transformers": from_transformers()}
    if found is not None:
        models["timm"] = found
    best = dict.fromkeys(models, float("inf"))
    for round_ in range(rounds + 1):  # the first only warms up
        for name, model in models.items():
            spent = seconds(lambda model=model: model(pictures).sum().backward())
            model.zero_grad(set_to_none=True)
            if round_:
                best[name] = min(best[name], spent)
    return {
        f"Swin-T, ours / {name}": best["ours"] / spent
        for name, spent in best.items()
        if name != "ours"
    }


def growth(rounds: int = 8) -> dict[str, float]:
    """How attention grows with 16 times the tokens, over what it should."""
    best: dict[tuple[str, int], float] = {}
    for _ in range(rounds):
        for side in (28, 112):
            x = torch.randn(1, side, side, 32)
            line, cut = x.flatten(1, 2)[:, None], partition(x, 7)
            for name, z, times in (("global", line, 1), ("windows", cut, 20)):
                for _ in range(times):
                    spent = seconds(lambda z=z: attention(z, z, z))
                    best[name, side] = min(best.get((name, side), float("inf")), spent)
    return {
        "windows from 28² to 112² tokens, over linear": best["windows", 112]
        / best["windows", 28]
        / 16,
        "global from 28² to 112² tokens, over quadratic": best["global", 112]
        / best["global", 28]
        / 256,
    }


def main() -> bool:
    torch.set_num_threads(1)
    held = True
    for name, ratio in {**growth(), **swin_t_ratios()}.items():
        good = ratio <= BARS[name] if name in BARS else ratio >= LEAST[name]
        bar = f"at most {BARS[name]}" if name in BARS else f"at least {LEAST[name]}"
        print(f"{name:48} {ratio:6.2f}   {bar}{'' if good else '   BROKEN'}", flush=True)
        held &= good
    return held


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
