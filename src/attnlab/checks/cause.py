"""What a mistake is called: a known one, a slip of the plain answer, or what would mend it.

Nothing is named that an input contradicts: a suspect must do on every input what the answer does,
and a repair must make it right on every one.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from attnlab.checks import safely
from attnlab.checks.answer import Answer, Call
from attnlab.checks.arguments import argument_names, tensor_of
from attnlab.checks.compare import close, is_number, kind
from attnlab.checks.explain import words_of
from attnlab.checks.look import ONES, SWAPPED, about_shapes
from attnlab.checks.quoted import bears_out, never_filled
from attnlab.checks.repair import Repair, repair
from attnlab.checks.state import Unguarded
from attnlab.checks.tried import helps

if TYPE_CHECKING:
    from attnlab.checks.exercise import Exercise

MORE = range(500, 536)  # seeds of the inputs on which a suspect is tried before it is named
ENOUGH = 12  # of these, should the answer or the machine be slow; on fewer, nobody is accused
PATIENCE = 0.2  # seconds for calling an answer again, to find out what its mistake is called
MENDING = 0.35  # seconds for trying repairs, and what is left of the patience
LOOKING = 0.2  # seconds for trying slips, or what is left of all three,
AT_LEAST = 0.15  # but so many
_BEYOND = (RecursionError, MemoryError, SystemExit, KeyboardInterrupt, StopIteration)


def cause_of(exercise: Exercise, answer: Answer) -> tuple[str, Repair | None]:
    """The words for what is wrong with the answer, if that can be told for certain.

    First come the suspects of the chapter: one is named only if it does what the answer does on
    every input, and was wrong on the last. Then the answer itself is changed until it is right.
    Where no single change does that, the slips of the plain answer are tried as the suspects were:
    their words are about another text, so they come last.
    """
    if answer.calls and isinstance(answer.calls[-1].error, _BEYOND):
        return "", None  # the error says it all, and to try again would take long
    started = time.thread_time()
    if exercise.reference is None:  # many are right: nothing can be compared, but mended
        right, line = _judge(exercise, []), answer.calls[-1].line if answer.calls else 0
        found = repair(answer.function, right, exercise.plain(), LOOKING + MENDING, line=line)
        return (found.words, found) if found else ("", None)
    calls = answer.calls
    if not calls or _beside_the_values(exercise, calls[-1]):
        return "", None
    if calls[-1].error is None and not _plain(calls[-1].seen):
        return "", None  # nobody knows what these objects do: the answer is not called again
    inputs = exercise.inputs(seeds=MORE)  # that it has not seen yet
    more = _asked(answer, inputs)
    known = [*reversed(calls), *more]
    enough = len(more) >= min(ENOUGH, len(inputs))
    words = (_suspected(exercise, known) if enough else "") or _dice(answer)
    if words:
        return words, None
    flags = [
        name
        for name, value in zip(argument_names(exercise.call), calls[-1].given, strict=True)
        if isinstance(value, Tensor) and kind(value) == "bool"
    ]
    right = _judge(exercise, [*(call.given for call in known), *inputs[len(more) :]])
    until = started + PATIENCE + MENDING + LOOKING
    left = max(MENDING, until - LOOKING - time.thread_time())
    found = repair(answer.function, right, exercise.plain(), left, flags, calls[-1].line)
    if found:
        return found.words, found
    left = min(LOOKING, max(AT_LEAST, until - time.thread_time()))
    return (_slipped(exercise, answer, known, left) if enough else ""), None


def agreed(exercise: Exercise, answer: Answer, likely: str) -> str:
    """What was guessed from one shape, unless another input contradicts it."""
    if likely not in (SWAPPED, ONES) or exercise.reference is None:
        return likely
    for call in _asked(answer, exercise.inputs(seeds=MORE)):
        seen, right = call.seen, exercise.reference(*copy.deepcopy(call.given))
        if not isinstance(seen, Tensor) or not isinstance(right, Tensor):
            continue
        shapes = tuple(seen.shape), tuple(right.shape)
        if shapes[0] != shapes[1] and about_shapes(*shapes) != likely:
            return ""
    return likely


def _suspected(exercise: Exercise, known: list[Call]) -> str:
    """The words of the suspect that did the same in all these calls."""
    if known[0].error is None and not _comparable(known[0].seen):
        return ""  # nothing in it to know a mistake by
    for words, suspect in exercise.suspects:
        if all(_same_doing(suspect, call) for call in known):
            return words
    return ""


def _slipped(exercise: Exercise, answer: Answer, known: list[Call], seconds: float) -> str:
    """The words of the slip of the plain answer that did the same in all these calls."""
    if known[0].error is not None or not _comparable(known[0].seen):
        return ""  # by an error, one slip can hardly be told from another
    if len(known) > 1 and all(_equal(known[0].seen, call.seen) for call in known[1:]):
        return ""  # the same for every input: many a slip does that now and then
    started, plain = time.thread_time(), exercise.plain()
    for count, (words, slip) in enumerate(exercise.slips()):
        same = all(_same_doing(slip, call) for call in known)
        if (
            same
            and bears_out(answer.function, plain, words)
            and helps(
                answer.function,
                plain,
                words,
                lambda: _judge(exercise, [call.given for call in known]),
            )
        ):
            return words
        if count % 8 == 7 and time.thread_time() - started > seconds:
            break
    return ""


def _beside_the_values(exercise: Exercise, last: Call) -> bool:
    """The values were right, something else was not."""
    if last.error is not None or exercise.reference is None:
        return False
    return close(last.seen, exercise.reference(*last.given))


def _judge(
    exercise: Exercise, inputs: list[tuple[Any, ...]]
) -> Callable[[Callable[..., Any]], bool]:
    """Is a function right on these inputs? Without a reference: has it every property?"""
    if exercise.reference is None:
        unguarded = Unguarded()  # what is tried here only computes

        def holds(function: Callable[..., Any]) -> bool:
            try:
                one = Answer(function, exercise.call, exercise.returns, guard=unguarded)
                for holds in exercise.properties.values():
                    holds(one)
            except Exception:
                return False
            return True

        return holds
    reference = exercise.reference
    pairs = [(given, reference(*copy.deepcopy(given))) for given in inputs]

    def right(function: Callable[..., Any]) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for given, expected in pairs:
                try:
                    seen = tensor_of(function(*copy.deepcopy(given)))
                    if not close(seen, expected):
                        return False
                except Exception:
                    return False
        return True

    return right


def _asked(answer: Answer, inputs: list[tuple[Any, ...]]) -> list[Call]:
    calls: list[Call] = []
    started, computed = time.monotonic(), time.thread_time()
    for given in inputs:
        call = Call(given, checked=False)
        try:
            call.seen = tensor_of(answer.run(*copy.deepcopy(given)))
        except safely.Stopped:
            raise
        except BaseException as error:
            call.error = error.with_traceback(None)
        calls.append(call)
        most = PATIENCE if len(calls) >= ENOUGH else 2 * PATIENCE
        late = time.thread_time() - computed > most
        if late or time.monotonic() - started > 6 * PATIENCE:  # it may sleep, the machine be busy
            break
    return calls


def _dice(answer: Answer) -> str:
    """Words for an answer that does not give the same twice."""
    last = answer.calls[-1] if answer.calls else None
    if last is None or last.error is not None or not _comparable(last.seen):
        return ""
    try:
        again = tensor_of(answer.run(*copy.deepcopy(last.given)))
    except safely.Stopped:
        raise
    except BaseException:
        return ""
    if close(again, last.seen):
        return ""
    if name := never_filled(answer.function):
        return f"`{name}` holds whatever was in memory, and some places of it are never filled."
    return "Called twice with the same arguments it gives two results: something in it is random."


def _plain(value: Any) -> bool:
    """Numbers and words; two other objects may count as different, however alike they are."""
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return isinstance(value, Tensor | bool | str) or is_number(value)


def _comparable(value: Any) -> bool:
    """Plain, and not without numbers: by those a mistake is known."""
    if isinstance(value, Tensor):
        return value.numel() > 0
    if isinstance(value, list | tuple) and value:
        return _plain(value) and any(map(_comparable, value))
    return _plain(value)


def _same_doing(suspect: Callable[..., Any], call: Call) -> bool:
    """Does the suspect return, or raise, what the answer did?"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = tensor_of(suspect(*copy.deepcopy(call.given)))
    except Exception as error:
        other = call.error
        if other is None or not call.checked:
            return other is not None
        return type(error) is type(other) and words_of(error) == words_of(other)
    return call.error is None and _equal(call.seen, value)


def _equal(seen: Any, value: Any) -> bool:
    """The same up to rounding, measured by the largest number: 1e-7 is no zero among such."""
    if isinstance(seen, Tensor) and isinstance(value, Tensor):
        if seen.shape != value.shape:
            return False
        if not seen.numel():
            return True  # without numbers, their kind says nothing: `torch.tensor([])` is float
        if kind(seen) != kind(value):
            return False
        if seen.is_floating_point():
            a, b = seen.detach().double(), value.detach().double()
            odd = ~a.isfinite()
            if bool((odd != ~b.isfinite()).any()) or not close(a[odd], b[odd]):
                return False
            a, b = a[~odd], b[~odd]
            return not a.numel() or float((a - b).abs().max()) <= 1e-3 * float(a.abs().max())
    elif isinstance(seen, Tensor) and seen.numel() != 1:
        return False  # a whole tensor of threes is not the number 3
    elif isinstance(seen, list | tuple) and isinstance(value, list | tuple):
        return len(seen) == len(value) and all(map(_equal, seen, value))
    return close(seen, value)
