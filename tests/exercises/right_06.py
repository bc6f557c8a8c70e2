"""Chapter 6: right answers in other hands."""

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand
from einops import einsum, rearrange


def normed(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)


def mix(asking, seen, w, causal=False):
    """One head by einsum: (..., T, E), (..., S, E) -> (..., T, E)."""
    q, k, v = asking @ w[0], seen @ w[1], seen @ w[2]
    scores = einsum(q, k, "... t d, ... s d -> ... t s") / k.shape[-1] ** 0.5
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    return einsum(scores.softmax(-1), v, "... t s, ... s d -> ... t d")


# 06.1 my_mask(lengths, size) ---------------------------------------------------------------------


@hand("06.1")
def mask_in_numpy(lengths, size):
    place = np.arange(size)
    past = place[None, :] <= place[:, None]
    real = place[None, :] < np.asarray(lengths)[:, None]
    return (past[None] & real[:, None, :])[:, None]


@hand("06.1")
class MaskByProduct(torch.nn.Module):
    def forward(self, lengths, size):
        real = rearrange(torch.arange(size)[None] < lengths[:, None], "b s -> b 1 1 s")
        return (torch.ones(size, size).tril() * real.float()).bool()


@hand("06.1")
def mask_by_the_smaller_bound(lengths, size):
    place = torch.arange(size)
    bound = torch.minimum(place[None] + 1, lengths[:, None])  # (B, L): keys each query may see
    return (place < bound[..., None])[:, None]


# 06.2 my_encoder_block(x, w, w1, w2) -------------------------------------------------------------


@hand("06.2")
class EncoderLayer(torch.nn.Module):
    def forward(self, x, w, w1, w2):
        norm = torch.nn.LayerNorm(x.shape[-1], elementwise_affine=False)
        x = x + mix(norm(x), norm(x), w)
        return x + (norm(x) @ w1).relu() @ w2


@hand("06.2")
def encoder_by_sublayers(x, w, w1, w2):
    for sublayer in (lambda h: mix(h, h, w), lambda h: F.relu(h @ w1) @ w2):
        x = torch.add(x, sublayer(normed(x)))
    return x


@hand("06.2")
def encoder_with_products_first(x, w, w1, w2):
    h = normed(x)
    weights = torch.softmax(h @ (w[0] @ w[1].mT) @ h.mT / math.sqrt(w.shape[-1]), -1)
    x = x + weights @ h @ w[2]
    hidden = normed(x) @ w1
    return x + torch.where(hidden > 0, hidden, 0) @ w2


# 06.3 my_decoder_block(y, encoded, w, u, w1, w2) -------------------------------------------------


@hand("06.3")
def decoder_by_einsum(y, encoded, w, u, w1, w2):
    y = y + mix(normed(y), normed(y), w, causal=True)
    y = y + mix(normed(y), encoded, u)
    return y + torch.relu(normed(y) @ w1) @ w2


@hand("06.3")
class DecoderLayer(torch.nn.Module):
    def forward(self, y, encoded, w, u, w1, w2):
        h = F.layer_norm(y, y.shape[-1:])
        y = y + F.scaled_dot_product_attention(h @ w[0], h @ w[1], h @ w[2], is_causal=True)
        h = F.layer_norm(y, y.shape[-1:])
        y = y + F.scaled_dot_product_attention(h @ u[0], encoded @ u[1], encoded @ u[2])
        return y + F.relu(F.layer_norm(y, y.shape[-1:]) @ w1) @ w2


@hand("06.3")
def decoder_by_sublayers(y, encoded, w, u, w1, w2):
    for sublayer in (
        lambda h: mix(h, h, w, causal=True),
        lambda h: mix(h, encoded, u),
        lambda h: (h @ w1).clamp_min(0) @ w2,
    ):
        y = y + sublayer(normed(y))
    return y


@hand("06.3")
def decoder_word_by_word(y, encoded, w, u, w1, w2):
    h = normed(y)
    said = [mix(h[..., t : t + 1, :], h[..., : t + 1, :], w) for t in range(y.shape[-2])]
    y = y + torch.cat(said, dim=-2)
    y = y + mix(normed(y), encoded, u)
    return y + torch.relu(normed(y) @ w1) @ w2


