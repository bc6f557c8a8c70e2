"""Heavy weights for live figures, loaded only when the reader asks for them.

    class Story(HeavyFigure):                       # instead of LiveFigure
        figure = "story"
        _esm, _css = bundle("story"), stylesheet("story")

    Story(weights="stories15m")                     # assets/weights/stories15m.safetensors

and in `static/story.js`:

    import { weightsPanel } from "./weights.js";    // "Load the model (15.2 MB)", a bar, Cancel
    import { openWorker } from "./worker.js";
    import "./story_job.js";                        // runs in the worker: see worker.js

    const worker = openWorker("story_job");
    figure.cleanup(worker.close);
    const panel = weightsPanel(figure, model, {
      ready: (bytes) => worker.call("open", { bytes }),
    });
    figure.body.prepend(panel);

    // static/story_job.js: readSafetensors(bytes).arrays["layers.0.attention.query.weight"] is
    // { shape, data: Int8Array, scale }, as products.js takes it.

The page itself holds only the name, the size and the sha256. On the static site the file is
beside the figures' scripts, as `live/weights/NAME.0.js`, `NAME.1.js` …, one megabyte each, which
`coursekit` writes for the pages that name them. In JupyterLab the kernel sends the same parts.
"""

import base64
import math
import re
from pathlib import Path
from typing import Any

import traitlets

from attnlab.widgets.base import FigureError, LiveFigure

PART = 1 << 20  # bytes
FOLDER = "live/weights"
_NAMED = re.compile(r'"\$weights": "(\w+)"')


class Weights(traitlets.TraitType):
    """The name of a file in assets/weights; the page gets its name, size and sha256."""

    info_text = "the name of a file in assets/weights, without .safetensors"

    def __init__(self, **kwargs: Any):
        super().__init__("", **kwargs)
        self.tag(sync=True, to_json=lambda name, _: about(name) if name else None)

    def validate(self, obj: Any, value: Any) -> str:
        if not isinstance(value, str):
            raise FigureError(f"{self.name} is a {type(value).__name__}: give {self.info_text}.")
        if value:
            about(value)
        return value


def about(name: str) -> dict[str, Any]:
    """What a page knows of weights before it loads them."""
    from attnlab import assets  # imports torch, which a page's figure may do without

    listed = assets.manifest()
    entry = listed.get(f"weights/{name}.safetensors")
    if entry is None:
        known = ", ".join(Path(key).stem for key in listed if key.startswith("weights/"))
        raise FigureError(f"there are no weights called {name!r} in assets/weights: {known}.")
    parts = math.ceil(entry["bytes"] / PART)
    return {
        "$weights": name,
        "bytes": entry["bytes"],
        "sha256": entry["sha256"],
        "parts": parts,
    }


def part(name: str, i: int) -> bytes:
    """Part i of the file."""
    from attnlab import assets

    with (assets.folder() / f"weights/{name}.safetensors").open("rb") as file:
        file.seek(i * PART)
        return file.read(PART)


class HeavyFigure(LiveFigure):
    """A live figure with weights that it loads on request."""

    weights = Weights()

    def __init__(self, **traits: Any):
        super().__init__(**traits)
        self.on_msg(self._answer)

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, dict) and message.get("kind") == "weights":
            i = int(message["part"])
            self.send({"kind": "weights", "part": i}, buffers=[part(self.weights, i)])


def named(html: str) -> list[str]:
    """The weights that the figures of a page name."""
    return sorted(set(_NAMED.findall(html)))


def write_parts(directory: Path, names: list[str]) -> list[Path]:
    """Write the weights as scripts into `directory`/live/weights; existing files stay."""
    written = []
    for name in names:
        from attnlab import assets

        assets.find(f"weights/{name}.safetensors")  # compares its sha256
        for i in range(about(name)["parts"]):
            path = directory / FOLDER / f"{name}.{i}.js"
            text = base64.b64encode(part(name, i)).decode("ascii")
            script = f'(globalThis.attnlabChunks ??= {{}})["{name}.{i}"] = "{text}";\n'
            if not path.exists() or path.stat().st_size != len(script):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(script, encoding="utf-8")
            written.append(path)
    return written
