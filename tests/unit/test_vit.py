"""Patches, positions of patches and the ViT: equal to references on the same weights."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from attnlab.layers.patches import (
    KINDS,
    GridPositions,
    PatchEmbedding,
    offsets,
    patchify,
    resize,
    unpatchify,
)
from attnlab.models.published import DINOV2_CONFIG
from attnlab.models.vit import BUILDERS, Config, ViT, grid, parameters
from attnlab.models.vit_weights import PUBLISHED, FetchError, fetch, translate
from attnlab.record import record

TINY = Config(size=20, patch=4, channels=2, width=24, layers=2, heads=3, classes=7)


def pictures(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_patchify_takes_squares_row_after_row_and_back() -> None:
    images = pictures(2, 3, 8, 12)  # 2 rows, 3 columns of 4
    tokens = patchify(images, 4)
    assert tokens.shape == (2, 6, 48)
    torch.testing.assert_close(tokens[1, 4].unflatten(0, (3, 4, 4)), images[1, :, 4:8, 4:8])
    torch.testing.assert_close(unpatchify(tokens, 4, rows=2), images)
    unfolded = functional.unfold(images, 4, stride=4).transpose(1, 2)
    torch.testing.assert_close(tokens, unfolded)


def test_the_embedding_is_one_linear_map() -> None:
    embed = PatchEmbedding(3, 4, 10)
    images = pictures(2, 3, 8, 12)
    torch.testing.assert_close(embed(images), embed.by_hand(images))


@pytest.mark.parametrize(
    ("images", "word"), [(pictures(1, 3, 9, 8), "multiples of 4"), (pictures(3, 8, 8), "[None]")]
)
def test_what_cannot_be_cut_is_said(images, word) -> None:
    with pytest.raises(ValueError, match=r"patches of 4|batch, channels") as caught:
        patchify(images, 4)
    assert word in str(caught.value)


def test_a_map_with_cls_left_in_is_refused() -> None:
    with pytest.raises(ValueError, match=r"drop \[CLS\]"):
        unpatchify(pictures(2, 7, 48), 4, rows=2)


@pytest.mark.parametrize("kind", KINDS)
def test_only_positions_tell_patches_apart(kind) -> None:
    """Swap two patches: without positions [CLS] says the same, with any kind it does not."""
    torch.manual_seed(0)
    model = ViT(replace(TINY, positions=kind)).eval()
    if kind == "relative":
        torch.nn.init.normal_(model.positions.offsets)
    images = pictures(1, 2, 20, 20)
    swapped = images.clone()
    swapped[..., :4, :4], swapped[..., 8:12, 4:8] = images[..., 8:12, 4:8], images[..., :4, :4]
    far = (model(images) - model(swapped)).abs().max()
    assert far < 1e-5 if kind == "none" else far > 1e-4


def test_relative_offsets_depend_on_the_difference_alone() -> None:
    table = offsets(2, 3)  # patches 0 1 2 / 3 4 5
    assert table[0, 4] == table[1, 5] != table[4, 0]
    assert table.unique().numel() == 3 * 5
    assert table[0, 0] == table[5, 5]


def test_two_d_positions_share_rows_and_columns() -> None:
    places = GridPositions("2d", 2, 3, 8).places(2, 3).unflatten(0, (2, 3))  # (R, K, E)
    torch.testing.assert_close(places[0, :, :4], places[0, :1, :4].expand(3, -1))
    torch.testing.assert_close(places[:, 2, 4:], places[:1, 2, 4:].expand(2, -1))
    assert not torch.allclose(places[0], places[1])


def test_resized_places_keep_a_slope_and_their_corners() -> None:
    row = torch.arange(6.0)[:, None].expand(6, 5).flatten()[:, None]
    grown = resize(row, (6, 5), (12, 10)).unflatten(0, (12, 10))[..., 0]
    assert (grown.diff(dim=0) > -0.11).all()
    torch.testing.assert_close(grown[:, 0], grown[:, 9])
    torch.testing.assert_close(grown[5:7, 3].mean(), torch.tensor(2.5))
    with pytest.raises(ValueError, match=r"leave \[CLS\] out"):
        resize(pictures(31, 4), (6, 5), (3, 3))


def test_registers_and_layer_scale_are_counted_and_dropped() -> None:
    config = replace(TINY, registers=4, layer_scale=0.1)
    model = ViT(config)
    images = pictures(3, 2, 20, 20)
    assert model.tokens(images).shape == (3, 1 + 4 + 25, 24)
    assert parameters(config) == parameters(TINY) + 4 * 24 + 2 * 2 * 24
    with record(model) as maps:
        model(images)
    found = maps["blocks.1.attention"]
    assert found.shape == (3, 3, 30, 30)
    seen = grid(found[:, :, 0], model, images)
    torch.testing.assert_close(seen[0, 1, 2, 3], found[0, 1, 0, 5 + 13])
    with pytest.raises(ValueError, match="30 tokens are expected"):
        grid(found[:, :, 0, 1:], model, images)


@pytest.mark.parametrize("kind", KINDS)
def test_brief_leaves_out_work_and_nothing_else(kind) -> None:
    """Without the other tokens of the last block: the same answer, the same gradients."""
    config = replace(TINY, positions=kind, registers=2, layer_scale=0.5)
    torch.manual_seed(0)
    whole = ViT(config).double()
    for parameter in whole.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    brief = ViT(replace(config, brief=True)).double()
    brief.load_state_dict(whole.state_dict())
    images = pictures(3, 2, 20, 20).double()
    answers = [model(images) for model in (whole, brief)]
    torch.testing.assert_close(*answers)
    for answer in answers:
        answer.square().sum().backward()
    for (name, one), other in zip(whole.named_parameters(), brief.parameters(), strict=True):
        if one.grad is None:  # positions of another kind
            assert other.grad is None, name
        else:
            torch.testing.assert_close(other.grad, one.grad)
    torch.testing.assert_close(brief.tokens(images), whole.tokens(images))
    with record(brief) as maps:
        brief(images)
    assert maps["blocks.0.attention"].shape == (3, 3, 28, 28)
    assert maps["blocks.1.attention"].shape == (3, 3, 1, 28)  # [CLS] alone has asked
    with pytest.raises(ValueError, match="cls=True"):
        ViT(replace(config, brief=True, cls=False))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("vit_b_16", 86_567_656),
        ("vit_b_32", 88_224_232),
        ("vit_l_16", 304_326_632),
        ("vit_l_32", 306_535_400),
        ("vit_h_14", 632_045_800),
    ],
)
def test_torchvisions_builders_have_their_counts(name, count) -> None:
    assert parameters(BUILDERS[name]) == count


def compare(theirs, config: Config, size: int, std: float) -> None:
    """The same random weights in both: outputs and every attention map within 1e-4."""
    for parameter in theirs.parameters():  # biases start at 0, which would hide mistakes
        torch.nn.init.normal_(parameter, std=std)
    ours = ViT(config).eval()
    ours.load_state_dict(translate(theirs.state_dict()))
    images = pictures(2 if size < 224 else 1, 3, size, size)
    with torch.no_grad(), record(ours) as maps:
        out = ours.tokens(images)
        expected = theirs.eval()(images, output_attentions=True)
    torch.testing.assert_close(out, expected.last_hidden_state, atol=1e-4, rtol=0)
    assert len(maps) == config.layers
    for found, wanted in zip(maps.values(), expected.attentions, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("dino", [False, True])
def test_equal_to_transformers(dino) -> None:
    """A small one of each published layout."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = dict(
        hidden_size=48, num_hidden_layers=3, num_attention_heads=4, patch_size=14,
        attn_implementation="eager", image_size=70,
    )  # fmt: skip
    small = Config(size=70, patch=14, width=48, layers=3, heads=4, classes=0)
    if dino:  # positions of 5 × 5 are resized to 3 × 3
        theirs = transformers.Dinov2Model(transformers.Dinov2Config(**sizes, layerscale_value=0.5))
        compare(theirs, replace(small, layer_scale=0.5), size=42, std=0.2)
    else:
        plain = transformers.ViTConfig(**sizes, intermediate_size=192)
        theirs = transformers.ViTModel(plain, add_pooling_layer=False)
        compare(theirs, replace(small, eps=1e-12), size=70, std=0.2)


