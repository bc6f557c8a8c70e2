"""stories15M: a published Llama, small enough to ship, running on our own blocks.

    storyteller = stories15m()
    print(storyteller.tell("Once upon a time"))
    weights = open_weights()                          # the same numbers as plain tensors

15.2 M weights, 6 layers of 6 heads, trained by Andrej Karpathy on TinyStories (Eldan and Li 2023).
The course carries it in int8; `training/stories15m.py` made the file, and checked that the
float weights tell the same stories here and in `transformers`.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnlab import assets
from attnlab.data.pieces import BOS, EOS, Pieces
from attnlab.decoding import greedy, sample
from attnlab.models.modern import Config, LanguageModel

WEIGHTS, VOCABULARY = "weights/stories15m.safetensors", "data/stories15m.pieces"
LONGEST = 256  # tokens it was trained on


@dataclass(frozen=True)
class Storyteller:
    """The model and its vocabulary."""

    model: LanguageModel
    pieces: Pieces

    def numbers(self, opening: str) -> Tensor:
        """An opening with its begin mark: (1, L)"""
        return torch.tensor([[BOS, *self.pieces.encode(opening)]])

    def continue_(
        self,
        opening: str,
        *,
        length: int = 100,
        temperature: float = 0.0,
        top_p: float | None = None,
        seed: int = 0,
    ) -> list[int]:
        """The ids that follow. Temperature 0 always takes the likeliest."""
        numbers = self.numbers(opening)
        longest = LONGEST - numbers.shape[1]
        if longest < 1:
            raise ValueError(
                f"the opening has {numbers.shape[1]} tokens, but the model was trained on "
                f"{LONGEST}: give a shorter one."
            )
        state = self.model.start(numbers[:, :-1])
        length, last = min(length, longest), int(numbers[0, -1])
        if temperature == 0:
            return greedy(self.model.step, state, max_length=length, bos=last, eos=EOS)[0]
        draw = torch.Generator().manual_seed(seed)
        return sample(
            self.model.step, state, max_length=length, temperature=temperature, top_p=top_p,
            generator=draw, bos=last, eos=EOS,
        )[0]  # fmt: skip

    def tell(self, opening: str, **options: float) -> str:
        """The opening and what follows, as text."""
        numbers = self.numbers(opening)[0, 1:].tolist() + self.continue_(opening, **options)  # type: ignore[arg-type]
        return self.pieces.decode(numbers)


@cache
def stories15m() -> Storyteller:
    """The published model, ready to tell; loaded once."""
    tensors, about = assets.load(WEIGHTS)
    model = LanguageModel(Config(**about["config"]))
    model.load_state_dict(tensors)
    model.eval().requires_grad_(False)
    return Storyteller(model, Pieces.read(assets.find(VOCABULARY)))


class Layer(NamedTuple):
    """The weights of one block, as they are published. Matrices are (out, in): y = x @ w.T"""

    norm: Tensor  # (E,) before attention
    query: Tensor  # (H·D, E)
    key: Tensor  # (G·D, E)
    value: Tensor  # (G·D, E)
    out: Tensor  # (E, H·D)
    norm_2: Tensor  # (E,) before the network
    gate: Tensor  # (F, E)
    wide: Tensor  # (F, E)
    narrow: Tensor  # (E, F)

    def __repr__(self) -> str:
        return "the weights of one layer"


class Weights(NamedTuple):
    """A whole model as plain tensors: for those who build it themselves."""

    words: Tensor  # (V, E): in at the bottom, out at the top
    layers: tuple[Layer, ...]
    norm: Tensor  # (E,) after the last block
    heads: int

    def __repr__(self) -> str:
        return f"the weights of {len(self.layers)} layers"


NAMES = {  # ours -> the state dict's inside of blocks.N
    "norm": "add_self.norm", "query": "self_attention.query", "key": "self_attention.key",
    "value": "self_attention.value", "out": "self_attention.out", "norm_2": "add_feed.norm",
    "gate": "feed_forward.gate", "wide": "feed_forward.wide", "narrow": "feed_forward.narrow",
}  # fmt: skip


def open_weights(model: LanguageModel | None = None) -> Weights:
    """The published weights (or another Llama's) as plain tensors, without a model around them."""
    model = stories15m().model if model is None else model
    state = model.state_dict()
    layers = tuple(
        Layer(**{ours: state[f"blocks.{n}.{theirs}.weight"] for ours, theirs in NAMES.items()})
        for n in range(model.config.layers)
    )
    return Weights(state["words.weight"], layers, state["norm.weight"], model.config.heads)