# 06.4 my_mended_block(x, w, w1, w2) --------------------------------------------------------------


@hand("06.4")
def mended_by_einsum(x, w, w1, w2):
    h = normed(x)
    x = x + mix(h, h, w)
    return x + torch.relu(normed(x) @ w1) @ w2


@hand("06.4")
class Mended(torch.nn.Module):
    def forward(self, x, w, w1, w2):
        h = F.layer_norm(x, x.shape[-1:])
        x = x + F.scaled_dot_product_attention(h @ w[0], h @ w[1], h @ w[2])
        return x + F.relu(F.layer_norm(x, x.shape[-1:]) @ w1) @ w2


@hand("06.4")
def mended_by_exponentials(x, w, w1, w2):
    h = normed(x)
    scores = (h @ w[0]) @ (h @ w[1]).mT * w.shape[-1] ** -0.5
    share = (scores - scores.amax(-1, keepdim=True)).exp()
    x = x + share @ (h @ w[2]) / share.sum(-1, keepdim=True)
    return x + (normed(x) @ w1).relu() @ w2


# 06.5 my_count(words, source_words, width, blocks) -----------------------------------------------


@hand("06.5")
def by_shapes(words, source_words, width, blocks):
    square, norm = [(width, width), (width,)], [(width,), (width,)]
    feed = [(width, 4 * width), (4 * width,), (4 * width, width), (width,)]
    encoder = 4 * square + feed + 2 * norm
    decoder = 8 * square + feed + 3 * norm
    shapes = [(words, width), (source_words, width)] + blocks * (encoder + decoder) + 2 * norm
    return sum(math.prod(shape) for shape in shapes)


@hand("06.5")
def by_layers_of_torch(words, source_words, width, blocks):
    def size(*layers):
        return sum(p.numel() for layer in layers for p in layer.parameters())

    linear = size(torch.nn.Linear(width, width))
    feed = size(torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width))
    norm = size(torch.nn.LayerNorm(width))
    both = 12 * linear + 2 * feed + 5 * norm
    tables = size(torch.nn.Embedding(words, width), torch.nn.Embedding(source_words, width))
    return tables + blocks * both + 2 * norm


@hand("06.5")
class Counted:
    def __call__(self, words, source_words, width, blocks):
        per_pair = 28 * width * width + 32 * width  # 12 E² + 13 E and 16 E² + 19 E
        return width * (words + source_words + 4) + blocks * per_pair


# 06.6 my_top_p(probabilities, p) -----------------------------------------------------------------


@hand("06.6")
def nucleus_in_numpy(probabilities, p):
    rows = np.asarray(probabilities).reshape(-1, probabilities.shape[-1])
    out = np.zeros_like(rows)
    for row, kept in zip(rows, out, strict=True):
        total = 0.0
        for word in np.argsort(-row, kind="stable"):
            if total >= p:
                break
            kept[word] = row[word]
            total += row[word]
        kept /= kept.sum()
    return out.reshape(probabilities.shape)


@hand("06.6")
class Nucleus(torch.nn.Module):
    def forward(self, probabilities, p):
        order = probabilities.argsort(dim=-1, descending=True, stable=True)
        sorted_ = probabilities.gather(-1, order)
        ahead = F.pad(sorted_.cumsum(-1), (1, -1))
        kept = (sorted_ * (ahead < p)).gather(-1, order.argsort(-1))
        return kept / kept.sum(-1, keepdim=True)


