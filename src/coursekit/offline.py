"""Holds the promise that a built page asks nothing of the network."""

import re
from html.parser import HTMLParser
from pathlib import Path

from coursekit.errors import CourseError

# What a browser fetches by itself. A plain <a href> waits for a click and is allowed.
FETCHED = {
    "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"),
    "video": ("src", "poster"), "audio": ("src",), "embed": ("src",), "object": ("data",),
    "input": ("src",), "image": ("href", "xlink:href"),
}  # fmt: skip
LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest", "preconnect",
         "dns-prefetch", "apple-touch-icon", "shortcut"}  # fmt: skip
REMOTE = re.compile(r"\s*(https?:)?//", re.IGNORECASE)
CSS_REMOTE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])\s*((?:https?:)?//[^'\")\s]+)", re.I)


class _Sources(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        names = FETCHED.get(tag, ())
        if tag == "link" and LINKS & set((values.get("rel") or "").lower().split()):
            names = ("href",)
        for name in names:
            value = values.get(name)
            if value and REMOTE.match(value):
                self.found.append(f"<{tag} {name}={value[:120]!r}>")
        inside = values.get("srcdoc")
        if tag == "iframe" and inside:  # a whole page in an attribute, with sources of its own
            parser = _Sources()
            parser.feed(inside)
            self.found += [f"in a frame: {what}" for what in parser.found]


def remote_sources(folder: Path) -> list[str]:
    """`file: what` for everything the pages and styles under `folder` would fetch."""
    found = []
    for page in sorted(folder.rglob("*.html")):
        text = page.read_text(encoding="utf-8", errors="replace")
        parser = _Sources()
        parser.feed(text)
        inside = [s for s in re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL)]
        remote = [url for style in inside for url in CSS_REMOTE.findall(style)]
        found += [f"{page.relative_to(folder)}: {what}" for what in (*parser.found, *remote)]
    for sheet in sorted(folder.rglob("*.css")):
        urls = CSS_REMOTE.findall(sheet.read_text(encoding="utf-8", errors="replace"))
        found += [f"{sheet.relative_to(folder)}: {url}" for url in urls]
    return found


def require_offline(folder: Path) -> None:
    """Refuse a site that would ask the network for anything."""
    found = remote_sources(folder)
    if found:
        raise CourseError("These pages would ask the network, and must not:", *found)
