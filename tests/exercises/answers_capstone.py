"""Answers to the capstone: ways to get each part wrong, and another way to get it right."""

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

from attnlab.checks import capstone_suspects as ours


@wrong("C.1", "The mean runs over the tokens")
def norm_over_tokens(x, weight):
    return x / (x.pow(2).mean(0, keepdim=True) + 1e-5).sqrt() * weight


@wrong("C.1", "This is LayerNorm")
def layer_norm(x, weight):
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


@wrong("C.1", "The weight is missing")
def no_weight(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)


@right("C.1")
def norm_by_length(x, weight):
    size = torch.sqrt(torch.linalg.vector_norm(x, dim=-1) ** 2 / x.shape[-1] + 1e-5)
    return weight * x / size.unsqueeze(-1)


def angles(x, offset):
    places = torch.arange(x.shape[-2]) + offset
    return places[:, None] / 10000 ** (torch.arange(x.shape[-1] // 2) * 2 / x.shape[-1])


@wrong("C.2", "a story starts well and then falls apart")
def rotate_half(x, offset):
    """As in many a published project."""
    turn = torch.cat([angles(x, offset)] * 2, dim=-1)
    half = x.shape[-1] // 2
    return x * turn.cos() + torch.cat([-x[..., half:], x[..., :half]], dim=-1) * turn.sin()


@wrong("C.2", "Every call begins at position 0")
def no_offset(x, offset):
    return complex_rope(x, 0)


@wrong("C.2", "The rotation goes the other way")
def backwards(x, offset):
    turn = angles(x, offset)
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = [a * turn.cos() + b * turn.sin(), b * turn.cos() - a * turn.sin()]
    return torch.stack(pairs, -1).flatten(-2)


@right("C.2")
def complex_rope(x, offset):
    turn = angles(x, offset)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(turn), turn)).flatten(-2)


@wrong("C.3", "aligned at the upper left")
def upper_left(L, S):  # noqa: N803
    return torch.arange(L)[:, None] >= torch.arange(S)


@wrong("C.3", "It is the wrong way round")
def turned(L, S):  # noqa: N803
    return torch.ones(L, S).triu(S - L + 1).bool()


@wrong("C.3", "The diagonal is missing")
def strict(L, S):  # noqa: N803
    return torch.arange(S) < torch.arange(S - L, S)[:, None]


@right("C.3")
def by_places(L, S):  # noqa: N803
    return torch.arange(S) <= torch.arange(S - L, S)[:, None]


@wrong("C.4", "not divided by √D")
def no_scale(q, k, v, mask):
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    return (q @ k.mT).masked_fill(~mask, -torch.inf).softmax(-1) @ v


