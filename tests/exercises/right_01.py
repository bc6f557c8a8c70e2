"""Chapter 1: right answers in other hands."""

import heapq
from collections import Counter

import numpy as np
import torch
from corpus import hand

# 01.1 my_rnn(x, w, u, b) -------------------------------------------------------------------------


@hand("01.1")
def rnn_in_numpy(x, w, u, b):
    x, w, u, b = (a.numpy() for a in (x, w, u, b))
    states, h = np.zeros((*x.shape[:-1], len(b)), dtype=np.float32), 0.0 * b
    for t in range(x.shape[-2]):
        h = np.tanh(x[..., t, :] @ w.T + h @ u.T + b)
        states[..., t, :] = h
    return states


@hand("01.1")
class Recurrent(torch.nn.Module):
    def forward(self, x, w, u, b):
        out = [torch.zeros(*x.shape[:-2], len(b))]
        for word in x.unbind(-2):
            out.append(torch.tanh(torch.einsum("...e,he->...h", word, w) + out[-1] @ u.mT + b))
        return torch.stack(out[1:], -2)


@hand("01.1")
def rnn_by_recursion(x, w, u, b):
    def states(t):
        if t == 0:
            return [x.new_zeros(*x.shape[:-2], b.shape[0])]
        before = states(t - 1)
        return [*before, (x[..., t - 1, :] @ w.T + before[-1] @ u.T + b).tanh()]

    return torch.stack(states(x.shape[-2])[1:], dim=-2)


# 01.2 my_gru_step(x, h, w, u, b) -----------------------------------------------------------------


@hand("01.2")
def gru_in_numpy(x, h, w, u, b):
    x, h, w, u, b = (a.numpy() for a in (x, h, w, u, b))
    a, c = np.split(x @ w.T + b, 3, axis=-1), np.split(h @ u.T, 3, axis=-1)
    r, z = (1 / (1 + np.exp(-(a[i] + c[i]))) for i in (0, 1))
    return (1 - z) * np.tanh(a[2] + r * c[2]) + z * h


@hand("01.2")
class Gates:
    def __call__(self, x, h, w, u, b):
        n = h.shape[-1]
        r = self.gate(x, h, w[:n], u[:n], b[:n])
        z = self.gate(x, h, w[n : 2 * n], u[n : 2 * n], b[n : 2 * n])
        new = torch.tanh(x @ w[2 * n :].T + b[2 * n :] + r * (h @ u[2 * n :].T))
        return new + z * (h - new)

    @staticmethod
    def gate(x, h, w, u, b):
        return torch.sigmoid(x @ w.T + h @ u.T + b)


@hand("01.2")
def gru_by_einsum(x, h, w, u, b):
    w, u, b = (a.unflatten(0, (3, -1)) for a in (w, u, b))
    given = torch.einsum("ghe,...e->...gh", w, x) + b
    kept = torch.einsum("ghk,...k->...gh", u, h)
    r, z = (given[..., :2, :] + kept[..., :2, :]).sigmoid().unbind(-2)
    return torch.lerp((given[..., 2, :] + r * kept[..., 2, :]).tanh(), h, z)


# 01.3 my_log_p(logits, target) -------------------------------------------------------------------


@hand("01.3")
def log_p_in_numpy(logits, target):
    z, y = logits.double().numpy(), target.numpy()
    top = z.max(-1, keepdims=True)
    log_p = z - top - np.log(np.exp(z - top).sum(-1, keepdims=True))
    words = np.take_along_axis(log_p, y[..., None], -1)[..., 0]
    return np.where(y != 0, words, 0).sum(-1)


@hand("01.3")
def log_p_by_indices(logits, target):
    rows, places = torch.meshgrid(*(torch.arange(n) for n in target.shape), indexing="ij")
    words = logits[rows, places, target] - logits.logsumexp(-1)
    return words.masked_fill(target == 0, 0).sum(1)


@hand("01.3")
def log_p_by_one_hot(logits, target):
    hot = torch.nn.functional.one_hot(target, logits.shape[-1]).to(logits.dtype)
    hot[..., 0] = 0
    return torch.einsum("btv,btv->b", hot, logits.log_softmax(-1))


# 01.4 my_beam_step(totals, log_p, width) ---------------------------------------------------------


@hand("01.4")
def beams_in_numpy(totals, log_p, width):
    every = (totals[:, None] + log_p).numpy()
    order = np.argsort(-every.ravel(), kind="stable")[:width]
    parents, words = np.unravel_index(order, every.shape)
    return every.ravel()[order], parents, words


