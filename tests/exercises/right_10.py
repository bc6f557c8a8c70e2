"""Chapter 10: right answers in other hands."""

import math
import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported: no GPU is needed

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand
from einops import einsum, rearrange

from attnlab.kernels.block import in_triton, tl

# 10.1 my_take(top, total, mixed, scores, values) -------------------------------------------------


@hand("10.1")
def take_in_numpy(top, total, mixed, scores, values):
    top, total, mixed, scores, values = (a.numpy() for a in (top, total, mixed, scores, values))
    new = np.maximum(top, scores.max(-1))
    old, p = np.exp(top - new), np.exp(scores - new[:, None])
    return new, total * old + p.sum(-1), mixed * old[:, None] + p @ values


@hand("10.1")
def take_key_by_key(top, total, mixed, scores, values):
    for column, value in zip(scores.unbind(1), values, strict=True):
        new = torch.where(column > top, column, top)
        old, p = (top - new).exp(), (column - new).exp()
        top, total = new, total * old + p
        mixed = mixed * old[:, None] + p[:, None] * value
    return top, total, mixed


@hand("10.1")
class Take(torch.nn.Module):
    def forward(self, top, total, mixed, scores, values):
        new = torch.cat([top[:, None], scores], dim=1).amax(1)
        p = torch.exp(scores.T - new).T
        old = torch.exp(top - new)
        mixed = torch.einsum("l,ld->ld", old, mixed) + torch.einsum("ln,nd->ld", p, values)
        return new, torch.addcmul(p.sum(1), total, old), mixed


@hand("10.1")
def take_in_double(top, total, mixed, scores, values):
    top, total, mixed, scores, values = (a.double() for a in (top, total, mixed, scores, values))
    new = torch.max(top, scores.max(-1).values)
    both = torch.cat([(top - new).exp()[:, None], (scores - new[:, None]).exp()], 1)
    return new, both[:, 0] * total + both[:, 1:].sum(1), both[:, :1] * mixed + both[:, 1:] @ values


# 10.2 my_rms_norm(x, weight, eps) ----------------------------------------------------------------


@hand("10.2")
def norm_in_numpy(x, weight, eps):
    x = x.numpy()
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight.numpy()


@hand("10.2")
def norm_by_einsum(x, weight, eps):
    mean = torch.einsum("...e,...e->...", x, x) / x.shape[-1]
    return torch.einsum("...e,...,e->...e", x, (mean + eps).rsqrt(), weight)


@hand("10.2")
class Norm:
    def __call__(self, x, weight, eps):
        length = x.double().norm(dim=-1, keepdim=True)
        return weight * x / (length.square() / x.shape[-1] + eps).sqrt()


@hand("10.2")
def norm_row_by_row(x, weight, eps):
    rows = [
        row / math.sqrt(float(row @ row) / len(row) + eps) for row in x.reshape(-1, x.shape[-1])
    ]
    return (torch.stack(rows) * weight).reshape(x.shape)


# 10.3 my_gqa(q, k, v) ----------------------------------------------------------------------------


