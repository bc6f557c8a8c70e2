"""Chapter 7: right answers in other hands."""

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand

# 07.1 my_masking(tokens, asked, luck, other, mark) -----------------------------------------------


@hand("07.1")
def masking_in_numpy(tokens, asked, luck, other, mark):
    words, asks, dice = np.asarray(tokens), np.asarray(asked), np.asarray(luck)
    instead = np.where(dice < 0.8, mark, np.where(dice < 0.9, np.asarray(other), words))
    return np.where(asks, instead, words), np.where(asks, words, 0)


@hand("07.1")
class Masking(torch.nn.Module):
    def forward(self, tokens, asked, luck, other, mark):
        read = tokens.clone()
        read[asked & (luck < 0.8)] = mark
        swap = asked & (luck >= 0.8) & (luck < 0.9)
        read[swap] = other[swap]
        return read, tokens * asked


@hand("07.1")
def masking_by_filling(tokens, asked, luck, other, mark):
    hide, keep = luck < 0.8, luck >= 0.9
    read = other.where(~(keep | ~asked), tokens).masked_fill(asked & hide, mark)
    return read, tokens.masked_fill(~asked, 0)


# 07.2 my_spans(tokens, hidden, first) ------------------------------------------------------------


@hand("07.2")
def spans_in_numpy(tokens, hidden, first):
    words, gone = np.asarray(tokens), np.asarray(hidden).astype(bool)
    begins = gone & ~np.concatenate([[False], gone[:-1]])
    number = first + np.cumsum(begins) - 1
    source, target = [], []
    for i, word in enumerate(words):
        if begins[i]:
            source.append(number[i])
            target.append(number[i])
        (target if gone[i] else source).append(word)
    return np.array(source), np.array([*target, first + begins.sum()])


@hand("07.2")
class Spans:
    def __call__(self, tokens, hidden, first):
        runs, last = [], None  # [hidden?, tokens]
        for token, gone in zip(tokens.tolist(), hidden.tolist(), strict=True):
            if gone != last:
                runs.append((gone, []))
            runs[-1][1].append(token)
            last = gone
        source, target, count = [], [], first
        for gone, words in runs:
            if gone:
                source, target, count = [*source, count], [*target, count, *words], count + 1
            else:
                source = source + words
        return torch.tensor(source), torch.tensor([*target, count])


@hand("07.2")
def spans_by_sorting(tokens, hidden, first):
    hidden = hidden.bool()
    begins = hidden & ~F.pad(hidden, (1, 0))[:-1]
    number = first + begins.long().cumsum(0) - 1
    source = torch.where(begins, number, tokens)[begins | ~hidden]
    rows = [torch.stack([number[i], tokens[i]]) if begins[i] else tokens[i : i + 1]
            for i in hidden.nonzero()[:, 0].tolist()]  # fmt: skip
    return source, torch.cat([*rows, first + begins.sum().view(1)])


@hand("07.2")
def spans_by_recursion(tokens, hidden, first):
    def walk(rest, number):
        if not rest:
            return [], [number]
        (token, gone), later = rest[0], rest[1:]
        if not gone:
            source, target = walk(later, number)
            return [token, *source], target
        run = [token]
        while later and later[0][1]:
            run.append(later[0][0])
            later = later[1:]
        source, target = walk(later, number + 1)
        return [number, *source], [number, *run, *target]

    pairs = list(zip(tokens.tolist(), hidden.tolist(), strict=True))
    source, target = walk(pairs, first)
    return torch.tensor(source), torch.tensor(target)


# 07.3 ideal_accuracy(shots, letters, digits) -----------------------------------------------------


@hand("07.3")
def ideal_in_numpy(shots, letters, digits):
    unseen = (1 - 1 / letters) ** np.asarray(shots, dtype=np.float64)
    return (1 - unseen) + unseen / digits


@hand("07.3")
class Ideal:
    def __call__(self, shots, letters, digits):
        return torch.tensor(
            [1 - ((letters - 1) / letters) ** k * (digits - 1) / digits for k in shots.tolist()]
        )


@hand("07.3")
def ideal_by_the_geometric_sum(shots, letters, digits):
    out = []
    for k in shots.tolist():  # first seen at example i
        seen = sum((1 - 1 / letters) ** i / letters for i in range(int(k)))
        out.append(seen + (1 - seen) / digits)
    return torch.tensor(out)


@hand("07.3")
def ideal_by_powers(shots, letters, digits):
    return 1 - (1 - 1 / digits) * torch.pow(torch.tensor(1 - 1 / letters), shots.float())


# 07.4 my_induction(x, strength) ------------------------------------------------------------------


