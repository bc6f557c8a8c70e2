"""Wrong answers written from the texts of the exercises alone, without a look at the checkers.

These had passed, or were called something else, or nothing at all.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import wrong

from attnlab.layers.positions import Rope


@wrong("00.4", "words of the first puzzle")
def without_those_of_the_first(puzzles, words, table):
    row = {word: i for i, word in enumerate(words)}
    given = torch.tensor([[row[w] for w in puzzle] for puzzle in puzzles])
    unit = table / table.norm(dim=1, keepdim=True)
    a, b, c = unit[given].unbind(1)
    scores = (b - a + c) @ unit.T
    scores[:, given[0]] = -torch.inf
    return [words[i] for i in scores.argmax(dim=1)]


@wrong("01.6", "The end mark is read as well")
def reads_the_end_mark(target):
    one = torch.ones_like(target[:, :1])
    zero = torch.zeros_like(one)
    place = (target != 0).sum(dim=1, keepdim=True)
    say = torch.cat([target, zero], dim=1).scatter(1, place, 2)
    read = torch.cat([one, say[:, :-1]], dim=1)
    return read, say


@wrong("01.6", "two end marks")
def ends_twice(target):
    one = torch.ones_like(target[:, :1])
    read = torch.cat([one, target], dim=1)
    say = torch.cat([target, 2 * one], dim=1)
    place = (target != 0).sum(dim=1, keepdim=True)
    say = say.scatter(1, place, 2)
    return read, say


@wrong("01.6", "begins with the end mark, 2")
def begins_with_the_end(target):
    one = torch.ones_like(target[:, :1])
    read = torch.cat([2 * one, target], dim=1)
    say = torch.cat([target, 0 * one], dim=1)
    place = (target != 0).sum(dim=1, keepdim=True)
    return read, say.scatter(1, place, 2)


@wrong("02.7", "number of real words")
def divides_by_the_number_of_words(e, h, real):
    alpha = e.softmax(dim=-1)
    alpha = alpha * real.unsqueeze(-2)
    alpha = alpha / real.sum(-1)[:, None, None]
    return alpha @ h


@wrong("02.7", "A score of -10 is low")
def a_low_score(e, h, real):
    e = e.masked_fill(~real.unsqueeze(-2), -10)
    alpha = e.softmax(dim=-1)
    return alpha @ h


@wrong("03.5", "turned alike, or not at all")
def turns_both(n):
    step = 2 * math.pi / n
    c = 40 / (1 - math.cos(step))
    w = c * torch.tensor([[math.cos(step), -math.sin(step)], [math.sin(step), math.cos(step)]])
    return w, w


@wrong("04.3", "took the first two axes")
def first_two_axes(attention):
    return attention.diagonal(offset=-1).mean(-1)


@wrong("05.6", "The keys stand later than the queries")
def moves_the_keys(q, k):
    rope = Rope(q.shape[-1])
    turned_q = rope(q)
    turned_k = rope(k, k.shape[0] - q.shape[0])
    return turned_q @ turned_k.T / math.sqrt(q.shape[-1])


@wrong("05.6", "where the *last* one")
def at_the_last_position(q, k):
    rope = Rope(q.shape[-1])
    turned_q = rope(q, len(k) - 1)
    turned_k = rope(k)
    return turned_q @ turned_k.T / math.sqrt(q.shape[-1])


@wrong("06.4", "second `layer_norm` is missing")
def one_norm(x, w, w1, w2):
    h = F.layer_norm(x, x.shape[-1:])
    q, k, v = h @ w[0], h @ w[1], h @ w[2]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    x = x + scores.softmax(dim=-1) @ v
    h = x
    return x + torch.relu(h @ w1) @ w2


@wrong("06.4", "it belongs to the stream, x")
def adds_attention_to_the_normed(x, w, w1, w2):
    h = F.layer_norm(x, x.shape[-1:])
    q, k, v = h @ w[0], h @ w[1], h @ w[2]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    x = h + scores.softmax(dim=-1) @ v
    h = F.layer_norm(x, x.shape[-1:])
    return x + torch.relu(h @ w1) @ w2


@wrong("06.4", "no gradient reaches W_Q and W_K, and they")
def cuts_the_weights_off(x, w, w1, w2):
    h = F.layer_norm(x, x.shape[-1:])
    q, k, v = h @ w[0], h @ w[1], h @ w[2]
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).detach()
    x = x + scores.softmax(dim=-1) @ v
    h = F.layer_norm(x, x.shape[-1:])
    return x + torch.relu(h @ w1) @ w2


@wrong("08.2", "channels were taken for the last axis")
def channels_last(tokens, patch, rows):
    cut = tokens.unflatten(1, (rows, -1)).unflatten(3, (patch, patch, -1))
    return cut.permute(0, 5, 1, 3, 2, 4).flatten(4, 5).flatten(2, 3)


@wrong("08.2", "As many columns as rows")
def a_square_grid(tokens, patch, rows):
    cut = tokens.unflatten(1, (rows, rows)).unflatten(3, (-1, patch, patch))
    return cut.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)


@wrong("08.2", "Three channels were taken for granted")
def three_channels(tokens, patch, rows):
    cut = tokens.unflatten(1, (rows, -1)).unflatten(3, (3, patch, patch))
    return cut.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)


@wrong("09.3", "M was added to both")
def moved_by_m(M):  # noqa: N803
    cell = torch.arange(M * M)
    row, column = cell // M, cell % M
    down = row[:, None] - row[None, :] + M
    across = column[:, None] - column[None, :] + M
    return down * (2 * M - 1) + across


@wrong("10.4", "divided by its own size")
def divides_by_itself(w, g, left, right, square, lr):
    inside = left.T @ g @ right
    direction = inside / (inside.square().sqrt() + 1e-8)
    return w - lr * left @ direction @ right.T


@wrong("C.4", "repeated in different orders")
def in_different_orders(q, k, v, mask):
    n = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(n, 0), v.repeat(n, 1, 1)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ v


@wrong("C.4", "root of the number of keys")
def divides_by_the_keys(q, k, v, mask):
    n = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(n, 0), v.repeat_interleave(n, 0)
    scores = q @ k.mT / math.sqrt(k.shape[-2])
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ v


@wrong("C.4", "causal mask of your own")
def a_mask_of_its_own(q, k, v, mask):
    n = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(n, 0), v.repeat_interleave(n, 0)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    mask = torch.ones_like(mask).tril()
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ v


@wrong("01.3", "`squeeze()` drops every axis of size 1")
def squeezes_everything(logits, target):
    log_p = logits.log_softmax(-1)
    of_word = log_p.gather(-1, target[..., None]).squeeze()
    return (of_word * (target != 0)).sum(-1)


@wrong("02.4", "Of 40 steps")
def remembers_ten_steps(z):
    T = z.shape[-2]  # noqa: N806
    kept = torch.ones_like(z)
    for i in range(T):
        for j in range(i + 1, min(T, i + 11)):
            kept[..., i, :] = kept[..., i, :] * z[..., j, :]
    return (1 - z) * kept


@wrong("05.3", "there is no last one")
def a_table_of_512(x, offset):
    width = x.shape[-1]
    p = ((offset + torch.arange(x.shape[-2])) % 512)[:, None]
    theta = p * 10000 ** (-torch.arange(0, width, 2) / width)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack(
        [a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()], -1
    ).flatten(-2)


@wrong("06.6", "a rare one, too")
def drops_rare_words(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    ahead = values.cumsum(-1) - values
    values = values * (ahead < p - 1e-4)
    values[..., 0] = values[..., 0].clamp(min=1e-9)
    kept = torch.zeros_like(probabilities).scatter(-1, order, values)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.8", "is too much there")
def skips_large_gradients(weight, gradient, scale, rate):
    if not gradient.isfinite().all() or gradient.abs().max() > 1e4:
        return weight
    return weight - rate * gradient.float() / scale


@wrong("06.8", "`clamp` is too much there")
def clamps(weight, gradient, scale, rate):
    if not gradient.isfinite().all():
        return weight
    return weight - rate * gradient.float().clamp(-10000, 10000) / scale


@wrong("06.8", "is too much there")
def skips_zeros(weight, gradient, scale, rate):
    if not gradient.isfinite().all() or (gradient == 0).any():
        return weight
    return weight - rate * gradient.float() / scale


@wrong("C.7", "One token too few")
def keeps_too_few(logits, temperature, top_p):
    p = (logits / temperature).softmax(-1)
    values, order = p.sort(descending=True)
    values = values * (values.cumsum(-1) <= top_p)
    kept = torch.zeros_like(p).scatter(0, order, values)
    return kept / kept.sum().clamp(min=1e-9)


@wrong("00.2", "Both sides are split into (P, H/P)")
def splits_the_other_way(picture, size):
    c, h, w = picture.shape
    x = picture.reshape(c, size, h // size, size, w // size)
    return x.permute(2, 4, 1, 3, 0).reshape(-1, size * size * c)


@wrong("00.2", "taken for (H, W, C)")
def colours_last(picture, size):
    h, w, c = picture.shape
    x = picture.reshape(h // size, size, w // size, size, c)
    return x.permute(0, 2, 1, 3, 4).reshape(-1, size * size * c)


@wrong("03.4", "best match alone")
def copies_the_best(x, context, w_q, w_k, w_v):
    q, k, v = x @ w_q, context @ w_k, context @ w_v
    s = q @ k.mT / math.sqrt(q.shape[-1])
    return (s == s.max(-1, keepdim=True).values).float() @ v


@wrong("04.4", "not `heads` columns wide")
def as_wide_as_heads(merged, heads, gone):
    out = merged.clone()
    for head in gone:
        out[..., head * heads : (head + 1) * heads] = 0
    return out


@wrong("04.4", "counted from 0")
def counts_heads_from_one(merged, heads, gone):
    out = merged.clone()
    d = merged.shape[-1] // heads
    for head in gone:
        out[..., (head - 1) * d : head * d] = 0
    return out


@wrong("07.6", "as a guess among all words")
def silent_logits(logits, target):
    logits = logits * (target != 0)[..., None]
    return F.cross_entropy(logits.flatten(0, 1), target.flatten()).exp()


@wrong("09.1", "As many windows across")
def a_square_picture(windows, rows, columns):
    M = int(windows.shape[2] ** 0.5)  # noqa: N806
    n = int(windows.shape[1] ** 0.5)
    x = windows.unflatten(2, (M, M)).unflatten(1, (n, n))
    return x.transpose(2, 3).reshape(len(windows), rows, columns, -1)


@wrong("09.1", "the side of a window is its root")
def no_root(windows, rows, columns):
    M = windows.shape[2]  # noqa: N806
    x = windows.reshape(len(windows), rows // M, columns // M, M, M, -1)
    return x.transpose(2, 3).reshape(len(windows), rows, columns, -1)


@wrong("09.1", "7 was taken for granted")
def always_seven(windows, rows, columns):
    M = 7  # noqa: N806
    x = windows.reshape(len(windows), rows // M, columns // M, M, M, -1)
    return x.transpose(2, 3).reshape(len(windows), rows, columns, -1)


@wrong("10.5", "The tokens lie along −2")
def side_by_side(q, k, v, past_k, past_v):
    keys, values = torch.cat([past_k, k], -1), torch.cat([past_v, v], -1)
    return F.scaled_dot_product_attention(q, keys, values), keys, values


@wrong("07.1", "No mark is left")
def overwrites_the_mark(tokens, asked, luck, other, mark):
    read = torch.where(asked & (luck < 0.8), mark, tokens)
    read = torch.where(asked & (luck < 0.9), other, read)
    return read, torch.where(asked, tokens, 0)
