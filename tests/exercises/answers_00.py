"""Chapter 0: wrong answers with the words they must meet, and right answers written differently."""

from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong
from einops import rearrange

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


@wrong("00.1", "This is 1 minus the cosine")
def one_minus(query, table):
    return 1 - F.cosine_similarity(query, table, dim=-1)


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


# 00.3 my_glue(parts, pair) -----------------------------------------------------------------------


@wrong("00.3", "go on after it, two places further")
def keeps_the_second(parts, pair):
    out = []
    for i, part in enumerate(parts):
        here = i + 1 < len(parts) and parts[i] == pair[0] and parts[i + 1] == pair[1]
        out.append(part + parts[i + 1] if here else part)
    return out


@wrong("00.3", "One pass only: aa and a are another pair")
def glues_chains(parts, pair):
    out = list(parts[:1])
    for before, part in pairwise(parts):
        if (before, part) == pair:
            out[-1] = out[-1] + part
        else:
            out.append(part)
    return out


@wrong("00.3", "Replacing in a text cuts through pieces")
def replaces_in_a_text(parts, pair):
    return " ".join(parts).replace(f"{pair[0]} {pair[1]}", f"{pair[0]}{pair[1]}").split()


@wrong("00.3", "compare piece by piece")
def compares_letters(parts, pair):
    out, i = [], 0
    while i < len(parts):
        if i + 1 < len(parts) and parts[i] + parts[i + 1] == "".join(pair):
            out.append("".join(pair))
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


@wrong("00.3", "The last piece is lost")
def stops_too_early(parts, pair):
    out, i = [], 0
    while i < len(parts) - 1:
        if (parts[i], parts[i + 1]) == pair:
            out.append(parts[i] + parts[i + 1])
            i += 1
        else:
            out.append(parts[i])
        i += 1
    return out


@wrong("00.3", "Only the first pair is glued")
def stops_after_one(parts, pair):
    out = list(parts)
    for i in range(len(out) - 1):
        if (out[i], out[i + 1]) == pair:
            out[i : i + 2] = [out[i] + out[i + 1]]
            break
    return out


@wrong("00.3", "Read from left to right")
def from_the_right(parts, pair):
    out, i = list(parts), len(parts) - 2
    while i >= 0:
        if (out[i], out[i + 1]) == pair:
            out[i : i + 2] = ["".join(pair)]
            i -= 1
        i -= 1
    return out


@wrong("00.3", "`out = list(parts)` makes a new list")
def edits_the_list(parts, pair):
    i = 0
    while i < len(parts) - 1:
        if (parts[i], parts[i + 1]) == pair:
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        i += 1
    return parts


@wrong("00.3", "Return a list of pieces")
def one_text(parts, pair):
    return "".join(parts)


@right("00.3")
def by_a_growing_list(parts, pair):
    out = []
    for part in parts:
        if out and (out[-1], part) == pair:
            out[-1] += part
        else:
            out.append(part)
    return out


@right("00.3")
def by_recursion(parts, pair):
    if tuple(parts[:2]) == pair:
        return [pair[0] + pair[1], *by_recursion(parts[2:], pair)]
    return [parts[0], *by_recursion(parts[1:], pair)] if parts else []


# 00.4 my_analogy(puzzles, words, table) ----------------------------------------------------------


def one_by_one(puzzles, words, table, sign=1.0, forbidden=lambda a, b, c: (a, b, c)):
    found = []
    for a, b, c in puzzles:
        rows = {w: row / row.norm() for w, row in zip(words, table, strict=True)}
        target = sign * (rows[b] - rows[a]) + rows[c]
        best = [w for w in words if w not in forbidden(a, b, c)]
        found.append(max(best, key=lambda w: float(rows[w] @ target)))
    return found


@wrong("00.4", "A given word has won")
def nothing_left_out(puzzles, words, table):
    return one_by_one(puzzles, words, table, forbidden=lambda a, b, c: ())


@wrong("00.4", "Only c is left out")
def only_the_start_left_out(puzzles, words, table):
    return one_by_one(puzzles, words, table, forbidden=lambda a, b, c: (c,))


@wrong("00.4", "each row of the scores leaves out its own three")
def left_out_everywhere(puzzles, words, table):
    everything = {word for puzzle in puzzles for word in puzzle}
    return one_by_one(puzzles, words, table, forbidden=lambda a, b, c: everything)


