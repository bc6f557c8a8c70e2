"""The capstone: right answers in other hands."""

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand
from einops import rearrange, repeat

# C.1 my_rms_norm(x, weight) ----------------------------------------------------------------------


@hand("C.1")
def norm_in_numpy(x, weight):
    x = x.numpy()
    return weight.numpy() * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


@hand("C.1")
class Norm(torch.nn.Module):
    def forward(self, x, weight):
        return F.rms_norm(x, (x.shape[-1],), weight, 1e-5)


@hand("C.1")
def norm_by_einsum(x, weight):
    power = torch.einsum("...e,...e->...", x, x) / x.shape[-1]
    return torch.einsum("...e,...,e->...e", x, (power + 1e-5).rsqrt(), weight)


@hand("C.1")
def norm_in_double(x, weight):
    return x.double() / (x.double().pow(2).mean(-1, True) + 1e-5) ** 0.5 * weight


# C.2 my_rope(x, offset) --------------------------------------------------------------------------


def turns(x, offset):
    speed = torch.exp(torch.arange(0, x.shape[-1], 2).double() * (-math.log(1e4) / x.shape[-1]))
    return torch.outer(torch.arange(offset, offset + x.shape[-2]).double(), speed)


@hand("C.2")
def rope_in_numpy(x, offset):
    t, x = turns(x, offset).numpy(), x.numpy()
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * t)
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


@hand("C.2")
class Rope(torch.nn.Module):
    def forward(self, x, offset):
        cos, sin = (repeat(f(turns(x, offset)), "l d -> l (d 2)") for f in (torch.cos, torch.sin))
        beside = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
        return (x * cos + beside * sin).float()


@hand("C.2")
def rope_with_matrices(x, offset):
    t = turns(x, offset)
    rows = [torch.stack([t.cos(), -t.sin()], -1), torch.stack([t.sin(), t.cos()], -1)]
    pairs = rearrange(x.double(), "h l (d two) -> h l d two", two=2)
    return torch.einsum("ldij,hldj->hldi", torch.stack(rows, -2), pairs).flatten(-2)


@hand("C.2")
def rope_token_by_token(x, offset):
    out = x.clone()
    for i, t in enumerate(turns(x, offset).float()):
        a, b = x[:, i, 0::2], x[:, i, 1::2]
        out[:, i, 0::2], out[:, i, 1::2] = a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()
    return out


# C.3 my_mask(L, S) -------------------------------------------------------------------------------


@hand("C.3")
def mask_in_numpy(L, S):  # noqa: N803
    return np.tri(L, S, S - L, dtype=bool)


@hand("C.3")
def mask_without_triangles(L, S):  # noqa: N803
    return torch.arange(S) < torch.arange(S - L + 1, S + 1)[:, None]


@hand("C.3")
class Mask:
    def __call__(self, L, S):  # noqa: N803
        square = torch.ones(S, S, dtype=torch.bool)
        return ~square.triu(1)[S - L :]


@hand("C.3")
def mask_in_a_loop(L, S):  # noqa: N803
    mask = torch.zeros(L, S, dtype=torch.bool)
    for row in range(L):
        mask[row, : S - L + row + 1] = True
    return mask


# C.4 my_attention(q, k, v, mask) -----------------------------------------------------------------


