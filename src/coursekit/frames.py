"""bertviz's views on a page: the libraries they share are there once, not in every frame.

A view is a closed frame with d3 and jQuery inside (385 kB), so that it works alone, in a notebook.
On the website a frame comes without them; `style/course.js` puts them in before it wakes up. The
frame stays as closed as it was: it gets its document as text, and asks for nothing.
"""

import html
import re
from collections.abc import Callable

from nbformat import NotebookNode

FRAME = re.compile(r"srcdoc=(['\"])(.*?)\1></iframe>", re.DOTALL)
MARK = "<!-- shared: {} -->"


def share_libraries(page: NotebookNode, library: Callable[[str], str], names: list[str]) -> None:
    """Take the libraries out of all frames of a page, and put each before the first that needs it.

    `library(name)` is its text, as it is put in a frame.
    """
    put: set[str] = set()
    for cell in page.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "<iframe" not in str(data.get("text/html", "")):
                continue
            needed: list[str] = []

            def without(found: re.Match[str], needed: list[str] = needed) -> str:
                document = html.unescape(found[2])
                for name in names:
                    inside = f"<script>{library(name)}</script>"
                    if inside in document:
                        document = document.replace(inside, MARK.format(name))
                        needed.append(name)
                return f'data-srcdoc="{html.escape(document)}"></iframe>'

            text = FRAME.sub(without, data["text/html"])
            if not needed:
                continue
            new = [name for name in dict.fromkeys(needed) if name not in put]
            put.update(new)
            shared = (
                f'<script type="text/plain" data-library="{name}">{library(name)}</script>'
                for name in new
            )
            data["text/html"] = "".join(shared) + text
