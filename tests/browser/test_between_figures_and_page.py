"""What a live figure leaves behind when it goes, keeps over a reload, and takes from Python."""

from collections.abc import Callable

from playwright.sync_api import Page

from attnlab.widgets import Quiz
from tests.browser import play
from tests.browser.live import Live, settle, wait_until_alive
from tests.browser.twins import kinds

# Counts what outlives an element that is taken off the page: listeners on the page itself,
# observers, timers, frames. Listeners on the figure's own elements go with them.
TALLY = """{
  const kept = new Map();
  window.kept = () => [...kept.values()].map((name) => name.slice(0, 120));
  // The figures' scripts lie in live/; Playwright, which listens to the page as well, does not.
  const keep = (key, name) => { if (new Error().stack.includes("/live/")) kept.set(key, name); };

  const { addEventListener, removeEventListener } = EventTarget.prototype;
  const outside = (target) => [window, document, document.documentElement, document.body]
    .includes(target) || target instanceof MediaQueryList;
  const keys = new Map(); // callback -> "type, which target" -> a key to keep it under
  const keyOf = (target, type, callback) => {
    if (!keys.has(callback)) keys.set(callback, new Map());
    const name = `${type} on ${target.constructor.name}`, own = keys.get(callback);
    if (!own.has(name)) own.set(name, {});
    return own.get(name);
  };
  EventTarget.prototype.addEventListener = function (type, callback, options) {
    const target = this ?? window;
    if (outside(target)) keep(keyOf(target, type, callback), `${type}: ${callback}`);
    return addEventListener.call(target, type, callback, options);
  };
  EventTarget.prototype.removeEventListener = function (type, callback, options) {
    const target = this ?? window;
    if (outside(target)) kept.delete(keyOf(target, type, callback));
    return removeEventListener.call(target, type, callback, options);
  };
  for (const kind of ["MutationObserver", "ResizeObserver", "IntersectionObserver"]) {
    const { observe, disconnect } = window[kind].prototype;
    window[kind].prototype.observe = function (...given) {
      keep(this, kind);
      return observe.apply(this, given);
    };
    window[kind].prototype.disconnect = function () {
      kept.delete(this);
      return disconnect.call(this);
    };
  }
  for (const [start, stop, repeats] of [
    ["setTimeout", "clearTimeout"], ["requestAnimationFrame", "cancelAnimationFrame"],
    ["setInterval", "clearInterval", true],
  ]) {
    const [begin, end] = [window[start].bind(window), window[stop].bind(window)];
    window[start] = (callback, ...rest) => {
      const id = begin((...given) => {
        if (!repeats) kept.delete(`${start} ${id}`);
        callback(...given);
      }, ...rest);
      keep(`${start} ${id}`, `${start}: ${callback}`);
      return id;
    };
    window[stop] = (id) => { kept.delete(`${start} ${id}`); end(id); };
  }
}"""
# Whatever plays by itself is still playing when the figure goes.
LEAVE = """place => {
  for (const node of place.querySelectorAll("button"))
    if (/▶|play/i.test(node.textContent)) node.click();
  place.dispose();
  return [...place.model.listeners].flatMap(([event, who]) => (who.size ? [event] : []));
}"""
# One message from Python: every trait has its new value before anybody is told.
SEND = """([to, from]) => {
  const { model } = to, old = { ...model.state };
  Object.assign(model.state, from.model.state);
  const changed = Object.keys(old).filter((key) => old[key] !== model.state[key]);
  for (const key of changed) model.emit(`change:${key}`);
  model.emit("change");
}"""


def test_a_figure_that_goes_leaves_nothing_behind(
    page: Page, made_page: Callable[..., Page]
) -> None:
    page.add_init_script(TALLY)
    made_page(*(module.examples()[0] for module in kinds().values()))
    assert "MutationObserver" in page.evaluate("kept()"), "the tally counts nothing"
    for place in page.query_selector_all("[data-widget]"):
        told = place.evaluate(LEAVE)
        assert not told, f"{place.get_attribute('data-widget')} still listens to {told}"
    settle(page)
    assert page.locator(".al-figure").count() == 0
    assert page.evaluate("kept()") == []


def test_the_answers_of_a_quiz_survive_a_reload(made_page: Callable[..., Page]) -> None:
    questions = kinds()["quiz"].examples()[0].questions
    page = made_page(Quiz(questions, key="kept"), Quiz(questions))
    kept, forgotten = (Live(page.locator("[data-widget]").nth(i)) for i in (0, 1))
    for live in (kept, forgotten):
        kinds()["quiz"].move(live)
    settle(page)
    answers = kept.state()["answers"]
    assert kept.numbers()["answered"] == 1

    page.reload()
    wait_until_alive(page)
    assert kept.state()["answers"] == answers
    assert forgotten.state()["answers"] == {}, "a quiz without a key keeps nothing"
    play.check(kept)

    kept.place.locator("button", has_text="Start again").click()
    page.reload()
    wait_until_alive(page)
    assert kept.state()["answers"] == {}


def test_figures_follow_python(made_page: Callable[..., Page]) -> None:
    """All traits of another figure, sent as one message; the way there is JupyterLab's test."""
    words = [f"word{i}" for i in range(7)]
    pairs = [(m.examples()[0], [*m.examples()[1:], m.rogue(words)][0]) for m in kinds().values()]
    page = made_page(*(figure for pair in pairs for figure in pair))
    places = page.locator("[data-widget]")
    for index in range(0, places.count(), 2):
        shown, other = Live(places.nth(index)), Live(places.nth(index + 1))
        before = shown.numbers()
        page.evaluate(SEND, [live.place.element_handle() for live in (shown, other)])
        settle(page)
        assert shown.numbers() != before, f"{shown.kind}: Python spoke, the figure did not listen"
        play.check(shown)
