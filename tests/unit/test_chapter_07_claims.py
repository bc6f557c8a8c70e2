"""What chapter 7 says of its shipped measurements, where no cell beside the sentence holds it."""

import json
from itertools import pairwise
from typing import Any

from attnlab import assets


def measured(name: str) -> Any:
    return json.loads(assets.find(f"data/{name}.json").read_text(encoding="utf-8"))


def losses(runs: list[dict[str, Any]], **chosen: float) -> list[float]:
    return [run["loss"] for run in runs if chosen.items() <= run.items()]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_with_the_same_letters_larger_was_better_but_for_one_pair_within_their_spread() -> None:
    runs = measured("scaling_law")["grid"]
    sizes = sorted({run["parameters"] for run in runs})
    worse = [
        (small, large)
        for tokens in {run["tokens"] for run in runs}
        for n, m in pairwise(sizes)
        for small, large in [(losses(runs, parameters=n, tokens=tokens),
                              losses(runs, parameters=m, tokens=tokens))]
        if mean(large) >= mean(small)
    ]  # fmt: skip
    assert len(worse) == 1
    small, large = worse[0]
    assert min(large) < max(small)
    assert min(small) < max(large)


def test_at_a_fixed_budget_the_largest_is_last_and_the_two_smallest_cannot_be_told_apart() -> None:
    runs = measured("scaling_law")["budget"]
    sizes = sorted({run["parameters"] for run in runs})
    read = []
    for flops in sorted({run["flops"] for run in runs}):
        by_size = [losses(runs, parameters=n, flops=flops) for n in sizes]
        means = [mean(one) for one in by_size]
        assert min(means) == means[0]
        assert max(means) == means[-1]
        assert min(by_size[-1]) > max(max(one) for one in by_size[:-1])
        assert min(by_size[1]) <= max(by_size[0])
        read += {r["tokens"] for r in runs if (r["parameters"], r["flops"]) == (sizes[-1], flops)}
    assert [round(tokens, -3) for tokens in read] == [11_000, 30_000]


def test_shuffled_examples_make_the_code_reader_mostly_wrong() -> None:
    assert max(run["lied_to"] for run in measured("in_context")["codes"]) < 0.5


def test_one_seed_of_the_fourth_size_is_far_ahead_of_its_sisters() -> None:
    nats = sorted(run["nats"] for run in measured("emergence") if run["parameters"] == 14_496)
    assert nats[0] < nats[1] / 3
