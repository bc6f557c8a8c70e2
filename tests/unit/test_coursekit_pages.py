"""coursekit's pages: what the website and the slides are cut from, and that they stay offline."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import yaml
from nbformat import NotebookNode

from attnlab.pictures import Picture
from coursekit import advice, book, editions, landing, pages, search, slides, sphinx_tidy, vendored
from coursekit.build import load_chapters
from coursekit.errors import CourseError
from coursekit.offline import remote_sources, require_offline
from coursekit.project import Project
from coursekit.source import Cell, Chapter

SOURCE = (Path(__file__).parent / "coursekit_chapter.txt").read_text(encoding="utf-8")
FIGURE = '<div data-widget="dial"><script type="application/json">{}</script></div>'


def make_project(root: Path) -> Project:
    (root / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://github.com/someone/a-course"\n'
    )
    (root / "notebooks").mkdir()
    (root / "src" / "attnlab").mkdir(parents=True)
    (root / "notebooks" / "03_weighted_means.py").write_text(SOURCE, encoding="utf-8")
    gpu = SOURCE.replace("#     number: 3", "#     number: 3\n#     gpu: true").replace(
        "3.1", "3.9"
    )
    gpu = gpu.replace("title: Weighted means", "title: Heavier means").replace('"slide"', '"notes"')
    gpu = gpu.replace('"notes", "slides-only"', '"notes"')
    (root / "notebooks" / "gpu_03_more.py").write_text(gpu, encoding="utf-8")
    return Project(root)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def chapters(project: Project) -> list[Chapter]:
    return load_chapters(project)


@pytest.fixture(scope="module")
def executed(project: Project, chapters: list[Chapter]) -> NotebookNode:
    return pages.executed_chapter(chapters[0], project)


def source_of(notebook: NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells)


def test_a_chapter_is_run_once_until_its_cells_or_the_library_change(
    project: Project, chapters: list[Chapter], executed: NotebookNode, monkeypatch
) -> None:
    ran = []
    monkeypatch.setattr(pages, "execute", lambda edition, _: ran.append(1) or edition.notebook)
    assert source_of(pages.executed_chapter(chapters[0], project)) == source_of(executed)
    assert not ran
    library = project.src / "attnlab" / "new.py"
    library.write_text("x = 1")
    pages.executed_chapter(chapters[0], project)
    assert ran == [1]
    library.unlink()


def test_website_folds_hints_and_solutions_and_has_no_stub(
    project: Project, chapters: list[Chapter], executed: NotebookNode
) -> None:
    page = pages.website(executed, chapters[0], project, deck=True)
    everything = source_of(page)
    assert "your turn" not in everything
    assert everything.count("<summary>Hint ") == 2
    assert "lecture hall" not in everything
    assert "Ask the room" not in everything
    solution = next(cell for cell in page.cells if "sum(v * w" in cell.source)
    assert solution.metadata["tags"] == ["solution", "hide-input"]
    assert solution.metadata["mystnb"]["code_prompt_show"] == "Show the solution"
    assert 'check("03.1"' not in everything  # a tick that no reader has earned
    last = page.cells[-1]
    assert "text/html" in last.outputs[0].data
    assert not any(output.get("name") == "stderr" for output in last.outputs)


def test_cells_that_need_not_be_read_are_folded_and_say_so(project: Project) -> None:
    cells = [
        nbformat.v4.new_markdown_cell("# 3 · Title"),
        nbformat.v4.new_code_cell("import torch", metadata={"tags": ["setup"]}),
        nbformat.v4.new_code_cell("def helper(): ...", metadata={"tags": ["plumbing"]}),
        nbformat.v4.new_code_cell("assert 1 < 2", metadata={"tags": ["held"]}),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    page = pages.website(notebook, load_chapters(project)[0], project, deck=False)
    assert [cell.metadata["tags"] for cell in page.cells[1:]] == [
        ["setup", "hide-input"],
        ["plumbing", "hide-input"],
    ]
    assert page.cells[1].metadata["mystnb"]["code_prompt_show"] == "Set-up"


def test_a_dig_deeper_fold_holds_words_and_code_and_ends(project: Project) -> None:
    tags = {"tags": ["deeper"]}
    cells = [
        nbformat.v4.new_markdown_cell("# 3 · Title"),
        nbformat.v4.new_markdown_cell("### Dig deeper: cost & time\n\nWhy.", metadata=tags),
        nbformat.v4.new_code_cell("1 + 1", metadata=tags),
        nbformat.v4.new_markdown_cell("### Dig deeper: memory", metadata=tags),
        nbformat.v4.new_code_cell("2 + 2", metadata=tags),
        nbformat.v4.new_markdown_cell("## Next"),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    page = pages.website(notebook, load_chapters(project)[0], project, deck=False)
    assert [cell.source.splitlines()[0] for cell in page.cells[1:]] == [
        '<details class="deeper" id="dig-deeper-cost-time">', "1 + 1", "</details>",
        '<details class="deeper" id="dig-deeper-memory">', "2 + 2", "</details>",
        "## Next",
    ]  # fmt: skip
    assert "<summary>Dig deeper: cost &amp; time</summary>\n\nWhy." in page.cells[1].source
    assert len({cell.id for cell in page.cells}) == len(page.cells)


def test_the_gpu_exercise_is_the_last_card_of_its_chapter(
    project: Project, chapters: list[Chapter], executed: NotebookNode
) -> None:
    page = pages.website(executed, chapters[0], project, deck=True, gpu=chapters[1:])
    assert '<a href="gpu_03_more.html">Heavier means</a>' in page.cells[-1].source


def test_next_leads_to_the_next_chapter() -> None:
    relations = {
        "03": [None, None, "gpu_03"], "gpu_03": [None, "03", "04"],
        "04": [None, "gpu_03", "gpu_04"], "gpu_04": [None, "04", None],
    }  # fmt: skip
    titles = dict.fromkeys(relations, "A title")
    builder = SimpleNamespace(
        relations=relations,
        render_partial=lambda title: {"title": title},
        get_relative_uri=lambda _, other: f"{other}.html",
    )
    app: Any = SimpleNamespace(
        builder=builder,
        env=SimpleNamespace(titles=titles),
        config=SimpleNamespace(course_descriptions={}),
    )

    def around(page: str) -> list[str | None]:
        context: dict[str, Any] = {}
        sphinx_tidy.tidy(app, page, "page.html", context, None)
        return [context[way] and context[way]["link"] for way in ("prev", "next")]

    assert around("03") == [None, "04.html"]
    assert around("gpu_03") == ["03.html", "04.html"]
    assert around("04") == ["03.html", None]


def test_an_author_hears_of_long_cells_and_of_a_page_without_a_picture(
    chapters: list[Chapter],
) -> None:
    long = Cell(kind="code", text="x = 1\n" * 26, line=7)
    folded = Cell(kind="code", text="x = 1\n" * 26, line=40, tags=("plumbing",))
    chapter = replace(chapters[0], cells=(long, folded))
    (note,) = advice.long_cells(chapter)
    assert note.startswith("notebooks/03_weighted_means.py:7: note: a visible cell has 27 lines")
    figure = nbformat.v4.new_code_cell(
        "figure", outputs=[nbformat.v4.new_output("display_data", {"text/html": FIGURE})]
    )
    words = nbformat.v4.new_markdown_cell("word " * 120)
    code = nbformat.v4.new_code_cell("print(1)")

    def notes(*cells: NotebookNode) -> str:
        return "".join(advice.first_screen(nbformat.v4.new_notebook(cells=list(cells)), chapter))

    assert notes(figure, words, code) == ""
    assert "120 words stand before the first picture" in notes(words, figure)
    assert "shows code before its first picture" in notes(code, figure)


def test_an_author_hears_of_too_much_code_on_a_slide(chapters: list[Chapter]) -> None:
    begins = Cell(kind="markdown", text="## Code", line=3, tags=("slide", "layout-code"))
    fenced = Cell(
        kind="markdown", text="```python\n" + "x = 1\n" * 5 + "```", line=5, tags=("fragment",)
    )
    code = Cell(kind="code", text="x = 1\n" * 8, line=9, tags=("fragment",))
    folded = replace(code, tags=("fragment", "hide-input"))
    page = replace(code, tags=())
    after = Cell(kind="markdown", text="## Next", line=20, tags=("slide",))

    def notes(*cells: Cell) -> list[str]:
        return list(advice.of_source(replace(chapters[0], cells=cells)))

    assert notes(begins, fenced, folded, page, after, code) == []
    (note,) = notes(begins, fenced, code, after)
    assert note.startswith("notebooks/03_weighted_means.py:3: note: a slide has 13 lines of code")
    assert notes(begins, fenced, code) == [note], "the last slide, too"


PAGE = """<article class="bd-article"><section id="top">
<h1>3 · Means<a class="headerlink">#</a></h1><p>Words <code>names</code>.</p>
<section id="heat"><h2>Temperature</h2><p>Hot or cold.</p>
<p>Wide: <span class="math">\\(d_{k}\\)</span>.</p><div class="math">\\[\\frac{a}{b}\\]</div>
<div class="cell_input"><pre>secret = 1</pre></div><pre>printed</pre>
<details><summary>Hint 1</summary>spoiler</details>
<details class="deeper"><summary>Dig deeper</summary>more</details></section></section></article>"""


def test_search_knows_sections_and_no_code(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "_static").mkdir()
    top, heat = search.sections(tmp_path / "page.html")
    assert (top["title"], top["text"]) == ("3 · Means", "Words names.")
    assert (heat["page"], heat["id"], heat["chapter"]) == ("page.html", "heat", "3 · Means")
    assert heat["text"] == "Hot or cold. Wide: d_k. … Dig deeper more"
    search.write_search(tmp_path, ["page"])
    assert (tmp_path / "searchindex.js").read_text().startswith("Search.setIndex([{")
    assert (tmp_path / "_static" / "searchtools.js").is_file()


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"\(\sqrt{d}\)", "√d"),
        (r"\(Q\mathbf{K}^\top\)", "QKᵀ"),
        (r"\((L,\,D)\)", "(L, D)"),
        (r"\(x_{i+1} \le 2\)", "x_(i+1) ≤ 2"),
        (r"\(\frac{1}{2}\)", "…"),
        (r"\(a + b + c + d + e + f + g + h\)", "…"),
    ],
)
def test_a_short_formula_is_said_in_plain_text(tex: str, words: str) -> None:
    assert search.spoken(tex) == words


def test_a_page_shows_no_bar_that_only_a_kernel_could_move() -> None:
    widget = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "  0%|   |"}
    live = {**widget, "text/html": FIGURE}
    outputs = [
        nbformat.v4.new_output("display_data", data=data)
        for data in (widget, live, {"text/plain": "42"})
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=outputs)])
    shown = [set(output.data) for output in pages.static_outputs(notebook).cells[0].outputs]
    assert shown == [{"text/html", "text/plain"}, {"text/plain"}]


def test_buttons_are_plain_links_under_the_title(
    project: Project, chapters: list[Chapter], executed: NotebookNode
) -> None:
    first = pages.website(executed, chapters[0], project, deck=True).cells[0].source
    assert first.startswith("# 3 · Weighted means\n\n<p")
    assert "/someone/a-course/blob/main/notebooks/student/03_weighted_means.ipynb" in first
    assert 'href="notebooks/03_weighted_means.ipynb" download' in first
    assert 'href="slides/03_weighted_means.html"' in first
    assert "about 45 minutes" in first
    assert (
        "slides/" not in pages.website(executed, chapters[0], project, deck=False).cells[0].source
    )


@pytest.mark.parametrize(
    ("count", "words"),
    [(45, "45 minutes"), (60, "1 hour"), (90, "1½ hours"), (100, "100 minutes"), (120, "2 hours")],
)
def test_minutes(count: int, words: str) -> None:
    assert pages.minutes(count) == words


def test_a_widget_leaves_its_html_and_not_its_kernel(chapters: list[Chapter]) -> None:
    notebook = editions.full(chapters[0]).notebook
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/html": FIGURE}
    code = next(cell for cell in notebook.cells if cell.cell_type == "code")
    code.outputs = [NotebookNode(output_type="display_data", data=NotebookNode(data), metadata={})]
    page = pages.static_outputs(notebook)
    kept = next(cell for cell in page.cells if cell.cell_type == "code").outputs[0].data
    assert kept == {"text/html": FIGURE}
    assert "application/vnd.jupyter.widget-view+json" in code.outputs[0].data  # a copy was changed


def test_slides_have_their_places_notes_and_no_remote_file(
    executed: NotebookNode, chapters: list[Chapter], tmp_path: Path
) -> None:
    assert slides.has_slides(chapters[0])
    assert not slides.has_slides(chapters[1])
    deck = slides.render(pages.slides(executed), chapters[0])
    assert len(re.findall(r"<section[^>]*>\s*<section[^>]*>", deck)) == 2
    assert deck.count('<div class="fragment">') == 1
    notes = re.search(r'<aside class="notes">(.*?)</aside>', deck, re.DOTALL)
    assert notes
    assert "Ask the room first." in notes[1]
    assert "lecture hall" in deck
    assert "marker = " not in re.sub("<[^>]*>", "", deck)  # hide-input
    assert "not a cell" in deck  # but its output is there
    assert "weighted_mean" not in deck
    assert "lib/live/figures.css" in deck
    assert "lib/live/mount.js" not in deck  # no live figure in this lecture
    alive = pages.slides(executed)
    alive.cells[0] = nbformat.v4.new_code_cell(
        "figure",
        outputs=[nbformat.v4.new_output("display_data", {"text/html": FIGURE})],
        metadata=alive.cells[0].metadata,
    )
    assert '<script defer="" src="lib/live/mount.js">' in slides.render(alive, chapters[0])
    (tmp_path / "deck.html").write_text(deck, encoding="utf-8")
    require_offline(tmp_path)


def test_a_lecture_must_begin_with_a_slide(executed: NotebookNode, chapters: list[Chapter]) -> None:
    deck = pages.slides(executed)
    deck.cells = deck.cells[1:]
    with pytest.raises(CourseError, match="must begin with a cell tagged slide"):
        slides.render(deck, chapters[0])


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<img alt="" src="http://pictures.example/x.png">',
        "<style>@import 'https://fonts.example/css';</style>",
        "<style>p { background: url(https://pictures.example/x.png) }</style>",
    ],
)
def test_a_page_that_asks_the_network_is_refused(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    with pytest.raises(CourseError, match=r"page\.html"):
        require_offline(tmp_path)


def test_links_to_click_and_local_files_are_fine(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<a href="https://arxiv.org">paper</a><link rel="canonical" href="https://x.example/">'
        '<script src="lib/x.js"></script><img alt="" src="data:image/png;base64,AA">'
    )
    (tmp_path / "style.css").write_text("p { background: url('x.png') }")
    assert remote_sources(tmp_path) == []
    (tmp_path / "style.css").write_text("@import url(https://fonts.example/css);")
    assert remote_sources(tmp_path) == ["style.css: https://fonts.example/css"]


def test_contents_put_gpu_notebooks_below_their_chapter(chapters: list[Chapter]) -> None:
    assert yaml.safe_load(book.contents(chapters))["chapters"] == [
        {"file": "03_weighted_means", "sections": [{"file": "gpu_03_more"}]}
    ]


def test_other_pages_come_last(chapters: list[Chapter]) -> None:
    entries = yaml.safe_load(book.contents(chapters, ["further_reading"]))["chapters"]
    assert entries[-1] == {"file": "further_reading"}


def test_the_capstone_has_a_card_and_an_entry_of_its_own(chapters: list[Chapter]) -> None:
    capstone = replace(chapters[0], path=Path("capstone_own.py"), number=None)
    entries = yaml.safe_load(book.contents([*chapters, capstone]))["chapters"]
    assert entries[-1] == {"file": "capstone_own"}
    last = landing.cards([*chapters, capstone]).split('class="chapter-card"')[-1]
    assert 'aria-label="Capstone">★' in last
    assert 'href="capstone_own.html"' in last
    assert "Capstone · Weighted means" in slides.index([capstone])


def test_two_gpu_notebooks_are_two_entries_and_two_cards(chapters: list[Chapter]) -> None:
    second = replace(chapters[1], path=Path("gpu_03_second.py"), title="Second")
    below = yaml.safe_load(book.contents([*chapters, second]))["chapters"][0]["sections"]
    assert below == [{"file": "gpu_03_more"}, {"file": "gpu_03_second"}]
    assert landing.cards([*chapters, second]).count('class="card-gpu"') == 2
    alone = yaml.safe_load(book.contents([second]))["chapters"]
    assert alone == [{"file": "gpu_03_second"}], "a page before its chapter is written"


def test_first_page_tells_what_is_there_and_what_is_not(
    project: Project, chapters: list[Chapter], tmp_path: Path, monkeypatch
) -> None:
    own = Project(tmp_path)
    (tmp_path / "pyproject.toml").write_bytes((project.root / "pyproject.toml").read_bytes())
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "arc.yml").write_text("2: alignment\n3: means\n4: heads\n5: positions\n")
    (tmp_path / "book" / "index.md").write_text("{{ hero }} {{ cards }} {{ later }} {{ commands }}")
    monkeypatch.setattr(landing, "hero", lambda *_, **__: FIGURE)
    text = landing.landing_page(own, chapters)
    assert FIGURE in text
    assert text.count('class="chapter-card"') == 1
    assert "A mean that listens to weights." in text
    assert '<a href="gpu_03_more.html">Heavier means</a>' in text
    assert "Still being written: alignment, heads, and positions." in text
    assert "git clone https://github.com/someone/a-course && cd a-course\nmake lab" in text
    (tmp_path / "book" / "index.md").write_text("{{ nobody_knows }}")
    with pytest.raises(CourseError, match="nobody_knows"):
        landing.landing_page(own, chapters)


def test_pages_load_only_what_they_use() -> None:
    def script(name: str | None, body: str = "") -> SimpleNamespace:
        return SimpleNamespace(filename=name, attributes={"body": body} if body else {})

    def tidied(body: str) -> list[str | None]:
        scripts = [
            script("_static/live/kit.js"), script("_static/live/other.js"),
            script("_static/mathjax/startup.js"), script("_static/sphinx-thebe.js"),
            script(None, "const THEBE_JS_URL = 1"), script(None, "let a = 1"),
            script(None, "let a = 1"), script("_static/doctools.js"),
        ]  # fmt: skip
        context: dict[str, Any] = {"body": body, "script_files": scripts, "css_files": []}
        app = SimpleNamespace(
            config=SimpleNamespace(course_descriptions={"page": 'say "hi"'}),
            builder=SimpleNamespace(relations={}),
        )
        sphinx_tidy.tidy(app, "page", "page.html", context, None)  # type: ignore[arg-type]
        assert context["metatags"] == '<meta name="description" content="say &quot;hi&quot;">'
        return [one.filename for one in context["script_files"]]

    assert tidied("<p>words</p>") == [None, "_static/doctools.js"]
    quiz = '<div data-widget="quiz">'
    assert tidied(quiz) == ["_static/live/kit.js", None, "_static/doctools.js"]
    formula = '<span class="math notranslate">'
    assert tidied(formula) == ["_static/mathjax/startup.js", None, "_static/doctools.js"]


def test_configuration_defers_the_figures_and_loads_our_style_last(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_config.yml").write_text(
        "sphinx: {config: {html_css_files: [course.css]}}"
    )
    config = yaml.safe_load(book.configuration(Project(tmp_path), [], ["dial.js", "dial.css"]))
    assert len(config["sphinx"]["config"].pop("course_tools")) == 32
    assert config["sphinx"]["config"] == {
        "course_descriptions": {},
        "html_css_files": ["dial.css", "course.css"],
        "html_js_files": [["dial.js", {"defer": "defer", "blocking": "render"}]],
    }


def test_weights_lie_beside_the_pages_that_name_them(tmp_path: Path) -> None:
    from attnlab.widgets.weights import HeavyFigure

    page = tmp_path / "01.html"
    page.write_text(HeavyFigure(weights="pronunciation").to_html(), encoding="utf-8")
    old = tmp_path / "lib/live/weights/gone.0.js"
    old.parent.mkdir(parents=True)
    old.touch()
    (written,) = vendored.write_heavy([page], tmp_path / "lib")
    assert written.name == "pronunciation.0.js"
    assert written.read_text().startswith('(globalThis.attnlabChunks ??= {})["pronunciation.0"]')
    assert not old.exists()
    page.write_text("no figure", encoding="utf-8")
    assert vendored.write_heavy([page], tmp_path / "lib") == []
    assert not written.exists()


def test_a_phone_learns_how_narrow_a_plot_may_be_and_which_cells_hold_sentences() -> None:
    plot = Picture(b"", "A line.", "", (700, 420), smallest=20.0)._repr_html_()
    assert 'style="--least: 350px; max-width' in sphinx_tidy.for_phones(plot)
    nothing = Picture(b"", "A cat.", "", (700, 420), smallest=0.0)._repr_html_()
    assert "--least: 0px" in sphinx_tidy.for_phones(nothing)
    row = '<td><p>0.5</p></td><td class="text-left"><p>what one word knows of others</p></td>'
    formula = '<td><p><span class="math notranslate">\\(a + b + c + d + e + f\\)</span></p></td>'
    made = sphinx_tidy.for_phones(row + formula)
    assert made.count("course-words") == 1
    assert '<td class="text-left course-words"><p>what' in made
    assert made.endswith(formula)


def test_a_formula_keeps_the_comma_after_it_and_the_bracket_before_it() -> None:
    formula = '<span class="math notranslate nohighlight">\\((V, E)\\)</span>'
    kept = '<span class="course-together">'
    assert sphinx_tidy.for_phones(f"shape {formula}, and") == f"shape {kept}{formula},</span> and"
    assert sphinx_tidy.for_phones(f"words ({formula}).") == f"words {kept}({formula}).</span>"
    assert sphinx_tidy.for_phones(f"of {formula} and") == f"of {formula} and"
