"""The Transformer that the course ships keeps its bars: BLEU, alignment, size."""

import pytest

from attnlab import assets
from attnlab.data.english_french import EnglishFrench
from attnlab.translator import Translator


@pytest.fixture(scope="module")
def shipped() -> Translator:
    return Translator.shipped("transformer")


def test_it_translates(shipped):
    """The bar itself, on the 400 sentences of 3 to 32 words that the training script asks."""
    assert shipped.bleu(EnglishFrench(longest=32).take(400, "test")) >= 99.5


def test_one_head_aligns(shipped):
    """The bar is 0.05; it was 0.0187 when trained."""
    assert shipped.aer(EnglishFrench(longest=32).take(400, "test")) <= 0.03


def test_it_fits_on_a_page(shipped):
    assert assets.find("weights/transformer.safetensors").stat().st_size <= 1_100_000
    config = shipped.model.config
    assert (config.width, config.heads, config.layers, config.norm) == (64, 4, 2, "pre")
