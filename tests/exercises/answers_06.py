"""Chapter 6: wrong answers with the words they must meet, and right answers written differently."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

# 06.1 my_mask(lengths, size) ---------------------------------------------------------------------


@wrong("06.1", "padding is still seen")
def causal_alone(lengths, size):
    return torch.ones(len(lengths), 1, size, size, dtype=torch.bool).tril()


@wrong("06.1", "future is still seen")
def padding_alone(lengths, size):
    keep = torch.arange(size)[None] < lengths[:, None]
    return keep[:, None, None].expand(-1, 1, size, -1).clone()


@wrong("06.1", "Either reason is enough")
def one_or_the_other(lengths, size):
    keep = torch.arange(size)[None] < lengths[:, None]
    return torch.ones(size, size, dtype=torch.bool).tril() | keep[:, None, None]


@wrong("06.1", "the other way round")
def torch_s_sense(lengths, size):
    place = torch.arange(size)
    hidden = (place[None, :] > place[:, None]) | (place >= lengths[:, None, None])
    return hidden[:, None]


@wrong("06.1", "as queries")
def hides_rows(lengths, size):
    keep = torch.arange(size)[None] < lengths[:, None]
    return torch.ones(size, size, dtype=torch.bool).tril() & keep[:, None, :, None]


@right("06.1")
def by_comparison(lengths, size):
    place = torch.arange(size)
    return (place <= place[:, None]) & (place < lengths[:, None, None, None])


@right("06.1")
def by_loops(lengths, size):
    out = torch.zeros(len(lengths), 1, size, size, dtype=torch.bool)
    for b, length in enumerate(lengths.tolist()):
        for i in range(size):
            out[b, 0, i, : min(i + 1, length)] = True
    return out


# 06.2 my_encoder_block(x, w, w1, w2) -------------------------------------------------------------


def normed(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()


def looks(h, seen, w, mask=None):
    scores = (h @ w[0]) @ (seen @ w[1]).mT / math.sqrt(w.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ (seen @ w[2])


@wrong("06.2", "This is post-norm")
def as_in_2017(x, w, w1, w2):
    x = normed(x + looks(x, x, w))
    return normed(x + torch.relu(x @ w1) @ w2)


@wrong("06.2", "There is no LayerNorm")
def no_norm(x, w, w1, w2):
    x = x + looks(x, x, w)
    return x + torch.relu(x @ w1) @ w2


@wrong("06.2", "both residual connections are missing")
def no_residual(x, w, w1, w2):
    h = normed(x)
    return torch.relu(normed(looks(h, h, w)) @ w1) @ w2


@wrong("06.2", "Both sublayers read the same x")
def parallel(x, w, w1, w2):
    h = normed(x)
    return x + looks(h, h, w) + torch.relu(h @ w1) @ w2


@wrong("06.2", "an encoder has no causal mask")
def causal_encoder(x, w, w1, w2):
    h = normed(x)
    mask = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril()
    x = x + looks(h, h, w, mask)
    return x + torch.relu(normed(x) @ w1) @ w2


@right("06.2")
def with_torch_s_parts(x, w, w1, w2):
    h = F.layer_norm(x, x.shape[-1:])
    q, k, v = (h.unsqueeze(-3) @ w).unbind(-3)
    x = x + F.scaled_dot_product_attention(q, k, v)
    return x + F.linear(F.relu(F.linear(F.layer_norm(x, x.shape[-1:]), w1.T)), w2.T)


@right("06.2")
def by_hand_throughout(x, w, w1, w2):
    h = normed(x)
    x = x + looks(h, h, w)
    return x + (normed(x) @ w1).clamp(min=0) @ w2


# 06.3 my_decoder_block(y, encoded, w, u, w1, w2) -------------------------------------------------


def triangle(y):
    return torch.ones(y.shape[-2], y.shape[-2], dtype=torch.bool).tril()


@wrong("06.3", "peeks at the answer")
def no_mask(y, encoded, w, u, w1, w2):
    h = normed(y)
    y = y + looks(h, h, w)
    y = y + looks(normed(y), encoded, u)
    return y + torch.relu(normed(y) @ w1) @ w2


@wrong("06.3", "The source is read first")
def other_order(y, encoded, w, u, w1, w2):
    y = y + looks(normed(y), encoded, u)
    h = normed(y)
    y = y + looks(h, h, w, triangle(y))
    return y + torch.relu(normed(y) @ w1) @ w2


@wrong("06.3", "asks the target about itself")
def never_across(y, encoded, w, u, w1, w2):
    h = normed(y)
    y = y + looks(h, h, w, triangle(y))
    h = normed(y)
    y = y + looks(h, h, u)
    return y + torch.relu(normed(y) @ w1) @ w2


@wrong("06.3", "same matrices")
def one_set(y, encoded, w, u, w1, w2):
    h = normed(y)
    y = y + looks(h, h, w, triangle(y))
    y = y + looks(normed(y), encoded, w)
    return y + torch.relu(normed(y) @ w1) @ w2


@right("06.3")
def in_three_lines(y, encoded, w, u, w1, w2):
    h = F.layer_norm(y, y.shape[-1:])
    y = y + F.scaled_dot_product_attention(h @ w[0], h @ w[1], h @ w[2], is_causal=True)
    h = F.layer_norm(y, y.shape[-1:])
    y = y + F.scaled_dot_product_attention(h @ u[0], encoded @ u[1], encoded @ u[2])
    return y + F.relu(F.layer_norm(y, y.shape[-1:]) @ w1) @ w2


# 06.4 my_mended_block(x, w, w1, w2) --------------------------------------------------------------


def buggy(x, w, w1, w2, *, axis=-1, cut=False, lost=False):
    h = normed(x)
    scores = (h @ w[0]) @ (h @ w[1]).mT / math.sqrt(w.shape[-1])
    said = scores.softmax(axis) @ (h @ w[2])
    x = x + (said.detach() if cut else said)
    h = normed(x)
    return (h if lost else x) + torch.relu(h @ w1) @ w2


@wrong("06.4", "softmax runs over the queries")
def over_the_queries(x, w, w1, w2):
    return buggy(x, w, w1, w2, axis=-2)


@wrong("06.4", "And one more is left")
def nothing_mended(x, w, w1, w2):
    return buggy(x, w, w1, w2, axis=-2, cut=True, lost=True)


@wrong("06.4", "stream is lost")
def adds_to_the_normed(x, w, w1, w2):
    return buggy(x, w, w1, w2, lost=True)


@wrong("06.4", "`.detach()` cuts the gradient")
def cut_off(x, w, w1, w2):
    return buggy(x, w, w1, w2, cut=True)


@wrong("06.4", "`exp` of a large score overflows")
def bare_exponentials(x, w, w1, w2):
    h = normed(x)
    power = ((h @ w[0]) @ (h @ w[1]).mT / math.sqrt(w.shape[-1])).exp()
    x = x + power / power.sum(-1, keepdim=True) @ (h @ w[2])
    return x + torch.relu(normed(x) @ w1) @ w2


@right("06.4")
def all_three_mended(x, w, w1, w2):
    return buggy(x, w, w1, w2)


@right("06.4")
def written_anew(x, w, w1, w2):
    return with_torch_s_parts(x, w, w1, w2)


# 06.5 my_count(words, source_words, width, blocks) -----------------------------------------------


def by_parts(words, source_words, e, blocks, *, tied=True, attentions=3, bias=1, ends=2):
    linear = 4 * e * e + 4 * e * bias
    network = 8 * e * e + 5 * e * bias
    whole = (words + source_words) * e + (0 if tied else words * e) + ends * 2 * e
    return whole + blocks * (attentions * linear + 2 * network + 10 * e)


@wrong("06.5", "The generator is counted as well")
def untied(words, source_words, width, blocks):
    return by_parts(words, source_words, width, blocks, tied=False)


@wrong("06.5", "One attention is missing")
def one_attention_each(words, source_words, width, blocks):
    return by_parts(words, source_words, width, blocks, attentions=2)


@wrong("06.5", "The biases are missing")
def without_biases(words, source_words, width, blocks):
    return by_parts(words, source_words, width, blocks, bias=0)


@wrong("06.5", "after the stacks are missing")
def no_final_norms(words, source_words, width, blocks):
    return by_parts(words, source_words, width, blocks, ends=0)


@right("06.5")
def added_up(words, source_words, width, blocks):
    return by_parts(words, source_words, width, blocks)


@right("06.5")
def multiplied_out(words, source_words, width, blocks):
    return width * (words + source_words + 4 + blocks * (28 * width + 32))


# 06.6 my_top_p(probabilities, p) ------------------------------------------------------------------


@wrong("06.6", "divide by their sum")
def not_renormalised(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    keep = values.cumsum(-1) - values < p
    return torch.zeros_like(probabilities).scatter(-1, order, values * keep)


@wrong("06.6", "one word too early")
def stops_before(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    keep = values.cumsum(-1) <= p
    keep[..., 0] = True
    kept = torch.zeros_like(probabilities).scatter(-1, order, values * keep)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.6", "scatter it back")
def left_sorted(probabilities, p):
    values, _ = probabilities.sort(dim=-1, descending=True)
    kept = values * (values.cumsum(-1) - values < p)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.6", "unlikeliest")
def upside_down(probabilities, p):
    values, order = probabilities.sort(dim=-1)
    keep = values.cumsum(-1) - values < p
    kept = torch.zeros_like(probabilities).scatter(-1, order, values * keep)
    return kept / kept.sum(-1, keepdim=True)


@right("06.6")
def by_library(probabilities, p):
    from attnlab.decoding import next_word_probabilities

    return next_word_probabilities(probabilities.log(), top_p=max(p, 1e-9))


@wrong("06.6", "still counted one by one")
def keeps_every_equal_word(probabilities, p):
    ahead = (probabilities.unsqueeze(-2) > probabilities.unsqueeze(-1)).to(probabilities.dtype)
    before = (ahead @ probabilities.unsqueeze(-1)).squeeze(-1)
    kept = probabilities.masked_fill(before >= p, 0.0)
    return kept / kept.sum(-1, keepdim=True)


# 06.7 my_cached_attention(x, past_k, past_v, w_q, w_k, w_v) ---------------------------------------


@wrong("06.7", "does not see itself")
def forgets_itself(x, past_k, past_v, w_q, w_k, w_v):
    q = x @ w_q
    return (q @ past_k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ past_v


@wrong("06.7", "not divided by √D")
def unscaled(x, past_k, past_v, w_q, w_k, w_v):
    k, v = torch.cat([past_k, x @ w_k], -2), torch.cat([past_v, x @ w_v], -2)
    return (x @ w_q @ k.mT).softmax(-1) @ v


@wrong("06.7", "a second time")
def projects_the_past(x, past_k, past_v, w_q, w_k, w_v):
    k, v = torch.cat([past_k, x], -2) @ w_k, torch.cat([past_v, x], -2) @ w_v
    q = x @ w_q
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


@wrong("06.7", "aligned at the upper left")
def masked(x, past_k, past_v, w_q, w_k, w_v):
    k, v = torch.cat([past_k, x @ w_k], -2), torch.cat([past_v, x @ w_v], -2)
    q = x @ w_q
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = ~torch.ones(1, k.shape[-2], dtype=torch.bool).tril()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v


@wrong("06.7", "`exp` of a large score overflows")
def exponentials_over_their_sum(x, past_k, past_v, w_q, w_k, w_v):
    """The past and the newest token apart, as a running sum would do it."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    root = math.sqrt(q.shape[-1])
    past, new = (q @ past_k.mT / root).exp(), (q @ k.mT / root).exp()
    return (past @ past_v + new * v) / (past.sum(-1, keepdim=True) + new)


