"""Finds Chromium for the browser tests, or installs it. `make chromium` runs this file.

Looked for: $CHROMIUM, then a browser on the PATH, then the one Playwright keeps for itself.
Installed: with apt-get where that is allowed, otherwise by Playwright. Chromium without windows
comes first: it draws the same pages, and spends nothing on tabs and menus that nobody sees.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright

WITHOUT_WINDOWS = "chromium-headless-shell"
NAMES = (
    *(WITHOUT_WINDOWS, "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
HELP = (
    "The browser tests need Chromium and found none. Install it (Debian: apt-get install "
    f"{WITHOUT_WINDOWS} fonts-noto-color-emoji; elsewhere: python -m playwright "
    "install chromium), or set CHROMIUM to its path."
)


def works(path: str) -> bool:
    """A file is not enough: on Ubuntu `chromium-browser` may be a stub that asks for snap."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.returncode == 0


def find() -> str | None:
    """The path of a Chromium that starts, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        if works(named):
            return named
        raise SystemExit(f"CHROMIUM is set to {named!r}, which does not start.")
    for name in NAMES:
        path = shutil.which(name)
        if path and works(path):
            return path
    if Path(MAC).exists():
        return MAC
    own = _playwrights_own()
    return own if own and Path(own).exists() and works(own) else None


def _playwrights_own() -> str | None:
    # Asked in a process of its own, because two Playwrights cannot share one.
    ask = (
        "from playwright.sync_api import sync_playwright as s\n"
        "with s() as p: print(p.chromium.executable_path)"
    )
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    return said.stdout.strip() or None


def install() -> None:
    """Try apt-get, then Playwright. What went wrong is left on the screen."""
    apt = _apt()
    if apt is not None:
        print("Chromium is missing: installing it with apt-get", flush=True)
        subprocess.run([*apt, "update", "-qq"])
        for name in (WITHOUT_WINDOWS, "chromium"):  # older releases have only the second
            wanted = [name, "fonts-noto-color-emoji"]
            subprocess.run([*apt, "install", "-qq", "-y", "--no-install-recommends", *wanted])
            if find():
                return
    print("Chromium is missing: asking Playwright for its own", flush=True)
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"])


def _apt() -> list[str] | None:
    """apt-get as root, or through a sudo that asks no password."""
    path = shutil.which("apt-get")
    if path is None:
        return None
    if os.geteuid() == 0:
        return [path]
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True).returncode == 0:
        return [sudo, "-n", path]
    return None


def options() -> list[str]:
    """Command-line switches: no sandbox for root, no request that is not ours, no name resolved."""
    return [
        *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--force-color-profile=srgb",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ]


def launch(playwright: Playwright) -> Browser:
    path = find()
    if path is None:
        raise SystemExit(HELP)
    return playwright.chromium.launch(executable_path=path, args=options())


def main() -> None:
    if not find():
        install()
    path = find()
    if path is None:
        raise SystemExit(HELP)
    print(f"Browser: {path}")


if __name__ == "__main__":
    main()
