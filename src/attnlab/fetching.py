"""Files from the net: fetched once, on request, with a progress bar, and compared with a sha256.

    path = fetched("https://example.org/model.bin", sha256="c867db91")      # kept in ~/.cache

Nothing in the course needs a network. Without one there is one clear sentence, a `FetchError`.
"""

import hashlib
import os
import urllib.request
from pathlib import Path

from tqdm.auto import tqdm

SECONDS = 20.0  # to wait for an answer
WITHOUT = "go on without it"


class FetchError(OSError):
    """There is no file, or not the right one. The message says what to do."""


def cache_folder() -> Path:
    """Where fetched files are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "attnlab"


def fetched(
    address: str, *, sha256: str | None = None, path: Path | None = None, otherwise: str = WITHOUT
) -> Path:
    """The file at `path`, downloaded from `address` if it is not there yet.

    `sha256` may be its beginning. Where nobody publishes one, that of the first download is noted
    beside the file, and the file is compared with it from then on. `otherwise` says what a reader
    without a network can do instead.
    """
    path = path or cache_folder() / address.rsplit("/", 1)[1]
    if not path.is_file():
        download(address, path, f"{otherwise}, or put the file at {path} by hand")
    compare(path, sha256)
    return path


def download(address: str, path: Path, otherwise: str = WITHOUT) -> None:
    """Fetch a file, with a progress bar; half a file is never left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    asked = urllib.request.Request(address, headers={"User-Agent": "attnlab"})
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer, draft.open("wb") as file:
            total = int(answer.headers.get("Content-Length") or 0)
            with tqdm(total=total, unit="B", unit_scale=True, leave=False) as bar:
                while chunk := answer.read(1 << 16):
                    file.write(chunk)
                    bar.update(len(chunk))
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise FetchError(f"{address} could not be fetched ({error}): {otherwise}.") from None
    draft.replace(path)


def compare(path: Path, begins: str | None) -> None:
    """Is it the file that is expected, or that was fetched first?"""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    note = note_of(path)
    if begins is None and not note.is_file():
        note.write_text(found, encoding="utf-8")
    wanted = begins or note.read_text(encoding="utf-8").strip()
    if not found.startswith(wanted):
        files = str(path) if begins else f"{path} and its .sha256"
        raise FetchError(
            f"{path.name} has sha256 {found[:12]}…, but {wanted[:12]}… was expected: it is damaged "
            f"or another edition. Delete {files}, and fetch it again."
        )


def note_of(path: Path) -> Path:
    """Where the sha256 of the first download is noted."""
    return path.with_name(path.name + ".sha256")
