"""Where things are in the repository, and the addresses that are made from its one URL."""

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from coursekit.errors import CourseError

BRANCH = "main"


@dataclass(frozen=True)
class Project:
    """The repository at `root`. Every path of the tooling is a property here."""

    root: Path

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def student(self) -> Path:
        return self.notebooks / "student"

    @property
    def solutions(self) -> Path:
        return self.notebooks / "solutions"

    @property
    def book(self) -> Path:
        return self.root / "book"

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def src(self) -> Path:
        return self.root / "src"

    def relative(self, path: Path) -> str:
        """`path` as people write it: from the root of the repository, with forward slashes."""
        path = path.resolve()
        root = self.root.resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()

    @cached_property
    def repository(self) -> str:
        """`[project.urls] Repository` of pyproject.toml, without a slash or `.git` at its end."""
        file = self.root / "pyproject.toml"
        if not file.is_file():
            raise CourseError(f"{file}: there is no pyproject.toml here; run from the repository.")
        try:
            settings = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CourseError(f"{file}: this is not TOML: {error}.") from error
        try:
            url = str(settings["project"]["urls"]["Repository"])
        except (KeyError, TypeError):  # a table is missing, or is no table
            url = ""
        url = url.rstrip("/").removesuffix(".git")
        if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", url):
            raise CourseError(
                f"{file}: [project.urls] Repository is {url!r}; it must be "
                "https://github.com/OWNER/NAME, because Colab opens notebooks from GitHub."
            )
        return url

    def colab_url(self, stem: str, edition: str = "student") -> str:
        """Colab's address of one edition of a chapter."""
        path = self.repository.removeprefix("https://github.com/")
        base = "https://colab.research.google.com/github"
        return f"{base}/{path}/blob/{BRANCH}/notebooks/{edition}/{stem}.ipynb"

    @property
    def install_line(self) -> str:
        """The one line that brings the course to a machine that does not have it."""
        return f'%pip install -q "attnlab[course] @ git+{self.repository}"'


def find_project(start: Path | None = None) -> Project:
    """The nearest folder at or above `start` that holds a pyproject.toml and notebooks/."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file() and (folder / "notebooks").is_dir():
            return Project(folder)
    raise CourseError(
        f"{start}: no course here or above: expected a folder with pyproject.toml and notebooks/."
    )
