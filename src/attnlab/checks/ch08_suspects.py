"""Chapter 8: the mistakes we know, each as the words a learner reads and the wrong answer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.checks.exercise import Suspects, again
from attnlab.inside.outlines import enlarge, jaccard, keep_mass
from attnlab.layers.patches import patchify, unpatchify

# 08.1 my_patchify(images, patch) -----------------------------------------------------------------


def _squares(images: Tensor, patch: int) -> Tensor:
    """(B, C, R, P, K, P)"""
    rows, columns = images.shape[-2] // patch, images.shape[-1] // patch
    return images.unflatten(-2, (rows, patch)).unflatten(-1, (columns, patch))


PATCHIFY: Suspects = [
    (
        "The pixels were cut up in the order they lie in memory: a token holds pieces of rows, not "
        "a square. Cut height and width in two first, then move the axes.",
        lambda x, p: x.reshape(len(x), -1, x.shape[1] * p * p),
    ),
    (
        "The patches go down the columns. They are numbered row after row, as we read.",
        lambda x, p: _squares(x, p).permute(0, 4, 2, 1, 3, 5).flatten(3).flatten(1, 2),
    ),
    (
        "Inside a patch the colours come last. A convolution keeps them first: channel, then row, "
        "then column.",
        lambda x, p: _squares(x, p).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2),
    ),
    (
        "Inside a patch rows and columns are swapped: every patch is turned on its side.",
        lambda x, p: _squares(x, p).permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2),
    ),
    (
        "Every token holds each P-th pixel of the picture. Cut the height into (rows, patch), not "
        "(patch, rows).",
        lambda x, p: (
            x.unflatten(-2, (p, -1))
            .unflatten(-1, (p, -1))
            .permute(0, 3, 5, 1, 2, 4)
            .flatten(3)
            .flatten(1, 2)
        ),
    ),
    (
        "`unfold` puts the patches last: swap the last two axes.",
        lambda x, p: F.unfold(x, p, stride=p),
    ),
]

# 08.2 my_unpatchify(tokens, patch, rows) ---------------------------------------------------------


def _cells(tokens: Tensor, patch: int, rows: int) -> Tensor:
    """(B, R, K, C, P, P)"""
    return tokens.unflatten(1, (rows, -1)).unflatten(3, (-1, patch, patch))


def _flat(x: Tensor) -> Tensor:
    return x.flatten(4).flatten(2, 3)


UNPATCHIFY: Suspects = [
    (
        "The channels were taken for the last axis of a patch. A token holds channel, row, column, "
        "in this order.",
        lambda x, p, r: _flat(
            x.unflatten(1, (r, -1)).unflatten(3, (p, p, -1)).permute(0, 5, 1, 3, 2, 4)
        ),
    ),
    (
        "The numbers were poured into the picture in the order they lie in memory. Name all six "
        "axes first, then move them.",
        lambda x, p, r: x.reshape(len(x), x.shape[2] // p**2, r * p, -1),
    ),
    (
        "Each patch is turned on its side: rows and columns of pixels are swapped.",
        lambda x, p, r: _flat(_cells(x, p, r).permute(0, 3, 1, 5, 2, 4)),
    ),
    (
        "`rows` was taken for the number of columns: patches are numbered row after row.",
        lambda x, p, r: unpatchify(x, p, x.shape[1] // r),
    ),
    (
        "As many columns as rows were taken for granted: the number of columns is that of the "
        "tokens, divided by `rows`.",
        lambda x, p, r: _flat(
            x.unflatten(1, (r, r)).unflatten(3, (-1, p, p)).permute(0, 3, 1, 4, 2, 5)
        ),
    ),
    (
        "Three channels were taken for granted. How many there are, the width of a token tells.",
        lambda x, p, r: _flat(
            x.unflatten(1, (r, -1)).unflatten(3, (3, p, p)).permute(0, 3, 1, 4, 2, 5)
        ),
    ),
    (
        "The patches went down the columns: token 1 is to the right of token 0, not below it.",
        lambda x, p, r: _flat(
            x.unflatten(1, (-1, r)).unflatten(3, (-1, p, p)).permute(0, 3, 2, 4, 1, 5)
        ),
    ),
]

# 08.3 my_resize(table, old, new) -----------------------------------------------------------------


def resize_with_cls(table: Tensor, old: int, new: int) -> Tensor:
    """The right answer: [CLS] stays, the grid is resized, even one of a single patch."""
    return _grid(table, old, new, "bicubic", False)


def _along_the_row(table: Tensor, old: int, new: int) -> Tensor:
    line = F.interpolate(table[1:].T[None], size=new * new, mode="linear")[0].T
    return torch.cat([table[:1], line])


def _grid(table: Tensor, old: int, new: int, mode: str, corners: bool | None) -> Tensor:
    picture = table[1:].unflatten(0, (old, old)).permute(2, 0, 1)[None]
    grown = F.interpolate(picture, size=(new, new), mode=mode, align_corners=corners)
    return torch.cat([table[:1], grown[0].permute(1, 2, 0).flatten(0, 1)])


def _mixed(table: Tensor, old: int, new: int) -> Tensor:
    picture = table[1:].reshape(1, -1, old, old)
    grown = F.interpolate(picture, size=(new, new), mode="bicubic")
    return torch.cat([table[:1], grown.reshape(new * new, -1)])


RESIZE: Suspects = [
    (
        "The places were stretched along the row of tokens. They stand on a grid: make (old, old) "
        "of them first.",
        _along_the_row,
    ),
    (
        "[CLS] is missing: it has a place of its own, which stays as it is, in front.",
        lambda t, old, new: resize_with_cls(t, old, new)[1:],
    ),
    (
        "`reshape` mixed the width with the grid. First (old, old, E), then move E to the front.",
        _mixed,
    ),
    (
        "This is the nearest old place for each new one. Use mode='bicubic'.",
        lambda t, old, new: _grid(t, old, new, "nearest", None),
    ),
    (
        "This is bilinear. Use mode='bicubic'.",
        lambda t, old, new: _grid(t, old, new, "bilinear", False),
    ),
    (
        "With align_corners=True the outer places move to the edges of the picture: leave it out.",
        lambda t, old, new: _grid(t, old, new, "bicubic", True),
    ),
]

# 08.4 my_outline_score(weights, gold, share) -----------------------------------------------------


def outline_score(weights: Tensor, gold: Tensor, share: float) -> Tensor:
    """The right answer: keep the mass, enlarge, compare."""
    return jaccard(enlarge(keep_mass(weights, share), gold.shape[-1]), gold)


def _upto(weights: Tensor, share: float) -> Tensor:
    flat = weights.flatten()
    order = flat.argsort(descending=True)
    kept = (flat[order] / flat.sum()).cumsum(0) <= share
    return torch.zeros(len(flat), dtype=torch.bool).scatter(0, order, kept).reshape(weights.shape)


def _parts(mask: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
    big = enlarge(mask, gold.shape[-1])
    return (big & gold).sum(), big.sum()


def _over(mask: Tensor, gold: Tensor) -> Tensor:
    """Intersection over union, nan where both are empty."""
    big = enlarge(mask, gold.shape[-1])
    return (big & gold).sum() / (big | gold).sum()


OUTLINE: Suspects = [
    (
        "The weights above 0.6 were kept, or above 0.6 of the largest. Keep the *fewest* patches "
        "whose weights add up to 60 % of the mass.",
        lambda w, g, s: jaccard(enlarge(w >= s * w.max(), g.shape[-1]), g),
    ),
    (
        "60 % of the *patches* were kept, however little they hold. It is 60 % of the mass.",
        lambda w, g, s: jaccard(enlarge(w >= w.flatten().quantile(1 - s), g.shape[-1]), g),
    ),
    (
        "The patch that crosses 60 % is missing: what is kept must *reach* the share. Ask what the "
        "larger ones hold before it.",
        lambda w, g, s: jaccard(enlarge(_upto(w, s), g.shape[-1]), g),
    ),
    (
        "This is the share of the object that was found (recall). Divide by the union.",
        lambda w, g, s: _parts(keep_mass(w, s), g)[0] / g.sum(),
    ),
    (
        "This is the share of the outline that is right (precision). Divide by the union.",
        lambda w, g, s: (lambda a: a[0] / a[1])(_parts(keep_mass(w, s), g)),
    ),
    (
        "This is the share of pixels on which the two agree. Ground that both leave out does not "
        "count: intersection over union.",
        lambda w, g, s: (enlarge(keep_mass(w, s), g.shape[-1]) == g).float().mean(),
    ),
    (
        "The smallest weights were kept. Sort in descending order.",
        lambda w, g, s: jaccard(enlarge(keep_mass(w.max() - w, s), g.shape[-1]), g),
    ),
]
OUTLINE = again(OUTLINE, "must *reach* the share", lambda w, g, s: _over(_upto(w, s), g))

# 08.5 my_teacher_step(teacher, student, centre, logits, momentum) --------------------------------


def teacher_step(
    teacher: Tensor, student: Tensor, centre: Tensor, logits: Tensor, momentum: float
) -> tuple[Tensor, Tensor]:
    """The right answer: both move a little."""
    follow = momentum * teacher + (1 - momentum) * student
    return follow, momentum * centre + (1 - momentum) * logits.mean(dim=0)


TEACHER: Suspects = [
    (
        "It is the wrong way round: the momentum is how much of the old stays.",
        lambda t, s, c, z, m: teacher_step(t, s, c, z, 1 - m),
    ),
    (
        "The teacher follows, but the centre is the mean of this batch alone. It is a running "
        "mean, too.",
        lambda t, s, c, z, m: (teacher_step(t, s, c, z, m)[0], z.mean(dim=0)),
    ),
    (
        "The centre is a mean over the prototypes. It has one number for each prototype: the mean "
        "over the pictures, axis 0.",
        lambda t, s, c, z, m: (teacher_step(t, s, c, z, m)[0], m * c + (1 - m) * z.mean()),
    ),
    (
        "The teacher was replaced by its student: nothing of the old is left.",
        lambda t, s, c, z, m: (s, teacher_step(t, s, c, z, m)[1]),
    ),
    (
        "The teacher stands still.",
        lambda t, s, c, z, m: (t, teacher_step(t, s, c, z, m)[1]),
    ),
    (
        "The centre is the mean of probabilities. The teacher's *logits* are centred.",
        lambda t, s, c, z, m: (
            teacher_step(t, s, c, z, m)[0],
            m * c + (1 - m) * z.softmax(-1).mean(dim=0),
        ),
    ),
    (
        "Teacher and centre are swapped: return the teacher first.",
        lambda t, s, c, z, m: teacher_step(t, s, c, z, m)[::-1],
    ),
]

# 08.6 cls_picture(weights, registers, rows) ------------------------------------------------------


def cls_picture(weights: Tensor, registers: int, rows: int) -> Tensor:
    """The right answer: row 0, without [CLS] and the registers."""
    return weights[..., 0, 1 + registers :].unflatten(-1, (rows, -1))


CLS: Suspects = [
    (
        "The registers are still in it: only [CLS] was dropped, so the picture is shifted and its "
        "end cut off.",
        lambda w, n, rows: w[..., 0, 1 : w.shape[-1] - n].unflatten(-1, (rows, -1)),
    ),
    (
        "Tokens were dropped at the end. [CLS] and the registers stand in front.",
        lambda w, n, rows: w[..., 0, : w.shape[-1] - 1 - n].unflatten(-1, (rows, -1)),
    ),
    (
        "This is the column of [CLS]: who looks at it. Asked for is its row: where it looks.",
        lambda w, n, rows: w[..., 1 + n :, 0].unflatten(-1, (rows, -1)),
    ),
    (
        "[CLS] itself is still in it: drop 1 + registers tokens.",
        lambda w, n, rows: w[..., 0, n : w.shape[-1] - 1].unflatten(-1, (rows, -1)),
    ),
    (
        "Rows and columns of the picture are swapped: patches are numbered row after row.",
        lambda w, n, rows: w[..., 0, 1 + n :].unflatten(-1, (-1, rows)).mT,
    ),
    (
        "The heads were averaged: give a picture for each head.",
        lambda w, n, rows: cls_picture(w, n, rows).mean(-3),
    ),
    (
        "This is the first register's row, not that of [CLS], which stands in front of everything.",
        lambda w, n, rows: w[..., 1, 1 + n :].unflatten(-1, (rows, -1)),
    ),
]

__all__ = ["CLS", "OUTLINE", "PATCHIFY", "RESIZE", "TEACHER", "UNPATCHIFY", "patchify"]
