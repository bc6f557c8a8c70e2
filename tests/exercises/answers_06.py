"""Chapter 6: wrong answers with the words they must meet, and right answers written differently."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

# 06.1 my_layer_norm(x, gain, shift, eps) ---------------------------------------------------------


@wrong("06.1", "divided by E − 1")
def unbiased(x, gain, shift, eps):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
    return gain * (x - mean) / (var + eps).sqrt() + shift


@wrong("06.1", "BatchNorm's direction")
def over_tokens(x, gain, shift, eps):
    mean, var = x.mean(-2, keepdim=True), x.var(-2, correction=0, keepdim=True)
    return gain * (x - mean) / (var + eps).sqrt() + shift


@wrong("06.1", "epsilon stands outside")
def eps_outside(x, gain, shift, eps):
    std = ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True).sqrt()
    return gain * (x - x.mean(-1, keepdim=True)) / (std + eps) + shift


@wrong("06.1", "Gain and shift are missing")
def bare(x, gain, shift, eps):
    return F.layer_norm(x, x.shape[-1:], eps=eps)


@wrong("06.1", "One mean for the whole tensor")
def over_everything(x, gain, shift, eps):
    return (x - x.mean()) / (x.var(correction=0) + eps).sqrt() * gain + shift


@wrong("06.1", "in place")
def in_place(x, gain, shift, eps):
    x -= x.mean(-1, keepdim=True)
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * gain + shift


@right("06.1")
def by_torch(x, gain, shift, eps):
    return F.layer_norm(x, x.shape[-1:], gain, shift, eps)


@right("06.1")
def by_squares(x, gain, shift, eps):
    width = x.shape[-1]
    centred = x - x.sum(-1, keepdim=True) / width
    power = torch.einsum("...i,...i->...", centred, centred)[..., None] / width
    return torch.addcmul(shift, gain, centred * torch.rsqrt(power + eps))


# 06.2 my_rates(steps, width, warm_up) ------------------------------------------------------------


@wrong("06.2", "1/√width is missing")
def no_width(steps, width, warm_up):
    steps = steps.float()
    return torch.minimum(steps**-0.5, steps * warm_up**-1.5)


@wrong("06.2", "the larger of the two branches")
def larger(steps, width, warm_up):
    steps = steps.double()
    return (width**-0.5 * torch.maximum(steps**-0.5, steps * warm_up**-1.5)).float()


@wrong("06.2", "the warm-up is missing")
def cold_start(steps, width, warm_up):
    return (steps.float() * width).rsqrt()


@wrong("06.2", "after the warm-up the rate must fall")
def for_ever_up(steps, width, warm_up):
    return steps * warm_up**-1.5 / math.sqrt(width)


@wrong("06.2", "step · warm_up^−1.5")
def linear_share(steps, width, warm_up):
    steps = steps.float()
    return width**-0.5 * torch.minimum(steps**-0.5, steps / warm_up)


@right("06.2")
def by_where(steps, width, warm_up):
    up = steps / (warm_up * math.sqrt(warm_up * width))
    return torch.where(steps < warm_up, up, (steps.float() * width).rsqrt())


@right("06.2")
def one_by_one(steps, width, warm_up):
    return torch.tensor(
        [(width ** (-0.5)) * min(s**-0.5, s * warm_up**-1.5) for s in steps.tolist()]
    )


# 06.3 my_smoothed_losses(logits, target, epsilon) ------------------------------------------------


@wrong("06.3", "plain cross-entropy")
def plain(logits, target, epsilon):
    return F.cross_entropy(logits, target, reduction="none")


@wrong("06.3", "take the mean")
def summed(logits, target, epsilon):
    log_p = logits.log_softmax(-1)
    right_ = log_p[torch.arange(len(target)), target]
    return -(1 - epsilon) * right_ - epsilon * log_p.sum(-1)


@wrong("06.3", "swapped")
def swapped(logits, target, epsilon):
    return F.cross_entropy(logits, target, reduction="none", label_smoothing=1 - epsilon)


@wrong("06.3", "minus a log-probability")
def sign(logits, target, epsilon):
    return -F.cross_entropy(logits, target, reduction="none", label_smoothing=epsilon)


@wrong("06.3", "use `log_softmax`")
def overflows(logits, target, epsilon):
    log_p = logits.softmax(-1).log()
    right_ = log_p.gather(-1, target[:, None])[:, 0]
    return -((1 - epsilon) * right_ + epsilon * log_p.mean(-1))


@right("06.3")
def with_torch(logits, target, epsilon):
    return F.cross_entropy(logits, target, reduction="none", label_smoothing=epsilon)


@right("06.3")
def with_a_target_table(logits, target, epsilon):
    table = torch.full(logits.shape, epsilon / logits.shape[-1])
    table[torch.arange(len(target)), target] += 1 - epsilon
    return -(table * logits.log_softmax(-1)).sum(-1)


# 06.4 my_top_p(probabilities, p) -----------------------------------------------------------------


@wrong("06.4", "divide by their sum")
def not_renormalised(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    keep = values.cumsum(-1) - values < p
    return torch.zeros_like(probabilities).scatter(-1, order, values * keep)


@wrong("06.4", "one word too early")
def stops_before(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    keep = values.cumsum(-1) <= p
    keep[..., 0] = True
    kept = torch.zeros_like(probabilities).scatter(-1, order, values * keep)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.4", "scatter it back")
def left_sorted(probabilities, p):
    values, _ = probabilities.sort(dim=-1, descending=True)
    kept = values * (values.cumsum(-1) - values < p)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.4", "unlikeliest")
def upside_down(probabilities, p):
    values, order = probabilities.sort(dim=-1)
    keep = values.cumsum(-1) - values < p
    kept = torch.zeros_like(probabilities).scatter(-1, order, values * keep)
    return kept / kept.sum(-1, keepdim=True)


@right("06.4")
def by_library(probabilities, p):
    from attnlab.decoding import next_word_probabilities

    return next_word_probabilities(probabilities.log(), top_p=max(p, 1e-9))


@wrong("06.4", "still counted one by one")
def keeps_every_equal_word(probabilities, p):
    ahead = (probabilities.unsqueeze(-2) > probabilities.unsqueeze(-1)).to(probabilities.dtype)
    before = (ahead @ probabilities.unsqueeze(-1)).squeeze(-1)
    kept = probabilities.masked_fill(before >= p, 0.0)
    return kept / kept.sum(-1, keepdim=True)


# 06.5 my_cached_attention(x, past_k, past_v, w_q, w_k, w_v) --------------------------------------


@wrong("06.5", "does not see itself")
def forgets_itself(x, past_k, past_v, w_q, w_k, w_v):
    q = x @ w_q
    return (q @ past_k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ past_v


@wrong("06.5", "not divided by √D")
def unscaled(x, past_k, past_v, w_q, w_k, w_v):
    k, v = torch.cat([past_k, x @ w_k], -2), torch.cat([past_v, x @ w_v], -2)
    return (x @ w_q @ k.mT).softmax(-1) @ v


@wrong("06.5", "a second time")
def projects_the_past(x, past_k, past_v, w_q, w_k, w_v):
    k, v = torch.cat([past_k, x], -2) @ w_k, torch.cat([past_v, x], -2) @ w_v
    q = x @ w_q
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


@wrong("06.5", "aligned at the upper left")
def masked(x, past_k, past_v, w_q, w_k, w_v):
    k, v = torch.cat([past_k, x @ w_k], -2), torch.cat([past_v, x @ w_v], -2)
    q = x @ w_q
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = ~torch.ones(1, k.shape[-2], dtype=torch.bool).tril()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v


@wrong("06.5", "`exp` of a large score overflows")
def exponentials_over_their_sum(x, past_k, past_v, w_q, w_k, w_v):
    """The past and the newest token apart, as a running sum would do it."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    root = math.sqrt(q.shape[-1])
    past, new = (q @ past_k.mT / root).exp(), (q @ k.mT / root).exp()
    return (past @ past_v + new * v) / (past.sum(-1, keepdim=True) + new)


