"""Near-misses by the hundred: every right answer, with one thing changed, against its checker.

    python tests/exercises/mutants.py            # every exercise: a table, and what slipped through
    python tests/exercises/mutants.py 03.1 08    # one exercise, one chapter
    python tests/exercises/mutants.py -v 03.1    # with the generic rejections, to give them names

The changes are those of `attnlab.checks.slips`: axes, signs, scales, masks, borders, ± 1,
transposes, keepdim, reductions, constants for variables, the first for all, steps left out, and
edits of an
input in place. They are made of the chapter's solution *and* of the right answers in
`answers_NN.py`, which are written differently, so the checker does not know them.

A mutant that equals the solution on every input (those of the check, and forty drawn ones it never
hands over) is thrown away. Of the others,
  passed      counts those the checker took for right,
  named       those whose message tells what was changed: it accuses a known mistake which does the
              same on every input, or quotes the changed line, or says the kind of the change,
  misleading  those accused of a mistake that does something else on most inputs where they are
              wrong (a second mistake, with a batch say, does not make the first one untrue).
An exercise of a new chapter is here as soon as it has a checker and a solution. Without
`@exercise.draws`, fresh inputs are those of the check with their values shuffled.
"""

import ast
import copy
import importlib
import inspect
import re
import signal
import sys
import tempfile
import textwrap
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from chapters import parts
from corpus import RIGHT

from attnlab.checks import exercises, safely
from attnlab.checks.answer import tensor_of
from attnlab.checks.compare import close, is_number
from attnlab.checks.slips import Endless, Slip, few_steps, slips_of

FRESH = range(1000, 1040)

