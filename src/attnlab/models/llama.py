"""Llama is one setting of our switches; its weights are ours under other names.

    config = llama_config(words=32_000, width=288, heads=6, layers=6, hidden=768)
    model.load_state_dict(from_llama(their_state_dict, config))

**RoPE has two layouts.** The paper, llama2.c and `layers.Rope` turn neighbours (0, 1), (2, 3), …;
`transformers` turns i with i + D/2. The rotation is the same after the rows of W_q and W_k are
reordered, so weights must be converted once when they move from one to the other. Forget it and
the first words look right, because near the beginning all angles are small.

E model width, H heads, D head width.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from attnlab.models.modern import Config


def llama_config(**sizes: Any) -> Config:
    """Llama as a mixture of the switches: all but QK-norm and softmax off by one.

    Its published weights were trained with AdamW; SOAP came later.
    """
    settings: dict[str, Any] = {"group": 1, **sizes}
    return Config(
        fused=True, positions="rope", optimiser="adamw", norm="pre", norm_kind="rms",
        network="swiglu", tied=True, bias=False, **settings,
    )  # fmt: skip


def to_neighbours(weight: Tensor, heads: int) -> Tensor:
    """W_q or W_k for pairs of halves (i, i + D/2) -> for pairs of neighbours (2i, 2i + 1)."""
    rows, width = weight.shape
    halves = weight.view(heads, 2, rows // heads // 2, width)  # (H, half, D/2, E)
    return halves.transpose(1, 2).reshape(rows, width)


def to_halves(weight: Tensor, heads: int) -> Tensor:
    """The way back: for `transformers`."""
    rows, width = weight.shape
    pairs = weight.view(heads, rows // heads // 2, 2, width)  # (H, D/2, which, E)
    return pairs.transpose(1, 2).reshape(rows, width)


NAMES = {  # ours -> `transformers`' inside of model.layers.N
    "self_attention.query.weight": "self_attn.q_proj.weight",
    "self_attention.key.weight": "self_attn.k_proj.weight",
    "self_attention.value.weight": "self_attn.v_proj.weight",
    "self_attention.out.weight": "self_attn.o_proj.weight",
    "feed_forward.gate.weight": "mlp.gate_proj.weight",
    "feed_forward.wide.weight": "mlp.up_proj.weight",
    "feed_forward.narrow.weight": "mlp.down_proj.weight",
    "add_self.norm.weight": "input_layernorm.weight",
    "add_feed.norm.weight": "post_attention_layernorm.weight",
}


def from_llama(theirs: Mapping[str, Tensor], config: Config) -> dict[str, Tensor]:
    """The state dict of `LlamaForCausalLM` -> that of `LanguageModel(config)`."""
    return _rename(theirs, config, into_ours=True)


def to_llama(ours: Mapping[str, Tensor], config: Config) -> dict[str, Tensor]:
    """The state dict of `LanguageModel(config)` -> that of `LlamaForCausalLM`."""
    return _rename(ours, config, into_ours=False)


def _rename(state: Mapping[str, Tensor], config: Config, into_ours: bool) -> dict[str, Tensor]:
    pairs = [("words.weight", "model.embed_tokens.weight"), ("norm.weight", "model.norm.weight")]
    pairs += [
        (f"blocks.{n}.{ours}", f"model.layers.{n}.{theirs}")
        for n in range(config.layers)
        for ours, theirs in NAMES.items()
    ]
    turn = to_neighbours if into_ours else to_halves
    result = {}
    for ours, theirs in pairs:
        source, target = (theirs, ours) if into_ours else (ours, theirs)
        weight = state[source]
        if "query" in ours:
            weight = turn(weight, config.heads)
        elif "key" in ours:
            weight = turn(weight, config.kv_heads)
        result[target] = weight
    if not into_ours:
        result["lm_head.weight"] = result["model.embed_tokens.weight"]  # tied
    return result
