"""bertviz's head view and model view, without a network and without race conditions.

    with record(encoder) as maps:
        encoder(numbers)
    head_view(maps, tokens, layer=2)
    model_view(maps, tokens)

bertviz (Vig 2019, arXiv:1906.05714) loads its libraries from the Web and writes tokens into a
script as they are. Here its own drawing code runs inside a frame of its own:

- d3 and jQuery are in the frame; they come from the packages mpld3 and XStatic-jQuery. A content
  policy forbids the frame every request.
- `sandbox="allow-scripts"` without allow-same-origin: nothing that happens inside reaches the page.
- `<` is escaped in everything that goes into the script, so a token `</script>` stays a token.
"""

import html
import importlib.util
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from torch import Tensor

from attnlab.record import Maps, one_text

MOST = 64  # tokens; a longer list would be a picture of lines
DIGITS = 3  # a weight of 0.0004 is invisible, and every digit has to travel
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
# What bertviz calls as if require.js were there. Our libraries are: the callback runs at once.
REQUIRE = "const require = {config() {}}, requirejs = (names, run) => run(jQuery, d3);"
# model_view.js draws 970 pixels wide, wider than a page's column: let the browser scale it.
FIT = """{ const drawing = document.querySelector("#vis svg");
const [wide, high] = ["width", "height"].map((side) => drawing.getAttribute(side));
drawing.setAttribute("viewBox", `0 0 ${wide} ${high}`);
drawing.style.cssText = "width: 100%; min-width: 560px; height: auto"; }"""
# head_view.js draws words alike in any frame: enlarge it to the height of its frame. Its own 15
# pixels are less than its lines of 22.5 have room for, and small on a slide.
LETTERS = 18.5
GROW = """{ const fit = () => { const [wide, high] = [innerWidth / 351, innerHeight / NATURAL];
document.documentElement.style.zoom = Math.max(1, Math.min(wide, high)); };
addEventListener("resize", fit); fit(); }"""
LARGER = 1.3  # how much larger than bertviz draws it
LIBRARIES = {
    "d3": ("mpld3", "js/d3.v5.min.js", "mpld3"),
    "jquery": ("xstatic.pkg.jquery", "data/jquery.slim.min.js", "XStatic-jQuery"),
}


class View:
    """A view to display: HTML where there is HTML, and one line where there is not."""

    def __init__(
        self, document: str, *, height: int, title: str, width: int = 0, least: int = 0,
        caption: str = "",
    ) -> None:  # fmt: skip
        self.document, self.height, self.title, self.width = document, height, title, width
        self.least, self.caption = least, caption

    def __repr__(self) -> str:
        return f"bertviz: {self.title}"

    def _repr_html_(self) -> str:
        # In an attribute only the quote around it and the ampersand can do harm: take the rarer.
        inside = self.document.replace("&", "&amp;")
        double = inside.count('"') <= inside.count("'")
        quote, word = ('"', "&quot;") if double else ("'", "&#39;")
        inside = inside.replace(quote, word)
        size = f"height: {self.height}px"
        if self.least:  # where the frame is narrow the drawing cannot grow, nor should the frame
            size = f"height: clamp({self.least}px, 95vw, {self.height}px)"
        if self.width:  # the drawing scales with the page, and so does its frame
            size = f"max-width: {self.width}px; aspect-ratio: {self.width} / {self.height}"
        words = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return (
            '<figure style="margin: 1em 0">'
            f'<iframe sandbox="allow-scripts" loading="lazy" title="{html.escape(self.title)}" '
            'style="width: 100%; border: 1px solid #8888; border-radius: 6px; background: white; '
            f'{size}" srcdoc={quote}{inside}{quote}></iframe>{words}</figure>'
        )


def head_view(
    maps: Maps | Tensor,
    tokens: Sequence[str],
    *,
    layer: int = 0,
    heads: Sequence[int] | None = None,
    layers: Sequence[int] | None = None,
    caption: str = "",
) -> View:
    """One layer, all its heads in colours: hover over a word, click a colour, double-click for one.

    `layer` and `heads` are shown first; `layers` says which ones are included (all, unless given).
    """
    attentions = one_text(maps)
    chosen = _check(attentions, tokens, layers)
    if layer not in chosen:
        raise ValueError(f"layer {layer} is not among the layers {chosen}: add it to `layers`.")
    count = attentions.shape[1]
    if heads is not None and not all(0 <= head < count for head in heads):
        raise ValueError(f"heads {list(heads)} were asked for, but they go from 0 to {count - 1}.")
    params = {
        **_params(attentions, tokens, chosen),
        "layer": layer,
        "heads": None if heads is None else list(heads),
    }
    menu = '<select id="layer" style="font: inherit"></select>'  # a browser's own is smaller
    body = f'<label>Layer: {menu}</label><div id="vis"></div>'
    # As head_view.js lays it out: 22.5 pixels per token, 30 above, and the drop-down.
    natural = round(22.5 * len(tokens)) + 90
    return View(
        _document("head_view", body, params, "head view", grow=natural),
        height=round(LARGER * natural),
        least=natural,
        title=f"head view of {count} heads on {len(tokens)} tokens",
        caption=caption,
    )


