"""Swin: equal to a published implementation on the same weights, key by key."""

import pytest
import torch
from torch import Tensor
from transformers import SwinConfig, SwinForImageClassification
from transformers.models.swin.modeling_swin import SwinAttention

from attnlab.models import swin_weights
from attnlab.models.swin import Config, Swin, four_neighbours, swin_t
from attnlab.models.swin_weights import translate
from attnlab.models.vit_weights import FetchError
from attnlab.record import record

SMALL = {"width": 12, "depths": (2, 2), "heads": (2, 3), "window": 3, "classes": 5}


def reference(config: Config, size: int) -> SwinForImageClassification:
    torch.manual_seed(0)
    theirs = SwinForImageClassification(
        SwinConfig(
            image_size=size,
            patch_size=config.patch,
            num_channels=config.channels,
            embed_dim=config.width,
            depths=list(config.depths),
            num_heads=list(config.heads),
            window_size=config.window,
            num_labels=config.classes,
            drop_path_rate=0.0,
            attn_implementation="eager",
        )
    ).eval()
    for parameter in theirs.parameters():  # biases and tables start at 0, which would hide mistakes
        torch.nn.init.normal_(parameter, std=0.1)
    return theirs


def compare(config: Config, pictures: Tensor) -> None:
    theirs = reference(config, 32)
    ours = Swin(config).eval()
    ours.load_state_dict(translate(theirs.state_dict()))
    seen: list[Tensor] = []  # its own output has the last map of each stage only
    for module in theirs.modules():
        if isinstance(module, SwinAttention):
            module.register_forward_hook(lambda module, args, out: seen.append(out[1]))
    with torch.no_grad(), record(ours) as maps:
        logits = ours(pictures)
        expected = theirs(pictures).logits
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
    assert len(maps) == len(seen) == sum(config.depths)
    for own, other in zip(maps.values(), seen, strict=True):
        assert isinstance(own, Tensor)
        torch.testing.assert_close(own.flatten(0, 1), other, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("height", "width"), [(24, 36), (30, 47), (25, 25)])
def test_equal_to_transformers_also_with_padding(height: int, width: int):
    compare(Config(**SMALL), torch.randn(2, 3, height, width))


def test_the_published_swin_t_is_equal():
    compare(swin_t(10), torch.randn(1, 3, 224, 250))


def test_swin_t_has_the_published_number_of_parameters():
    with torch.device("meta"):
        model = Swin(swin_t())
    assert sum(parameter.numel() for parameter in model.parameters()) == 28_288_354


def in_the_papers_names(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our weights as the paper's own code would save them."""
    words = {
        "add_self.norm": "norm1", "add_feed.norm": "norm2", "feed_forward.wide": "mlp.fc1",
        "feed_forward.narrow": "mlp.fc2", "attention.attend.out": "attn.proj",
        "attention.bias.table": "attn.relative_position_bias_table",
    }  # fmt: skip
    theirs: dict[str, Tensor] = {}
    for name, value in ours.items():
        first, _, rest = name.partition(".")
        if first == "stages":
            stage, block, rest = rest.split(".", 2)
            place = f"layers.{stage}.blocks.{block}"
            if ".query." in name:
                parts = [ours[name.replace("query", part)] for part in ("query", "key", "value")]
                theirs[f"{place}.attn.qkv.{rest.rsplit('.')[-1]}"] = torch.cat(parts)
            elif ".key." not in name and ".value." not in name:
                for here, there in words.items():
                    rest = rest.replace(here, there)
                theirs[f"{place}.{rest}"] = value
        elif first == "merges":
            theirs["layers." + rest.replace(".project", ".downsample.reduction").replace(
                ".norm", ".downsample.norm")] = value  # fmt: skip
        else:
            new = {"patches": "patch_embed.proj", "patch_norm": "patch_embed.norm"}
            theirs[f"{new.get(first, first)}.{rest}"] = value
    theirs["layers.0.blocks.1.attn_mask"] = torch.zeros(1)  # saved, but computed from sizes
    theirs["layers.0.blocks.0.attn.relative_position_index"] = torch.zeros(1)
    return theirs


def test_the_papers_own_names_are_known():
    ours = Swin(Config(**SMALL)).state_dict()
    back = translate(in_the_papers_names(ours))
    assert back.keys() == ours.keys()
    assert all(torch.equal(back[name], ours[name]) for name in ours)


def test_files_of_hugging_face_are_known():
    new = reference(Config(**SMALL), 32).state_dict()
    old = {}
    for key, value in new.items():
        for here, there in [
            ("attention.q_proj", "attention.self.query"),
            ("attention.k_proj", "attention.self.key"),
            ("attention.v_proj", "attention.self.value"),
            ("attention.o_proj", "attention.output.dense"),
            ("attention.relative_position_bias.", "attention.self."),
            ("mlp.fc1", "intermediate.dense"), ("mlp.fc2", "output.dense"),
        ]:  # fmt: skip
            key = key.replace(here, there)
        old[key] = value
    assert old.keys() != new.keys()
    assert (
        translate(old).keys() == translate(new).keys() == Swin(Config(**SMALL)).state_dict().keys()
    )


def test_a_foreign_key_is_named():
    with pytest.raises(KeyError, match=r"blocks.0.attn.logit_scale"):
        translate({"layers.0.blocks.0.attn.logit_scale": torch.zeros(1)})


def test_merging_puts_columns_before_rows():
    picture = torch.arange(2 * 4).reshape(1, 2, 4, 1)
    assert four_neighbours(picture)[0, 0].tolist() == [[0, 4, 1, 5], [2, 6, 3, 7]]
    assert four_neighbours(torch.ones(1, 3, 5, 2)).shape == (1, 2, 3, 8)


def test_stages_shrink_the_grid_and_grow_the_width():
    model = Swin(Config(**SMALL))
    shapes = [tuple(x.shape) for x in model.features(torch.randn(2, 3, 24, 40))]
    assert shapes == [(2, 6, 10, 12), (2, 3, 5, 24)]


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="3 depths and 2 heads"):
        Config(classes=2, depths=(1, 1, 1), heads=(1, 2))
    with pytest.raises(ValueError, match="stage 2 is 24 wide"):
        Config(classes=2, width=12, depths=(1, 1), heads=(2, 5))


def test_a_published_file_is_read_and_a_missing_one_is_said(tmp_path, monkeypatch):
    small = Config(**SMALL)
    monkeypatch.setattr(swin_weights, "swin_t", lambda: small)
    ours = Swin(small).state_dict()
    path = tmp_path / swin_weights.ADDRESS.rsplit("/", 1)[1]
    torch.save({"model": in_the_papers_names(ours)}, path)
    found = swin_weights.published_swin_t(tmp_path).state_dict()
    assert all(torch.equal(found[name], ours[name]) for name in ours)
    monkeypatch.setattr(swin_weights, "ADDRESS", "http://127.0.0.1:9/nothing.pth")
    with pytest.raises(FetchError, match="put the file at"):
        swin_weights.published_swin_t(tmp_path)
