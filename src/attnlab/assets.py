"""Finds, verifies and loads what `assets/` carries: weights, data, pictures.

    path = assets.find("weights/rnnsearch.safetensors")        # checked against its sha256
    tensors, about = assets.load("weights/rnnsearch.safetensors")

In a checkout the files are in `assets/` beside `src/`; an installed wheel carries them inside
the package, as `attnlab/_assets`. `MANIFEST.json` says of each file what it is, where it comes
from and which command made it.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from torch import Tensor

from attnlab import checkpoints

MANIFEST = "MANIFEST.json"
FIELDS = ("sha256", "bytes", "licence", "origin", "command")


def folder() -> Path:
    """The folder of the assets: in the installed package, or in the checkout."""
    package = Path(__file__).parent
    for place in (package / "_assets", package.parents[1] / "assets"):
        if (place / MANIFEST).is_file():
            return place
    raise FileNotFoundError(
        "the course's assets are missing: there is no assets/MANIFEST.json beside this package. "
        "Install attnlab again, or work in a full checkout of the repository."
    )


def manifest(root: Path | None = None) -> dict[str, dict[str, Any]]:
    """Name → entry (sha256, bytes, licence, origin, command) of every file that is carried."""
    path = (root or folder()) / MANIFEST
    try:
        return json.loads(path.read_text(encoding="utf-8"))["files"]
    except (json.JSONDecodeError, KeyError) as error:
        raise ValueError(
            f"{path} is damaged ({error!r}): take it anew from the repository."
        ) from None


def find(name: str, root: Path | None = None) -> Path:
    """The path of an asset whose sha256 has been checked against the manifest."""
    root = root or folder()
    entries = manifest(root)
    if name not in entries:
        known = ", ".join(sorted(entries)) or "nothing yet"
        raise KeyError(f"there is no asset {name!r}; the manifest lists: {known}.")
    path = root / name
    if not path.is_file():
        raise FileNotFoundError(
            f"the asset {name} is listed but its file is missing: take it anew from the "
            f"repository, or make it with `{entries[name]['command']}`."
        )
    stamp = path.stat()
    found = _digest(path, stamp.st_size, stamp.st_mtime_ns)
    if found != entries[name]["sha256"]:
        raise ValueError(
            f"the asset {name} is damaged: its sha256 is {found[:12]}…, the manifest says "
            f"{entries[name]['sha256'][:12]}…. Take it anew from the repository."
        )
    return path


def load(name: str, root: Path | None = None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a checkpoint among the assets, and what its header says."""
    return checkpoints.load(find(name, root))


def register(
    name: str, *, licence: str, origin: str, command: str, root: Path | None = None
) -> dict[str, Any]:
    """Write (or renew) the manifest's entry for a file in the folder: for training
    scripts.
    """
    root = root or folder()
    path = root / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: write the file before you register it.")
    stamp = path.stat()
    entry = {
        "sha256": _digest(path, stamp.st_size, stamp.st_mtime_ns),
        "bytes": stamp.st_size,
        "licence": licence,
        "origin": origin,
        "command": command,
    }
    entries = {**manifest(root), name: entry}
    text = json.dumps({"files": dict(sorted(entries.items()))}, indent=2, ensure_ascii=False) + "\n"
    (root / MANIFEST).write_text(text, encoding="utf-8")
    return entry


@cache
def _digest(path: Path, size: int, changed: int) -> str:
    """sha256 of a file; a new size or time of change means that the file is no longer the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
