"""Run a job in a child process, watch it, and end it when its time is up.

The child reports what it prints as it goes, and its value at the end, as lines of JSON. When time
is up, a signal makes it write down its stack (`faulthandler` does so even inside C code that keeps
the interpreter's lock), then it is killed with everything it has started.
"""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import json
import os
import re
import select
import signal
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import torch

from attnlab.checks import safely, state

if sys.platform != "win32":
    import resource

MEMORY = 1 << 30  # bytes that an answer may ask for, above what the notebook has


def run(job: safely.Job, seconds: float, progress: safely.Progress) -> safely.Outcome:
    """As `safely.run`. Raises OSError when there can be no second process."""
    news, tell = os.pipe()
    trace, dump = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12: "multi-threaded, use of fork() …"
            pid = os.fork()
    except OSError:
        for end in (news, tell, trace, dump):
            os.close(end)
        raise
    if pid == 0:
        try:
            _child(job, progress, tell, dump)
        finally:
            os._exit(70)
    os.close(tell)
    os.close(dump)
    in_time = False
    try:
        outcome, in_time = _listen(pid, news, seconds, progress)
        if not in_time:
            outcome.stack = _stack(pid, trace)
    finally:  # also when the learner interrupts the kernel
        status = _end(pid, patient=in_time)
        os.close(news)
        os.close(trace)
    if in_time and not outcome.ended:
        outcome.died = _cause(status)
    return outcome


def _listen(
    pid: int, news: int, seconds: float, progress: safely.Progress
) -> tuple[safely.Outcome, bool]:
    """What the child says, until it has ended or its time is up (False)."""
    outcome = safely.Outcome()
    paper = safely.Paper()
    said = b""
    clock, drafted = _Clock(pid, seconds), False
    while not outcome.ended:
        if select.select([news], [], [], 0.05)[0]:
            part = os.read(news, 1 << 16)
            if not part:
                break
            *lines, said = (said + part).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "printed" in message:
                    paper.kept += message["printed"]
                    paper.lost |= not message["printed"]
                elif "draft" in message:
                    outcome.value, drafted = message["draft"], True
                    clock.search()
                else:
                    outcome.ended = True
                    outcome.value, outcome.error = message["value"], message["error"]
        if not outcome.ended and clock.is_up(progress):
            break
    outcome.took = clock.took
    outcome.printed = paper.text()
    in_time = outcome.ended or not clock.up
    outcome.ended |= drafted  # the search for a name went wrong, or took too long
    return outcome, in_time or drafted


