"""Writes the scripts and the style that bring live figures to life on static pages and slides.

Each ES module becomes a classic script that hands over its text; `mount.js` imports them. A page
loads what its own figures are made of, and no more.
"""

import json
import re
from pathlib import Path

from attnlab.widgets.base import STATIC, parts_of

FOLDER = "live"  # beside the page: all scripts, and the style
MOUNT, STYLE = f"{FOLDER}/mount.js", f"{FOLDER}/figures.css"
# Parts that figures import, not figures themselves.
_SHARED = {
    *("kit", "math", "mount", "runtime", "sentence"),
    *("chart", "places"),
    *("alignment_view", "seq2seq_model"),
    *("transformer_model", "transformer_view"),
}


def figures() -> list[str]:
    """The names of all live figures, from the files in `static/`."""
    return sorted(path.stem for path in STATIC.glob("*.js") if path.stem not in _SHARED)


def scripts() -> dict[str, str]:
    """The text of every script, by its file name; what mounts the figures is the last."""
    made = {}
    for path in sorted(STATIC.glob("*.js")):
        text = json.dumps(path.read_text(encoding="utf-8"), ensure_ascii=False)
        made[f"{FOLDER}/{path.name}"] = (
            f"(window.attnlabModules ??= {{}})[{json.dumps(path.stem)}] = {text};\n"
        )
    del made[MOUNT]
    return {**made, MOUNT: (STATIC / "mount.js").read_text(encoding="utf-8")}


def needed(html: str) -> list[str]:
    """The scripts that the live figures in this HTML need, in the order of loading."""
    names = re.findall(r'<div data-widget="(\w+)"', html)
    known = set(figures())  # of any other, mount.js says that it is not there
    parts = dict.fromkeys(part for name in names if name in known for part in parts_of(name))
    return [*(f"{FOLDER}/{part}.js" for part in parts), MOUNT] if names else []


def head(html: str, place: str = ".") -> str:
    """The lines for the <head> of a page with this HTML; `live/` is in the folder `place`."""
    tags = [f'<link rel="stylesheet" href="{place}/{STYLE}">']
    tags += [f'<script defer src="{place}/{name}"></script>' for name in needed(html)]
    return "\n".join(tags)


def style() -> str:
    """The shared style first, then each figure's own."""
    own = sorted(path for path in STATIC.glob("*.css") if path.stem != "kit")
    return "\n".join(path.read_text(encoding="utf-8") for path in [STATIC / "kit.css", *own])


def write_assets(directory: Path) -> list[str]:
    """Write `live/` into `directory`; return the names of its files, in the order of loading."""
    files = {STYLE: style(), **scripts()}
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)
