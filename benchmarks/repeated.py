"""Code that stands in two places: runs of six equal lines, and the pairs of files that share one.

    python -m benchmarks.repeated

Blank lines, comments and lines without a letter do not count, nor do lists of imports. A chapter
and the check of its exercise may say the same, so that a learner reads it where it is taught: look
at the list, not only at its length.
"""

import re
import subprocess
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = 6  # lines
LEAST = 90  # letters in them: shorter runs are alike by chance
KINDS = ("*.py", "*.js", "*.css")
PLAIN = "src/attnlab/checks/plain/"
LISTED = re.compile(r"(import|from) .*|[\w\"., ]*,?")  # an import, or a part of a list of names


def lines_of(text: str) -> list[tuple[int, str]]:
    """Line numbers and lines that count."""
    every = enumerate((re.sub(r"\s+", " ", line).strip() for line in text.splitlines()), 1)
    return [(n, one) for n, one in every if re.search("[a-zA-Z]", one) and one[0] not in "#/*"]


def repeated(texts: dict[str, str]) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """Pairs of files (or a file and itself) → where the runs begin that both have."""
    places = defaultdict(list)
    for name, text in texts.items():
        lines = lines_of(text)
        for at in range(len(lines) - RUN + 1):
            run = tuple(line for _, line in lines[at : at + RUN])
            if sum(map(len, run)) >= LEAST and not all(map(LISTED.fullmatch, run)):
                places[run].append((name, lines[at][0]))
    found = defaultdict(list)
    for where in places.values():
        for (one, line), (other, place) in combinations(where, 2):
            if one != other or place - line >= RUN:
                found[one, other].append((line, place))
    return dict(found)


def main() -> None:
    names = subprocess.run(
        ["git", "ls-files", *KINDS], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    texts = {name: (ROOT / name).read_text("utf-8") for name in names if (ROOT / name).is_file()}
    found = repeated(texts)
    counts = Counter({pair: len(runs) for pair, runs in found.items()})
    taught = sum(any(name.startswith(PLAIN) for name in pair) for pair in found)
    print(f"{len(found)} pairs of files share a run of {RUN} lines, of {len(texts)} files;")
    print(f"{taught} are a chapter and the plain answers of its exercises:")
    for (one, other), count in counts.most_common():
        line, place = found[one, other][0]
        print(f"{count:4d}  {one}:{line}  {other}:{place}")


if __name__ == "__main__":
    main()
