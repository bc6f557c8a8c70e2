"""The online extra: GPT-2 on our blocks, equal to the reference; offline, one clear sentence."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from attnlab.inside import online
from attnlab.models import gpt2
from attnlab.models.transformer import Config
from attnlab.record import one_text, record

SMALL = Config(
    words=60, width=24, heads=3, layers=2, norm="pre", positions="learned", longest=12,
    activation="gelu_tanh",
)  # fmt: skip
NUMBERS = torch.tensor([[5, 59, 0, 17, 17], [1, 2, 3, 4, 5]])


@pytest.fixture(scope="module")
def reference():
    """A small GPT-2 of `transformers`, with random weights of a visible size."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"vocab_size": 60, "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 12}
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(**sizes, attn_implementation="eager")).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def published(reference) -> dict[str, torch.Tensor]:
    """As the file on the net: without the prefix, with its masks, without the tied matrix."""
    state = reference.transformer.state_dict()
    masks = {f"h.{n}.attn.bias": torch.ones(1, 1, 12, 12).tril() for n in range(2)}
    return {name: one.contiguous() for name, one in (state | masks).items()}


def test_it_equals_transformers_in_logits_and_all_maps(reference) -> None:
    ours = gpt2.Gpt2(SMALL)
    ours.load_state_dict(gpt2.translate(published(reference)))
    with torch.no_grad():
        theirs = reference(NUMBERS, output_attentions=True)
        torch.testing.assert_close(ours(NUMBERS), theirs.logits, atol=1e-5, rtol=1e-5)
        with record(ours) as maps:
            ours(NUMBERS)
    for mine, other in zip(maps.values(), theirs.attentions, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=0)
    assert not torch.allclose(theirs.attentions[0], theirs.attentions[1], atol=1e-2)


def test_names_of_a_whole_language_model_are_read_too(reference) -> None:
    bare, whole = published(reference), reference.state_dict()
    assert any(name.startswith("transformer.") for name in whole)
    first, second = gpt2.translate(bare), gpt2.translate(whole)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_published_sizes_are_gpt2s() -> None:
    with torch.device("meta"):
        model = gpt2.Gpt2(gpt2.CONFIG)
    assert sum(p.numel() for p in model.parameters()) == 124_439_808


@pytest.fixture
def kept(reference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds a small model and its tokenizer, as if fetched before."""
    words = {"The": 5, "Ġcat": 6, "Ġsat": 7}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "post_processor": None, "decoder": None,
        "pre_tokenizer": {
            "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True
        },
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "The"},
    }  # fmt: skip
    (tmp_path / "gpt2-tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    save_file(published(reference), tmp_path / "gpt2-model.safetensors")
    monkeypatch.setattr(gpt2, "CONFIG", SMALL)
    monkeypatch.setattr(gpt2, "SHA256", dict.fromkeys(gpt2.SHA256))
    monkeypatch.setattr(gpt2, "cache_folder", lambda: tmp_path)
    gpt2.gpt2.cache_clear()
    yield tmp_path
    gpt2.gpt2.cache_clear()


def test_a_decoder_gives_tokens_and_maps(kept: Path) -> None:
    tokens, found = online.decoder_maps("The cat sat")
    assert tokens == ["The", " cat", " sat"]
    weights = one_text(found)
    assert weights.shape == (2, 3, 3, 3)
    assert torch.equal(weights, weights.tril())


def test_another_file_is_noticed(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gpt2.SHA256, "model.safetensors", "248dfc39")
    with pytest.raises(online.OfflineError, match="damaged or another edition"):
        online.decoder_maps("The cat sat")


def test_offline_is_one_clear_sentence(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpt2, "ADDRESS", "http://127.0.0.1:9/")  # nobody listens there
    (kept / "gpt2-model.safetensors").unlink()
    with pytest.raises(online.OfflineError, match="connect to the Internet") as caught:
        online.decoder_maps("Hello")
    assert "\n" not in str(caught.value)
    assert not (kept / "gpt2-model.safetensors.part").exists()
