"""A certificate for the capstone: a page of your own, to print. It never leaves your machine.

    certificate({"C.1": my_rms_norm, …, "C.9": my_model}, story=told)

Every part is checked again. If all of them hold, `certificate.html` is written into the
working folder: one file, no outside scripts, no network. You type your name into the page itself.
"""

import datetime
import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>attnlab: your own model</title>
<meta name="viewport" content="width=device-width">
<style>
@page {{ size: A4 landscape; margin: 12mm; }}
body {{ margin: 0; padding: 1.1rem; background: #fff; color: #1b1f24; text-align: center;
  font: 18px/1.5 Georgia, "Times New Roman", serif; }}
main {{ max-width: 54rem; margin: auto; padding: 1.6rem; border: 3px double #46607e; }}
h1 {{ margin: 0 0 .4rem; font-size: 2rem; font-weight: 600; }}
input {{ width: 80%; border: 0; border-bottom: 2px solid #46607e; background: transparent;
  color: inherit; font: 1.7rem Georgia, serif; text-align: center; }}
input:focus-visible {{ outline: 3px solid #1f6feb; outline-offset: 3px; }}
ul {{ list-style: none; margin: 1rem 0; padding: 0; columns: 3 12rem; font-size: 1rem; }}
blockquote {{ margin: 1rem auto; max-width: 44rem; font-style: italic; font-size: 1rem; }}
button {{ font: inherit; padding: .4rem 1.2rem; }}
@media print {{ button {{ display: none; }} body {{ padding: 0; }} }}
</style></head><body><main>
<h1>I wrote my own language model</h1>
<p><input aria-label="Your name" placeholder="your name" value="{name}" maxlength="80"></p>
<p>put these parts together, loaded the published weights of stories15M,
and told its story token for token.</p>
<ul>{parts}</ul>
<blockquote>{story}</blockquote>
<p>attnlab · {date}</p>
<button type="button" onclick="print()">Print</button>
</main></body></html>
"""


@dataclass(frozen=True)
class Certificate:
    """The page that was written; a notebook shows it."""

    path: Path
    page: str

    def __repr__(self) -> str:
        return f"{self.path}: type your name into it, and print it."

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="Your certificate" srcdoc="{html.escape(self.page)}" '
            'sandbox="allow-scripts allow-modals" '
            'style="width:100%;height:clamp(36rem,98rem - 140vw,72rem);border:0;background:#fff">'
            "</iframe>"
        )


def certificate(
    parts: Mapping[str, Callable[..., Any]],
    *,
    story: str = "",
    name: str = "",
    folder: Path = Path(),
    date: datetime.date | None = None,
) -> Certificate | None:
    """Check every part again; write the page if all hold, else say which one does not."""
    from attnlab.checks import exercises

    known = {id: one for id, one in exercises().items() if id.startswith("C.")}
    for id, exercise in sorted(known.items()):
        if id not in parts:
            print(f'{id} · {exercise.title} is missing: add "{id}" to the parts.')
            return None
        if not exercise.judge(parts[id]):
            print(f"{id} · {exercise.title} does not hold yet: run its check to see why.")
            return None
    page = PAGE.format(
        name=html.escape(name),
        parts="".join(f"<li>✓ {html.escape(one.title)}</li>" for one in known.values()),
        story=html.escape(story),
        date=(date or datetime.date.today()).isoformat(),
    )
    return Certificate(_written(folder, page), page)


def _written(folder: Path, page: str) -> Path:
    """certificate.html, or certificate (2).html: an existing file is not overwritten."""
    path, number = folder / "certificate.html", 1
    while path.exists() and path.read_text(encoding="utf-8") != page:
        number += 1
        path = folder / f"certificate ({number}).html"
    path.write_text(page, encoding="utf-8")
    return path
