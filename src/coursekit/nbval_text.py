"""A pytest plugin for nbval: compare what can be compared on another machine.

The solutions notebooks keep only text (see `execute.keep_text_only`). nbval would call the pictures
and live figures a cell also shows "unexpected", so this tells it to look at text alone, and gives
its kernels the environment the notebooks were made in: `pytest -p coursekit.nbval_text --nbval …`.
"""

from contextlib import ExitStack

import pytest

from coursekit.execute import kernel_environment
from coursekit.project import find_project

NOT_COMPARED = (
    "stderr",
    "text/html",
    "text/markdown",
    "text/latex",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "application/json",
    "application/vnd.plotly.v1+json",
    "application/vnd.jupyter.widget-view+json",
)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """nbval asks every notebook's collector what to skip."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += NOT_COMPARED


def pytest_sessionstart(session: pytest.Session) -> None:
    """Kernels inherit the environment of the session."""
    stack = ExitStack()
    stack.enter_context(kernel_environment(find_project(session.config.rootpath)))
    session.config.add_cleanup(stack.close)
