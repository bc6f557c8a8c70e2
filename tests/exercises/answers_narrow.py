"""Wrong answers that are right almost everywhere: but not on ties, zeros, extremes, odd signs.

Each fails only where a check might have forgotten to look.
"""

import re

import torch
from corpus import wrong


@wrong("00.3", "A piece may be any sign")
def with_a_regular_expression(parts, pair):
    if not parts:
        return []
    text = "\0".join(["", *parts, ""])
    text = re.sub("(?<=\0){}\0{}(?=\0)".format(*pair), "".join(pair).replace("\\", "\\\\"), text)
    return text[1:-1].split("\0")


@wrong("00.4", "all three given words are nearest")
def among_the_nearest_three(puzzles, words, table):
    row = {word: i for i, word in enumerate(words)}
    unit = table / table.norm(dim=1, keepdim=True)
    found = []
    for a, b, c in puzzles:
        cosines = unit @ (unit[row[b]] - unit[row[a]] + unit[row[c]])
        best = [words[i] for i in cosines.topk(3).indices.tolist()]
        found.append(next((word for word in best if word not in (a, b, c)), best[0]))
    return found


@wrong("00.4", "c is not left out")
def two_left_out(puzzles, words, table):
    row = {word: i for i, word in enumerate(words)}
    unit = table / table.norm(dim=1, keepdim=True)
    found = []
    for a, b, c in puzzles:
        cosines = unit @ (unit[row[b]] - unit[row[a]] + unit[row[c]])
        cosines[row[a]] = cosines[row[b]] = -torch.inf
        found.append(words[int(cosines.argmax())])
    return found


@wrong("01.4", "The width may be larger than the vocabulary")
def best_of_each_beam_first(totals, log_p, width):
    best, words = log_p.topk(width, dim=-1)
    every = (totals[:, None] + best).flatten()
    chosen, place = every.topk(width)
    return chosen, place // width, words.flatten()[place]


@wrong("01.6", "Each has its own length")
def ends_with_the_first(target):
    one = torch.ones_like(target[:, :1])
    say = torch.cat([target, 0 * one], dim=1)
    say[:, (target[0] != 0).sum()] = 2
    return torch.cat([one, target], dim=1), say


@wrong("02.3", "both make a link here")
def all_that_are_largest(alpha, sure, possible):
    links = alpha == alpha.amax(dim=-1, keepdim=True)
    right = (links & sure).sum((-2, -1)) + (links & (sure | possible)).sum((-2, -1))
    return 1 - right / (links.sum((-2, -1)) + sure.sum((-2, -1)))


@wrong("02.4", "A long sentence with gates near 0")
def over_the_running_product(z):
    done = z.clamp(min=1e-20).cumprod(dim=-2)
    return (1 - z) * done[..., -1:, :] / done.clamp(min=1e-38)


@wrong("02.4", "over the entries of a state")
def across_the_state(z):
    after = torch.cat([z[..., 1:], torch.ones_like(z[..., :1])], dim=-1)
    return (1 - z) * after.flip(-1).cumprod(-1).flip(-1)


@wrong("02.6", "Some weights of a row are 0, and several are not")
def one_where_anything_is_zero(alpha):
    words = (-(alpha * alpha.log()).sum(-1)).exp()
    return words.masked_fill((alpha == 0).any(-1), 1.0)


@wrong("05.3", "there is no last one")
def a_clock_of_sixteen_positions(x, offset):
    place = (torch.arange(x.shape[-2]) + offset).minimum(torch.tensor(15 + 1000 * (offset < 16)))
    theta = place[:, None] * 10000 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    a, b = x[..., 0::2], x[..., 1::2]
    turned = [a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()]
    return torch.stack(turned, -1).flatten(-2)


@wrong("05.8", "This is half the exponent")
def counts_pairs_by_ones(factor, width, base):
    power = (width / 2 - 1) / width
    return base * factor ** (1 / power)


@wrong("06.6", "still counted one by one")
def all_as_likely_as_the_last(probabilities, p):
    values = probabilities.sort(dim=-1, descending=True).values
    ahead = values.cumsum(-1) - values
    least = values.masked_fill(ahead >= p, torch.inf).amin(-1, keepdim=True)
    kept = probabilities * (probabilities >= least)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.6", "the border is wrong")
def one_more_where_p_is_met(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    count = (values.cumsum(-1) <= p).sum(-1, keepdim=True) + 1
    values = values * (torch.arange(values.shape[-1]) < count)
    kept = torch.zeros_like(values).scatter(-1, order, values)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.6", "applied once more, not undone")
def put_back_by_gather(probabilities, p):
    values, order = probabilities.sort(dim=-1, descending=True)
    ahead = values.cumsum(-1) - values
    kept = torch.where(ahead < p, values, 0.0).gather(-1, order)
    return kept / kept.sum(-1, keepdim=True)


@wrong("06.8", "Look at the line `if not gradient.sum()")
def asks_the_sum(weight, gradient, scale, rate):
    if not gradient.sum().isfinite():
        return weight
    return weight - rate * gradient.float() / scale


@wrong("03.3", "a matrix product is missing (with `k` in it)")
def never_looks_at_the_keys(q, k, v, mask):
    scores = q / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0)
    return weights @ v


@wrong("02.5", "`bell` is computed and never used")
def forgets_the_bell(e, p, d):
    gap = torch.arange(e.shape[-1]) - p[..., None]
    inside = gap.abs() <= d
    bell = torch.exp(-2 * (gap / d) ** 2)  # noqa: F841
    power = (e - e.amax(-1, keepdim=True)).exp() * inside
    return power
