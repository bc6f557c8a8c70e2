"""The weights of `torch.nn.Transformer` in our stacks, so that the two can be compared.

    theirs = nn.Transformer(64, 4, 2, 2, 256, batch_first=True, norm_first=True)
    copy_stack(model.encoder, theirs.encoder)
    copy_stack(model.decoder, theirs.decoder)

Torch keeps the three projections of an attention in one matrix, query above key above value.
"""

from typing import Any

import torch
from torch import nn

from attnlab.layers.heads import MultiHead
from attnlab.models.transformer import Decoder, Encoder


@torch.no_grad()
def copy_attention(ours: MultiHead, theirs: nn.MultiheadAttention) -> None:
    """The four projections of one attention."""
    for name in ("weight", "bias"):
        parts = getattr(theirs, f"in_proj_{name}").chunk(3)
        for layer, part in zip((ours.query, ours.key, ours.value), parts, strict=True):
            getattr(layer, name).copy_(part)
    ours.out.load_state_dict(theirs.out_proj.state_dict())


def copy_stack(ours: Encoder | Decoder, theirs: Any) -> None:
    """All blocks of an `nn.TransformerEncoder` or `nn.TransformerDecoder`, and its last norm."""
    mine: Any
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        copy_attention(mine.self_attention, other.self_attn)
        mine.feed_forward.wide.load_state_dict(other.linear1.state_dict())
        mine.feed_forward.narrow.load_state_dict(other.linear2.state_dict())
        norms = [mine.add_self, mine.add_feed]
        if isinstance(ours, Decoder):
            copy_attention(mine.cross_attention, other.multihead_attn)
            norms.insert(1, mine.add_cross)
        for k, norm in enumerate(norms, 1):
            norm.norm.load_state_dict(getattr(other, f"norm{k}").state_dict())
    ours.norm.load_state_dict(theirs.norm.state_dict())
