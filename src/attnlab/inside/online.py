"""An extra for readers with a network: the attention of a published decoder, GPT-2.

    tokens, maps = decoder_maps("The cat sat on the mat because it")

It runs on our own blocks (`models.gpt2`), so `record` looks into it as into every other model. The
weights are fetched once, about 550 MB. Without a network there is one clear sentence, and the
course goes on with MiniLM.
"""

import torch

from attnlab.fetching import FetchError
from attnlab.models.gpt2 import gpt2
from attnlab.record import Maps, seen

OfflineError = FetchError  # neither on this computer nor to be had: the message says what to do


def decoder_maps(text: str) -> tuple[list[str], Maps]:
    """The tokens of a text, and the decoder's maps on it."""
    tokenizer, model = gpt2()
    read = tokenizer.encode(text)
    maps = seen(model, torch.tensor([read.ids]))
    return [token.replace("Ġ", " ") for token in read.tokens], maps  # it writes a space as Ġ
