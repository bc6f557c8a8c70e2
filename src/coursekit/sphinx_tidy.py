"""A small Sphinx extension: each page loads what it uses, and nothing that is useless offline.

Jupyter Book puts Thebe on every page (cells that run on a remote server), twice; here it goes.
A page gets the scripts of the live figures it has, and MathJax only if it has a formula.
"""

import html
import re
from typing import Any

from sphinx.application import Sphinx

from attnlab.widgets.static_page import FOLDER, needed

# The theme's icons are in the page from the start. Looking for more in every formula that MathJax
# sets took a third of the time until a long chapter was ready.
ICONS = "window.FontAwesomeConfig = { observeMutations: false };"
# A long chapter has hundreds of formulas. Those in sight are set first (MathJax's ui/lazy), so that
# figures answer sooner; the rest as soon as the browser has nothing better to do.
FORMULAS = """
window.addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  const idle = window.requestIdleCallback ?? setTimeout;
  idle(() => window.MathJax?.startup?.document?.lazyTypesetAll?.());
});
"""
# Text waits for its fonts, which are in a style sheet and come at once; if not, not for long. Set
# in another font first, every line would break anew before the reader's eyes. The figures of
# the first screen are waited for as well: not every browser knows blocking="render" (see book.py).
FIRST_PAINT = """
{
  const { classList } = document.documentElement;
  classList.add("course-setting");
  const fonts = ["", "600 ", "italic "].map((kind) => `${kind}16px "Source Sans Pro"`);
  const letters = Promise.allSettled(fonts.map((font) => document.fonts.load(font)));
  const figures = new Promise((done) => {
    const look = () => {
      const figures = [...document.querySelectorAll("[data-widget]")];
      const first = figures.filter((place) => place.getBoundingClientRect().top < innerHeight);
      const dead = first.some((place) => !/yes|failed/.test(place.dataset.mounted));
      if (dead || document.readyState === "loading") requestAnimationFrame(look);
      else done();
    };
    look();
  });
  const atMost = (soon, ms) => Promise.race([soon, new Promise((late) => setTimeout(late, ms))]);
  Promise.all([atMost(letters, 600), atMost(figures, 1500)])
    .then(() => classList.remove("course-setting"));
}
"""
# A name for the arrows of the side bar; and paper is white, whatever the screen is.
FRAME = """
window.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll("nav summary")) {
    const name = arrow.closest("li")?.querySelector("a")?.textContent.trim();
    arrow.setAttribute("aria-label", `Pages of ${name ?? "this chapter"}`);
  }
});
{
  const { dataset } = document.documentElement;
  let seen;
  window.addEventListener("beforeprint", () => { seen = dataset.theme; dataset.theme = "light"; });
  window.addEventListener("afterprint", () => { dataset.theme = seen; });
}
"""
# Every fold has words of its own, which this would hide from a screen reader.
SAME_NAME = ' aria-label="Toggle hidden content"'
# Names, punctuation and spaces have the colour of plain code: their 60 % of all spans can go.
PLAIN_CODE = re.compile(r'<span class="[npw]">([^<]*)</span>')
# What a phone has to know: how narrow a plot may be (its letters keep about 10 pixels), and which
# cells of a table hold a sentence, which must not break after every word.
PLOT = re.compile(
    r' width="(\d+)" height="\d+" data-smallest="([\d.]+)" data-ground="\w+" style="'
)  # as Picture writes it
LETTERS = 10.0
CELL = re.compile(r'<td(?: class="([^"]*)")?>(?=(.*?)</td>)', re.DOTALL)
NO_WORDS = re.compile(r'<span class="math[^>]*>.*?</span>|<[^>]*>', re.DOTALL)
SENTENCE = 20  # letters
# A browser may break a line between a formula and the comma after it, or the bracket before it.
BESIDE = re.compile(
    r'(\(?)(<span class="math notranslate nohighlight">\\\([^<]*\\\)</span>)([,.;:?!)’]*)'
)
THEBE_BODY = re.compile(
    r'\s*<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName = [^<]*</script>',
    re.DOTALL,
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this. The priority is late: after everybody has added their files."""
    app.add_config_value("course_descriptions", {}, "html")
    app.add_config_value("course_tools", "", "html")  # pages are rebuilt when these tools change
    scripts = ICONS + FIRST_PAINT + FORMULAS + FRAME
    app.connect("builder-inited", lambda app: app.add_js_file(None, body=scripts))
    app.connect("html-page-context", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def tidy(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Filter the scripts and styles of one page, and say what it is about."""
    body = PLAIN_CODE.sub(r"\1", THEBE_BODY.sub("", context.get("body", "")))
    context["body"] = body = for_phones(body.replace(SAME_NAME, ""))
    if page in app.builder.relations:  # type: ignore[attr-defined]
        context["prev"], context["next"] = (_neighbour(app, page, step) for step in (1, 2))
    if words := app.config.course_descriptions.get(page):
        tag = f'<meta name="description" content="{html.escape(words)}">'
        context["metatags"] = context.get("metatags", "") + tag
    figures = needed(body)
    formulas = 'class="math' in body
    for key in ("script_files", "css_files"):
        kept: list[Any] = []
        inline: set[str] = set()
        for file in context.get(key, []):
            name = str(getattr(file, "filename", file) or "")
            text = str(getattr(file, "attributes", {}).get("body") or "")
            if "thebe" in (name + text).lower():
                continue
            if f"/{FOLDER}/" in name and not _wanted(name, figures):
                continue
            if "mathjax" in name and not formulas:
                continue
            if text and text in inline:
                continue
            inline.add(text)
            kept.append(file)
        context[key] = kept


def for_phones(body: str) -> str:
    """With the marks by which the style sheet knows what may shrink, and where no line breaks."""

    def plot(found: re.Match[str]) -> str:
        width, smallest = int(found[1]), float(found[2])
        least = min(width, round(LETTERS / smallest * width)) if smallest else 0
        return f"{found[0]}--least: {least}px; "

    def cell(found: re.Match[str]) -> str:
        words = html.unescape(NO_WORDS.sub("", found[2])).strip()
        if len(words) < SENTENCE or " " not in words:
            return found[0]
        return f'<td class="{f"{found[1]} " if found[1] else ""}course-words">'

    def together(found: re.Match[str]) -> str:
        beside = found[1] or found[3]
        return f'<span class="course-together">{found[0]}</span>' if beside else found[0]

    return BESIDE.sub(together, CELL.sub(cell, PLOT.sub(plot, body)))


def _neighbour(app: Sphinx, page: str, step: int) -> dict[str, str] | None:
    """The chapter before (1) or after (2): a chapter's GPU exercise is a card on its own page."""
    relations = app.builder.relations  # type: ignore[attr-defined]
    other = relations[page][step]
    while other and other.startswith("gpu_"):
        other = relations[other][step]
    if other is None:
        return None
    title = app.builder.render_partial(app.env.titles[other])["title"]  # type: ignore[attr-defined]
    return {"link": app.builder.get_relative_uri(page, other), "title": title}


def _wanted(name: str, figures: list[str]) -> bool:
    """Whether a file of the live figures is one of these scripts; any of them needs the style."""
    return bool(figures) if name.endswith(".css") else name.partition("_static/")[2] in figures
