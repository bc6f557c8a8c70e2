"""Runs that are written down as they finish: interrupted, a script goes on where it was.

results = noted("distil", plan(), run)     # build/distil.jsonl, one line a run
ship("data/distil.json", results, script="distil", origin="measured by …")

register(path, script="distil", origin="measured by …")     # of a file that was just written
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from attnlab import assets

Run = dict[str, Any]
NOTES = Path(__file__).parents[1] / "build"


def noted(name: str, plan: Iterable[Run], run: Callable[..., Run]) -> list[Run]:
    """`run(**one)` for each of the plan, unless the notes hold it: what was asked, and found."""
    path = NOTES / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    old = [json.loads(line) for line in lines]
    results = []
    for one in plan:
        found = next((done for done in old if one.items() <= done.items()), None)
        if found is None:
            found = {**one, **run(**one)}
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
            print(found, flush=True)
        results.append(found)
    return results


def ship(name: str, results: list[Run], *, script: str, origin: str) -> None:
    """One line a run, in assets/, with its checksum and the command that made it."""
    rows = ",\n ".join(json.dumps(row) for row in results)
    path = assets.folder() / name
    path.write_text(f"[\n {rows}\n]\n", encoding="utf-8")
    register(path, script=script, origin=origin)


def write_tables(path: Path, tables: dict[str, list[Run]]) -> None:
    """Several named lists of runs in one JSON file, one line a run."""
    text = ",\n".join(
        f' "{name}": [\n  ' + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]"
        for name, rows in tables.items()
    )
    path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def register(path: Path, *, script: str, origin: str) -> None:
    """Enter a file into the manifest of assets/; one that stands elsewhere is a trial, and not."""
    if path.is_relative_to(assets.folder()):
        name = path.relative_to(assets.folder()).as_posix()
        assets.register(name, licence="MIT", origin=origin, command=f"python training/{script}.py")