@wrong("C.4", "repeated in the wrong order")
def tiled(q, k, v, mask):
    k, v = (x.repeat(len(q) // len(x), 1, 1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@wrong("C.4", "The mask is not used")
def sees_everything(q, k, v, mask):
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v)


@right("C.4")
def in_groups(q, k, v, mask):
    groups = q.unflatten(0, (len(k), -1))
    scores = torch.einsum("ghld,gsd->ghls", groups, k) / q.shape[-1] ** 0.5
    shares = torch.where(mask, scores, -torch.inf).softmax(-1)
    return torch.einsum("ghls,gsd->ghld", shares, v).flatten(0, 1)


@wrong("C.5", "Gate and wide have changed places")
def swapped(x, gate, wide, narrow):
    return F.linear(F.silu(F.linear(x, wide)) * F.linear(x, gate), narrow)


@wrong("C.5", "This is the sigmoid alone")
def plain_gate(x, gate, wide, narrow):
    return F.linear(F.linear(x, gate).sigmoid() * F.linear(x, wide), narrow)


@wrong("C.5", "This is GeGLU")
def geglu(x, gate, wide, narrow):
    return F.linear(F.gelu(F.linear(x, gate)) * F.linear(x, wide), narrow)


@right("C.5")
def by_hand(x, gate, wide, narrow):
    z = torch.einsum("le,fe->lf", x, gate)
    return torch.einsum("lf,ef->le", z / (1 + (-z).exp()) * F.linear(x, wide), narrow)


@wrong("C.6", "The past is lost")
def forgets(past, new):
    return new * 1


@wrong("C.6", "The new tokens stand before the old ones")
def prepends(past, new):
    return torch.cat([new, past], dim=1)


@wrong("C.6", "its oldest token is gone")
def slides(past, new):
    return torch.cat([past, new], dim=1)[:, min(past.shape[1], 1) :]


@right("C.6")
def into_an_empty_one(past, new):
    count = past.shape[1]
    out = past.new_empty(past.shape[0], count + new.shape[1], past.shape[2])
    out[:, :count], out[:, count:] = past, new
    return out


@wrong("C.7", "The temperature is not used")
def cold(logits, temperature, top_p):
    return ours.shares(logits, 1.0, top_p)


@wrong("C.7", "does not add up to 1")
def not_whole(logits, temperature, top_p):
    p = (logits / temperature).softmax(-1)
    return p * (ours.shares(logits, temperature, top_p) > 0)


@wrong("C.7", "top_p is not used")
def long_tail(logits, temperature, top_p):
    return torch.softmax(logits / temperature, 0)


@wrong("C.7", "equally likely are still counted one by one")
def all_of_equal_tokens(logits, temperature, top_p):
    p = torch.softmax(logits / temperature, 0)
    ranked = p.sort(descending=True).values
    lowest = ranked[ranked.cumsum(0) - ranked < top_p].min()
    kept = p * (p >= lowest)
    return kept / kept.sum()


@wrong("C.7", "`exp` of a large score overflows")
def bare_exponentials(logits, temperature, top_p):
    p = (logits / temperature).exp()
    ranked, order = (p / p.sum()).sort(descending=True)
    kept = torch.zeros_like(p)
    kept[order] = ranked * (ranked.cumsum(0) - ranked < top_p)
    return kept / kept.sum()


@right("C.7")
def one_by_one(logits, temperature, top_p):
    p = ((logits - logits.max()) / temperature).exp()
    p, kept, total = p / p.sum(), torch.zeros_like(p), 0.0
    for i in p.argsort(descending=True).tolist():
        kept[i] = p[i]
        total += float(p[i])
        if total >= top_p:
            break
    return kept / kept.sum()


def a_block(x, layer, heads, past_k, past_v, note, **wrong):
    """Written without the checker's parts, one head after the other."""
    D = x.shape[1] // heads  # noqa: N806
    turn = wrong.get("rope", complex_rope)
    offset = wrong.get("offset", lambda past: past.shape[1])(past_k)
    h = note("normed", F.rms_norm(x, (len(layer.norm),), layer.norm, 1e-5))
    q, k, v = (torch.stack((h @ w.T).split(D, -1)) for w in (layer.query, layer.key, layer.value))
    note("keys", k)
    q, k = note("queries turned", turn(q, offset)), note("keys turned", turn(k, offset))
    k, v = torch.cat([past_k, k], 1), torch.cat([past_v, v], 1)
    mask = by_places(len(x), k.shape[1])
    found = note("looked up", wrong.get("attend", in_groups)(q, k, v, mask))
    x = note("after attention", x + torch.cat(list(found), -1) @ layer.out.T)
    second = wrong.get("norm", layer.norm_2)
    h = note("normed again", F.rms_norm(x, (len(second),), second, 1e-5))
    return x + by_hand(h, layer.gate, layer.wide, layer.narrow), k, v


@wrong("C.8", "The first place where your block and ours part is “queries turned”")
def block_on_halves(x, layer, heads, past_k, past_v, note):
    return a_block(x, layer, heads, past_k, past_v, note, rope=rotate_half)


@wrong("C.8", "repeated in the wrong order")
def block_tiled(x, layer, heads, past_k, past_v, note):
    return a_block(x, layer, heads, past_k, past_v, note, attend=tiled)


@wrong("C.8", "The first place where your block and ours part is “looked up”")
def block_without_scale(x, layer, heads, past_k, past_v, note):
    return a_block(x, layer, heads, past_k, past_v, note, attend=no_scale)


@wrong("C.8", "The cache is off by one")
def block_off_by_one(x, layer, heads, past_k, past_v, note):
    late = lambda past: max(past.shape[1] - 1, 0)  # noqa: E731
    return a_block(x, layer, heads, past_k, past_v, note, offset=late)


@wrong("C.8", "The second norm reads x *after* attention, with `layer.norm_2`")
def block_with_one_norm(x, layer, heads, past_k, past_v, note):
    return a_block(x, layer, heads, past_k, past_v, note, norm=layer.norm)


@wrong("C.8", "with the norm before it")
def block_of_2017(x, layer, heads, past_k, past_v, note):
    """Without notes: the result alone has to tell."""
    parts = ours.Parts(post=True)
    return ours.block(x, layer, heads, past_k, past_v, ours.Notes(), parts)


@right("C.8")
def block_head_by_head(x, layer, heads, past_k, past_v, note):
    return a_block(x, layer, heads, past_k, past_v, note)


def a_model(tokens, weights, past, note, block=a_block):
    silent = lambda name, value: value  # noqa: E731
    x, new = F.embedding(tokens, weights.words), []
    for n, layer in enumerate(weights.layers):
        D = x.shape[1] // weights.heads  # noqa: N806
        k, v = past[n] if past else [torch.zeros(len(layer.key) // D, 0, D)] * 2
        x, k, v = block(x, layer, weights.heads, k, v, silent)
        note(f"layer {n + 1}", x)
        new.append((k, v))
    x = F.rms_norm(x, (x.shape[1],), weights.norm, 1e-5)
    return F.linear(note("normed", x), weights.words), tuple(new)


@wrong("C.9", "The first place where your model and ours part is “layer 1”")
def model_on_halves(tokens, weights, past, note):
    return a_model(tokens, weights, past, note, block_on_halves)


@wrong("C.9", "The norm after the last block is missing")
def model_without_last_norm(tokens, weights, past, note):
    return ours.model(tokens, weights, past, ours.Notes(), norm=False)


@wrong("C.9", "each call forgets what came before")
def model_without_memory(tokens, weights, past, note):
    return a_model(tokens, weights, None, note)


@wrong("C.9", "Gate and wide have changed places")
def model_with_swapped_gate(tokens, weights, past, note):
    parts = ours.Parts(swiglu=swapped)
    return ours.model(tokens, weights, past, note, parts)


@wrong("C.9", "holds its keys twice")
def keys_twice(tokens, weights, past, note):
    logits, pairs = model_head_by_head(tokens, weights, past, note)
    return logits, tuple((k, k) for k, _ in pairs)


@right("C.9")
def model_head_by_head(tokens, weights, past, note):
    return a_model(tokens, weights, past, note)
