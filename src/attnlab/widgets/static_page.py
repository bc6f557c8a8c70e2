"""Writes the script and the style that bring live figures to life on static pages and slides."""

import json
from pathlib import Path

from attnlab.widgets.base import STATIC, bundle

SCRIPT, STYLE = "attnlab-widgets.js", "attnlab-widgets.css"
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


def script() -> str:
    """`mount.js`, holding the text of every figure's module."""
    sources = json.dumps({name: bundle(name) for name in figures()}, ensure_ascii=False)
    mount = (STATIC / "mount.js").read_text(encoding="utf-8")
    return mount.replace("/* sources */", sources)


def style() -> str:
    """The shared style first, then each figure's own."""
    own = sorted(path for path in STATIC.glob("*.css") if path.stem != "kit")
    return "\n".join(path.read_text(encoding="utf-8") for path in [STATIC / "kit.css", *own])


def write_assets(directory: Path) -> list[str]:
    """Write both files into `directory` and return their names, script first."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SCRIPT).write_text(script(), encoding="utf-8")
    (directory / STYLE).write_text(style(), encoding="utf-8")
    return [SCRIPT, STYLE]
