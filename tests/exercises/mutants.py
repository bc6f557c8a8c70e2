"""Near-misses by the hundred: every right answer, with one thing changed, against its checker.

    python tests/exercises/mutants.py            # every exercise: a table, and what slipped through
    python tests/exercises/mutants.py 03.1 08    # one exercise, one chapter
    python tests/exercises/mutants.py -v 03.1    # with the generic rejections, to give them names
    python tests/exercises/mutants.py -w 03.1    # with the words that counted as names
    python tests/exercises/mutants.py -a 03.1    # with every rejection, to be read by a person
    python tests/exercises/mutants.py --most=60  # so many of each exercise, spread over all
    python tests/exercises/mutants.py --keep 08  # and keep the counts in mutants.json

The changes are those of `attnlab.checks.slips`: axes, signs, scales, masks, borders, ± 1,
transposes, keepdim, reductions, constants for variables, the first for all, steps left out, and
edits of an input in place. They are made of the chapter's solution *and* of the right answers in
`answers_NN.py` and `right_NN.py`, which are written differently, so the checker does not know them.

A mutant that equals the solution on every input (those of the check, and forty drawn ones it never
hands over) is thrown away. Of the others,
  passed      counts those the checker took for right,
  named       those whose message tells what was changed, or what follows from it (naming.py): not
              the error of Python or torch by itself, nor a wrong shape or number,
  misleading  those accused of a mistake which does anything else on any input, or told of a change
              which does not make them right on every one.
Mutants run in child processes, a few in each, so that none can harm the next: one that gets stuck
in C code or waits for ever is ended and counts as rejected without a name.
An exercise of a new chapter is here as soon as it has a checker and a solution. Without
`@exercise.draws`, fresh inputs are those of the check with their values shuffled.
"""

import ast
import copy
import fcntl
import inspect
import itertools
import json
import linecache
import os
import pickle
import random
import resource
import select
import signal
import sys
import tempfile
import textwrap
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))
from chapters import parts
from corpus import HANDS, RIGHT, load
from naming import Message, name_of, said

from attnlab.checks import exercises, safely
from attnlab.checks.answer import OVERFLOWS, tensor_of
from attnlab.checks.cause import MORE
from attnlab.checks.compare import close, is_number
from attnlab.checks.slips import Endless, Slip, few_steps, slips_of

FRESH = range(1000, 1040)
NAMED = 0.85  # of the rejections of every exercise
KEPT = Path(__file__).with_suffix(".json")  # what the last run over all exercises counted


@dataclass
class Tally:
    """What became of the mutants of one exercise."""

    id: str
    made: int = 0
    equal: int = 0
    rejected: int = 0
    named: int = 0
    passed: list[str] = field(default_factory=list)
    misleading: list[str] = field(default_factory=list)
    generic: list[str] = field(default_factory=list)
    long: list[str] = field(default_factory=list)  # messages of more than four lines
    words: Counter = field(default_factory=Counter)  # (kind, words that named it)
    told: list[str] = field(default_factory=list)  # every rejection, and as what it counted
    all: int = 0  # mutants that there are, whether run or not

    def add(self, other: "Tally") -> None:
        for key in ("made", "equal", "rejected", "named"):
            setattr(self, key, getattr(self, key) + getattr(other, key))
        for key in ("passed", "misleading", "generic", "long", "told"):
            getattr(self, key).extend(getattr(other, key))
        self.words.update(other.words)

    def counts(self) -> dict[str, int]:
        """For the kept table."""
        return {
            "mutants": self.made - self.equal,
            "passed": len(self.passed),
            "rejected": self.rejected,
            "named": self.named,
            "misleading": len(self.misleading),
            "equal": self.equal,
            "loose": sum(n for (_, how), n in self.words.items() if how.startswith("words: ")),
            "of": self.all,
        }

    @property
    def share(self) -> float:
        return self.named / self.rejected if self.rejected else 1.0

    def row(self) -> str:
        return (
            f"{self.id}  {self.made - self.equal:5d}  {len(self.passed):6d}  {self.share:6.0%}"
            f"  {len(self.misleading):10d}  {self.equal:5d}"
        )


HEAD = "id     mutants  passed   named  misleading  equal"


