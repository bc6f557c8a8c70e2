"""DINO's parts, outlines, rollout, the shipped DINOv2, and the pictures they are measured on."""

import copy
import json

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional

from attnlab import assets
from attnlab.data import composed, fashion, photographs
from attnlab.inside.outlines import cls_maps, enlarge, jaccard, keep_mass, nearest_neighbours, score
from attnlab.inside.rollout import distance, rollout
from attnlab.models.dino import (
    DINO,
    balance,
    centre_and_sharpen,
    crops,
    entropies,
    follow,
    multi_crop,
    small_vit,
)
from attnlab.models.published import dinov2, imagenet
from attnlab.models.vit import Config, ViT
from attnlab.record import record, stack
from attnlab.widgets import Collapse
from attnlab.widgets.collapse import SHARP, STUDENT
from tests.browser.figures import collapse

TINY = Config(size=32, patch=8, width=24, layers=2, heads=3, classes=0)


def images(count: int = 3, size: int = 32) -> torch.Tensor:
    return torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(0))


def test_follow_is_a_moving_mean() -> None:
    student, teacher = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    expected = 0.9 * teacher.weight + 0.1 * student.weight
    before = student.weight.clone()
    follow(teacher, student, 0.9)
    torch.testing.assert_close(teacher.weight, expected)
    torch.testing.assert_close(student.weight, before)
    with pytest.raises(ValueError, match="0 … 1"):
        follow(teacher, student, 1.1)


def test_centring_takes_the_common_part_away_and_sharpening_decides() -> None:
    logits = torch.tensor([[5.0, 0.1, 0.0], [5.0, 0.0, 0.1]])
    targets = centre_and_sharpen(logits, logits.mean(0), 0.02)
    assert targets[:, 1:].argmax(-1).tolist() == [0, 1]
    torch.testing.assert_close(targets.sum(-1), torch.ones(2))
    soft = centre_and_sharpen(logits, logits.mean(0), 1.0)
    assert targets.max() > 0.9 > soft.max()


def test_the_loss_never_compares_a_view_with_itself() -> None:
    torch.manual_seed(0)
    dino = DINO(ViT(TINY), prototypes=5).eval()
    one, two = images(4), images(4).flip(0)
    targets = dino.targets(torch.cat([one, two])).chunk(2)
    answers = [functional.log_softmax(dino.student(v) / 0.1, dim=-1) for v in (one, two)]
    expected = -0.5 * (targets[0] * answers[1] + targets[1] * answers[0]).sum(-1).mean()
    torch.testing.assert_close(dino.loss([one, two]), expected)


def test_small_views_reach_the_student_only_and_no_gradient_the_teacher() -> None:
    dino = DINO(ViT(TINY), prototypes=5)
    views = multi_crop(images(), torch.Generator().manual_seed(0), large=32, small=16, count=3)
    assert [v.shape[-1] for v in views] == [32, 32, 16, 16, 16]
    dino.loss(views).backward()
    assert all(p.grad is None for p in dino.teacher.parameters())
    assert dino.seen is not None
    assert len(dino.seen) == 2 * 3  # two large views of three pictures
    before, centre = copy.deepcopy(dino.teacher), dino.centre.clone()
    torch.optim.SGD(dino.student.parameters(), lr=1.0).step()
    dino.update()
    assert not torch.equal(before[1].prototypes, dino.teacher[1].prototypes)
    assert not torch.equal(centre, dino.centre)


def test_the_collapse_on_dots_is_the_same_from_every_start() -> None:
    """What the speaker notes of chapter 8 say about its figure, at the last step."""
    figure = Collapse.dots()
    arrays = [np.asarray(getattr(figure, n), "float32") for n in ("points", "noise")]
    arrays += [np.asarray(getattr(figure, n), "float32") for n in ("first", "prototypes")]
    key = tuple((a.tobytes(), a.shape) for a in arrays)
    log = float(np.log(arrays[3].shape[1]))
    for start in range(len(arrays[2])):
        alive, one, equal = (
            collapse.course(key, start, centred, tau)[-1]
            for centred, tau in ((True, SHARP), (False, SHARP), (True, STUDENT))
        )
        of_mean, mean_of = alive[-1]
        assert of_mean > 1.3
        assert mean_of < 0.15
        winners = one[-2].argmax(-1).unique()
        assert len(winners) <= 2, "without centring one or two prototypes take everything"
        assert one[-2][:, winners].sum(-1).min() > 0.9
        assert equal[-1][1] > log - 0.03, "without sharpening every answer says: all equally"


