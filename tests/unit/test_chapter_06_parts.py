"""What chapter 6 draws and rewires: the machine, the translation view, other wirings."""

import re
from pathlib import Path

import pytest
import torch

from attnlab.data import Batch
from attnlab.inside.bertviz_translation import translation_view
from attnlab.inside.rewired import Rewired
from attnlab.models.transformer import Config, Transformer
from attnlab.reproducible import seed
from attnlab.widgets.machine import PARTS, machine

CHAPTER = Path(__file__).parents[2] / "notebooks" / "06_transformer.py"
SIZES = {"words": 11, "source_words": 9, "width": 8, "heads": 2, "layers": 3}


def pair(source: int = 5, target: int = 4, size: int = 1) -> Batch:
    numbers, said = torch.randint(4, 9, (size, source)), torch.randint(4, 11, (size, target + 1))
    lengths = torch.full((size,), source)
    return Batch(
        source=numbers, source_lengths=lengths, target_in=said[:, :-1], target_out=said[:, 1:]
    )


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_the_machine_can_be_lit(part: str) -> None:
    assert set(machine(part).lit) == set(PARTS[part])


def test_the_chapter_lights_every_part_once_where_it_is_built() -> None:
    calls = re.findall(r'machine\(\s*((?:"[^"]+",\s*)+)', CHAPTER.read_text(encoding="utf-8"))
    lit = [part for call in calls for part in re.findall(r'"([^"]+)"', call)]
    assert sorted(lit) == sorted(PARTS)


def test_the_machine_carries_counts_where_they_are_given() -> None:
    assert "12,345" in machine(counts={"self": "12,345"}).picture
    assert "12,345" not in machine().picture


def test_reading_the_last_block_is_the_transformer_itself() -> None:
    seed(0)
    model, batch = Transformer(Config(**SIZES)), pair(size=2)
    same = Rewired(Config(**SIZES), reads=[2, 2, 2])
    same.load_state_dict(model.state_dict())
    torch.testing.assert_close(same(batch), model(batch))


def test_a_block_that_nobody_reads_has_no_say() -> None:
    seed(0)
    model, batch = Rewired(Config(**SIZES), reads=[0, 0, 1]), pair(size=2)
    before = model(batch)
    for weight in model.encoder.layers[2].parameters():
        weight.data.zero_()
    torch.testing.assert_close(model(batch), before)
    for weight in model.encoder.layers[1].parameters():
        weight.data.zero_()
    assert (model(batch) - before).abs().max() > 1e-3


def test_a_wiring_must_fit() -> None:
    with pytest.raises(ValueError, match="each of the 3 decoder blocks"):
        Rewired(Config(**SIZES), reads=[0, 3, 0])


def test_the_view_has_all_three_attentions_and_no_script_of_a_token() -> None:
    seed(0)
    model = Transformer(Config(**SIZES))
    words = ["a", "b", "c", "d", "</script><script>"]
    view = translation_view(model, pair(), source=words, target=["w", "x", "y", "z"])
    for name in ("Encoder", "Decoder", "Cross"):
        assert f'"name":"{name}"' in view.document
    assert '</script><script>"' not in view.document
    with pytest.raises(ValueError, match="for 3 words"):
        translation_view(model, pair(), source=words[:3], target=["w", "x", "y", "z"])
