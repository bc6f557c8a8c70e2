"""Chapter 8: wrong answers with the words they must meet, and right answers written differently."""

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong
from einops import rearrange

# 08.1 my_patchify(images, patch) -----------------------------------------------------------------


@wrong("08.1", "a token holds pieces of rows, not a square")
def one_reshape(images, patch):
    return images.reshape(images.shape[0], -1, images.shape[1] * patch**2)


@wrong("08.1", "The patches go down the columns")
def column_after_column(images, patch):
    return rearrange(images, "b c (r p) (k q) -> b (k r) (c p q)", p=patch, q=patch)


@wrong("08.1", "Inside a patch the colours come last")
def colours_last(images, patch):
    return rearrange(images, "b c (r p) (k q) -> b (r k) (p q c)", p=patch, q=patch)


@wrong("08.1", "Every token holds each P-th pixel")
def combed(images, patch):
    return rearrange(images, "b c (p r) (q k) -> b (r k) (c p q)", p=patch, q=patch)


@wrong("08.1", "`unfold` puts the patches last")
def unfolded(images, patch):
    return F.unfold(images, patch, stride=patch)


@right("08.1")
def by_unfold(images, patch):
    return F.unfold(images, patch, stride=patch).mT


@right("08.1")
def by_einops(images, patch):
    return rearrange(images, "b c (r p) (k q) -> b (r k) (c p q)", p=patch, q=patch)


# 08.2 my_unpatchify(tokens, patch, rows) ---------------------------------------------------------


@wrong("08.2", "poured into the picture in the order they lie in memory")
def poured(tokens, patch, rows):
    return tokens.reshape(len(tokens), tokens.shape[-1] // patch**2, rows * patch, -1)


@wrong("08.2", "turned on its side")
def sideways(tokens, patch, rows):
    return rearrange(tokens, "b (r k) (c p q) -> b c (r q) (k p)", r=rows, p=patch, q=patch)


@wrong("08.2", "has shape")
def columns_for_rows(tokens, patch, rows):
    return rearrange(tokens, "b (r k) (c p q) -> b c (r p) (k q)", k=rows, p=patch, q=patch)


@right("08.2")
def back_by_einops(tokens, patch, rows):
    return rearrange(tokens, "b (r k) (c p q) -> b c (r p) (k q)", r=rows, p=patch, q=patch)


@right("08.2")
def by_fold(tokens, patch, rows):
    columns = tokens.shape[1] // rows
    return F.fold(tokens.mT, (rows * patch, columns * patch), patch, stride=patch)


# 08.3 my_resize(table, old, new) -----------------------------------------------------------------


def grown(table, old, new, **how):
    picture = rearrange(table, "(r k) e -> 1 e r k", r=old)
    return rearrange(F.interpolate(picture, (new, new), **how), "1 e r k -> (r k) e")


@wrong("08.3", "stretched along the row of tokens")
def as_a_line(table, old, new):
    line = F.interpolate(table[1:].T[None], new**2, mode="linear")
    return torch.cat([table[:1], line[0].T])


@wrong("08.3", "has shape")
def forgets_cls(table, old, new):
    return grown(table[1:], old, new, mode="bicubic")


@wrong("08.3", "This is the nearest old place")
def nearest(table, old, new):
    return torch.cat([table[:1], grown(table[1:], old, new)])


@wrong("08.3", "This is bilinear")
def bilinear(table, old, new):
    return torch.cat([table[:1], grown(table[1:], old, new, mode="bilinear")])


@right("08.3")
def resized(table, old, new):
    first, rest = table.split([1, old * old])
    return torch.cat([first, grown(rest, old, new, mode="bicubic", align_corners=False)])


# 08.4 my_outline_score(weights, gold, share) -----------------------------------------------------


def kept(weights, share, inclusive=True):
    values, order = (weights / weights.sum()).flatten().sort(descending=True)
    before = values.cumsum(0) - values
    chosen = before < share if inclusive else values.cumsum(0) <= share
    mask = torch.zeros(weights.numel(), dtype=torch.bool)
    mask[order[chosen]] = True
    return mask.reshape(weights.shape)


def pixels(mask, gold):
    return torch.kron(
        mask.int(),
        torch.ones(gold.shape[0] // mask.shape[0], gold.shape[1] // mask.shape[1], dtype=torch.int),
    ).bool()


def union(mask, gold):
    mask = pixels(mask, gold)
    return (mask & gold).sum() / (mask | gold).sum()


@wrong("08.4", "Keep the *fewest* patches")
def above_a_share_of_the_largest(weights, gold, share):
    return union(weights >= share * weights.max(), gold)


@wrong("08.4", "what is kept must *reach* the share")
def stops_short(weights, gold, share):
    return union(kept(weights, share, inclusive=False), gold)


@wrong("08.4", "the share of the object that was found")
def recall(weights, gold, share):
    mask = pixels(kept(weights, share), gold)
    return (mask & gold).sum() / gold.sum()


@wrong("08.4", "pixels on which the two agree")
def accuracy(weights, gold, share):
    return (pixels(kept(weights, share), gold) == gold).float().mean()


@right("08.4")
def by_kron(weights, gold, share):
    return union(kept(weights, share), gold)


# 08.5 my_teacher_step(teacher, student, centre, logits, momentum) --------------------------------


@wrong("08.5", "the momentum is how much of the old stays")
def wrong_way_round(teacher, student, centre, logits, momentum):
    return torch.lerp(teacher, student, momentum), torch.lerp(centre, logits.mean(0), momentum)


@wrong("08.5", "the mean of this batch alone")
def forgets_the_past(teacher, student, centre, logits, momentum):
    return torch.lerp(teacher, student, 1 - momentum), logits.mean(0)


@wrong("08.5", "The teacher was replaced by its student")
def copies(teacher, student, centre, logits, momentum):
    return student.clone(), torch.lerp(centre, logits.mean(0), 1 - momentum)


@wrong("08.5", "The centre is a mean over the prototypes")
def one_number(teacher, student, centre, logits, momentum):
    return torch.lerp(teacher, student, 1 - momentum), momentum * centre + (
        1 - momentum
    ) * logits.mean()


@right("08.5")
def by_lerp(teacher, student, centre, logits, momentum):
    follow = teacher.lerp(student, 1 - momentum)
    return follow, centre.lerp(logits.mean(0), 1 - momentum)


# 08.6 cls_picture(weights, registers, rows) ------------------------------------------------------


@wrong("08.6", "The registers are still in it")
def registers_left_in(weights, registers, rows):
    values = weights[..., 0, 1 : weights.shape[-1] - registers]
    return values.unflatten(-1, (rows, -1))


@wrong("08.6", "Tokens were dropped at the end")
def dropped_behind(weights, registers, rows):
    return weights[..., 0, : -(1 + registers)].unflatten(-1, (rows, -1))


@wrong("08.6", "This is the column of [CLS]")
def who_looks_at_cls(weights, registers, rows):
    return weights[..., 1 + registers :, 0].unflatten(-1, (rows, -1))


@right("08.6")
def from_the_back(weights, registers, rows):
    patches = weights.shape[-1] - 1 - registers
    return rearrange(weights[..., 0, -patches:], "... (r k) -> ... r k", r=rows)