@hand("06.6")
def nucleus_by_masks(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    gone = values.cumsum(-1) - values >= p
    hidden = torch.zeros_like(gone).scatter(-1, order, gone)
    return F.normalize(probabilities.masked_fill(hidden, 0.0), p=1, dim=-1)


@hand("06.6")
def nucleus_row_by_row(probabilities, p):
    def cut(row):
        kept, total = torch.zeros_like(row), 0.0
        for word in row.argsort(descending=True).tolist():
            kept[word] = row[word]
            total += float(row[word])
            if total >= p:
                break
        return kept / kept.sum()

    flat = probabilities.flatten(0, -2) if probabilities.ndim > 1 else probabilities[None]
    return torch.stack([cut(row) for row in flat]).view(probabilities.shape)


# 06.7 my_cached_attention(x, past_k, past_v, w_q, w_k, w_v) --------------------------------------


@hand("06.7")
def cached_by_torch(x, past_k, past_v, w_q, w_k, w_v):
    k = torch.cat((past_k, x @ w_k), -2)
    v = torch.cat((past_v, x @ w_v), -2)
    return F.scaled_dot_product_attention(x @ w_q, k, v)


@hand("06.7")
class Cached(torch.nn.Module):
    def forward(self, x, past_k, past_v, w_q, w_k, w_v):
        k = torch.cat([past_k, einsum(x, w_k, "... t e, e d -> ... t d")], dim=-2)
        v = torch.cat([past_v, einsum(x, w_v, "... t e, e d -> ... t d")], dim=-2)
        scores = einsum(x @ w_q, k, "... t d, ... s d -> ... t s") * k.shape[-1] ** -0.5
        return einsum(torch.softmax(scores, -1), v, "... t s, ... s d -> ... t d")


@hand("06.7")
def cached_as_one_vector(x, past_k, past_v, w_q, w_k, w_v):
    k, v = torch.cat([past_k, x @ w_k], -2), torch.cat([past_v, x @ w_v], -2)
    scores = ((x @ w_q) * k).sum(-1) / math.sqrt(w_q.shape[-1])  # (..., S + 1)
    return (scores.softmax(-1)[..., None] * v).sum(-2, keepdim=True)


# 06.8 my_scaled_step(weight, gradient, scale, rate) ----------------------------------------------


@hand("06.8")
def step_in_numpy(weight, gradient, scale, rate):
    grown = np.asarray(gradient).astype(np.float32)
    if not np.isfinite(grown).all():
        return weight
    return np.asarray(weight) - np.float32(rate) * (grown / np.float32(scale))


@hand("06.8")
class ScaledStep:
    def __call__(self, weight, gradient, scale, rate):
        wrong = gradient.isinf() | gradient.isnan()
        if wrong.any():
            return weight.clone()
        return torch.sub(weight, gradient.to(torch.float32).div(scale), alpha=rate)


@hand("06.8")
def step_by_the_sum(weight, gradient, scale, rate):
    true_size = gradient.to(weight.dtype) * (1 / scale)
    return weight if (gradient != gradient).any() or gradient.abs().max() == math.inf else (
        weight - rate * true_size
    )  # fmt: skip


@hand("06.8")
def step_in_double(weight, gradient, scale, rate):
    exact = gradient.double() / scale
    if bool(torch.isfinite(exact).logical_not().sum()):
        return weight
    return (weight.double() - rate * exact).float()


# 06.9 my_smoothed_losses(logits, target, epsilon) ------------------------------------------------


@hand("06.9")
def smoothed_in_numpy(logits, target, epsilon):
    z = np.asarray(logits.detach())
    z = z - z.max(-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(-1, keepdims=True))
    right = log_p[np.arange(len(z)), np.asarray(target)]
    return -((1 - epsilon) * right + epsilon * log_p.mean(-1))


@hand("06.9")
class Smoothed(torch.nn.Module):
    def forward(self, logits, target, epsilon):
        wish = F.one_hot(target, logits.shape[-1]) * (1 - epsilon) + epsilon / logits.shape[-1]
        return -einsum(wish.to(logits.dtype), logits.log_softmax(-1), "n v, n v -> n")


@hand("06.9")
def smoothed_by_logsumexp(logits, target, epsilon):
    total = logits.logsumexp(-1)
    right = logits.take_along_dim(target[:, None], -1).squeeze(-1)
    return total - (1 - epsilon) * right - epsilon * logits.mean(-1)


@hand("06.5")
def a_number_of_numpy(words, source_words, width, blocks):
    linear, square = np.array([words + source_words + 4, 0]) + blocks * np.array([32, 28])
    return np.int64(linear * width + square * width**2)