def test_balanced_targets_use_every_prototype() -> None:
    logits = torch.randn(12, 4, generator=torch.Generator().manual_seed(0)) + torch.tensor(
        [9.0, 0.0, 0.0, 0.0]
    )  # without balance, prototype 0 wins everywhere
    found = balance(logits, rounds=20)
    torch.testing.assert_close(found.sum(1), torch.ones(12))
    torch.testing.assert_close(found.sum(0), torch.full((4,), 3.0), atol=0.05, rtol=0)
    assert found.argmax(1).unique().numel() > 1


def test_the_two_signs_of_collapse() -> None:
    one = functional.one_hot(torch.zeros(6, dtype=torch.long), 4).float()
    equal = torch.full((6, 4), 0.25)
    healthy = functional.one_hot(torch.arange(8) % 4, 4).float()
    log = float(np.log(4))
    assert entropies(one) == pytest.approx((0, 0), abs=1e-6)
    assert entropies(equal) == pytest.approx((log, log), abs=1e-6)
    assert entropies(healthy) == pytest.approx((log, 0), abs=1e-6)


def test_crops_show_a_part_of_the_picture() -> None:
    """Of a picture that grows brighter to the right, a smaller crop spans less of the slope."""
    slope = torch.linspace(0, 1, 64).expand(40, 3, 64, 64).contiguous()
    generator = torch.Generator().manual_seed(0)
    span = [
        float((v.amax((1, 2, 3)) - v.amin((1, 2, 3))).mean())
        for v in (crops(slope, 32, scale, generator) for scale in ((0.1, 0.2), (0.9, 1.0)))
    ]
    assert span[0] < 0.6 * span[1]


def test_keep_mass_keeps_the_fewest_that_reach_it() -> None:
    values = torch.tensor([[0.5, 0.2], [0.2, 0.1]])
    assert keep_mass(values, 0.5).tolist() == [[True, False], [False, False]]
    assert keep_mass(values, 0.6).sum() == 2
    assert keep_mass(values, 1.0).all()
    assert keep_mass(values.expand(3, 2, 2, 2), 0.75).sum((-1, -2)).eq(3).all()


def test_jaccard_and_its_edge_cases() -> None:
    a = torch.tensor([[True, True], [False, False]])
    b = torch.tensor([[True, False], [True, False]])
    assert jaccard(a, b) == pytest.approx(1 / 3)
    assert jaccard(a, ~a) == 0
    assert jaccard(a & ~a, a & ~a) == 1
    assert enlarge(a, 6).shape == (6, 6)
    assert enlarge(a, 6)[2, 5]
    assert not enlarge(a, 6)[3, 5]


def test_score_takes_the_best_head_of_each_picture() -> None:
    gold = torch.zeros(2, 4, 4, dtype=torch.bool)
    gold[0, :2, :2], gold[1, 2:, 2:] = True, True
    maps = torch.full((2, 2, 2, 2), 0.01)
    maps[0, 0, 0, 0] = maps[1, 1, 1, 1] = 1.0  # head 0 is right in one picture, head 1 in the other
    maps[0, 1, 1, 1] = maps[1, 0, 0, 0] = 1.0
    assert score(maps, gold) == pytest.approx({"best": 1.0, "mean": 0.5})


def test_nearest_neighbours_vote() -> None:
    bank = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    kinds = torch.tensor([4, 4, 7])
    assert nearest_neighbours(bank, kinds, torch.tensor([[2.0, 0.1]]), 3).tolist() == [4]
    assert nearest_neighbours(bank, kinds, torch.tensor([[0.0, 0.1]]), 1).tolist() == [7]


def test_rollout_is_the_product_of_mixed_layers() -> None:
    model = ViT(TINY)
    with record(model) as maps:
        model.tokens(images())
    first, second = stack(maps).unbind(dim=1)
    found = rollout(maps)
    same = torch.eye(17)
    expected = (0.5 * same + 0.5 * second.mean(1)) @ (0.5 * same + 0.5 * first.mean(1))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, 17))
    torch.testing.assert_close(rollout(first[:, None], residual=1.0), same.expand(3, -1, -1))
    sparse = rollout(first[:, None], residual=0.0, discard=0.5)
    assert (sparse == 0).sum() >= 3 * 17 * 8
    torch.testing.assert_close(sparse.sum(-1), torch.ones(3, 17))
    with pytest.raises(ValueError, match="no maps were recorded"):
        rollout({})


def test_distance_counts_patches() -> None:
    """Six patches in rows of three, [CLS] first: everybody looks one to the right, or stays."""
    weights = torch.zeros(1, 2, 7, 7)
    weights[0, 0] = torch.eye(7)
    weights[0, 1, 1:, 1:] = torch.eye(6).roll(3, dims=1)  # the other row: one step
    weights[0, 1, :, 0] = 5.0  # to [CLS]: not a distance
    assert distance(weights, columns=3).tolist() == [[0.0, 1.0]]


