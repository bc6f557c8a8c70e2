"""Chapter 8: right answers in other hands."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand
from einops import rearrange, repeat

# 08.1 my_patchify(images, patch) -----------------------------------------------------------------


@hand("08.1")
def cut_in_numpy(images, patch):
    b, c, h, w = images.shape
    x = images.numpy().reshape(b, c, h // patch, patch, w // patch, patch)
    return x.transpose(0, 2, 4, 1, 3, 5).reshape(b, -1, c * patch * patch)


@hand("08.1")
def cut_in_a_loop(images, patch):
    found = []
    for top in range(0, images.shape[2], patch):
        for left in range(0, images.shape[3], patch):
            found.append(images[:, :, top : top + patch, left : left + patch].flatten(1))
    return torch.stack(found, dim=1)


@hand("08.1")
class Cut(torch.nn.Module):
    def forward(self, images, patch):
        cells = images.unfold(2, patch, patch).unfold(3, patch, patch)  # (B, C, R, K, P, P)
        return cells.permute(0, 2, 3, 1, 4, 5).reshape(len(images), -1, images.shape[1] * patch**2)


# 08.2 my_unpatchify(tokens, patch, rows) ---------------------------------------------------------


@hand("08.2")
def back_in_numpy(tokens, patch, rows):
    b, n, e = tokens.shape
    x = tokens.numpy().reshape(b, rows, n // rows, e // patch**2, patch, patch)
    return x.transpose(0, 3, 1, 4, 2, 5).reshape(b, -1, rows * patch, n // rows * patch)


@hand("08.2")
def back_in_a_loop(tokens, patch, rows):
    b, n, e = tokens.shape
    columns = n // rows
    out = tokens.new_zeros(b, e // patch**2, rows * patch, columns * patch)
    for i in range(n):
        r, k = divmod(i, columns)
        square = tokens[:, i].reshape(b, -1, patch, patch)
        out[:, :, r * patch : (r + 1) * patch, k * patch : (k + 1) * patch] = square
    return out


@hand("08.2")
class Back:
    def __call__(self, tokens, patch, rows):
        lines = tokens.chunk(rows, dim=1)  # (B, K, C·P·P) each
        cells = [[t.reshape(len(t), -1, patch, patch) for t in line.unbind(1)] for line in lines]
        return torch.cat([torch.cat(line, dim=3) for line in cells], dim=2)


# 08.3 my_resize(table, old, new) -----------------------------------------------------------------


@hand("08.3")
def resize_by_einops(table, old, new):
    picture = rearrange(table[1:], "(r k) e -> 1 e r k", r=old)
    grown = F.interpolate(picture, size=new, mode="bicubic")
    return torch.cat([table[:1], rearrange(grown, "1 e r k -> (r k) e")])


@hand("08.3")
class Resize(torch.nn.Module):
    def forward(self, table, old, new):
        up = torch.nn.Upsample(size=(new, new), mode="bicubic", align_corners=False)
        grown = up(table[1:].T.reshape(1, -1, old, old))
        return torch.vstack([table[0], grown.reshape(table.shape[1], -1).T])


@hand("08.3")
def resize_column_by_column(table, old, new):
    out = table.new_empty(1 + new * new, table.shape[1])
    out[0] = table[0]
    for e in range(table.shape[1]):
        grid = table[1:, e].reshape(1, 1, old, old)
        out[1:, e] = F.interpolate(grid, (new, new), mode="bicubic").flatten()
    return out


@hand("08.3")
def resize_as_a_matrix(table, old, new):
    unit = torch.eye(old * old).reshape(old * old, 1, old, old)
    matrix = F.interpolate(unit, (new, new), mode="bicubic").flatten(1)  # (old², new²)
    return torch.cat([table[:1], matrix.T @ table[1:]])


# 08.4 my_outline_score(weights, gold, share) -----------------------------------------------------


@hand("08.4")
def outline_in_numpy(weights, gold, share):
    w, g = weights.numpy(), gold.numpy()
    order = np.argsort(-w.ravel(), kind="stable")
    mass = w.ravel()[order] / w.sum()
    mask = np.zeros(w.size, dtype=bool)
    mask[order[np.cumsum(mass) - mass < share]] = True
    scale = g.shape[0] // w.shape[0]
    mask = np.kron(mask.reshape(w.shape), np.ones((scale, scale), dtype=bool))
    return np.float32((mask & g).sum() / (mask | g).sum())


@hand("08.4")
def outline_in_a_loop(weights, gold, share):
    flat = weights.flatten().tolist()
    order = sorted(range(len(flat)), key=lambda i: -flat[i])
    kept, held = set(), 0.0
    for i in order:
        if held >= share * sum(flat) * (1 - 1e-7):
            break
        kept.add(i)
        held += flat[i]
    mask = torch.tensor([i in kept for i in range(len(flat))]).reshape(weights.shape)
    scale = len(gold) // len(weights)
    mask = repeat(mask, "r k -> (r p) (k q)", p=scale, q=scale)
    return (mask & gold).sum() / (mask | gold).sum()


@hand("08.4")
class Outline(torch.nn.Module):
    def forward(self, weights, gold, share):
        values, order = weights.flatten().sort(descending=True, stable=True)
        mass = (values / values.sum()).cumsum(0)
        count = int((mass < share).sum()) + 1
        mask = torch.zeros(weights.numel()).index_fill(0, order[:count], 1.0)
        big = F.interpolate(mask.reshape(1, 1, *weights.shape), size=gold.shape, mode="nearest")
        both = (big[0, 0] * gold).sum()
        return both / (big.sum() + gold.sum() - both)


@hand("08.4")
def outline_pixel_by_pixel(weights, gold, share):
    values, order = torch.sort(-weights.double().reshape(-1), stable=True)
    before = F.pad(-values.cumsum(0)[:-1], (1, 0)) / weights.double().sum()
    kept = set(order[before < share - 1e-12].tolist())
    scale, side = len(gold) // len(weights), weights.shape[1]
    both = either = 0
    for y in range(len(gold)):
        for x in range(len(gold)):
            mine, theirs = (y // scale) * side + x // scale in kept, bool(gold[y, x])
            both, either = both + (mine and theirs), either + (mine or theirs)
    return torch.tensor(both / either)


# 08.5 my_teacher_step(teacher, student, centre, logits, momentum) --------------------------------


@hand("08.5")
def step_in_numpy(teacher, student, centre, logits, momentum):
    t, s, c, z = (a.numpy() for a in (teacher, student, centre, logits))
    return momentum * t + (1 - momentum) * s, momentum * c + (1 - momentum) * z.mean(axis=0)


@hand("08.5")
class Step:
    def __call__(self, teacher, student, centre, logits, momentum):
        return self.mean(teacher, student, momentum), self.mean(centre, logits.mean(0), momentum)

    @staticmethod
    def mean(old, new, momentum):
        return old + (1 - momentum) * (new - old)


@hand("08.5")
def step_by_addcmul(teacher, student, centre, logits, momentum):
    rest = torch.tensor(1 - momentum, dtype=torch.float64)
    mean = torch.einsum("bk->k", logits.double()) / len(logits)
    return (
        torch.add(momentum * teacher.double(), rest * student),
        torch.add(momentum * centre.double(), rest * mean),
    )


@hand("08.5")
def step_as_weighted_sums(teacher, student, centre, logits, momentum):
    share = torch.tensor([momentum, 1 - momentum])
    return share @ torch.stack([teacher, student]), share @ torch.stack([centre, logits.mean(0)])


# 08.6 cls_picture(weights, registers, rows) ------------------------------------------------------


@hand("08.6")
def picture_in_numpy(weights, registers, rows):
    values = weights.numpy()[..., 0, registers + 1 :]
    return values.reshape(*values.shape[:-1], rows, -1)


@hand("08.6")
class Picture(torch.nn.Module):
    def forward(self, weights, registers, rows):
        _, _, patches = weights.select(-2, 0).split(
            [1, registers, weights.shape[-1] - 1 - registers], dim=-1
        )
        return patches.reshape(*patches.shape[:-1], rows, patches.shape[-1] // rows)


@hand("08.6")
def picture_row_by_row(weights, registers, rows):
    values = weights[..., 0, :].narrow(-1, 1 + registers, weights.shape[-1] - 1 - registers)
    return torch.stack(values.chunk(rows, dim=-1), dim=-2)


@hand("08.6")
def picture_by_einops(weights, registers, rows):
    first = torch.eye(weights.shape[-1])[0]
    row = torch.einsum("l,...ls->...s", first, weights)
    return rearrange(row[..., registers + 1 :], "... (r k) -> ... r k", r=rows)
