"""The figures of chapter 7: what they take and what they refuse; the numbers behind them."""

from dataclasses import replace

import pytest
import torch

from attnlab.data.family_tree import BRANCHES, SIZE_SOURCES, TREE
from attnlab.training import cost
from attnlab.training.corruption import SENTINELS, masked, spans, views
from attnlab.widgets import FamilyMasks, ModelTree, ScalingCalculator
from attnlab.widgets.base import STATIC, FigureError

WORDS = ["thank", "you", "for", "inviting", "me", "to", "your", "party"]


def test_spans_as_in_the_paper() -> None:
    hidden = [False, False, True, True, False, False, False, True]
    source, target = spans(WORDS, hidden)
    assert source == ["thank", "you", "<X>", "me", "to", "your", "<Y>"]
    assert target == ["<X>", "for", "inviting", "<Y>", "party", "<Z>"]


def test_nothing_hidden_asks_for_nothing() -> None:
    assert spans(["a", "b"], [False, False]) == (["a", "b"], [SENTINELS[0]])


def test_masking_asks_for_15_percent_and_hides_four_fifths_of_them() -> None:
    tokens = torch.randint(4, 50, (400, 100), generator=torch.Generator().manual_seed(0))
    tokens[:, 90:] = 0
    hidden = masked(tokens, 50, 50, generator=torch.Generator().manual_seed(1))
    asked = hidden.answers != 0
    assert not asked[:, 90:].any()
    assert (hidden.answers[asked] == tokens[asked]).all()
    assert (hidden.tokens[~asked] == tokens[~asked]).all()
    share = asked[:, :90].float().mean().item()
    assert abs(share - 0.15) < 0.01
    marked = (hidden.tokens == 50)[asked].float().mean().item()
    kept = (hidden.tokens == tokens)[asked].float().mean().item()
    assert abs(marked - 0.8) < 0.02
    assert abs(kept - 0.1 - 0.1 / 46) < 0.02  # a random word may be the right one
    assert int(hidden.tokens[asked].min()) >= 4


@pytest.mark.parametrize("family", ["GPT", "BERT", "T5"])
def test_a_view_has_one_row_per_token(family: str) -> None:
    hidden = [place in (2, 3, 7) for place in range(len(WORDS))]
    view = views(WORDS, hidden, family)
    count = len(view.reads)
    assert view.mask.shape == (count, count)
    assert len(view.says) == count
    assert view.mask.diagonal().all()
    decoder = torch.arange(view.encoder, count)
    assert not view.mask[decoder[:, None], decoder].triu(1).any()  # no decoder sees its future
    assert view.mask[:, : view.encoder].all()  # an encoder's tokens are seen by everybody
    if family == "GPT":
        assert not view.mask.all()


def test_the_tree_is_a_tree_with_sources() -> None:
    names = [model.name for model in TREE]
    assert len(set(names)) == len(names)
    assert {model.branch for model in TREE} == set(BRANCHES)
    assert all(model.source.startswith("https://") for model in TREE)
    assert {"GPT-3", "ChatGPT", "Llama", "DeepSeek-R1", "Codex"} <= set(names)
    assert [model.parent for model in TREE].count("") == 1
    assert set(SIZE_SOURCES) <= {model.name for model in TREE if model.size}
    assert next(m for m in TREE if m.name == "BART").size_source == SIZE_SOURCES["BART"]
    ModelTree()


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([], "no models"),
        ([replace(TREE[0], branch="twig")], "branch 'twig'"),
        ([TREE[1]], "not listed before"),
        ([TREE[0], replace(TREE[1], year=2000)], "older than"),
    ],
)
def test_the_tree_refuses(models, words) -> None:
    with pytest.raises(FigureError, match=words):
        ModelTree(models)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FamilyMasks([]), "0 words"),
        (lambda: FamilyMasks(["a"] * 10), "10 words"),
        (lambda: FamilyMasks(["a"], hidden=[1]), "places of 1 words"),
        (lambda: FamilyMasks(["a"], row=99), "row is 99"),
        (lambda: ScalingCalculator("GPT-9"), "no preset"),
        (lambda: ScalingCalculator("", parameters=1.0), "parameters is 1"),
        (lambda: ScalingCalculator("ours", utilisation=2.0), "utilisation is 2"),
    ],
)
def test_figures_refuse(make, words) -> None:
    with pytest.raises(FigureError, match=words):
        make()


def test_the_calculator_of_the_page_knows_the_same_devices_and_models() -> None:
    script = (STATIC / "scaling_calculator.js").read_text(encoding="utf-8")
    for table in (cost.DEVICES, cost.PRESETS):
        for name in table:
            assert f"  {name}: [" in script or f'  "{name}": [' in script, name


def test_gpt_3_needs_3_times_10_to_the_23_operations() -> None:
    """Brown et al. (2020), table D.1: 3.14e23 for 175 billion parameters, 300 billion tokens."""
    flops = cost.operations(*cost.PRESETS["GPT-3"])
    assert flops == pytest.approx(3.14e23, rel=0.01)
    n = cost.best_size(flops)
    assert cost.operations(n, 20 * n) == pytest.approx(flops)
    assert cost.published_loss(n, 20 * n) < cost.published_loss(*cost.PRESETS["GPT-3"])
