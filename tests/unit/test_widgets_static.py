"""The scripts of the live figures as a reader meets them: short lines, functions in one view."""

import re

import pytest

from attnlab.widgets.linker import STATIC

LONGEST_LINE = 120
LONGEST_FUNCTION = 150
SCRIPTS = sorted(STATIC.glob("*.js"))
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


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_lines_and_functions_are_short(path) -> None:
    text = path.read_text(encoding="utf-8")
    long = [n for n, line in enumerate(text.splitlines(), 1) if len(line) > LONGEST_LINE]
    assert not long, f"{path.name} has lines of more than {LONGEST_LINE} letters: {long}"
    wide = {name: size for name, size in functions(text).items() if size > LONGEST_FUNCTION}
    assert not wide, f"{path.name} has functions of more than {LONGEST_FUNCTION} lines: {wide}"


def test_a_long_function_is_found() -> None:
    assert functions("function render(context) {\n" + "  one();\n" * 8 + "}\n") == {"render": 10}
    assert functions("const a = 1;\nexport function b() {\n  c();\n}\n") == {"b": 3}