def trees(function) -> ast.FunctionDef | None:
    """The syntax tree of a plain function, None for anything else."""
    if not inspect.isfunction(function):
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def in_place(tree: ast.FunctionDef, given: tuple) -> list[Slip]:
    """The same answer, which edits an input on the way."""
    made = []
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    for argument, value in zip(tree.args.args, given, strict=False):
        edits = {torch.Tensor: "fill_(1)", list: "clear()"}
        if type(value) not in edits or not isinstance(tree.body[-1], ast.Return):
            continue
        other = copy.deepcopy(tree)
        other.decorator_list = []
        last = other.body.pop()
        name = argument.arg
        if name in stored:  # `x = x.numpy()`: by then it is something else
            other.body.insert(0, ast.parse(f"given = {name}").body[0])
            name = "given"
        more = f"result = 0\n{name}.{edits[type(value)]}"
        other.body += [*ast.parse(more).body, ast.Return(ast.Name("result", ast.Load()))]
        other.body[-3].value = last.value
        made.append(
            Slip("in place", "in place", other, ast.unparse(ast.fix_missing_locations(other)))
        )
    return made


@contextmanager
def at_most(seconds: float, progress: safely.Progress | None = None):
    """What still runs after so many seconds of computing is stopped, as the check would.

    With `progress`, only inside the answer: the search for a name has limits of its own.
    """

    def ring(*_):
        if progress is None:
            signal.setitimer(signal.ITIMER_PROF, 0)
            raise safely.Stopped
        if progress.running:
            progress.running = False  # once: what cleans up after it is not to be stopped
            raise safely.Stopped

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)  # and again, should it be called again
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def doing(function, given):
    """What it returns or raises, and whether it edits what it was given."""
    copies = copy.deepcopy(given)
    try:
        with few_steps(30_000):
            seen = tensor_of(function(*copies))
    except Endless:
        return "endless", None, True
    except BaseException as error:
        return "raises", type(error), True
    kept = all(
        torch.equal(a.nan_to_num(), b.nan_to_num()) if isinstance(a, torch.Tensor) else a == b
        for a, b in zip(given, copies, strict=True)
        if isinstance(a, torch.Tensor | list)
    )
    return "returns", seen, kept


def same(one, other) -> bool:
    if one[0] != other[0] or one[2] != other[2]:
        return False
    if one[0] != "returns":
        return one[1] == other[1]
    a, b = one[1], other[1]
    if is_number(a) and is_number(b):
        return close(a, b) or float(a) == float(b)
    try:
        return close(a, b)
    except Exception:
        return False


def alike(one, other) -> bool:
    """Of two functions that compute the same in another order: up to rounding of large numbers.

    Both may refuse an input, each in its own words.
    """
    if one[0] == other[0] == "raises":
        return True
    if same(one, other) or one[0] != other[0] or one[0] != "returns":
        return same(one, other)
    pairs = [x if isinstance(x, tuple | list) else (x,) for x in (one[1], other[1])]
    if len(pairs[0]) != len(pairs[1]):
        return False
    for a, b in zip(*pairs, strict=True):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype != b.dtype:
            a, b = (x.float() if x.is_floating_point() else x for x in (a, b))  # inf in both
        if close(a, b):
            continue
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            return False
        if a.shape != b.shape or not a.is_floating_point() or not b.is_floating_point():
            return False
        size = float(b.detach().nan_to_num(0, 0, 0).abs().max()) if b.numel() else 0.0
        if not torch.allclose(a.double(), b.double(), 1e-3, 1e-3 * size, equal_nan=True):
            return False
    return True


def shuffled(given, seed: int):
    """The same arguments with the values of each tensor in another order."""
    generator = torch.Generator().manual_seed(seed)

    def one(value):
        if isinstance(value, torch.Tensor) and value.numel() > 1:
            order = torch.randperm(value.numel(), generator=generator)
            return value.flatten()[order].reshape(value.shape)
        return value

    return tuple(map(one, given))


def fresh(exercise) -> list[tuple]:
    asked = exercise.inputs(seeds=FRESH)
    if exercise.drawing is None:
        asked += [shuffled(given, seed) for seed, given in enumerate(asked * 2)]
    return asked


def oracle(exercise):
    """For exercises without a reference: an independent judge of an answer. Errors are wrong."""
    import oracles

    judge = oracles.JUDGES.get(exercise.id) or oracles.foretells(exercise)

    def judged(function) -> bool:
        try:
            return judge(lambda *given: tensor_of(function(*given)))  # NumPy's as good as torch's
        except Exception:
            return False

    return judged


