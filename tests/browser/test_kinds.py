"""Every kind of live figure on a bare page: all its controls, the keyboard, unfriendly input."""

from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page

from attnlab import widgets
from attnlab.widgets import static_page
from tests.browser import play
from tests.browser.live import Live, settle
from tests.browser.twins import TWINS

WORDS = "the bank of the river was steep".split()
ROGUES = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "🦜🏳️‍🌈",
    "\u202eright to left",
    "",
    "x" * 10_000,
]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


def quiz(question: str = "What do the weights of one query sum to?") -> widgets.Quiz:
    choices = [
        {"text": "`1`", "correct": True, "why": "Softmax divides by the sum."},
        {"text": "`n`", "why": "That is the sum of *n* ones."},
    ]
    second = {"question": f"And again: {question}", "choices": choices[::-1]}
    return widgets.Quiz([{"question": question, "choices": choices}, second], title="Test")


def examples() -> dict[str, list[widgets.base.LiveFigure]]:
    """At least one figure of each kind, with unequal sizes so that a transposition shows."""
    n = len(WORDS)
    own = torch.ones(n, n, dtype=torch.bool)
    own[2:5, 1:3] = False
    return {
        "attention_heatmap": [
            widgets.AttentionHeatmap(
                q=random(3, n, 8), k=random(3, n, 8), tokens=WORDS, masks={"own": own}
            ),
            widgets.AttentionHeatmap(
                random(2, 4, n).softmax(-1), tokens=WORDS[:4], key_tokens=WORDS, mask="causal"
            ),
        ],
        "attention_workbench": [
            widgets.AttentionWorkbench(
                WORDS[:5], random(5, 4), random(4, 2), random(4, 2) * 2, random(4, 3)
            ),
        ],
        "softmax_temperature": [widgets.SoftmaxTemperature(WORDS[:4], [2.0, 1.0, 0.5, -1.0])],
        "scale_histogram": [widgets.ScaleHistogram(dims=64), widgets.ScaleHistogram(16, keys=10)],
        "path_length": [widgets.PathLength(n=9, kernel=3), widgets.PathLength(tokens=WORDS)],
        "quiz": [quiz()],
    }


def test_every_kind_has_a_twin_and_an_example() -> None:
    kinds = set(static_page.figures())
    assert kinds == set(TWINS), "a live figure without a twin in Python is not tested"
    assert kinds == set(examples())


@pytest.mark.parametrize("kind", sorted(TWINS))
def test_every_control_keeps_the_page_equal_to_python(
    kind: str, made_page: Callable[..., Page]
) -> None:
    figures = examples()[kind]
    page = made_page(*figures)
    for index in range(len(figures)):
        live = Live(page.locator("[data-widget]").nth(index))
        play.first_move(live)
        assert play.everything(live) >= 5
