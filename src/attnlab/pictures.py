"""A drawn figure as a page shows it: few bytes, its size, and words for those who cannot see it.

    Picture(small_png(fig, 144), "Every word looks at itself.", "Look at the diagonal.", (700, 420))

`figures.show` makes them.
"""

import base64
import html
import io
from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image


class Picture:
    """What `show` displays: a figure with alt text, and a line of text where there is no HTML.

    A dark page inverts its lightness and keeps its hues (`data-ground="turns"`), so that a
    picture costs no second copy; one with a photograph in it keeps its white ground.
    """

    def __init__(
        self, data: bytes, alt: str, caption: str, size: tuple[int, int],
        *, smallest: float = 0.0, photograph: bool = False,
    ) -> None:  # fmt: skip
        self.data, self.alt, self.caption, self.size = data, alt, caption, size
        self.smallest, self.photograph = smallest, photograph

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.data).decode("ascii")
        kind = "webp" if self.data.startswith(b"RIFF") else "png"
        words = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        width, height = self.size  # said here, so that a page keeps room before it is decoded
        return (
            '<figure style="margin: 1em 0">'
            f'<img alt="{html.escape(self.alt)}" src="data:image/{kind};base64,{data}"'
            f' width="{width}" height="{height}" data-smallest="{self.smallest:.1f}"'
            f' data-ground="{"stays" if self.photograph else "turns"}"'
            ' style="max-width: 100%; height: auto; background: white">'
            f"{words}</figure>"
        )


def smallest_letters(fig: Figure) -> float:
    """The smallest type in a figure, in pixels at the width it is shown: slides are held to it."""
    texts: list[Any] = [t for t in fig.findobj(Text) if t.get_visible()]
    sizes = [float(text.get_fontsize()) for text in texts if text.get_text().strip()]
    return min(sizes, default=0.0) * 100 / 72


def small_png(fig: Figure, dpi: int) -> bytes:
    """The figure with a set of 256 colours: a third of the bytes, and nobody sees it."""
    return _saved(drawn(fig, dpi).quantize(256), "png", optimize=True)


def smallest_file(fig: Figure, dpi: int, *, photograph: bool = False) -> bytes:
    """The figure for a page, in the lightest of these: a PNG of 256 colours; the same as WebP, a
    fifth lighter as a rule; a `photograph` in all its colours, up to half as light.
    """
    exact = drawn(fig, dpi)
    few = exact.quantize(256)
    tries = [
        _saved(few, "png", optimize=True),
        _saved(few.convert("RGB"), "webp", lossless=True, quality=100, method=4),
    ]
    if photograph:  # of large pixels the exact ones are lighter
        tries.append(_saved(exact, "webp", quality=85, method=6))
    return min(tries, key=len)


def _saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, format=kind, **options)
    return file.getvalue()


def drawn(fig: Figure, dpi: int) -> Image.Image:
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    with Image.open(buffer) as picture:
        return picture.convert("RGB")
