"""Speed of our ViT: forward and backward against `transformers`' (SDPA) and timm's.

    python -m benchmarks.vit

The same config (ViT-S/16 of 224 pixels, 22 million parameters) and the same batch; CPU seconds on
one thread, as ratios within one run. Rounds alternate, so that a busy machine slows all alike, and
each round begins with another model; each ratio is the median over the rounds. timm is measured
where it is installed.

Twice, and both are printed:

    ours          `brief`: the last block works out [CLS] alone, as nobody reads the others.
                  Answer and gradients are those of the whole model (tests/unit/test_vit.py).
    every token   the others as well, as in the two libraries. All three then call the same
                  kernels on the same shapes, and nearly all the time is spent in there: equal
                  work, equal time, up to the noise of a run.
"""

import sys
from dataclasses import replace

import torch
from torch import nn

from attnlab.models.vit import Config, ViT
from benchmarks.peers import Logits, declare_vision_ops, median_ratio, training_steps

BARS = {
    "ViT-S/16, ours / transformers": 1.0,
    "ViT-S/16, ours / timm": 1.0,
    "ViT-S/16, every token / transformers": 1.0,
    "ViT-S/16, every token / timm": 1.0,
}
SMALL = Config(size=224, patch=16, width=384, layers=12, heads=6, classes=1000)


def from_transformers(config: Config) -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    shape = ViTConfig(
        hidden_size=config.width, num_hidden_layers=config.layers,
        num_attention_heads=config.heads, intermediate_size=4 * config.width,
        image_size=config.size, patch_size=config.patch, num_labels=config.classes,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="sdpa",
    )  # fmt: skip
    return Logits(ViTForImageClassification(shape))


def from_timm(config: Config) -> nn.Module | None:
    """timm's own class, or None where it is not installed."""
    try:
        from timm.models.vision_transformer import (  # type: ignore[import-not-found]
            VisionTransformer,
        )
    except (ImportError, RuntimeError):
        return None
    return VisionTransformer(
        img_size=config.size, patch_size=config.patch, embed_dim=config.width,
        depth=config.layers, num_heads=config.heads, num_classes=config.classes,
    )  # fmt: skip


def ratios(config: Config = SMALL, batch: int = 2, rounds: int = 8) -> dict[str, float]:
    """Our forward and backward over theirs, at the same batch."""
    torch.manual_seed(0)
    declare_vision_ops()
    pictures = torch.randn(batch, config.channels, config.size, config.size)
    built: dict[str, nn.Module | None] = {
        "ours": ViT(replace(config, brief=True)), "every token": ViT(config),
        "transformers": from_transformers(config), "timm": from_timm(config),
    }  # fmt: skip
    models = {name: model for name, model in built.items() if model is not None}
    spent = training_steps(models, pictures, rounds)
    return {
        f"ViT-S/16, {ours} / {theirs}": median_ratio(spent[ours], spent[theirs])
        for ours in ("ours", "every token")
        for theirs in models.keys() & {"transformers", "timm"}
    }


def main() -> bool:
    torch.set_num_threads(1)
    held = True
    found = ratios()
    for name, bar in BARS.items():
        if name not in found:
            print(f"{name:38}   not installed")
            continue
        good = found[name] <= bar
        print(f"{name:38} {found[name]:6.3f}   at most {bar}{'' if good else '   BROKEN'}")
        held &= good
    return held


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
