"""An extra for readers with a network: the attention of a published decoder, such as GPT-2.

    tokens, maps = decoder_maps("The cat sat on the mat because it", "gpt2")

The weights are fetched once (about 500 MB for GPT-2) and kept in the cache of `transformers`.
Without a network there is one clear sentence, and the course goes on with MiniLM.
"""

import socket
from typing import Any
from urllib.parse import urlsplit

import torch

from attnlab.record import Maps

SECONDS = 3.0  # to find out whether there is a network at all


class OfflineError(ConnectionError):
    """The weights are neither in the cache nor to be had. The message says what to do."""


def decoder_maps(text: str, name: str = "gpt2") -> tuple[list[str], Maps]:
    """The tokens of a text, and a published decoder's maps on it, as `record` would give them."""
    tokenizer, model = _load(name)
    batch = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        weights = model(**batch, output_attentions=True).attentions
    if not weights or any(one is None for one in weights):
        # Fused kernels never write the table of weights down, and transformers then returns None.
        raise RuntimeError(
            f"{name} gave no attention weights back: its attention is fused. Load it with "
            'attn_implementation="eager", which this function asks for; does the model know it?'
        )
    tokens = tokenizer.convert_ids_to_tokens(batch["input_ids"][0].tolist())
    # GPT-2 writes a leading space as Ġ.
    tokens = [token.replace("Ġ", " ") for token in tokens]
    return tokens, {f"layers.{n}": one for n, one in enumerate(weights)}


def _load(name: str) -> tuple[Any, Any]:
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise OfflineError(
            f"{name} runs on the package transformers, which is not installed: run "
            "`pip install transformers`, or go on without it. Nothing else in the course needs it."
        ) from None

    for local in (True, False):  # first what was fetched before, so that it works offline, too
        if not local and not _reachable():
            break
        try:
            tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=local)
            model = AutoModelForCausalLM.from_pretrained(
                name, attn_implementation="eager", local_files_only=local
            )
        except OSError:
            continue
        return tokenizer, model.eval()
    raise OfflineError(
        f"{name} is not on this computer and could not be fetched: connect to the Internet and "
        "run this cell again, or go on without it. Nothing else in the course needs it."
    )


def _reachable() -> bool:
    """Does the place where the weights live answer? Asked first, because downloads wait long."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    address = urlsplit(constants.ENDPOINT)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=SECONDS).close()
    except OSError:
        return False
    return True
