"""The certificate: earned, local, and safe to type a name into."""

import datetime
from pathlib import Path

import pytest

from attnlab.certificate import certificate
from attnlab.checks import capstone_suspects as parts

ALL = {
    "C.1": parts.rms_norm, "C.2": parts.rope, "C.3": parts.mask, "C.4": parts.attend,
    "C.5": parts.swiglu, "C.6": parts.extend, "C.7": parts.shares,
    "C.8": lambda x, layer, heads, k, v, note: parts.block(x, layer, heads, k, v, note),
    "C.9": lambda tokens, weights, past, note: parts.model(tokens, weights, past, note),
}  # fmt: skip


def test_nine_parts_earn_it_and_nothing_is_written_over(tmp_path: Path) -> None:
    day = datetime.date(2026, 1, 2)
    first = certificate(ALL, story="<script>alert(1)</script>", name='"><b>Ada', folder=tmp_path,
                        date=day)  # fmt: skip
    assert first is not None
    text = first.path.read_text(encoding="utf-8")
    assert text.count("<li>✓") == 9
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert 'value="&quot;&gt;&lt;b&gt;Ada"' in text
    assert "http" not in text
    assert "2026-01-02" in text
    again = certificate(ALL, folder=tmp_path, date=day)
    assert again is not None
    assert again.path.name == "certificate (2).html"
    assert first.path.read_text(encoding="utf-8") == text
    frame = first._repr_html_()
    assert 'sandbox="allow-scripts allow-modals"' in frame
    assert "<b>Ada" not in frame


def test_a_part_that_does_not_hold_earns_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certificate({**ALL, "C.2": parts.halves}, folder=tmp_path) is None
    assert "C.2 · RoPE with an offset does not hold yet" in capsys.readouterr().out
    assert certificate({"C.1": parts.rms_norm}, folder=tmp_path) is None
    assert 'C.2 · RoPE with an offset is missing: add "C.2"' in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
