"""Fixtures of the browser tests: the built course, a server on loopback, a page that is watched."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, sync_playwright

from attnlab.widgets import static_page
from tests.browser import chromium
from tests.browser.built import BUILD, SCREENSHOTS, SITE, SLIDES
from tests.browser.live import wait_until_alive
from tests.browser.made import write_page
from tests.browser.serving import serving

DESK: Any = {"viewport": {"width": 1280, "height": 900}}
PHONE: Any = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
HOME = ("http://127.0.0.1:", "ws://127.0.0.1:", "file://", "data:", "blob:", "about:")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium.find() is None:
        pytest.fail(chromium.HELP)
    with sync_playwright() as playwright:
        made = chromium.launch(playwright)
        yield made
        made.close()


class Watch:
    """Keeps what a page must not do: reach outside, or complain in the console."""

    def __init__(self) -> None:
        self.outside: list[str] = []
        self.errors: list[str] = []

    def follow(self, page: Page) -> None:
        page.context.route(lambda url: not url.startswith(HOME), self._refuse)
        page.on("request", self._request)
        page.on("websocket", lambda socket: self._address(socket.url))
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        page.on("dialog", self._dialog)
        page.on("console", self._console)

    def _refuse(self, route: Route) -> None:
        self._address(route.request.url)
        route.abort()

    def _request(self, request: Request) -> None:
        self._address(request.url)

    def _address(self, url: str) -> None:
        if not url.startswith(HOME) and url not in self.outside:
            self.outside.append(url)

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _dialog(self, dialog: Any) -> None:
        self.errors.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def verdict(self) -> None:
        """Fail on what was seen since the last verdict."""
        outside, errors = self.outside.copy(), self.errors.copy()
        self.outside.clear()
        self.errors.clear()
        assert not outside, f"the page asked for something that is not ours: {outside}"
        assert not errors, f"the page complained: {errors}"


def watched_page(context: BrowserContext) -> tuple[Page, Watch]:
    page = context.new_page()
    page.set_default_timeout(60_000)
    watch = Watch()
    watch.follow(page)
    return page, watch


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Make a watched page; options are the browser context's, such as `viewport`."""
    watches: list[Watch] = []
    with contextlib.ExitStack() as stack:

        def make(**options: Any) -> Page:
            context = stack.enter_context(browser.new_context(**options))
            page, watch = watched_page(context)
            watches.append(watch)
            return page

        yield make
    for watch in watches:
        watch.verdict()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page(**DESK)


@pytest.fixture(scope="module")
def _kept_open(browser: Browser) -> Iterator[dict[str, tuple[Page, Watch]]]:
    pages: dict[str, tuple[Page, Watch]] = {}
    yield pages
    for page, _ in pages.values():
        page.context.close()


@pytest.fixture
def open_once(
    browser: Browser, _kept_open: dict[str, tuple[Page, Watch]]
) -> Iterator[Callable[..., Page]]:
    """Open an address and wait until it lives; the tests of one file share the page.

    A chapter or a deck takes a moment to open, and has many figures to try. `visit(page)` opens it
    instead, for a test that watches how; it needs a page nobody has seen.
    """
    used: list[Watch] = []

    def go(url: str, *, phone: bool = False, visit: Callable[[Page], None] | None = None) -> Page:
        key = f"{url} on a phone" if phone else url
        fresh = visit is not None or key not in _kept_open
        if key in _kept_open and fresh:
            _kept_open.pop(key)[0].context.close()
        if fresh:
            _kept_open[key] = watched_page(browser.new_context(**(PHONE if phone else DESK)))
        page, watch = _kept_open[key]
        used.append(watch)
        if fresh:
            if visit:
                visit(page)
            else:
                page.goto(url)
            wait_until_alive(page)
        page.bring_to_front()
        return page

    yield go
    for watch in used:
        watch.verdict()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with serving(BUILD) as address:
        yield address


@pytest.fixture(scope="session")
def site() -> Path:
    """The built website, and not yesterday's."""
    if not (SITE / "index.html").is_file():
        pytest.fail("the website is not built: run make book")
    built = {name: SITE / "_static" / name for name in static_page.scripts()}
    if any(
        not built[name].is_file() or built[name].read_text(encoding="utf-8") != text
        for name, text in static_page.scripts().items()
    ):
        pytest.fail("the website holds older live figures than src/attnlab/widgets: run make book")
    return SITE


@pytest.fixture(scope="session")
def slides() -> Path:
    if not list(SLIDES.glob("*.html")):
        pytest.fail("the slides are not built: run make slides")
    return SLIDES


@pytest.fixture
def address(request: pytest.FixtureRequest, server: str) -> Callable[[Path], str]:
    """The address of a built file, over HTTP or from the disk."""

    def of(path: Path, scheme: str = "http") -> str:
        if scheme == "file":
            return path.as_uri()
        return f"{server}/{path.relative_to(BUILD).as_posix()}"

    return of


@pytest.fixture
def shoot() -> Callable[..., Path]:
    """Keep a picture for people to look at; build/ is not in git."""

    def take(page: Page, name: str, **options: Any) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path, animations="disabled", **options)
        return path

    return take


@pytest.fixture
def open_alive(page: Page) -> Callable[[str], Page]:
    """Open an address and wait until its figures live and its formulas are set."""

    def go(url: str) -> Page:
        page.goto(url)
        wait_until_alive(page)
        return page

    return go


@pytest.fixture
def made_page(tmp_path: Path, open_alive: Callable[[str], Page]) -> Callable[..., Page]:
    """Open a bare page of our own that holds the given live figures."""

    return lambda *figures: open_alive(write_page(tmp_path, *figures))


@pytest.fixture
def still_page(tmp_path: Path, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """The same for a reader who asked for reduced motion."""

    def make(*figures: Any) -> Page:
        page = new_page(reduced_motion="reduce")
        page.goto(write_page(tmp_path, *figures))
        wait_until_alive(page)
        return page

    return make


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one page in one process (`--dist loadgroup`), where they share it.

    Pages, not files: one file tries the whole website, and would keep one process busy alone.
    """
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            chosen = item.callspec.params if hasattr(item, "callspec") else {}
            page = str(getattr(chosen.get("spot"), "file", chosen.get("name", "")))
            group = f"{item.path.stem}-{Path(page).stem}-{chosen.get('scheme', 'http')}"
            item.add_marker(pytest.mark.xdist_group(group))
