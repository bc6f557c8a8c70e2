"""Scripts and style sheets as a reader meets them: short lines, functions in one view."""

import re

import pytest

from attnlab.widgets.linker import STATIC
from coursekit.slides import TEMPLATES
from tests.unit.wheels import ROOT

LONGEST_LINE = 120
LONGEST_FUNCTION = 150
BOOK = ROOT / "book/style"
SHEETS = sorted([*STATIC.glob("*.css"), *TEMPLATES.rglob("*.css"), *BOOK.glob("*.css")])
SCRIPTS = sorted([*STATIC.glob("*.js"), *TEMPLATES.rglob("*.js"), *BOOK.glob("*.js")])
PAGES = sorted([*TEMPLATES.rglob("*.html"), *TEMPLATES.rglob("*.j2")])
BEGIN = re.compile(
    r"^(?:export )?(?:default )?(?:async )?function\*? (\w+)|^(?:export )?const (\w+) = .*[{(]$"
)


def functions(text: str) -> dict[str, int]:
    """The lines of each function of a file, by its name: from its first line to the next `}` in
    column 0.
    """
    found, lines = {}, text.splitlines()
    for at, line in enumerate(lines):
        if begin := BEGIN.match(line):
            ends = (n for n in range(at, len(lines)) if re.match(r"[})\]]", lines[n]))
            found[begin[1] or begin[2]] = next(ends, at) - at + 1
    return found


@pytest.mark.parametrize("path", [*SCRIPTS, *SHEETS, *PAGES], ids=lambda path: path.name)
def test_lines_are_short(path) -> None:
    """But for a picture written as text, which has no place to break."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    long = [n for n, line in lines if len(line) > LONGEST_LINE and "data:image" not in line]
    assert not long, f"{path.name} has lines of more than {LONGEST_LINE} letters: {long}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_functions_are_short(path) -> None:
    found = functions(path.read_text(encoding="utf-8"))
    wide = {name: size for name, size in found.items() if size > LONGEST_FUNCTION}
    assert not wide, f"{path.name} has functions of more than {LONGEST_FUNCTION} lines: {wide}"


def test_softmax_is_written_once() -> None:
    """In math.js. Other exponentials: gates and erf, one probability, a bell, and the lesson."""
    homes = {"math", "layers", "beam_tree", "scale_histogram", "online_softmax"}
    found = {path.stem for path in SCRIPTS if "Math.exp(" in path.read_text(encoding="utf-8")}
    assert found == homes


def test_maps_have_one_painter() -> None:
    """What looks numbers up in the table of a ramp makes pixels of them: map.js alone."""
    reads = re.compile(r"\{.*\btable\b.*\} = .*theme|theme\.table\[")
    found = {path.stem for path in SCRIPTS if reads.search(path.read_text(encoding="utf-8"))}
    assert found == {"map"}


def test_a_long_function_is_found() -> None:
    assert functions("function render(context) {\n" + "  one();\n" * 8 + "}\n") == {"render": 10}
    assert functions("const a = 1;\nexport function b() {\n  c();\n}\n") == {"b": 3}
