"""Speed of Transformer++ against `transformers`' Llama, and what a KV cache buys.

    python -m benchmarks.modern

CPU seconds on one thread, as ratios within one run; rounds alternate, so that a busy machine slows
both. The best round of each counts. Both models have the same weights, and say the same words.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlab.models.llama import llama_config, to_llama
from attnlab.models.modern import Config, LanguageModel
from benchmarks.peers import llama, seconds

BARS = {
    "training step, ours / Llama of transformers": 1.0,
    "256 tokens with a cache, width 128, ours / theirs": 1 / 1.2,
    "256 tokens, width 128, cached / anew": 0.2,
    "256 tokens with a cache, width 256, ours / theirs": 1 / 1.2,
    "256 tokens, width 256, cached / anew": 0.2,
}


def their_llama(model: LanguageModel) -> Any:
    """`transformers`' Llama with our weights and PyTorch's fused attention."""
    theirs = llama(
        model.config, max_position_embeddings=1024, eos_token_id=None, pad_token_id=0,
        attn_implementation="sdpa",
    )  # fmt: skip
    theirs.load_state_dict(to_llama(model.state_dict(), model.config))
    return theirs


def best_of(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    best = {name: float("inf") for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], seconds(call))
    return best


def sizes(**changes: int) -> Config:
    return llama_config(**{"words": 512, "width": 128, "heads": 4, "layers": 4} | changes)


def training_step(rounds: int = 12, batch: int = 8, length: int = 64) -> float:
    """Forward, backward and AdamW: our time over theirs."""
    torch.manual_seed(0)
    ours = LanguageModel(sizes(group=2))
    theirs = their_llama(ours)
    tokens = torch.randint(3, 512, (batch, length))

    def stepper(model: Any, loss: Callable[[], Tensor]) -> Callable[[], None]:
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

        def step() -> None:
            optimiser.zero_grad(set_to_none=True)
            loss().backward()
            optimiser.step()

        return step

    calls = {
        "ours": stepper(ours, lambda: ours.loss(tokens)),
        "theirs": stepper(theirs, lambda: theirs(tokens, labels=tokens).loss),
    }
    best = best_of(calls, rounds)
    return best["ours"] / best["theirs"]


@torch.no_grad()
def generation(tokens: int = 256, rounds: int = 3, width: int = 128) -> tuple[float, float]:
    """Greedy text with a cache: our time over theirs; and over ours without a cache."""
    torch.manual_seed(0)
    ours = LanguageModel(sizes(group=2, width=width)).eval()
    theirs = their_llama(ours).eval()
    prompt = torch.randint(3, 512, (1, 5))
    said: dict[str, list[int]] = {}

    def cached() -> None:
        state, last, found = ours.start(prompt[:, :-1]), prompt[:, -1], []
        for _ in range(tokens):
            logits, state = ours.step(state, last)
            last = logits.argmax(-1)
            found.append(int(last))
        said["ours"] = found

    def hugging_face() -> None:
        out = theirs.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=tokens,
            do_sample=False, use_cache=True,
        )  # fmt: skip
        said["theirs"] = out[0, prompt.shape[1] :].tolist()

    def anew() -> None:
        text = prompt
        for _ in range(tokens):
            text = torch.cat([text, ours(text)[:, -1:].argmax(-1)], 1)
        said["anew"] = text[0, prompt.shape[1] :].tolist()

    best = best_of({"ours": cached, "theirs": hugging_face, "anew": anew}, rounds)
    if not said["ours"] == said["theirs"] == said["anew"]:
        raise AssertionError("the three do not say the same words")
    return best["ours"] / best["theirs"], best["ours"] / best["anew"]


def main() -> bool:
    """Print every ratio with its verdict; are all bars held?"""
    torch.set_num_threads(1)
    ratios = (training_step(), *generation(width=128), *generation(width=256))
    for (what, bar), ratio in zip(BARS.items(), ratios, strict=True):
        held = round(ratio, 2) <= round(bar, 2)
        print(f"{what}: {ratio:.2f}; bar {bar:.2f} {'held' if held else 'BROKEN'}")
    return all(round(r, 2) <= round(bar, 2) for r, bar in zip(ratios, BARS.values(), strict=True))


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
