"""Published ViT weights in our model, key by key, and where to get them.

    model = ViT(config)
    model.load_state_dict(translate(published))        # a state dict from any of three places
    model = fetch("dino_vits8")                        # downloaded once, where there is a network

The places name the same tensors differently: torchvision, timm and the authors of DINO and DINOv2
(query, key and value in one matrix, `qkv`), and Hugging Face's classes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from attnlab.fetching import FetchError, cache_folder, fetched
from attnlab.models.renaming import translated
from attnlab.models.vit import BUILDERS, Config, ViT

__all__ = ["PUBLISHED", "FetchError", "fetch", "translate"]
_BLOCK = (
    r"(?:vit\.|encoder\.)*"
    r"(?:layers\.encoder_layer_|encoder\.layer\.|layer\.|layers\.|blocks\.)(\d+)\."
)
_OURS = r"blocks.\1."
# What a key of theirs is called here; \1 is the block.
_RULES = [
    (rf"{_BLOCK}(?:ln_1|norm1|layernorm_before)\.", rf"{_OURS}norm_1."),
    (rf"{_BLOCK}(?:ln_2|norm2|layernorm_after)\.", rf"{_OURS}norm_2."),
    (rf"{_BLOCK}(?:self_attention\.in_proj_|attn\.qkv\.)", rf"{_OURS}attention.qkv."),
    (rf"{_BLOCK}(?:self_attention\.out_proj|attn\.proj|attention\.o_proj|attention\.output\.dense)\.",
     rf"{_OURS}attention.out."),
    (rf"{_BLOCK}attention\.(?:attention\.query|q_proj)\.", rf"{_OURS}attention.query."),
    (rf"{_BLOCK}attention\.(?:attention\.key|k_proj)\.", rf"{_OURS}attention.key."),
    (rf"{_BLOCK}attention\.(?:attention\.value|v_proj)\.", rf"{_OURS}attention.value."),
    (rf"{_BLOCK}(?:mlp\.0|mlp\.linear_1|mlp\.fc1|intermediate\.dense)\.",
     rf"{_OURS}feed_forward.wide."),
    (rf"{_BLOCK}(?:mlp\.3|mlp\.linear_2|mlp\.fc2|output\.dense)\.",
     rf"{_OURS}feed_forward.narrow."),
    (rf"{_BLOCK}(?:ls1\.gamma|layer_scale1\.lambda1)$", rf"{_OURS}scale_1.scale"),
    (rf"{_BLOCK}(?:ls2\.gamma|layer_scale2\.lambda1)$", rf"{_OURS}scale_2.scale"),
    (r"(?:conv_proj|patch_embed\.proj|(?:vit\.)?embeddings\.patch_embeddings\.projection)\.",
     "embed.project."),
    (r"(?:class_token|cls_token|(?:vit\.)?embeddings\.cls_token)$", "cls"),
    (r"(?:register_tokens|reg_token|embeddings\.register_tokens)$", "registers"),
    (r"(?:encoder\.pos_embedding|pos_embed|(?:vit\.)?embeddings\.position_embeddings)$",
     "positions.table"),
    (r"(?:encoder\.ln|norm|(?:vit\.)?layernorm)\.", "norm."),
    (r"(?:heads\.head|head|classifier)\.", "head."),
]  # fmt: skip
_UNUSED = re.compile(r"mask_token$")  # only for training


def translate(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same weights under our names; a key that nobody knows is refused by name."""
    ours = translated(published, _RULES, kind="ViT", skip=_UNUSED)
    for name in {"registers", "positions.table"} & ours.keys():
        ours[name] = ours[name].flatten(0, -2)
    if "cls" in ours:
        ours["cls"] = ours["cls"].reshape(-1)
    first = next((v for n, v in ours.items() if n == "embed.project.bias"), None)
    if first is not None:
        ours.setdefault("registers", first.new_zeros(0, len(first)))
    return ours


@dataclass(frozen=True, kw_only=True)
class Published:
    """A checkpoint on the net: its address, how its sha256 begins if that is known, its config."""

    address: str
    sha256: str | None
    config: Config


_SMALL = Config(width=384, heads=6, classes=0)
PUBLISHED = {
    "vit_b_16": Published(  # torchvision names its files by their sha256
        address="https://download.pytorch.org/models/vit_b_16-c867db91.pth",
        sha256="c867db91",
        config=BUILDERS["vit_b_16"],
    ),
    "dino_vits8": Published(
        address="https://dl.fbaipublicfiles.com/dino/dino_deitsmall8_pretrain/"
        "dino_deitsmall8_pretrain.pth",
        sha256=None,
        config=replace(_SMALL, patch=8),
    ),
    "dinov2_vits14": Published(
        address="https://dl.fbaipublicfiles.com/dinov2/dinov2_vits14/dinov2_vits14_pretrain.pth",
        sha256=None,
        config=replace(_SMALL, size=518, patch=14, layer_scale=1.0),
    ),
}


def fetch(name: str, folder: Path | None = None) -> ViT:
    """A published model, ready to look into; its file is kept in `folder` (~/.cache/attnlab).

    Where nobody publishes a sha256, that of the first download is noted beside the file, and the
    file is compared with it from then on.
    """
    if name not in PUBLISHED:
        raise KeyError(f"{name!r} is not known here: choose one of {', '.join(PUBLISHED)}.")
    found = PUBLISHED[name]
    folder = folder or cache_folder()
    path = fetched(
        found.address, sha256=found.sha256, path=folder / found.address.rsplit("/", 1)[1],
        otherwise="go on with the DINOv2 that the course carries, published.dinov2()",
    )  # fmt: skip
    # `weights_only` reads tensors and nothing that could run.
    state = torch.load(path, map_location="cpu", weights_only=True)
    with torch.device("meta"):
        model = ViT(found.config)
    model.load_state_dict(translate(state), assign=True)
    return model.eval().requires_grad_(False)
