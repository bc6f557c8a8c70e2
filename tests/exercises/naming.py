"""Does a message name the mistake? An honest measure for the mutation harness.

A rejection counts as named when
- it accuses a known mistake (a suspect, a slip) that does the same as the mutant on *every* input,
- or it points to a line and says what kind of change would help, that change makes the mutant right
  on every input, and it is what undoes the mutation, or is on the very line of it, or its words
  are of this kind of change (NAMES): a change elsewhere, of another kind, may help as well, but
  does not tell the mistake,
- or it says that a name plays no part, and the mutation took the last use of that name away,
- or it says that a name has no value, and the mutation dropped the step that gives it one, or put
  another name there,
- or it says that the answer goes on for ever, and it does,
- or, where many answers are right, it states an effect by more than a number, and measured apart
  from the checker (effects.py) that is the effect,
- or a property's own words speak of this kind of change (NAMES).
What does not count: an error of Python or torch and what it generally means (MEANT says for which
changes that is the mistake), a wrong shape, type or number, and the right formula.

Misleading is an accusation that any input contradicts: a known mistake that does something else
there, a change that does not mend it, a claim about axes or overflow (CLAIMS) that does not hold,
or a name that played no part in the right answer either.
"""

import ast
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from effects import EFFECTS

from attnlab.checks import exercise as exercise_module
from attnlab.checks import explain
from attnlab.checks.answer import OVERFLOWS, tensor_of
from attnlab.checks.exercise import Exercise
from attnlab.checks.repair import left_over, unused
from attnlab.checks.slips import Slip

# Words of a property that name a kind of change, where no known mistake was accused.
NAMES = {
    "axis": r"\bax[ie]s\b|columns do|rows do|along",
    "transpose": r"\bax[ie]s\b|transpose|swap|changed places",
    "scale": r"√|root|scale|divi|too (large|small)",
    "factor": r"√|root|scale|divi|multipl|factor|too (large|small)",
    "term": r"missing|added|plus|minus|subtract|bias",
    "sign": r"\bsign\b|minus|negative|ahead|direction|wrong way|subtract",
    "mask": r"\bmask|hidden|left out|leave out|wrong way|padding|may see|stays as it was",
    "border": r"border|exactly|<=|>=|≤|≥|at least",
    "off by one": r"one too|off by one|border|the first|the last",
    "keepdim": r"keepdim|an axis",
    "reduction": r"all axes|one number for|the whole",
    "function": r"where an? `|largest|smallest|best|worst|add up",
    "missing": r"missing|without|forgotten",
    "swapped": r"swap|changed places|order|upside|wrong way",
    "wrong name": r"used where|mixed up|swap|changed places",
    "fixed": r"plays no part|fixed|whatever|the same for",
    "constant": r"constant|base\b|switch|10000|n − 1",
    "condition": r"condition|always|never|stays as it was",
    "too early": r"intermediate|returned .* itself|not yet",
    "step": r"\bstep\b|missing|forgotten",
    "first only": r"only the first|all of|every one",
    "slice": r"slice|too many|cut",
    "power": r"power|root|square|exponent|√",
    "operation": r"multipl|added|product|quotient|remainder|divi",
    "overflow": r"overflow|−∞|−inf",
    "order": r"order|smallest|worst|largest|likeliest|n − 1",
    "in place": r"in place",
}

# What an error of Python or torch generally means is the mistake only for these changes.
MEANT = {
    r"^In a product `a @ b`": {"transpose"},
    r"^`\.T` turns all the axes": {"transpose"},
    r"^Two shapes do not fit together": {"keepdim"},
    r"^Count axes from the back": {"axis"},
    r"runs past the end of an axis": {"off by one", "border"},
    r"^It calls itself without end": {"mask", "condition", "border", "slice", "off by one", "step"},
}
_GENERAL = {words.split("{0}")[0].split("`")[0] for _, _, words in explain._MEANINGS}
_FORMULA = re.compile(r"It should be|[ (]= |softmax\(|\bexp\(|^[^.?]*[·Σ]")


_PARTS: list[tuple[str, str, str]] = []


@functools.cache
def _listen() -> None:
    """Keep what every message is made of: what was seen, the cause, the likely cause."""
    whole = exercise_module._sentences

    def sentences(seen: str, cause: str, likely: str) -> str:
        _PARTS[:] = [(seen, cause, likely)]
        return whole(seen, cause, likely)

    exercise_module._sentences = sentences


_listen()


def said() -> tuple[str, str, str]:
    """The parts of the last message; empty where the check spoke of an unfinished answer."""
    return _PARTS.pop() if _PARTS else ("", "", "")


@dataclass
class Message:
    """One rejection, and all that is needed to judge it."""

    slip: Slip
    exercise: Exercise
    parts: tuple[str, str, str]
    function: Any
    inputs: list
    right: list
    known: list
    judge: Any
    origin: Any  # the right answer that was changed
    sound: list  # on which inputs that is right
    endless: bool  # it was stopped

    def did(self) -> list:
        from mutants import doing

        return [doing(self.function, given) for given in self.inputs]


# ── claims that a message may make beside the cause, and whether every input bears them out ─────


