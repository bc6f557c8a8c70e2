"""A live figure in a browser: controls to move, numbers and pixels to look at."""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page

# Typed arrays and infinities do not survive the way from the page to Python as they are.
PLAIN = """
function plain(value) {
  if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) };
  if (value === null || typeof value !== "object") return value ?? null;
  if (value instanceof DataView || value instanceof Uint8Array) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return { $bytes: btoa(text) };
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value, plain);
  if (value instanceof Map) return plain(Object.fromEntries(value));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}
"""
STATE = f"place => {{ {PLAIN} return plain(place.model.state); }}"
NUMBERS = f"root => {{ {PLAIN} return plain(root.figure.numbers()); }}"
MOMENT = f"""place => {{ {PLAIN}
  return plain([place.model.state, place.querySelector(".al-figure").figure.numbers()]);
}}"""
USABLE = """all => all.flatMap(
  (node, place) => node.checkVisibility() && !node.disabled ? [place] : [])"""
TWO_FRAMES = "() => new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))"
# All figures alive and all formulas set: the moment a reader can use the page.
READY = """async () => {
  if (document.readyState === "loading") return false;
  const places = [...document.querySelectorAll("[data-widget]")];
  if (places.some((place) => place.dataset.mounted === "failed"))
    throw new Error("a live figure failed to mount");
  if (!places.every((place) => place.dataset.mounted === "yes")) return false;
  if (document.querySelector("script[src*=mathjax]")) {
    if (!window.MathJax?.startup?.promise) return false;
    await window.MathJax.startup.promise;
  }
  return true;
}"""


def revive(value: Any) -> Any:
    """Undo `plain`: {"shape", "dtype", "data": bytes} becomes an array, {"$number"} a float."""
    if isinstance(value, list):
        return [revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$number" in value:
        return float(value["$number"].replace("Infinity", "inf"))
    data = value.get("data")
    if isinstance(data, dict) and "$bytes" in data:
        flat = np.frombuffer(base64.b64decode(data["$bytes"]), dtype=value["dtype"])
        return flat.reshape(value["shape"])
    return {key: revive(item) for key, item in value.items()}


def settle(page: Page) -> None:
    """Wait until what was asked for is painted: figures paint in the next frame."""
    page.evaluate(TWO_FRAMES)


def wait_until_alive(page: Page, timeout: float = 60_000) -> None:
    page.wait_for_function(READY, timeout=timeout)
    settle(page)


@dataclass(frozen=True)
class Live:
    """One `<div data-widget="…">` of a static page."""

    place: Locator

    @property
    def kind(self) -> str:
        return str(self.place.get_attribute("data-widget"))

    @property
    def page(self) -> Page:
        return self.place.page

    def state(self) -> dict[str, Any]:
        """The traits, as the page holds them now."""
        found: dict[str, Any] = revive(self.place.evaluate(STATE))
        return found

    def numbers(self) -> Any:
        """What the figure says it draws."""
        return revive(self.place.locator(".al-figure").evaluate(NUMBERS))

    def moment(self) -> tuple[dict[str, Any], Any]:
        """Both, of one moment: a figure that plays has moved on when it is asked a second time."""
        state, numbers = revive(self.place.evaluate(MOMENT))
        return state, numbers

    def pixels(self) -> bytes:
        settle(self.page)
        return self.place.locator(".al-body").first.screenshot(animations="disabled")

    def controls(self, selector: str) -> list[Locator]:
        """The controls a reader can see and use."""
        found = self.place.locator(selector)
        return [found.nth(place) for place in found.evaluate_all(USABLE)]


def drag_slider(slider: Locator, fraction: float) -> None:
    """Take the handle with the mouse and pull it to `fraction` of the way, in several moves."""
    page = slider.page
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None, "the slider is not on the screen"
    thumb = 16.0
    where = slider.evaluate("s => (s.value - s.min) / ((s.max - s.min) || 1)")
    x = box["x"] + thumb / 2 + where * (box["width"] - thumb)
    y = box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(box["x"] + thumb / 2 + fraction * (box["width"] - thumb), y, steps=5)
    page.mouse.up()
    settle(page)
