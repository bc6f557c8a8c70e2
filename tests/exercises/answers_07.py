"""Chapter 7: wrong answers with the words they must meet, and right answers written differently."""

import math

import torch
from corpus import right, wrong

# 07.1 my_masking(tokens, asked, luck, other, mark) ---------------------------------------------


def answers_of(tokens, asked):
    return tokens.masked_fill(~asked, 0)


@wrong("07.1", "Every asked token is hidden by the mark")
def marks_all(tokens, asked, luck, other, mark):
    return tokens.masked_fill(asked, mark), answers_of(tokens, asked)


@wrong("07.1", "From luck 0.9 on, a token stays")
def swaps_a_fifth(tokens, asked, luck, other, mark):
    read = torch.where(luck < 0.8, torch.full_like(tokens, mark), other)
    return torch.where(asked, read, tokens), answers_of(tokens, asked)


@wrong("07.1", "You ask only for the marked tokens")
def asks_for_marks(tokens, asked, luck, other, mark):
    read = tokens.masked_fill(asked & (luck < 0.8), mark)
    read = torch.where(asked & (luck >= 0.8) & (luck < 0.9), other, read)
    return read, tokens * (read == mark)


@wrong("07.1", "asked for and stayed is asked for, too")
def asks_for_changes(tokens, asked, luck, other, mark):
    read = tokens.masked_fill(asked & (luck < 0.8), mark)
    read = torch.where(asked & (luck >= 0.8) & (luck < 0.9), other, read)
    return read, tokens * (read != tokens)


@right("07.1")
def by_loops(tokens, asked, luck, other, mark):
    read, answers = tokens.clone(), torch.zeros_like(tokens)
    for b in range(tokens.shape[0]):
        for i in range(tokens.shape[1]):
            if not asked[b, i]:
                continue
            answers[b, i] = tokens[b, i]
            if luck[b, i] < 0.8:
                read[b, i] = mark
            elif luck[b, i] < 0.9:
                read[b, i] = other[b, i]
    return read, answers


@right("07.1")
def by_nested_choices(tokens, asked, luck, other, mark):
    swapped = torch.where(luck < 0.9, other, tokens)
    read = torch.where(luck < 0.8, torch.full_like(tokens, mark), swapped)
    return torch.where(asked, read, tokens), tokens * asked


# 07.2 my_spans(tokens, hidden, first) ------------------------------------------------------------


@wrong("07.2", "A run of hidden tokens shares one")
def a_sentinel_each(tokens, hidden, first):
    numbers = first + hidden.cumsum(0) - 1
    source = torch.where(hidden, numbers, tokens)
    target = torch.stack([numbers[hidden], tokens[hidden]], 1).flatten()
    return source, torch.cat([target, torch.tensor([first + int(hidden.sum())])])


@wrong("07.2", "All runs have the same sentinel")
def one_sentinel(tokens, hidden, first):
    source, target = [], []
    for i, token in enumerate(tokens.tolist()):
        begins = bool(hidden[i]) and (i == 0 or not hidden[i - 1])
        if begins:
            source.append(first)
            target.append(first)
        (target if hidden[i] else source).append(token)
    return torch.tensor(source), torch.tensor([*target, first])


@wrong("07.2", "lacks its end")
def no_end(tokens, hidden, first):
    return by_runs(tokens, hidden, first)[0], by_runs(tokens, hidden, first)[1][:-1]


@wrong("07.2", "left no trace in the source")
def dropped(tokens, hidden, first):
    return tokens[~hidden], by_runs(tokens, hidden, first)[1]


@wrong("07.2", "lacks its end")
def no_end_and_perhaps_nothing(tokens, hidden, first):
    source, target, sentinel, before = [], [], first, False
    for token, gone in zip(tokens.tolist(), hidden.tolist(), strict=True):
        if gone and not before:
            source.append(sentinel)
            target.append(sentinel)
            sentinel += 1
        (target if gone else source).append(token)
        before = gone
    return torch.tensor(source), torch.tensor(target)


@right("07.2")
def by_runs(tokens, hidden, first):
    begins = hidden & ~torch.cat([torch.tensor([False]), hidden[:-1]])
    run = first + begins.cumsum(0) - 1  # the sentinel in force
    source = torch.where(begins, run, tokens)[begins | ~hidden]
    target = []
    for i in hidden.nonzero()[:, 0].tolist():
        target += [int(run[i])] * bool(begins[i]) + [int(tokens[i])]
    return source, torch.tensor([*target, first + int(begins.sum())])


# 07.3 ideal_accuracy(shots, letters, digits) ---------------------------------------------------


@wrong("07.3", "You give no points for guessing")
def no_guessing(shots, letters, digits):
    return 1 - ((letters - 1) / letters) ** shots


@wrong("07.3", "drawn with replacement")
def always_new(shots, letters, digits):
    seen = torch.minimum(shots / letters, torch.ones_like(shots))
    return seen + (1 - seen) / digits


@wrong("07.3", "have changed places: the letter must have been seen")
def crossed(shots, letters, digits):
    missed = (1 - 1 / digits) ** shots
    return 1 - missed + missed / letters


@right("07.3")
def by_logarithms(shots, letters, digits):
    missed = torch.exp(shots * math.log(1 - 1 / letters))
    return 1 - missed * (1 - 1 / digits)


