"""What needs a kernel, in a real JupyterLab: the training cockpit, plotly from the kernel."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import lab

COCKPIT = (
    """import itertools, time, torch
from torch import nn
from attnlab import training

class Line(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def loss(self, batch):
        time.sleep(0.002)
        return (self.weight.mean() * batch - 3 * batch).square().mean()

pilot = training.cockpit(
    Line, lambda: (torch.ones(4) for _ in itertools.count()), sizes={"small": 2, "large": 5},
    lr=0.05, steps=60, sample=lambda model: f"w = {model.weight.mean().item():.1f}",
)""",
    "pilot.steps = 100_000",
    """pilot.wait()
print(tuple(pilot.model.weight.shape), pilot.history.stopped, 0 < pilot.history.steps < 100_000)""",
)
PLOTLY = (
    """import plotly.graph_objects as go
from attnlab import figures, palette
cloud = go.Scatter3d(x=[0, 1, 2], y=[2, 0, 1], z=[1, 2, 0], text=["cat", "dog", "car"],
                     mode="markers+text", marker_color=palette.colour("query"))
figures.interactive(go.Figure(cloud), alt="Three words in space.", caption="Turn it.")""",
)
EYE = "() => document.querySelector('.al-pl-chart').layout.scene.camera.eye.x"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("course")
    lab.write_notebook(made / "cockpit.ipynb", *COCKPIT)
    lab.write_notebook(made / "plotly.ipynb", *PLOTLY)
    return made


@pytest.fixture(scope="module")
def jupyterlab(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with lab.running(folder, tmp_path_factory.mktemp("lab")) as address:
        yield address


def test_the_cockpit_starts_and_stops_and_keeps_the_model(
    page: Page, jupyterlab: str, shoot: Callable[..., Path]
) -> None:
    page.goto(jupyterlab.format(path="cockpit.ipynb"))
    lab.wait_until_idle(page)
    lab.run_cell(page, 0)
    shown = lab.output(page, 0)
    expect(shown.get_by_text("step 60 of 60")).to_be_visible(timeout=2 * lab.MINUTES)
    expect(shown.locator("img")).to_be_visible()
    expect(shown.get_by_text("w = ").last).to_be_visible()
    shoot(page, "jupyterlab-cockpit")
    lab.run_cell(page, 1)
    shown.get_by_role("button", name="large").click()
    shown.get_by_role("button", name="Start").click()
    expect(shown.get_by_text("of 100000")).to_be_visible(timeout=lab.MINUTES)
    shown.get_by_role("button", name="Stop").click()
    expect(shown.get_by_text("stopped: the model is kept")).to_be_visible(timeout=lab.MINUTES)
    lab.run_cell(page, 2)
    expect(lab.output(page, 2)).to_contain_text("(5,) asked True", timeout=lab.MINUTES)


def test_plotly_comes_from_the_kernel_and_turns(
    page: Page, jupyterlab: str, shoot: Callable[..., Path]
) -> None:
    page.goto(jupyterlab.format(path="plotly.ipynb"))
    lab.wait_until_idle(page)
    lab.run_cell(page, 0)
    figure = page.locator(".jp-Notebook .al-figure")
    expect(figure).to_be_visible(timeout=2 * lab.MINUTES)
    expect(page.locator(".jp-Notebook [data-plotly=yes]")).to_be_visible(timeout=2 * lab.MINUTES)
    before = page.evaluate(EYE)
    figure.get_by_role("button", name="Turn right").click()
    page.wait_for_function(f"before => ({EYE})() !== before", arg=before)
    figure.locator("input[type=range]").press("ArrowRight")
    expect(figure.locator(".al-readout")).to_contain_text("cat: 0, 2, 1")
    shoot(page, "jupyterlab-plotly")