@wrong("00.4", "The step goes from a to b")
def the_other_way_round(puzzles, words, table):
    return one_by_one(puzzles, words, table, sign=-1.0)


@wrong("00.4", "Long rows win here")
def plain_dot_products(puzzles, words, table):
    rows = dict(zip(words, table, strict=True))
    found = []
    for a, b, c in puzzles:
        others = [w for w in words if w not in (a, b, c)]
        scores = torch.stack([rows[w] @ (rows[b] - rows[a] + rows[c]) for w in others])
        found.append(others[scores.argmax()])
    return found


@wrong("00.4", "where all others are negative, 0 wins")
def multiplies_by_a_mask(puzzles, words, table):
    rows = F.normalize(table, dim=-1)
    found = []
    for a, b, c in puzzles:
        i, j, k = (words.index(w) for w in (a, b, c))
        keep = torch.ones(len(words))
        keep[[i, j, k]] = 0
        found.append(words[(rows @ (rows[j] - rows[i] + rows[k]) * keep).argmax()])
    return found


@wrong("00.4", "Look up the words")
def numbers_of_rows(puzzles, words, table):
    return [words.index(word) for word in one_by_one(puzzles, words, table)]


@right("00.4")
def a_loop_over_puzzles(puzzles, words, table):
    return one_by_one(puzzles, words, table)


@right("00.4")
def by_the_smallest_distance(puzzles, words, table):
    """Among rows of length 1 the largest cosine is the smallest distance."""
    rows = table / table.square().sum(-1, keepdim=True).sqrt()
    spots = torch.tensor([[words.index(w) for w in puzzle] for puzzle in puzzles]).T
    a, b, c = rows[spots]
    far = torch.cdist(b - a + c, rows)
    for spot in spots:
        far[torch.arange(len(puzzles)), spot] = torch.inf
    return tuple(words[i] for i in far.argmin(1).tolist())


# 00.5 my_frames(sound, size) ---------------------------------------------------------------------


@wrong("00.5", "every N-th sample")
def still_the_bug(sound, size):
    return rearrange(sound, "c (f n) -> n (f c)", f=size)


@wrong("00.5", "A reshape alone does not move the channels")
def reshaped_and_nothing_else(sound, size):
    return sound.reshape(-1, len(sound) * size)


@wrong("00.5", "inside a row one channel comes after the other")
def channel_after_channel(sound, size):
    return rearrange(sound, "c (n f) -> n (c f)", f=size)


@wrong("00.5", "the first samples of all stretches")
def rows_of_places(sound, size):
    x = sound.reshape(len(sound), -1, size)
    return x.permute(2, 1, 0).reshape(-1, size * len(sound))


@right("00.5")
def stretch_by_stretch(sound, size):
    ends = range(0, sound.shape[1], size)
    return torch.stack([sound[:, at : at + size].T.flatten() for at in ends])


@right("00.5")
def transposed_first(sound, size):
    return sound.T.reshape(-1, size * len(sound))


# 00.6 cosines_stay(change) -----------------------------------------------------------------------

KEPT = {
    "every vector twice as long",
    "every vector scaled to length 1",
    "every sign turned",
    "the columns in another order",
    "one more column, all 0",
}


@wrong("00.6", "by the same factor")
def lengths_count(change):
    return change in KEPT - {"every vector twice as long"}


@wrong("00.6", "(−a) · (−b) = a · b")
def signs_count(change):
    return change in KEPT - {"every sign turned"}


@wrong("00.6", "counts more than the others")
def a_column_does_not(change):
    return change in KEPT | {"the first column doubled"}


@wrong("00.6", "It adds 1 to every dot product")
def ones_are_nothing(change):
    return change in KEPT | {"one more column, all 1"}


@wrong("00.6", "All words now share something")
def a_shift_is_nothing(change):
    return change in KEPT | {"the same vector added to every word"}


@wrong("00.6", "expected True or False")
def in_words(change):
    return "yes"


@right("00.6")
def what_stays(change):
    return change in KEPT


@right("00.6")
def neither_of_three(change):
    turned = {"the first column doubled", "one more column, all 1"}
    return change not in turned | {"the same vector added to every word"}
