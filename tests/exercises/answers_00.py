"""Chapter 0: wrong answers with the words they must meet, and right answers written differently."""

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

# 00.1 my_cosines(query, table) -------------------------------------------------------------------


@wrong("00.1", "A cosine divides by both lengths")
def only_the_dot_product(query, table):
    return (table * query).sum(-1)


@wrong("00.1", "divide by its length, too")
def forgets_the_query(query, table):
    return F.normalize(table, dim=-1) @ query


@wrong("00.1", "divide each row by its own length")
def forgets_the_rows(query, table):
    return table @ F.normalize(query, dim=0)


@wrong("00.1", "These are distances")
def distances(query, table):
    return torch.cdist(query[None], table)[0]


@wrong("00.1", "dim=-1, keepdim=True")
def lengths_of_columns(query, table):
    return F.normalize(table, dim=0) @ F.normalize(query, dim=0)


@wrong("00.1", "the square root of x · x")
def forgets_the_root(query, table):
    return table @ query / ((query @ query) * (table * table).sum(1))


@wrong("00.1", "each row has a length of its own")
def one_length_for_all(query, table):
    return table @ query / (torch.linalg.norm(table) * torch.linalg.norm(query))


@right("00.1")
def by_torch(query, table):
    return F.cosine_similarity(query[None], table, dim=-1)


@right("00.1")
def by_a_loop(query, table):
    found = [(row @ query) / (row.norm() * query.norm()) for row in table]
    return torch.stack(found)


# 00.2 my_patches(picture, size) ------------------------------------------------------------------


@wrong("00.2", "strips of pixels, not squares")
def only_a_reshape(picture, size):
    return picture.reshape(-1, size * size * picture.shape[0])


@wrong("00.2", "inside a row the colours come first")
def colours_outside(picture, size):
    return F.unfold(picture[None], size, stride=size)[0].T


@wrong("00.2", "row by row")
def down_the_columns(picture, size):
    c, h, w = picture.shape
    x = picture.reshape(c, h // size, size, w // size, size)
    return x.permute(3, 1, 2, 4, 0).reshape(-1, size * size * c)


@wrong("00.2", "rows and columns have changed places")
def turned_inside(picture, size):
    c, h, w = picture.shape
    x = picture.reshape(c, h // size, size, w // size, size)
    return x.permute(1, 3, 4, 2, 0).reshape(-1, size * size * c)


@wrong("00.2", "the patch axes and the grid axes")
def grid_and_patch_swapped(picture, size):
    c, h, w = picture.shape
    x = picture.reshape(c, h // size, size, w // size, size)
    return x.permute(2, 4, 1, 3, 0).reshape(-1, size * size * c)


@right("00.2")
def by_slicing(picture, size):
    _, h, w = picture.shape
    rows = []
    for top in range(0, h, size):
        for left in range(0, w, size):
            square = picture[:, top : top + size, left : left + size]
            rows.append(square.permute(1, 2, 0).reshape(-1))
    return torch.stack(rows)


@right("00.2")
def by_unfold(picture, size):
    c = picture.shape[0]
    rows = F.unfold(picture[None], size, stride=size)[0].T
    return rows.reshape(len(rows), c, -1).transpose(1, 2).reshape(len(rows), -1)
