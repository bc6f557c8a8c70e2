"""A real JupyterLab for the tests: its own folders, nothing of the user's, nothing from outside."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, Page, expect

MINUTES = 60_000  # Playwright counts in milliseconds
# Asked of JupyterLab's own model: cells off the screen are not drawn.
NOTEBOOK = "jupyterapp.shell.currentWidget.content.model.toJSON()"
DONE = f"""() => {{
  const code = {NOTEBOOK}.cells.filter((c) => c.cell_type === "code" && String(c.source).trim());
  const failed = code.some((cell) => cell.outputs.some((o) => o.output_type === "error"));
  return failed || code.every((cell) => cell.execution_count !== null);
}}"""


def write_notebook(path: Path, *cells: str) -> Path:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)
    return path


@contextlib.contextmanager
def running(folder: Path, scratch: Path) -> Iterator[str]:
    """JupyterLab on `folder`; gives its address, where {path} is to be filled in."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = scratch / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "data"),
        "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
        "OMP_NUM_THREADS": "1",  # on a busy machine, threads that wait for each other take minutes
        "IPYTHONDIR": str(scratch / "ipython"),
        "JUPYTERLAB_SETTINGS_DIR": str(scratch / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(scratch / "workspaces"),
    }
    token = secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}"),
        *(
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.news_url=None",
            "--LabApp.extension_manager=readonly",
        ),
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    log = scratch / "jupyterlab.log"
    with log.open("w") as file:
        server = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", server, log)
        yield f"http://127.0.0.1:{port}/lab/tree/{{path}}?token={token}&reset"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, f"JupyterLab stopped:\n{log.read_text()}"
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(url, timeout=5).read()
            return
        time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not answer within {seconds:.0f} s:\n{log.read_text()}")


def wait_until_idle(page: Page) -> None:
    """The status bar says so; before that, Run All would be lost."""
    status = page.locator("#jp-main-statusbar").get_by_text("Idle")
    expect(status).to_be_visible(timeout=3 * MINUTES)


def run_all(page: Page) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def wait_until_all_ran(page: Page, minutes: float = 8) -> nbformat.NotebookNode:
    """Wait until every code cell has run, fail when one failed, and give the notebook."""
    page.wait_for_function(DONE, timeout=minutes * MINUTES, polling=500)
    wait_until_idle(page)
    notebook = nbformat.from_dict(page.evaluate(NOTEBOOK))
    for one in notebook.cells:
        errors = [o for o in one.get("outputs", ()) if o.output_type == "error"]
        assert not errors, f"a cell failed:\n{one.source}\n{errors[0].ename}: {errors[0].evalue}"
    return notebook


def cell(page: Page, index: int) -> Locator:
    return page.locator(".jp-Notebook .jp-Cell").nth(index)


def run_cell(page: Page, index: int) -> None:
    cell(page, index).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def output(page: Page, index: int) -> Locator:
    return cell(page, index).locator(".jp-OutputArea-output")
