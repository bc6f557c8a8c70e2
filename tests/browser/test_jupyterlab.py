"""The course in a real JupyterLab: figures talk to the kernel, the kernel talks back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import lab
from tests.browser.live import drag_slider

TALK = (
    """from attnlab.widgets import SoftmaxTemperature
w = SoftmaxTemperature(["river", "street", "money"], [2.0, 1.0, -1.0])
w""",
    'print(f"T = {w.temperature:.6f}")',
    "w.temperature = 4.0",
)
HEAT = "document.querySelector('.jp-Notebook .al-figure').figure.numbers()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("course")


@pytest.fixture(scope="module")
def jupyterlab(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with lab.running(folder, tmp_path_factory.mktemp("lab")) as address:
        yield address


def test_a_slider_reaches_the_kernel_and_python_reaches_the_figure(
    page: Page, jupyterlab: str, folder: Path
) -> None:
    lab.write_notebook(folder / "talk.ipynb", *TALK)
    page.goto(jupyterlab.format(path="talk.ipynb"))
    lab.wait_until_idle(page)
    lab.run_cell(page, 0)
    figure = page.locator(".jp-Notebook .al-figure")
    expect(figure).to_be_visible(timeout=2 * lab.MINUTES)

    drag_slider(figure.locator("input[type=range]").first, 0.2)
    shown = page.evaluate(f"{HEAT}.temperature")
    assert shown < 0.5
    lab.run_cell(page, 1)
    expect(lab.output(page, 1)).to_have_text(re.compile(rf"T = {shown:.6f}"))

    lab.run_cell(page, 2)
    page.wait_for_function(f"{HEAT}.temperature === 4")
