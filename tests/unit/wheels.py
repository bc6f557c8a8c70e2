"""The wheel, built as pip builds it, for the tests that look into it or install it."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build_wheel(folder: Path) -> Path:
    """Build the repository's wheel into `folder`, with what is installed here and no network."""
    try:
        distribution("hatchling")
    except PackageNotFoundError:
        pytest.fail('hatchling is missing: pip install -e ".[course,test]" -c constraints.txt')
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir"]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(folder), str(ROOT)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    (file,) = folder.glob("*.whl")
    return file
