"""One law from weight to colour: the pixels of every kind of map, and of the printed one."""

import io
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from attnlab import figures, palette
from tests.browser.live import Live, settle
from tests.browser.twins import kinds

# Where each kind says which weights it draws.
DRAWN: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "alignment_explorer": lambda said, _: said["weights"],
    "attention_heatmap": lambda said, _: said["weights"],
    "attention_workbench": lambda said, _: said["weights"],
    "browser_translator": lambda said, _: said["weights"],
    "head_grid": lambda said, _: said["weights"],
    "pronouncer": lambda said, _: said["weights"],
    "transformer_stepper": lambda said, now: said["maps"][now["block"]][now["layer"]][now["head"]],
}
SIZE = 256  # colours of a ramp


def law(weights: np.ndarray, theme: str) -> np.ndarray:
    """The colours of weights, (N,) -> (N, 3), as the palette says."""
    stops = np.array(
        [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in palette.ramp("weights", theme)]
    )
    marks = np.linspace(0, 1, len(stops))
    places = np.array([palette.weight_place(float(w)) for w in weights])
    steps = np.round(places * (SIZE - 1)) / (SIZE - 1)
    return np.stack([np.interp(steps, marks, stops[:, c]) for c in range(3)], axis=-1)


def unpainted(weights: Any, png: bytes, theme: str = "light") -> list[float]:
    """The weights whose colour is nowhere in the picture."""
    flat = np.unique(np.concatenate([np.ravel(row) for row in weights]).astype(float).round(6))
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float).reshape(-1, 3)
    seen = np.unique(picture, axis=0)
    far = np.abs(law(flat, theme)[:, None] - seen[None]).max(-1).min(-1)  # (weights,)
    return [float(w) for w, off in zip(flat, far, strict=True) if off > 2 and w > 0]


@pytest.mark.parametrize("theme", palette.THEMES)
@pytest.mark.parametrize("kind", sorted(DRAWN))
def test_live_maps_are_painted_by_the_law(
    kind: str, theme: str, made_page: Callable[..., Page]
) -> None:
    page = made_page(kinds()[kind].examples()[0])
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    settle(page)
    live = Live(page.locator("[data-widget]"))
    weights = DRAWN[kind](live.numbers(), live.state())
    assert len(weights), f"{kind} draws no map"
    assert not unpainted(weights, live.pixels(), theme)


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
