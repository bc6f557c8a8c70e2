"""The plan of the building: imports point one way, and what is light stays light."""

import ast
import graphlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import attnlab

SOURCES = Path(__file__).parents[2] / "src/attnlab"

# Each floor may import from its own and from those below it.
FLOORS = [
    {"shapes", "scores", "masks", "record", "fused", "attention"},  # the core
    {"reproducible", "fetching", "checkpoints", "assets", "carried", "palette", "device"}
    | {"data", "metrics", "decoding"},
    {"layers", "kernels"},
    {"models"},
    {"translator", "figures", "start"},  # and every file beside them that is not named here
    {"training", "inside"},
    {"widgets", "checks", "certificate"},
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
BESIDE = LEVEL["translator"]
DOORS = {("figures", "widgets")}  # `figures.interactive` hands a plot to a live figure, when called


def room_of(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """The rooms of attnlab that a file imports from, inside of functions, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "attnlab":
            inner = node.module.split(".")[1:]
            found |= {inner[0]} if inner else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("attnlab.")}
    return found - {"__version__"}


FILES = sorted(
    path for path in SOURCES.rglob("*.py") if path.parent != SOURCES or path.stem[0] != "_"
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_imports_point_one_way(path: Path) -> None:
    own = LEVEL.get(room_of(path), BESIDE)
    doors = {there for here, there in DOORS if here == room_of(path)}
    above = {room for room in imports_of(path) - doors if LEVEL.get(room, BESIDE) > own}
    assert not above, f"{path.name} is on floor {own} and reaches up to {sorted(above)}"


def needs() -> dict[str, set[str]]:
    """Room → the other rooms it imports from, doors left out."""
    found = defaultdict(set)
    for path in FILES:
        own = room_of(path)
        found[own] |= {
            room for room in imports_of(path) if room != own and (own, room) not in DOORS
        }
    return found


def test_rooms_of_one_floor_have_no_cycle() -> None:
    try:
        graphlib.TopologicalSorter(needs()).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"rooms need each other: {' → '.join(error.args[1])}")


def order_in(text: str) -> list[str]:
    """The names in a map: indented lines that begin with them, two spaces between, words behind."""
    lines = re.findall(r"^ {4}(\w.+)$", text, re.MULTILINE)
    return [name for line in lines for name in re.split(" {3,}", line)[0].split()]


def test_the_reading_order_is_true() -> None:
    """`attnlab/__init__` lists every room, and none before what it needs."""
    rooms = needs()
    order = order_in(attnlab.__doc__ or "")
    assert sorted(order) == sorted(rooms)
    for at, room in enumerate(order):
        assert rooms[room] <= set(order[:at]), f"{room} needs {rooms[room] - set(order[:at])}"


@pytest.mark.parametrize("room", ["layers", "kernels", "models", "training", "inside", "data"])
def test_the_map_of_a_room_is_true(room: str) -> None:
    """Its `__init__` lists every file, and none before what it needs."""
    said = ast.get_docstring(ast.parse((SOURCES / room / "__init__.py").read_text("utf-8"))) or ""
    files = {path.stem: path for path in (SOURCES / room).glob("*.py") if path.stem[0] != "_"}
    order = order_in(said)
    assert sorted(order) == sorted(files)
    for at, name in enumerate(order):
        text = files[name].read_text(encoding="utf-8")
        needed = {one for one in files if f"attnlab.{room}.{one} import" in text}
        assert needed <= set(order[:at]), f"{name} needs {needed - set(order[:at])}"


def test_every_room_says_what_lives_there() -> None:
    for init in SOURCES.rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8")))
        assert said, f"{init.parent.name}/__init__.py says nothing"


def seconds(code: str) -> float:
    """CPU seconds of a Python that runs it: what a busy machine adds is no part of them."""
    start = os.times()
    subprocess.run([sys.executable, "-c", code], check=True)
    now = os.times()
    return sum(now[2:4]) - sum(start[2:4])  # of children, user and system


def test_the_core_imports_as_fast_as_torch() -> None:
    """The bar is 1.05; the best of a few counts, with room for a busy machine."""
    ratios = []
    for _ in range(6):
        ratios.append(seconds("import attnlab.attention") / seconds("import torch"))
        if ratios[-1] <= 1.05:
            return
    assert min(ratios) <= 1.15, ratios


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("attnlab.widgets", ["torch", "transformers", "matplotlib"]),
        ("attnlab.attention", ["transformers", "matplotlib", "anywidget", "pandas"]),
    ],
)
def test_what_is_light_stays_light(module: str, heavy: list[str]) -> None:
    code = f"import sys, {module}; print(*(set({heavy}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip(), f"{module} imports {done.stdout}"


def test_there_is_one_softmax_and_one_log_softmax() -> None:
    """Both are in attention.py. Exercises and their checks use torch's own."""
    own = re.compile(r"(torch|F|functional|nn)\.(log_)?softmax\(|\w\.(log_)?softmax\((dim=)?-?\d")
    for path in FILES:
        if room_of(path) not in ("attention", "checks"):
            found = own.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.name} has {found[0]}…: take it from attnlab.attention"
