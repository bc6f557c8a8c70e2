"""Chapter 1: the mistakes we know, each as the words a learner reads and the wrong answer itself.

Where two of them agree on every input tried, the first is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.checks.exercise import Suspects, again

PAD = 0


# 01.1
def rnn(
    x: Tensor,
    w: Tensor,
    u: Tensor,
    b: Tensor,
    squash: Callable[[Tensor], Tensor] = torch.tanh,
    keep: float = 1.0,
) -> Tensor:
    """The right answer, with switches for wrong ones: (…, T, I) -> (…, T, H)."""
    h = x.new_zeros(*x.shape[:-2], len(b))
    states = []
    for now in x.unbind(-2):
        h = squash(now @ w.T + keep * (h @ u.T) + b)
        states.append(h)
    return torch.stack(states, -2)


def _before(x: Tensor, w: Tensor, u: Tensor, b: Tensor) -> Tensor:
    states = rnn(x, w, u, b)
    return torch.cat([torch.zeros_like(states[..., :1, :]), states[..., :-1, :]], -2)


UNROLL: Suspects = [
    (
        "The last state plays no part: every word is read as if it were the first. Add U h, and "
        "hand the new h on to the next step.",
        lambda x, w, u, b: rnn(x, w, u, b, keep=0.0),
    ),
    (
        "U is applied the wrong way round. A state is a row here, so U h is written `h @ u.T`, as "
        "W x is written `x @ w.T`.",
        lambda x, w, u, b: rnn(x, w, u.mT, b),
    ),
    (
        "The tanh is missing: nothing keeps the state between −1 and 1.",
        lambda x, w, u, b: rnn(x, w, u, b, lambda a: a),
    ),
    ("The bias b is missing.", lambda x, w, u, b: rnn(x, w, u, 0 * b)),
    (
        "This is a sigmoid, between 0 and 1. The vanilla cell has a tanh.",
        lambda x, w, u, b: rnn(x, w, u, b, torch.sigmoid),
    ),
    (
        "These are the states *before* each word, beginning with zeros. Keep the state after each "
        "word instead.",
        _before,
    ),
    (
        "The sentence is read from right to left.",
        lambda x, w, u, b: rnn(x.flip(-2), w, u, b).flip(-2),
    ),
    (
        "The sentence is read from right to left, and the states come in that order.",
        lambda x, w, u, b: rnn(x.flip(-2), w, u, b),
    ),
    (
        "This is the last state alone. Collect the state after every word, and stack them along "
        "the second-last axis.",
        lambda x, w, u, b: rnn(x, w, u, b)[..., -1, :],
    ),
    (
        "The states are stacked along the first axis: time comes after the batch, as in x.",
        lambda x, w, u, b: rnn(x, w, u, b).movedim(-2, 0),
    ),
]


# 01.2
def gru(
    x: Tensor, h: Tensor, w: Tensor, u: Tensor, b: Tensor, order: str = "rzn", variant: str = ""
) -> Tensor:
    """The right answer, with switches for wrong ones: (…, I), (…, H) -> (…, H)."""
    mine, theirs = (x @ w.T + b).chunk(3, -1), (h @ u.T).chunk(3, -1)
    at = [order.index(name) for name in "rzn"]
    r = torch.sigmoid(mine[at[0]] + theirs[at[0]])
    z = torch.sigmoid(mine[at[1]] + theirs[at[1]])
    of_state = r * theirs[at[2]]
    if variant == "paper":
        of_state = (r * h) @ u.T.chunk(3, -1)[at[2]]
    elif variant == "no reset":
        of_state = theirs[at[2]]
    elif variant == "all reset":
        return (1 - z) * torch.tanh(r * (mine[at[2]] + theirs[at[2]])) + z * h
    n = of_state + mine[at[2]]
    n = n if variant == "no tanh" else torch.sigmoid(n) if variant == "sigmoid" else torch.tanh(n)
    if variant == "swapped":
        return z * n + (1 - z) * h
    if variant == "candidate":
        return n
    if variant == "added":
        return n + z * h
    return (1 - z) * n + z * h


def _gru(**switches: str) -> Callable[..., Tensor]:
    return lambda x, h, w, u, b: gru(x, h, w, u, b, **switches)


GRU: Suspects = [
    (
        "z and 1 − z are swapped: here z says how much of the old state is *kept*, "
        "(1 − z) ⊙ n + z ⊙ h.",
        _gru(variant="swapped"),
    ),
    (
        "The reset gate acts on h before U. The first paper does that; here, as in torch, it acts "
        "on the product: r ⊙ (U h).",
        _gru(variant="paper"),
    ),
    ("The reset gate r has no effect yet: the candidate uses r ⊙ (U h).", _gru(variant="no reset")),
    (
        "The reset gate acts on all of the candidate. It decides about the past only: "
        "W x + r ⊙ (U h).",
        _gru(variant="all reset"),
    ),
    ("The candidate n has no tanh.", _gru(variant="no tanh")),
    (
        "The candidate n goes through a sigmoid. It is a value, not a gate: tanh.",
        _gru(variant="sigmoid"),
    ),
    ("This is the candidate n alone: mix it with the old state by z.", _gru(variant="candidate")),
    (
        "The candidate is added in full. It gets the share that the old state does not keep, "
        "1 − z.",
        _gru(variant="added"),
    ),
    (
        "The blocks of the weights are taken in the order z, r, n. Here they stand as r, z, n.",
        _gru(order="zrn"),
    ),
    (
        "The blocks of the weights are taken in the order n, z, r. Here they stand as r, z, n.",
        _gru(order="nzr"),
    ),
    ("The bias b is missing.", lambda x, h, w, u, b: gru(x, h, w, u, 0 * b)),
    (
        "The old state plays no part in the gates and the candidate: add U h.",
        lambda x, h, w, u, b: gru(x, h, w, 0 * u, b),
    ),
]


# 01.3
def word_log_p(logits: Tensor, target: Tensor, axis: int = -1) -> Tensor:
    """log p of each word, padding too: (…, T)."""
    return logits.log_softmax(axis).gather(-1, target[..., None])[..., 0]


def log_p(logits: Tensor, target: Tensor) -> Tensor:
    """The right answer: (…, T, V), (…, T) -> (…)."""
    return (word_log_p(logits, target) * (target != PAD)).sum(-1)


def _by_bare_exp(logits: Tensor, target: Tensor) -> Tensor:
    share = logits.exp() / logits.exp().sum(-1, keepdim=True)
    return (share.gather(-1, target[..., None])[..., 0].log() * (target != PAD)).sum(-1)


LOG_P: Suspects = [
    (
        "In float32 exp(89) is inf, and log(0) is −inf. `log_softmax` avoids both.",
        _by_bare_exp,
    ),
    (
        "The padding counts, too. A place where the target is 0 is no word: leave it out of the "
        "sum.",
        lambda logits, target: word_log_p(logits, target).sum(-1),
    ),
    (
        "This is the mean per word. The probability of a sentence is a product over all its "
        "words, so its logarithm is their sum.",
        lambda logits, target: log_p(logits, target) / (target != PAD).sum(-1),
    ),
    (
        "The sign is wrong: this is the loss. A probability is below 1, so log p is negative.",
        lambda logits, target: -log_p(logits, target),
    ),
    (
        "This is the probability itself. Take the logarithm, and better before than after: "
        "products of small numbers vanish.",
        lambda logits, target: log_p(logits, target).exp(),
    ),
    (
        "The probabilities of the words are added up. They multiply, and their logarithms add up.",
        lambda logits, target: (word_log_p(logits, target).exp() * (target != PAD)).sum(-1),
    ),
    (
        "These are logits, not log-probabilities: a log_softmax over the words comes first.",
        lambda logits, target: (logits.gather(-1, target[..., None])[..., 0] * (target != PAD)).sum(
            -1
        ),
    ),
    (
        "The softmax runs along time. At every place the *words* compete: the last axis.",
        lambda logits, target: (word_log_p(logits, target, -2) * (target != PAD)).sum(-1),
    ),
    (
        "These are bits: the logarithm has base 2. Here it is the natural one.",
        lambda logits, target: log_p(logits, target) / math.log(2),
    ),
    (
        "This is one number for the whole batch. Sum over the words of each sentence, the last "
        "axis, and nothing else.",
        lambda logits, target: log_p(logits, target).sum(),
    ),
    (
        "There is one number for each word. Add them up along the sentence.",
        lambda logits, target: word_log_p(logits, target) * (target != PAD),
    ),
    (
        "`squeeze()` drops every axis of size 1, that of a sentence of one word as well. Say which "
        "one: `squeeze(-1)`.",
        lambda logits, target: (
            logits.log_softmax(-1).gather(-1, target[..., None]).squeeze() * (target != PAD)
        ).sum(-1),
    ),
    (
        "The product of so many small numbers is 0 in float32, and log 0 is −inf. Take "
        "logarithms first, then add.",
        lambda logits, target: (
            logits.softmax(-1)
            .gather(-1, target[..., None])[..., 0]
            .masked_fill(target == PAD, 1.0)
            .prod(-1)
            .log()
        ),
    ),
]


# 01.4
Beams = tuple[Tensor, Tensor, Tensor]


def beam_step(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    """The right answer: new totals, parents, words, best first."""
    every = totals[:, None] + log_p
    best, at = every.flatten().topk(width)
    return best, at // log_p.shape[1], at % log_p.shape[1]


def _one_child_each(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    best, words = (totals[:, None] + log_p).max(-1)
    order = best.argsort(descending=True)[:width]
    return best[order], order, words[order]


def _one_child_in_order(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    """The same, not sorted where all of them stay."""
    best, words = (totals[:, None] + log_p).max(-1)
    order = best.topk(width).indices if width <= len(totals) else torch.arange(len(totals))
    return best[order], order, words[order]


def _forgets_totals(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    return beam_step(torch.zeros_like(totals), log_p, width)


def _greedy_parent(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    parent = int(totals.argmax())
    best, words = (totals[parent] + log_p[parent]).topk(width)
    return best, torch.full_like(words, parent), words


def _worst(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    best, at = (totals[:, None] + log_p).flatten().topk(width, largest=False)
    return best, at // log_p.shape[1], at % log_p.shape[1]


def _swapped(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    best, parents, words = beam_step(totals, log_p, width)
    return best, words, parents


def _by_beams(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    best, at = (totals[:, None] + log_p).flatten().topk(width)
    return best, at // len(totals), at % len(totals)


def _upside_down(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    best, parents, words = beam_step(totals, log_p, width)
    return best.flip(0), parents.flip(0), words.flip(0)


def _last_word_only(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    _, parents, words = beam_step(totals, log_p, width)
    return log_p[parents, words], parents, words


def _product(totals: Tensor, log_p: Tensor, width: int) -> Beams:
    best, at = (totals[:, None] * log_p).flatten().topk(width)
    return best, at // log_p.shape[1], at % log_p.shape[1]


BEAM: Suspects = [
    (
        "Each beam keeps one child. But all continuations of all beams compete: one good beam may "
        "have several children, and a bad one none.",
        _one_child_each,
    ),
    (
        "The totals so far are forgotten: a beam that was unlikely stays unlikely. Add its total "
        "to each of its continuations.",
        _forgets_totals,
    ),
    (
        "Only the best beam is continued: that is greedy search, with a list at the end. Let the "
        "continuations of *all* beams compete.",
        _greedy_parent,
    ),
    ("These are the worst continuations: `topk` takes the largest by itself.", _worst),
    (
        "Parents and words are swapped. In the flattened table the place is parent · V + word: "
        "divide for the parent, take the remainder for the word.",
        _swapped,
    ),
    (
        "The place in the flattened table is divided by the number of beams. A row has V entries, "
        "one for each word: divide by V.",
        _by_beams,
    ),
    ("These are the right beams, worst first. Best first, please.", _upside_down),
    (
        "The beams are right, but their totals are those of the last word alone. Return the sums.",
        _last_word_only,
    ),
    (
        "Totals and log-probabilities are multiplied. Probabilities multiply, so their logarithms "
        "add up.",
        _product,
    ),
]
BEAM = again(BEAM, "keeps one child", _one_child_in_order)


# 01.5
def counts(lengths: Tensor) -> Tensor:
    """How many sentences have the length of each: (N,)."""
    return (lengths[:, None] == lengths).sum(-1).float()


def balance(lengths: Tensor) -> Tensor:
    rare = 1 / counts(lengths)
    return rare / rare.sum()


BALANCE: Suspects = [
    (
        "Every sentence gets the same share, so common lengths are drawn most, as before.",
        lambda lengths: torch.full((len(lengths),), 1 / len(lengths)),
    ),
    (
        "Common lengths get *more*: the count has to stand below the line, 1 / count.",
        lambda lengths: counts(lengths) / counts(lengths).sum(),
    ),
    (
        "This favours long sentences by their length. How rare a length is matters here, not how "
        "long it is.",
        lambda lengths: lengths / lengths.sum(),
    ),
    (
        "These are 1 / count. They still have to be divided by their sum, so that they add up to "
        "1.",
        lambda lengths: 1 / counts(lengths),
    ),
    (
        "This is a softmax of 1 / count: its exponentials blur the shares. Divide by the sum.",
        lambda lengths: (1 / counts(lengths)).softmax(-1),
    ),
]


# 01.6 my_teacher(target)
BOS, EOS = 1, 2
Lesson = tuple[Tensor, Tensor]


def _beside(target: Tensor, first: int | None = None, last: int | None = None) -> Tensor:
    """One more column before or after all others."""
    one = torch.ones_like(target[:, :1])
    return torch.cat(
        [
            *([first * one] if first is not None else []),
            target,
            *([last * one] if last is not None else []),
        ],
        1,
    )


def _ended(target: Tensor, mark: int = EOS, shift: int = 0) -> Tensor:
    """The end mark after the last word of each sentence, or some positions further."""
    longer = _beside(target, last=PAD)
    ends = ((target != PAD).sum(1, keepdim=True) + shift).clamp(0, target.shape[1])
    return longer.scatter(1, ends, mark)


def _ended_together(target: Tensor) -> Tensor:
    """The end mark of all where that of the first belongs."""
    longer = _beside(target, last=PAD)
    longer[:, int((target[0] != PAD).sum())] = EOS
    return longer


def teacher(target: Tensor) -> Lesson:
    """The right answer: what is read, what is to be said."""
    return _beside(target, first=BOS), _ended(target)


TEACHER: Suspects = [
    (
        "The bug is still there: the end mark stands after the padding. At the place after its "
        "last word a short sentence has a 0 to say, which the loss leaves out: it never learns to "
        "stop.",
        lambda target: (_beside(target, first=BOS), _beside(target, last=EOS)),
    ),
    (
        "No sentence has an end mark: the decoder never learns to stop.",
        lambda target: (_beside(target, first=BOS), _beside(target, last=PAD)),
    ),
    (
        "The decoder reads the very word it has to say: it will learn to copy it. What is read "
        "lags one word: begin mark first.",
        lambda target: (_beside(target, last=PAD), _ended(target)),
    ),
    (
        "The end mark has taken the place of the last word. It comes one place later.",
        lambda target: (_beside(target, first=BOS), _ended(target, shift=-1)),
    ),
    (
        "The end mark comes one place too late: right after the last word, please.",
        lambda target: (_beside(target, first=BOS), _ended(target, shift=1)),
    ),
    (
        "The two results have changed places: first what is read, then what is to be said.",
        lambda target: (_ended(target), _beside(target, first=BOS)),
    ),
    (
        "Begin and end mark have changed places: 1 begins, 2 ends.",
        lambda target: (_beside(target, first=EOS), _ended(target, mark=BOS)),
    ),
    (
        "What is read begins with the end mark, 2. The begin mark is 1.",
        lambda target: (_beside(target, first=EOS), _ended(target)),
    ),
    (
        "The end mark is read as well. Only `say` has it: nothing is said after it, so nothing has "
        "to be read there.",
        lambda target: (_beside(_ended(target)[:, :-1], first=BOS), _ended(target)),
    ),
    (
        "A short sentence has two end marks: the one after the padding is still there.",
        lambda target: (
            _beside(target, first=BOS),
            _ended(target).maximum(_beside(torch.zeros_like(target), last=EOS)),
        ),
    ),
    (
        "The end mark of every sentence stands where that of the first one belongs. Each has its "
        "own length.",
        lambda target: (_beside(target, first=BOS), _ended_together(target)),
    ),
    (
        "Every place of padding has become an end mark: a sentence ends once.",
        lambda target: (
            _beside(target, first=BOS),
            _beside(target, last=PAD).masked_fill(_beside(target, last=PAD) == PAD, EOS),
        ),
    ),
]
