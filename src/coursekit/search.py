"""The website's search: it answers with sections, and searches words, not code.

Sphinx's own knows pages only, and finds a word in every cell that happens to use it as a name. Its
page stays; the index and the script it loads are ours. Both are classic scripts, so that search
works from a USB stick too.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PageElement

SCRIPT = Path(__file__).parent / "templates" / "search" / "searchtools.js"
# Not words of the course: code, what it prints, the state of figures, marks of the theme.
SKIPPED = "pre, script, style, .cell_input, a.headerlink, .course-buttons, button, svg"
HINTS = "details:not(.deeper)"  # they would answer exercises
FOLDS = "details.deeper[id]"  # *Dig deeper*: sections with a title of their own
INLINE = {"a", "b", "bdi", "code", "em", "i", "span", "strong", "sub", "sup"}  # no gap beside them
# How a short formula is said in a line of plain text; a longer one is an ellipsis.
SIGNS = {
    "alpha": "α", "tau": "τ", "theta": "θ", "beta": "β", "sigma": "σ", "lambda": "λ",
    "cdot": "·", "times": "×", "top": "ᵀ", "le": "≤", "ge": "≥", "to": "→", "approx": "≈",
    "infty": "∞", "dots": "…", "ldots": "…", "sqrt": "√", "softmax": "softmax",
}  # fmt: skip
LONGEST = 24  # letters of a formula that is shown


def write_search(site: Path, pages: list[str]) -> None:
    """Put our index of these pages, and the script that reads it, where search.html looks."""
    found = [section for page in pages for section in sections(site / f"{page}.html")]
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    (site / "searchindex.js").write_text(f"Search.setIndex({text});\n", encoding="utf-8")
    shutil.copyfile(SCRIPT, site / "_static" / "searchtools.js")


def sections(path: Path) -> Iterator[dict[str, Any]]:
    """Every section of a page: its address, the page's title, its own title, its own words."""
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    article = page.select_one("article.bd-article")
    if article is None:
        return
    for gone in article.select(f"{SKIPPED}, {HINTS}"):
        gone.decompose()
    for formula in article.select(".math"):
        formula.string = spoken(formula.get_text())
    heading = article.find("h1")
    name = _words(heading) if isinstance(heading, Tag) else path.stem
    for section in article.select(f"section, {FOLDS}"):
        title = section.find(["h1", "h2", "h3", "h4", "summary"], recursive=False)
        if not isinstance(title, Tag):
            continue
        below = section.select(f":scope > section, :scope > {FOLDS}")
        own = [child for child in section.find_all(recursive=False) if child not in below]
        body = " ".join(_words(child) for child in own if child is not title)
        yield {
            "page": path.name, "id": section.get("id"), "chapter": name, "title": _words(title),
            "text": body.strip(),
        }  # fmt: skip


def spoken(tex: str) -> str:
    """A formula as plain text, where that can be read; or else an ellipsis."""
    text = re.sub(r"^\s*(\\[(\[])|(\\[)\]])\s*$", "", tex.strip())
    text = re.sub(r"\\(?:mathbf|mathrm|text|operatorname)\b", "", text)
    text = re.sub(r"([_^])\{([^{}]*[-+][^{}]*)\}", r"\1(\2)", text)
    text = re.sub(r"\\([a-z]+)", lambda sign: SIGNS.get(sign[1], sign[0]), text)
    text = re.sub(r"\\[,;!]", " ", text).replace("{", "").replace("}", "")
    text = re.sub(r"\^\s*ᵀ", "ᵀ", text)
    return "…" if "\\" in text or len(text) > LONGEST else " ".join(text.split())


def _words(tag: Tag) -> str:
    return " ".join(_text(tag).split())


def _text(node: PageElement) -> str:
    """What a reader sees of it, with gaps beside everything that is not within a line."""
    if not isinstance(node, Tag):
        return str(node) if type(node) is NavigableString else ""  # comments are not
    inside = "".join(map(_text, node.children))
    return inside if node.name in INLINE else f" {inside} "
