"""bertviz's views in a browser: alive at the first run, offline, and closed to hostile tokens."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import torch
from playwright.sync_api import FrameLocator, Page, expect

from attnlab.inside.bertviz_views import LIBRARIES, head_view, library, model_view
from coursekit.frames import share_libraries
from tests.browser import lab
from tests.browser.built import ROOT
from tests.browser.serving import serving

WAIT = 60_000  # milliseconds: the machine may be busy
HOSTILE = [
    "</script><script>top.pwned = parent.pwned = window.pwned = 1</script>",
    "<img src=x onerror='parent.pwned = 1'>",
    "'\"><script>parent.pwned = 1</script>",
    "&quot;><b>",
    "🦜",
    "x" * 1000,
]
CELLS = (
    """import torch
from attnlab.inside.bertviz_views import head_view, model_view
a = torch.randn(2, 3, 4, 4).softmax(-1)
head_view(a, "the cat sat </script>".split(), layer=1)""",
    'model_view(a, "the cat sat down".split())',
)


def maps(length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, length, length, generator=generator).softmax(-1)


def write(folder: Path, words: list[str]) -> Path:
    views = [head_view(maps(len(words)), words, layer=1), model_view(maps(len(words)), words)]
    body = "".join(view._repr_html_() for view in views)
    page = folder / "views.html"
    page.write_text(f'<!doctype html><meta charset="utf-8">{body}', encoding="utf-8")
    return page


def frame(page: Page, place: int) -> FrameLocator:
    return page.frame_locator("iframe").nth(place)


def look(page: Page, words: list[str]) -> None:
    """Both views are drawn, and answer to the mouse."""
    n = len(words)
    head, model = frame(page, 0), frame(page, 1)
    expect(head.locator("svg text")).to_have_count(2 * n, timeout=WAIT)
    expect(head.locator("#layer")).to_have_value("1")
    assert head.locator("#left text").first.text_content() == words[0]
    head.locator("#layer").select_option("0")
    expect(head.locator("svg line")).to_have_count(3 * n * n)
    page.locator("iframe").nth(1).scroll_into_view_if_needed()
    expect(model.locator(".attn_background")).to_have_count(6, timeout=WAIT)
    expect(model.locator(".detail")).to_have_count(0)
    model.locator("svg > g > rect:last-child").first.click(force=True)
    expect(model.locator("text.detail")).to_have_text("Layer 0, Head 0")


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_views_are_drawn_without_a_network(
    scheme: str, page: Page, tmp_path: Path, shoot: Callable[..., Path]
) -> None:
    words = ["the", "cat", "sat", "on", "it"]
    path = write(tmp_path, words)
    with serving(tmp_path) as address:
        page.goto(path.as_uri() if scheme == "file" else f"{address}/{path.name}")
        look(page, words)
        shoot(page, f"bertviz-{scheme}", full_page=True)


def test_on_a_page_two_views_share_their_libraries(page: Page, tmp_path: Path) -> None:
    words = ["the", "</script>", "sat", "on", "it"]
    views = [head_view(maps(5), words, layer=1), model_view(maps(5), words)]
    cell = nbformat.v4.new_code_cell()
    cell.outputs = [
        nbformat.v4.new_output("display_data", data={"text/html": view._repr_html_()})
        for view in views
    ]
    alone = sum(len(output.data["text/html"]) for output in cell.outputs)
    share_libraries(nbformat.v4.new_notebook(cells=[cell]), library, list(LIBRARIES))
    body = "".join(output.data["text/html"] for output in cell.outputs)
    assert len(body) < 0.6 * alone
    script = (ROOT / "book" / "style" / "course.js").read_text(encoding="utf-8")
    (tmp_path / "page.html").write_text(
        f'<!doctype html><meta charset="utf-8">{body}<script>{script}</script>', encoding="utf-8"
    )
    page.goto((tmp_path / "page.html").as_uri())
    look(page, words)


def test_hostile_tokens_are_shown_and_run_nothing(page: Page, tmp_path: Path) -> None:
    page.goto(write(tmp_path, HOSTILE).as_uri())
    look(page, HOSTILE[:1] + [word[:200] for word in HOSTILE[1:]])
    assert page.evaluate("window.pwned") is None
    for one in page.frames:
        assert one.evaluate("window.pwned") is None
        assert one.locator("img, b").count() == 0


def test_views_are_alive_after_the_first_run_in_jupyterlab(
    page: Page, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lab.write_notebook(tmp_path / "views.ipynb", *CELLS)
    with lab.running(tmp_path, tmp_path_factory.mktemp("lab")) as address:
        page.goto(address.format(path="views.ipynb"))
        lab.wait_until_idle(page)
        lab.run_all(page)
        lab.wait_until_all_ran(page)
        for place in (0, 1):  # a frame wakes up when it comes into sight
            lab.output(page, place).scroll_into_view_if_needed()
        head = lab.output(page, 0).frame_locator("iframe")
        expect(head.locator("#right text").last).to_have_text("</script>", timeout=WAIT)
        expect(head.locator("svg line")).to_have_count(3 * 4 * 4, timeout=WAIT)
        model = lab.output(page, 1).frame_locator("iframe")
        expect(model.locator(".attn_background")).to_have_count(6, timeout=WAIT)
        page.close()  # before its server goes away
