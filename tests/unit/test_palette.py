"""One palette: every colour can be seen on its page, and nothing is coloured past it."""

import re
from pathlib import Path

import numpy as np
import pytest

from attnlab import palette
from attnlab.widgets.linker import STATIC

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
# Colours by order, and maps of matplotlib's own: the same model would look another in each plot.
STRANGE = r"""colou?r=f?["']C[\d{]|["']tab\d+|cmap=["'](?!weights|signed|gray)\w+"""
HEX = r"#[0-9a-fA-F]{3,8}\b"


def luminance(colour: str) -> float:
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", palette.THEMES)
def test_every_ink_stands_out_from_the_page(theme: str) -> None:
    page = palette.colour("bg", theme)
    assert len(set(palette.inks(theme).values())) == 7
    # Sky and orange are the lightest; 2.4 to 1 is where two hues of seven can still be told apart.
    assert all(contrast(ink, page) >= 2.4 for ink in palette.inks(theme).values())
    for name in ("text", "muted", "accent", "good", "bad"):
        assert contrast(palette.colour(name, theme), page) >= 4.5, name


@pytest.mark.parametrize("theme", palette.THEMES)
def test_ramps_read_in_grey(theme: str) -> None:
    weights = [luminance(stop) for stop in palette.ramp("weights", theme)]
    assert weights == sorted(weights, reverse=theme == "light")
    signed = palette.ramp("signed", theme)
    middle = len(signed) // 2
    assert signed[middle] == palette.ramp("weights", theme)[0], "0 looks as no weight does"
    for half in (signed[middle::-1], signed[middle:]):
        light = [luminance(stop) for stop in half]
        assert light == sorted(light, reverse=theme == "light")
    assert contrast(signed[0], signed[-1]) > 1.5, "the signs differ without their hues, too"


def test_a_sense_has_one_colour_everywhere() -> None:
    assert palette.colour("query") == palette.inks()["blue"] != palette.colour("query", "dark")
    style = palette.css()
    assert f"--al-query: {palette.colour('query')};" in style
    assert f"--al-fixed-context: {palette.colour('fixed context', 'dark')};" in style
    with pytest.raises(KeyError, match="no colour is called 'mauve': take one of positive, "):
        palette.colour("mauve")


def test_the_law_of_weights() -> None:
    assert [palette.weight_place(w) for w in (0, 0.25, 1, 2, -1)] == [0, 0.5, 1, 1, 0]
    assert palette.weight_place(0.05, largest=0.2) == 0.5


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.[cj]s*")), ids=lambda path: path.name)
def test_no_live_figure_has_colours_of_its_own(path) -> None:
    if path.name == "palette.json":
        return
    text = re.sub(r"&#\w+;", "", path.read_text(encoding="utf-8"))
    # Black and white lie over pictures and over any colour of a map.
    found = [one for one in re.findall(HEX, text) if not re.fullmatch(r"#(0+|[fF]+)", one)]
    assert found == [], "take them from palette.json: var(--al-blue), figure.theme.colour(…)"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.py")), ids=lambda path: path.stem)
def test_no_chapter_has_colours_of_its_own(path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if not line.startswith("#"))
    found = re.findall(r"""["']#[0-9a-fA-F]{6}["']""", code) + re.findall(STRANGE, code)
    assert found == [], 'take them from attnlab.palette: palette.colour("Swin"), figures.WEIGHTS'
