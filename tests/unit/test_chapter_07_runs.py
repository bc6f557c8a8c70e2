"""What was measured for chapter 7, and the bars it must meet over its three seeds."""

import json
from typing import Any

import torch

from attnlab import assets
from attnlab.data import in_context


def runs(name: str) -> Any:
    return json.loads(assets.find(f"data/{name}.json").read_text(encoding="utf-8"))


def test_larger_models_are_better_where_all_have_read_most() -> None:
    grid = runs("scaling_law")["grid"]
    sizes = sorted({run["parameters"] for run in grid})
    amounts = sorted({run["tokens"] for run in grid})
    assert len(sizes) >= 5
    assert len(amounts) >= 3
    assert {run["seed"] for run in grid} == {0, 1, 2}
    assert len(grid) == len(sizes) * len(amounts) * 3
    most = [run for run in grid if run["tokens"] == amounts[-1]]
    means = [sum(r["loss"] for r in most if r["parameters"] == n) / 3 for n in sizes]
    assert means == sorted(means, reverse=True)


def test_two_layers_make_induction_heads_and_one_does_not() -> None:
    found = runs("in_context")["induction"]
    assert len(found) == 6
    for run in found:
        best = max(map(max, run["induction"]))
        assert best >= 0.4 if run["layers"] == 2 else best <= 0.1, run


def test_unseen_codes_are_read_from_the_prompt() -> None:
    for run in runs("in_context")["codes"]:
        assert run["right"][12] - run["right"][0] >= 0.2
        assert run["lied_to"] < run["right"][12] - 0.2


def test_no_training_prompt_has_a_held_out_code() -> None:
    for unseen in (False, True):
        rows = next(in_context.codes(size=300, unseen=unseen, shots=60, seed=3))
        letters, digits = rows[:, ::2] - 1, rows[:, 1::2] - 1 - in_context.LETTERS
        assert 0 <= int(digits.min()) <= int(digits.max()) < in_context.DIGITS
        code = torch.zeros(300, in_context.LETTERS, dtype=torch.long).scatter(1, letters, digits)
        whole = torch.tensor([len(set(row.tolist())) == in_context.LETTERS for row in letters])
        assert whole.float().mean() > 0.9  # sixty examples show nearly always all letters
        assert (in_context.held_out(code[whole]) == unseen).all()
        assert (code.gather(1, letters) == digits).all()  # one code a row


def test_a_perfect_head_has_score_one() -> None:
    period, length = 5, 12
    maps = torch.zeros(1, 1, 2, length, length)
    for i in range(period, length):
        maps[0, 0, 1, i, i - period + 1] = 1
    for i in range(1, length):
        maps[0, 0, 0, i, i - 1] = 1
    assert in_context.induction_scores(maps, period).tolist() == [[0, 1]]
    assert in_context.previous_scores(maps)[0, 0] == 1


def test_the_seventh_size_is_none_of_the_six_and_was_trained_on_what_was_predicted() -> None:
    known, found = runs("scaling_law")["grid"], runs("forecast")
    assert {run["width"] for run in known}.isdisjoint({one["width"] for one in found["runs"]})
    asked = {(one["parameters"], one["tokens"]) for one in found["written_down"]}
    assert {tokens for _, tokens in asked} == {run["tokens"] for run in known}
    for trained in (
        found["runs"],
        *([run for run in found["rates"] if run["rate"] == rate] for rate in (0.5, 2)),
    ):
        assert {(run["parameters"], run["tokens"]) for run in trained} == asked
        assert sorted(run["seed"] for run in trained) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    texts = {tokens for _, tokens in asked}
    for width in (48, 72):  # the sixth and the seventh, in four times the steps
        again = [run for run in found["updates"] if run["width"] == width]
        assert sorted((run["tokens"], run["seed"]) for run in again) == sorted(
            (tokens, seed) for tokens in texts for seed in (0, 1, 2)
        )
        assert {run["times"] for run in again} == {4}
    for one in found["written_down"]:
        assert one["low"] < one["predicted"] < one["high"]
