"""Chapter 4: wrong answers with the words they must meet, and right answers written differently."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong
from einops import rearrange

# 04.1 my_split(x, heads) -------------------------------------------------------------------------


@wrong("04.1", "in the order they lie in memory")
def one_view(x, heads):
    return x.view(*x.shape[:-2], heads, x.shape[-2], x.shape[-1] // heads)


@wrong("04.1", "(…, L, heads, D)")
def forgets_the_swap(x, heads):
    return rearrange(x, "... l (h d) -> ... l h d", h=heads)


@wrong("04.1", "The slices are interleaved")
def width_first(x, heads):
    return rearrange(x, "... l (d h) -> ... h l d", h=heads)


@wrong("04.1", "the batch stays in front")
def stacks_in_front(x, heads):
    return torch.stack(torch.chunk(x, heads, -1))


@wrong("04.1", "has shape")
def forgets_to_split(x, heads):
    return x.unsqueeze(-3)


@wrong("04.1", "the last axis is the width D")
def columns_are_tokens(x, heads):
    return rearrange(x, "... l (h d) -> ... h d l", h=heads)


@wrong("04.1", "Every head got the same columns, the first D")
def first_columns_for_all(x, heads):
    return torch.stack([x[..., : x.shape[-1] // heads]] * heads, dim=-3)


@right("04.1")
def by_einops(x, heads):
    return rearrange(x, "... l (h d) -> ... h l d", h=heads)


@right("04.1")
def by_slices(x, heads):
    d = x.shape[-1] // heads
    return torch.stack([x[..., h * d : (h + 1) * d] for h in range(heads)], dim=-3)


# 04.2 my_multi_head(x, w_q, w_k, w_v, w_o, heads) ------------------------------------------------


def cut(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def paste(x):
    return x.transpose(-3, -2).flatten(-2)


def attend(q, k, v, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return F.softmax(q @ k.mT * scale, dim=-1) @ v


def each(x, w_q, w_k, w_v, heads, scale=None):
    return attend(cut(x @ w_q, heads), cut(x @ w_k, heads), cut(x @ w_v, heads), scale)


@wrong("04.2", "divided by √E, the root of the model's width")
def scale_of_the_model(x, w_q, w_k, w_v, w_o, heads):
    return paste(each(x, w_q, w_k, w_v, heads, x.shape[-1] ** -0.5)) @ w_o


@wrong("04.2", "W^O is missing")
def no_output_matrix(x, w_q, w_k, w_v, w_o, heads):
    return paste(each(x, w_q, w_k, w_v, heads))


@wrong("04.2", "merged without swapping the axes back")
def merges_by_reshape(x, w_q, w_k, w_v, w_o, heads):
    return each(x, w_q, w_k, w_v, heads).reshape(x.shape) @ w_o


@wrong("04.2", "This is one wide head")
def ignores_heads(x, w_q, w_k, w_v, w_o, heads):
    return attend(x @ w_q, x @ w_k, x @ w_v) @ w_o


@wrong("04.2", "not divided by √D")
def no_scale(x, w_q, w_k, w_v, w_o, heads):
    return paste(each(x, w_q, w_k, w_v, heads, 1.0)) @ w_o


@wrong("04.2", "Both the cut and the merge are bare reshapes")
def reshapes_in_and_out(x, w_q, w_k, w_v, w_o, heads):
    lead = (*x.shape[:-2], heads, x.shape[-2], x.shape[-1] // heads)
    q, k, v = ((x @ w).reshape(lead) for w in (w_q, w_k, w_v))
    return attend(q, k, v).reshape(x.shape) @ w_o


@wrong("04.2", "divided by D, the width of a head")
def no_root(x, w_q, w_k, w_v, w_o, heads):
    return paste(each(x, w_q, w_k, w_v, heads, heads / x.shape[-1])) @ w_o


@wrong("04.2", "divided by √heads")
def root_of_the_number_of_heads(x, w_q, w_k, w_v, w_o, heads):
    return paste(each(x, w_q, w_k, w_v, heads, heads**-0.5)) @ w_o


@wrong("04.2", "as `nn.Linear` keeps it")
def linear_at_the_end(x, w_q, w_k, w_v, w_o, heads):
    return F.linear(paste(each(x, w_q, w_k, w_v, heads)), w_o)


@wrong("04.2", "`exp` of a large score overflows")
def exponentials_over_their_sum(x, w_q, w_k, w_v, w_o, heads):
    q, k, v = (cut(x @ w, heads) for w in (w_q, w_k, w_v))
    e = (q @ k.mT / q.shape[-1] ** 0.5).exp()
    return paste(e / e.sum(-1, keepdim=True) @ v) @ w_o


@right("04.2")
def head_by_head(x, w_q, w_k, w_v, w_o, heads):
    d = x.shape[-1] // heads
    out = 0
    for h in range(heads):
        part = slice(h * d, (h + 1) * d)
        one = attend(x @ w_q[:, part], x @ w_k[:, part], x @ w_v[:, part])
        out = out + one @ w_o[part]
    return out


@right("04.2")
def by_sdpa(x, w_q, w_k, w_v, w_o, heads):
    q, k, v = (rearrange(x @ w, "... l (h d) -> ... h l d", h=heads) for w in (w_q, w_k, w_v))
    out = F.scaled_dot_product_attention(q, k, v)
    return rearrange(out, "... h l d -> ... l (h d)") @ w_o


# 04.3 previous_token_score(attention) ------------------------------------------------------------


@wrong("04.3", "This is the *next* token")
def looks_ahead(attention):
    return attention.diagonal(1, -2, -1).mean(-1)


@wrong("04.3", "counts from the end")
def rolls_round(attention):
    n = attention.shape[-1]
    return sum(attention[..., i, i - 1] for i in range(n)) / n


@wrong("04.3", "only L − 1 tokens have a previous one")
def divides_by_all(attention):
    return attention.diagonal(-1, -2, -1).sum(-1) / attention.shape[-1]


@wrong("04.3", "looks at itself")
def diagonal(attention):
    return attention.diagonal(dim1=-2, dim2=-1).mean(-1)


@wrong("04.3", "one score for each head")
def one_number(attention):
    return torch.stack([attention[..., i, i - 1] for i in range(1, attention.shape[-1])]).mean()


@right("04.3")
def by_a_loop(attention):
    return torch.stack(
        [attention[..., i, i - 1] for i in range(1, attention.shape[-1])], dim=-1
    ).mean(-1)


@right("04.3")
def by_a_mask(attention):
    n = attention.shape[-1]
    return (attention * torch.eye(n).roll(-1, 1).tril()).sum((-2, -1)) / (n - 1)


# 04.4 my_knock_out(merged, heads, gone) ----------------------------------------------------------


@wrong("04.4", "A head is a block of D neighbouring columns")
def strided(merged, heads, gone):
    out = merged.clone()
    for h in gone:
        out[..., h::heads] = 0
    return out


@wrong("04.4", "The blocks begin at column head·heads")
def begins_at_heads(merged, heads, gone):
    out = merged.clone()
    d = merged.shape[-1] // heads
    for h in gone:
        out[..., h * heads : h * heads + d] = 0
    return out


@wrong("04.4", "changed its argument `merged` in place")
def in_place(merged, heads, gone):
    d = merged.shape[-1] // heads
    for h in gone:
        merged[..., h * d : (h + 1) * d] = 0
    return merged


@wrong("04.4", "W^O still expects all E of them")
def cuts_columns_out(merged, heads, gone):
    parts = merged.chunk(heads, dim=-1)
    return torch.cat([part for h, part in enumerate(parts) if h not in gone], dim=-1)


@wrong("04.4", "the wrong way round")
def keeps_the_wrong_ones(merged, heads, gone):
    keep = torch.zeros(heads)
    keep[list(gone)] = 1
    return (merged.unflatten(-1, (heads, -1)) * keep[:, None]).flatten(-2)


@wrong("04.4", "as dropout does")
def rescales(merged, heads, gone):
    return by_multiplying(merged, heads, gone) * heads / max(1, heads - len(gone))


@wrong("04.4", "`1` is too much there")
def the_block_behind(merged, heads, gone):
    out = merged.clone()
    width = merged.shape[-1] // heads
    for h in gone:
        start = (h + 1) * width
        out[..., start : start + width] = 0
    return out


@right("04.4")
def by_multiplying(merged, heads, gone):
    keep = torch.ones(heads)
    keep[list(gone)] = 0
    return merged * keep.repeat_interleave(merged.shape[-1] // heads)


@right("04.4")
def by_parts(merged, heads, gone):
    parts = merged.chunk(heads, dim=-1)
    return torch.cat(
        [torch.zeros_like(part) if h in gone else part for h, part in enumerate(parts)], dim=-1
    )


# 04.5 arrows(n) ----------------------------------------------------------------------------------


def fan(angles):
    return torch.stack([angles.cos(), angles.sin()])


@wrong("04.5", "count 0 and 2π as two angles")
def counts_zero_twice(n):
    return fan(torch.linspace(0, 2 * math.pi, n))


@wrong("04.5", "Angles are in radians")
def degrees(n):
    return fan(torch.arange(n) * 360 / n)


@wrong("04.5", "Angles are in radians")
def degrees_by_linspace(n):
    return fan(torch.linspace(0, 360, n + 1)[:-1] + 90)


@wrong("04.5", "Half of the plane is empty")
def half_a_circle(n):
    return fan(torch.arange(n) * math.pi / n)


@wrong("04.5", "has length")
def not_of_length_one(n):
    return 1.2 * fan(torch.arange(n) * 2 * math.pi / n)


@wrong("04.5", "The last two axes are swapped")
def rows(n):
    return fan(torch.arange(n) * 2 * math.pi / n).T


@wrong("04.5", "n equal gaps")
def golden_angle(n):
    return fan(torch.arange(n) * math.pi * (3 - math.sqrt(5)))


@right("04.5")
def turned(n):
    return fan(0.3 - torch.arange(n) * 2 * math.pi / n).double()


@right("04.5")
def roots_of_unity(n):
    w = torch.view_as_real(torch.polar(torch.ones(n), torch.arange(n) * 2 * math.pi / n))
    return w.T.contiguous()


# 04.6 times(what) --------------------------------------------------------------------------------


@wrong("04.6", "each entry is a sum of half as many products")
def more_heads_more_work(what):
    return {"parameters": 1, "products": 2, "weights": 2, "head width": 0.5}[what]


@wrong("04.6", "Each head has a whole table of its own")
def one_table_for_all(what):
    return {"parameters": 1, "products": 1, "weights": 1, "head width": 0.5}[what]


@wrong("04.6", "The four matrices are (E, E)")
def every_head_pays(what):
    return {"parameters": 2, "products": 1, "weights": 2, "head width": 0.5}[what]


@wrong("04.6", "The heads share the width")
def heads_keep_their_width(what):
    return {"parameters": 1, "products": 1, "weights": 2, "head width": 1}[what]


@right("04.6")
def by_cases(what):
    if what == "weights":
        return 2.0
    return 0.5 if what == "head width" else 1.0


@right("04.6")
def with_a_tensor(what):
    return torch.tensor([1.0, 1, 2, 0.5])[
        ["parameters", "products", "weights", "head width"].index(what)
    ].item()


# 04.7 my_share(heads, wishes, shelves) -----------------------------------------------------------


@wrong("04.7", "Wishes without a head count as wrong")
def no_luck(heads, wishes, shelves):
    return min(1, heads / wishes)


@wrong("04.7", "min(heads, wishes)")
def more_than_there_are(heads, wishes, shelves):
    return (heads + (wishes - heads) / shelves) / wishes


@wrong("04.7", "divide by the wishes")
def films_not_a_share(heads, wishes, shelves):
    served = wishes if heads > wishes else heads
    return served + (wishes - served) / shelves


@wrong("04.7", "Served wishes count twice")
def luck_for_all(heads, wishes, shelves):
    return min(heads, wishes) / wishes + 1 / shelves


@wrong("04.7", "customers who get *all* their films")
def all_films_right(heads, wishes, shelves):
    return shelves ** -float(max(0, wishes - heads))


@wrong("04.7", "how often they are wrong")
def the_wrong_ones(heads, wishes, shelves):
    served = min(heads, wishes)
    return (served + (wishes - served) * (shelves - 1) / shelves) / wishes


@right("04.7")
def luck_first(heads, wishes, shelves):
    luck = 1 / shelves
    return luck + (1 - luck) * min(heads / wishes, 1)


@right("04.7")
def wish_by_wish(heads, wishes, shelves):
    return sum(1.0 if i < heads else 1 / shelves for i in range(wishes)) / wishes
