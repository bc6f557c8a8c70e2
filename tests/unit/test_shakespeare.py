"""Tiny Shakespeare as the course carries it, and the log of the five sizes trained on it."""

import pytest
import torch

from attnlab.data import shakespeare


def test_text_and_letters():
    assert len(shakespeare.text()) == 1_115_394
    assert len(shakespeare.vocabulary()) == 65 + 4
    assert shakespeare.text().startswith("First Citizen:\nBefore we proceed")


def test_windows_are_stretches_of_the_training_part():
    batch = next(shakespeare.windows(length=20, size=3, seed=1))
    assert batch.shape == (3, 21)
    train = shakespeare.text()[: int(len(shakespeare.text()) * 0.9)]
    words = shakespeare.vocabulary().words
    for row in batch.tolist():
        assert "".join(words[i] for i in row) in train
    assert torch.equal(batch, next(shakespeare.windows(length=20, size=3, seed=1)))
    assert not torch.equal(batch, next(shakespeare.windows(length=20, size=3, seed=2)))


def test_held_out_is_held_out():
    rows = shakespeare.held_out(30, count=7)
    assert rows.shape == (7, 31)
    words = shakespeare.vocabulary().words
    cut = int(len(shakespeare.text()) * 0.9)
    for row in rows.tolist():
        assert "".join(words[i] for i in row) in shakespeare.text()[cut:]


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match="'train' and 'valid'"):
        next(shakespeare.windows("test", length=5, size=2))
    with pytest.raises(ValueError, match="length 1"):
        next(shakespeare.windows(length=0, size=2))
    with pytest.raises(ValueError, match="size must be 1"):
        next(shakespeare.windows(length=5, size=0))
