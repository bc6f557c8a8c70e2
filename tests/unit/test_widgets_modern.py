"""The figures of chapter 10: what they take and what they refuse."""

import json

import pytest

from attnlab import assets
from attnlab.layers.cache import cache_bytes
from attnlab.widgets import KVCacheCalculator, LadderExplorer, OnlineSoftmax
from attnlab.widgets.base import STATIC, FigureError
from attnlab.widgets.kv_cache import PRESETS


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(scores=[1.0], values=[1.0, 2.0], block=1), "2 values for 1 scores"),
        (dict(scores=[1.0, 2.0], values=[1.0, 2.0], block=3), "there are 2 keys"),
        (dict(scores=[99.0, 2.0], values=[1.0, 2.0]), "from −50 to 50"),
        (dict(scores=[1.0, 2.0], values=[1.0, 2.0], step=9), "number of blocks"),
    ],
)
def test_online_softmax_refuses(given, words) -> None:
    with pytest.raises(FigureError, match=words):
        OnlineSoftmax(**given)


def test_presets_are_those_of_the_page() -> None:
    script = (STATIC / "kv_cache.js").read_text(encoding="utf-8")
    for name, sizes in PRESETS.items():
        assert f'"{name}": {list(sizes)}' in script or f"{name}: {list(sizes)}" in script
        figure = KVCacheCalculator(name)
        assert (figure.layers, figure.context) == (sizes[0], sizes[4])


def test_llama_2_70b_needs_an_eighth_of_its_multi_head_twin() -> None:
    layers, heads, kv_heads, width, context = PRESETS["Llama 2 70B"]
    sizes = [
        cache_bytes(layers=layers, kv_heads=n, head_width=width, context=context, item=2)
        for n in (heads, kv_heads)
    ]
    assert sizes == [10 * 2**30, 10 * 2**27]


def test_calculator_refuses_what_cannot_be_shared() -> None:
    with pytest.raises(FigureError, match="cannot share 3"):
        KVCacheCalculator("Llama 3 8B", kv_heads=3)
    with pytest.raises(FigureError, match="no preset"):
        KVCacheCalculator("Llama 9")


def test_the_ladder_that_is_shipped_can_be_explored() -> None:
    ladder = json.loads(assets.find("data/ladder.json").read_text(encoding="utf-8"))
    rungs = {name: rung for name, rung in ladder.items() if rung["kind"] != "sweep"}
    figure = LadderExplorer(rungs)
    assert figure.curves.shape[:2] == (21, 3)
    with pytest.raises(FigureError, match="first is 21"):
        LadderExplorer(rungs, first=21)
    with pytest.raises(FigureError, match="empty"):
        LadderExplorer({})
