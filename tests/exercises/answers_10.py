"""Chapter 10: wrong answers with the words they must meet, and right answers written otherwise."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported: no GPU is needed

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

from attnlab.kernels.block import in_triton, tl

# 10.1 my_take(top, total, mixed, scores, values) -------------------------------------------------


@wrong("10.1", "The old sums were not shrunk")
def adds_only(top, total, mixed, scores, values):
    new = torch.maximum(top, scores.max(-1).values)
    p = torch.exp(scores - new.unsqueeze(-1))
    return new, total + p.sum(-1), mixed + p @ values


@wrong("10.1", "`mixed` was not")
def shrinks_the_sum_alone(top, total, mixed, scores, values):
    new = torch.maximum(top, scores.max(-1).values)
    p = torch.exp(scores - new.unsqueeze(-1))
    return new, total * torch.exp(top - new) + p.sum(-1), mixed + p @ values


@wrong("10.1", "which is at most 1")
def grows(top, total, mixed, scores, values):
    new = torch.maximum(top, scores.max(-1).values)
    p, factor = torch.exp(scores - new.unsqueeze(-1)), torch.exp(new - top)
    return new, total * factor + p.sum(-1), mixed * factor.unsqueeze(-1) + p @ values


@wrong("10.1", "that of this block alone")
def forgets_the_old_maximum(top, total, mixed, scores, values):
    new = scores.max(-1).values
    p, factor = torch.exp(scores - new.unsqueeze(-1)), torch.exp(top - new)
    return new, total * factor + p.sum(-1), mixed * factor.unsqueeze(-1) + p @ values


@right("10.1")
def by_logarithms(top, total, mixed, scores, values):
    new = torch.cat([top[:, None], scores], -1).amax(-1)
    both = torch.stack([top + total.log(), scores.logsumexp(-1)])
    p = (scores - new[:, None]).exp()
    mixed = torch.einsum("ln,nd->ld", p, values) + mixed * (top - new).exp()[:, None]
    return new, (both.logsumexp(0) - new).exp(), mixed


# 10.2 my_rms_norm(x, weight, eps) ----------------------------------------------------------------


@wrong("10.2", "the mean was subtracted")
def layer_norm(x, weight, eps):
    return F.layer_norm(x, x.shape[-1:], weight, None, eps)


@wrong("10.2", "summed, not averaged")
def by_the_norm(x, weight, eps):
    return x / torch.sqrt((x * x).sum(-1, keepdim=True) + eps) * weight


@wrong("10.2", "The epsilon stands outside")
def epsilon_outside(x, weight, eps):
    return x / (torch.sqrt((x * x).mean(-1, keepdim=True)) + eps) * weight


@wrong("10.2", "The weight is missing")
def no_weight(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


@right("10.2")
def by_torch(x, weight, eps):
    return F.rms_norm(x, x.shape[-1:], weight, eps)


# 10.3 my_gqa(q, k, v) ----------------------------------------------------------------------------


def attend(q, k, v):
    return F.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


@wrong("10.3", "0 1 0 1")
def tiles(q, k, v):
    n = q.shape[1] // k.shape[1]
    return attend(q, torch.cat([k] * n, 1), torch.cat([v] * n, 1))


@wrong("10.3", "not divided by √D")
def unscaled(q, k, v):
    n = q.shape[1] // k.shape[1]
    return F.softmax(q @ k.repeat_interleave(n, 1).mT, -1) @ v.repeat_interleave(n, 1)


@wrong("10.3", "the first head of keys")
def multi_query(q, k, v):
    return attend(q, k[:, :1], v[:, :1])


@wrong("10.3", "averaged over their heads")
def averages(q, k, v):
    return attend(q, k.mean(1, True), v.mean(1, True))


@right("10.3")
def by_an_axis_of_groups(q, k, v):
    grouped = q.unflatten(1, (k.shape[1], -1))  # (B, G, H/G, L, D)
    return attend(grouped, k[:, :, None], v[:, :, None]).flatten(1, 2)


@right("10.3")
def by_sdpa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


# 10.4 my_soap_step(w, g, left, right, square, lr) ------------------------------------------------


@wrong("10.4", "This is Adam's step")
def adam(w, g, left, right, square, lr):
    return w - lr * g / (square.sqrt() + 1e-8)


@wrong("10.4", "not turned back")
def stays_turned(w, g, left, right, square, lr):
    return w - lr * (left.T @ g @ right) / (square.sqrt() + 1e-8)


@wrong("10.4", "The root is missing")
def no_root(w, g, left, right, square, lr):
    return w - lr * left @ ((left.T @ g @ right) / (square + 1e-8)) @ right.T


@wrong("10.4", "uphill")
def uphill(w, g, left, right, square, lr):
    return w + lr * left @ ((left.T @ g @ right) / (square.sqrt() + 1e-8)) @ right.T


@right("10.4")
def by_einsum(w, g, left, right, square, lr):
    inside = torch.einsum("ia,ij,jb->ab", left, g, right)
    inside = inside * torch.rsqrt(square)
    return w - lr * torch.einsum("ia,ab,jb->ij", left, inside, right)


# 10.5 my_cached_step(q, k, v, past_k, past_v) ----------------------------------------------------


@wrong("10.5", "did not see itself")
def old_keys_only(q, k, v, past_k, past_v):
    out = attend(q, past_k, past_v)
    return out, torch.cat([past_k, k], -2), torch.cat([past_v, v], -2)


@wrong("10.5", "before the old ones")
def newest_first(q, k, v, past_k, past_v):
    k, v = torch.cat([k, past_k], -2), torch.cat([v, past_v], -2)
    return attend(q, k, v), k, v


@wrong("10.5", "the old one")
def forgets(q, k, v, past_k, past_v):
    out = attend(q, torch.cat([past_k, k], -2), torch.cat([past_v, v], -2))
    return out, past_k, past_v


@wrong("10.5", "Only the new key and value came back")
def only_new(q, k, v, past_k, past_v):
    return attend(q, torch.cat([past_k, k], -2), torch.cat([past_v, v], -2)), k, v


@right("10.5")
def by_a_longer_tensor(q, k, v, past_k, past_v):
    size = (*past_k.shape[:-2], past_k.shape[-2] + 1, past_k.shape[-1])
    keys, values = torch.empty(size), torch.empty(size)
    keys[..., :-1, :], keys[..., -1:, :] = past_k, k
    values[..., :-1, :], values[..., -1:, :] = past_v, v
    return attend(q, keys, values), keys, values


# 10.6 my_cache_bytes(layers, kv_heads, head_width, context, batch, item) -------------------------


@wrong("10.6", "Keys *and* values")
def keys_alone(layers, kv_heads, head_width, context, batch, item):
    return layers * kv_heads * head_width * context * batch * item


@wrong("10.6", "Every layer")
def one_layer(layers, kv_heads, head_width, context, batch, item):
    return 2 * kv_heads * head_width * context * batch * item


@wrong("10.6", "not with its square")
def keeps_the_weights(layers, kv_heads, head_width, context, batch, item):
    return 2 * layers * kv_heads * head_width * context**2 * batch * item


@right("10.6")
def by_numel(layers, kv_heads, head_width, context, batch, item):
    keys = torch.empty(layers, batch, kv_heads, context, head_width, device="meta")
    return 2 * keys.numel() * item


# 10.7 my_block(top, total, mixed, scores, values), in Triton ------------------------------------


@wrong("10.7", "The old sums were not shrunk")
@in_triton
def adds_in_triton(top, total, mixed, scores, values):
    new = tl.maximum(top, tl.max(scores, axis=1))
    p = tl.exp(scores - tl.expand_dims(new, 1))
    return new, total + tl.sum(p, axis=1), mixed + tl.dot(p, values)


@wrong("10.7", "which is at most 1")
@in_triton
def grows_in_triton(top, total, mixed, scores, values):
    new = tl.maximum(top, tl.max(scores, axis=1))
    p, factor = tl.exp(scores - new[:, None]), tl.exp(new - top)
    return new, total * factor + tl.sum(p, axis=1), mixed * factor[:, None] + tl.dot(p, values)


@wrong("10.7", "that of this block alone")
@in_triton
def forgets_in_triton(top, total, mixed, scores, values):
    new = tl.max(scores, axis=1)
    p, factor = tl.exp(scores - new[:, None]), tl.exp(top - new)
    return new, total * factor + tl.sum(p, axis=1), mixed * factor[:, None] + tl.dot(p, values)


@wrong("10.7", "`tl.dot(a, b)`")
@in_triton
def multiplies_as_in_torch(top, total, mixed, scores, values):
    new = tl.maximum(top, tl.max(scores, axis=1))
    p, factor = tl.exp(scores - new[:, None]), tl.exp(top - new)
    return new, total * factor + tl.sum(p, axis=1), mixed * factor[:, None] + p @ values


@wrong("10.7", "only Triton's own functions")
@in_triton
def calls_torch(top, total, mixed, scores, values):
    new = torch.maximum(top, scores.amax(-1))
    p, factor = torch.exp(scores - new[:, None]), torch.exp(top - new)
    return new, total * factor + p.sum(-1), mixed * factor[:, None] + p @ values


@wrong("10.7", "`total` is a block of shape ()")
@in_triton
def sums_over_everything(top, total, mixed, scores, values):
    new = tl.maximum(top, tl.max(scores, axis=1))
    p, factor = tl.exp(scores - new[:, None]), tl.exp(top - new)
    return new, tl.sum(total * factor) + tl.sum(p), mixed * factor[:, None] + tl.dot(p, values)


@wrong("10.7", "no kernel ran")
def in_torch(top, total, mixed, scores, values):
    new = torch.maximum(top, scores.amax(-1))
    p, factor = torch.exp(scores - new[:, None]), torch.exp(top - new)
    return new, total * factor + p.sum(-1), mixed * factor[:, None] + p @ values


@right("10.7")
@in_triton
def without_dot(top, total, mixed, scores, values):
    block = tl.max(scores, axis=1)
    new = tl.where(block > top, block, top)
    p = tl.exp(scores - tl.expand_dims(new, 1))
    grown = tl.sum(tl.expand_dims(p, 2) * tl.expand_dims(values, 0), axis=1)  # (M, D)
    factor = tl.exp(top - new)
    return new, tl.fma(total, factor, tl.sum(p, axis=1)), grown + factor[:, None] * mixed


# 10.8 block_bytes(m, n, d) -----------------------------------------------------------------------


@wrong("10.8", "This counts numbers")
def counts_numbers(m, n, d):
    return 2 * d * (m + n) + m * n + 2 * m


@wrong("10.8", "The scores of the block")
def no_scores(m, n, d):
    return 4 * (2 * d * (m + n) + 2 * m)


@wrong("10.8", "`top` and `total` are missing")
def no_sums(m, n, d):
    return 4 * (2 * d * (m + n) + m * n)


@right("10.8")
def by_shapes(m, n, d):
    shapes = [(m, d), (n, d), (n, d), (m, n), (m, d), (m, 2)]
    return sum(torch.empty(shape).numel() for shape in shapes) * 4


# 10.9 my_gradient(parts, sizes) ------------------------------------------------------------------


@wrong("10.9", "a short part counts as much as a long one")
def mean_of_means(parts, sizes):
    return torch.stack(list(parts)).mean(dim=0)


@wrong("10.9", "not divided by all tokens")
def weighed_sum(parts, sizes):
    return sizes.to(parts.dtype) @ parts


@wrong("10.9", "divided by the number of parts")
def by_the_number_of_parts(parts, sizes):
    return (sizes.to(parts.dtype) @ parts) / parts.shape[0]


@wrong("10.9", "added up and not divided")
def adds_up(parts, sizes):
    return sum(parts)


@right("10.9")
def by_shares(parts, sizes):
    shares = sizes / sizes.sum()
    return torch.einsum("k,kp->p", shares, parts)
