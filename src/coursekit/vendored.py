"""What the pages take from installed packages and the library, so that none asks the network."""

import importlib.util
import shutil
import sys
from pathlib import Path

from coursekit.errors import CourseError
from coursekit.project import Project

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
    """MathJax 3: the TeX reader, its extensions and its fonts; 2.2 MB of the package's 24."""
    source = package_folder("sphinx-mathjax-offline", "sphinx-mathjax-offline") / "static/mathjax"
    for part in (
        "tex-chtml.js",
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
    """Source Sans Pro (SIL Open Font License), which reveal.js carries."""
    root = package_folder("sphinx_revealjs", "sphinx-revealjs")
    source = root / "_static/revealjs/dist/theme/fonts/source-sans-pro"
    for name in ("LICENSE", *(f"source-sans-pro-{font}.woff" for font in FONTS)):
        _copy(source / name, target / name)


def write_widgets(project: Project, folder: Path) -> list[str]:
    """The script and style that bring live figures to life without a kernel; their names."""
    if str(project.src) not in sys.path:
        sys.path.insert(0, str(project.src))
    from attnlab.widgets.static_page import write_assets

    return write_assets(folder)


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