@right("06.7")
def newest_in_front(x, past_k, past_v, w_q, w_k, w_v):
    """Order does not matter to a set of keys and values."""
    k, v = torch.cat([x @ w_k, past_k], -2), torch.cat([x @ w_v, past_v], -2)
    return F.scaled_dot_product_attention(x @ w_q, k, v)


@right("06.7")
def in_two_parts(x, past_k, past_v, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    root = math.sqrt(q.shape[-1])
    scores = torch.cat([q @ past_k.mT, q @ k.mT], -1) / root
    alpha = scores.softmax(-1)
    return alpha[..., :-1] @ past_v + alpha[..., -1:] * v


# 06.8 my_scaled_step(weight, gradient, scale, rate) -----------------------------------------------


@wrong("06.8", "still carries the scale")
def forgets_to_divide(weight, gradient, scale, rate):
    gradient = gradient.float()
    return weight - rate * gradient if gradient.isfinite().all() else weight


@wrong("06.8", "vanish again")
def divides_in_half_precision(weight, gradient, scale, rate):
    gradient = (gradient / scale).float()
    return weight - rate * gradient if gradient.isfinite().all() else weight


@wrong("06.8", "skip the whole step")
def keeps_the_good_numbers(weight, gradient, scale, rate):
    gradient = torch.nan_to_num(gradient.float() / scale, nan=0.0, posinf=0.0, neginf=0.0)
    return weight - rate * gradient


@wrong("06.8", "overflow is not looked for")
def trusts_every_gradient(weight, gradient, scale, rate):
    return weight - rate * gradient.float() / scale


@wrong("06.8", "NaN gets through")
def looks_for_infinity_alone(weight, gradient, scale, rate):
    return weight if gradient.isinf().any() else weight - rate * gradient.float() / scale


@right("06.8")
def first_scaled_then_looked_at(weight, gradient, scale, rate):
    step = rate * gradient.double().div(scale)
    whole = bool((step.abs() < torch.inf).all())  # False for nan, too
    return (weight - step if whole else weight).to(weight.dtype)


@right("06.8")
def as_the_optimizer_would(weight, gradient, scale, rate):
    parameter = torch.nn.Parameter(weight.clone())
    parameter.grad = gradient.to(weight.dtype).div(scale)
    if math.isfinite(float(parameter.grad.abs().sum())):
        torch.optim.SGD([parameter], lr=rate).step()
    return parameter.detach()


# 06.9 my_smoothed_losses(logits, target, epsilon) -------------------------------------------------


@wrong("06.9", "plain cross-entropy")
def plain(logits, target, epsilon):
    return F.cross_entropy(logits, target, reduction="none")


@wrong("06.9", "take the mean")
def summed(logits, target, epsilon):
    log_p = logits.log_softmax(-1)
    right_ = log_p[torch.arange(len(target)), target]
    return -(1 - epsilon) * right_ - epsilon * log_p.sum(-1)


@wrong("06.9", "swapped")
def swapped(logits, target, epsilon):
    return F.cross_entropy(logits, target, reduction="none", label_smoothing=1 - epsilon)


@wrong("06.9", "minus a log-probability")
def sign(logits, target, epsilon):
    return -F.cross_entropy(logits, target, reduction="none", label_smoothing=epsilon)


@wrong("06.9", "use `log_softmax`")
def overflows(logits, target, epsilon):
    log_p = logits.softmax(-1).log()
    right_ = log_p.gather(-1, target[:, None])[:, 0]
    return -((1 - epsilon) * right_ + epsilon * log_p.mean(-1))


@right("06.9")
def with_torch(logits, target, epsilon):
    return F.cross_entropy(logits, target, reduction="none", label_smoothing=epsilon)


@right("06.9")
def with_a_target_table(logits, target, epsilon):
    table = torch.full(logits.shape, epsilon / logits.shape[-1])
    table[torch.arange(len(target)), target] += 1 - epsilon
    return -(table * logits.log_softmax(-1)).sum(-1)
