"""Fetching a real corpus: once, compared with its sha256, and a clear sentence when it fails."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from attnlab.data.pairs import PairFile
from attnlab.data.real_pairs import FetchError, fetch

TEXT = "Go.\tVa !\tCC-BY 2.0 (France)\nRun!\tCours !\tCC-BY 2.0 (France)\n"


@pytest.fixture
def address(tmp_path: Path) -> str:
    archive = tmp_path / "fra-eng.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("_about.txt", "a note")
        packed.writestr("fra.txt", TEXT)
    return archive.as_uri()


def test_a_file_is_fetched_once_and_can_be_read(address: str, tmp_path: Path) -> None:
    path = fetch(tmp_path / "here.txt", address=address)
    assert path.read_text(encoding="utf-8") == TEXT
    assert len(PairFile(path).pairs) == 2
    assert fetch(path, address="file:///nowhere.zip") == path, "it is there: nothing is fetched"


def test_a_file_that_changed_is_noticed(address: str, tmp_path: Path) -> None:
    path = fetch(tmp_path / "here.txt", address=address)
    path.write_text(TEXT + "more", encoding="utf-8")
    with pytest.raises(FetchError, match=r"Delete .* and its \.sha256"):
        fetch(path, address=address)


def test_one_edition_can_be_insisted_on(address: str, tmp_path: Path) -> None:
    path = tmp_path / "here.txt"
    with pytest.raises(FetchError, match="another edition"):
        fetch(path, address=address, sha256="0" * 64)
    assert not path.exists(), "a file that is not wanted is not kept"
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    assert fetch(path, address=address, sha256=digest) == path


def test_a_file_of_your_own_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(TEXT, encoding="utf-8")
    assert fetch(path, address="file:///nowhere.zip") == path


def test_without_a_network_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="could not be fetched") as caught:
        fetch(tmp_path / "here.txt", address="http://127.0.0.1:9/fra-eng.zip")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("inside", [None, "notes.md"])
def test_something_else_than_pairs_is_refused(inside: str | None, tmp_path: Path) -> None:
    archive = tmp_path / "odd.zip"
    if inside is None:
        archive.write_bytes(b"not a zip")
    else:
        with zipfile.ZipFile(archive, "w") as packed:
            packed.writestr(inside, "no text")
    with pytest.raises(FetchError, match="no archive of sentence pairs"):
        fetch(tmp_path / "here.txt", address=archive.as_uri())
