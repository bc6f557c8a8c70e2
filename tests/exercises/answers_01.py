"""Chapter 1: wrong answers with the words they must meet, and right answers written differently."""

import heapq

import torch
import torch.nn.functional as F  # noqa: N812
from corpus import right, wrong

# 01.1 my_rnn(x, w, u, b) -------------------------------------------------------------------------


@wrong("01.1", "every word is read as if it were the first")
def has_no_memory(x, w, u, b):
    return torch.tanh(x @ w.T + b)


@wrong("01.1", "U is applied the wrong way round")
def turns_u_round(x, w, u, b):
    h, states = x.new_zeros(*x.shape[:-2], len(b)), []
    for t in range(x.shape[-2]):
        h = torch.tanh(x[..., t, :] @ w.T + h @ u + b)
        states.append(h)
    return torch.stack(states, dim=-2)


@wrong("01.1", "The tanh is missing")
def is_linear(x, w, u, b):
    h, states = torch.zeros(*x.shape[:-2], len(b)), []
    for t in range(x.shape[-2]):
        h = x[..., t, :] @ w.T + h @ u.T + b
        states.append(h)
    return torch.stack(states, dim=-2)


@wrong("01.1", "the last state alone")
def returns_the_last_state(x, w, u, b):
    h = torch.zeros(*x.shape[:-2], len(b))
    for t in range(x.shape[-2]):
        h = torch.tanh(x[..., t, :] @ w.T + h @ u.T + b)
    return h


@wrong("01.1", "the states *before* each word")
def keeps_the_state_too_early(x, w, u, b):
    h, states = torch.zeros(*x.shape[:-2], len(b)), []
    for t in range(x.shape[-2]):
        states.append(h)
        h = torch.tanh(x[..., t, :] @ w.T + h @ u.T + b)
    return torch.stack(states, dim=-2)


@right("01.1")
def without_a_gradient(x, w, u, b):
    h, states = torch.zeros(*x.shape[:-2], len(b)), []
    for t in range(x.shape[-2]):
        h = torch.tanh(x[..., t, :] @ w.T + h @ u.T + b).detach()
        states.append(h)
    return torch.stack(states, dim=-2)


@right("01.1")
def by_the_cell_of_torch(x, w, u, b):
    flat = x.reshape(-1, *x.shape[-2:])
    h, states = torch.zeros(len(flat), len(b)), []
    for now in flat.unbind(1):
        h = torch.rnn_tanh_cell(now, h, w, u, b, torch.zeros_like(b))
        states.append(h)
    return torch.stack(states, dim=1).reshape(*x.shape[:-1], len(b))


@right("01.1")
def with_all_inputs_at_once(x, w, u, b):
    of_input = F.linear(x, w, b)
    states = [torch.tanh(of_input[..., 0, :])]
    for a in of_input.unbind(-2)[1:]:
        states.append(torch.tanh(a + F.linear(states[-1], u)))
    return torch.stack(states, -2)


# 01.2 my_gru_step(x, h, w, u, b) -----------------------------------------------------------------


def gates(x, h, w, u, b):
    return (x @ w.T + b).chunk(3, -1), (h @ u.T).chunk(3, -1)


@wrong("01.2", "z and 1 − z are swapped")
def swaps_the_shares(x, h, w, u, b):
    (xr, xz, xn), (hr, hz, hn) = gates(x, h, w, u, b)
    z = torch.sigmoid(xz + hz)
    n = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
    return z * n + (1 - z) * h


@wrong("01.2", "The first paper does that")
def resets_as_in_the_paper(x, h, w, u, b):
    (xr, xz, xn), (hr, hz, _) = gates(x, h, w, u, b)
    z, r = torch.sigmoid(xz + hz), torch.sigmoid(xr + hr)
    n = torch.tanh(xn + (r * h) @ u[-h.shape[-1] :].T)
    return (1 - z) * n + z * h


@wrong("01.2", "The reset gate r has no effect yet")
def forgets_to_reset(x, h, w, u, b):
    (_, xz, xn), (_, hz, hn) = gates(x, h, w, u, b)
    z = torch.sigmoid(xz + hz)
    return (1 - z) * torch.tanh(xn + hn) + z * h


@wrong("01.2", "in the order z, r, n")
def takes_z_first(x, h, w, u, b):
    (xz, xr, xn), (hz, hr, hn) = gates(x, h, w, u, b)
    z = torch.sigmoid(xz + hz)
    n = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
    return (1 - z) * n + z * h


@wrong("01.2", "The candidate n has no tanh")
def forgets_the_tanh(x, h, w, u, b):
    (xr, xz, xn), (hr, hz, hn) = gates(x, h, w, u, b)
    z = torch.sigmoid(xz + hz)
    return (1 - z) * (xn + torch.sigmoid(xr + hr) * hn) + z * h


