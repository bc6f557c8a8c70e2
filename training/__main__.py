"""`make weights`: make every file of assets/weights again, by the commands in the manifest.

Each script in this folder that makes weights writes its own command into assets/MANIFEST.json; the
other scripts here measure or search, and are not run.
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    files = json.loads((ROOT / "assets" / "MANIFEST.json").read_text(encoding="utf-8"))["files"]
    weights = {name: entry for name, entry in files.items() if name.startswith("weights/")}
    commands = list(dict.fromkeys(entry["command"] for entry in weights.values()))
    if not commands:
        print(
            "No weights are made yet: assets/MANIFEST.json lists none, so there is nothing to do."
        )
        return
    for command in commands:
        print(f"== {command}", flush=True)
        start = time.monotonic()
        program, *arguments = shlex.split(command)
        python = sys.executable if program in ("python", "python3") else program
        done = subprocess.run([python, *arguments], cwd=ROOT)
        if done.returncode:
            raise SystemExit(f"{command} ended with code {done.returncode}; nothing after it ran.")
        print(f"   {(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    print(f"{len(weights)} file(s) were made again by {len(commands)} command(s).")


if __name__ == "__main__":
    main()
