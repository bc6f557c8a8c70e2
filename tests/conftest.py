"""What all tests share: the order they run in."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: while Playwright runs, no other event loop can start in the process."""
    items.sort(key=lambda item: "browser" in item.path.parts)