@right("01.2")
def by_the_cell_of_torch_with_one_bias(x, h, w, u, b):
    flat_x, flat_h = x.reshape(-1, x.shape[-1]), h.reshape(-1, h.shape[-1])
    return torch.gru_cell(flat_x, flat_h, w, u, b, torch.zeros_like(b)).reshape(h.shape)


@right("01.2")
def as_a_step_from_the_old_state(x, h, w, u, b):
    (xr, xz, xn), (hr, hz, hn) = gates(x, h, w, u, b)
    n = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
    return h + torch.sigmoid(-xz - hz) * (n - h)


# 01.3 my_log_p(logits, target) -------------------------------------------------------------------


def word_by_word_log_p(logits, target):
    return logits.log_softmax(-1).gather(-1, target[..., None])[..., 0]


@wrong("01.3", "The padding counts, too")
def counts_the_padding(logits, target):
    return -F.cross_entropy(logits.mT, target, reduction="none").sum(-1)


@wrong("01.3", "This is the mean per word")
def takes_the_mean_of_real_words(logits, target):
    real = (target != 0).float()
    return (word_by_word_log_p(logits, target) * real).sum(1) / real.sum(1)


@wrong("01.3", "The sign is wrong")
def is_the_loss(logits, target):
    return F.cross_entropy(logits.mT, target, reduction="none", ignore_index=0).sum(-1)


@wrong("01.3", "The softmax runs along time")
def softmax_over_time(logits, target):
    log_p = logits.log_softmax(1).gather(-1, target[..., None])[..., 0]
    return (log_p * (target != 0)).sum(-1)


@wrong("01.3", "log 0 is −inf")
def multiplies_first(logits, target):
    p = logits.softmax(-1).gather(-1, target[..., None])[..., 0]
    return torch.where(target == 0, torch.ones_like(p), p).prod(-1).log()


@wrong("01.3", "`log_softmax` avoids both")
def overflows(logits, target):
    e = logits.exp()
    p = (e / e.sum(-1, keepdim=True)).gather(-1, target[..., None])[..., 0]
    return (p.log() * (target != 0)).sum(-1)


@wrong("01.3", "`1` is too much there")
def one_place_too_many(logits, target):
    sums = []
    for row, words in zip(logits.log_softmax(-1), target, strict=True):
        picked = row[torch.arange(len(words) + 1), words]
        sums.append((picked * (words != 0)).sum())
    return torch.stack(sums)


@right("01.3")
def with_the_loss_of_torch(logits, target):
    losses = F.cross_entropy(logits.transpose(1, 2), target, reduction="none", ignore_index=0)
    return -losses.sum(1)


@right("01.3")
def one_sentence_after_the_other(logits, target):
    sums = []
    for row, words in zip(logits, target, strict=True):
        real = words != 0
        picked = row[torch.arange(len(words)), words]
        sums.append((picked - row.logsumexp(-1))[real].sum())
    return torch.stack(sums)


# 01.4 my_beam_step(totals, log_p, width) ---------------------------------------------------------


@wrong("01.4", "Each beam keeps one child")
def one_child_each(totals, log_p, width):
    best, words = (totals[:, None] + log_p).max(dim=1)
    if width <= len(totals):
        best, order = best.topk(width)
        return best, order, words[order]
    return best, torch.arange(len(totals)), words


@wrong("01.4", "The totals so far are forgotten")
def forgets_the_totals(totals, log_p, width):
    best, at = log_p.flatten().topk(width)
    return best, at // log_p.shape[1], at % log_p.shape[1]


@wrong("01.4", "that is greedy search")
def continues_only_the_best(totals, log_p, width):
    parent = totals.argmax()
    best, words = (totals[parent] + log_p[parent]).topk(width)
    return best, parent.repeat(width), words


@wrong("01.4", "Parents and words are swapped")
def swaps_parents_and_words(totals, log_p, width):
    best, at = (totals.unsqueeze(1) + log_p).view(-1).topk(width)
    return best, at % log_p.shape[1], at // log_p.shape[1]


@wrong("01.4", "divided by the number of beams")
def divides_by_the_beams(totals, log_p, width):
    best, at = (totals.unsqueeze(1) + log_p).view(-1).topk(width)
    return best, at // len(totals), at % len(totals)


@wrong("01.4", "logarithms add up")
def multiplies(totals, log_p, width):
    best, at = (totals.unsqueeze(1) * log_p).view(-1).topk(width)
    return best, at // log_p.shape[1], at % log_p.shape[1]


@right("01.4")
def with_a_sorted_list(totals, log_p, width):
    found = heapq.nlargest(
        width,
        [
            (float(totals[k] + log_p[k, v]), k, v)
            for k in range(len(totals))
            for v in range(log_p.shape[1])
        ],
    )
    best, parents, words = zip(*found, strict=True)
    return torch.tensor(best), torch.tensor(parents), torch.tensor(words)


