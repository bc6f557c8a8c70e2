"""Parts of live figures for a test: those named, and one of the test's own."""

import json

from attnlab.widgets import linker


def joined(*names: str, **own: str) -> str:
    """A module whose default export is `need`: for `static/NAME.js` and for own=text, each a part.

    The text of a part of the test's own returns its exports, as in `return { open };`. It may need
    those named, which come with it into a worker.
    """
    files = dict.fromkeys(part for name in names for part in linker.parts_of(name))
    parts = [linker.part(file) for file in files]
    needs = json.dumps(names)
    parts += [f'["{name}", {needs}, (need) => {{ {text} }}]' for name, text in own.items()]
    return f"{linker.text_of('linker')}\nexport default linker([{','.join(parts)}]).need;\n"


OPEN = """async (source) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  window.need = (await import(url)).default;
}"""
