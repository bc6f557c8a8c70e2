"""What the core costs against doing without it, as ratios measured in one run.

    python benchmarks/core.py

Each pair is timed in turns, ours and theirs, so that a busy machine slows both; the ratio of the
medians is reported. The clock counts the time this process computes, not the time it waits, and on
one thread, where that is the time a quiet machine would take.

Bars: fused ≤ 1.05 × the kernel, recording ≤ 1.3 × plain softmax.
"""

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnlab.attention import attention
from attnlab.masks import causal
from attnlab.record import record

BARS = {
    "fused": 1.05,
    "fused, causal": 1.05,
    "fused, mask": 1.05,
    "recording": 1.3,
    "recording, causal": 1.3,
}


class Attend(nn.Module):
    """The smallest module that can be recorded."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
        return attention(q, k, v, causal=causal)


def plain(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention as the textbooks write it."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


def pairs(
    batch: int, heads: int, length: int, width: int
) -> dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor]]]:
    """Name -> (ours, theirs): two functions without arguments that give the same result."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(batch, heads, length, width, generator=generator) for _ in range(3))
    lengths = torch.arange(length - batch + 1, length + 1)  # all but one padded
    keep = (torch.arange(length) < lengths[:, None])[:, None, None, :]
    triangle = causal(length).dense()
    model = Attend()

    def recorded(causal: bool = False) -> Tensor:
        with record(model):
            return model(q, k, v, causal)

    return {
        "fused": (lambda: attention(q, k, v), lambda: sdpa(q, k, v)),
        "fused, causal": (
            lambda: attention(q, k, v, causal=True),
            lambda: sdpa(q, k, v, is_causal=True),
        ),
        "fused, mask": (
            lambda: attention(q, k, v, mask=keep),
            lambda: sdpa(q, k, v, attn_mask=keep),
        ),
        "recording": (recorded, lambda: plain(q, k, v)),
        "recording, causal": (lambda: recorded(True), lambda: plain(q, k, v, triangle)),
    }


def seconds(function: Callable[[], Tensor]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


@torch.no_grad()
def measure(
    rounds: int = 15, batch: int = 8, heads: int = 8, length: int = 512, width: int = 64
) -> dict[str, tuple[float, float, float]]:
    """Name -> (median seconds of ours, of theirs, their ratio)."""
    results = {}
    for name, (ours, theirs) in pairs(batch, heads, length, width).items():
        torch.testing.assert_close(ours(), theirs())  # equal, and warmed up
        times = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
        mine, other = (median(column) for column in zip(*times, strict=True))
        results[name] = (mine, other, mine / other)
    return results


def ratios(rounds: int = 15, **sizes: int) -> dict[str, float]:
    """Name -> how many times as long ours takes."""
    return {name: ratio for name, (_, _, ratio) in measure(rounds, **sizes).items()}


def main() -> bool:
    """Print every ratio with its verdict; are all bars held?"""
    parser = argparse.ArgumentParser(description="Time the attention core against plain torch.")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print("B 8, H 8, L = S = 512, D 64, one thread, CPU time")
    print(f"{'':<20}{'ours':>10}{'theirs':>10}{'ratio':>8}{'bar':>7}")
    broken = 0
    for name, (ours, theirs, ratio) in measure(rounds).items():
        held = ratio <= BARS[name]
        broken += not held
        times = f"{ours * 1e3:>7.1f} ms{theirs * 1e3:>7.1f} ms"
        verdict = "held" if held else "BROKEN"
        print(f"{name:<20}{times}{ratio:>8.3f}{BARS[name]:>7.2f}  {verdict}")
    return not broken


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
