"""A file of sentence pairs stands behind the interface of the grammar's corpus."""

from itertools import islice

import pytest

from attnlab.data.english_french import EnglishFrench
from attnlab.data.pairs import PairFile, detokenise, tokenise

PEOPLE = (
    "Tom",
    "Mary",
    "The cat",
    "My aunt",
    "Nobody",
    "The king",
    "She",
    "He",
    "The boy",
    "A dog",
)
ACTIONS = (("sleeps", "dort"), ("sings", "chante"), ("runs", "court"), ("eats", "mange"))


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "fra.txt"
    lines = ["Go.\tVa !\tCC-BY 2.0 (France) Attribution: tatoeba.org", "Go.\tVas-y.\tCC-BY", ""]
    lines += [
        f"{who} {en} every day.\t{who} {fr} l’été, n'est-ce pas\u202f?\tCC-BY"
        for who in PEOPLE
        for en, fr in ACTIONS
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_text_is_cut_into_words():
    assert tokenise("L’école n'est pas là !") == ["l'", "école", "n'", "est", "pas", "là", "!"]
    assert tokenise("Don't go, Tom-Tom.") == ["don'", "t", "go", ",", "tom-tom", "."]
    assert detokenise(["l'", "école", ",", "là", "!"]) == "l'école, là!"


def test_pairs_are_read_and_the_licence_column_is_not(path):
    corpus = PairFile(path, longest=10)
    assert len(corpus.pairs) == 2 + len(PEOPLE) * len(ACTIONS)
    assert corpus.pairs[0].source == ("go", ".")
    assert corpus.pairs[0].target == ("va", "!")
    assert not corpus.pairs[0].sure


def test_lengths_are_respected(path):
    assert {pair.source for pair in PairFile(path, longest=2).pairs} == {("go", ".")}
    assert all(len(pair.source) >= 5 for pair in PairFile(path, shortest=5).pairs)


def test_the_interface_is_that_of_the_grammar(path):
    corpus, grammar = PairFile(path, longest=10), EnglishFrench()
    for name in ("stream", "take", "vocabularies", "examples", "tokenise", "detokenise"):
        assert callable(getattr(corpus, name))
        assert callable(getattr(grammar, name))
    taken = corpus.take(10, "train", seed=3)
    assert taken == corpus.take(10, "train", seed=3)
    assert taken != corpus.take(10, "train", seed=4)
    source, target = corpus.vocabularies()
    assert "sleeps" in source
    assert "l'" in target
    assert corpus.examples()


def test_no_sentence_is_in_two_splits_and_the_stream_never_ends(path):
    corpus = PairFile(path, longest=10)
    splits = [{pair.source for pair in corpus.take(99, s)} for s in ("train", "valid", "test")]
    assert sum(map(len, splits)) == len(set.union(*splits)) == 41
    count = len(corpus.take(99, "test"))
    streamed = list(islice(corpus.stream("test"), 3 * count))
    assert {pair.source for pair in streamed[:count]} == {pair.source for pair in streamed[count:]}


def test_rare_words_are_unknown(path):
    source, _ = PairFile(path, longest=10, smallest=6).vocabularies()
    assert "every" in source
    assert "nobody" not in source


def test_what_is_wrong_is_named(tmp_path, path):
    with pytest.raises(FileNotFoundError, match=r"no file .*download"):
        PairFile(tmp_path / "none.txt")
    bad = tmp_path / "bad.txt"
    bad.write_text("Hello.\tBonjour.\nno tab here\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 2 of bad.txt has no tab"):
        PairFile(bad).pairs  # noqa: B018
    with pytest.raises(ValueError, match="train, valid and test"):
        PairFile(path).take(1, "dev")
    with pytest.raises(ValueError, match="no pairs of 40…50 words"):
        PairFile(path, shortest=40, longest=50).take(1)
