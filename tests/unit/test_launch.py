"""The launch files: FSDP trains as DDP does, goes on after a stop, and the rest can be read."""

import re
import subprocess
import sys
import tomllib
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
    for name in ("one_machine.sh", "many_machines.sbatch"):
        done = subprocess.run(["bash", "-n", str(LAUNCH / name)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_every_option_of_a_launch_file_is_one_of_the_script() -> None:
    script = (ROOT / "training" / "pretrain.py").read_text(encoding="utf-8")
    for name in ("one_machine.sh", "many_machines.sbatch"):
        text = (LAUNCH / name).read_text(encoding="utf-8")
        given = re.findall(r"(--[\w-]+)", text.split("training/pretrain.py", 1)[-1])
        assert "--folder" in given
        assert all(f'"{option}"' in script for option in given)


def test_the_titan_file_is_toml_and_every_file_is_in_the_table() -> None:
    titan = tomllib.loads((LAUNCH / "torchtitan.toml").read_text(encoding="utf-8"))
    assert titan["parallelism"]["data_parallel_shard_degree"] == -1
    table = (LAUNCH / "README.md").read_text(encoding="utf-8")
    for path in LAUNCH.iterdir():
        assert path.name in ("README.md", "__pycache__") or f"`{path.name}`" in table
