"""`python -m benchmarks`, or `make bench`: every bar the course sets itself, measured now.

Times are of this machine and compared with nothing; the bars are ratios, frames and page loads.
"""

import sys
from collections.abc import Callable

from benchmarks import core, figures, recurrent, site, transformer

PARTS: dict[str, Callable[[], None]] = {
    "The attention core against plain torch": core.main,
    "A GRU by hand against torch's, and beam search": recurrent.main,
    "The Transformer against torch's, and its cache": transformer.main,
    "A live figure while its slider is dragged": figures.main,
    "The website": site.main,
}


def main() -> None:
    sys.argv = sys.argv[:1]  # each part reads the command line itself
    for title, part in PARTS.items():
        print(f"\n== {title}", flush=True)
        part()


if __name__ == "__main__":
    main()
