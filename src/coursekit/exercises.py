"""What an exercise must have. The generator refuses a chapter that lacks any of it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from coursekit.errors import CourseError
from coursekit.source import ROLES, SLIDE_TAGS, Cell, Chapter

FEWEST_HINTS = 2
# The parts an exercise has exactly once, by the tag of their cell.
PARTS = {"exercise": "statement", "stub": "stub", "solution": "solution", "check": "checker call"}

Problem = tuple[int, str]  # the line of the source, and a sentence about it


def validate(chapters: Sequence[Chapter]) -> None:
    """Refuse what is wrong in any chapter: all of it at once, each as `file:line: sentence`."""
    problems = []
    owners: dict[str, str] = {}
    codes: dict[str, str] = {}
    for chapter in chapters:
        found = list(chapter_problems(chapter))
        if not chapter.gpu:  # a GPU exercise shares the number of its chapter
            first = codes.setdefault(chapter.code, chapter.name)
            if first != chapter.name:
                which = "the capstone" if chapter.number is None else f"chapter {chapter.number}"
                found.append((1, f"{which} is already {first}."))
        for cell in chapter.cells:
            if cell.role == "exercise" and cell.exercise is not None:
                first = owners.setdefault(cell.exercise, chapter.name)
                if first != chapter.name:
                    found.append((cell.line, f"exercise {cell.exercise} is already in {first}."))
        problems += [f"{chapter.name}:{line}: {sentence}" for line, sentence in sorted(found)]
    if problems:
        raise CourseError(*problems)


def chapter_problems(chapter: Chapter) -> Iterator[Problem]:
    """Everything that is wrong with one chapter."""
    yield from _opening_problems(chapter)
    yield from _fold_problems(chapter)
    groups: dict[str, list[Cell]] = {}
    for cell in chapter.cells:
        for sentence in _cell_problems(cell):
            yield cell.line, sentence
        if cell.exercise is not None:
            groups.setdefault(cell.exercise, []).append(cell)
    for number, cells in groups.items():
        if not re.fullmatch(rf"{chapter.code}\.\w+", number):
            wanted = f"{chapter.code}.1"
            yield cells[0].line, f"exercise {number!r} must be called {wanted} or the like."
        yield from _exercise_problems(number, cells)


def _opening_problems(chapter: Chapter) -> Iterator[Problem]:
    first = chapter.cells[0] if chapter.cells else None
    if first is None or first.kind != "markdown" or not first.text.startswith("# "):
        yield (first.line if first else 1), "the first cell must be markdown, with a '# ' title."
        return
    title = f"# {chapter.label} · {chapter.title}"
    if not chapter.gpu and first.text.splitlines()[0].rstrip() != title:
        yield first.line, f"the title must read {title!r}, as the header says."


def _fold_problems(chapter: Chapter) -> Iterator[Problem]:
    """A *Dig deeper* fold begins with a heading and ends before one that is no lower.

    Otherwise a notebook, where a collapsed heading hides what follows it, would hide too much.
    """
    level = 0  # of the fold we are in
    for cell in (one for one in chapter.cells if not one.only_for_slides):
        deeper = "deeper" in cell.tags
        if deeper and cell.role:
            yield cell.line, "an exercise cannot stand in a Dig deeper fold."
        if deeper and level == 0 and cell.level < 3:
            yield cell.line, "a Dig deeper fold begins with a markdown cell '### Dig deeper: …'."
        elif not deeper and level and not 0 < cell.level <= level:
            wanted = "#" * level
            yield cell.line, f"after a Dig deeper fold comes a heading, '{wanted} …' or higher."
        inner = re.findall(r"^#{1,6} ", cell.text, re.MULTILINE) if cell.kind == "markdown" else []
        if deeper and len(inner) > (cell.level > 0):
            yield cell.line, "a Dig deeper fold has one heading, its first line."
        level = (cell.level or level) if deeper else 0


def _cell_problems(cell: Cell) -> Iterator[str]:
    roles = [tag for tag in cell.tags if tag in ROLES]
    slides = [tag for tag in cell.tags if tag in SLIDE_TAGS]
    if len(roles) > 1:
        yield f"a cell has one part in an exercise, not {' and '.join(roles)}."
    if roles and cell.exercise is None:
        yield f'the tag {roles[0]!r} needs the exercise it belongs to: exercise="03.1".'
    if cell.exercise is not None and not roles:
        yield f"a cell of exercise {cell.exercise} needs one of the tags {', '.join(ROLES)}."
    if len(slides) > 1:
        yield f"a cell has one place in the slides, not {' and '.join(slides)}."
    if "slides-only" in cell.tags and not slides:
        yield "slides-only goes with slide, subslide or fragment."
    if "notes" in cell.tags and cell.kind != "markdown":
        yield "speaker notes must be a markdown cell."
    if roles:
        wanted = "markdown" if roles[0] in ("exercise", "hint") else "code"
        if cell.kind != wanted:
            yield f"the {roles[0]} of an exercise must be a {wanted} cell, not {cell.kind}."
    if "hint" in roles and not cell.text.strip():
        yield f"this hint of exercise {cell.exercise} is empty."


def _exercise_problems(number: str, cells: list[Cell]) -> Iterator[Problem]:
    start = cells[0].line
    counts = Counter(cell.role for cell in cells)
    for role, name in PARTS.items():
        if counts[role] == 0:
            yield start, f"exercise {number} has no {name}."
        elif counts[role] > 1:
            again = [cell for cell in cells if cell.role == role][1]
            yield again.line, f"exercise {number} has a second {name}."
    if counts["hint"] < FEWEST_HINTS:
        have = f"{counts['hint']} hint" + "s" * (counts["hint"] != 1)
        yield start, f"exercise {number} has {have}; give it at least {FEWEST_HINTS}."
    if any(counts[role] != 1 for role in PARTS):
        return
    part = {role: next(cell for cell in cells if cell.role == role) for role in PARTS}
    if cells[0].role != "exercise":
        yield start, f"exercise {number} must begin with its statement."
    if part["check"].line < max(part["stub"].line, part["solution"].line):
        yield part["check"].line, f"the check of exercise {number} must come last."
    heading = rf"### Exercise {re.escape(spoken(number))} ★{{1,3}} · .+ \(\d+ min\)"
    if not re.fullmatch(heading, part["exercise"].text.split("\n")[0].strip()):
        wanted = f"### Exercise {spoken(number)} ★★ · Title (10 min)"
        yield part["exercise"].line, f"the statement must begin like {wanted!r}."
    yield from _code_problems(number, part)


def _code_problems(number: str, part: dict[str, Cell]) -> Iterator[Problem]:
    """Stub, solution and check as code: do they fit together?"""
    trees: dict[str, ast.Module] = {}
    for role in ("stub", "solution", "check"):
        try:
            trees[role] = ast.parse(part[role].text)
        except SyntaxError as error:
            line = part[role].line + (error.lineno or 1)
            yield line, f"the {role} of exercise {number} is not Python: {error.msg}."
    if len(trees) < 3:
        return
    if not any(isinstance(n, ast.Constant) and n.value is ... for n in ast.walk(trees["stub"])):
        yield part["stub"].line, f"the stub of exercise {number} has no `...` to fill in."
    stub, solution = defined_names(trees["stub"]), defined_names(trees["solution"])
    if stub != solution:
        sentence = (
            f"the solution of exercise {number} defines {_listed(solution)}, "
            f"its stub {_listed(stub)}; they must define the same."
        )
        yield part["solution"].line, sentence
    here = part["check"].line
    ids = list(_checked_ids(trees["check"]))
    used = {node.id for node in ast.walk(trees["check"]) if isinstance(node, ast.Name)}
    if not ids:
        yield here, f'exercise {number} has no call check("{number}", …).'
    elif set(ids) != {number}:
        yield here, f"the check is for {_listed(set(ids))}, but the exercise is {number}."
    elif stub and not stub & used:
        yield here, f"the check of exercise {number} does not use {_listed(stub)}."


def defined_names(tree: ast.Module) -> set[str]:
    """Functions and classes at the top of a cell; where there are none, the variables it sets."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    functions = {node.name for node in tree.body if isinstance(node, kinds)}
    if functions:
        return functions
    targets: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def spoken(number: str) -> str:
    """An exercise's number as the text writes it: 03.2 → 3.2."""
    return number.removeprefix("0")


def _checked_ids(tree: ast.Module) -> Iterator[str]:
    """The first argument of every call of `check` or `something.check`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            first = node.args[0]
            if name == "check":
                yield str(first.value) if isinstance(first, ast.Constant) else ast.unparse(first)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
