"""Chapter 7: the mistakes we know, each as the words a learner reads and the wrong answer."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.checks.exercise import Suspects
from attnlab.checks.plain.ch07 import my_induction, my_spans

# 07.1 my_masking(tokens, asked, luck, other, mark)


def _masking(
    tokens: Tensor, asked: Tensor, luck: Tensor, other: Tensor, mark: int, hide: float, swap: float
) -> tuple[Tensor, Tensor]:
    read = torch.where(asked & (luck < hide), mark, tokens)
    read = torch.where(asked & (luck >= hide) & (luck < hide + swap), other, read)
    return read, torch.where(asked, tokens, 0)


def _all_marked(t: Tensor, a: Tensor, u: Tensor, o: Tensor, m: int) -> tuple[Tensor, Tensor]:
    return _masking(t, a, u, o, m, 1.0, 0.0)


def _no_keeping(t: Tensor, a: Tensor, u: Tensor, o: Tensor, m: int) -> tuple[Tensor, Tensor]:
    return _masking(t, a, u, o, m, 0.8, 1.0)


def _asks_only_the_marked(
    t: Tensor, a: Tensor, u: Tensor, o: Tensor, m: int
) -> tuple[Tensor, Tensor]:
    read = _masking(t, a, u, o, m, 0.8, 0.1)[0]
    return read, torch.where(a & (u < 0.8), t, 0)


def _asks_the_changed(t: Tensor, a: Tensor, u: Tensor, o: Tensor, m: int) -> tuple[Tensor, Tensor]:
    read = _masking(t, a, u, o, m, 0.8, 0.1)[0]
    return read, torch.where(read != t, t, 0)


def _spoils_everything(t: Tensor, a: Tensor, u: Tensor, o: Tensor, m: int) -> tuple[Tensor, Tensor]:
    everywhere = torch.ones_like(a)
    return _masking(t, everywhere, u, o, m, 0.8, 0.1)[0], torch.where(a, t, 0)


def _overwritten(
    tokens: Tensor, asked: Tensor, luck: Tensor, other: Tensor, mark: int
) -> tuple[Tensor, Tensor]:
    return torch.where(asked & (luck < 0.9), other, tokens), tokens * asked


MASKING: Suspects = [
    (
        "No mark is left: another word has overwritten it. That is for luck from 0.8 to 0.9.",
        _overwritten,
    ),
    (
        "Every asked token is hidden by the mark. Only those with luck below 0.8 are; a tenth "
        "becomes another word, and a tenth stays.",
        _all_marked,
    ),
    (
        "All that is not marked becomes another word. From luck 0.9 on, a token stays as it is.",
        _no_keeping,
    ),
    (
        "You ask only for the marked tokens. The swapped and the kept ones are asked for as well: "
        "the model cannot tell them from the rest, and that is the point.",
        _asks_only_the_marked,
    ),
    (
        "You ask for what has changed. A token that was asked for and stayed is asked for, too.",
        _asks_the_changed,
    ),
    (
        "Tokens that were not asked for have changed as well. Combine the conditions with "
        "`asked & (…)`.",
        _spoils_everything,
    ),
    (
        "What is read and what is answered have changed places: `return read, answers`.",
        lambda t, a, u, o, m: _masking(t, a, u, o, m, 0.8, 0.1)[::-1],
    ),
]


# 07.2 my_spans(tokens, hidden, first)


def _one_for_each(tokens: Tensor, hidden: Tensor, first: int) -> tuple[Tensor, Tensor]:
    source, target, sentinel = [], [], first
    for token, gone in zip(tokens.tolist(), hidden.tolist(), strict=True):
        if gone:
            source.append(sentinel)
            target += [sentinel, token]
            sentinel += 1
        else:
            source.append(token)
    return torch.tensor(source), torch.tensor([*target, sentinel])


def _same_sentinel(tokens: Tensor, hidden: Tensor, first: int) -> tuple[Tensor, Tensor]:
    source, target = my_spans(tokens, hidden, first)
    return source.clamp(max=first), target.clamp(max=first)


def _no_sentinels_in_the_target(
    tokens: Tensor, hidden: Tensor, first: int
) -> tuple[Tensor, Tensor]:
    return my_spans(tokens, hidden, first)[0], tokens[hidden]


def _without_the_last(tokens: Tensor, hidden: Tensor, first: int) -> tuple[Tensor, Tensor]:
    source, target = my_spans(tokens, hidden, first)
    return source, target[:-1]


def _nothing_in_the_source(tokens: Tensor, hidden: Tensor, first: int) -> tuple[Tensor, Tensor]:
    return tokens[~hidden], my_spans(tokens, hidden, first)[1]


SPANS: Suspects = [
    (
        "Each hidden token has a sentinel of its own. A run of hidden tokens shares one: that is "
        "what makes the text shorter.",
        _one_for_each,
    ),
    ("All runs have the same sentinel. Count up: first, first + 1, …", _same_sentinel),
    (
        "The target lists what was hidden, but not where. Each run begins with its sentinel.",
        _no_sentinels_in_the_target,
    ),
    (
        "The target lacks its end: the next unused sentinel says that all is told.",
        _without_the_last,
    ),
    (
        "The hidden runs have left no trace in the source. A sentinel stands where each one was.",
        _nothing_in_the_source,
    ),
    (
        "Hidden and shown have changed places: `hidden` is True where a token is taken out.",
        lambda tokens, hidden, first: my_spans(tokens, ~hidden, first),
    ),
    (
        "Source and target have changed places: `return source, target`.",
        lambda tokens, hidden, first: my_spans(tokens, hidden, first)[::-1],
    ),
]


# 07.3 ideal_accuracy(shots, letters, digits)

IDEAL: Suspects = [
    (
        "You give no points for guessing. Who has not seen the letter is right once in `digits` "
        "times all the same.",
        lambda shots, letters, digits: 1 - (1 - 1 / letters) ** shots,
    ),
    (
        "You count as if every example showed a new letter. They are drawn with replacement, so "
        "some come twice: a letter is missed k times with probability (1 − 1/letters)^k.",
        lambda shots, letters, digits: (
            (shots / letters).clamp(max=1) + (1 - (shots / letters).clamp(max=1)) / digits
        ),
    ),
    (
        "That is the share of letters *not* seen.",
        lambda shots, letters, digits: (
            (1 - 1 / letters) ** shots + (1 - (1 - 1 / letters) ** shots) / digits
        ),
    ),
    (
        "Letters and digits have changed places: the letter must have been seen, the digit is "
        "guessed.",
        lambda shots, letters, digits: (
            1 - (1 - 1 / digits) ** shots + (1 - 1 / digits) ** shots / letters
        ),
    ),
    (
        "Everybody gets the points for guessing here. Only who has not seen the letter guesses: "
        "multiply by 1 − seen.",
        lambda shots, letters, digits: 1 - (1 - 1 / letters) ** shots + 1 / digits,
    ),
]  # fmt: skip


# 07.4 my_induction(x, strength)


def _causal(scores: Tensor) -> Tensor:
    length = len(scores)
    past = torch.ones(length, length).tril().bool()
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1)


def _written(x: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(x[:1]), x[:-1]])


def _wraps_round(x: Tensor, strength: float) -> Tensor:
    return _causal(strength * x @ x.roll(1, dims=0).T)


INDUCTION: Suspects = [
    (
        "This head weighs the tokens that are *equal* to the present one. An induction head weighs "
        "those that come *after* an equal one: the key is what stood before.",
        lambda x, strength: _causal(strength * x @ x.T),
    ),
    (
        "Query and key have changed places: the query is the present token, the key the one "
        "before.",
        lambda x, strength: _causal(strength * _written(x) @ x.T),
    ),
    (
        "The first layer looks ahead: row i of `previous` has its 1 at i − 1, not at i + 1.",
        lambda x, strength: _causal(strength * x @ torch.cat([x[1:], torch.zeros_like(x[:1])]).T),
    ),
    (
        "`roll` brings the last token to the front. Nothing stands before the first one: set row "
        "0 of `previous` to 0.",
        _wraps_round,
    ),
    (
        "It sees the future: a token may weigh itself and what came before.",
        lambda x, strength: (strength * x @ _written(x).T).softmax(dim=-1),
    ),
    (
        "The strength has been forgotten, so the weights are hardly different from each other.",
        lambda x, strength: my_induction(x, 1.0),
    ),
    (
        "The columns sum to 1, not the rows: each query shares out its weight, dim=-1.",
        lambda x, strength: (
            (strength * x @ _written(x).T)
            .masked_fill(~torch.ones(len(x), len(x)).tril().bool(), -torch.inf)
            .softmax(dim=0)
        ),
    ),
]  # fmt: skip


# 07.5 predict_loss(sizes, losses, larger)


def _line(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    centred = x - x.mean()
    slope = (centred * (y - y.mean())).sum() / centred.square().sum()
    return y.mean() + slope * (at - x.mean())


LAW: Suspects = [
    (
        "That is a straight line through the sizes themselves. A power law is straight on log-log "
        "paper: take the logarithm of both first.",
        lambda n, loss, more: _line(n, loss, more),
    ),
    (
        "You took the logarithm of the sizes only. A power law needs that of the losses, too.",
        lambda n, loss, more: _line(n.log(), loss, more.log()),
    ),
    (
        "You took the logarithm of the losses only: that is an exponential, not a power law.",
        lambda n, loss, more: _line(n, loss.log(), more).exp(),
    ),
    (
        "These are logarithms of losses: come back with `exp`.",
        lambda n, loss, more: _line(n.log(), loss.log(), more.log()),
    ),
    (
        "The line goes through the first and the last point only. Use all runs: least squares.",
        lambda n, loss, more: torch.exp(
            loss[0].log()
            + (loss[-1].log() - loss[0].log()) / (n[-1].log() - n[0].log())
            * (more.log() - n[0].log())
        ),
    ),
]  # fmt: skip


# 07.6 my_perplexity(logits, target)


def _nats(logits: Tensor, target: Tensor) -> Tensor:
    return -logits.log_softmax(dim=-1).gather(-1, target[..., None])[..., 0]


def _real(target: Tensor) -> Tensor:
    return target != 0


PERPLEXITY: Suspects = [
    (
        "The logits of the padding were set to 0, but such a position still counts: as a guess "
        "among all words. Leave it out of the mean.",
        lambda logits, target: _nats(logits * _real(target)[..., None], target).mean().exp(),
    ),
    (
        "Padding is counted as if it were text. Leave out the positions where the target is 0.",
        lambda logits, target: _nats(logits, target).mean().exp(),
    ),
    (
        "This is the mean loss in nats. Perplexity is its exponential.",
        lambda logits, target: _nats(logits, target)[_real(target)].mean(),
    ),
    (
        "Padding adds nothing to the sum now, but still counts in the number of positions: divide "
        "by how many are real.",
        lambda logits, target: (_nats(logits, target) * _real(target)).mean().exp(),
    ),
    (
        "This is the mean of the words' own perplexities. Take the mean of the losses first, then "
        "the exponential.",
        lambda logits, target: _nats(logits, target)[_real(target)].exp().mean(),
    ),
    (
        "Each text has a mean of its own here, so a short text counts as much as a long one. Take "
        "one mean over all real tokens.",
        lambda logits, target: (
            (_nats(logits, target) * _real(target)).sum(-1) / _real(target).sum(-1)
        ).mean().exp(),
    ),
    (
        "The sign is lost: perplexity is e to the mean of *minus* log p, and at least 1.",
        lambda logits, target: (-_nats(logits, target))[_real(target)].mean().exp(),
    ),
]  # fmt: skip


# 07.7 my_utilisation(parameters, tokens, seconds, peak)

UTILISATION: Suspects = [
    (
        "You counted the way forwards alone. The way back costs twice as much: 6ND in all.",
        lambda n, d, s, p: 2 * n * d / (s * p),
    ),
    (
        "A multiplication and an addition are two operations: 6ND, not 3ND.",
        lambda n, d, s, p: 3 * n * d / (s * p),
    ),
    (
        "This is the inverse: how much was done stands above.",
        lambda n, d, s, p: s * p / (6 * n * d),
    ),
    (
        "These are operations a second. Divide by the peak to have a share.",
        lambda n, d, s, p: 6 * n * d / s,
    ),
    (
        "This is a percentage: a share lies between 0 and 1.",
        lambda n, d, s, p: 600 * n * d / (s * p),
    ),
]
