"""Chapter 8: its exercises answered plainly, as the chapter does; slips.py changes them."""

import torch


def my_patchify(images, patch):
    """(B, C, R·P, K·P) -> (B, R·K, C·P·P)"""
    rows, columns = images.shape[2] // patch, images.shape[3] // patch
    cut = images.unflatten(2, (rows, patch)).unflatten(4, (columns, patch))
    return cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def my_unpatchify(tokens, patch, rows):
    """(B, R·K, C·P·P) -> (B, C, R·P, K·P)"""
    cut = tokens.unflatten(1, (rows, -1)).unflatten(3, (-1, patch, patch))
    return cut.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


def my_resize(table, old, new):
    """(1 + old·old, E) -> (1 + new·new, E)"""
    picture = table[1:].unflatten(0, (old, old)).permute(2, 0, 1)[None]
    resize = torch.nn.functional.interpolate
    grown = resize(picture, size=(new, new), mode="bicubic")
    return torch.cat([table[:1], grown[0].flatten(1).T])


def my_outline_score(weights, gold, share):
    """(R, R), bool (S, S), number -> number"""
    ordered = weights.flatten().sort(descending=True)
    values, order = ordered.values, ordered.indices
    before = (values.cumsum(0) - values) / values.sum()
    mask = torch.zeros(weights.numel(), dtype=torch.bool)
    mask[order[before < share]] = True
    scale = gold.shape[0] // weights.shape[0]
    mask = mask.reshape(weights.shape).repeat_interleave(scale, 0)
    mask = mask.repeat_interleave(scale, 1)
    return (mask & gold).sum() / (mask | gold).sum()


def my_teacher_step(teacher, student, centre, logits, momentum):
    """-> teacher (E,), centre (K,)"""
    teacher = momentum * teacher + (1 - momentum) * student
    centre = momentum * centre + (1 - momentum) * logits.mean(0)
    return teacher, centre


def cls_picture(weights, registers, rows):
    """(..., L, L) -> (..., rows, columns)"""
    values = weights[..., 0, 1 + registers :]
    return values.unflatten(-1, (rows, -1))