@right("01.4")
def with_unravel(totals, log_p, width):
    every = totals[:, None] + log_p
    best, at = every.flatten().sort(descending=True)
    parents, words = torch.unravel_index(at[:width], every.shape)
    return best[:width], parents, words


# 01.5 my_shares(lengths) -------------------------------------------------------------------------


@wrong("01.5", "Every sentence gets the same share")
def gives_all_the_same(lengths):
    return torch.ones(len(lengths)) / len(lengths)


@wrong("01.5", "the count has to stand below the line")
def favours_the_common(lengths):
    many = torch.bincount(lengths)[lengths].float()
    return many / many.sum()


@wrong("01.5", "favours long sentences by their length")
def favours_the_long(lengths):
    return lengths / lengths.sum()


@wrong("01.5", "divided by their sum")
def does_not_add_up(lengths):
    return 1 / torch.bincount(lengths)[lengths].float()


@wrong("01.5", "a softmax of 1 / count")
def takes_a_softmax(lengths):
    return F.softmax(1 / torch.bincount(lengths)[lengths].float(), dim=0)


@right("01.5")
def length_by_length(lengths):
    shares = torch.zeros(len(lengths))
    different = lengths.unique()
    for n in different:
        same = lengths == n
        shares[same] = 1 / (len(different) * same.sum())
    return shares


@right("01.5")
def by_unique(lengths):
    _, which, many = torch.unique(lengths, return_inverse=True, return_counts=True)
    return 1 / (many[which] * len(many))


# 01.6 my_teacher(target) -------------------------------------------------------------------------


def begun(target):
    return F.pad(target, (1, 0), value=1)


@wrong("01.6", "the end mark stands after the padding")
def still_the_bug(target):
    return begun(target), F.pad(target, (0, 1), value=2)


@wrong("01.6", "two things have changed places")
def end_in_front(target):
    read, say = [], []
    for row in target.tolist():
        words = [word for word in row if word != 0]
        room = [0] * (len(row) - len(words))
        read.append([1, *words, *room])
        say.append([2, *words, *room])
    return torch.tensor(read), torch.tensor(say)


@wrong("01.6", "No sentence has an end mark")
def never_ends(target):
    return begun(target), F.pad(target, (0, 1))


@wrong("01.6", "it will learn to copy it")
def reads_what_it_says(target):
    say = F.pad(target, (0, 1))
    say[torch.arange(len(say)), (target > 0).sum(1)] = 2
    return F.pad(target, (0, 1)), say


@wrong("01.6", "The two results have changed places")
def the_other_way_round(target):
    say = F.pad(target, (0, 1))
    say[torch.arange(len(say)), (target > 0).sum(1)] = 2
    return say, begun(target)


@wrong("01.6", "a sentence ends once")
def ends_for_ever(target):
    say = F.pad(target, (0, 1))
    return begun(target), torch.where(say == 0, 2, say)


@wrong("01.6", "1 begins, 2 ends")
def swapped_marks(target):
    say = F.pad(target, (0, 1))
    say[torch.arange(len(say)), (target > 0).sum(1)] = 1
    return F.pad(target, (1, 0), value=2), say


@right("01.6")
def marks_of_one_kind(target):
    longer = F.pad(target, (0, 1))
    words = (target != 0).sum(1)
    ends = F.one_hot(words, longer.shape[1])
    return F.pad(target, (1, 0), value=1), longer + 2 * ends


@right("01.6")
def the_end_where_a_word_was_read(target):
    """Read on: where padding is said but a word was read, the sentence ends."""
    read = torch.cat([torch.full_like(target[:, :1], 1), target], dim=1)
    say = torch.cat([target, torch.zeros_like(target[:, :1])], dim=1)
    return read, torch.where((say == 0) & (read != 0), 2, say)


# 01.7 state_stays(change) ------------------------------------------------------------------------

KEPT = {
    "a word of zeros in front",
    "every word doubled, W halved",
    "U = 0, and the first two words swapped",
}


@wrong("01.7", "order counts")
def order_does_not(change):
    return change in KEPT | {"the words in reverse order"}


@wrong("01.7", "the state is still the first one")
def silence_counts(change):
    return change in KEPT - {"a word of zeros in front"}


@wrong("01.7", "still passes through U and the tanh")
def silence_never_counts(change):
    return change in KEPT | {"a word of zeros at the end"}


@wrong("01.7", "a word is seen through W alone")
def a_word_is_more(change):
    return change in KEPT - {"every word doubled, W halved"}


@wrong("01.7", "nothing is remembered")
def remembers_without_u(change):
    return change in KEPT - {"U = 0, and the first two words swapped"}


@wrong("01.7", "expected True or False")
def in_words(change):
    return "no"


@right("01.7")
def what_stays(change):
    return change in KEPT


@right("01.7")
def what_changes(change):
    return change.endswith(("in front", "halved", "first two words swapped"))
