"""What several files ask: an error of one sentence, and a figure whose words stay words."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from attnlab.widgets.base import LiveFigure

ROGUE = "</script><script>alert(1)</script>"
WORDS = ("word", ROGUE, "🙂 héllo", "x" * 10_000)


def says_one_sentence(make: Callable[[], object], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert ". " not in message
    assert "\n" not in message


def words_travel_as_text(figure: LiveFigure, words: str) -> Any:
    """The state that a static page gets: whole, and with nothing in it that could run."""
    html = figure.to_html()
    assert html.startswith(f'<div data-widget="{figure.figure}">')
    assert html.count("<script") == 1
    found = re.search(r'<script type="application/json">(.*)</script>', html, re.DOTALL)
    assert found
    assert "<" not in found[1]
    state = json.loads(found[1])
    assert json.dumps(words) in json.dumps(state)
    return state