def model_view(
    maps: Maps | Tensor,
    tokens: Sequence[str],
    *,
    layers: Sequence[int] | None = None,
    caption: str = "",
) -> View:
    """All layers and heads as thumbnails: click one to see it large, click again to close it."""
    attentions = one_text(maps)
    chosen = _check(attentions, tokens, layers)
    count = attentions.shape[1]
    params = {
        **_params(attentions, tokens, chosen),
        "display_mode": "light",
        "include_heads": list(range(count)),
        "total_heads": count,
    }
    # As model_view.js lays it out: thumbnails under an axis, or the enlarged one if that is higher.
    thumbnail = len(tokens) * 7 * 12 / count + 10
    tall = max(len(chosen) * thumbnail + 38, len(tokens) * 18 + 55)
    return View(
        _document("model_view", '<div id="vis"></div>', params, "model view"),
        height=round(tall) + 24,
        width=970 + 24,
        title=f"model view of {len(chosen)} layers × {count} heads on {len(tokens)} tokens",
        caption=caption,
    )


def _params(attentions: Tensor, tokens: Sequence[str], layers: list[int]) -> dict[str, Any]:
    """What both of bertviz's scripts read."""
    weights = [[round(x, DIGITS) for x in row] for row in _flat(attentions[layers])]
    length, heads = len(tokens), attentions.shape[1]
    nested = [
        [weights[(n * heads + h) * length : (n * heads + h + 1) * length] for h in range(heads)]
        for n in range(len(layers))
    ]
    words = [str(token)[:200] for token in tokens]
    one = {"name": None, "attn": nested, "left_text": words, "right_text": words}
    return {
        "attention": [one],
        "default_filter": "0",
        "root_div_id": "bertviz",
        "include_layers": layers,
    }


def _flat(attentions: Tensor) -> list[list[float]]:
    """One list for each row of weights: (N·H·L, L)."""
    return attentions.detach().float().cpu().flatten(0, 2).tolist()


def _document(script: str, body: str, params: dict[str, Any], title: str, grow: int = 0) -> str:
    data = json.dumps(params, separators=(",", ":")).replace("<", "\\u003c")
    drawing = _drawing(script).replace("PYTHON_PARAMS", data, 1)
    parts = [library("jquery"), library("d3"), REQUIRE, drawing]
    if grow:
        parts.append(GROW.replace("NATURAL", str(grow)))
    elif script == "model_view":
        parts.append(FIT)
    scripts = "".join(f"<script>{part}</script>" for part in parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<style>body { margin: 8px; background: white; color: black; "
        f"font: {LETTERS}px sans-serif }}</style></head>"
        f'<body><div id="bertviz">{body}</div>{scripts}</body></html>'
    )


@cache
def _drawing(name: str) -> str:
    """bertviz's own script, without the addresses it would load from and its chatter."""
    text = _read("bertviz", f"{name}.js", "bertviz")
    text, found = re.subn(r"require\.config\(\{.*?\}\);", "", text, count=1, flags=re.DOTALL)
    if not found or "PYTHON_PARAMS" not in text or "requirejs([" not in text:
        raise RuntimeError(
            f"{name}.js of bertviz is not the one this course knows: run "
            "`pip install bertviz==1.4.1`."
        )
    text = re.sub(r"console\.log\([^;\n]*\)", "0", text)
    if name == "head_view":
        text = text.replace("const TEXT_SIZE = 15;", f"const TEXT_SIZE = {LETTERS};")
    return text.replace("// HACK: PYTHON_PARAMS is a template marker", "// a template marker")


@cache
def library(name: str) -> str:
    """The text of d3 or jQuery, as it is put in a frame."""
    text = _read(*LIBRARIES[name])
    if "</script" in text.lower():
        raise RuntimeError(f"{name} holds a closing script tag and cannot stand in a page.")
    return text


def _read(module: str, file: str, package: str) -> str:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # the parent of a dotted name is missing
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec else []
    path = Path(places[0]) / file if places else None
    if path is None or not path.is_file():
        raise ImportError(f"the bertviz views need {package}: run `pip install {package}`.")
    return path.read_text(encoding="utf-8")


def _check(attentions: Tensor, tokens: Sequence[str], layers: Sequence[int] | None) -> list[int]:
    if isinstance(tokens, str):
        raise ValueError("tokens is one string: give a list, one token each.")
    size = len(tokens)
    if attentions.dim() != 4 or attentions.shape[-2:] != (size, size):
        raise ValueError(
            f"attentions have shape {tuple(attentions.shape)} for {size} tokens, but (layers, "
            "heads, tokens, tokens) is expected: give the maps and the tokens of one text."
        )
    if not 0 < size <= MOST:
        raise ValueError(
            f"{size} tokens were given, but a view draws 1 to {MOST}: choose a shorter text."
        )
    if not bool(attentions.isfinite().all()):
        raise ValueError("attentions hold NaN or infinity, and cannot be drawn.")
    chosen = list(range(len(attentions))) if layers is None else [int(n) for n in layers]
    if not chosen or not all(0 <= n < len(attentions) for n in chosen):
        raise ValueError(f"layers {chosen} were asked for; there are 0 to {len(attentions) - 1}.")
    return chosen
