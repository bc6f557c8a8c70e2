"""Chapter 3: right answers in other hands. 03.3 asks for gradients, so it stays in torch."""

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand
from einops import einsum

# 03.1 my_weights(q, k) ---------------------------------------------------------------------------


def shares(e):
    """softmax in NumPy, along the last axis"""
    p = np.exp(e - e.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


@hand("03.1")
def weights_in_numpy(q, k):
    q, k = q.numpy(), k.numpy()
    return shares(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))


@hand("03.1")
class Weights(torch.nn.Module):
    def forward(self, q, k):
        return F.softmax(torch.matmul(q, k.mT) * q.size(-1) ** -0.5, dim=-1)


@hand("03.1")
def weights_by_einops(q, k):
    return (
        einsum(q.double(), k.double(), "... l d, ... s d -> ... l s")
        .div(math.sqrt(k.shape[-1]))
        .softmax(-1)
    )


# 03.2 my_causal_mask(L, S) -----------------------------------------------------------------------


@hand("03.2")
def mask_in_numpy(L, S):  # noqa: N803
    return np.tri(L, S, S - L, dtype=bool)


@hand("03.2")
def mask_by_tril(L, S):  # noqa: N803
    return torch.ones(L, S).tril(diagonal=S - L) > 0


@hand("03.2")
class Mask:
    def __call__(self, L, S):  # noqa: N803
        rows = [[s <= S - L + row for s in range(S)] for row in range(L)]
        return torch.tensor(rows, dtype=torch.bool).reshape(L, S)


@hand("03.2")
def mask_by_counting(L, S):  # noqa: N803
    seen = torch.ones(L, S, dtype=torch.int64).cumsum(1)
    return seen <= torch.arange(L)[:, None] + 1 + (S - L)


# 03.3 my_attention(q, k, v, mask) ----------------------------------------------------------------


@hand("03.3")
class Attention(torch.nn.Module):
    def forward(self, q, k, v, mask):
        scores = torch.einsum("...ld,...sd->...ls", q, k) / q.shape[-1] ** 0.5
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        return torch.where(mask, scores.softmax(-1), 0.0) @ v


@hand("03.3")
def attention_by_exp(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    top = scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True).detach()
    top = top.masked_fill(top == -torch.inf, 0.0)
    power = (scores - top).masked_fill(~mask, -torch.inf).exp()
    return power @ v / power.sum(-1, keepdim=True).clamp(min=1e-30)


# 03.4 my_cross_attention(x, context, w_q, w_k, w_v) ----------------------------------------------


@hand("03.4")
def cross_in_numpy(x, context, w_q, w_k, w_v):
    x, c, q, k, v = (a.double().numpy() for a in (x, context, w_q, w_k, w_v))
    scores = (x @ q) @ np.swapaxes(c @ k, -1, -2) / math.sqrt(q.shape[-1])
    return shares(scores) @ (c @ v)


@hand("03.4")
class Cross(torch.nn.Module):
    def forward(self, x, context, w_q, w_k, w_v):
        return F.scaled_dot_product_attention(x @ w_q, context @ w_k, context @ w_v)


@hand("03.4")
def cross_by_einsum(x, context, w_q, w_k, w_v):
    scores = torch.einsum("...le,ed,...sf,fd->...ls", x, w_q, context, w_k)
    weights = F.softmax(scores / math.sqrt(w_q.shape[1]), -1)
    return torch.einsum("...ls,...se,ev->...lv", weights, context, w_v)


# 03.5 look_back(n) -------------------------------------------------------------------------------


@hand("03.5")
def back_in_complex_numbers(n):
    turn = torch.polar(
        torch.tensor(9.0 / (1 - math.cos(2 * math.pi / n))), torch.tensor(2 * math.pi / n)
    )
    a, b = turn.real, turn.imag
    return torch.stack([torch.stack([a, -b]), torch.stack([b, a])]), torch.eye(2)


@hand("03.5")
class Back:
    def __call__(self, n):
        step = 2 * math.pi / n
        turned = [[math.cos(step), math.sin(step)], [-math.sin(step), math.cos(step)]]
        return torch.eye(2) * 10 / (1 - math.cos(step)), torch.tensor(turned)


# 03.6 in_blocks(q, k, v, block) ------------------------------------------------------------------


@hand("03.6")
def blocks_by_einsum(q, k, v, block):
    rows = []
    for first in range(0, q.shape[-2], block):
        part = q[..., first : first + block, :]
        scores = torch.einsum("...ld,...sd->...ls", part, k) / q.shape[-1] ** 0.5
        rows.append(torch.einsum("...ls,...sv->...lv", scores.softmax(-1), v))
    return torch.cat(rows, -2)


@hand("03.6")
class Blocks:
    def __call__(self, q, k, v, block):
        out = q.new_empty(*q.shape[:-1], v.shape[-1])
        for rows in torch.arange(q.shape[-2]).split(block):
            table = (q[..., rows, :] @ k.mT).div_(math.sqrt(q.shape[-1]))
            out[..., rows, :] = torch.softmax(table, -1) @ v
        return out


# 03.7 centred_attention(x) -----------------------------------------------------------------------


@hand("03.7")
def centred_in_numpy(x):
    x = x.numpy() - x.numpy().mean(-1, keepdims=True)
    e = x @ np.swapaxes(x, -1, -2) / np.sqrt(x.shape[-1])
    return shares(np.where(np.tri(x.shape[-2], dtype=bool), e, -np.inf)) @ x


@hand("03.7")
def centred_and_fused(x):
    x = x - x.mean(-1, keepdim=True)
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


@hand("03.7")
def one_query_at_a_time(x):
    out = torch.empty_like(x)
    x = x - torch.sum(x, -1, keepdim=True) / x.shape[-1]
    for i in range(x.shape[-2]):
        scores = einsum(x[..., i, :], x[..., : i + 1, :], "... d, ... s d -> ... s")
        alpha = (scores / math.sqrt(x.shape[-1])).softmax(-1)
        out[..., i, :] = einsum(alpha, x[..., : i + 1, :], "... s, ... s d -> ... d")
    return out


# 03.8 weights_stay(change) -----------------------------------------------------------------------


@hand("03.8")
def as_a_table(change):
    table = {
        "W_q doubled": False,
        "W_v doubled": True,
        "W_q doubled, W_k halved": True,
        "W_q and W_k swapped": False,
        "the same vector added to every key": True,
        "the same vector added to every query": False,
        "queries and keys turned by the same rotation": True,
    }
    return table[change]


@hand("03.8")
def by_a_rule(change):
    if change.startswith("W_v") or "rotation" in change:
        return True
    return "halved" in change or change.endswith("every key")


@hand("03.8")
class Tried:
    def __call__(self, change):
        x, w_q, w_k, more = (torch.randn(*shape) for shape in ((5, 4), (4, 3), (4, 3), (3,)))
        q, k = x @ w_q, x @ w_k
        new_q = 2 * q if change.startswith("W_q doubled") else q
        new_k = k / 2 if "halved" in change else k
        if "swapped" in change:
            new_q, new_k = k, q
        if "key" in change and "added" in change:
            new_k = k + more
        if "every query" in change:
            new_q = q + more
        old, new = (torch.softmax(a @ b.T, -1) for a, b in ((q, k), (new_q, new_k)))
        return bool(torch.allclose(old, new, atol=1e-5))
