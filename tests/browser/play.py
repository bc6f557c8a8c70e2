"""Plays with a live figure as a reader would, and compares it with Python after every move."""

from collections.abc import Callable, Iterator

from playwright.sync_api import Locator

from tests.browser.live import Live, drag_slider, settle
from tests.browser.twins import compare, kinds

SENTENCE = "the old bank by the river"


def check(live: Live) -> None:
    compare(live.kind, *live.moment())


def pull_first_slider(live: Live) -> None:
    slider = live.controls("input[type=range]")[0]
    where = slider.evaluate("s => (s.value - s.min) / (s.max - s.min)")
    drag_slider(slider, 0.2 if where > 0.5 else 0.8)


def tap_first_slider(live: Live) -> None:
    """The same with a finger."""
    slider = live.controls("input[type=range]")[0]
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    left = slider.evaluate("s => (s.value - s.min) / (s.max - s.min) > 0.5")
    x = box["x"] + box["width"] * (0.2 if left else 0.8)
    live.page.touchscreen.tap(x, box["y"] + box["height"] / 2)


def first_move(live: Live, otherwise: Callable[[Live], None] = pull_first_slider) -> None:
    """What a reader does first: a move of the figure's own kind, or a pull at its first slider.

    Numbers and pixels must both follow, and be Python's before and after.
    """
    check(live)
    live.place.locator(".al-body").first.scroll_into_view_if_needed()
    numbers, pixels = live.numbers(), live.pixels()
    getattr(kinds()[live.kind], "move", otherwise)(live)
    settle(live.page)
    assert live.numbers() != numbers, f"{live.kind}: the reader moved, the numbers did not"
    assert live.pixels() != pixels, f"{live.kind}: the reader moved, the picture did not"
    check(live)


def lecture_move(live: Live) -> None:
    """The first move on a slide. A lecture form may hide the control of the figure's own move."""
    own = getattr(kinds()[live.kind], "move", None)
    typed = live.place.locator("input[type=text]")
    if (own or live.controls("input[type=range]")) and typed.count() == len(
        live.controls("input[type=text]")
    ):
        first_move(live)
        return
    check(live)
    assert everything(live) > 0, f"{live.kind}: nothing to move on this slide"


def everything(live: Live) -> int:
    """Use every control there is, one after the other. Returns how many moves were made."""
    moves = 0
    for selector, use in USES.items():
        place = 0
        # A move may rebuild the figure, so the controls are looked up again each time.
        while place < len(live.controls(selector)) and place < 12:
            for move in use(live.controls(selector)[place]):
                move()
                settle(live.page)
                check(live)
                moves += 1
            place += 1
    return moves


Move = Callable[[], object]


def _slide(slider: Locator) -> Iterator[Move]:
    for fraction in (0.1, 0.85, 0.45):
        yield lambda to=fraction: drag_slider(slider, to)  # type: ignore[misc]


def _choose(select: Locator) -> Iterator[Move]:
    values = select.locator("option").evaluate_all("all => all.map(o => o.value)")
    start = select.input_value()
    for value in [*(v for v in values if v != start), start][:6]:
        yield lambda to=value: select.select_option(to)  # type: ignore[misc]


def _flip(box: Locator) -> Iterator[Move]:
    yield box.click
    yield box.click


def _press(button: Locator) -> Iterator[Move]:
    yield button.click


def _fill_number(box: Locator) -> Iterator[Move]:
    for value in ("-1.5", "0.75"):
        yield lambda to=value: _enter(box, to)  # type: ignore[misc]


def _write(box: Locator) -> Iterator[Move]:
    yield lambda: _enter(box, SENTENCE)


def _enter(box: Locator, text: str) -> None:
    box.fill(text)
    box.press("Enter")


def _draw(canvas: Locator) -> Iterator[Move]:
    """A click in the middle of a map, then a stroke across a quarter of it."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    mouse = canvas.page.mouse
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6

    def stroke() -> None:
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + box["width"] / 8, y + box["height"] / 8, steps=4)
        mouse.up()

    yield lambda: mouse.click(x, y)
    yield stroke


def _step(handle: Locator) -> Iterator[Move]:
    for key in ("Home", "ArrowRight", "End"):
        yield lambda to=key: handle.press(to)  # type: ignore[misc]


USES: dict[str, Callable[[Locator], Iterator[Move]]] = {
    "input[type=range]": _slide,
    "select": _choose,
    "input[type=checkbox]": _flip,
    "input.al-number": _fill_number,
    "input[type=text]:not(.al-number)": _write,
    ".al-map canvas": _draw,
    "[role=slider]": _step,
    "button": _press,
}
