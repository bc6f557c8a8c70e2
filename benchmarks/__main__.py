"""`python -m benchmarks`, or `make bench`: every bar the course sets itself, measured now.

Times are of this machine and compared with nothing; the bars are ratios, frames and page loads.
Each part says whether its bars are held; the command fails if one of them is broken.
"""

import sys
from collections.abc import Callable

from benchmarks import core, figures, modern, pages, recurrent, site, swin, transformer, vit

PARTS: dict[str, Callable[[], bool]] = {
    "The attention core against plain torch": core.main,
    "A GRU by hand against torch's, and beam search": recurrent.main,
    "The Transformer against torch's, and its cache": transformer.main,
    "Transformer++ against transformers' Llama": modern.main,
    "ViT against transformers' and timm's": vit.main,
    "Swin against transformers' and timm's, and how windows grow": swin.main,
    "Live figures: a slider is dragged, a model computes": figures.main,
    "The website": site.main,
    "Chapters as they are read, slides as they are seen": pages.main,
}


def main() -> bool:
    sys.argv = sys.argv[:1]  # each part reads the command line itself
    broken = []
    for title, part in PARTS.items():
        print(f"\n== {title}", flush=True)
        if not part():
            broken.append(title)
    print("\nBROKEN: " + "; ".join(broken) if broken else "\nEvery bar is held.")
    return not broken


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
