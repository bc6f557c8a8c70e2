"""Sentence pairs that people wrote, fetched once, and only when somebody asks.

    path = fetch("fra.txt")               # English–French, from Tatoeba (CC BY 2.0 FR)

The archive is made anew every few months, so nobody can know its sha256 beforehand. The one that
arrives is noted beside the file, and the file is compared with it whenever it is used again. To
insist on one edition, give its `sha256`. Without a network there is one clear sentence.
"""

import hashlib
import io
import urllib.request
import zipfile
from pathlib import Path

from tqdm.auto import tqdm

ADDRESS = "https://www.manythings.org/anki/fra-eng.zip"
SECONDS = 20.0  # to wait for an answer


class FetchError(OSError):
    """There is no file, or not the right one. The message says what to do."""


def fetch(path: str | Path, *, address: str = ADDRESS, sha256: str | None = None) -> Path:
    """The file at `path`, downloaded if it is not there yet; a file of your own is left alone."""
    path = Path(path)
    note = path.with_name(f"{path.name}.sha256")
    if not path.is_file():
        text = _text_of(_download(address), address)
        _compare(text, sha256, path)
        path.write_bytes(text)
        note.write_text(hashlib.sha256(text).hexdigest(), encoding="utf-8")
    noted = note.read_text(encoding="utf-8") if note.is_file() else None
    _compare(path.read_bytes(), sha256 or noted, path)
    return path


def _compare(text: bytes, wanted: str | None, path: Path) -> None:
    found = hashlib.sha256(text).hexdigest()
    if wanted and found != wanted.strip():
        raise FetchError(
            f"{path.name} has sha256 {found[:12]}…, but {wanted[:12]}… was expected: it is damaged "
            "or another edition. Delete it and its .sha256, and fetch it again."
        )


def _download(address: str) -> io.BytesIO:
    asked = urllib.request.Request(address, headers={"User-Agent": "attnlab"})
    packed = io.BytesIO()
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            with tqdm(total=total, unit="B", unit_scale=True, leave=False) as bar:
                while chunk := answer.read(1 << 16):
                    packed.write(chunk)
                    bar.update(len(chunk))
    except OSError as error:
        raise FetchError(
            f"{address} could not be fetched ({error}): go on without it, or download it "
            "elsewhere and unpack it here."
        ) from None
    return packed


def _text_of(packed: io.BytesIO, address: str) -> bytes:
    """The sentence pairs inside the archive: its largest text file (the other one is a note)."""
    try:
        with zipfile.ZipFile(packed) as archive:
            texts = [one for one in archive.infolist() if one.filename.endswith(".txt")]
            return archive.read(max(texts, key=lambda one: one.file_size))  # compares its CRC
    except (zipfile.BadZipFile, ValueError) as error:
        raise FetchError(f"{address} is no archive of sentence pairs ({error}).") from None