@hand("07.4")
def induction_in_numpy(x, strength):
    tokens = np.asarray(x, dtype=np.float64)
    written = np.vstack([np.zeros_like(tokens[:1]), tokens[:-1]])
    scores = strength * tokens @ written.T
    scores[np.triu_indices(len(tokens), 1)] = -np.inf
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


@hand("07.4")
class Induction(torch.nn.Module):
    def forward(self, x, strength):
        written = F.pad(x, (0, 0, 1, 0))[:-1]
        scores = torch.einsum("iv,jv->ij", x, written) * strength
        later = torch.ones_like(scores).triu(1).bool()
        return scores.masked_fill(later, float("-inf")).softmax(-1)


@hand("07.4")
def induction_row_by_row(x, strength):
    rows = []
    for i in range(len(x)):
        before = torch.cat([torch.zeros_like(x[:1]), x[:i]])
        weights = torch.softmax(strength * (before @ x[i]), -1)
        rows.append(F.pad(weights, (0, len(x) - i - 1)))
    return torch.stack(rows)


# 07.5 predict_loss(sizes, losses, larger) --------------------------------------------------------


@hand("07.5")
def predicted_by_polyfit(sizes, losses, larger):
    slope, level = np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(losses)), 1)
    return np.exp(level + slope * np.log(np.asarray(larger)))


@hand("07.5")
class PowerLaw:
    def __call__(self, sizes, losses, larger):
        x, y = sizes.double().log10(), losses.double().log10()
        slope = torch.cov(torch.stack([x, y]))[0, 1] / x.var()
        return 10 ** (y.mean() + slope * (larger.double().log10() - x.mean()))


@hand("07.5")
def predicted_by_lstsq(sizes, losses, larger):
    table = torch.stack([sizes.log(), torch.ones_like(sizes)], -1).double()
    fitted = torch.linalg.lstsq(table, losses.double().log()[:, None]).solution
    return (torch.stack([larger.log(), torch.ones_like(larger)], -1).double() @ fitted)[:, 0].exp()


@hand("07.5")
def predicted_by_normal_equations(sizes, losses, larger):
    x, y, n = sizes.double().log(), losses.double().log(), len(sizes)
    slope = (n * (x * y).sum() - x.sum() * y.sum()) / (n * (x * x).sum() - x.sum() ** 2)
    a = math.exp((y.sum() - slope * x.sum()) / n)
    return a * larger.double() ** slope


# 07.6 my_perplexity(logits, target) --------------------------------------------------------------


@hand("07.6")
def perplexity_in_numpy(logits, target):
    z, words = np.asarray(logits.detach(), dtype=np.float64), np.asarray(target)
    log_p = z - np.log(np.exp(z - z.max(-1, keepdims=True)).sum(-1, keepdims=True))
    log_p = log_p - z.max(-1, keepdims=True)
    right = np.take_along_axis(log_p, words[..., None], -1)[..., 0]
    return np.exp(-right[words != 0].mean())


@hand("07.6")
class Perplexity(torch.nn.Module):
    def forward(self, logits, target):
        real = target != 0
        return F.cross_entropy(logits[real], target[real]).exp()


@hand("07.6")
def perplexity_by_weights(logits, target):
    right = logits.log_softmax(-1).take_along_dim(target[..., None], -1).squeeze(-1)
    real = (target != 0).to(right)
    return torch.exp(-(right * real).sum() / real.sum())


# 07.7 my_utilisation(parameters, tokens, seconds, peak) ------------------------------------------


@hand("07.7")
def share_of_the_rate(parameters, tokens, seconds, peak):
    return (6 * parameters * tokens / seconds) / peak


@hand("07.7")
class Utilisation:
    def __call__(self, parameters, tokens, seconds, peak):
        forwards, backwards = 2 * parameters * tokens, 4 * parameters * tokens
        return (forwards + backwards) / (peak * seconds)


@hand("07.7")
def share_in_numpy(parameters, tokens, seconds, peak):
    return np.prod([6.0, parameters, tokens]) / np.prod([float(seconds), peak])


@hand("07.7")
def share_of_the_time(parameters, tokens, seconds, peak):
    at_the_peak = 6 * parameters * tokens / peak  # seconds
    return at_the_peak / seconds


@hand("07.6")
def perplexity_as_a_plain_number(logits, target):
    total, count = 0.0, 0
    for b in range(target.shape[0]):
        for i, word in enumerate(target[b].tolist()):
            if word:
                row = logits[b, i].double()
                total += float(row.logsumexp(0) - row[word])
                count += 1
    return math.exp(total / count)
