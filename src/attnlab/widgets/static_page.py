"""Writes the scripts and the style that bring live figures to life on static pages and slides.

Each ES module becomes a classic script that hands itself over as a part (see `linker.py`);
`mount.js` joins the parts. A page loads what its own figures are made of, and no more.
"""

import re
from pathlib import Path

from attnlab import palette
from attnlab.widgets.linker import STATIC, parts_of, script, text_of

FOLDER = "live"  # beside the page: all scripts, and the style
MOUNT, STYLE = f"{FOLDER}/mount.js", f"{FOLDER}/figures.css"
_ALONE = ("linker", "mount")  # what joins the parts is not one itself


def figures() -> list[str]:
    """The names of all live figures: the files in `static/` that export how to render."""
    names = (path.stem for path in STATIC.glob("*.js"))
    return sorted(name for name in names if "\nexport default { render" in text_of(name))


def scripts() -> dict[str, str]:
    """The text of every script, by its file name; what mounts the figures is the last."""
    parts = [path.stem for path in STATIC.glob("*.js") if path.stem not in _ALONE]
    parts += [path.name for path in STATIC.glob("*.json")]
    made = {f"{FOLDER}/{part}.js": script(part) for part in sorted(parts)}
    return {**made, MOUNT: f"(() => {{\n{text_of('linker')}\n{text_of('mount')}}})();\n"}


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
    """The palette and the shared style first, then each figure's own."""
    own = sorted(path for path in STATIC.glob("*.css") if path.stem != "kit")
    texts = [path.read_text(encoding="utf-8") for path in [STATIC / "kit.css", *own]]
    return palette.css() + "\n".join(texts)


def write_assets(directory: Path) -> list[str]:
    """Write `live/` into `directory`; return the names of its files, in the order of loading."""
    files = {STYLE: style(), **scripts()}
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)