# 07.4 my_induction(x, strength) -----------------------------------------------------------------


def causal(scores):
    return (scores + torch.full(scores.shape, -torch.inf).triu(1)).softmax(-1)


@wrong("07.4", "equal* to the present one")
def same_word(x, strength):
    return causal(strength * x @ x.mT)


@wrong("07.4", "The first layer looks ahead")
def next_token(x, strength):
    following = torch.eye(len(x)).roll(-1, dims=0)
    following[-1] = 0
    return causal(strength * x @ (following @ x).mT)


@wrong("07.4", "brings the last token to the front")
def round_the_corner(x, strength):
    return causal(strength * x @ (torch.eye(len(x)).roll(1, dims=0) @ x).mT)


@wrong("07.4", "It sees the future")
def no_mask(x, strength):
    previous = torch.eye(len(x)).roll(1, dims=0)
    previous[0] = 0
    return (strength * x @ (previous @ x).mT).softmax(-1)


@wrong("07.4", "`exp` of a large score overflows")
def bare_exponentials(x, strength):
    written = torch.cat([torch.zeros(1, x.shape[-1]), x[:-1]])
    power = (strength * x @ written.T).exp().tril()
    return power / power.sum(-1, keepdim=True)


@right("07.4")
def by_tokens(x, strength):
    tokens = x.argmax(-1)
    before = torch.cat([torch.tensor([-1]), tokens[:-1]])
    return causal(strength * (tokens[:, None] == before[None, :]).float())


@right("07.4")
def by_a_diagonal(x, strength):
    previous = torch.diag(torch.ones(len(x) - 1), -1)
    return causal((strength * x) @ (previous @ x).mT)


# 07.5 predict_loss(sizes, losses, larger) -------------------------------------------------------


@wrong("07.5", "take the logarithm of both first")
def straight(sizes, losses, larger):
    design = torch.stack([torch.ones_like(sizes), sizes / 1e4], 1).double()
    found = torch.linalg.lstsq(design, losses[:, None].double()).solution[:, 0]
    return (found[0] + found[1] * larger.double() / 1e4).float()


@wrong("07.5", "You took the logarithm of the sizes only")
def half_log(sizes, losses, larger):
    design = torch.stack([torch.ones_like(sizes), sizes.log()], 1)
    found = torch.linalg.lstsq(design, losses[:, None]).solution[:, 0]
    return found[0] + found[1] * larger.log()


@wrong("07.5", "come back with `exp`")
def stays_in_logs(sizes, losses, larger):
    return least_squares(sizes, losses, larger).log()


@right("07.5")
def least_squares(sizes, losses, larger):
    design = torch.stack([torch.ones_like(sizes), sizes.log()], 1)
    found = torch.linalg.lstsq(design, losses.log()[:, None]).solution[:, 0]
    return found[0].exp() * larger ** found[1]


# 07.6 my_perplexity(logits, target) -------------------------------------------------------------


def nats(logits, target, reduction="mean", **kwargs):
    cross_entropy = torch.nn.functional.cross_entropy
    return cross_entropy(logits.flatten(0, 1), target.flatten(), reduction=reduction, **kwargs)


@wrong("07.6", "Padding is counted as if it were text")
def padding_counts(logits, target):
    return nats(logits, target).exp()


@wrong("07.6", "divide by how many are real")
def padding_in_the_count(logits, target):
    return (nats(logits, target, "sum", ignore_index=0) / target.numel()).exp()


@wrong("07.6", "Perplexity is its exponential")
def no_exponential(logits, target):
    return nats(logits, target, ignore_index=0)


@wrong("07.6", "mean of the words' own perplexities")
def mean_of_exponentials(logits, target):
    each = nats(logits, target, "none")[target.flatten() != 0]
    return each.exp().mean()


@wrong("07.6", "`exp` of a large score overflows")
def bare_exponentials_of_words(logits, target):
    power = logits.exp()
    p = (power / power.sum(-1, keepdim=True)).gather(-1, target[..., None])[..., 0]
    return (-p.log()[target != 0]).mean().exp()


@wrong("07.6", "use `log_softmax`")
def logarithm_of_a_softmax(logits, target):
    p = logits.softmax(-1).gather(-1, target[..., None])[..., 0]
    return (-p[target != 0].log()).mean().exp()


@right("07.6")
def with_ignore_index(logits, target):
    return nats(logits, target, ignore_index=0).exp()


@right("07.6")
def as_a_geometric_mean(logits, target):
    p = logits.double().softmax(-1).gather(-1, target[..., None])[..., 0]
    real = target != 0
    return (p.log() * real).sum().div(-real.sum()).exp().float()


# 07.7 my_utilisation(parameters, tokens, seconds, peak) ------------------------------------------


@wrong("07.7", "You counted the way forwards alone")
def forwards_only(parameters, tokens, seconds, peak):
    return 2 * parameters * tokens / seconds / peak


@wrong("07.7", "This is the inverse")
def upside_down(parameters, tokens, seconds, peak):
    return seconds * peak / 6 / parameters / tokens


@wrong("07.7", "Divide by the peak")
def no_peak(parameters, tokens, seconds, peak):
    return 6 * parameters * tokens / seconds


@right("07.7")
def step_by_step(parameters, tokens, seconds, peak):
    a_second = parameters * tokens / seconds * 6
    return a_second / peak
