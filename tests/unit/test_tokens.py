"""Chopping text, pictures and sounds."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.tokens import frames, landscape, learn_merges, patches, pieces, tune

TEXT = "low low low low low lower lower newest newest newest newest newest newest widest widest"


def test_the_first_merges_are_the_commonest_pairs():
    # 9 words end in "est": e-s and s-t are equally common, and e comes first in the alphabet.
    merges = learn_merges(TEXT, 3)
    assert merges[0] == ("e", "s")
    assert merges[1] == ("es", "t")


def test_merges_are_applied_in_their_order():
    merges = learn_merges(TEXT, 8)
    assert pieces("lowest", []) == ["▁", "l", "o", "w", "e", "s", "t"]
    assert pieces("lowest", merges)[-1] == "est"
    assert pieces("aaa", [("a", "a")]) == ["▁", "aa", "a"]


def test_learning_ends_when_every_word_is_one_piece():
    merges = learn_merges("ab ab", 100)
    assert len(merges) == 2
    assert pieces("ab", merges) == ["▁ab"]
    assert learn_merges("", 5) == []
    assert pieces("", merges) == []


@given(st.text(alphabet="abcde 🦜<>", max_size=30), st.integers(0, 30))
def test_nothing_is_lost(text, count):
    cut = pieces(text, learn_merges(TEXT + " abc abd", count))
    assert "".join(cut).replace("▁", " ").split() == text.split()


def test_patches_are_squares_read_row_by_row():
    picture = torch.arange(2 * 4 * 6.0).reshape(2, 4, 6)
    cut = patches(picture, 2)
    assert cut.shape == (6, 8)
    torch.testing.assert_close(cut[1], picture[:, 0:2, 2:4].permute(1, 2, 0).flatten())
    unfolded = F.unfold(picture[None], 2, stride=2)[0].T  # (N, C·P·P): colours outside
    torch.testing.assert_close(cut, unfolded.unflatten(1, (2, 4)).mT.flatten(1))


def test_frames_are_stretches():
    cut = frames(torch.arange(10.0), 4)
    torch.testing.assert_close(cut, torch.arange(8.0).reshape(2, 4))


def test_wrong_sizes_are_named():
    with pytest.raises(ValueError, match="choose a size that divides both"):
        patches(torch.zeros(3, 10, 12), 4)
    with pytest.raises(ValueError, match="missing colour axis"):
        patches(torch.zeros(8, 8), 4)
    with pytest.raises(ValueError, match="length from 1 to T"):
        frames(torch.zeros(5), 6)


def test_the_course_has_something_to_chop():
    picture, sound = landscape(32), tune()
    assert picture.shape == (3, 32, 32)
    assert 0 <= picture.min() <= picture.max() <= 1
    assert len(picture.flatten(1).unique(dim=1).T) > 20, "more than a few flat colours"
    assert sound.shape == (2000,)
    assert sound.abs().max() <= 1
