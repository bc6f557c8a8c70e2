"""Head roles and knock-out: made-up heads with known jobs, and the real encoder's bars."""

import pytest
import torch

from attnlab.data.paraphrases import CHOOSE, PAIRS, TEST
from attnlab.inside import head_roles
from attnlab.inside.head_roles import rank, roles, score, targets
from attnlab.inside.knockout import knock_out, margins
from attnlab.models.published import minilm, read, sentence_vectors
from attnlab.record import record

TOKENS = ["[CLS]", "the", "cat", ",", "the", "mat", ".", "[SEP]"]
TEXTS = [
    "The sailor told a story, and the story was about the sea.",
    "When the train stopped at the small station, nobody left the train, and nobody asked why.",
    "She planted a tree behind the house; years later the tree was taller than the house.",
]


def one_hot(role: str) -> torch.Tensor:
    """A head that does this job wherever it can, and else looks at itself: (L, L)."""
    wanted = targets(role, TOKENS).float()
    rest = ~wanted.any(-1)
    wanted[rest] = torch.eye(len(TOKENS))[rest]
    return wanted / wanted.sum(-1, keepdim=True)


def test_a_head_made_for_a_job_scores_one_and_others_less() -> None:
    heads = torch.stack([one_hot(role) for role in head_roles.ROLES])[None]  # (1, 5, L, L)
    found = roles(heads, TOKENS)
    for place, role in enumerate(head_roles.ROLES):
        assert found[role].shape == (1, 5)
        assert rank(found[role])[0][:2] == (0, place)
        assert found[role][0, place] == pytest.approx(1)


def test_the_places_of_each_job() -> None:
    assert targets("previous token", TOKENS)[2].nonzero().flatten().tolist() == [1]
    assert not targets("previous token", TOKENS)[1].any(), "[CLS] is no word before the first"
    assert targets("next token", TOKENS)[2].nonzero().flatten().tolist() == [3]
    assert targets("same word", TOKENS)[1].nonzero().flatten().tolist() == [4]
    assert targets("separator", TOKENS)[2].nonzero().flatten().tolist() == [0, 7]
    assert targets("punctuation", TOKENS)[2].nonzero().flatten().tolist() == [3, 6]
    assert not targets("separator", TOKENS)[0].any(), "[CLS] itself is not asked"


def test_refusals() -> None:
    with pytest.raises(ValueError, match="no role 'verb'"):
        targets("verb", TOKENS)
    with pytest.raises(ValueError, match="another text"):
        score(torch.ones(1, 1, 2, 2), targets("same word", ["a", "b"]))
    with pytest.raises(ValueError, match=r"\(layers, heads, tokens, tokens\)"):
        roles(torch.ones(1, 1, 2, 3), ["a", "b"])


def test_the_previous_token_head_of_minilm_is_found_on_three_texts() -> None:
    _, encoder = minilm()
    best = []
    for text in TEXTS:
        tokens, numbers = read(text)
        with record(encoder) as maps:
            encoder(numbers)
        best.append(rank(roles(maps, tokens)["previous token"])[0])
    assert {(head.layer, head.head) for head in best} == {(0, 2)}
    assert min(head.score for head in best) >= 0.95


def test_knock_out_silences_a_head_and_puts_everything_back() -> None:
    _, encoder = minilm()
    before = sentence_vectors(["A dog runs.", "Cats sleep all day long."])
    with knock_out(encoder, [(5, 10), (5, 3)]):
        during = sentence_vectors(["A dog runs.", "Cats sleep all day long."])
    after = sentence_vectors(["A dog runs.", "Cats sleep all day long."])
    assert torch.equal(before, after)
    assert (before - during).abs().max() > 1e-3
    with knock_out(encoder, []):
        assert torch.equal(sentence_vectors(["A dog runs."]), sentence_vectors(["A dog runs."]))


def test_padding_does_not_change_a_sentence() -> None:
    alone = sentence_vectors(["A dog runs."])
    padded = sentence_vectors(["A dog runs.", "A much longer sentence about something else."])
    torch.testing.assert_close(alone[0], padded[0], atol=1e-5, rtol=0)


def test_minilm_finds_the_paraphrases() -> None:
    assert len(PAIRS) == 30
    assert not set(CHOOSE) & set(TEST)
    for pairs in (CHOOSE, TEST):
        found = margins(pairs)
        assert (found > 0).float().mean() >= 0.9
        assert found.mean() >= 0.3


def test_knock_out_refuses_heads_that_are_not_there() -> None:
    encoder = minilm()[1]
    with pytest.raises(ValueError, match=r"no head \(6, 0\)"), knock_out(encoder, [(6, 0)]):
        pass
    with pytest.raises(ValueError, match="list"):
        sentence_vectors("one string")
