"""Chapter 3: wrong answers with the words they must meet, and right answers written differently."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

from attnlab import masks

# 03.1 my_weights(q, k) ---------------------------------------------------------------------------


@wrong("03.1", "this softmax runs over the queries")
def softmax_over_the_first_axis(q, k):
    return torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=0)


@wrong("03.1", "did you divide the scores by √D")
def forgets_the_scale(q, k):
    return F.softmax(torch.einsum("...ld,...sd->...ls", q, k), dim=-1)


@wrong("03.1", "divided by D, not by its square root")
def divides_by_the_width(q, k):
    return ((q / q.size(-1)) @ k.mT).softmax(-1)


@wrong("03.1", "multiplied by √D, not divided")
def multiplies_by_the_root(q, k):
    return (q @ k.mT * q.size(-1) ** 0.5).softmax(-1)


@wrong("03.1", "√S, the root of the number of keys")
def takes_the_length_for_the_width(q, k):
    return (q @ k.mT / math.sqrt(len(k))).softmax(-1)


@wrong("03.1", "a softmax has to make weights of them")
def stops_at_the_scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


@wrong("03.1", "swaps only the last two")
def turns_all_axes_round(q, k):
    return torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=-1)


@wrong("03.1", "Count from the back")
def counts_axes_from_the_front(q, k):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=1)


@wrong("03.1", "subtract the largest score of each row first")
def overflows(q, k):
    e = torch.exp(q @ k.mT / math.sqrt(q.shape[-1]))
    return e / e.sum(-1, keepdim=True)


@wrong("03.1", "`b.transpose(-2, -1)` swaps the last two axes")
def forgets_to_transpose(q, k):
    return torch.softmax(q @ k / math.sqrt(q.shape[-1]), dim=-1)


@wrong("03.1", "changed its argument `q` in place")
def scales_in_place(q, k):
    q /= math.sqrt(q.shape[-1])
    return (q @ k.mT).softmax(-1)


@wrong("03.1", "one row for each key")
def swaps_the_roles(q, k):
    return (k @ q.mT / math.sqrt(q.shape[-1])).softmax(-1)


@wrong("03.1", "This is softmax(0.500 · q kᵀ). With D = 9, 1/√D is 0.333.")
def scale_typed_in_by_hand(q, k):
    return (q @ k.mT / 2).softmax(-1)


@wrong("03.1", "say `dim=-1`")
def axis_left_to_torch(q, k):
    return F.softmax(q @ k.mT / math.sqrt(q.shape[-1]))


@wrong("03.1", "take the one in `math`")
def root_of_a_number(q, k):
    return torch.softmax(q @ k.mT / torch.sqrt(q.shape[-1]), dim=-1)


@right("03.1")
def by_einsum_and_exp(q, k):
    scores = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@right("03.1")
def by_broadcasting(q, k):
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1).div(math.sqrt(q.shape[-1]))
    return F.log_softmax(scores, -1).exp()


@right("03.1")
def query_by_query(q, k):
    if q.ndim > 2:
        return torch.stack([query_by_query(a, b) for a, b in zip(q, k, strict=True)])
    return torch.stack([F.softmax(k @ one / math.sqrt(len(one)), dim=0) for one in q])


# 03.2 my_causal_mask(L, S) -----------------------------------------------------------------------


@wrong("03.2", "aligned at the upper left")
def tril_from_the_left(n, m):
    return torch.tril(torch.ones(n, m)).bool()


@wrong("03.2", "True marks what is hidden")
def inverted(n, m):
    return torch.arange(m)[None] > torch.arange(m - n, m)[:, None]


@wrong("03.2", "the comparison is `<` where it should be `<=`")
def strictly_before(n, m):
    return torch.arange(m)[None] < torch.arange(m - n, m)[:, None]


@wrong("03.2", "one key too many")
def sees_the_next_token(n, m):
    return torch.arange(m)[None] <= torch.arange(m - n + 1, m + 1)[:, None]


@wrong("03.2", "looks into the future")
def upper_triangle(n, m):
    return torch.triu(torch.ones(n, m), diagonal=m - n).bool()


@wrong("03.2", "L − S instead of S − L")
def shift_with_the_wrong_sign(n, m):
    return torch.ones(n, m, dtype=torch.bool).tril(diagonal=n - m)


@wrong("03.2", "numbers to add to the scores, 0 and −inf")
def additive(n, m):
    return torch.full((n, m), -torch.inf).triu(m - n + 1)


@wrong("03.2", "ones and zeros as float")
def floats(n, m):
    return torch.ones(n, m).tril(m - n)


@wrong("03.2", "axes are swapped")
def keys_by_queries(n, m):
    return (torch.arange(m)[None] <= torch.arange(m - n, m)[:, None]).T


@wrong("03.2", "they lie in the past of every query")
def forgets_the_cache(n, m):
    return torch.cat([torch.zeros(n, m - n), torch.ones(n, n).tril()], dim=1).bool()


@wrong("03.2", "True = may attend")
def large_negative_numbers(n, m):
    return torch.where(torch.ones(n, m).tril(m - n) > 0, 0.0, -1e9)


@wrong("03.2", "returned a Mask, expected a mask of shape (L, S). A `Mask` becomes a bool tensor")
def a_question(n, m):
    return masks.causal(n, m)


@right("03.2")
def by_loops(n, m):
    mask = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        for j in range(m):
            mask[i, j] = j <= i + m - n
    return mask


@right("03.2")
def last_rows_of_the_square(n, m):
    return torch.ones(m, m, dtype=torch.bool).tril()[-n:]


# 03.3 my_attention(q, k, v, mask) ----------------------------------------------------------------


def scores_of(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


@wrong("03.3", "the wrong way round: it hides what is True")
def fills_where_the_mask_is_true(q, k, v, mask):
    return scores_of(q, k).masked_fill(mask, -torch.inf).softmax(-1).masked_fill(mask, 0.0) @ v


@wrong("03.3", "An empty row came out as nan")
def leaves_nan(q, k, v, mask):
    return scores_of(q, k).masked_fill(~mask, float("-inf")).softmax(-1) @ v


@wrong("03.3", "mean of all values")
def fills_with_a_large_number(q, k, v, mask):
    return scores_of(q, k).masked_fill(~mask, -1e9).softmax(-1) @ v


@wrong("03.3", "exp(0) = 1")
def multiplies_the_scores(q, k, v, mask):
    return (scores_of(q, k) * mask).softmax(-1) @ v


@wrong("03.3", "the visible weights no longer sum to 1")
def masks_after_the_softmax(q, k, v, mask):
    return (scores_of(q, k).softmax(-1) * mask) @ v


@wrong("03.3", "The mask has no effect")
def forgets_the_mask(q, k, v, mask):
    return scores_of(q, k).softmax(-1) @ v


@wrong("03.3", "The mask has no effect")
def throws_the_filled_scores_away(q, k, v, mask):
    scores = scores_of(q, k)
    scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


@wrong("03.3", "not negative enough")
def fills_with_minus_ten(q, k, v, mask):
    return (
        torch.where(mask, scores_of(q, k), -10.0)
        .softmax(-1)
        .masked_fill(~mask.any(-1, keepdim=True), 0)
        @ v
    )


def no_empty_rows(weights, mask):
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


@wrong("03.3", "A finite number at the hidden places, −20 or −1000, is above that and wins")
def fills_with_minus_twenty(q, k, v, mask):
    return no_empty_rows(scores_of(q, k).masked_fill(~mask, -20.0).softmax(-1), mask) @ v


@wrong("03.3", "A finite number at the hidden places, −20 or −1000, is above that and wins")
def fills_with_minus_fifteen_and_hides_again(q, k, v, mask):
    return (scores_of(q, k).masked_fill(~mask, -15.0).softmax(-1) * mask) @ v


@wrong("03.3", "Write −inf there before all of these")
def subtracts_a_hundred(q, k, v, mask):
    return no_empty_rows((scores_of(q, k) - 100.0 * ~mask).softmax(-1), mask) @ v


@wrong("03.3", "`exp` of a large score overflows")
def masks_a_bare_exp(q, k, v, mask):
    e = scores_of(q, k).exp() * mask
    return e / (e.sum(-1, keepdim=True) + 1e-9) @ v


@wrong("03.3", "`exp` of a large score overflows")
def masks_a_bare_exp_in_double_precision(q, k, v, mask):
    e = scores_of(q, k).double().exp() * mask
    return (e / e.sum(-1, keepdim=True).clamp(min=1e-20)).float() @ v


@wrong("03.3", "Write −inf there before all of these")
def shares_out_what_is_left(q, k, v, mask):
    weights = scores_of(q, k).softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ v


@wrong("03.3", "Write −inf there before all of these")
def subtracts_the_largest_of_all(q, k, v, mask):
    scores = scores_of(q, k)
    e = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return e / e.sum(-1, keepdim=True).clamp(min=1e-9) @ v


@wrong("03.3", "the gradient of `q` has nan")
def repairs_nan_afterwards(q, k, v, mask):
    bias = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return (scores_of(q, k) + bias).softmax(-1).nan_to_num(0.0) @ v


@wrong("03.3", "No gradient flows back")
def cuts_the_gradient(q, k, v, mask):
    return right_attention(q.detach(), k.detach(), v.detach(), mask)


@wrong("03.3", "in the gradient of `q`")
def cuts_half_of_the_gradient(q, k, v, mask):
    return scores_of(q, k).masked_fill(~mask, -1e9).softmax(-1).mul(mask).detach() @ v


@wrong("03.3", "going backwards failed")
def edits_the_softmax(q, k, v, mask):
    weights = scores_of(q, k).masked_fill(~mask, -torch.inf).softmax(-1)
    weights[~mask.expand(weights.shape)] = 0
    return weights @ v


@wrong("03.3", "0 · inf and inf − inf are nan")
def multiplies_by_infinity(q, k, v, mask):
    return (scores_of(q, k) + (~mask) * -torch.inf).softmax(-1) @ v


@wrong("03.3", "Entry by entry it is `~`")
def not_instead_of_tilde(q, k, v, mask):
    return scores_of(q, k).masked_fill(not mask, -torch.inf).softmax(-1) @ v


@wrong("03.3", "axis -2 is the wrong one")
def shares_among_the_queries(q, k, v, mask):
    return scores_of(q, k).masked_fill(~mask, -torch.inf).softmax(-2).nan_to_num(0.0) @ v


@wrong("03.3", "changed its argument `mask` in place")
def opens_empty_rows_in_place(q, k, v, mask):
    mask[~mask.any(-1)] = True
    return scores_of(q, k).masked_fill(~mask, -torch.inf).softmax(-1) @ v


@right("03.3")
def right_attention(q, k, v, mask):
    scores = scores_of(q, k).masked_fill(~mask, -torch.inf)
    largest = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(q.dtype).min)  # an empty row
    e = (scores - largest).exp()
    return e / e.sum(-1, keepdim=True).clamp(min=1e-20) @ v


@right("03.3")
def by_sdpa(q, k, v, mask):
    out = F.scaled_dot_product_attention(q, k, v, mask | ~mask.any(-1, keepdim=True))
    return torch.where(mask.any(-1, keepdim=True), out, 0.0)


@right("03.3")
def with_the_smallest_float(q, k, v, mask):
    scores = torch.where(mask, scores_of(q, k), torch.finfo(q.dtype).min)
    return (torch.softmax(scores, -1) * mask) @ v


# 03.4 my_cross_attention(x, context, w_q, w_k, w_v) ----------------------------------------------


def attend(q, k, v):
    return F.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


@wrong("03.4", "This is self-attention: context plays no part")
def self_attention(x, context, w_q, w_k, w_v):
    return attend(x @ w_q, x @ w_k, x @ w_v)


@wrong("03.4", "The roles are swapped")
def context_asks(x, context, w_q, w_k, w_v):
    return attend(context @ w_q, x @ w_k, x @ w_v)


@wrong("03.4", "`w_k` is not used")
def raw_keys(x, context, w_q, w_k, w_v):
    return attend(x @ w_q, context, context @ w_v)


@wrong("03.4", "they mix the keys")
def values_are_keys(x, context, w_q, w_k, w_v):
    k = context @ w_k
    return attend(x @ w_q, k, k)


@wrong("03.4", "as `nn.Linear` keeps them")
def linear_convention(x, context, w_q, w_k, w_v):
    return attend(F.linear(x, w_q), F.linear(context, w_k), F.linear(context, w_v))


@wrong("03.4", "not divided by √D")
def no_scale(x, context, w_q, w_k, w_v):
    return F.softmax((x @ w_q) @ (context @ w_k).mT, dim=-1) @ (context @ w_v)


@wrong("03.4", "The scale is the root of the width of x")
def scale_of_the_model(x, context, w_q, w_k, w_v):
    scores = (x @ w_q) @ (context @ w_k).mT / math.sqrt(x.shape[-1])
    return scores.softmax(-1) @ (context @ w_v)


@wrong("03.4", "both come from the same token")
def values_out_of_order(x, context, w_q, w_k, w_v):
    return attend(x @ w_q, context @ w_k, context.flip(-2) @ w_v)


@wrong("03.4", "swaps only the last two")
def turns_the_batch_round(x, context, w_q, w_k, w_v):
    scores = (x @ w_q) @ (context @ w_k).T / math.sqrt(w_q.shape[-1])
    return scores.softmax(-1) @ (context @ w_v)


@wrong("03.4", "something in it is random")
def layers_of_its_own(x, context, w_q, w_k, w_v):
    layers = [torch.nn.Linear(*w.shape) for w in (w_q, w_k, w_v)]
    return attend(layers[0](x), layers[1](context), layers[2](context))


@wrong("03.4", "the weights belong to the tokens of context")
def values_of_x(x, context, w_q, w_k, w_v):
    return attend(x @ w_q, context @ w_k, x @ w_v)


@wrong("03.4", "`exp` of a large score overflows")
def exponentials_over_their_sum(x, context, w_q, w_k, w_v):
    e = ((x @ w_q) @ (context @ w_k).mT / math.sqrt(w_q.shape[-1])).exp()
    return e / e.sum(-1, keepdim=True) @ (context @ w_v)


@right("03.4")
def as_one_bilinear_form(x, context, w_q, w_k, w_v):
    scores = x @ (w_q @ w_k.mT) @ context.mT / w_q.shape[1] ** 0.5
    return (scores.softmax(-1) @ context) @ w_v


@right("03.4")
def by_the_library(x, context, w_q, w_k, w_v):
    return F.scaled_dot_product_attention(x @ w_q, context @ w_k, context @ w_v)


# 03.5 look_back(n) -------------------------------------------------------------------------------


def rotation(angle):
    """For row vectors: x @ rotation(a) turns x by a."""
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.tensor([[cos, sin], [-sin, cos]])


def sharp(n):
    return 8 / (1 - math.cos(2 * math.pi / n))


@wrong("03.5", "every day looks mostly at itself")
def identity(n):
    return sharp(n) * torch.eye(2), torch.eye(2)


@wrong("03.5", "The turn goes the wrong way")
def looks_ahead(n):
    return sharp(n) * rotation(2 * math.pi / n), torch.eye(2)


@wrong("03.5", "2 days back, expected 1 day back")
def turns_both(n):
    step = 2 * math.pi / n
    return sharp(n) * rotation(-step), rotation(step)


@wrong("03.5", "the direction is right, but")
def too_blunt(n):
    return rotation(-2 * math.pi / n), torch.eye(2)


@wrong("03.5", "With n = 365 the direction is right, but")
def sharp_enough_for_a_year_of_months(n):
    return 100 * rotation(-2 * math.pi / n), torch.eye(2)


@wrong("03.5", "those for n = 7")
def knows_only_the_week(n):
    return 60 * rotation(-2 * math.pi / 7), torch.eye(2)


@wrong("03.5", "spreads its attention evenly")
def zeros(n):
    return torch.zeros(2, 2), torch.zeros(2, 2)


@wrong("03.5", "is symmetric here")
def a_mirror(n):
    return 20 * torch.tensor([[1.0, 0.0], [0.0, -1.0]]), torch.eye(2)


@wrong("03.5", "expected (2, D)")
def one_row_for_each_day(n):
    return torch.eye(n).roll(1, 0), torch.eye(n)


@wrong("03.5", "End with `return w_q, w_k`")
def only_the_product(n):
    return sharp(n) * rotation(-2 * math.pi / n)


@right("03.5")
def turns_the_keys(n):
    return torch.eye(2), sharp(n) * rotation(2 * math.pi / n)


@right("03.5")
def half_a_turn_each_in_four_dimensions(n):
    half = math.pi / n
    wide = torch.tensor([[1.0, 0, 1, 0], [0, 1.0, 0, 1]])
    return (rotation(-half) @ wide * sharp(n)).double(), [rotation(half) @ wide][0].double()


@right("03.5")
def found_by_gradient_descent(n):
    angle = torch.arange(n) * (2 * math.pi / n)
    x = torch.stack([angle.cos(), angle.sin()], -1)
    form = torch.zeros(2, 2)
    for _ in range(60):  # of the cross-entropy of x M xᵀ with "the day before"
        error = (x @ form @ x.T).softmax(-1) - torch.eye(n).roll(-1, 1)
        form -= 20 * x.T @ error @ x
    return form * (2 * sharp(n) / form.norm()), torch.eye(2)


# 03.6 in_blocks(q, k, v, block), in the GPU notebook ---------------------------------------------


@wrong("03.6", "this is the whole table")
def ignores_the_block(q, k, v, block):
    return attend(q, k, v)


@wrong("03.6", "this is the whole table")
def cuts_a_whole_table(q, k, v, block):
    return torch.cat([part @ v for part in scores_of(q, k).softmax(-1).split(block, -2)], -2)


@wrong("03.6", "the blocks are larger than `block`")
def takes_two_blocks_at_once(q, k, v, block):
    return torch.cat([attend(part, k, v) for part in q.split(2 * block, -2)], -2)


@wrong("03.6", "`chunk(n)` makes n parts")
def takes_chunk_for_split(q, k, v, block):
    return torch.cat([attend(part, k, v) for part in q.chunk(block, -2)], -2)


@wrong("03.6", "need no tensor larger than block × S")
def scores_by_broadcasting(q, k, v, block):
    def rows(part):
        return (part.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / math.sqrt(q.shape[-1])

    return torch.cat([rows(part).softmax(-1) @ v for part in q.split(block, -2)], -2)


@wrong("03.6", "`scaled_dot_product_attention` got 48 queries at once")
def leaves_it_to_the_kernel(q, k, v, block):
    four = (x.reshape(-1, 1, *x.shape[-2:]) for x in (q, k, v))  # with four axes it is fused
    return F.scaled_dot_product_attention(*four).reshape(*q.shape[:-1], v.shape[-1])


@wrong("03.6", "sees only its own block of keys")
def cuts_everything(q, k, v, block):
    parts = zip(*(x.split(block, dim=-2) for x in (q, k, v)), strict=False)
    return torch.cat([attend(*part) for part in parts], dim=-2)


@wrong("03.6", "The keys are split, not the queries")
def blocks_of_keys(q, k, v, block):
    out = 0
    for i in range(0, k.shape[-2], block):
        out = out + attend(q, k[..., i : i + block, :], v[..., i : i + block, :])
    return out


@wrong("03.6", "the last, shorter block are missing")
def counts_whole_blocks_only(q, k, v, block):
    rows = [slice(i * block, (i + 1) * block) for i in range(q.shape[-2] // block)]
    return torch.cat([attend(q[..., r, :], k, v) for r in rows] or [v[..., :0, :]], dim=-2)


@wrong("03.6", "only the last block")
def keeps_no_list(q, k, v, block):
    for part in q.split(block, dim=-2):
        out = attend(part, k, v)
    return out


@wrong("03.6", "axis 0 is not the queries")
def splits_the_first_axis(q, k, v, block):
    return torch.cat([attend(part, k, v) for part in q.split(block)])


@wrong("03.6", "put together along axis 0")
def joins_the_first_axis(q, k, v, block):
    return torch.cat([attend(part, k, v) for part in q.split(block, dim=-2)])


@wrong("03.6", "not divided by √D")
def blocks_without_a_scale(q, k, v, block):
    return torch.cat([(p @ k.mT).softmax(-1) @ v for p in q.split(block, dim=-2)], dim=-2)


@right("03.6")
def into_a_ready_tensor(q, k, v, block):
    out = q.new_empty(*q.shape[:-1], v.shape[-1])
    for i in range(0, q.shape[-2], block):
        out[..., i : i + block, :] = attend(q[..., i : i + block, :], k, v)
    return out


@right("03.6")
def a_kernel_for_each_block(q, k, v, block):
    k, v = (x.reshape(-1, 1, *x.shape[-2:]) for x in (k, v))
    parts = q.reshape(-1, 1, *q.shape[-2:]).split(block, dim=-2)
    out = torch.cat([F.scaled_dot_product_attention(part, k, v) for part in parts], dim=-2)
    return out.reshape(*q.shape[:-1], v.shape[-1])


@right("03.6")
def one_query_at_a_time(q, k, v, block):
    return torch.cat([attend(one, k, v) for one in q.split(1, dim=-2)], dim=-2)


@right("03.6")
def halves_until_small(q, k, v, block):
    if q.shape[-2] <= block:
        return attend(q, k, v)
    half = q.shape[-2] // 2
    top, bottom = q[..., :half, :], q[..., half:, :]
    return torch.cat([halves_until_small(x, k, v, block) for x in (top, bottom)], dim=-2)


# 03.7 centred_attention(x) -----------------------------------------------------------------------


def _causal(x, values):
    hidden = torch.ones(x.shape[-2], x.shape[-2]).triu(1) * -1e30
    return (x @ x.mT / math.sqrt(x.shape[-1]) + hidden).softmax(-1) @ values


@wrong("03.7", "this mean is taken over the tokens")
def still_the_bug(x):
    x = x - x.mean(dim=-2, keepdim=True)
    return _causal(x, x)


@wrong("03.7", "one mean over all numbers of all tokens")
def one_mean_for_all(x):
    x = x - x.mean()
    return _causal(x, x)


@wrong("03.7", "the vectors are not centred")
def leaves_the_centring_out(x):
    return _causal(x, x)


@wrong("03.7", "this mean runs over the tokens so far")
def a_mean_of_the_past(x):
    x = x - x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]
    return _causal(x, x)


@wrong("03.7", "the values are not centred")
def centres_the_scores_only(x):
    centred = x - x.mean(-1, keepdim=True)
    return _causal(centred, x)


@right("03.7")
def by_a_projection(x):
    width = x.shape[-1]
    x = x @ (torch.eye(width) - torch.ones(width, width) / width)
    return _causal(x, x)


@right("03.7")
def prefix_by_prefix(x):
    x = x - x.sum(-1, keepdim=True) / x.shape[-1]
    rows = []
    for last in range(x.shape[-2]):
        past, one = x[..., : last + 1, :], x[..., last : last + 1, :]
        alpha = (one @ past.mT / x.shape[-1] ** 0.5).softmax(-1)
        rows.append(alpha @ past)
    return torch.cat(rows, dim=-2)


# 03.8 weights_stay(change) -----------------------------------------------------------------------

KEPT = {
    "W_v doubled",
    "W_q doubled, W_k halved",
    "the same vector added to every key",
    "queries and keys turned by the same rotation",
}


@wrong("03.8", "the weights become sharper")
def a_factor_does_not_matter(change):
    return change in KEPT | {"W_q doubled"}


@wrong("03.8", "The table of scores is transposed")
def swapping_does_not_matter(change):
    return change in KEPT | {"W_q and W_k swapped"}


@wrong("03.8", "the softmax cancels it")
def a_shift_of_the_keys_matters(change):
    return change in KEPT - {"the same vector added to every key"}


@wrong("03.8", "another number for each key")
def a_shift_of_the_queries_does_not(change):
    return change in KEPT | {"the same vector added to every query"}


@wrong("03.8", "expected True or False")
def in_words(change):
    return "yes"


@right("03.8")
def what_stays(change):
    return change in KEPT


@right("03.8")
def what_changes(change):
    moved = ("W_q doubled", "W_q and W_k swapped", "the same vector added to every query")
    return change not in moved
