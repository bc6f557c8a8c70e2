"""A small repository for the tests of coursekit: one chapter, no library."""

from pathlib import Path

from coursekit.project import Project

SOURCE = (Path(__file__).parent / "coursekit_chapter.txt").read_text(encoding="utf-8")
NAME = "03_weighted_means"


def make_project(root: Path) -> Project:
    """A repository with one small chapter."""
    (root / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://github.com/someone/a-course.git"\n'
    )
    for folder in ("notebooks/student", "notebooks/solutions", "src"):
        (root / folder).mkdir(parents=True)
    (root / f"notebooks/{NAME}.py").write_text(SOURCE, encoding="utf-8")
    return Project(root)


def rewrite(project: Project, old: str, new: str) -> None:
    """Change the chapter's source; the text to change must be there once."""
    path = project.notebooks / f"{NAME}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (text.count(old), old)
    path.write_text(text.replace(old, new), encoding="utf-8")
