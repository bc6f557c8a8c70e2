"""What all live figures share on the Python side.

A live figure is one ES module, `static/NAME.js`. In JupyterLab and Colab it runs as an anywidget
and talks to Python. On a static page or a slide the same module is mounted on the HTML made here
(see `static_page.py`), with the figure's state beside it as JSON, and no kernel behind it.
`traits.py` has what figures are given; all that a figure needs can be imported from here.
"""

import base64
import json
from typing import Any

import anywidget
from traitlets import Unicode

from attnlab import palette
from attnlab.widgets.linker import STATIC, bundle, parts_of
from attnlab.widgets.traits import (
    Array,
    FigureError,
    Numbers,
    Temperature,
    Words,
    as_array,
    recorded,
    together,
)

__all__ = [
    "STATIC",
    "Array",
    "FigureError",
    "LiveFigure",
    "Numbers",
    "Temperature",
    "Words",
    "as_array",
    "bundle",
    "parts_of",
    "recorded",
    "stylesheet",
    "together",
]


def stylesheet(name: str) -> str:
    """The palette, the shared style, that of each part the figure is made of, and its own."""
    files = [STATIC / f"{part}.css" for part in ("kit", *parts_of(name))]
    texts = [path.read_text(encoding="utf-8") for path in dict.fromkeys(files) if path.exists()]
    return palette.css() + "".join(texts)


class LiveFigure(anywidget.AnyWidget):
    """Base of all live figures. A subclass names its file and declares its traits:

    class Dial(LiveFigure):
        figure = "dial"                       # static/dial.js, static/dial.css
        _esm, _css = bundle("dial"), stylesheet("dial")
        angle = Float(0.0).tag(sync=True)

    `made` names the traits that the constructor makes from what it is given. They fit each other
    and are not changed any more.
    """

    figure = ""
    made: tuple[str, ...] = ()
    _complete = False
    _esm: Any = "export default { render() {} }"

    title = Unicode("").tag(sync=True)
    caption = Unicode("").tag(sync=True)
    alt = Unicode("").tag(sync=True)

    def __init__(self, **traits: Any):
        unknown = sorted(set(traits) - set(self.trait_names()))
        if unknown:
            known = ", ".join(sorted(name for name in self.keys if not name.startswith("_")))
            raise TypeError(
                f"{type(self).__name__} does not know {', '.join(unknown)}. It knows {known}."
            )
        super().__init__(**traits)
        self._complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._complete and name in self.made:
            raise FigureError(
                f"{name} was made together with the figure and cannot change: "
                f"make another {type(self).__name__}."
            )
        super().__setattr__(name, value)

    def change(self, **traits: Any) -> None:
        """Change several traits at once: checked together, sent to the page as one message."""
        unknown = sorted(set(traits) - set(self.trait_names()))
        if unknown:
            raise TypeError(f"{type(self).__name__} does not know {', '.join(unknown)}.")
        with self.hold_sync(), self.hold_trait_notifications():
            for name, value in traits.items():
                setattr(self, name, value)

    def static_state(self) -> dict[str, Any]:
        """What the figure needs to come to life without a kernel."""
        own = {k: v for k, v in self.get_state().items() if not k.startswith("_")}
        for jupyter in ("layout", "tabbable", "tooltip"):
            own.pop(jupyter, None)
        return own

    def to_html(self) -> str:
        """The figure for a static page: a place, its state, and words for when scripts are off."""
        state = json.dumps(self.static_state(), default=_jsonable, ensure_ascii=False)
        state = state.replace("<", "\\u003c")  # nothing in the data can end the script element
        return (
            f'<div data-widget="{self.figure}">{self.fallback()}'
            f'<script type="application/json">{state}</script></div>'
        )

    def fallback(self) -> str:
        """What stands on a static page until its scripts run; it has the class al-fallback."""
        words = _escape(self.alt or self.title or type(self).__name__)
        return f'<p class="al-fallback"><em>Live figure:</em> {words}</p>'

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        made = super()._repr_mimebundle_(**kwargs)
        data, metadata = made if isinstance(made, tuple) else (made, {})
        return {**(data or {}), "text/plain": repr(self), "text/html": self.to_html()}, metadata

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.title!r})" if self.title else f"{type(self).__name__}()"
        )


def _jsonable(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(bytes(value)).decode("ascii")}
    raise TypeError(f"a live figure cannot send a {type(value).__name__} to the page")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
