"""What the benchmarks share: one clock, and the way into other people's models."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.models.modern import Config

LIBRARIES: list[torch.library.Library] = []  # what they declare goes when they go


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call: what this process computes, not what it waits."""
    start = time.process_time()
    call()
    return time.process_time() - start


def training_steps(
    models: Mapping[str, nn.Module], pictures: Tensor, rounds: int
) -> dict[str, list[float]]:
    """CPU seconds of each model's forward and backward, round after round.

    Rounds alternate, so that a busy machine slows all alike, and each begins with another model.
    """
    spent: dict[str, list[float]] = {name: [] for name in models}
    names = list(models)
    for round_ in range(rounds + 1):  # the first only warms up
        names.append(names.pop(0))
        for name in names:
            model = models[name]
            took = seconds(lambda model=model: model(pictures).sum().backward())
            model.zero_grad(set_to_none=True)
            if round_:
                spent[name].append(took)
    return spent


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Ours over theirs, round by round; of these the median."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


class Logits(nn.Module):
    """A classifier of `transformers`, which answers with more than its logits."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pictures: Tensor) -> Tensor:
        return self.model(pictures).logits


def llama(config: Config, **options: Any) -> Any:
    """`transformers`' Llama of the same sizes, with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = {
        "vocab_size": config.words,
        "hidden_size": config.width,
        "intermediate_size": config.inner,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": None,
    }
    return LlamaForCausalLM(LlamaConfig(**{**shape, **options}))


def declare_vision_ops() -> None:
    """A torchvision without its compiled part can be imported if two of its ops are declared."""
    if LIBRARIES:
        return
    try:
        library = torch.library.Library("torchvision", "FRAGMENT")
        LIBRARIES.append(library)
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:
        pass  # they are there