@dataclass
class Ground:
    """All that the mutants of one exercise are judged by."""

    exercise: Any
    judge: Any
    inputs: list
    right: list
    known: list
    sound: dict  # right answer → is it right on each input, rounding of large numbers included?


def tally(id: str, folder: Path, most: int = 10_000) -> Tally:
    """Run the mutants of one exercise, at most so many, spread over its right answers."""
    exercise = exercises()[id]
    name = exercise.call.split("(")[0]
    solution = parts()[id].run("solution", folder)[name]
    inputs = fresh(exercise)
    origins = [one for one in (solution, *RIGHT[id], *HANDS[id]) if trees(one)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ground = Ground(
            exercise,
            oracle(exercise) if exercise.reference is None else None,
            inputs,
            [doing(exercise.reference or solution, given) for given in inputs],
            [*exercise.suspects, *exercise.slips()],
            {},
        )
        for origin in origins:
            did = [doing(origin, given) for given in inputs]
            ground.sound[origin] = [alike(a, b) for a, b in zip(did, ground.right, strict=True)]
        exercise.inputs(seeds=MORE)  # once, for all the children
    result = Tally(id)
    waiting = mutants_of(origins, inputs)
    result.all = len(waiting)
    random.Random(0).shuffle(waiting)  # where not all are run, some of every kind
    while waiting and result.made - result.equal < most:
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        for found in in_children(ground, batch):
            if result.made - result.equal < most:
                result.add(found)
    return result


def mutants_of(origins, inputs) -> list[tuple[Slip, Any]]:
    """(slip, the right answer that it is made of), each text once."""
    found: dict[str, tuple[Slip, Any]] = {}
    for origin in origins:
        tree = trees(origin)
        for slip in (*slips_of(tree), *in_place(tree, inputs[0] if inputs else ())):
            found.setdefault(slip.text, (slip, origin))
    return list(found.values())


BATCH = 12  # mutants in one child
SINGLE = ("10.7",)  # the interpreter of Triton does not recover from an error
WALL = 90.0  # seconds by the clock for one mutant, on a busy machine


def in_children(ground: Ground, batch: list[tuple[Slip, Any]]) -> Iterator[Tally]:
    """What becomes of these mutants, one after the other; should a child die, the next goes on."""
    size = 1 if ground.exercise.id in SINGLE else len(batch)
    while batch:
        now, batch = batch[:size], batch[size:]
        done = 0
        for found in _child(ground, now):
            done += 1
            yield found
        if done < len(now):  # stuck, or dead: ended here, and counted as it would be in a notebook
            slip, _ = now[done]
            lost = Tally(ground.exercise.id, made=1, rejected=1)
            lost.generic.append(f"[{slip.kind}: {slip.words}] {slip.text}\n    → (ended)")
            yield lost
            batch = now[done + 1 :] + batch


def _child(ground: Ground, batch: list[tuple[Slip, Any]]) -> Iterator[Tally]:
    news, tell = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(news)
            limit = int(Path("/proc/self/statm").read_text().split()[0]) * 4096 + (2 << 30)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            with os.fdopen(tell, "wb") as out:
                for slip, origin in batch:
                    pickle.dump(_one(ground, slip, origin), out)
                    out.flush()
        except Exception:
            traceback.print_exc()  # a fault of this file: it counts as rejected without a name
        finally:
            os._exit(0)
    os.close(tell)
    with os.fdopen(news, "rb") as back:
        for _ in batch:
            if not back.peek(1) if select.select([back], [], [], WALL)[0] else True:
                break
            yield pickle.load(back)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _one(ground: Ground, slip: Slip, origin) -> Tally:
    result = Tally(ground.exercise.id)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            names = [d.id for d in trees(origin).decorator_list if isinstance(d, ast.Name)]
            function = as_a_learner(slip, _space(origin), names[::-1])
        except SyntaxError:
            return result
        result.made = 1
        _try(ground, slip, function, origin, result)
    return result


def as_a_learner(slip: Slip, space: dict, wrapped_in: list[str]):
    """The mutant as a function with a source, as in a notebook, and in its decorators."""
    file = f"<mutant {next(COUNT)}>"
    lines = [line + "\n" for line in slip.text.splitlines()]
    linecache.cache[file] = (len(slip.text), None, lines, file)
    exec(compile(slip.text, file, "exec"), space)
    made = space[slip.tree.name]
    for name in wrapped_in:
        if name in space:  # `staticmethod` is not: it has been taken out of its class
            made = space[name](made)
    return made


COUNT = itertools.count()


def _space(origin) -> dict:
    origin = inspect.unwrap(origin)
    space = dict(origin.__globals__)
    for cell, name in zip(origin.__closure__ or (), origin.__code__.co_freevars, strict=True):
        space[name] = cell.cell_contents
    return space


def _try(ground: Ground, slip: Slip, function, origin, result: Tally) -> None:
    exercise, judge, inputs, right = ground.exercise, ground.judge, ground.inputs, ground.right
    # A softmax by a bare `exp` must meet large scores: no check may find it as good.
    if judge is None and inputs and slip.words != OVERFLOWS:
        for given, expected in zip(inputs, right, strict=True):
            if not same(doing(function, given), expected):
                break
        else:
            result.equal += 1
            return
    if judge is not None:
        with at_most(3.0):
            try:
                with few_steps(30_000):
                    good = judge(function)
            except BaseException:
                good = False
        if good:
            result.equal += 1
            return
    state = torch.random.get_rng_state()
    progress, endless = safely.Progress(), False
    said()  # what was said before
    with at_most(safely.SECONDS / 4, progress):  # one that only grows takes all memory in a second
        try:
            report = exercise._report(function, progress)
        except safely.Stopped:
            report = {"passed": False, "message": "It was still running."}
            endless = True
    torch.random.set_rng_state(state)
    if report["passed"]:
        result.passed.append(f"[{slip.kind}] {slip.text}")
        return
    result.rejected += 1
    if len(textwrap.wrap(report["message"], 96)) > 4:
        result.long.append(report["message"])
    text = f"[{slip.kind}: {slip.words}] {slip.text}\n    → {report['message']}"
    message = Message(
        slip,
        exercise,
        said(),
        function,
        inputs,
        right,
        ground.known,
        judge,
        origin,
        ground.sound[origin],
        endless,
    )
    how, words = name_of(message)
    result.told.append(f"{how or 'generic'} {text}")
    if how == "misleading":
        result.misleading.append(text)
    elif how:
        result.named += 1
        result.words[slip.kind, f"{how}: {words}"] += 1
    else:
        result.generic.append(text)


def keep(found: Tally) -> None:
    """Into the table. It is locked meanwhile: another process may count another chapter."""
    with open(KEPT, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        kept = json.load(file) | {found.id: found.counts()}
        rows = (f'"{id}": {json.dumps(kept[id])}' for id in sorted(kept))
        file.seek(0)
        file.truncate()
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


def main(arguments: list[str]) -> int:
    load()
    verbose = "-v" in arguments
    most = next((int(a[7:]) for a in arguments if a.startswith("--most=")), 10_000)
    wanted = [a for a in arguments if not a.startswith("-")]
    total = Counter()
    torch.set_num_threads(1)
    print(HEAD)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for id in sorted(exercises()):
            if wanted and not any(id.startswith(one) for one in wanted):
                continue
            found = tally(id, Path(folder), most)
            print(found.row(), flush=True)
            for (kind, words), count in found.words.most_common() if "-w" in arguments else ():
                print(f"    {count:4d} {kind}: {words}")
            for text in found.passed:
                print(textwrap.indent(f"PASSED {text}", "    "))
            for text in found.misleading:
                print(textwrap.indent(f"MISLEADING {text}", "    "))
            for text in found.generic if verbose else ():
                print(textwrap.indent(f"GENERIC {text}", "    "))
            for text in found.told if "-a" in arguments else ():
                print(textwrap.indent(f"TOLD {text}", "    "))
            for text in found.long if verbose else ():
                print(textwrap.indent(f"LONG {text}", "    "))
            failed |= bool(found.passed or found.misleading or found.share < NAMED)
            for key in ("made", "equal", "rejected", "named"):
                total[key] += getattr(found, key)
            for key in ("passed", "misleading", "long"):
                total[key] += len(getattr(found, key))
            if "--keep" in arguments:
                keep(found)
    share = total["named"] / max(1, total["rejected"])
    print(
        f"{total['made'] - total['equal']} mutants, {total['passed']} passed, "
        f"{share:.0%} of {total['rejected']} rejections named, {total['misleading']} misleading, "
        f"{total['long']} longer than four lines"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
