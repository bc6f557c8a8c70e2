"""The online extra, without a network: one clear sentence; with weights that are fused: another."""

from types import SimpleNamespace

import pytest
import torch

from attnlab.inside import online
from attnlab.record import one_text


class Tokenizer:
    def __call__(self, text: str, return_tensors: str) -> dict[str, torch.Tensor]:
        return {"input_ids": torch.tensor([[5, 6, 7]])}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return ["The", "Ġcat", "Ġsat"]


def test_offline_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online, "_reachable", lambda: False)
    with pytest.raises(online.OfflineError, match="connect to the Internet") as caught:
        online.decoder_maps("Hello", "nobody/has-this-model")
    assert "\n" not in str(caught.value)


def test_an_address_that_does_not_answer_counts_as_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    assert online._reachable() is False


def test_eager_attention_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers

    asked = {}

    def load(name: str, **options: object) -> object:
        asked.update(options)
        return SimpleNamespace(eval=lambda: "a model")

    monkeypatch.setattr(
        transformers.AutoTokenizer, "from_pretrained", lambda name, **options: "a tokenizer"
    )
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", load)
    assert online._load("gpt2") == ("a tokenizer", "a model")
    assert asked["attn_implementation"] == "eager"
    assert asked["local_files_only"] is True, "what was fetched before needs no network"


@pytest.mark.parametrize("weights", [None, (), (None, None)])
def test_weights_that_did_not_come_back_are_noticed(
    weights: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(**_: object) -> object:
        return SimpleNamespace(attentions=weights)

    monkeypatch.setattr(online, "_load", lambda name: (Tokenizer(), model))
    with pytest.raises(RuntimeError, match="no attention weights back"):
        online.decoder_maps("The cat sat")


def test_a_decoder_gives_tokens_and_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    maps = torch.ones(1, 4, 3, 3).tril().softmax(-1)

    def model(**_: object) -> object:
        return SimpleNamespace(attentions=(maps, maps))

    monkeypatch.setattr(online, "_load", lambda name: (Tokenizer(), model))
    tokens, found = online.decoder_maps("The cat sat")
    assert tokens == ["The", " cat", " sat"]
    assert one_text(found).shape == (2, 4, 3, 3)