def test_composed_pictures_are_what_they_say() -> None:
    one = composed.draw(12, size=64, seed=3)
    again = composed.draw(12, size=64, seed=3)
    torch.testing.assert_close(one.pixels, again.pixels)
    assert one.pixels.shape == (12, 3, 64, 64)
    assert 0 <= one.pixels.min() <= one.pixels.max() <= 1
    share = one.gold.float().mean((1, 2))
    assert (share > 0.03).all()
    assert (share < 0.6).all()
    assert composed.kinds("train") + composed.kinds("test") == len(composed.codes())
    assert not set(composed._members("train").tolist()) & set(composed._members("test").tolist())
    other = composed.draw(12, size=64, seed=4)
    assert not torch.equal(one.gold, other.gold)
    with pytest.raises(ValueError, match="'train' and 'test'"):
        composed.draw(1, split="valid")


def test_fashion_has_its_kinds_and_jitter_moves_it() -> None:
    found = fashion.load("test")
    assert found.images.shape == (2000, 1, 28, 28)
    assert found.kinds.bincount().tolist() == pytest.approx([200] * 10, abs=40)
    still, moved = (next(fashion.batches(16, seed=1, jitter=j)) for j in (0, 2))
    assert torch.equal(still.kinds, moved.kinds)
    assert moved.images.shape == still.images.shape
    assert not torch.equal(still.images, moved.images)
    few = fashion.batches(4, count=8)
    seen = {tuple(row.flatten().tolist()) for _ in range(6) for row in next(few).images}
    assert len(seen) == 8


def test_outlines_of_photographs_scale_with_them() -> None:
    for name in photographs.OUTLINED:
        small, large = photographs.outline(name, 112), photographs.outline(name, 224)
        assert large.shape == (224, 224)
        assert 0.02 < large.float().mean() < 0.7
        grown = enlarge(small, 224)
        assert jaccard(grown, large) > 0.7, name
    orange = photographs.square("flower", 224)[0] > 0.7  # nothing else in that picture is bright
    assert jaccard(photographs.outline("flower", 224), orange) > 0.7
    with pytest.raises(KeyError, match="'cat' has no outline"):
        photographs.outline("cat")


def test_photographs_are_square_on_request() -> None:
    assert photographs.square("cat", 56).shape == (3, 56, 56)
    wide = Image.new("RGB", (60, 20), (255, 0, 0))
    wide.paste((0, 255, 0), (20, 0, 40, 20))
    assert photographs.pixels(wide, 10)[1].min() > 0.9  # the middle only
    with pytest.raises(KeyError, match="choose one of cat"):
        photographs.load("dog")


def test_the_shipped_dinov2_sees_objects_and_random_weights_do_not() -> None:
    """The bar: Jaccard of DINOv2 at least 0.20 above the same model with random weights."""
    pictures = composed.draw(12, size=168, split="test", seed=1)
    pixels = imagenet(pictures.pixels)
    torch.manual_seed(0)
    random = ViT(dinov2().config).eval()
    found, base = (
        score(cls_maps(model, pixels), pictures.gold)["best"] for model in (dinov2(), random)
    )
    assert found >= base + 0.20


def test_the_shipped_small_vits_are_those_that_were_measured() -> None:
    """Eight bits change next to nothing: the recorded Jaccard, on the same 512 pictures."""
    recorded = json.loads(assets.find("data/dino_small.json").read_text("utf-8"))["results"]
    pictures = composed.draw(512, split="test", seed=99)
    for name in ("dino", "supervised"):
        model = small_vit(name)
        assert not any(parameter.requires_grad for parameter in model.parameters())
        found = score(cls_maps(model, composed.standard(pictures.pixels)), pictures.gold)
        for rule, value in found.items():
            assert value == pytest.approx(recorded[f"{name}-0"][rule], abs=0.005)
    with pytest.raises(KeyError, match="'dino' or 'supervised'"):
        small_vit("dinov2")


def test_eight_bits_keep_the_maps_of_the_published_dinov2() -> None:
    """The bar, measured by training/dinov2.py beside the original weights: the cosine of the
    [CLS] maps of all layers and heads, on at least seven photographs.
    """
    report = json.loads(assets.find("data/dinov2_maps.json").read_text("utf-8"))
    assert report["photographs"] >= 7
    assert report["cosine_of_cls_maps"]["mean"] >= 0.999
    assert report["cosine_of_cls_maps"]["last_layer"] >= 0.998
