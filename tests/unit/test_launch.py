"""The launch files: FSDP trains as DDP does, goes on after a stop, and the rest can be read."""

import re
import subprocess
import sys
from pathlib import Path

from tests.unit.test_pretrain import ROOT, TINY, environment

LAUNCH = ROOT / "training" / "launch"
SAME = ["--interval", "5", "--lr", "0.001"]


def losses(folder: Path, steps: int, processes: int) -> dict[int, float]:
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        "--nproc-per-node", str(processes), str(LAUNCH / "fsdp.py"), *TINY, *SAME,
        "--steps", str(steps), "--folder", str(folder),
    ]  # fmt: skip
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    return {
        int(step): float(loss)
        for step, loss in re.findall(r"step +(\d+) +training loss ([\d.]+)", done.stdout)
    }


def test_shares_are_the_whole_and_go_on_after_a_stop(tmp_path: Path) -> None:
    """Two processes equal one; started again, they go on from the checkpoint."""
    one = losses(tmp_path / "one", 10, 1)
    two = losses(tmp_path / "two", 10, 2)
    assert list(one) == list(two) == [5, 10]
    assert all(abs(one[step] - two[step]) < 2e-4 for step in one)
    again = losses(tmp_path / "two", 15, 2)
    assert list(again) == [15]
    assert again[15] < two[5]


def test_shell_files_are_shell() -> None:
    for name in ("one_machine.sh", "many_machines.sbatch", "torchtitan.sh"):
        done = subprocess.run(["bash", "-n", str(LAUNCH / name)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_every_option_of_a_launch_file_is_one_of_the_script() -> None:
    script = (ROOT / "training" / "pretrain.py").read_text(encoding="utf-8")
    for name in ("one_machine.sh", "many_machines.sbatch"):
        text = (LAUNCH / name).read_text(encoding="utf-8")
        given = re.findall(r"(--[\w-]+)", text.split("training/pretrain.py", 1)[-1])
        assert "--folder" in given
        assert all(f'"{option}"' in script for option in given)


def handed_over(name: str, tmp_path: Path, **environment: str) -> list[str]:
    """What a launch file hands to torchrun, seen by stand-ins for the programs that we lack."""
    seen = tmp_path / "seen"
    for program in ("torchrun", "srun", "scontrol"):
        stand_in = tmp_path / program
        words = (
            'printf "%s\\n" "$@" > "$SEEN"' if program != "scontrol" else "echo first; echo second"
        )
        stand_in.write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
        stand_in.chmod(0o755)
    known = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SEEN": str(seen), "HOME": "/home/me"}
    command = ["bash", str(LAUNCH / name), "/tmp/run", "--training.steps", "7"]
    done = subprocess.run(command, env={**known, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return seen.read_text(encoding="utf-8").splitlines()


def test_titan_gets_its_settings_and_those_of_the_caller(tmp_path: Path) -> None:
    given = handed_over("torchtitan.sh", tmp_path)
    assert given[given.index("--parallelism.data_parallel_shard_degree") + 1] == "-1"
    assert given[given.index("--dump-folder") + 1] == "/tmp/run"
    assert given[-2:] == ["--training.steps", "7"]


def test_slurm_s_machines_meet_at_the_first(tmp_path: Path) -> None:
    slurm = {"NNODES": "2", "JOB_ID": "5", "JOB_NODELIST": "a[1-2]", "CPUS_PER_TASK": "32"}
    given = handed_over(
        "many_machines.sbatch", tmp_path, **{f"SLURM_{name}": v for name, v in slurm.items()}
    )
    assert given[:3] == ["--cpus-per-task", "32", "torchrun"]
    assert given[given.index("--rdzv-endpoint") + 1] == "first:29500"
    assert given[given.index("--folder") + 1] == "/home/me/attnlab-run"


def test_every_launch_file_is_in_the_table() -> None:
    table = (LAUNCH / "README.md").read_text(encoding="utf-8")
    for path in LAUNCH.iterdir():
        assert path.name in ("README.md", "__pycache__") or f"`{path.name}`" in table
