"""Sentence pairs that people wrote, fetched once, and only when somebody asks.

    path = fetch("fra.txt")               # English–French, from Tatoeba (CC BY 2.0 FR)

The archive is rebuilt every few months, so nobody can know its sha256 beforehand. The one that
arrives is noted beside the file, and the file is compared with it whenever it is used again. To
insist on one edition, give its `sha256`. Without a network there is one clear sentence.
"""

import tempfile
import zipfile
from pathlib import Path

from attnlab.fetching import FetchError, compare, download, note_of

ADDRESS = "https://www.manythings.org/anki/fra-eng.zip"
OTHERWISE = "go on without it, or download it elsewhere and unpack it here"


def fetch(path: str | Path, *, address: str = ADDRESS, sha256: str | None = None) -> Path:
    """The file at `path`, downloaded if it is not there yet; a file of your own is left alone."""
    path = Path(path)
    if not path.is_file():
        path.write_bytes(_text_at(address))
        try:
            compare(path, sha256)
        except FetchError:
            path.unlink()  # what is not wanted is not kept
            raise
    elif sha256 or note_of(path).is_file():
        compare(path, sha256)
    return path


def _text_at(address: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "pairs.zip"
        download(address, packed, OTHERWISE)
        return _text_of(packed, address)


def _text_of(packed: Path, address: str) -> bytes:
    """The sentence pairs inside the archive: its largest text file (the other one is a note)."""
    try:
        with zipfile.ZipFile(packed) as archive:
            texts = [one for one in archive.infolist() if one.filename.endswith(".txt")]
            return archive.read(max(texts, key=lambda one: one.file_size))  # compares its CRC
    except (zipfile.BadZipFile, ValueError) as error:
        raise FetchError(f"{address} is no archive of sentence pairs ({error}).") from None
