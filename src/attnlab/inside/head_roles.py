"""What do the heads of a trained model do? A score for each job, and a ranking.

    with record(encoder) as maps:
        encoder(numbers)
    scores = roles(maps, tokens)                           # {"previous token": (N, H), …}
    rank(scores["previous token"])[0]                      # Head(layer=0, head=2, score=0.998)

Shapes: N layers, H heads, L tokens. A score is the share of its attention, 0 to 1, that a head
gives to the positions its job is about, averaged over the tokens that could do the job. All jobs
but *same word* are described by Clark et al. 2019 (arXiv:1906.04341).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnlab.record import Maps, one_text

SPECIAL = ("[CLS]", "[SEP]")
PUNCTUATION = frozenset(".,;:!?-()'\"")
ROLES = ("previous token", "next token", "same word", "separator", "punctuation")


class Head(NamedTuple):
    """One head and how well it does a job."""

    layer: int
    head: int
    score: float


def targets(role: str, tokens: Sequence[str]) -> Tensor:
    """Where a head with this role attends: bool (L, L), row i = the positions for token i.

    Rows that are False everywhere do not take part: the first token has no previous one.
    """
    if role not in ROLES:
        raise ValueError(f"there is no role {role!r}: choose one of {', '.join(ROLES)}.")
    n = len(tokens)
    special = torch.tensor([token in SPECIAL for token in tokens])
    mark = torch.tensor([token in PUNCTUATION for token in tokens])
    asks = ~special  # only rows of the text itself count
    if role in ("previous token", "next token"):
        step = -1 if role == "previous token" else 1
        wanted = torch.arange(n) == torch.arange(n)[:, None] + step
        wanted = wanted & ~special  # into the text, not onto [CLS]
    elif role == "same word":
        equal = torch.tensor([[a == b for b in tokens] for a in tokens])
        wanted = equal & ~torch.eye(n, dtype=torch.bool)
        asks = asks & ~mark
    elif role == "separator":
        wanted = special.expand(n, n)
    else:
        wanted = mark.expand(n, n)
        asks = asks & ~mark  # a comma that attends to itself tells us nothing
    return wanted & asks[:, None]


def score(attentions: Tensor, wanted: Tensor) -> Tensor:
    """The share of attention on the wanted positions: (N, H, L, L), bool (L, L) -> (N, H)."""
    rows = wanted.any(dim=-1)  # (L,)
    if not bool(rows.any()):
        raise ValueError(
            "no token of this text could do the job, so no head can be scored: choose another "
            "text, for instance one with a repeated word and a comma."
        )
    share = (attentions * wanted).sum(dim=-1)  # (N, H, L)
    return share[..., rows].mean(dim=-1)


def roles(maps: Maps | Tensor, tokens: Sequence[str]) -> dict[str, Tensor]:
    """All roles of all heads on one text: {role: (N, H)}."""
    attentions = one_text(maps)
    if attentions.dim() != 4 or attentions.shape[-2:] != (len(tokens), len(tokens)):
        raise ValueError(
            f"attentions have shape {tuple(attentions.shape)} for {len(tokens)} tokens, but "
            "(layers, heads, tokens, tokens) is expected: take the maps of one text."
        )
    return {role: score(attentions, targets(role, tokens)) for role in ROLES}


def rank(scores: Tensor, most: int | None = None) -> list[Head]:
    """The heads of (N, H) scores, strongest first."""
    heads = scores.shape[-1]
    order = scores.flatten().argsort(descending=True, stable=True).tolist()[:most]
    return [Head(i // heads, i % heads, float(scores.flatten()[i])) for i in order]
