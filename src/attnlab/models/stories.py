"""stories15M: a published Llama, small enough to ship, running on our own blocks.

    storyteller = stories15m()
    print(storyteller.tell("Once upon a time"))

15.2 M weights, 6 layers of 6 heads, trained by Andrej Karpathy on TinyStories (Eldan and Li 2023).
The course carries it in int8; `training/stories15m.py` made the file, and proved there that the
float weights tell the same stories here and in `transformers`.
"""

from dataclasses import dataclass
from functools import cache

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
        """The numbers that follow. Temperature 0 always takes the likeliest."""
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
