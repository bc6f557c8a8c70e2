"""The figures of chapter 9, where their numbers alone do not tell."""

from playwright.sync_api import Browser

from tests.browser.joined import OPEN, joined


def test_a_narrow_cell_drops_a_leading_nought_and_nothing_else(browser: Browser) -> None:
    page = browser.new_page()
    page.evaluate(OPEN, joined("relative_bias"))
    said = ["0.8", "−0.8", "3.0", "−3.0", "10.3", "0.0", "−0.0"]
    shown = page.evaluate("said => said.map(need('relative_bias').tight)", said)
    assert shown == [".8", "−.8", "3.0", "−3.0", "10.3", "0", "0"]
    page.close()