# Words that name a kind of change, where no known mistake was accused.
NAMES = {
    "axis": r"ax[ie]s|rows?\b|columns?\b|along|batch|shape|stack|one number",
    "transpose": r"ax[ie]s|rows?\b|columns?\b|transpose|swap|shape|changed places",
    "scale": r"√|root|scale|divi|σ|lengths?\b",
    "factor": r"√|root|scale|divi|multipl|σ|factor|plays no part|missing|lengths?\b",
    "term": r"missing|added?\b|plus|minus|subtract|bias|plays no part|shape",
    "sign": r"sign\b|minus|plus|negative|ahead|direction|wrong way|subtract",
    "mask": r"mask|hid|kept|left out|leave out|visible|window|wrong way|condition|skip|padding"
    r"|may see|stays as it was",
    "border": r"border|exactly|<=|>=|≤|≥|at least|reach",
    "off by one": r"one too|off by one|shape|border|first|last|returned an? (list|tuple)",
    "keepdim": r"keepdim|axis|shape",
    "reduction": r"all axes|one number|whole|shape|each",
    "function": r"where an? `|tanh|sigmoid|softmax|largest|smallest|best|worst|shape|\blog|product"
    r"|one bad|sum\b|mean\b|lengths?\b|add up",
    "missing": r"missing|still|without|softmax|forgotten|shape|√|√|scale|divide|length",
    "swapped": r"swap|changed places|order|upside|wrong way|shape|belongs",
    "wrong name": r"used where|mixed|plays no part|swap|come from|shape|belongs|intermediate",
    "fixed": r"plays no part|fixed|shape|depends? on",
    "constant": r"constant|base|σ|switch|scale|10000|n − 1|wrong number",
    "condition": r"condition|skip|always|never|one bad|stays as it was",
    "too early": r"intermediate|still|shape|returned|alone|itself|missing",
    "step": r"step|missing|not defined|before it gets|forgotten|returned",
    "first only": r"only the first|shape|all of|every|each",
    "slice": r"slice|shape|too many",
    "power": r"power|root|square|exponent|√",
    "operation": r"multipl|added|product|quotient|remainder|divi|shape",
    "order": r"order|smallest|worst|largest|likeliest|n − 1|divides",
    "in place": r"in place",
}


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
    unjudged: int = 0  # passed where nobody but the checker can tell right from wrong

    @property
    def share(self) -> float:
        return self.named / self.rejected if self.rejected else 1.0

    def row(self) -> str:
        return (
            f"{self.id}  {self.made - self.equal:5d}  {len(self.passed):6d}  {self.share:6.0%}"
            f"  {len(self.misleading):10d}  {self.equal:5d}"
            + (f"  ({self.unjudged} unjudged)" if self.unjudged else "")
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


def in_place(tree: ast.FunctionDef) -> list[Slip]:
    """The same answer, which edits an input on the way."""
    made = []
    for name in [a.arg for a in tree.args.args]:
        for text in (f"{name}.mul_(2)", f"{name}.clear()"):
            other = copy.deepcopy(tree)
            body = other.body
            if not isinstance(body[-1], ast.Return):
                continue
            edit = ast.parse(f"kept = 0\n{text}\nreturn kept").body
            edit[0].value = body[-1].value
            edit[1:] = [edit[1], ast.parse("kept").body[0]]
            other.body = [*body[:-1], edit[0], edit[1], ast.Return(edit[2].value)]
            made.append(Slip("in place", "in place", other, ast.unparse(other)))
    return made


@contextmanager
def at_most(seconds: float):
    """An endless mutant raises TimeoutError after a while."""

    def ring(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)  # and again, should it be called again
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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


def oracle(id: str):
    """For exercises with many right answers: an independent judge of an answer, or None."""
    import oracles

    return oracles.JUDGES.get(id)


def named(slip: Slip, message: str) -> bool:
    if slip.text.splitlines()[max(slip.line - 1, 0)].strip()[:60] in message:
        return True
    if re.search(r"raised \w+Error", message):
        return True  # the error of Python or torch itself, with the learner's own line
    return bool(re.search(NAMES[slip.kind], message))


def tally(id: str, folder: Path, most: int = 10_000) -> Tally:
    """Run the mutants of one exercise, at most so many of each right answer."""
    exercise = exercises()[id]
    name = exercise.call.split("(")[0]
    solution = parts()[id].run("solution", folder)[name]
    judge = oracle(id) if exercise.reference is None else None
    inputs = fresh(exercise)
    right = [doing(exercise.reference or solution, given) for given in inputs]
    known = [*exercise.suspects, *exercise._slips()]
    result = Tally(id)
    seen_texts = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for origin in (solution, *RIGHT[id]):
            tree = trees(origin)
            if tree is None:
                continue
            found = [*slips_of(tree), *in_place(tree)]
            step = max(1, len(found) // most)
            for slip in found[::step][:most]:
                if slip.text in seen_texts:
                    continue
                seen_texts.add(slip.text)
                try:
                    function = slip.function(_space(origin))
                except SyntaxError:
                    continue
                result.made += 1
                _try(exercise, slip, function, judge, inputs, right, known, result)
    return result


def _space(origin) -> dict:
    space = dict(origin.__globals__)
    for cell, name in zip(origin.__closure__ or (), origin.__code__.co_freevars, strict=True):
        space[name] = cell.cell_contents
    return space


def _try(exercise, slip, function, judge, inputs, right, known, result) -> None:
    did = []
    many = exercise.reference is None  # right answers, so that another value need not be wrong
    if not many and inputs:
        for given, expected in zip(inputs, right, strict=True):
            did.append(doing(function, given))
            if not same(did[-1], expected):
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
    with at_most(1.5):
        report = exercise._report(function, safely.Progress())
    torch.random.set_rng_state(state)
    if report["passed"]:
        if many and judge is None:
            result.unjudged += 1
        else:
            result.passed.append(f"[{slip.kind}] {slip.text}")
        return
    result.rejected += 1
    message = report["message"]
    if len(textwrap.wrap(message, 96)) > 4:
        result.long.append(f"{message}")
    accused = [f for words, f in known if words in message]
    if accused:
        did = [doing(function, given) for given in inputs]
        wrong = [not same(one, other) for one, other in zip(did, right, strict=True)]
        pairs = [
            (given, one)
            for given, one, bad in zip(inputs, did, wrong, strict=True)
            if bad and one[0] == ("raises" if " raised " in message else "returns")
        ]
        share = max(sum(same(doing(f, given), one) for given, one in pairs) for f in accused)
        if 2 * share > len(pairs):
            result.named += 1
        else:
            result.misleading.append(f"[{slip.kind}] {slip.text}\n    → {message}")
    elif many or named(slip, message):  # where many are right, the effect is the name
        result.named += 1
    else:
        result.generic.append(f"[{slip.kind}: {slip.words}] {slip.text}\n    → {message}")


def main(arguments: list[str]) -> int:
    for file in sorted(Path(__file__).parent.glob("answers_*.py")):
        importlib.import_module(file.stem)
    verbose = "-v" in arguments
    wanted = [a for a in arguments if a != "-v"]
    total = Counter()
    torch.set_num_threads(1)
    print(HEAD)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for id in sorted(exercises()):
            if wanted and not any(id.startswith(one) for one in wanted):
                continue
            found = tally(id, Path(folder))
            print(found.row(), flush=True)
            for text in found.passed:
                print(textwrap.indent(f"PASSED {text}", "    "))
            for text in found.misleading:
                print(textwrap.indent(f"MISLEADING {text}", "    "))
            for text in found.generic if verbose else ():
                print(textwrap.indent(f"GENERIC {text}", "    "))
            for text in found.long if verbose else ():
                print(textwrap.indent(f"LONG {text}", "    "))
            failed |= bool(found.passed or found.misleading)
            for key in ("made", "equal", "rejected", "named", "unjudged"):
                total[key] += getattr(found, key)
            for key in ("passed", "misleading", "long"):
                total[key] += len(getattr(found, key))
    share = total["named"] / max(1, total["rejected"])
    print(
        f"{total['made'] - total['equal']} mutants, {total['passed']} passed, "
        f"{share:.0%} of {total['rejected']} rejections named, {total['misleading']} misleading, "
        f"{total['long']} longer than four lines"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
