"""The bertviz views: nothing from outside, nothing that a token could break, clear refusals."""

import html
import json
import re
from pathlib import Path

import pytest
import torch

from attnlab.inside.bertviz_views import MOST, head_view, model_view
from coursekit.offline import remote_sources

WORDS = ["[CLS]", "</script><script>window.pwned = 1</script>", 'a"b', "it's", "&amp;", "[SEP]"]


def maps(layers: int = 2, heads: int = 3, length: int = len(WORDS)) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(layers, heads, length, length, generator=generator).softmax(-1)


def document(view: object) -> str:
    """What the frame will hold, as a browser reads the attribute."""
    text = view._repr_html_()  # type: ignore[attr-defined]
    match = re.search(r"srcdoc=(['\"])(.*)\1></iframe></figure>$", text, re.DOTALL)
    assert match
    assert match[1] not in match[2], "the attribute ends too early"
    return html.unescape(match[2])


@pytest.mark.parametrize("view", [head_view, model_view])
def test_tokens_travel_whole_and_run_nothing(view) -> None:
    inside = document(view(maps(), WORDS))
    assert "</script><script>window" not in inside
    found = re.search(r"const params = (\{.*?\}); //", inside)
    assert found
    params = json.loads(found[1])
    assert params["attention"][0]["left_text"] == WORDS
    shown = torch.tensor(params["attention"][0]["attn"])
    torch.testing.assert_close(shown, maps(), atol=6e-4, rtol=0)


@pytest.mark.parametrize("view", [head_view, model_view])
def test_the_frame_is_closed(view, tmp_path: Path) -> None:
    text = view(maps(), WORDS)._repr_html_()
    assert 'sandbox="allow-scripts"' in text
    assert "allow-same-origin" not in text
    assert "default-src 'none'" in document(view(maps(), WORDS))
    assert "cdnjs" not in text
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert remote_sources(tmp_path) == []


def test_the_offline_check_looks_into_frames(tmp_path: Path) -> None:
    inside = html.escape('<script src="https://example.org/x.js"></script>')
    (tmp_path / "page.html").write_text(f'<iframe srcdoc="{inside}"></iframe>')
    assert len(remote_sources(tmp_path)) == 1


def test_a_view_is_small_enough_for_a_page() -> None:
    words = ["word"] * 15
    sizes = [len(v(maps(6, 12, 15), words)._repr_html_()) for v in (head_view, model_view)]
    assert max(sizes) < 520_000, sizes


def test_the_text_output_has_no_address_in_it() -> None:
    assert repr(head_view(maps(), WORDS)) == "bertviz: head view of 3 heads on 6 tokens"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: head_view(maps()[0], WORDS), r"\(layers, heads, tokens, tokens\) is expected"),
        (lambda: head_view(maps(), WORDS[:3]), "for 3 tokens"),
        (lambda: head_view(maps(), "abcdef"), "one string"),
        (lambda: head_view(maps(), WORDS, layer=7), "layer 7 is not among"),
        (lambda: head_view(maps(), WORDS, heads=[3]), "from 0 to 2"),
        (lambda: model_view(maps(), WORDS, layers=[5]), "there are 0 to 1"),
        (lambda: model_view(maps() * torch.nan, WORDS), "NaN"),
        (lambda: model_view(torch.zeros(1, 1, 99, 99), ["x"] * 99), f"1 to {MOST}"),
        (lambda: model_view(torch.zeros(1, 1, 0, 0), []), "0 tokens"),
    ],
)
def test_bad_input_gets_one_clear_sentence(given, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        given()
