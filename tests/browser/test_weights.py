"""Heavy work in a worker, heavy weights on request: progress and cancel, also from the disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page

from attnlab import assets, checkpoints
from attnlab.widgets import weights
from tests.browser.joined import OPEN, joined

NAME = "pronunciation"  # the smallest of the shipped models has one part, so parts are made smaller

JOB = """
let kept = 0;
const open = ({ value }) => { kept = value; return kept; };
async function count({ n }, report) {
  for (let i = 0; i < n; i++) await report(i / n, { i });
  return n + kept;
}
function fail() { throw new RangeError("too far"); }
return { open, count, fail };
"""


@pytest.fixture
def job(made_page: Callable[..., Page]) -> Page:
    """A page from the disk with a worker that counts."""
    page = made_page()
    assert page.url.startswith("file://")
    page.evaluate(OPEN, joined("worker", job=JOB))
    return page


def test_a_worker_reports_and_keeps_what_it_opened(job: Page) -> None:
    found = job.evaluate("""async () => {
      const worker = need("worker").openWorker("job"), seen = [];
      await worker.call("open", { value: 100 });
      const progress = (share, { i }) => seen.push([share, i]);
      const result = await worker.call("count", { n: 4 }, { progress });
      const wrong = await worker.call("fail").catch((e) => `${e.name}: ${e.message}`);
      worker.close();
      return { result, seen, wrong };
    }""")
    assert found["result"] == 104
    assert found["seen"] == [[0, 0], [0.25, 1], [0.5, 2], [0.75, 3]]
    assert found["wrong"] == "RangeError: too far"


@pytest.mark.parametrize("refused", [False, True])
def test_a_job_is_cancelled_and_the_worker_lives_on(job: Page, refused: bool) -> None:
    """Also where workers are refused and the work runs on the page."""
    found = job.evaluate(
        """async (refused) => {
      if (refused) window.Worker = class { constructor() { throw new Error("refused"); } };
      const worker = need("worker").openWorker("job", { fallback: need("job") });
      let last = 0;
      const long = worker.call("count", { n: 1e6 }, { progress: (_, { i }) => {
        last = i;
        if (i === 20) long.cancel();
      } });
      const end = await long.catch((error) => error.name);
      const after = await worker.call("count", { n: 3 });
      const closed = worker.call("count", { n: 1e6 }).catch((error) => error.name);
      worker.close();
      return { end, last, after, closed: await closed };
    }""",
        refused,
    )
    assert found["end"] == found["closed"] == "Cancelled"
    assert 20 <= found["last"] < 10_000
    assert found["after"] == 3


@pytest.fixture
def beside(made_page: Callable[..., Page], tmp_path: Path, monkeypatch: Any) -> Page:
    """A page from the disk with weights in several parts beside it."""
    monkeypatch.setattr(weights, "PART", 100_000)
    weights.write_parts(tmp_path, [NAME])
    page = made_page()
    page.evaluate("place => { window.attnlabPlace = place; }", (tmp_path / "live/x.js").as_uri())
    page.evaluate(OPEN, joined("weights", "safetensors"))
    return page


LOAD = """async (about) => {
  const seen = [], model = { get: () => about };
  const bytes = await need("weights").loadWeights(model, about,
    { progress: (done, of) => seen.push(done / of) });
  const { arrays, about: header } = need("safetensors").readSafetensors(bytes);
  const [name, { shape, data, scale }] = Object.entries(arrays).find(([, a]) => a.scale);
  const sums = Object.values(arrays).map(({ data }) => data.reduce((a, b) => a + b, 0));
  return { seen, count: sums.length, header, name, shape, first: [...data.subarray(0, 5)],
    scale: scale[0], total: sums.reduce((a, b) => a + b, 0) };
}"""


def test_weights_beside_a_page_are_those_of_the_file(beside: Page) -> None:
    about = weights.about(NAME)
    assert about["parts"] > 3
    found = beside.evaluate(LOAD, about)
    assert found["seen"] == sorted(found["seen"])
    assert len(found["seen"]) == about["parts"]
    assert found["seen"][-1] == 1
    path = assets.find(f"weights/{NAME}.safetensors")
    stored, header = checkpoints.read(path)
    assert found["header"] == header
    whole = {name: x for name, x in stored.items() if not name.endswith(checkpoints.SCALE)}
    assert found["count"] == len(whole)
    total = sum(float(x.double().sum()) for x in whole.values())
    assert found["total"] == pytest.approx(total, rel=1e-4)
    name = found["name"]
    assert found["shape"] == list(stored[name].shape)
    assert found["first"] == stored[name].flatten()[:5].tolist()
    assert torch.tensor(found["scale"]) == stored[name + checkpoints.SCALE].flatten()[0]


def test_damaged_and_missing_weights_are_named(beside: Page) -> None:
    load = """about => need("weights").loadWeights({}, about).then(() => "", (e) => e.message)"""
    about = weights.about(NAME)
    wrong = beside.evaluate(load, {**about, "sha256": "0" * 64})
    assert wrong == "The weights are damaged: their sha256 is not the one the page expects."
    short = beside.evaluate(load, {**about, "bytes": about["bytes"] + 1, "sha256": "1"})
    assert short.endswith("a part is missing.")
    watch = beside.evaluate(load, {**about, "parts": about["parts"] - 1, "sha256": "2"})
    assert watch.endswith("a part is missing.")


def test_the_panel_loads_cancels_and_loads_again(beside: Page) -> None:
    beside.evaluate(
        """async (about) => {
      const { frame } = need("kit"), get = (key) => (key === "weights" ? about : "");
      const model = { get, on() {}, off() {} };
      const figure = frame({ model, el: document.body }, { name: "test", numbers: () => ({}) });
      window.bytes = 0;
      const panel = need("weights").weightsPanel(figure, model,
        { what: "the sounds", ready: (all) => { window.bytes = all.length; } });
      figure.body.append(panel);
    }""",
        weights.about(NAME),
    )
    load = beside.get_by_role("button", name="Load the sounds (0.", exact=False)
    assert load.is_visible()
    assert not beside.locator("progress").is_visible()
    # Cancelled at once: nothing is opened, and it can be asked for again.
    beside.evaluate("""() => {
      document.querySelector(".al-weights-load").click();
      [...document.querySelectorAll("button")].find((b) => b.textContent === "Cancel").click();
    }""")
    beside.wait_for_selector(".al-weights[data-state=waiting]")
    assert beside.evaluate("window.bytes") == 0
    load.click()
    beside.wait_for_selector(".al-weights[data-state=ready]", state="attached")
    assert beside.evaluate("window.bytes") == weights.about(NAME)["bytes"]


def test_the_kernel_sends_what_the_page_asks_for() -> None:
    figure = weights.HeavyFigure(weights=NAME)
    sent: list[Any] = []
    figure.send = lambda content, buffers=None: sent.append((content, buffers))  # type: ignore[method-assign]
    figure._handle_custom_msg({"kind": "weights", "part": 0}, [])
    ((content, buffers),) = sent
    assert content == {"kind": "weights", "part": 0}
    assert bytes(buffers[0]) == weights.part(NAME, 0)
    assert figure.static_state()["weights"] == weights.about(NAME)
    assert weights.named(figure.to_html()) == [NAME]
    assert len(figure.to_html()) < 1_000, "the page holds no weights"
    with pytest.raises(weights.FigureError, match="no weights called 'nobody'"):
        weights.HeavyFigure(weights="nobody")