@right("06.5")
def newest_in_front(x, past_k, past_v, w_q, w_k, w_v):
    """Order does not matter to a set of keys and values."""
    k, v = torch.cat([x @ w_k, past_k], -2), torch.cat([x @ w_v, past_v], -2)
    return F.scaled_dot_product_attention(x @ w_q, k, v)


@right("06.5")
def in_two_parts(x, past_k, past_v, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    root = math.sqrt(q.shape[-1])
    scores = torch.cat([q @ past_k.mT, q @ k.mT], -1) / root
    alpha = scores.softmax(-1)
    return alpha[..., :-1] @ past_v + alpha[..., -1:] * v


# 06.6 my_scaled_step(weight, gradient, scale, rate) ----------------------------------------------


@wrong("06.6", "still carries the scale")
def forgets_to_divide(weight, gradient, scale, rate):
    gradient = gradient.float()
    return weight - rate * gradient if gradient.isfinite().all() else weight


@wrong("06.6", "vanish again")
def divides_in_half_precision(weight, gradient, scale, rate):
    gradient = (gradient / scale).float()
    return weight - rate * gradient if gradient.isfinite().all() else weight


@wrong("06.6", "skip the whole step")
def keeps_the_good_numbers(weight, gradient, scale, rate):
    gradient = torch.nan_to_num(gradient.float() / scale, nan=0.0, posinf=0.0, neginf=0.0)
    return weight - rate * gradient


@wrong("06.6", "overflow is not looked for")
def trusts_every_gradient(weight, gradient, scale, rate):
    return weight - rate * gradient.float() / scale


@wrong("06.6", "NaN gets through")
def looks_for_infinity_alone(weight, gradient, scale, rate):
    return weight if gradient.isinf().any() else weight - rate * gradient.float() / scale


@right("06.6")
def as_the_optimizer_would(weight, gradient, scale, rate):
    parameter = torch.nn.Parameter(weight.clone())
    parameter.grad = gradient.to(weight.dtype).div(scale)
    if math.isfinite(float(parameter.grad.abs().sum())):
        torch.optim.SGD([parameter], lr=rate).step()
    return parameter.detach()