@hand("10.3")
def gqa_in_numpy(q, k, v):
    q, k, v = (a.double().numpy() for a in (q, k, v))
    k, v = (np.repeat(a, q.shape[1] // a.shape[1], axis=1) for a in (k, v))
    e = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    e = np.exp(e - e.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@hand("10.3")
class Gqa(torch.nn.Module):
    def forward(self, q, k, v):
        q = rearrange(q, "b (g n) l d -> b g n l d", g=k.shape[1])
        table = einsum(q, k, "b g n l d, b g s d -> b g n l s") / q.shape[-1] ** 0.5
        out = einsum(table.softmax(-1), v, "b g n l s, b g s d -> b g n l d")
        return out.flatten(1, 2)


@hand("10.3")
def gqa_head_by_head(q, k, v):
    share = q.shape[1] // k.shape[1]
    heads = []
    for h in range(q.shape[1]):
        g = h // share
        table = F.softmax(q[:, h] @ k[:, g].mT / math.sqrt(q.shape[-1]), -1)
        heads.append(table @ v[:, g])
    return torch.stack(heads, dim=1)


# 10.4 my_soap_step(w, g, left, right, square, lr) ------------------------------------------------


@hand("10.4")
def soap_in_numpy(w, g, left, right, square, lr):
    w, g, left, right, square = (a.numpy() for a in (w, g, left, right, square))
    return w - lr * (left @ (left.T @ g @ right / (np.sqrt(square) + 1e-8)) @ right.T)


@hand("10.4")
class Soap:
    def __call__(self, w, g, left, right, square, lr):
        inside = torch.linalg.multi_dot([left.T, g, right])
        step = torch.linalg.multi_dot([left, inside.div(square.sqrt().add(1e-8)), right.T])
        return torch.sub(w, step, alpha=lr)


@hand("10.4")
def soap_with_kronecker(w, g, left, right, square, lr):
    basis = torch.kron(left, right)  # (n·m, n·m), columns are the axes
    inside = basis.T @ g.flatten() / (square.flatten().sqrt() + 1e-8)
    return w - lr * (basis @ inside).reshape(w.shape)


@hand("10.4")
def soap_in_double(w, g, left, right, square, lr):
    w, g, left, right, square = (a.double() for a in (w, g, left, right, square))
    return w - lr * left @ ((left.mT @ (g @ right)) / (square**0.5 + 1e-8)) @ right.mT


# 10.5 my_cached_step(q, k, v, past_k, past_v) ----------------------------------------------------


@hand("10.5")
def cached_in_numpy(q, k, v, past_k, past_v):
    q, k, v, past_k, past_v = (a.numpy() for a in (q, k, v, past_k, past_v))
    keys, values = np.concatenate([past_k, k], -2), np.concatenate([past_v, v], -2)
    e = q @ np.swapaxes(keys, -1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(e - e.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ values, keys, values


@hand("10.5")
class Cached(torch.nn.Module):
    def forward(self, q, k, v, past_k, past_v):
        keys, values = torch.cat((past_k, k), -2), torch.cat((past_v, v), -2)
        return F.scaled_dot_product_attention(q, keys, values), keys, values


@hand("10.5")
def cached_by_einsum(q, k, v, past_k, past_v):
    keys, values = (torch.cat(pair, dim=-2) for pair in ((past_k, k), (past_v, v)))
    table = torch.einsum("...ld,...sd->...ls", q, keys).div(q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("...ls,...sd->...ld", table, values), keys, values


@hand("10.5")
def cached_in_two_sums(q, k, v, past_k, past_v):
    keys, values = torch.cat([past_k, k], -2), torch.cat([past_v, v], -2)
    scores = (q * q.shape[-1] ** -0.5) @ keys.mT
    log_p = scores - scores.logsumexp(-1, keepdim=True)
    return log_p.exp() @ values, keys, values


# 10.6 my_cache_bytes(layers, kv_heads, head_width, context, batch, item) -------------------------


@hand("10.6")
def bytes_by_product(layers, kv_heads, head_width, context, batch, item):
    return math.prod((2, layers, kv_heads, head_width, context, batch, item))


@hand("10.6")
def bytes_in_numpy(*sizes):
    return 2 * int(np.prod(np.array(sizes, dtype=object)))


@hand("10.6")
class Bytes:
    def __call__(self, layers, kv_heads, head_width, context, batch, item):
        keys = batch * kv_heads * context * head_width
        return sum(item * (keys + keys) for _ in range(layers))


@hand("10.6")
def bytes_of_a_tensor(layers, kv_heads, head_width, context, batch, item):
    shape = torch.Size([layers, 2, batch, kv_heads, context, head_width])
    return shape.numel() * item


# 10.7 my_block(top, total, mixed, scores, values): blocks of Triton -------------------------------


@hand("10.7")
@in_triton
def block_with_powers_of_two(top, total, mixed, scores, values):
    a = 1.4426950408889634  # log₂ e
    new = tl.maximum(tl.max(scores, axis=1), top)
    old, p = tl.exp2((top - new) * a), tl.exp2((scores - new[:, None]) * a)
    return new, total * old + tl.sum(p, axis=1), tl.dot(p, values) + mixed * old[:, None]


@hand("10.7")
@in_triton
def block_turned_round(top, total, mixed, scores, values):
    turned = tl.trans(scores)  # (N, M)
    highest = tl.max(turned, axis=0)
    new = tl.where(highest > top, highest, top)
    p = tl.exp(turned - new[None, :])
    old = tl.exp(top - new)
    grown = tl.dot(tl.trans(p), values)
    return new, tl.sum(p, axis=0) + old * total, grown + tl.expand_dims(old, 1) * mixed


@hand("10.7")
@in_triton
def block_through_a_helper(top, total, mixed, scores, values):
    def shrunk(x, by):
        return tl.exp(x - by)

    new = tl.maximum(top, tl.max(scores, 1))
    p = shrunk(scores, tl.expand_dims(new, 1))
    both = tl.dot(p, values), tl.sum(p, 1)
    old = shrunk(top, new)
    return new, tl.fma(old, total, both[1]), tl.fma(old[:, None], mixed, both[0])


class Kernels:
    @staticmethod
    @in_triton
    def update(top, total, mixed, scores, values):
        new = tl.maximum(top, -tl.min(-scores, 1))
        p, old = tl.exp(scores - new[:, None]), tl.exp(top - new)
        total *= old
        total += tl.sum(p, 1)
        mixed *= old[:, None]
        mixed += tl.sum(p[:, :, None] * values[None, :, :], 1)
        return new, total, mixed


hand("10.7")(Kernels.update)


# 10.8 block_bytes(m, n, d) -----------------------------------------------------------------------


@hand("10.8")
def block_by_adding(m, n, d):
    return 4 * sum((m * d, n * d, n * d, m * d, m * n, m, m))


@hand("10.8")
def block_in_numpy(m, n, d):
    arrays = [(m, d), (m, d), (n, d), (n, d), (m, n), (m,), (m,)]
    return int(sum(np.prod(shape) for shape in arrays)) * np.dtype(np.float32).itemsize


@hand("10.8")
class Block:
    def __call__(self, m, n, d):
        return 8 * d * (m + n) + 4 * m * (n + 2)


@hand("10.8")
def block_of_tensors(m, n, d):
    shapes = [(m, d), (m, d), (n, d), (n, d), (m, n), (m, 2)]
    return sum(torch.Size(shape).numel() for shape in shapes) * torch.float32.itemsize


# 10.9 my_gradient(parts, sizes) ------------------------------------------------------------------


@hand("10.9")
def gradient_in_numpy(parts, sizes):
    return np.average(parts.numpy(), axis=0, weights=sizes.numpy())


@hand("10.9")
def gradient_as_a_running_mean(parts, sizes):
    mean, seen = torch.zeros_like(parts[0]), 0
    for part, size in zip(parts, sizes.tolist(), strict=True):
        seen += size
        if size:
            mean = mean + (part - mean) * size / seen
    return mean


@hand("10.9")
class Gradient(torch.nn.Module):
    def forward(self, parts, sizes):
        return F.normalize(sizes.to(parts.dtype), p=1, dim=0) @ parts


@hand("10.9")
def gradient_token_by_token(parts, sizes):
    with torch.no_grad():
        return parts.double().repeat_interleave(sizes, dim=0).mean(0)