@hand("01.4")
def beams_with_a_heap(totals, log_p, width):
    every = (
        (float(total + p), -k, -v)
        for k, (total, row) in enumerate(zip(totals, log_p, strict=True))
        for v, p in enumerate(row)
    )
    best, parents, words = zip(*heapq.nlargest(width, every), strict=True)
    return torch.tensor(best), -torch.tensor(parents), -torch.tensor(words)


@hand("01.4")
class Beam:
    def __call__(self, totals, log_p, width):
        every = log_p + totals.unsqueeze(1)
        best, place = every.reshape(-1).sort(descending=True, stable=True)
        best, place = best[:width], place[:width]
        return best, torch.div(place, every.shape[1], rounding_mode="floor"), place % every.shape[1]


# 01.5 my_shares(lengths) -------------------------------------------------------------------------


@hand("01.5")
def shares_in_numpy(lengths):
    kinds, back, count = np.unique(lengths.numpy(), return_inverse=True, return_counts=True)
    return 1 / count[back] / len(kinds)


@hand("01.5")
def shares_by_comparing(lengths):
    alike = (lengths[:, None] == lengths).float()
    return 1 / alike.sum(1) / (1 / alike.sum(1)).sum()


@hand("01.5")
class Shares:
    def __call__(self, lengths):
        count = Counter(lengths.tolist())
        return torch.tensor([1 / count[n] / len(count) for n in lengths.tolist()])


# 01.6 my_teacher(target) -------------------------------------------------------------------------


@hand("01.6")
def lessons_in_numpy(target):
    t = target.numpy()
    read = np.pad(t, ((0, 0), (1, 0)), constant_values=1)
    say = np.pad(t, ((0, 0), (0, 1)))
    say[np.arange(len(t)), (t != 0).sum(1)] = 2
    return read, say


@hand("01.6")
def lessons_by_comparing(target):
    say = torch.nn.functional.pad(target, (0, 1))
    ends = torch.arange(say.shape[1]) == (target != 0).sum(1, keepdim=True)
    return torch.nn.functional.pad(target, (1, 0), value=1), say + 2 * ends


@hand("01.6")
def lessons_row_by_row(target):
    read, say = [], []
    for row in target.tolist():
        words = [word for word in row if word != 0]
        room = [0] * (len(row) - len(words))
        read.append([1, *words, *room])
        say.append([*words, 2, *room])
    return torch.tensor(read), torch.tensor(say)


@hand("01.6")
class Teacher:
    def __call__(self, target):
        many = target.count_nonzero(1).tolist()
        read = torch.zeros(len(target), target.shape[1] + 1, dtype=torch.long)
        say = read.clone()
        for row, n in enumerate(many):
            read[row, 0] = 1
            read[row, 1 : n + 1] = say[row, :n] = target[row, :n]
            say[row, n] = 2
        return [read, say]


# 01.7 state_stays(change) ------------------------------------------------------------------------

STAYS = {
    "the words in reverse order": False,
    "a word of zeros in front": True,
    "a word of zeros at the end": False,
    "every word doubled, W halved": True,
    "the first word said twice": False,
    "U = 0, and the first two words swapped": True,
    "U = 0, and the last two words swapped": False,
}


@hand("01.7")
def looked_up(change):
    return STAYS[change]


@hand("01.7")
def case_by_case(change):
    match change.split():
        case ["a", *_, "front"] | ["every", *_]:
            return True
        case ["U", *_, "first", "two", "words", "swapped"]:
            return True
        case _:
            return False


@hand("01.7")
def one_after_the_other(change):
    if change == "a word of zeros in front":
        return True
    if change == "every word doubled, W halved":
        return True
    return change == "U = 0, and the first two words swapped"


@hand("01.7")
def by_what_is_touched(change):
    if change.startswith("U = 0"):
        return "first" in change
    if "zeros" in change:
        return "front" in change
    return "halved" in change


@hand("01.7")
class Prophet:
    def __call__(self, change):
        x, w, u = torch.randn(4, 2), torch.randn(3, 2), torch.randn(3, 3)
        u = 0 * u if change.startswith("U") else u
        zeros = torch.zeros(1, 2)
        new = {
            "the words in reverse order": x.flip(0),
            "a word of zeros in front": torch.cat([zeros, x]),
            "a word of zeros at the end": torch.cat([x, zeros]),
            "the first word said twice": x[[0, 0, 1, 2, 3]],
            "U = 0, and the first two words swapped": x[[1, 0, 2, 3]],
            "U = 0, and the last two words swapped": x[[0, 1, 3, 2]],
        }.get(change, x)
        return bool(torch.allclose(self.last(new, w, u), self.last(x, w, u), atol=1e-6))

    def last(self, x, w, u):
        h = torch.zeros(len(u))
        for word in x:
            h = torch.tanh(w @ word + u @ h)
        return h
