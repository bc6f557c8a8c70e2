"""What the core costs against doing without it, as ratios measured in one run.

    python -m benchmarks.core

Each pair is timed in turns, ours and theirs, so that a busy machine slows both; the ratio of the
medians is reported. The clock counts the time this process computes, not the time it waits, and on
one thread, where that is the time a quiet machine would take.

Bars: fused ≤ 1.03 × the kernel from (8, 8, 128, 64) on, and where calls are so small that checks
and Python weigh, ≤ 1.3 × and ≤ 2 ×. Recording ≤ 1.3 × plain softmax. `MultiHead` is held against
`nn.MultiheadAttention` as both are after construction: in training mode, with gradients.
"""

import argparse
import sys
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attnlab.attention import attention
from attnlab.layers import MultiHead
from attnlab.masks import causal, padding
from attnlab.record import record
from benchmarks.peers import seconds

BARS = {
    "fused": 1.03,
    "fused, causal": 1.03,
    "fused, mask": 1.05,
    "recording": 1.3,
    "recording, causal": 1.3,
}

# What a call costs beside its arithmetic: name -> bar.
CALLS = {
    "attention (1, 4, 8, 16)": 2.0,
    "attention (8, 4, 16, 16)": 1.3,
    "attention (8, 8, 128, 64)": 1.03,
    "MultiHead (32, 16, 64), 4 heads": 1.0,
    "MultiHead and back (8, 128, 256), 8": 0.95,
    "recorded (8, 128, 256), 8 heads": 1.0,
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
    keep = padding(lengths, length).dense()
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


def calls() -> dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor], int]]:
    """Name -> (ours, theirs, how often in one round)."""
    torch.manual_seed(0)
    found: dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor], int]] = {}
    for shape, often in (((1, 4, 8, 16), 300), ((8, 4, 16, 16), 150), ((8, 8, 128, 64), 4)):
        q, k, v = torch.randn(3, *shape)
        found[f"attention {shape}"] = (
            lambda q=q, k=k, v=v: attention(q, k, v),
            lambda q=q, k=k, v=v: sdpa(q, k, v),
            often,
        )
    small, large = torch.randn(32, 16, 64), torch.randn(8, 128, 256)
    ours, theirs = MultiHead(64, 4), nn.MultiheadAttention(64, 4, batch_first=True)
    wide, peer = MultiHead(256, 8), nn.MultiheadAttention(256, 8, batch_first=True)

    def back(loss: Tensor) -> Tensor:
        loss.backward()
        return loss.detach()

    def recorded() -> Tensor:
        with record(wide):
            return wide(large)

    forward, both, weights = list(CALLS)[3:]
    found[forward] = (
        lambda: ours(small),
        lambda: theirs(small, small, small, need_weights=False)[0],
        20,
    )
    found[both] = (
        lambda: back(wide(large).sum()),
        lambda: back(peer(large, large, large, need_weights=False)[0].sum()),
        1,
    )
    found[weights] = (recorded, lambda: peer(large, large, large, need_weights=True)[0], 1)
    return found


def measure_calls(rounds: int = 25) -> dict[str, tuple[float, float, float]]:
    """Name -> (median seconds of one call of ours, of theirs, the median of their ratios)."""
    results = {}
    for name, (ours, theirs, often) in calls().items():
        times = []
        ours(), theirs()  # warmed up
        for _ in range(rounds):
            with torch.set_grad_enabled("MultiHead" in name or "recorded" in name):
                mine = seconds(lambda ours=ours, often=often: [ours() for _ in range(often)][-1])
                other = seconds(lambda f=theirs, often=often: [f() for _ in range(often)][-1])
            times.append((mine / often, other / often, mine / other))
        results[name] = tuple(median(column) for column in zip(*times, strict=True))
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
    print(f"{'':<36}{'ours':>11}{'theirs':>11}{'ratio':>8}{'bar':>7}")
    broken = 0
    bars = BARS | CALLS
    for name, (ours, theirs, ratio) in (measure(rounds) | measure_calls(2 * rounds)).items():
        held = ratio <= bars[name]
        broken += not held
        times = f"{ours * 1e3:>8.3f} ms{theirs * 1e3:>8.3f} ms"
        verdict = "held" if held else "BROKEN"
        print(f"{name:<36}{times}{ratio:>8.3f}{bars[name]:>7.2f}  {verdict}")
    return not broken


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
