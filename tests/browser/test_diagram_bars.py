"""A diagram of the whole Transformer is light, painted fast, and can be read on a phone."""

from collections.abc import Callable
from statistics import median

import pytest
from playwright.sync_api import Page

from attnlab.widgets.machine import machine
from tests.browser.figures.diagram import small, transformer
from tests.browser.live import Live, settle

# Callbacks of one frame run in the order they were asked for: before, the figure's paint, after.
STEPS = """async () => {
  const place = document.querySelector("[data-widget=diagram]"), times = [], seen = new Set();
  const last = place.model.get("steps").length;
  for (let n = 0; n < 30; n++) {
    times.push(await new Promise((done) => {
      let start;
      requestAnimationFrame(() => { start = performance.now(); });
      place.model.set("step", n % last);
      requestAnimationFrame(() => {
        place.getBoundingClientRect();
        done(performance.now() - start);
      });
    }));
    seen.add([...place.querySelectorAll(".al-dg-lit")].map((node) => node.dataset.part).join());
  }
  const drawn = place.querySelectorAll(".al-dg-wide [data-part]").length;
  return { times, different: seen.size, drawn };
}"""
# Each diagram of a page: how much of it is out of sight, its smallest letters, what is lit in view.
SEEN = """() => [...document.querySelectorAll(".al-diagram")].map((figure) => {
  const place = figure.querySelector(".al-dg-pick"), edges = place.getBoundingClientRect();
  const drawn = [...place.querySelectorAll("svg")].find((node) => node.checkVisibility());
  const scale = drawn.getScreenCTM().a;
  const inside = (box) => box.left >= edges.left - 1 && box.right <= edges.right + 1;
  return {
    beyond: place.scrollWidth - place.clientWidth, fades: place.dataset.more !== "",
    letters: Math.min(...[...drawn.querySelectorAll("text")]
      .map((node) => parseFloat(getComputedStyle(node).fontSize) * scale)),
    lit: [...drawn.querySelectorAll(".al-dg-part.al-dg-lit")]
      .filter((node) => inside(node.getBoundingClientRect())).map((node) => node.dataset.part),
  };
})"""
THICKNESS = "figure => figure.querySelector('[data-part=\"f->y\"] path').style.strokeWidth"


def test_a_whole_transformer_weighs_less_than_60_kb() -> None:
    for drawn in (transformer(), machine()):
        assert len(drawn.to_html().encode()) < 60_000


def test_a_step_of_a_whole_transformer_is_painted_within_a_frame(
    made_page: Callable[..., Page],
) -> None:
    """The bar is 16 ms, one frame; held here with room for a busy machine."""
    page = made_page(transformer())
    rounds = [page.evaluate(STEPS) for _ in range(4)]
    first = rounds[0]
    parts, groups, arrows = (transformer().drawing[kind] for kind in ("parts", "groups", "arrows"))
    assert first["drawn"] == len(parts) + len(groups) + len(arrows) >= 60
    assert first["different"] == 5, "a step was not painted"
    medians = [median(one["times"]) for one in rounds]
    assert min(medians) < 16, f"median paint in ms, four times: {medians}"


def test_on_a_phone_the_machine_fits_and_a_reminder_shows_what_is_lit(
    made_page: Callable[..., Page],
) -> None:
    page = made_page(machine(), machine("norms"), machine("generator"))
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        settle(page)
        whole, norms, generator = page.evaluate(SEEN)
        assert whole["beyond"] <= 0, f"the machine scrolls at {width} pixels"
        assert not whole["fades"]
        assert {"n1", "n2", "n1'", "n2'"} <= set(norms["lit"]), f"out of sight at {width} pixels"
        assert generator["lit"] == ["n4'", "generator", "softmax", "said"]
        for one in (whole, norms, generator):
            assert one["letters"] > 10.5
        assert norms["beyond"] > 100
        assert norms["fades"], "nothing says that it goes on"


def test_an_arrow_is_as_thick_as_what_it_carries_at_this_step(
    made_page: Callable[..., Page],
) -> None:
    live = Live(made_page(small()).locator("[data-widget]"))
    full = float(live.place.evaluate(THICKNESS))  # step 1: 0.75, the most it ever carries
    live.controls("input[type=range]")[0].press("ArrowLeft")
    settle(live.page)
    assert live.numbers()["carried"] == {"f->y": 0.25}
    assert full == pytest.approx(6.0)
    assert float(live.place.evaluate(THICKNESS)) == pytest.approx(1.2 + 4.8 / 3, abs=0.01)
