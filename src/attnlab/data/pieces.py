"""SentencePiece's byte-pair vocabulary, read and used without the library.

    pieces = Pieces.read(path)                        # llama2.c's tokenizer.bin
    numbers = pieces.encode("Once upon a time")       # [9038, 2501, 263, 931]
    text = pieces.decode(numbers)

A text is first cut into characters, each a piece of its own; a character that has no piece becomes
its UTF-8 bytes. Then the pair of neighbours whose joint piece has the highest score is merged,
again and again, until no pair is a piece (Sennrich et al. 2016; Kudo and Richardson 2018).
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

BOS, EOS = 1, 2  # <s> and </s>
FIRST_BYTE = 3  # the pieces 3 … 258 are the bytes 0 … 255


@dataclass(frozen=True)
class Pieces:
    """The pieces in order of their ids, and how early each is merged: higher is earlier."""

    texts: tuple[bytes, ...]
    scores: tuple[float, ...]

    @classmethod
    def read(cls, path: Path) -> "Pieces":
        """llama2.c's file: the longest length, then (score, length, bytes) for each piece."""
        data, at = path.read_bytes(), 4
        texts, scores = [], []
        while at < len(data):
            score, length = struct.unpack_from("<fi", data, at)
            texts.append(data[at + 8 : at + 8 + length])
            scores.append(score)
            at += 8 + length
        return cls(tuple(texts), tuple(scores))

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def numbers(self) -> dict[bytes, int]:
        """Text -> id. The names of marks and bytes are not text: nobody may type them."""
        start = FIRST_BYTE + 256
        return {text: start + i for i, text in enumerate(self.texts[start:])}

    def encode(self, text: str) -> list[int]:
        """A text -> its ids, without begin mark; a space is put in front, as in training."""
        found = self._characters(" " + text) if text else []
        while True:
            pairs = [
                (self.scores[number], -i, number)
                for i in range(len(found) - 1)
                if (number := self._joint(found[i], found[i + 1])) is not None
            ]
            if not pairs:
                return found
            _, at, number = max(pairs)  # of equal scores the leftmost
            found[-at : -at + 2] = [number]

    def decode(self, numbers: Iterable[int], first: bool = True) -> str:
        """Ids -> text. `first`: the space in front of the text is taken away again."""
        text = b"".join(self.piece(number) for number in numbers).decode("utf-8", "replace")
        return text.removeprefix(" ") if first else text

    def piece(self, number: int) -> bytes:
        """The bytes of one id; marks have none."""
        if FIRST_BYTE <= number < FIRST_BYTE + 256:
            return bytes([number - FIRST_BYTE])
        return b"" if number < FIRST_BYTE else self.texts[number]

    def _characters(self, text: str) -> list[int]:
        found: list[int] = []
        for character in text:
            code = character.encode()
            number = self.numbers.get(code)
            found += [FIRST_BYTE + byte for byte in code] if number is None else [number]
        return found

    def _joint(self, a: int, b: int) -> int | None:
        if min(a, b) < FIRST_BYTE + 256:  # bytes are not merged
            return None
        return self.numbers.get(self.texts[a] + self.texts[b])
