"""A small drawing for each chapter's card on the landing page: the chapter's idea in one glance.

Drawn on a sheet of 48 × 48, in the colours of the page, so that they are right in the dark too.
"""

from collections.abc import Callable, Iterable

INK = "var(--pst-color-primary)"
SECOND = "var(--course-accent)"
FAINT = "var(--course-line)"


def _box(x: float, y: float, w: float, h: float, fill: str = INK, share: float = 1.0) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="1.5" fill="{fill}"'
        f' fill-opacity="{share:g}"/>'
    )


def _dot(x: float, y: float, fill: str = INK, r: float = 3) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" fill="{fill}"/>'


def _line(path: str, stroke: str = INK, width: float = 2, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width:g}"{dashed}/>'


def _map(rows: Iterable[Iterable[float]], x: float, y: float, cell: float) -> str:
    """A small attention map: the darker, the more weight."""
    return "".join(
        _box(x + j * cell, y + i * cell, cell - 0.8, cell - 0.8, INK, 0.08 + 0.92 * weight)
        for i, row in enumerate(rows)
        for j, weight in enumerate(row)
    )


def _vectors() -> str:
    near = [(10, 12), (16, 8), (15, 17), (22, 13)]
    far = [(30, 33), (37, 29), (40, 38), (33, 41)]
    return "".join([*(_dot(*p) for p in near), *(_dot(*p, SECOND) for p in far)])


def _chain() -> str:
    boxes = "".join(_box(2 + 12 * i, 18, 8, 12, INK, 1 - 0.22 * i) for i in range(4))
    return boxes + "".join(_line(f"M{10 + 12 * i} 24h4", SECOND) for i in range(3))


def _alignment() -> str:
    order = [0, 1, 3, 2, 4]
    return _map([[1.0 if j == to else 0.05 for j in range(5)] for to in order], 4, 4, 8)


def _self_attention() -> str:
    rows = [[0.6, 0.1, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1], [0.05, 0.1, 0.2, 0.65], [0.1, 0.8, 0, 0.1]]
    return _map(rows, 4, 4, 10)


def _heads() -> str:
    diagonal = [[float(i == j) for j in range(3)] for i in range(3)]
    before = [[float(j == max(0, i - 1)) for j in range(3)] for i in range(3)]
    first = [[float(j == 0) for j in range(3)] for _ in range(3)]
    even = [[0.35] * 3 for _ in range(3)]
    places = [(3, 3), (26, 3), (3, 26), (26, 26)]
    return "".join(
        _map(rows, *place, 6.5)
        for rows, place in zip((diagonal, before, first, even), places, strict=True)
    )


def _waves() -> str:
    slow = _line("M3 12q10.5 -16 21 0t21 0", INK, 2.4)
    middle = _line("M3 26q5.25 -12 10.5 0t10.5 0t10.5 0t10.5 0", SECOND, 2.4)
    return slow + middle + _line("M3 40" + "q2.6 -9 5.25 0t5.25 0" * 4, INK, 1.8)


def _transformer() -> str:
    left = "".join(_box(5, 8 + 12 * i, 14, 8) for i in range(3))
    right = "".join(_box(29, 4 + 11 * i, 14, 7, SECOND) for i in range(4))
    return left + right + _line("M19 12h5v14h5", FAINT, 2)


def _families() -> str:
    trunk = _line("M24 46V30M24 30L10 14M24 30V12M24 30L38 14", FAINT, 3)
    return trunk + _dot(10, 11, INK, 5) + _dot(24, 8, SECOND, 5) + _dot(38, 11, INK, 5)


def _patches() -> str:
    lit = {(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)}
    return _map([[0.9 if (i, j) in lit else 0.1 for j in range(5)] for i in range(5)], 4, 4, 8)


def _windows() -> str:
    cells = _map([[0.25] * 6] * 6, 3, 3, 7)
    shifted = "M13.5 3v42M34.5 3v42M3 13.5h42M3 34.5h42"
    return (
        cells + _line("M3 3h42v42h-42zM24 3v42M3 24h42", INK, 2) + _line(shifted, SECOND, 2, "4 3")
    )


def _modern() -> str:
    axes = _line("M5 4v39h40", FAINT, 2)
    return axes + _line("M7 8q8 22 36 25", SECOND, 2.6) + _line("M7 10q5 28 36 30", INK, 2.6)


def _star() -> str:
    points = "24,3 30,18 46,19 34,29 38,45 24,36 10,45 14,29 2,19 18,18"
    return f'<polygon points="{points}" fill="{SECOND}"/>'


DRAWN: dict[str, Callable[[], str]] = {
    "0": _vectors, "1": _chain, "2": _alignment, "3": _self_attention, "4": _heads, "5": _waves,
    "6": _transformer, "7": _families, "8": _patches, "9": _windows, "10": _modern,
}  # fmt: skip


def mark(label: str) -> str:
    """The drawing of a chapter, by its number; a star for what has none."""
    inside = DRAWN.get(label, _star)()
    picture = f'<svg viewBox="0 0 48 48" aria-hidden="true">{inside}</svg>'
    return f'<figure class="card-mark">{picture}</figure>'
