"""Published Swin weights in our model, key by key.

    swin = Swin(swin_t())
    swin.load_state_dict(translate(published))        # a state dict from any of three places

The three places name the same tensors differently: the paper's own code and timm (query, key and
value in one matrix, `qkv`), Hugging Face's files, and Hugging Face's classes of today.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from attnlab.fetching import cache_folder, fetched
from attnlab.models.renaming import translated
from attnlab.models.swin import Swin, swin_t

ADDRESS = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_tiny_patch4_window7_224.pth"
)

# What a key of theirs is called here; \1 and \2 are stage and block.
_BLOCK = r"(?:swin\.encoder\.)?layers\.(\d+)\.blocks\.(\d+)\."
_OURS = r"stages.\1.\2."
_RULES = [
    (rf"{_BLOCK}(?:norm1|layernorm_before)\.", rf"{_OURS}add_self.norm."),
    (rf"{_BLOCK}(?:norm2|layernorm_after)\.", rf"{_OURS}add_feed.norm."),
    (rf"{_BLOCK}(?:mlp\.fc1|intermediate\.dense)\.", rf"{_OURS}feed_forward.wide."),
    (rf"{_BLOCK}(?:mlp\.fc2|output\.dense)\.", rf"{_OURS}feed_forward.narrow."),
    (rf"{_BLOCK}(?:attn|attention)\.(?:self\.)?(?:relative_position_bias\.)?"
     r"relative_position_bias_table$", rf"{_OURS}attention.bias.table"),
    (rf"{_BLOCK}(?:attn\.proj|attention\.output\.dense|attention\.o_proj)\.",
     rf"{_OURS}attention.attend.out."),
    (rf"{_BLOCK}attention\.(?:self\.query|q_proj)\.", rf"{_OURS}attention.attend.query."),
    (rf"{_BLOCK}attention\.(?:self\.key|k_proj)\.", rf"{_OURS}attention.attend.key."),
    (rf"{_BLOCK}attention\.(?:self\.value|v_proj)\.", rf"{_OURS}attention.attend.value."),
    (rf"{_BLOCK}attn\.qkv\.", rf"{_OURS}attention.attend.qkv."),  # taken apart by `translated`
    (r"(?:swin\.encoder\.)?layers\.(\d+)\.downsample\.reduction\.", r"merges.\1.project."),
    (r"(?:swin\.encoder\.)?layers\.(\d+)\.downsample\.norm\.", r"merges.\1.norm."),
    (r"(?:patch_embed\.proj|swin\.embeddings\.patch_embeddings\.projection)\.", "patches."),
    (r"(?:patch_embed\.norm|swin\.embeddings\.norm)\.", "patch_norm."),
    (r"(?:norm|swin\.layernorm)\.", "norm."),
    (r"(?:head\.fc|head|classifier)\.", "head."),
]  # fmt: skip
# Computed from sizes alone, so not weights at all.
_DERIVED = re.compile(r"relative_position_index$|attn_mask$|relative_coords_table$")


def translate(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same weights under our names; a key that nobody knows is refused by name."""
    return translated(published, _RULES, kind="Swin", skip=_DERIVED)


def published_swin_t(folder: Path | None = None) -> Swin:
    """The authors' Swin-T, trained on ImageNet-1K; its file is kept in `folder`.

    Nobody publishes a sha256: that of the first download is noted and compared with from then on.
    """
    path = (folder or cache_folder()) / ADDRESS.rsplit("/", 1)[1]
    otherwise = "connect to the Internet and run this again, or go on without it"
    fetched(ADDRESS, path=path, otherwise=otherwise)
    state = torch.load(path, map_location="cpu", weights_only=True)["model"]
    model = Swin(swin_t())
    model.load_state_dict(translate(state))
    return model.eval().requires_grad_(False)
