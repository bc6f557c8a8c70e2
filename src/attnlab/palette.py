"""The one set of colours: printed figures, live figures and diagrams all read `palette.json`.

    palette.colour("query")                # "#005299": what it stands for names it, not its hue
    palette.colour("query", "dark")        # the same sense on a dark page
    palette.weight_place(0.25)             # 0.5: the one law from an attention weight to the ramp

In a live figure the same names are CSS variables (`var(--al-query)`) and, on a canvas,
`figure.theme.colour("query")`; see `widgets/static/palette.js`. A new sense (a model, a part, a
sign) gets a line under "roles" in `widgets/static/palette.json`, and has its colour everywhere.

Three laws take a number to a colour, and every legend says which one it is:

    weights   0 … 1 (or the largest)   √(w / largest) on "weights": 1/64 can be told from 0
    signed    −limit … limit           v / limit on "signed": orange below 0, blue above
    amounts   low … high               evenly on "weights"

The hues are after Okabe & Ito 2008, which people with any kind of colour vision can tell apart,
each at least 3 to 1 on its page. Ramps are monotone in lightness, so they also read in grey; the
two ends of "signed" differ in lightness for the same reason.
"""

import json
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "widgets" / "static" / "palette.json"
THEMES = ("light", "dark")


@cache
def read() -> dict[str, Any]:
    """The file: surfaces, inks and two ramps for each theme, and what has which ink."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def colour(name: str, theme: str = "light") -> str:
    """The colour of a sense ("query"), an ink ("blue") or a surface ("text"), as #rrggbb."""
    table, roles = read()[theme], read()["roles"]
    known = {**table["surfaces"], **table["inks"]}
    ink = roles.get(name, name)
    if ink not in known:
        raise KeyError(
            f"no colour is called {name!r}: take one of {', '.join([*roles, *known])}, "
            f"or give it an ink under roles in {FILE.name}."
        )
    return str(known[ink])


def inks(theme: str = "light") -> dict[str, str]:
    """The hues by name, in the order in which lines of a plot take them."""
    return dict(read()[theme]["inks"])


def ramp(name: str, theme: str = "light") -> list[str]:
    """The evenly spaced stops of "weights" or "signed"."""
    return list(read()[theme][name])


def on_ramp(name: str, place: float, theme: str = "light") -> tuple[int, int, int]:
    """The colour at a position, 0 … 1, on a ramp: red, green and blue, 0 … 255."""
    stops = ramp(name, theme)
    at = min(1.0, max(0.0, place)) * (len(stops) - 1)
    low = min(len(stops) - 2, int(at))
    one, two = ([int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[low : low + 2])
    red, green, blue = (round(a + (at - low) * (b - a)) for a, b in zip(one, two, strict=True))
    return red, green, blue


def weight_place(weight: float, largest: float = 1.0) -> float:
    """Where on the ramp an attention weight has its colour: √(weight / largest), in [0, 1]."""
    return sqrt(min(1.0, max(0.0, weight / largest)))


def law_of(low: float, high: float) -> str:
    """The law that fits numbers from `low` to `high`, where nobody names one."""
    if low < 0:
        return "signed"
    return "weights" if high <= 1 + 1e-6 else "amounts"


def ink_on(red: float, green: float, blue: float) -> str:
    """Black or white, whichever can be read on a colour (channels 0 … 1; contrast as in WCAG)."""
    channels = (red, green, blue)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    bright = sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "black" if bright > 0.179 else "white"


def css() -> str:
    """The palette as CSS variables of a live figure: --al-text, --al-blue, --al-query …"""
    rules = []
    for theme in THEMES:
        names = [*read()[theme]["surfaces"], *read()[theme]["inks"], *read()["roles"]]
        scope = ".al-figure" if theme == "light" else '.al-figure[data-theme="dark"]'
        said = (f"--al-{name.replace(' ', '-')}: {colour(name, theme)};" for name in names)
        rules.append(f"{scope} {{ {' '.join(said)} }}")
    return "\n".join(rules) + "\n"