class _Clock:
    """How long a child may go on: by what it computes, and by the clock where it does not.

    On a busy machine a process may wait several seconds for one of computing, and a right answer
    must not be stopped for that; one that sleeps does not compute at all.
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self.pid, self.seconds = pid, seconds
        self.answers, self.checks = _Time(), _Time()
        self.start = self.last = time.monotonic()
        self.cpu = self._cpu()
        self.until = self.start + safely.AT_MOST
        self.up = False

    @property
    def took(self) -> float:
        return time.monotonic() - self.start

    def _cpu(self) -> float:
        """Seconds that the child has computed: its own clock, see clock_gettime(2)."""
        try:
            return time.clock_gettime(~self.pid << 3 | 2)
        except OSError:  # it has ended
            return 0.0

    def search(self) -> None:
        """What is wrong is known. From here on, little time; on a busy machine, even less."""
        now = time.monotonic()
        least, most = now + safely.SEARCH / 2, now + safely.SEARCH
        self.until = min(self.until, max(least, min(most, self.start + safely.VERDICT)))
        self.checks = _Time()

    def is_up(self, progress: safely.Progress) -> bool:
        now, cpu = time.monotonic(), self._cpu()
        if not progress.importing:
            spent = self.answers if progress.running else self.checks
            spent.add(now - self.last, max(cpu - self.cpu, 0.0), self._waits_for_its_turn())
        self.last, self.cpu = now, cpu
        late = self.answers.over(self.seconds) or self.checks.over(safely.OURS)
        self.up = late or now > self.until
        return self.up

    def _waits_for_its_turn(self) -> bool:
        """It computes, or would if it could; else it sleeps, or waits for something."""
        try:
            with open(f"/proc/{self.pid}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0] == "R"
        except (OSError, IndexError):
            return False


@dataclass
class _Time:
    """Seconds by the clock, of computing, and of being ready to compute."""

    passed: float = 0.0
    computed: float = 0.0
    ready: float = 0.0

    def add(self, passed: float, computed: float, ready: bool) -> None:
        self.passed += passed
        self.computed += computed
        self.ready += passed * ready

    def over(self, seconds: float) -> bool:
        """That many of computing; or somewhat more by the clock, asleep or with enough computed.

        What is enough falls as time goes by: nobody waits forever, however busy the machine.
        """
        late = self.passed > safely.WALL * seconds
        asleep = self.ready < 0.5 * self.passed
        enough = safely.ENOUGH * safely.WALL * seconds**2 / max(self.passed, 1e-9)
        return self.computed > seconds or (late and (asleep or self.computed > enough))


def _child(job: safely.Job, progress: safely.Progress, tell: int, dump: int) -> None:
    """In the child: a quiet place, one thread, then the job."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.disable()  # a crash is told by the parent, in a sentence
    faulthandler.register(signal.SIGUSR1, file=dump, all_threads=False)
    pages = int(open("/proc/self/statm").read().split()[0])  # noqa: SIM115 - it ends in a moment
    most = pages * resource.getpagesize() + MEMORY
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    torch.set_num_threads(1)  # the threads of OpenMP have stayed with the parent
    sys.addaudithook(lambda event, _: progress.imports() if event == "import" else None)

    def send(**message: Any) -> None:
        rest = (json.dumps(message) + "\n").encode()
        while rest:
            rest = rest[os.write(tell, rest) :]

    paper = safely.Paper(send=lambda text: send(printed=text))
    _no_front_end(paper)
    value, error = None, ""
    with state.kept(), safely.listening(paper):
        try:
            value = job(lambda draft: send(draft=draft))
        except BaseException as problem:
            error = repr(problem)
        send(value=value, error=error)
        os._exit(0)  # at once: nothing that the answer left for exit is run


def _no_front_end(paper: safely.Paper) -> None:
    """The notebook's channels belong to the parent: figures become their text, input is refused."""

    def publish(data: dict[str, Any], *_: Any, **__: Any) -> None:
        paper.write(f"{data.get('text/plain', '')}\n")

    def ask(*_: Any) -> str:
        raise EOFError("an answer cannot ask for input while it is checked")

    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        shell.display_pub.publish = publish
    builtins.input = ask
    sys.breakpointhook = lambda *_, **__: None
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - it ends with the process


def _stack(pid: int, trace: int) -> list[tuple[str, int]]:
    """Where the child is, innermost first."""
    os.kill(pid, signal.SIGUSR1)
    text = b""
    until = time.monotonic() + 0.3
    while time.monotonic() < until and select.select([trace], [], [], 0.02 if text else 0.2)[0]:
        part = os.read(trace, 1 << 16)
        if not part:
            break
        text += part
    found = re.findall(r'File "(.*)", line (\d+) in', text.decode(errors="replace"))
    return [(file, int(line)) for file, line in found]


def _end(pid: int, patient: bool) -> int:
    """Kill the child and all that it has started; returns how it ended."""
    done, status = os.waitpid(pid, os.WNOHANG)
    for _ in range(10 * patient):  # it may be about to end by itself, with a status of its own
        if done:
            break
        time.sleep(0.005)
        done, status = os.waitpid(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    if not done:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return status


def _cause(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"ended Python itself, with exit code {code}"
    name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
    return f"made Python crash ({name})"