def test_the_published_vit_b_16_is_equal() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    published = transformers.ViTConfig(attn_implementation="eager")  # B/16 is its default
    theirs = transformers.ViTModel(published, add_pooling_layer=False)
    compare(theirs, replace(BUILDERS["vit_b_16"], classes=0, eps=1e-12), size=224, std=0.05)


def test_the_published_dinov2_s_14_is_equal() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    published = transformers.Dinov2Config(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=6, patch_size=14,
        image_size=518, attn_implementation="eager",
    )  # fmt: skip
    compare(transformers.Dinov2Model(published), DINOV2_CONFIG, size=224, std=0.05)


def timm_names(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Our weights as timm and the authors of DINO name them."""
    theirs = {"cls_token": state["cls"][None, None], "pos_embed": state["positions.table"][None]}
    theirs["mask_token"] = torch.zeros(1, 24)
    for name, value in state.items():
        parts = {
            "embed.project": "patch_embed.proj", "feed_forward.wide": "mlp.fc1",
            "feed_forward.narrow": "mlp.fc2", "attention.out": "attn.proj", "norm_1": "norm1",
            "norm_2": "norm2", "scale_1.scale": "ls1.gamma", "scale_2.scale": "ls2.gamma",
        }  # fmt: skip
        if ".query." in name:
            rows = [state[name.replace("query", part)] for part in ("query", "key", "value")]
            theirs[name.replace("attention.query", "attn.qkv")] = torch.cat(rows)
        elif not any(
            part in name for part in ("cls", "positions", ".key.", ".value.", "registers")
        ):
            for ours, their in parts.items():
                name = name.replace(ours, their)
            theirs[name] = value
    return theirs


def torchvision_names(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    theirs = {}
    for name, value in timm_names(state).items():
        parts = {
            "patch_embed.proj": "conv_proj", "blocks.": "encoder.layers.encoder_layer_",
            "norm1": "ln_1", "norm2": "ln_2", "attn.qkv.": "self_attention.in_proj_",
            "attn.proj": "self_attention.out_proj", "mlp.fc1": "mlp.0", "mlp.fc2": "mlp.3",
            "cls_token": "class_token", "pos_embed": "encoder.pos_embedding",
            "head.": "heads.head.",
        }  # fmt: skip
        for ours, their in parts.items():
            name = name.replace(ours, their, 1)
        name = "encoder.ln." + name.removeprefix("norm.") if name.startswith("norm.") else name
        if "mask_token" not in name and "gamma" not in name:
            theirs[name] = value
    return theirs


@pytest.mark.parametrize(
    ("names", "scale"), [(timm_names, 0.3), (timm_names, None), (torchvision_names, None)]
)
def test_published_names_are_translated_key_by_key(names, scale) -> None:
    torch.manual_seed(0)
    model = ViT(replace(TINY, layer_scale=scale))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    found = translate(names(model.state_dict()))
    expected = model.state_dict()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)


def test_an_unknown_key_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match=r"layer1\.0\.conv1\.weight is no weight of a ViT"):
        translate({"layer1.0.conv1.weight": torch.zeros(1)})


@pytest.fixture
def small(monkeypatch):
    """A tiny "published" model, so that nothing large is made."""
    published = replace(PUBLISHED["dino_vits8"], config=TINY)
    monkeypatch.setitem(PUBLISHED, "dino_vits8", published)
    return published.address.rsplit("/", 1)[1]


def test_a_cached_checkpoint_is_loaded_and_watched(small, tmp_path) -> None:
    torch.manual_seed(0)
    model = ViT(TINY).eval()
    torch.save(timm_names(model.state_dict()), tmp_path / small)
    images = pictures(2, 2, 20, 20)
    torch.testing.assert_close(fetch("dino_vits8", tmp_path)(images), model(images))
    (tmp_path / small).write_bytes(b"another file")
    with pytest.raises(FetchError, match="damaged or another edition"):
        fetch("dino_vits8", tmp_path)


def test_without_a_network_there_is_one_sentence(small, tmp_path, monkeypatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(FetchError, match=r"no network.*published\.dinov2\(\)"):
        fetch("dino_vits8", tmp_path)
    assert not list(tmp_path.iterdir())
