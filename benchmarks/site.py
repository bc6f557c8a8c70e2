"""How soon a page of the website can be used, and how much it loads, in a headless Chromium.

    python -m benchmarks.site

Ready: every live figure is mounted and every formula set. Bar: 2 s from a server on this machine.
Weight: all that the page loads, as it lies on the disk, without the theme's own scripts and styles
and Sphinx's search. Bar: 2.5 MB. Trained models that figures run in the page are counted apart, and
have a bar of their own: 1.5 MB. plotly.js, which
comes when its figure is near, is counted with the theme. A web host sends text compressed; that
number is printed as well.
"""

import gzip
import re
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page, sync_playwright

from tests.browser import chromium
from tests.browser.live import READY
from tests.browser.serving import serving

SITE = Path(__file__).parents[1] / "build" / "site"
READY_BAR, WEIGHT_BAR, MODELS_BAR = 2.0, 2.5, 1.5  # seconds, MB, MB
# MB. Chapter 8 has every weight of every head of a real model, to be clicked.
HEAVIER = {"08_vit_dino": 4.0}
# The figures whose state is the weights of a model.
MODELS = re.compile(
    r'<div data-widget="(?:browser_translator|pronouncer|transformer_stepper)">.*?</script></div>',
    re.DOTALL,
)
WAIT = f"""async () => {{
  const ready = {READY};
  while (!(await ready())) await new Promise(requestAnimationFrame);
  return performance.now();
}}"""
COMPRESSED = {".html", ".js", ".css", ".svg", ".json"}
THEME = (
    "sphinx",
    "pydata_sphinx_theme",
    "sphinx_book_theme",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_thebe",
    "sphinx_togglebutton",
    "myst_nb",
)


@dataclass(frozen=True)
class Load:
    """One visit: seconds until ready; megabytes on the disk without models, of models, of both
    compressed, of the theme.
    """

    seconds: float
    ours: float
    models: float
    compressed: float
    theme: float


def theme_files() -> set[str]:
    """The names, under _static/, of all that Sphinx, the theme and its extensions bring."""
    packages = Path(sysconfig.get_path("purelib"))
    found = {"documentation_options.js", "language_data.js", "pygments.css"}  # written by Sphinx
    for static in (folder for name in THEME for folder in (packages / name).rglob("*static")):
        found |= {p.relative_to(static).as_posix() for p in static.rglob("*") if p.is_file()}
    return {name.removesuffix(".jinja").removesuffix("_t") for name in found}


def visit(page: Page, url: str) -> Load:
    """Open a page, with nothing in the cache, and weigh what it asks for."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(unquote(urlsplit(request.url).path)))
    page.goto(url, wait_until="commit")
    ready = page.evaluate(WAIT)
    page.wait_for_load_state("networkidle")
    theme = theme_files()
    sizes = {"ours": 0, "models": 0, "compressed": 0, "theme": 0}
    for path in set(asked):
        file = SITE / path.removeprefix("/").removeprefix("site/")
        if not file.is_file():
            continue  # a module the page made itself (blob:)
        _, mark, name = path.partition("/_static/")
        if file.name in ("searchindex.js", "plotly.js") or (
            mark and (name in theme or name.startswith("mystnb."))
        ):
            sizes["theme"] += file.stat().st_size
        else:
            models = weight_of_models(file) if file.suffix == ".html" else 0
            sizes["models"] += models
            sizes["ours"] += file.stat().st_size - models
            sizes["compressed"] += sent(file)
    return Load(ready / 1000, *(size / 1e6 for size in sizes.values()))


def weight_of_models(page: Path) -> int:
    return sum(len(found.encode()) for found in MODELS.findall(page.read_text(encoding="utf-8")))


def crowding(seconds: float = 0.3) -> float:
    """How many times as long as alone a computation takes now, because others compute too."""
    start, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < seconds:
        pass
    return (time.perf_counter() - start) / seconds


def sent(file: Path) -> int:
    """Bytes on the wire: a web host compresses text, and leaves pictures and fonts."""
    data = file.read_bytes()
    return len(gzip.compress(data, 6)) if file.suffix in COMPRESSED else len(data)


def weight_bar(name: str) -> float:
    """What a page may weigh, in MB, without the models it carries."""
    return HEAVIER.get(name, WEIGHT_BAR)


def main() -> bool:
    """Print each page's load with its verdict; are the bars held on all of them?"""
    if not (SITE / "index.html").is_file():
        raise SystemExit("The website is not built: run make book.")
    broken = 0
    with serving(SITE) as address, sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        for file in sorted(SITE.glob("*.html")):
            if "data-widget" not in file.read_text(encoding="utf-8"):
                continue
            loads = []
            for _ in range(3):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                loads.append(visit(page, f"{address}/{file.name}"))
                page.close()
            best = min(loads, key=lambda load: load.seconds)
            light = best.ours < weight_bar(file.stem) and best.models < MODELS_BAR
            held = best.seconds < READY_BAR and light
            broken += not held
            print(
                f"{file.name}: ready after {best.seconds:.2f} s (bar {READY_BAR:.0f} s), "
                f"{best.ours:.2f} MB (bar {weight_bar(file.stem)} MB) and "
                f"{best.models:.2f} MB of models "
                f"(bar {MODELS_BAR} MB), together {best.compressed:.2f} MB compressed, "
                f"and {best.theme:.2f} MB of theme; {'held' if held else 'BROKEN'}"
            )
        browser.close()
    return not broken


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
