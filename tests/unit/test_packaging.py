"""pyproject.toml, constraints.txt, environment.yml and the wheel agree with each other."""

import re
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.unit.wheels import ROOT, build_wheel

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What only another system or a GPU asks for; the pins are those of a Linux CPU.
ELSEWHERE = re.compile(
    r"appnope|colorama|cuda-.*|nvidia-.*|pywin.*|triton|tzdata|exceptiongroup|tomli"
)


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found: dict[str, Version] = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, version = line.split("==")
            found[canonicalize_name(name)] = Version(version)
    return found


def stated(*extras: str) -> list[Requirement]:
    optional = PROJECT["optional-dependencies"]
    texts = PROJECT["dependencies"] + [text for extra in extras for text in optional[extra]]
    return [Requirement(text) for text in texts]


def closure(wanted: list[Requirement]) -> Iterator[tuple[str, Version]]:
    """Every distribution that `wanted` pulls in here, by the metadata of what is installed."""
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = list(wanted)
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        key = (name, frozenset(requirement.extras))
        if key in seen or ELSEWHERE.fullmatch(name):
            continue
        seen.add(key)
        found = distribution(name)
        yield name, Version(found.version)
        for text in found.requires or ():
            inner = Requirement(text)
            extras = ["", *requirement.extras]
            if inner.marker is None or any(inner.marker.evaluate({"extra": e}) for e in extras):
                todo.append(inner)


@pytest.mark.parametrize("requirement", stated("course", "test"), ids=lambda r: r.name)
def test_every_requirement_is_pinned_within_its_bounds(requirement: Requirement) -> None:
    pin = pins()[canonicalize_name(requirement.name)]
    assert pin in requirement.specifier, f"constraints.txt has {pin}, pyproject wants {requirement}"


def test_everything_the_course_pulls_in_is_pinned_to_what_is_tested() -> None:
    pinned = pins()
    wrong = {}
    for name, version in closure(stated("course", "test")):
        public = Version(version.public)  # torch 2.13.0+cpu is torch 2.13.0
        if pinned.get(name) != public:
            wrong[name] = f"installed {public}, pinned {pinned.get(name)}"
    assert not wrong, wrong


def test_pins_hold_no_gpu_build_and_not_the_course_itself() -> None:
    names = set(pins())
    assert "torch" in names
    assert not [name for name in names if name.startswith(("nvidia", "cuda", "attnlab"))]


def test_conda_installs_the_same_requirements() -> None:
    """The project installs itself with [course], so only what conda brings first can drift."""
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    environment = yaml.safe_load(text)
    *conda, pip = environment["dependencies"]
    assert pip == {"pip": ["-e .[course]"]}
    torch = next(r for r in stated() if r.name == "torch")
    assert conda == [
        f"python{PROJECT['requires-python']}",
        "pip",
        f"pytorch-cpu{torch.specifier}",
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel")))


def shipped(folder: str) -> list[Path]:
    found = [p for p in (ROOT / folder).rglob("*") if p.is_file()]
    # Not what tools leave behind: .mypy_cache, .ipynb_checkpoints, __pycache__.
    ours = [p for p in found if not any(part.startswith((".", "__pyc")) for part in p.parts)]
    assert ours, f"{folder} is empty"
    return ours


def test_wheel_carries_the_packages_with_scripts_and_styles(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for path in shipped("src/attnlab") + shipped("src/coursekit"):
        assert path.relative_to(ROOT / "src").as_posix() in names
    kinds = {Path(name).suffix for name in names if "/widgets/static/" in name}
    assert kinds == {".js", ".css", ".json"}


def test_wheel_carries_the_assets_byte_for_byte(wheel: zipfile.ZipFile) -> None:
    for path in shipped("assets"):
        inside = f"attnlab/_assets/{path.relative_to(ROOT / 'assets').as_posix()}"
        assert wheel.read(inside) == path.read_bytes(), inside


def test_wheel_carries_the_student_notebooks_byte_for_byte(wheel: zipfile.ZipFile) -> None:
    for path in shipped("notebooks/student"):
        assert wheel.read(f"attnlab/_notebooks/{path.name}") == path.read_bytes(), path.name


def test_wheel_carries_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {"attnlab", "coursekit", f"attnlab-{PROJECT['version']}.dist-info"}


def test_the_readme_lists_every_chapter() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\(notebooks/student/((?:\d\d|capstone)_\w+)\.ipynb\)", text))
    stems = {path.stem for path in (ROOT / "notebooks").glob("*.py")}
    assert listed == {stem for stem in stems if not stem.startswith("gpu_")}


def test_the_readme_says_how_long_a_chapter_takes() -> None:
    """To the nearest half hour of the minutes in its head."""
    rows = re.findall(
        r"\(notebooks/student/(\w+)\.ipynb\).*\| (\d)(½?) h \|",
        (ROOT / "README.md").read_text("utf-8"),
    )
    said = {name: int(hours) + 0.5 * bool(half) for name, hours, half in rows}
    minutes = {}
    for name in said:
        text = (ROOT / f"notebooks/{name}.py").read_text(encoding="utf-8")
        minutes[name] = int(re.search(r"^#     minutes: (\d+)$", text, re.MULTILINE)[1])
    assert said == {name: round(2 * n / 60) / 2 for name, n in minutes.items()}
    assert len(said) >= 12


def test_the_readme_installs_from_the_address_of_the_project() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'pip install "attnlab[course] @ git+{PROJECT["urls"]["Repository"]}"' in text


def test_make_has_every_command_the_readme_names() -> None:
    said = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    listed = subprocess.check_output(["make", "--no-print-directory", "help"], cwd=ROOT, text=True)
    known = set(re.findall(r"^  make (\S+)", listed, flags=re.MULTILINE))
    assert {"lab", "test", "book", "slides", "editions", "bench", "weights", "clean"} <= known
    assert said - known <= {"the"}, f"the README names {said - known}, which make does not know"


def test_ci_runs_the_readmes_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "set -euo pipefail" in script
    assert "\nmake test\n" in script
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")
