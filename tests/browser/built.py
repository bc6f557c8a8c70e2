"""Where the built course lies, and which live figures its pages hold."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
SITE = BUILD / "site"
SLIDES = BUILD / "slides"
SCREENSHOTS = BUILD / "screenshots"


@dataclass(frozen=True)
class Spot:
    """Where a live figure stands: a built file, which figure of it, of what kind."""

    file: str
    index: int
    kind: str

    def __str__(self) -> str:
        return f"{Path(self.file).stem}-{self.index}-{self.kind}"


def spots(folder: Path, *, first_of_each_kind: bool = False) -> list[Spot | None]:
    """Every live figure of the built pages; one None where nothing is built, so a test says so."""
    found: list[Spot | None] = []
    for path in sorted(folder.glob("*.html")):
        kinds = re.findall(r'<div data-widget="(\w+)"', path.read_text(encoding="utf-8"))
        for index, kind in enumerate(kinds):
            if not first_of_each_kind or kind not in {s.kind for s in found if s}:
                found.append(Spot(path.name, index, kind))
    return found or [None]


def tries(folder: Path) -> list[tuple[Spot | None, str]]:
    """Every live figure over HTTP, and from the disk the first of each kind.

    A figure is the same module in both; what differs is how it comes to the page, and for that
    other tests open every chapter from the disk.
    """
    every = [(spot, "http") for spot in spots(folder)]
    return every + [(spot, "file") for spot in spots(folder, first_of_each_kind=True)]
