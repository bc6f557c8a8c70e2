"""Two hundred checks in one kernel, every other answer a hostile one: what is left of it?

    python tests/exercises/endurance.py          # 200 checks
    python tests/exercises/endurance.py 400

Hostile answers of every kind are spread over all exercises. After each comes an honest one, right
or wrong in turn. Measured are crashes of the kernel, tracebacks, right answers that are harmed by
what came before, wrong ones that pass, and the time of the verdicts, against the bars: by the
clock, and beside it in seconds of computing, which a busy machine does not change.
"""

import contextlib
import io
import itertools
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

MEDIAN, HONEST, HOSTILE = 0.2, 1.0, 2.5  # seconds


def cases():
    """(id, what it does, the answer) for ever: a hostile answer of each kind in its turn."""
    import torch
    from corpus import RIGHT
    from hostile import hostile

    from attnlab.checks import exercises

    every = [(id, exercise) for id, exercise in sorted(exercises().items()) if RIGHT[id]]
    count = itertools.count()
    while True:
        for id, exercise in every:
            given = next(iter(exercise.inputs()), ())
            edits = bool(given) and isinstance(given[0], torch.Tensor)
            name = exercise.call.split("(")[0]
            kinds = [k for k in hostile(RIGHT[id][0], name, edits, False) if "nan" not in k[0]]
            what, answer, _ = kinds[next(count) % len(kinds)]
            yield id, what, answer


def computing() -> float:
    """Seconds that this process and those it has ended have computed."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def middle(times) -> tuple[float, ...]:
    every = list(itertools.chain(*times.values()))
    return tuple(statistics.median(column) for column in zip(*every, strict=True))


def slowest(times) -> tuple[float, ...]:
    every = list(itertools.chain(*times.values()))
    return tuple(max(column) for column in zip(*every, strict=True))


def slow(times) -> str:
    """The label of the slowest by the clock."""
    return f"({max(times, key=lambda label: max(times[label]))})"


def inside(count: int) -> bool:
    """In the kernel. Prints what was measured, and says whether the bars hold."""
    from corpus import RIGHT, WRONG, load

    from attnlab.checks import check

    load()
    harmed, fooled, trusted, traces, kinds = [], [], [], [], set()
    honest, hostile = {}, {}  # label → (seconds by the clock, seconds of computing) of each check
    for turn, (id, what, bad) in enumerate(itertools.islice(cases(), count // 2)):
        right = turn % 4 != 3
        good = RIGHT[id][0] if right else WRONG[id][turn % len(WRONG[id])][0]
        for answer, times, label in ((bad, hostile, f"{id} {what}"), (good, honest, id)):
            shown = io.StringIO()
            started, computed = time.monotonic(), computing()
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
                verdict = check(id, answer)
            took = time.monotonic() - started, computing() - computed
            times.setdefault(label, []).append(took)
            if "Traceback" in shown.getvalue() or "stumbled" in verdict.message:
                traces.append(label)
            if answer is bad:
                kinds.add(what)
                if verdict:
                    trusted.append(label)
            elif right and not verdict:
                harmed.append(f"{id} after “{what}”: {verdict.message}")
            elif not right and verdict:
                fooled.append(f"{id} after “{what}”")
    bars = [
        ("tracebacks or stumbles", len(traces), None, 0, ""),
        ("right answers harmed", len(harmed), None, 0, ""),
        ("wrong answers let through", len(fooled), None, 0, ""),
        ("hostile answers let through", len(trusted), None, 0, ""),
        ("honest verdict, median", *middle(honest), MEDIAN, ""),
        ("honest verdict, slowest", *slowest(honest), HONEST, slow(honest)),
        ("hostile verdict, slowest", *slowest(hostile), HOSTILE, slow(hostile)),
    ]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    print(f"{count} checks, {len(kinds)} kinds of hostile answers, load {load:.1f}")
    print(f"        {'':28}   seen  bar   computing")
    for what, seen, cpu, bar, note in bars:
        mark = "ok  " if seen <= bar else "OVER"
        more = "" if cpu is None else f"{cpu:6.2f} s  {note}"
        print(f"  {mark}  {what:28} {seen:6.3g}  {bar:<4}  {more}".rstrip())
    for line in (*traces, *harmed, *fooled, *trusted):
        print(f"    {line}")
    return all(seen <= bar for _, seen, _, bar, _ in bars)


def main(arguments: list[str]) -> int:
    if "--inside" in arguments:
        return 0 if inside(int(arguments[0])) else 1
    count = arguments[0] if arguments else "200"
    code = subprocess.run([sys.executable, __file__, count, "--inside"], check=False).returncode
    crashed = code not in (0, 1)
    print(f"  {'OVER' if crashed else 'ok  '}  {'crashes of the kernel':28} {int(crashed):6}  0")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
