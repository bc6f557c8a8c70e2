"""The device of the GPU exercises: what is chosen, measured, and survived."""

import ast
import time
from pathlib import Path

import pytest
import torch

from attnlab import device
from attnlab.device import Device, find

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CARD = Device(kind="cuda", place="cuda", name="a card", half=torch.float16)
CPU = Device(kind="cpu", place="cpu", name="the CPU", half=torch.bfloat16)


def test_sizes_follow_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CARD.choose(cuda=1, mps=2, cpu=3, pretended=4) == 1
    assert CPU.choose(cuda=1, mps=2, cpu=3, pretended=4) == 3
    monkeypatch.setenv("ATTNLAB_PRETEND_GPU", "1")
    pretended = find()
    assert (pretended.kind, pretended.place, pretended.half) == ("cuda", "cpu", torch.float16)
    assert pretended.choose(cuda=1, cpu=3, pretended=4) == 4
    assert pretended.choose(cuda=1, cpu=3) == 3


def test_the_banner_says_what_to_expect(capsys) -> None:
    CPU.banner(cuda="minutes.", cpu="seconds.")
    said = capsys.readouterr().out
    assert said == "Device found: the CPU.\nWhat to expect: seconds.\n"


def test_memory_is_the_largest_tensor_made_and_no_view() -> None:
    x = torch.zeros(100, 30)
    assert CPU.memory(lambda: x.T[:5]) == 0
    assert CPU.memory(lambda: (x[:7] @ x.T).sum()) == 7 * 100 * 4


def test_out_of_memory_ends_the_block_only(capsys) -> None:
    with CPU.until_full("explicit"):
        raise torch.OutOfMemoryError("out of memory")
    assert capsys.readouterr().out == "explicit: out of memory\n"
    with pytest.raises(RuntimeError, match="shapes"), CPU.until_full("explicit"):
        raise RuntimeError("shapes do not fit")


def test_a_card_is_asked_what_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of CUDA itself, which only a stand-in can answer here."""
    told = []
    answers = {"total_memory": 16e9}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: type("Card", (), answers))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda name=name: told.append(name))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 40)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 100)
    monkeypatch.delenv(device.PRETEND, raising=False)
    card = find()
    assert (card.name, card.half) == ("Tesla T4, 16 GB", torch.float16)
    assert card.memory(lambda: None) == 60
    assert card.seconds(lambda: None, repeats=1) >= 0
    spent = card.stopwatch()
    assert told.count("synchronize") == 2
    assert spent() >= 0
    with card.until_full("x"):
        pass
    assert told == ["reset_peak_memory_stats", *["synchronize"] * 3, "empty_cache"]


def test_clocks_give_the_best_of_a_few_runs_and_cpu_time() -> None:
    waits = iter((0.02, 0.0, 0.02))
    spent = device.stopwatch()
    assert device.seconds(lambda: time.sleep(next(waits)), repeats=3) < 0.02
    assert spent() < 0.02  # sleeping is no work


CLOCKS = ("time", "perf_counter", "process_time", "monotonic", "synchronize")


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.py")), ids=lambda path: path.stem)
def test_no_notebook_has_a_clock_of_its_own(path: Path) -> None:
    """They ask `seconds` and `stopwatch`, which know how to wait for a device."""
    calls = (
        n.func for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)
    )
    own = [f"{ast.unparse(one)}()" for one in calls if getattr(one, "attr", "") in CLOCKS]
    assert not own, f"{path.name} reads a clock by {own}"
