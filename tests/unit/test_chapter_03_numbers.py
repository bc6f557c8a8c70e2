"""Chapter 3 and its GPU exercise say things in prose; here the numbers behind the words are held.

Each source is run once, from its first cell to its last, with solutions in place of stubs. The
tests read the variables that the cells left behind, so nothing of the chapter is copied here.
"""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import jupytext
import matplotlib
import pytest
import torch

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def run(name: str) -> dict[str, Any]:
    """The names that the code cells of a source define."""
    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": name}
    for number, cell in enumerate(jupytext.read(NOTEBOOKS / f"{name}.py").cells):
        if cell.cell_type == "code" and "stub" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{name}, cell {number}", "exec"), names)
    return names


@pytest.fixture(scope="module")
def chapter() -> dict[str, Any]:
    return run("03_self_attention")


@pytest.fixture(scope="module")
def gpu() -> dict[str, Any]:
    return run("gpu_03_attention_cost")


def size(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


# 1 · The question


def test_bank_enters_as_one_vector(chapter):
    assert torch.equal(chapter["river"], chapter["money"])


def test_the_gru_forgets_as_films_are_added(chapter):
    curve = chapter["gru_curve"]
    assert curve[0] >= 0.9
    assert curve[-1] <= 0.75
    assert all(later <= earlier + 0.02 for earlier, later in pairwise(curve))
    assert all(g > lazy for g, lazy in zip(curve, chapter["lazy_curve"], strict=True))


def test_a_much_larger_gru_can_do_it(chapter):
    chapter["seed"](0)
    large = chapter["train"](chapter["Reader"](96, chapter["Recurrent"](96)), steps=600, rate=1e-2)
    assert 3.5 < size(large) / size(chapter["gru"]) < 4
    assert chapter["right_answers"](large, 12)[0].mean() >= 0.95


def test_the_gru_trains_longest(chapter):
    steps = chapter["STEPS"]
    assert steps["GRU"] * chapter["BATCH"] == pytest.approx(77_000, abs=500)
    assert steps["GRU"] == max(steps.values()) == 3 * steps["self-attention"]


def test_readers_have_about_the_same_size(chapter):
    sizes = {name: size(model) for name, model in chapter["readers"].items()}
    assert sizes["GRU"] == pytest.approx(15_000, rel=0.05)
    assert sizes["self-attention"] <= sizes["GRU"]
    assert max(sizes.values()) / min(sizes.values()) < 1.25


# 2 · By hand


def test_the_soft_look_up(chapter):
    k = torch.tensor([[2.0, 0, 1], [0, 2, 0], [1, 2, 1], [0, 1, 2]])
    share = (k @ torch.tensor([1.0, 0, 1])).softmax(-1)
    assert share @ torch.tensor([90.0, 120, 100, 110]) == pytest.approx(97.0, abs=0.05)


def test_one_shared_matrix_can_only_guess(chapter):
    torch.testing.assert_close(chapter["look_shared"], torch.full((3,), 1 / 3), atol=0.01, rtol=0)
    assert chapter["look_two"].min() > 0.99


def test_bites_asks_for_the_dog(chapter):
    torch.testing.assert_close(
        chapter["o"][1], torch.tensor([0.83, 0.08]), atol=0.005, rtol=0
    )  # the numbers in the prose
    alpha = (chapter["x"] @ chapter["w_q"] @ chapter["x"].T / math.sqrt(3)).softmax(-1)
    assert alpha[0, 1] == pytest.approx(0.61, abs=0.005)


# 3 · Live


def test_a_head_of_the_first_layer_looks_at_the_token_before(chapter):
    share, head = chapter["one_back"].mean(-1).max(dim=0)
    assert int(head) == 2
    assert share > 0.99


# 4 · In the open


def test_the_variance_of_a_dot_product_is_its_width(chapter):
    for d, (variance, *_) in chapter["plain"].items():
        assert variance == pytest.approx(d, rel=0.05)
    for variance, best, slope, flat in chapter["scaled"].values():
        assert variance == pytest.approx(1, rel=0.05)
        assert best < 0.3
        assert slope == pytest.approx(0.30, abs=0.01)
        assert flat == 0


def test_without_scaling_the_softmax_saturates(chapter):
    _, best, slope, flat = chapter["plain"][1024]
    scaled = chapter["scaled"][1024][2]
    assert best == pytest.approx(0.96, abs=0.005)  # the numbers in the quiz
    assert slope == pytest.approx(0.05, abs=0.005)
    assert scaled == pytest.approx(0.30, abs=0.005)
    assert slope / scaled == pytest.approx(1 / 6, abs=0.01)
    assert flat == pytest.approx(3 / 4, abs=0.02)


def test_only_minus_infinity_does_not_leak(chapter):
    changes = {name: chapter["leak"](hide)[0] for name, hide in chapter["WAYS"].items()}
    assert changes["score −∞"] == 0
    assert changes["weight × 0"] > 0.05  # a rustle, and the smallest of the leaks
    assert changes["weight × 0"] < changes["score 0"] < changes["no mask"]
    assert changes["score 0"] > changes["no mask"] / 2


def test_random_digits_are_guessed_only_by_cheating(chapter):
    losses = {name: loss for name, (loss, _) in chapter["cheats"].items()}
    assert losses.pop("score −∞") > math.log(10) - 0.03
    assert all(loss < 2.1 for loss in losses.values())


# 5 · At work


def test_context_sorts_the_banks(chapter):
    right = chapter["right"].tolist()
    assert right[0] <= 5
    assert right[1:] == [8] * 6
    cosine = torch.nn.functional.cosine_similarity(*chapter["pair"], dim=0)
    assert cosine > 0.95  # the textbook pair hardly differs


def test_the_head_of_it(chapter):
    assert (chapter["LAYER"], chapter["HEAD"]) == (3, 1)
    shifts = chapter["shift"].flatten().sort(descending=True).values
    assert shifts[0] > 2 * shifts[1]
    animal_if_tired, street_if_tired = chapter["tired"][:, 3, 1]
    animal_if_wide, street_if_wide = chapter["wide"][:, 3, 1]
    assert animal_if_tired > 0.5
    assert animal_if_wide < animal_if_tired - 0.2
    assert street_if_tired < street_if_wide < animal_if_wide


def test_the_head_of_it_on_fresh_sentences(chapter):
    on_nouns = chapter["on_nouns"]
    assert on_nouns[3, 1] == on_nouns.max()
    assert on_nouns[3, 1] > 5 * on_nouns.median()
    assert int((chapter["moves"] > 0).sum()) == 7
    as_good = sum(math.comb(10, heads) for heads in range(7, 11)) / 2**10  # ten coins
    assert as_good == pytest.approx(1 / 6, abs=0.01)
    assert 0 < chapter["moves"].mean() < 0.15
    assert 8 <= int(chapter["picks"]) <= 12  # a coin


def test_self_attention_wins_in_the_video_shop(chapter):
    curves, distances = chapter["curves"], chapter["distances"]
    assert min(curves["self-attention"]) >= 0.98
    assert curves["self-attention"][-1] - curves["GRU"][-1] >= 0.25
    assert min(distances["self-attention"]) >= 0.98
    assert all(abs(share - 0.5) < 0.1 for share in distances["convolution"][:2])  # within reach
    assert all(abs(share - 0.25) < 0.05 for share in distances["convolution"][2:])
    assert max(distances["GRU"]) - min(distances["GRU"]) < 0.1  # it does not mind the distance
    assert chapter["found"][chapter["match"]].min() > 0.8


def test_a_hot_reader_looks_elsewhere(chapter):
    def least(temperature: float) -> float:
        q, k = chapter["tape_q"], chapter["tape_k"]
        found = chapter["weights"](q, k, causal=True, temperature=temperature)[5:, :5]
        return found[chapter["match"]].min().item()

    assert least(5) > 0.5 > least(7)


def test_path_lengths(chapter):
    assert [chapter["conv_layers"](n + 1) for n in (8, 16)] == [8, 16]
    assert [chapter["conv_layers"](n + 1, dilated=True) for n in (8, 16)] == [4, 5]
    assert chapter["conv_layers"](10) == 9  # the answer below the live figure
    assert chapter["conv_layers"](10, dilated=True) == 4
    assert chapter["rnn_steps"](9) == 9
    assert chapter["attention_layers"](65) == 1


def test_only_the_rnn_waits_longer_for_a_longer_text(chapter):
    chain, layers = chapter["chain"], chapter["LAYERS"]
    assert chain(layers["RNN"], 256) == pytest.approx(4 * chain(layers["RNN"], 64), rel=0.01)
    for name in ("convolution", "self-attention"):
        assert chain(layers[name], 256) == chain(layers[name], 64) < 10


def test_memory_for_the_backward_pass(chapter):
    kept = chapter["kept"]
    growth = {name: kept(f, 2048) / kept(f, 1024) for name, f in chapter["LAYERS"].items()}
    assert growth["RNN"] == pytest.approx(2, abs=0.05)
    assert growth["convolution"] == pytest.approx(2, abs=0.05)
    assert growth["self-attention"] > 3.3


def test_the_border_between_the_regimes_is_twice_the_width(chapter):
    for d in (16, 64):
        projections, mixing = chapter["operations"](2 * d, d)
        assert projections == mixing == 16 * d**3
    projections, mixing = chapter["operations"](30, 512)
    assert mixing / (mixing + projections) < 0.05


# 6 · Misconceptions


def test_attention_is_not_a_similarity_search(chapter):
    favourite, chance = (chapter[name] / chapter["total"] for name in ("hits", "chance"))
    assert favourite == pytest.approx(1 / 7, abs=0.01)
    assert 1.5 * chance < favourite < 2 * chance
    assert chapter["selves"] / chapter["total"] < 0.25


def test_the_learned_form_is_not_symmetric(chapter):
    assert chapter["agreement"].min() < -0.3
    assert chapter["agreement"].max() < 0.7
    assert chapter["symmetric"].max() < 0.9
    assert chapter["symmetric"].median() == pytest.approx(0.56, abs=0.02)


def test_keys_speak_of_titles_and_values_of_shelves(chapter):
    assert chapter["in_keys"] >= 0.7
    assert chapter["in_values"] <= 0.3


def test_one_vector_can_be_key_and_value(chapter):
    chapter["seed"](0)
    mixer = chapter["SelfAttention"](64)
    mixer.value = mixer.key
    reader = chapter["train"](chapter["Reader"](64, mixer), steps=200, rate=1e-2)
    assert chapter["right_answers"](reader, 12)[0].mean() >= 0.98


# 7 · Exercises


@pytest.mark.parametrize("days", [3, 7, 12, 365])
def test_the_head_that_looks_back_works_for_a_year(chapter, days):
    x = chapter["circle"](days)
    w_q, w_k = chapter["look_back"](days)
    alpha = chapter["weights"](x @ w_q, x @ w_k)
    assert alpha[torch.arange(days), torch.arange(days) - 1].min() >= 0.9


# The GPU exercise, in its small size


def test_explicit_memory_is_the_table(gpu):
    one = gpu["heads"] * gpu["size"]
    for n, used, _ in gpu["results"]["explicit"]:
        assert used >= one * n * n
    n, used, _ = gpu["results"]["fused"][-1]
    assert used < one * n * n / 4
    if gpu["gpu"].kind == "cpu":
        assert used == one * n * gpu["width"]  # nothing larger than the output


def test_blocks_save_memory_for_reading_but_not_for_training(gpu):
    q, k, v = gpu["inputs"](1024)
    explicit, blocks = gpu["explicit"], gpu["in_blocks"]
    assert gpu["mine"] is blocks
    assert gpu["memory"](explicit, q, k, v) >= 4 * gpu["memory"](blocks, q, k, v)
    assert gpu["kept"](blocks, 1024) >= 1
    assert gpu["kept"](gpu["fused"], 1024) < 1 / 3


def test_the_answer_for_the_longest_text(gpu):
    for texts, answer in ((1, 7450), (8, 2600)):
        table = texts * gpu["layers"] * gpu["heads_each"] * gpu["bytes_each"]
        assert math.sqrt(gpu["memory_bytes"] / table) == pytest.approx(answer, rel=0.02)
