"""`build` writes the notebooks of every chapter; `check` says which of them are stale."""

from pathlib import Path

from nbformat import NotebookNode, v4
from tqdm.auto import tqdm

from coursekit import advice, editions, pages, store
from coursekit.editions import Edition
from coursekit.execute import keep_text_only
from coursekit.exercises import validate
from coursekit.project import Project
from coursekit.source import Chapter, read_chapter, source_files


def load_chapters(project: Project, chapter: str | None = None) -> list[Chapter]:
    """Read and validate every source, so that ids are unique; return the chosen ones."""
    every = [read_chapter(path, project) for path in source_files(project)]
    validate(every)
    chosen = set(source_files(project, chapter))
    return [one for one in every if one.path in chosen]


def build(
    project: Project, chapter: str | None = None, *, force: bool = False, overwrite: bool = False
) -> list[str]:
    """Write both editions of the chosen chapters and return one sentence for each file.

    A chapter is executed only when its code changed, or with `force`: once for the solutions and
    for the pages. What only its text says may change without a run.
    """
    lines = []
    chapters = load_chapters(project, chapter)
    for one in tqdm(chapters, desc="build", unit="chapter", disable=len(chapters) < 2):
        student = editions.student(one, project)
        lines.append(_save(project, student, target(project, student), overwrite))
        lines.append(_build_solutions(project, one, force, overwrite))
        lines += advice.of_source(one)
    return lines


def _build_solutions(project: Project, chapter: Chapter, force: bool, overwrite: bool) -> str:
    edition = editions.solutions(chapter, project)
    path = target(project, edition)
    name = project.relative(path)
    ran = _untouched(path)
    if ran is None and path.exists() and not overwrite:
        return store.kept_sentence(name)  # before minutes are spent on running it
    notebook = edition.notebook
    if force or ran is None or store.code_hash(ran) != store.code_hash(notebook):
        # Only the solutions have the set-up line; all other code is in the edition of the pages.
        opening = v4.new_notebook(cells=[c for c in notebook.cells if c.cell_type == "code"][:1])
        ran = pages.executed_chapter(chapter, project, force=force)
        ran.cells = [*opening.cells, *ran.cells]
    edition.notebook = keep_text_only(store.take_outputs(notebook, ran))
    return _save(project, edition, path, overwrite)


def _untouched(path: Path) -> NotebookNode | None:
    """The notebook as it was generated; None if there is none, or somebody changed it."""
    found = store.load(path)
    return found if found is not None and store.is_untouched(found) else None


def target(project: Project, edition: Edition) -> Path:
    """Where an edition is kept: notebooks/student/ or notebooks/solutions/."""
    return project.notebooks / edition.name / f"{edition.chapter.stem}.ipynb"


def _save(project: Project, edition: Edition, path: Path, overwrite: bool) -> str:
    result = store.write(store.seal(edition.notebook), path, overwrite=overwrite)
    name = project.relative(path)
    return store.kept_sentence(name) if result is store.Written.KEPT else f"{name}: {result.value}."


def stale(project: Project, chapter: str | None = None) -> list[str]:
    """One sentence for each generated notebook that is not what its source says. Runs nothing."""
    problems = []
    for one in load_chapters(project, chapter):
        for edition in (editions.student(one, project), editions.solutions(one, project)):
            problem = _staleness(project, edition)
            if problem:
                problems.append(problem)
    if chapter is None:
        problems += _orphans(project)
    return problems


def notes(project: Project, chapter: str | None = None) -> list[str]:
    """What the authors of the chosen chapters should know, though nothing stops for it."""
    return [note for one in load_chapters(project, chapter) for note in advice.of_source(one)]


def _staleness(project: Project, edition: Edition) -> str | None:
    path = target(project, edition)
    name = project.relative(path)
    found = store.load(path)
    if found is None:
        return f"{name}: missing or unreadable; run `python -m coursekit build`."
    if not store.is_untouched(found):
        return f"{name}: edited or run since it was made; change {edition.chapter.name} instead."
    wanted = store.seal(edition.notebook).metadata
    # The outputs, which only `content` covers, are the file's own.
    wanted["attnlab"]["content"] = found.metadata["attnlab"]["content"]
    if found.metadata["attnlab"] != wanted["attnlab"]:
        return f"{name}: stale, {edition.chapter.name} changed; run `python -m coursekit build`."
    if found.metadata != wanted or store.cells_hash(found) != wanted["attnlab"]["cells"]:
        return f"{name}: saved in JupyterLab; run `make editions` to put it back."
    return None


def _orphans(project: Project) -> list[str]:
    """Generated notebooks whose source is gone. A learner's own files carry no such name."""
    problems = []
    for folder in (project.student, project.solutions):
        for path in sorted(folder.glob("*.ipynb")):
            found = store.load(path)
            source = found.metadata.get("attnlab", {}).get("source") if found else None
            if source and not (project.notebooks / source).exists():
                name = project.relative(path)
                problems.append(f"{name}: notebooks/{source} is gone; delete this notebook too.")
    return problems
