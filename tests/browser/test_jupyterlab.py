"""The course in a real JupyterLab: figures talk to the kernel, the kernel talks back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from attnlab.start import PAGE, fill
from tests.browser import lab
from tests.browser.built import ROOT
from tests.browser.live import NUMBERS, drag_slider, revive, settle

STUDENT = ROOT / "notebooks" / "student"
# nbval runs the cells of all; what could differ here is JupyterLab, and that is the same for all.
CHAPTERS = sorted(path.name for path in STUDENT.glob("00_*.ipynb"))
FIGURE = ".jp-Notebook .al-figure"
TALK = (
    """import torch
from attnlab.attention import weights
from attnlab.widgets import AttentionHeatmap

q, k = torch.randn(2, 2, 5, 8, generator=torch.Generator().manual_seed(1)).unbind(0)
w = AttentionHeatmap(q=q, k=k, tokens="the cat sat on it".split())
w""",
    'print(f"T = {w.temperature:.6f}, allowed {int(w.allowed.sum())}")',
    'w.change(temperature=4.0, mask="causal", head=1)',
    "print(weights(q, k, causal=True, temperature=4.0)[1].flatten().tolist())",
    """for wrong in ({"tokens": []}, {"q": q * torch.nan}, {"tokens": ["one", "two"]}):
    try:
        w.change(**wrong)
    except ValueError as error:
        print(error)""",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's folder: the repository's own notebooks are never opened, so never changed."""
    page, _ = fill(tmp_path_factory.mktemp("course"), STUDENT)
    return page.parent


@pytest.fixture(scope="module")
def jupyterlab(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with lab.running(folder, tmp_path_factory.mktemp("lab")) as address:
        yield address


def test_the_start_page_opens_a_chapter(page: Page, jupyterlab: str) -> None:
    page.goto(jupyterlab.format(path=PAGE))
    lab.wait_until_idle(page)
    page.locator(".jp-RenderedMarkdown a", has_text="0 · Start here").click()
    heading = page.locator(".jp-RenderedMarkdown h1", has_text="0 · Start here")
    expect(heading).to_be_visible(timeout=lab.MINUTES)


def test_a_slider_reaches_the_kernel_and_python_reaches_the_figure(
    page: Page, jupyterlab: str, folder: Path, shoot: Callable[..., Path]
) -> None:
    lab.write_notebook(folder / "talk.ipynb", *TALK)
    page.goto(jupyterlab.format(path="talk.ipynb"))
    lab.wait_until_idle(page)
    lab.run_cell(page, 0)
    figure = page.locator(FIGURE)
    expect(figure).to_be_visible(timeout=2 * lab.MINUTES)

    # From the figure to Python: a slider and a mask drawn by hand.
    drag_slider(figure.locator("input[type=range]").first, 0.2)
    numbers = revive(figure.evaluate(NUMBERS))
    assert numbers["temperature"] < 0.5
    canvas = figure.locator(".al-map canvas")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.7)
    settle(page)
    lab.run_cell(page, 1)
    expect(lab.output(page, 1)).to_have_text(f"T = {numbers['temperature']:.6f}, allowed 24")

    # From Python to the figure, which must then show what the library computes.
    figure.locator("button", has_text="Reset").click()
    lab.run_cell(page, 2)
    handle = figure.element_handle()
    page.wait_for_function("root => root.figure.numbers().temperature === 4", arg=handle)
    shown = revive(figure.evaluate(NUMBERS))
    assert shown["head"] == 1
    lab.run_cell(page, 3)
    expect(lab.output(page, 3)).to_contain_text("]")
    expected = [float(x) for x in lab.output(page, 3).inner_text().strip(" []\n").split(",")]
    assert [w for row in shown["weights"] for w in row] == pytest.approx(expected, abs=1e-4)
    shoot(page, "jupyterlab-talk")

    # No tokens, NaN, too few tokens: one sentence each, and the figure stays as it was.
    lab.run_cell(page, 4)
    for words in ("tokens is empty", "q holds nan at (0, 0, 0)", "2 tokens but 5 queries"):
        expect(lab.output(page, 4)).to_contain_text(words)
    settle(page)
    assert revive(figure.evaluate(NUMBERS)) == shown


@pytest.mark.parametrize("name", CHAPTERS)
def test_student_edition_runs_from_top_to_bottom(
    name: str, page: Page, jupyterlab: str, shoot: Callable[..., Path]
) -> None:
    """Run All, as a learner's first click: unsolved exercises answer kindly, figures come alive."""
    page.goto(jupyterlab.format(path=name))
    lab.wait_until_idle(page)
    lab.run_all(page)
    notebook = lab.wait_until_all_ran(page)
    checks = [cell for cell in notebook.cells if "check" in cell.metadata.get("tags", [])]
    assert checks
    for cell in checks:
        shown = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        said = "".join("".join(text) for text in shown)
        assert "✗" in said, f"exercise {cell.metadata['exercise']} said {said!r} to its stub"
    figure = page.locator(FIGURE).first
    figure.scroll_into_view_if_needed()
    expect(figure).to_be_visible()
    shoot(page, f"jupyterlab-{Path(name).stem}")
