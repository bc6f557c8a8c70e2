"""`python -m coursekit build | check | book | slides | slides-pdf | pretend-report`."""

import argparse
import sys
from pathlib import Path

from coursekit.errors import CourseError
from coursekit.project import find_project


def main(arguments: list[str] | None = None) -> int:
    """Run one command; problems are printed as sentences and make the exit code 1."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except CourseError as error:
        print(*error.problems, sep="\n", file=sys.stderr)
        return 1


# Each command imports what it needs when it runs: `check` has no need of Sphinx.


def _build(options: argparse.Namespace) -> int:
    from coursekit.build import build

    project = find_project(options.root)
    lines = build(project, options.chapter, force=options.force, overwrite=options.overwrite)
    print(*lines, sep="\n")
    return 0


def _check(options: argparse.Namespace) -> int:
    from coursekit.build import notes, stale

    project = find_project(options.root)
    for note in notes(project, options.chapter):
        print(note, file=sys.stderr)
    problems = stale(project, options.chapter)
    if problems:
        raise CourseError(*problems)
    print("Every generated notebook is what its source says.")
    return 0


def _book(options: argparse.Namespace) -> int:
    from coursekit.book import build_book

    index = build_book(find_project(options.root), options.chapter, force=options.force)
    print(f"The website is ready: open {index}")
    return 0


def _slides(options: argparse.Namespace) -> int:
    from coursekit.slides import build_slides

    index = build_slides(find_project(options.root), options.chapter, force=options.force)
    print(f"The slides are ready: open {index}")
    return 0


def _slides_pdf(options: argparse.Namespace) -> int:
    from coursekit.pdf import build_pdfs

    made = build_pdfs(find_project(options.root), options.chapter)
    print(*(f"Printed: {path}" for path in made), sep="\n")
    return 0


def _pretend_report(options: argparse.Namespace) -> int:
    from coursekit.build import load_chapters
    from coursekit.pretend import run_pretended

    chosen = [one for one in load_chapters(find_project(options.root), options.chapter) if one.gpu]
    problems = []
    for chapter in chosen:
        report = run_pretended(chapter)
        print(*report.lines, sep="\n", flush=True)
        problems += report.problems
    if problems:
        raise CourseError(*problems)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m coursekit", description=__doc__)
    parser.add_argument("--root", type=Path, help="the repository (default: found from here)")
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, run, text: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text, description=text)
        one.set_defaults(run=run)
        return one

    build = command("build", _build, "write notebooks/student and notebooks/solutions")
    check = command("check", _check, "say which generated notebooks are stale; runs nothing")
    book = command("book", _book, "build the website into build/site")
    slides = command("slides", _slides, "build the lecture slides into build/slides")
    pdf = command("slides-pdf", _slides_pdf, "print the slides into build/slides/NN_name.pdf")
    pretend = command(
        "pretend-report",
        _pretend_report,
        "run the GPU notebooks on a pretended device, and print the lines that no run reaches",
    )
    for one in (build, check, book, slides, pdf, pretend):
        one.add_argument("--chapter", metavar="NN", help="only this one, such as 03 or capstone")
    for one in (build, book, slides):
        one.add_argument("--force", action="store_true", help="run unchanged chapters too")
    build.add_argument(
        "--overwrite",
        action="store_true",
        help="replace notebooks somebody worked in, saving their version as .bak first",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
