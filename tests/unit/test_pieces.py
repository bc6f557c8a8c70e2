"""Our reader of SentencePiece's vocabulary against the library itself."""

import pytest

from attnlab import assets
from attnlab.data.pieces import FIRST_BYTE, Pieces

TEXTS = (
    "Once upon a time",
    'Tom said: "I\'m 7 years old!"',
    "Zoë ate crème brûlée.",
    "two  spaces\nand a new line",
    "a dragon 🐉 flew",
    " begins with a space",
    "x",
    "",
)


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return Pieces.read(assets.find("data/stories15m.pieces"))


def test_the_vocabulary_is_llamas(pieces: Pieces) -> None:
    assert len(pieces) == 32_000
    assert pieces.encode("Once upon a time") == [9038, 2501, 263, 931]


@pytest.mark.parametrize("text", TEXTS)
def test_decoding_undoes_encoding(pieces: Pieces, text: str) -> None:
    assert pieces.decode(pieces.encode(text)) == text


def test_what_has_no_piece_becomes_bytes(pieces: Pieces) -> None:
    numbers = pieces.encode("🐉")
    assert [n - FIRST_BYTE for n in numbers[-4:]] == list("🐉".encode())


def test_names_of_marks_are_plain_text(pieces: Pieces) -> None:
    assert pieces.decode(pieces.encode("<s>")) == "<s>"
    assert 1 not in pieces.encode("<s>")


def test_it_cuts_as_sentencepiece_does(pieces: Pieces) -> None:
    library = pytest.importorskip("sentencepiece")
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    proto.trainer_spec.model_type = 2  # byte-pair encoding
    proto.trainer_spec.byte_fallback = True
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.remove_extra_whitespaces = False
    for number, (text, score) in enumerate(zip(pieces.texts, pieces.scores, strict=True)):
        piece = proto.pieces.add(score=score)
        if number < FIRST_BYTE:
            piece.piece, piece.type = ("<unk>", "<s>", "</s>")[number], (2, 3, 3)[number]
        elif number < FIRST_BYTE + 256:
            piece.piece, piece.type = f"<0x{number - FIRST_BYTE:02X}>", 6
        else:
            piece.piece, piece.type = text.decode().replace(" ", "▁"), 1
    theirs = library.SentencePieceProcessor(model_proto=proto.SerializeToString())
    for text in TEXTS:
        assert pieces.encode(text) == theirs.encode(text), text
