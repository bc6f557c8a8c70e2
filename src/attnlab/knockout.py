"""Take heads out of the pretrained encoder and see what it loses.

    with knock_out([(0, 2), (3, 11)]):                     # (layer, head)
        vectors = sentence_vectors(["A dog runs.", "A cat sleeps."])

A head that is knocked out hands over zeros: its slice of the concatenated heads is empty when it
reaches W^O (Michel et al. 2019, arXiv:1905.10650). Everything is put back at the end of the block.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.pretrained import minilm


@contextlib.contextmanager
def knock_out(heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """While the block runs, these (layer, head) of MiniLM give zeros."""
    _, model = minilm()
    layers, count = model.encoder.layer, model.config.num_attention_heads
    chosen: dict[int, list[int]] = {}
    for layer, head in heads:
        if not (0 <= layer < len(layers) and 0 <= head < count):
            raise ValueError(
                f"there is no head ({layer}, {head}): layers go from 0 to {len(layers) - 1}, "
                f"heads from 0 to {count - 1}."
            )
        chosen.setdefault(layer, []).append(head)

    def empty(gone: list[int]) -> Any:
        def hook(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            merged = args[0].unflatten(-1, (count, -1)).clone()  # (B, L, H, D), before W^O
            merged[..., gone, :] = 0
            return (merged.flatten(-2), *args[1:])

        return hook

    handles = [
        layers[layer].attention.output.dense.register_forward_pre_hook(empty(gone))
        for layer, gone in chosen.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def sentence_vectors(sentences: Sequence[str]) -> Tensor:
    """One unit vector a sentence, (B, E): the mean of its tokens, as MiniLM was trained to."""
    if isinstance(sentences, str) or not len(sentences):
        raise ValueError("sentences must be a list with at least one sentence in it.")
    tokenizer, model = minilm()
    batch = tokenizer(list(sentences), return_tensors="pt", padding=True, truncation=True)
    hidden = model(**batch).last_hidden_state  # (B, L, E)
    real = batch["attention_mask"][..., None]  # (B, L, 1): padding does not count
    return F.normalize((hidden * real).sum(1) / real.sum(1), dim=-1)


def margins(pairs: Sequence[tuple[str, str]]) -> Tensor:
    """For each sentence: cosine with its paraphrase, minus that with the best wrong one: (P,).

    Above 0 the encoder finds the partner among all of them.
    """
    flat = [sentence for pair in pairs for sentence in pair]
    one, other = sentence_vectors(flat).unflatten(0, (-1, 2)).unbind(dim=1)  # (P, E) each
    cosine = one @ other.mT  # (P, P)
    wrong = cosine.masked_fill(torch.eye(len(pairs), dtype=torch.bool), -1.0)
    return cosine.diagonal() - wrong.amax(dim=-1)
