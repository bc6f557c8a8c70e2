"""What the pages take from installed packages and the library, so that none asks the network."""

import base64
import importlib.util
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from fontTools import subset

from coursekit.errors import CourseError
from coursekit.project import Project

# Latin with accents, Greek, punctuation, arrows, mathematics.
LETTERS = ((0x20, 0x17F), (0x370, 0x3FF), (0x2010, 0x205E), (0x20AC, 0x20AC), (0x2190, 0x22FF))
FONTS = ("regular", "italic", "semibold", "semibolditalic")


def package_folder(module: str, package: str) -> Path:
    """The folder of an installed package that carries files we copy."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise CourseError(
            f"The package {package} is not installed, and the pages are made with its files; "
            f'install the tools with: pip install -e ".[test]" (or: pip install {package})'
        )
    return Path(next(iter(spec.submodule_search_locations)))


def copy_mathjax(target: Path) -> None:
    """MathJax 3 in parts: what reads TeX, what sets it, its fonts, and words for screen readers.

    Its ready-made bundles hold a menu as well, 0.4 MB that no page shows.
    """
    source = package_folder("sphinx-mathjax-offline", "sphinx-mathjax-offline") / "static/mathjax"
    for part in (
        "startup.js",
        "core.js",
        "input/tex.js",
        "output/chtml.js",
        "output/chtml/fonts/tex.js",
        "a11y/assistive-mml.js",
        "ui/lazy.js",
        "output/chtml/fonts/woff-v2",
        "input/tex/extensions",
    ):
        _copy(source / part, target / part)


def copy_reveal(target: Path) -> None:
    """reveal.js 5: the player, the theme `white` with its fonts, and the speaker's view."""
    source = package_folder("sphinx_revealjs", "sphinx-revealjs") / "_static/revealjs"
    for part in ("LICENSE", "dist/reset.css", "dist/reveal.css", "dist/reveal.js",
                 "dist/theme/white.css", "plugin/notes/notes.js"):  # fmt: skip
        _copy(source / part, target / part)
    copy_fonts(target / "dist/theme/fonts/source-sans-pro")
    source /= "dist/theme/fonts/source-sans-pro/source-sans-pro.css"
    _copy(source, target / "dist/theme/fonts/source-sans-pro/source-sans-pro.css")


def copy_fonts(target: Path) -> None:
    """Source Sans Pro (SIL Open Font License), which reveal.js carries, cut down to our letters.

    About a third of the bytes. A character that is missing comes from the reader's own fonts.
    """
    root = package_folder("sphinx_revealjs", "sphinx-revealjs")
    source = root / "_static/revealjs/dist/theme/fonts/source-sans-pro"
    _copy(source / "LICENSE", target / "LICENSE")
    options = subset.Options(flavor="woff", notdef_outline=True)
    options.drop_tables += ["FFTM", "webf"]  # notes of the tools that made it
    for name in (f"source-sans-pro-{font}.woff" for font in FONTS):
        if (target / name).exists():
            continue
        font = subset.load_font(str(source / name), options)
        cut = subset.Subsetter(options)
        cut.populate(unicodes=[code for first, last in LETTERS for code in range(first, last + 1)])
        cut.subset(font)
        subset.save_font(font, str(target / name), options)


def fonts_style(folder: Path) -> str:
    """The fonts as a style sheet that holds them. A font that comes after the text was set makes
    every line break anew, and the page jump; one inside a style sheet is there before it.
    """
    rules = []
    for name in FONTS:
        weight = "600 700" if "semibold" in name else "400"
        style = "italic" if "italic" in name else "normal"
        data = base64.b64encode((folder / f"source-sans-pro-{name}.woff").read_bytes()).decode()
        rules.append(
            f'@font-face {{ font-family: "Source Sans Pro"; font-weight: {weight}; '
            f"font-style: {style}; font-display: block; "
            f'src: url("data:font/woff;base64,{data}") format("woff"); }}\n'
        )
    return "".join(rules)


def write_widgets(project: Project, folder: Path) -> list[str]:
    """The scripts and style that bring live figures to life without a kernel; their names."""
    if str(project.src) not in sys.path:
        sys.path.insert(0, str(project.src))
    from attnlab.widgets.static_page import write_assets

    return write_assets(folder)


def widgets_head(html: str, folder: str) -> str:
    """The lines for the <head> of a page with these live figures; their files are in `folder`."""
    from attnlab.widgets.static_page import head

    return head(html, folder)


def write_heavy(pages: Iterable[Path], folder: Path) -> list[Path]:
    """Put what live figures of these pages load on request beside their scripts: heavy weights, and
    plotly.js.

    `folder` is the one that has `live/`. What no page names any more is removed.
    """
    from attnlab.widgets import plotly_figure, weights

    texts = [page.read_text(encoding="utf-8") for page in pages]
    plotly_figure.write_plotly(texts, folder)
    names = {name for text in texts for name in weights.named(text)}
    written = weights.write_parts(folder, sorted(names))
    for old in (folder / weights.FOLDER).glob("*.js"):
        if old not in written:
            old.unlink()
    return written


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a folder, only what is not there yet: mtimes keep Sphinx from rebuilding."""
    if not source.exists():
        raise CourseError(f"{source}: missing; the package that carries it has changed its layout.")
    files = [p for p in source.rglob("*") if p.is_file()] if source.is_dir() else [source]
    for file in files:
        place = target / file.relative_to(source) if source.is_dir() else target
        if not place.exists() or place.stat().st_size != file.stat().st_size:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
