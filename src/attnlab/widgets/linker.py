"""Writes the ES modules of `static/` so that they run without a loader and without a network.

A module of ours imports by name, `import { frame, make } from "./kit.js"`, or takes a table,
`import PALETTE from "./palette.json"`. anywidget wants one self-contained module, and a page from a
USB stick cannot import files at all. So each file becomes a *part*: its name, the names it needs,
and a function with its text that returns its exports. `static/linker.js` joins parts, the same way
in JupyterLab and on static pages: a file's private names are its own. `import "./job.js";` takes a
part along without running it, for a worker (static/worker.js).
"""

import json
import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import (?:\{([^}]*)\}|(\w+)) from "\./(\w+)\.(js|json)";\n', re.MULTILINE)
_ALONG = re.compile(r'^import "\./(\w+)\.js";.*\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)


def needs_of(file: str) -> list[str]:
    """The parts that a file imports, in order. A part is named after its file, without `.js`."""
    if file.endswith(".json"):
        return []
    found = [_part(name, kind) for _, _, name, kind in _IMPORT.findall(text_of(file))]
    return list(dict.fromkeys([*found, *_ALONG.findall(text_of(file))]))


def parts_of(name: str) -> list[str]:
    """The parts that `static/NAME.js` is made of, each after those it needs; NAME is the last."""
    parts: list[str] = []
    for needed in needs_of(name):
        if needed != "linker":
            parts += [part for part in parts_of(needed) if part not in parts]
    return [*parts, name]


@cache
def text_of(file: str) -> str:
    """The text of a file of `static/`."""
    path = STATIC / (file if file.endswith(".json") else f"{file}.js")
    return path.read_text(encoding="utf-8")


def part(file: str) -> str:
    """A file as `[name, needs, maker]` in JavaScript."""
    head = f"[{json.dumps(file)}, {json.dumps(needs_of(file))}, (need) => {{"
    if file.endswith(".json"):
        return f"{head} return {{ default: {_lean(text_of(file))} }}; }}]"
    body = _ALONG.sub("\n", _IMPORT.sub(_needed, text_of(file)))
    given = exports_of(file)
    if re.search(r"^export default ", body, re.MULTILINE):
        body = re.sub(r"^export default ", "const figure$ = ", body, flags=re.MULTILINE)
        given = [*given, "default: figure$"]
    body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    if left := re.search(r"^import .*", body, re.MULTILINE):
        raise ValueError(
            f"static/{file}.js has a line that the linker cannot read: {left[0]!r}. It reads "
            'import { a, b } from "./file.js"; and import NAME from "./file.json";'
        )
    return f'{head} "use strict";\n{body}\nreturn {{ {", ".join(given)} }};\n}}]'


def exports_of(file: str) -> list[str]:
    """The names that a file exports, except its default."""
    return _EXPORT.findall(text_of(file))


def bundle(name: str) -> str:
    """The module `static/NAME.js` with all it needs, as anywidget and the tests import it."""
    parts = ",\n".join(part(one) for one in parts_of(name))
    lines = [text_of("linker"), f"const made$ = linker([\n{parts}\n]).need({json.dumps(name)});"]
    if names := exports_of(name):
        lines.append(f"export const {{ {', '.join(names)} }} = made$;")
    if re.search(r"^export default ", text_of(name), re.MULTILINE):
        lines.append("export default made$.default;")
    return "\n".join(lines) + "\n"


def script(file: str) -> str:
    """A part as a classic script of a static page: it hands itself over, in any order."""
    return f"(globalThis.attnlabParts ??= []).push({part(file)});\n"


def _part(name: str, kind: str) -> str:
    return name if kind == "js" else f"{name}.{kind}"


def _needed(found: re.Match[str]) -> str:
    names, whole, name, kind = found.groups()
    wanted = f"default: {whole}" if whole else re.sub(r"(\w+) as (\w+)", r"\1: \2", names)
    given = f"const {{ {' '.join(wanted.split())} }} = need({json.dumps(_part(name, kind))});"
    return given + "\n" * found[0].count("\n")  # errors then name the lines of the file


def _lean(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
