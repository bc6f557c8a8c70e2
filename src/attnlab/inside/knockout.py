"""Take heads out of a model and see what it loses.

    _, encoder = minilm()
    with knock_out(encoder, [(0, 2), (3, 11)]):            # (layer, head)
        vectors = sentence_vectors(["A dog runs.", "A cat sleeps."])

A head that is knocked out hands over zeros: its slice of the concatenated heads is empty when it
reaches W^O (Michel et al. 2019, arXiv:1905.10650). Everything is put back at the end of the block.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.layers import MultiHead
from attnlab.models.published import sentence_vectors


@contextlib.contextmanager
def knock_out(model: nn.Module, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """While the block runs, these heads give zeros. Layer n is the model's n-th `MultiHead`."""
    layers = [module for module in model.modules() if isinstance(module, MultiHead)]
    chosen: dict[int, list[int]] = {}
    for layer, head in heads:
        if not (0 <= layer < len(layers) and 0 <= head < layers[layer].heads):
            raise ValueError(
                f"there is no head ({layer}, {head}): layers go from 0 to {len(layers) - 1}, "
                f"heads from 0 to {layers[0].heads - 1 if layers else -1}."
            )
        chosen.setdefault(layer, []).append(head)

    def empty(count: int, gone: list[int]) -> Any:
        def hook(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            merged = args[0].unflatten(-1, (count, -1)).clone()  # (B, L, H, D), before W^O
            merged[..., gone, :] = 0
            return (merged.flatten(-2), *args[1:])

        return hook

    handles = [
        layers[layer].out.register_forward_pre_hook(empty(layers[layer].heads, gone))
        for layer, gone in chosen.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def margins(pairs: Sequence[tuple[str, str]]) -> Tensor:
    """For each sentence: cosine with its paraphrase, minus that with the best wrong one: (P,).

    Above 0 the encoder finds the partner among all of them.
    """
    flat = [sentence for pair in pairs for sentence in pair]
    one, other = sentence_vectors(flat).unflatten(0, (-1, 2)).unbind(dim=1)  # (P, E) each
    cosine = one @ other.mT  # (P, P)
    wrong = cosine.masked_fill(torch.eye(len(pairs), dtype=torch.bool), -1.0)
    return cosine.diagonal() - wrong.amax(dim=-1)