def _shapes_are(message: Message, fits: Callable[[Any, Any], bool]) -> bool:
    """On every input where both return a tensor."""
    for one, other in zip(message.did(), message.right, strict=True):
        a, b = one[1], other[1]
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and not fits(a, b):
            return False
    return True


def _swapped(a, b) -> bool:
    return a.shape == b.shape or (a.ndim > 1 and a.mT.shape == b.shape)


def _ones(a, b) -> bool:
    return [n for n in a.shape if n != 1] == [n for n in b.shape if n != 1]


def _overflows(message: Message) -> bool:
    """Right wherever the numbers are of usual size."""
    from mutants import alike

    for given, one, other in zip(message.inputs, message.did(), message.right, strict=True):
        floats = [x for x in given if isinstance(x, torch.Tensor) and x.is_floating_point()]
        usual = all(not x.numel() or float(x.nan_to_num().abs().max()) < 20 for x in floats)
        factors = [x for x in given if isinstance(x, float) and x]  # a temperature, a strength
        usual &= all(1 / 20 < abs(x) < 20 for x in factors)
        if floats and usual and not alike(one, other):
            return False
    return True


CLAIMS: list[tuple[str, Callable[[Message], bool], set[str]]] = [  # and the changes they name
    ("The last two axes are swapped.", lambda m: _shapes_are(m, _swapped), {"transpose", "axis"}),
    (
        "An axis of size 1 is too many or missing.",
        lambda m: _shapes_are(m, _ones),
        {"keepdim", "slice", "axis"},
    ),
    (OVERFLOWS, _overflows, {"overflow"}),
]


# What is merely seen: the error of Python or torch, a shape, a number, a type.
_SEEN = re.compile(
    r"`\w+` raised .*|With .*?, (at \[|there is|in result|the shape is|\d+ of \d+ numbers).*"
    r"|With .*the result has shape .*|The result holds .*|`\w+` returned .*",
    re.DOTALL,
)


def _undone(message: Message, text: str) -> bool:
    """Is the mutant, with this change, the right answer that it was made of?"""
    from mutants import trees

    def plainly(tree: ast.FunctionDef) -> str:
        tree.decorator_list = []
        if ast.get_docstring(tree) is not None:
            tree.body = tree.body[1:]
        return ast.unparse(tree)

    before, now = trees(message.origin), ast.parse(text).body[0]
    return before is not None and plainly(before) == plainly(now)


def name_of(message: Message) -> tuple[str, str]:
    """How the mistake is named and by which words; "misleading"; or nothing."""
    from mutants import alike, doing

    seen, cause, likely = message.parts
    kind = message.slip.kind
    accused = [f for words, f in message.known if words == cause]
    repaired = message.exercise.repaired
    if accused:
        did = [doing(message.function, given) for given in message.inputs]
        for one in accused:
            if all(alike(doing(one, g), d) for g, d in zip(message.inputs, did, strict=True)):
                return "known", cause
        return "misleading", cause
    if repaired is not None and cause == repaired.words:
        if message.exercise.reference is None:
            right = message.judge is None or message.judge(repaired.function)
        else:
            cases = zip(message.inputs, message.right, message.sound, strict=True)
            right = all(alike(doing(repaired.function, g), r) for g, r, sound in cases if sound)
        if not right:
            return "misleading", cause
        if _undone(message, repaired.text):
            return "undone", cause
        if repaired.line == message.slip.line:
            return "on its line", cause
        return ("of its kind" if re.search(NAMES[kind], cause.rpartition("`:")[2]) else ""), cause
    if cause:  # the answer is random
        return "read", cause
    if re.search(r"^`\w+` (is computed and never used|plays no part)", likely):
        # As in the right answer that was changed? A question accuses nobody.
        if likely in (left_over(message.origin), unused(message.origin)):
            return ("" if likely.endswith("?") else "misleading"), ""
        return "read", likely
    if message.endless:
        return "endless", "still running"
    if no_value := re.search(r"raised (?:NameError|UnboundLocalError): .*?'(\w+)'", seen):
        if kind in ("step", "too early") or f"`{no_value[1]}`" in message.slip.words:
            return "error", no_value[0]
        return "", ""
    for claim, holds, kinds in CLAIMS:
        if likely == claim and message.exercise.reference is not None:
            named = "claim" if kind in kinds else ""
            return (named if holds(message) else "misleading"), claim
    for pattern, kinds in MEANT.items():
        if re.search(pattern, likely):
            return ("error" if kind in kinds else ""), likely
    if message.exercise.id in EFFECTS and not re.match(r"`\w+` raised", seen):
        try:
            true = EFFECTS[message.exercise.id](
                lambda *given: tensor_of(message.function(*given)), f"{seen} {likely}"
            )
        except Exception:
            return "", ""
        return {True: "effect", False: "misleading", None: ""}[true], seen
    general = any(likely.startswith(words) for words in _GENERAL if words)
    guess = "" if general or _FORMULA.search(likely) else likely
    own = f"{'' if _SEEN.fullmatch(seen) else seen} {guess}"
    if re.search(NAMES[kind], own):
        return "words", own
    return "", ""
