"""What all tests share: which of them stay together when two processes run them."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One group a file; in the browser one group a page, so that an opened page is used again."""
    for item in items:
        given = getattr(item, "callspec", None)
        spot = given.params.get("spot") if given else None
        name = given.params.get("name") if given else None
        page = spot.file if spot else f"{name}.html" if name else ""
        item.add_marker(pytest.mark.xdist_group(f"{item.path.name} {page}"))
