"""Find seeds for the examples of `attnlab.data.english_french`: prints the column to write there.

    python training/find_examples.py

Needed again only when the grammar changes: a seed then says something else, and a test notices.
"""

from attnlab.data.english_french import TELLING, EnglishFrench


def main() -> None:
    for low, high, telling, _ in TELLING:
        corpus = EnglishFrench(shortest=low, longest=high)
        seed = next(s for s in range(10_000) if telling(next(corpus.stream("test", seed=s))))
        print(seed, " ".join(next(corpus.stream("test", seed=seed)).source), flush=True)


if __name__ == "__main__":
    main()
