"""Words of a drawing: sub- and superscripts, and how wide they will be.

The figure is laid out before any browser has seen it, so widths come from a table: DejaVu Sans, the
widest of the fonts that readers are likely to have. Where another font is used there is air.
"""

import html
import re
import unicodedata

# Hundredths of the font size, rounded up: the letters that are that wide.
_GROUPS = {
    24: "′",
    28: "'ijl",
    32: " ,.·‘’IJ",
    36: "-/:;\\|f",
    40: "!²³₀₁₂()[]tᵀ",
    44: "r",
    48: '"',
    52: "*_`°–sz∫“”",
    56: "?LνξΓcçεζ",
    60: "FkχPπτvxyγκλ•",
    64: "$0123456789{}βμ√ESbdghnpquüηρσΣ∘TYaoàöäδθeéè",
    68: "AVΔΛKαφψ∑",
    72: "BRXZC",
    76: "HNUΩ∏",
    80: "&DGOQΘΦΨℝ",
    84: "#+<=>^~×÷±ω≈≠≤≥→←↑↓↔⇒⊙⊕⊗−w∞",
    88: "M∈",
    96: "%",
    100: "@—…Wm½",
}
WIDTHS = {letter: width / 100 for width, letters in _GROUPS.items() for letter in letters}
SMALL = 0.74  # a sub- or superscript, of the size of its line
BOLD = 1.12  # how much wider bold letters are
LONGEST = 48  # letters of a line; the rest is in the tooltip

_SCRIPT = re.compile(r"\\([_^\\])|([_^])(?:\{([^{}]*)\}|(\w))")


def pieces(line: str) -> list[tuple[str, int]]:
    """A line in runs of text with their height: 0 normal, 1 above, -1 below.

    `d_k`, `W_{out}`, `K^T` and `x^{(l)}` have a script; a backslash escapes them.
    """
    found: list[tuple[str, int]] = []
    end = 0
    for match in _SCRIPT.finditer(line):
        found.append((line[end : match.start()], 0))
        if match[1]:
            found.append((match[1], 0))
        else:
            text = match[3] if match[3] is not None else match[4]
            found.append((text, 1 if match[2] == "^" else -1))
        end = match.end()
    found.append((line[end:], 0))
    joined: list[tuple[str, int]] = []
    for text, height in found:
        if text and joined and joined[-1][1] == height:
            joined[-1] = (joined[-1][0] + text, height)
        elif text:
            joined.append((text, height))
    return joined


def lines(label: str) -> list[str]:
    """The lines of a label, none of them endless, without characters that XML forbids."""
    clean = "".join(c for c in label if c == "\n" or not unicodedata.category(c).startswith("C"))
    return [_shorten(" ".join(line.split())) for line in clean.split("\n")] if clean else []


def _shorten(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def plain(label: str) -> str:
    """A label for reading aloud: scripts without their marks, one line."""
    text = " ".join(lines(label))
    raised = {"T": "ᵀ", "2": "²", "3": "³"}
    return "".join(raised.get(piece, piece) if high > 0 else piece for piece, high in pieces(text))


def width(line: str, size: float, *, bold: bool = False) -> float:
    """How wide a line can be at most."""
    total = sum(
        sum(_letter(c) for c in text) * (SMALL if height else 1.0) for text, height in pieces(line)
    )
    return total * size * (BOLD if bold else 1.0)


def _letter(letter: str) -> float:
    known = WIDTHS.get(letter)
    if known is not None:
        return known
    if unicodedata.combining(letter):
        return 0.0
    return 1.35 if unicodedata.east_asian_width(letter) in "WF" else 0.8


def escape(text: str) -> str:
    """Text for XML, in an attribute too."""
    return html.escape(text, quote=True)


def tspans(line: str, size: float) -> str:
    """The inside of an SVG text element."""
    return _tspans(line, size)[0]


def drop(line: str, size: float) -> float:
    """How far down what follows this line must go, to be back on the baseline."""
    return -_tspans(line, size)[1]


def _tspans(line: str, size: float) -> tuple[str, float]:
    made, at = "", 0.0
    for text, height in pieces(line):
        want = -0.34 * size * height if height > 0 else -0.22 * size * height
        shift = want - at
        at = want
        if not height and not shift:
            made += escape(text)
            continue
        small = f' font-size="{number(size * SMALL)}"' if height else ""
        made += f'<tspan dy="{number(shift)}"{small}>{escape(text)}</tspan>'
    return made, at


def number(value: float) -> str:
    """A coordinate, as short as a drawing needs it."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
