"""GPT-2 (Radford et al. 2019) on our own blocks: a decoder alone, pre-norm, learned positions.

    tokenizer, model = gpt2()                       # fetched once, where there is a network: 550 MB
    with record(model) as maps:
        model(torch.tensor([tokenizer.encode("The cat sat on the mat").ids]))

Against our own `families.DecoderOnly` only the entrance is different: nothing is scaled by √E. The
published file keeps the three projections of an attention in one matrix, and every matrix as
(in, out), as TensorFlow does.

B batch, L length, E model width, V words.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from attnlab.fetching import cache_folder, fetched
from attnlab.layers import Learned
from attnlab.models.published import ready
from attnlab.models.renaming import renamed
from attnlab.models.transformer import Config, Encoder, check_numbers

# One edition, so that its sha256 is known beforehand.
ADDRESS = (
    "https://huggingface.co/openai-community/gpt2/resolve/607a30d783dfa663caf39e06633721c8d4cfcd7e/"
)
SHA256 = {
    "model.safetensors": "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
    "tokenizer.json": "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6",
}
OTHERWISE = "connect to the Internet and run this again, or go on without it"
CONFIG = Config(
    words=50_257, width=768, heads=12, layers=12, norm="pre", positions="learned", longest=1024,
    activation="gelu_tanh",
)  # fmt: skip
# What the published file calls a tensor, and what it is called here.
NAMES = {
    r"^transformer\.": "",
    r"^wte\.": "words.",
    r"^wpe\.weight": "places.table",
    r"^ln_f\.": "decoder.norm.",
    r"^h\.": "decoder.layers.",
    r"\.ln_1\.": ".add_self.norm.",
    r"\.ln_2\.": ".add_feed.norm.",
    r"\.attn\.c_proj\.": ".self_attention.out.",
    r"\.attn\.c_attn\.": ".self_attention.",
    r"\.mlp\.c_fc\.": ".feed_forward.wide.",
    r"\.mlp\.c_proj\.": ".feed_forward.narrow.",
}


class Gpt2(nn.Module):
    """Tokens (B, L) -> logits of the token after each, (B, L, V)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.words, config.width)
        self.places = Learned(config.longest, config.width)
        self.decoder = Encoder(config)  # an encoder's blocks, made causal

    def forward(self, numbers: Tensor) -> Tensor:
        """(B, L) -> (B, L, V)"""
        check_numbers(numbers, self.words.num_embeddings)
        x = self.decoder(self.places(self.words(numbers)), causal=True)
        return F.linear(x, self.words.weight)


@cache
def gpt2(folder: Path | None = None) -> tuple[Any, Gpt2]:
    """The tokenizer (of the package `tokenizers`) and the model: 124 million numbers, MIT licence.

    Its files are kept in `folder` (~/.cache/attnlab).
    """
    from tokenizers import Tokenizer

    folder = folder or cache_folder()
    tokens, weights = (
        fetched(
            ADDRESS + name, sha256=SHA256[name], path=folder / f"gpt2-{name}", otherwise=OTHERWISE
        )
        for name in ("tokenizer.json", "model.safetensors")
    )
    with torch.device("meta"):
        model = Gpt2(CONFIG)
    ready(model, translate(load_file(weights)))
    return Tokenizer.from_file(str(tokens)), model


def translate(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The published state dict -> that of `Gpt2`."""
    ours: dict[str, Tensor] = {}
    for key, tensor in theirs.items():
        if re.search(r"\.attn\.(masked_)?bias$", key) or key == "lm_head.weight":
            continue  # its causal mask; and the table of words once more
        name = renamed(key, NAMES)
        weight = tensor.T if re.search(r"\.c_\w+\.weight$", key) else tensor  # now (out, in)
        if ".c_attn." in key:
            for part, rows in zip(("query", "key", "value"), weight.chunk(3), strict=True):
                ours[name.replace("self_attention.", f"self_attention.{part}.")] = rows.contiguous()
        else:
            ours[name] = weight.contiguous()
    return ours