@hand("C.4")
def attention_in_numpy(q, k, v, mask):
    q, k, v = (a.double().numpy() for a in (q, k, v))
    k, v = (np.repeat(a, len(q) // len(a), axis=0) for a in (k, v))
    e = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    e = np.where(mask.numpy(), e, -np.inf)
    e = np.exp(e - e.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@hand("C.4")
class Attention(torch.nn.Module):
    def forward(self, q, k, v, mask):
        out = F.scaled_dot_product_attention(
            q[None], k[None], v[None], attn_mask=mask, enable_gqa=True
        )
        return out[0]


@hand("C.4")
def attention_by_einsum(q, k, v, mask):
    groups = q.unflatten(0, (k.shape[0], -1))
    scores = torch.einsum("gnld,gsd->gnls", groups, k) * q.shape[-1] ** -0.5
    table = torch.where(mask, scores, -torch.inf).softmax(-1)
    return torch.einsum("gnls,gsd->gnld", table, v).flatten(0, 1)


@hand("C.4")
def attention_head_by_head(q, k, v, mask):
    share = len(q) // len(k)
    hidden = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    heads = [F.softmax(q[h] @ k[h // share].T / q.shape[-1] ** 0.5 + hidden, 1) @ v[h // share]
             for h in range(len(q))]  # fmt: skip
    return torch.stack(heads)


# C.5 my_swiglu(x, gate, wide, narrow) ------------------------------------------------------------


@hand("C.5")
def swiglu_in_numpy(x, gate, wide, narrow):
    x, gate, wide, narrow = (a.double().numpy() for a in (x, gate, wide, narrow))
    g = x @ gate.T
    return (g / (1 + np.exp(-g)) * (x @ wide.T)) @ narrow.T


@hand("C.5")
class Swiglu(torch.nn.Module):
    def forward(self, x, gate, wide, narrow):
        return F.linear(torch.nn.SiLU()(F.linear(x, gate)) * F.linear(x, wide), narrow)


@hand("C.5")
def swiglu_by_einsum(x, gate, wide, narrow):
    g, w = torch.einsum("le,tfe->tlf", x, torch.stack([gate, wide]))
    return torch.einsum("lf,ef->le", g * g.sigmoid() * w, narrow)


@hand("C.5")
def swiglu_in_one_product(x, gate, wide, narrow):
    g, w = (x @ torch.cat([gate, wide]).T).chunk(2, dim=-1)
    return torch.mm(F.silu(g).mul(w), narrow.t())


# C.6 my_cache(past, new) -------------------------------------------------------------------------


@hand("C.6")
def cache_in_numpy(past, new):
    return np.concatenate([past.numpy(), new.numpy()], axis=1)


@hand("C.6")
def cache_by_padding(past, new):
    longer = F.pad(past, (0, 0, 0, new.shape[1]))
    longer[:, past.shape[1] :] = new
    return longer


@hand("C.6")
class Cache(torch.nn.Module):
    def forward(self, past, new):
        return torch.stack([torch.vstack(pair) for pair in zip(past, new, strict=True)])


@hand("C.6")
def cache_token_by_token(past, new):
    return torch.stack([*past.unbind(1), *new.unbind(1)], dim=1)


# C.7 my_shares(logits, temperature, top_p) -------------------------------------------------------


@hand("C.7")
def shares_in_numpy(logits, temperature, top_p):
    z = logits.double().numpy() / temperature
    p = np.exp(z - z.max())
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    before = np.cumsum(p[order]) - p[order]
    kept = np.zeros_like(p)
    kept[order[before < top_p]] = p[order[before < top_p]]
    return kept / kept.sum()


@hand("C.7")
class Shares(torch.nn.Module):
    def forward(self, logits, temperature, top_p):
        p = F.softmax(logits / temperature, dim=-1)
        ranked, order = torch.sort(p, descending=True)
        drop = ranked.cumsum(0) - ranked >= top_p
        return F.normalize(p.masked_fill(drop.scatter(0, order, drop), 0), p=1, dim=0)


@hand("C.7")
def shares_of_the_rest(logits, temperature, top_p):
    scaled = logits / temperature
    ranked = scaled.softmax(0).sort(descending=True)
    keep = ranked.indices[ranked.values.cumsum(0) - ranked.values < top_p]
    only = torch.full_like(scaled, -torch.inf).index_copy(0, keep, scaled[keep])
    return only.softmax(0)


@hand("C.7")
def shares_by_counting(logits, temperature, top_p):
    p = (logits / temperature).softmax(0).double()
    larger = torch.einsum("v,vw->w", p, (p[:, None] > p).double())  # held by larger ones
    earlier = (p[:, None] == p) & torch.ones(len(p), len(p), dtype=torch.bool).triu(1)
    kept = torch.where(larger + p @ earlier.double() < top_p, p, 0.0)
    return kept / kept.sum()


# C.8 my_block(x, layer, heads, past_k, past_v, note), C.9 my_model(tokens, weights, past, note) ---


def block(x, layer, heads, past_k, past_v, note=None, look=attention_by_einsum):
    norm, rope, mlp = Norm(), Rope(), Swiglu()
    width, offset = x.shape[-1] // heads, past_k.shape[1]
    h = norm(x, layer.norm)
    q, k, v = (
        rearrange(h @ w.T, "l (h d) -> h l d", d=width)
        for w in (layer.query, layer.key, layer.value)
    )
    q, k = rope(q, offset), torch.cat([past_k, rope(k, offset)], 1)
    v = torch.cat([past_v, v], 1)
    mask = torch.arange(k.shape[1]) <= torch.arange(len(x))[:, None] + offset
    x = x + F.linear(rearrange(look(q, k, v, mask), "h l d -> l (h d)"), layer.out)
    return x + mlp(norm(x, layer.norm_2), layer.gate, layer.wide, layer.narrow), k, v


@hand("C.8")
def block_by_einsum(x, layer, heads, past_k, past_v, note):
    return block(x, layer, heads, past_k, past_v)


@hand("C.8")
class Block(torch.nn.Module):
    def forward(self, x, layer, heads, past_k, past_v, note):
        return block(x, layer, heads, past_k, past_v, look=Attention())


@hand("C.8")
def block_token_by_token(x, layer, heads, past_k, past_v, note):
    rows = []
    for row in x:
        y, past_k, past_v = block(row[None], layer, heads, past_k, past_v)
        rows.append(y)
    return torch.cat(rows), past_k, past_v


@hand("C.8")
def block_without_gradients(x, layer, heads, past_k, past_v, note):
    with torch.inference_mode():
        out = block(x, layer, heads, past_k, past_v, look=attention_head_by_head)
    return tuple(one.clone() for one in out)


def model(tokens, weights, past, look):
    x, new = F.embedding(tokens, weights.words), []
    width = x.shape[1] // weights.heads
    for n, layer in enumerate(weights.layers):
        empty = x.new_zeros(len(layer.key) // width, 0, width)
        x, *cache = block(
            x, layer, weights.heads, *(past[n] if past else (empty, empty)), look=look
        )
        new.append(tuple(cache))
    return Norm()(x, weights.norm) @ weights.words.T, tuple(new)


@hand("C.9")
def model_by_einsum(tokens, weights, past, note):
    return model(tokens, weights, past, attention_by_einsum)


@hand("C.9")
class Model(torch.nn.Module):
    def forward(self, tokens, weights, past, note):
        return model(tokens, weights, past, Attention())


@hand("C.9")
def model_token_by_token(tokens, weights, past, note):
    rows = []
    for token in tokens:
        row, past = model(token[None], weights, past, attention_head_by_head)
        rows.append(row)
    return torch.cat(rows), past


@hand("C.9")
def model_without_gradients(tokens, weights, past, note):
    with torch.no_grad():
        return model(tokens, weights, past, attention_head_by_head)
