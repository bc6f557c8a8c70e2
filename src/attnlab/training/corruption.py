"""What the families are trained on: plain text, corrupted in a way that teaches.

    masked(tokens, mark, words)   BERT: 15 % are asked for; 80 % of those hidden, 10 % replaced by a
                                  random word, 10 % left as they are (Devlin et al. 2019, §3.1)
    spans(words, hidden)          T5: each run of hidden words becomes one sentinel, and the target
                                  lists the sentinels with what they hid (Raffel et al. 2020)
    views(words, hidden, family)  what each family reads, may see and must say: three masks

B batch, L length.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnlab import masks
from attnlab.data.sequences import PAD
from attnlab.models.families import Hidden

SENTINELS = ("<X>", "<Y>", "<Z>", "<W>", "<V>", "<U>")
FAMILIES = ("GPT", "BERT", "T5")
SPECIAL = 4  # ids 0…3 are marks in every vocabulary of the course


def masked(
    tokens: Tensor,
    mark: int,
    words: int,
    *,
    share: float = 0.15,
    generator: torch.Generator | None = None,
) -> Hidden:
    """Ask for a share of the tokens (B, L): 80 % hidden, 10 % random words, 10 % left.

    Random words are drawn from SPECIAL … words − 1. Padding is never asked for.
    """
    luck = torch.rand(tokens.shape, generator=generator)
    kind = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(SPECIAL, words, tokens.shape, generator=generator)
    asked = (luck < share) & (tokens != PAD)
    read = torch.where(asked & (kind < 0.8), mark, tokens)
    read = torch.where(asked & (kind >= 0.8) & (kind < 0.9), other, read)
    return Hidden(tokens=read, answers=tokens.masked_fill(~asked, PAD))


def spans(words: Sequence[str], hidden: Sequence[bool]) -> tuple[list[str], list[str]]:
    """The encoder's text and the decoder's, for words of which some runs are hidden."""
    source: list[str] = []
    target: list[str] = []
    sentinels = iter(SENTINELS)
    for position, (word, gone) in enumerate(zip(words, hidden, strict=True)):
        if not gone:
            source.append(word)
            continue
        if position == 0 or not hidden[position - 1]:  # a run begins
            sentinel = next(sentinels)
            source.append(sentinel)
            target.append(sentinel)
        target.append(word)
    return source, [*target, next(sentinels)]


@dataclass(frozen=True, kw_only=True)
class View:
    """One family's view of a text. Rows ask, columns are seen."""

    reads: list[str]  # the encoder's tokens first, then the decoder's
    says: list[str]  # what each position must say; "" where nothing is asked
    mask: Tensor  # (L, L), bool, True = may attend
    encoder: int  # how many of the tokens the encoder reads


def views(words: Sequence[str], hidden: Sequence[bool], family: str) -> View:
    """What a family reads, may see and must say."""
    if family == "GPT":
        reads = ["<s>", *words]
        causal = masks.causal(len(reads)).dense()
        return View(reads=reads, says=[*words, "</s>"], mask=causal, encoder=0)
    if family == "BERT":
        read = ["[MASK]" if gone else word for word, gone in zip(words, hidden, strict=True)]
        says = [word if gone else "" for word, gone in zip(words, hidden, strict=True)]
        every = torch.ones(len(words) + 2, len(words) + 2, dtype=torch.bool)
        return View(
            reads=["[CLS]", *read, "[SEP]"], says=["", *says, ""], mask=every, encoder=len(read) + 2
        )
    if family != "T5":
        raise ValueError(f"family is {family!r}, but it must be one of {', '.join(FAMILIES)}.")
    source, target = spans(words, hidden)
    written = ["<s>", *target[:-1]]
    count, length = len(source), len(source) + len(written)
    mask = torch.zeros(length, length, dtype=torch.bool)
    mask[:, :count] = True  # everybody reads the source
    mask[count:, count:] = masks.causal(len(written)).dense()
    says = [""] * count + target
    return View(reads=[*source, *written], says=says, mask=mask, encoder=count)
