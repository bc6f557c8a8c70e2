"""Each file of a figure has a scope of its own, wherever it runs."""

import pytest

from attnlab.widgets import linker


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files for the linker, instead of the figures'."""
    monkeypatch.setattr(linker, "STATIC", tmp_path)
    (tmp_path / "linker.js").write_text(
        (linker.Path(linker.__file__).parent / "static/linker.js").read_text(encoding="utf-8")
    )
    linker.text_of.cache_clear()
    yield tmp_path
    linker.text_of.cache_clear()


def test_parts_come_after_what_they_need(folder):
    (folder / "a.js").write_text('import { b } from "./b.js";\nimport { c } from "./c.js";\n')
    (folder / "b.js").write_text('import { c } from "./c.js";\nexport const b = c;\n')
    (folder / "c.js").write_text('import T from "./t.json";\nexport const c = T;\n')
    (folder / "t.json").write_text('{ "one": 1 }\n')
    assert linker.parts_of("a") == ["t.json", "c", "b", "a"]
    assert linker.needs_of("a") == ["b", "c"]
    assert linker.part("t.json") == '["t.json", [], (need) => { return { default: {"one":1} }; }]'


def test_imports_over_several_lines_keep_the_line_numbers(folder):
    text = 'import {\n  one,\n  two as deux,\n} from "./b.js";\nexport const five = 5;\n'
    (folder / "a.js").write_text(text)
    lines = linker.part("a").splitlines()
    assert lines[1] == 'const { one, two: deux, } = need("b");'
    assert lines[5] == "const five = 5;"
    assert lines[-2] == "return { five };"


def test_a_part_for_a_worker_comes_along_and_is_not_run(folder):
    text = 'import "./job.js"; // for a worker\nimport { b } from "./b.js";\nexport const a = b;\n'
    (folder / "a.js").write_text(text)
    (folder / "b.js").write_text("export const b = 1;\n")
    (folder / "job.js").write_text("export const job = 2;\n")
    assert linker.parts_of("a") == ["b", "job", "a"]
    assert linker.part("a").splitlines()[1:4] == ["", 'const { b } = need("b");', "const a = b;"]


def test_an_import_of_another_form_is_named(folder):
    (folder / "a.js").write_text('import * as b from "./b.js";\n')
    with pytest.raises(ValueError, match=r"a\.js has a line that the linker cannot read: 'import"):
        linker.part("a")
