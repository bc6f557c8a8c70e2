"""How good is it? BLEU for translations, AER for alignments, error rates for pronunciations."""

from collections.abc import Iterable, Sequence

from torch import Tensor

from attnlab.data.sequences import Link, Pair

Words = Sequence[str]


def bleu(said: Sequence[Words], references: Sequence[Words]) -> float:
    """Corpus BLEU, 0…100, by sacrebleu (Papineni et al. 2002, Post 2018), on our own tokens."""
    try:
        from sacrebleu.metrics import BLEU
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "BLEU is computed by sacrebleu, which is missing: pip install sacrebleu, or pip "
            "install 'attnlab[course]'."
        ) from None
    _same_length(said, references, "translations", "references")
    score = BLEU(tokenize="none", force=True)
    return float(
        score.corpus_score([" ".join(s) for s in said], [[" ".join(r) for r in references]]).score
    )


def exact(said: Sequence[Words], references: Sequence[Words]) -> float:
    """Share of sentences that are right to the last word."""
    _same_length(said, references, "translations", "references")
    return sum(tuple(s) == tuple(r) for s, r in zip(said, references, strict=True)) / len(said)


def by_length(
    said: Sequence[Words], pairs: Sequence[Pair], buckets: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    """BLEU for each bucket (shortest, longest) of source lengths; empty buckets are left out."""
    _same_length(said, pairs, "translations", "pairs")
    scores = {}
    for low, high in buckets:
        inside = [i for i, pair in enumerate(pairs) if low <= len(pair.source) <= high]
        if inside:
            scores[low, high] = bleu([said[i] for i in inside], [pairs[i].target for i in inside])
    return scores


def links(weights: Tensor, pair: Pair) -> set[Link]:
    """One link per target word: to the source word with the largest weight. (T, S) -> {(t, s)}.

    The end marks have a row and a column as well; a link to the source's end mark leads nowhere,
    and stays in as an error.
    """
    return {(t, int(weights[t].argmax())) for t in range(len(pair.target))}


def aer(found: Iterable[set[Link]], pairs: Iterable[Pair]) -> float:
    """Alignment error rate of a corpus (Och and Ney 2003): 1 − (|A∩S| + |A∩P|) / (|A| + |S|). 0
    is perfect.
    """
    right = total = 0
    for links_found, pair in zip(found, pairs, strict=True):
        right += len(links_found & pair.sure) + len(links_found & pair.possible)
        total += len(links_found) + len(pair.sure)
    if total == 0:
        raise ValueError("there are no gold links to compare with: this corpus has no alignments.")
    return 1 - right / total


def edit_distance(one: Words, other: Words) -> int:
    """How many insertions, deletions and replacements turn one sequence into the other
    (Levenshtein).
    """
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def error_rate(said: Sequence[Words], accepted: Sequence[Sequence[Words]]) -> float:
    """Edits per reference symbol over a corpus: the phoneme error rate.

    Each answer is compared with the nearest of its accepted variants, and that one's length counts.
    """
    _same_length(said, accepted, "answers", "sets of variants")
    edits = symbols = 0
    for answer, variants in zip(said, accepted, strict=True):
        nearest = min(variants, key=lambda variant: (edit_distance(answer, variant), -len(variant)))
        edits += edit_distance(answer, nearest)
        symbols += len(nearest)
    return edits / symbols


def accuracy(said: Sequence[Words], accepted: Sequence[Sequence[Words]]) -> float:
    """Share of answers that equal one of their accepted variants."""
    _same_length(said, accepted, "answers", "sets of variants")
    hits = [
        any(tuple(answer) == tuple(variant) for variant in variants)
        for answer, variants in zip(said, accepted, strict=True)
    ]
    return sum(hits) / len(hits)


def _same_length(one: Sequence, other: Sequence, name: str, other_name: str) -> None:
    if len(one) != len(other) or not one:
        raise ValueError(
            f"{len(one)} {name} and {len(other)} {other_name} were given, but they go in pairs: "
            "give equally many, and at least one."
        )
