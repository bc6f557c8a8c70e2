"""A diagram of the whole Transformer is light on the page, and its steps are painted fast."""

from collections.abc import Callable
from statistics import median

from playwright.sync_api import Page

from tests.browser.figures.diagram import transformer

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
  const count = (kind) => place.querySelectorAll(`.al-dg-wide ${kind}`).length;
  const drawn = count("[data-part]") + count(".al-dg-arrow");
  return { times, different: seen.size, drawn };
}"""


def test_a_whole_transformer_weighs_less_than_60_kb() -> None:
    assert len(transformer().to_html().encode()) < 60_000


def test_a_step_of_a_whole_transformer_is_painted_within_a_frame(
    made_page: Callable[..., Page],
) -> None:
    """The bar is 16 ms, one frame; held here with room for a busy machine."""
    page = made_page(transformer())
    rounds = [page.evaluate(STEPS) for _ in range(4)]
    first = rounds[0]
    assert first["drawn"] >= 40
    assert first["different"] == 5, "a step was not painted"
    medians = [median(one["times"]) for one in rounds]
    assert min(medians) < 16, f"median paint in ms, four times: {medians}"
