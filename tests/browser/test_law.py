"""One law from weight to colour: the pixels of every kind of map, and of the printed one."""

import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import Page

from attnlab import figures, palette
from attnlab.widgets import CaptionStepper
from attnlab.widgets.diagram import Diagram, Matrix
from attnlab.widgets.linker import parts_of, text_of
from tests.browser.live import Live, settle
from tests.browser.twins import kinds

Weights = Any  # rows of weights, or one row
Drawn = tuple[Weights, float]  # and the weight that has the full colour


def of_a_map(said: dict[str, Any], _: dict[str, Any]) -> Drawn:
    return said["weights"], 1.0


def by_the_largest(name: str) -> Callable[[dict[str, Any], dict[str, Any]], Drawn]:
    """Weights spread over many tokens are pale by 0 … 1: the largest has the full colour."""
    return lambda said, _: ([said[name]], max(said[name]))


def of_a_table(said: dict[str, Any], now: dict[str, Any]) -> Drawn:
    """The table of a diagram that holds weights."""
    laws = now["drawing"]["tables"]
    name = next(one for one in said["tables"] if laws[one]["law"] == "weights")
    return said["tables"][name], laws[name]["scale"]


# Where each kind says which weights it draws. A kind that takes a colour from the law and is not
# here is found by a test below.
DRAWN: dict[str, Callable[[dict[str, Any], dict[str, Any]], Drawn]] = {
    "alignment_explorer": of_a_map,
    "attention_heatmap": of_a_map,
    "attention_workbench": of_a_map,
    "browser_translator": of_a_map,
    "diagram": of_a_table,
    "dino_explorer": by_the_largest("map"),
    "head_grid": of_a_map,
    "patch_attention": by_the_largest("map"),
    "pronouncer": of_a_map,
    "story_teller": by_the_largest("weights"),
    "transformer_stepper": lambda said, now: (
        said["maps"][now["block"]][now["layer"]][now["head"]],
        1.0,
    ),
}
# It lays a veil over a picture, and has a test of its own.
VEILED = {"caption_stepper"}
SHARED = {"palette", "kit", "map", "chart"}  # they hold the law; who calls them is asked
SIZE = 256  # colours of a ramp


def law(weights: np.ndarray, theme: str, largest: float = 1.0) -> np.ndarray:
    """The colours of weights, (N,) -> (N, 3), as the palette says."""
    stops = np.array(
        [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in palette.ramp("weights", theme)]
    )
    marks = np.linspace(0, 1, len(stops))
    places = np.array([palette.weight_place(float(w), largest) for w in weights])
    steps = np.round(places * (SIZE - 1)) / (SIZE - 1)
    return np.stack([np.interp(steps, marks, stops[:, c]) for c in range(3)], axis=-1)


def unpainted(
    weights: Weights, png: bytes, theme: str = "light", largest: float = 1.0
) -> list[float]:
    """The weights whose colour is nowhere in the picture."""
    flat = np.unique(np.concatenate([np.ravel(row) for row in weights]).astype(float).round(6))
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float).reshape(-1, 3)
    seen = np.unique(picture, axis=0)
    far = np.abs(law(flat, theme, largest)[:, None] - seen[None]).max(-1).min(-1)  # (weights,)
    return [float(w) for w, off in zip(flat, far, strict=True) if off > 2 and w > 0]


@pytest.mark.parametrize("theme", palette.THEMES)
@pytest.mark.parametrize("kind", sorted(DRAWN))
def test_live_maps_are_painted_by_the_law(
    kind: str, theme: str, made_page: Callable[..., Page]
) -> None:
    page = made_page(weighing() if kind == "diagram" else kinds()[kind].examples()[0])
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    settle(page)
    live = Live(page.locator("[data-widget]"))
    weights, largest = DRAWN[kind](live.numbers(), live.state())
    assert len(weights), f"{kind} draws no map"
    assert not unpainted(weights, live.pixels(), theme, largest)


# A diagram writes its numbers, or says in words what is drawn.
@pytest.mark.parametrize("kind", sorted({*DRAWN} - {"diagram"}))
def test_the_legend_says_the_law(kind: str, made_page: Callable[..., Page]) -> None:
    """In words, or by ticks on the ramp that stand where the law puts them."""
    place = made_page(kinds()[kind].examples()[0]).locator("[data-widget]")
    ticks = place.locator(".al-ticks span").evaluate_all(
        "all => all.map((one) => [Number(one.textContent), parseFloat(one.style.left) / 100])"
    )
    if ticks:
        assert len(ticks) > 2
        assert all(left == pytest.approx(palette.weight_place(w), abs=0.01) for w, left in ticks)
    else:
        assert re.search("square root of the weight|colour by √", place.inner_text()), kind


def weighing() -> Diagram:
    """A diagram with a table of weights."""
    return Diagram([Matrix("a", "A", values=[[1.0, 0.0], [0.3, 0.7], [0.015, 0.985]], cell=40)])


def test_a_veil_is_thin_by_the_law(made_page: Callable[..., Page]) -> None:
    """Over a white picture, what is left of the white says how thick the veil is."""
    weights = torch.tensor([[0.5, 0.3], [0.15, 0.05]])
    white = np.full((48, 48, 3), 255, dtype=np.uint8)
    scene = {"picture": white, "words": ["cat"], "weights": weights[None]}
    live = Live(made_page(CaptionStepper([scene])).locator("[data-widget]"))
    live.page.wait_for_timeout(200)  # the picture is decoded
    seen = np.unique(
        np.asarray(Image.open(io.BytesIO(live.pixels())).convert("RGB"), float).reshape(-1, 3),
        axis=0,
    )
    for weight in weights.flatten().tolist():
        veil = 0.76 * (1 - palette.weight_place(weight, 0.5))
        wanted = 255 * (1 - veil) + np.array([10, 12, 20]) * veil
        assert np.abs(seen - wanted).max(-1).min() <= 2, (weight, wanted)


def test_every_kind_that_paints_weights_is_tried() -> None:
    """By what its files call: the law itself, a colour by it, or the painter of maps."""
    law_used = re.compile(r"weightPlace\(|theme\.weight\(|\bpaintWeights\(|from \"\./map\.js\"")
    for kind in kinds():
        files = [part for part in parts_of(kind) if part not in SHARED]
        if any(law_used.search(text_of(part)) for part in files if not part.endswith(".json")):
            assert kind in {*DRAWN, *VEILED}, f"{kind} paints weights, and no test looks at them"


def test_printed_maps_are_painted_by_the_law() -> None:
    weights = np.array([[1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [0.015, 0.085, 0.9]])
    fig, ax = plt.subplots(figsize=(4, 4))
    figures.heatmap(ax, weights, rows=list("abc"), columns=list("abc"), law="weights")
    page = io.BytesIO()
    fig.savefig(page, format="png")
    plt.close(fig)
    assert not unpainted(weights, page.getvalue())


def test_a_wrong_law_is_noticed() -> None:
    """Evenly instead of by the root, as maps elsewhere are."""
    weights = np.array([[0.3, 0.7]])
    even = np.repeat(law(weights.ravel() ** 2, "light")[None], 4, axis=0).round().astype(np.uint8)
    page = io.BytesIO()
    Image.fromarray(even).save(page, format="png")
    assert unpainted(weights, page.getvalue()) == [0.3, 0.7]
