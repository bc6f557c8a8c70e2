"""Does a message name the mistake? An honest measure for the mutation harness.

A rejection counts as named when
- it accuses a known mistake (a suspect, a slip) that does the same as the mutant on *every* input,
- or it points to a line and says what kind of change would help, and that change makes the mutant
  right on every input,
- or it says that a name plays no part, and the mutation took the last use of that name away,
- or, where many answers are right, it states an effect, and measured apart from the checker
  (effects.py) that is the effect,
- or the checker's own words speak of this kind of change. What does not count: the quoted error of
  Python or torch, a wrong shape, type or number by itself. An error counts only where the mutation
  is just that: a name without a value because its step was dropped or another name stands there.
An accusation that any input contradicts is misleading.
"""

import functools
import re
from dataclasses import dataclass
from typing import Any

from effects import EFFECTS

from attnlab.checks import exercise as exercise_module
from attnlab.checks.exercise import Exercise
from attnlab.checks.slips import Slip

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


# What is merely seen: the error of Python or torch, a shape, a number, a type.
_SEEN = re.compile(
    r"`\w+` raised .*|With .*?, (at \[|there is|in result|the shape is|\d+ of \d+ numbers).*"
    r"|With .*the result has shape .*|The result holds .*|`\w+` returned .*",
    re.DOTALL,
)


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
            pairs = zip(message.inputs, message.right, strict=True)
            right = all(alike(doing(repaired.function, g), r) for g, r in pairs)
        return ("mended" if right else "misleading"), cause
    if cause:  # the answer is random
        return "read", cause
    if re.search(r"^`\w+` (is computed and never used|plays no part)", likely):
        return "read", likely  # a fact of the code, and no right answer has such a name
    if no_value := re.search(r"raised (?:NameError|UnboundLocalError): .*?'(\w+)'", seen):
        if kind in ("step", "too early") or f"`{no_value[1]}`" in message.slip.words:
            return "error", no_value[0]
        return "", ""
    if message.exercise.id in EFFECTS:
        try:
            true = EFFECTS[message.exercise.id](message.function, f"{seen} {likely}")
        except Exception:
            return "", ""
        return {True: "effect", False: "misleading", None: ""}[true], seen
    own = f"{'' if _SEEN.fullmatch(seen) else seen} {likely}"
    if re.search(NAMES[kind], own):
        return "words", own
    return "", ""
