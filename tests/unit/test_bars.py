"""The bars of benchmarks/core.py, held with room for a noisy machine. `make bench` prints them."""

from benchmarks import core

ROOM = 1.15
ATTEMPTS = 5


def test_core_keeps_its_bars() -> None:
    """The best of a few attempts counts: noise spoils one ratio or another, never all of them."""
    best = dict.fromkeys(core.BARS, float("inf"))
    for _ in range(ATTEMPTS):
        for name, ratio in core.ratios(rounds=7, batch=4, length=384).items():
            best[name] = min(best[name], ratio)
        broken = {n: round(r, 3) for n, r in best.items() if r > ROOM * core.BARS[n]}
        if not broken:
            return
    raise AssertionError(f"times as long as plain torch: {broken}; bars × {ROOM}: {core.BARS}")
