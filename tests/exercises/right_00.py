"""Chapter 0: right answers in other hands."""

import functools

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand
from einops import rearrange

# 00.1 my_cosines(query, table) -------------------------------------------------------------------


@hand("00.1")
def in_numpy(query, table):
    q, t = query.numpy(), table.numpy()
    return t @ q / (np.linalg.norm(q) * np.linalg.norm(t, axis=1))


@hand("00.1")
def by_einsum(query, table):
    unit = torch.einsum("ve,v->ve", table, 1 / torch.einsum("ve,ve->v", table, table).sqrt())
    return torch.einsum("ve,e->v", unit, query / query.dot(query).sqrt())


@hand("00.1")
class CosineLayer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cosine = torch.nn.CosineSimilarity(dim=-1, eps=0)

    def forward(self, query, table):
        return self.cosine(table, query[None])


@hand("00.1")
def in_double(query, table):
    return F.normalize(table.double(), dim=-1) @ F.normalize(query.double(), dim=0)


# 00.2 my_patches(picture, size) ------------------------------------------------------------------


@hand("00.2")
def patches_by_einops(picture, size):
    return rearrange(picture, "c (r p) (k q) -> (r k) (p q c)", p=size, q=size)


@hand("00.2")
def patches_in_numpy(picture, size):
    x = picture.numpy()
    c, h, w = x.shape
    x = x.reshape(c, h // size, size, w // size, size).transpose(1, 3, 2, 4, 0)
    return np.ascontiguousarray(x).reshape(-1, size * size * c)


@hand("00.2")
def patch_after_patch(picture, size):
    found = []
    for top in range(0, picture.shape[1], size):
        for left in range(0, picture.shape[2], size):
            square = picture[:, top : top + size, left : left + size]
            found.append(square.movedim(0, -1).flatten())
    return torch.stack(found)


@hand("00.2")
class Cutter:
    def __call__(self, picture, size):
        colours = picture.shape[0]
        rows = torch.cat(picture.split(size, dim=1)).split(colours)
        cells = [cell for row in rows for cell in row.split(size, dim=2)]
        return torch.stack([cell.permute(1, 2, 0).reshape(-1) for cell in cells])


# 00.3 my_glue(parts, pair) -----------------------------------------------------------------------


@hand("00.3")
def with_an_iterator(parts, pair):
    out, rest = [], list(parts)
    while rest:
        first = rest.pop(0)
        if rest and (first, rest[0]) == tuple(pair):
            first += rest.pop(0)
        out.append(first)
    return out


@hand("00.3")
def by_reducing(parts, pair):
    def step(done, part):
        out, free = done
        if free and out and (out[-1], part) == tuple(pair):
            return [*out[:-1], out[-1] + part], False
        return [*out, part], True

    return functools.reduce(step, parts, ([], True))[0]


@hand("00.3")
class Gluer:
    def __call__(self, parts, pair):
        skip = False
        out = []
        for i, part in enumerate(parts):
            if skip:
                skip = False
                continue
            skip = i + 1 < len(parts) and part == pair[0] and parts[i + 1] == pair[1]
            out.append(part + parts[i + 1] if skip else part)
        return out


# 00.4 my_analogy(puzzles, words, table) ----------------------------------------------------------


@hand("00.4")
def analogy_in_numpy(puzzles, words, table):
    t = table.numpy().astype(np.float64)
    t = t / np.linalg.norm(t, axis=1, keepdims=True)
    found = []
    for puzzle in puzzles:
        a, b, c = (words.index(w) for w in puzzle)
        scores = t @ (t[b] - t[a] + t[c])
        scores[[a, b, c]] = -np.inf
        found.append(words[int(scores.argmax())])
    return found


@hand("00.4")
def analogy_by_einsum(puzzles, words, table):
    unit = F.normalize(table, dim=-1)
    rows = torch.tensor([[words.index(w) for w in puzzle] for puzzle in puzzles])
    signs = torch.tensor([-1.0, 1.0, 1.0])
    scores = torch.einsum("npe,p,ve->nv", unit[rows], signs, unit)
    given = F.one_hot(rows, len(words)).sum(1).bool()
    return [words[int(i)] for i in scores.masked_fill(given, -torch.inf).argmax(1)]


@hand("00.4")
class Solver:
    def __call__(self, puzzles, words, table):
        unit = {w: row / row.norm() for w, row in zip(words, table, strict=True)}
        return [self.one(puzzle, unit) for puzzle in puzzles]

    def one(self, puzzle, unit):
        a, b, c = (unit[w] for w in puzzle)
        left = [w for w in unit if w not in puzzle]
        return max(left, key=lambda w: float(unit[w].double() @ (b - a + c).double()))


# 00.5 my_frames(sound, size) ---------------------------------------------------------------------


@hand("00.5")
def frames_by_einops(sound, size):
    return rearrange(sound, "c (n f) -> n (f c)", f=size)


@hand("00.5")
def frames_in_numpy(sound, size):
    x = sound.numpy()
    return np.stack([x[:, i : i + size].T.ravel() for i in range(0, x.shape[1], size)])


@hand("00.5")
def frames_by_chunks(sound, size):
    return torch.stack([one.movedim(0, 1).reshape(-1) for one in sound.split(size, dim=1)])


@hand("00.5")
class Framer:
    def __call__(self, sound, size):
        rows = []
        for start in range(0, sound.shape[1], size):
            moments = range(start, start + size)
            rows.append([channel[t] for t in moments for channel in sound.tolist()])
        return torch.tensor(rows)


# 00.6 cosines_stay(change) -----------------------------------------------------------------------

STAYS = {
    "every vector twice as long": True,
    "every vector scaled to length 1": True,
    "every sign turned": True,
    "the columns in another order": True,
    "the first column doubled": False,
    "one more column, all 0": True,
    "one more column, all 1": False,
    "the same vector added to every word": False,
}


@hand("00.6")
def looked_up(change):
    return STAYS[change]


@hand("00.6")
def case_by_case(change):
    match change:
        case "the first column doubled" | "one more column, all 1":
            return False
        case "the same vector added to every word":
            return False
        case _:
            return True


@hand("00.6")
def one_after_the_other(change):
    if change == "every vector twice as long":
        return True
    if change == "every vector scaled to length 1":
        return True
    if change == "every sign turned" or change == "the columns in another order":
        return True
    return change == "one more column, all 0"


@hand("00.6")
class Prophet:
    def __call__(self, change):
        table = torch.randn(5, 3, dtype=torch.double)
        more = {
            "every vector twice as long": table * 2,
            "every sign turned": -table,
            "the columns in another order": table.flip(1),
            "the first column doubled": torch.cat([2 * table[:, :1], table[:, 1:]], 1),
            "one more column, all 0": F.pad(table, (0, 1)),
            "one more column, all 1": F.pad(table, (0, 1), value=1.0),
            "the same vector added to every word": table + 1,
        }
        new = more.get(change, F.normalize(table, dim=-1))
        return bool(torch.allclose(self.cosines(new), self.cosines(table)))

    def cosines(self, table):
        return F.cosine_similarity(table[:, None], table[None], dim=-1)
