"""A bare page of our own, with some live figures."""

from pathlib import Path

from attnlab.widgets import static_page, weights
from attnlab.widgets.base import LiveFigure
from attnlab.widgets.plotly_figure import write_plotly


def write_page(folder: Path, *figures: LiveFigure, models: bool = False) -> str:
    """Write folder/page.html, with the weights its figures name if asked; returns its address."""
    static_page.write_assets(folder)
    body = "\n".join(figure.to_html() for figure in figures)
    write_plotly([body], folder)
    if models:
        weights.write_parts(folder, weights.named(body))
    path = folder / "page.html"
    path.write_text(
        '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Figures</title>'
        f"{static_page.head(body)}<body>{body}</body></html>",
        encoding="utf-8",
    )
    return path.as_uri()
