"""Search: from a model of the next word to a sentence. Greedy, beam search, sampling.

A model takes part through one function and one state:

    logits, state = step(state, token)        token (N,), logits (N, V): one row per sentence

The state is any nest of tuples, lists and dicts of tensors whose first axis is the sentence, so
rows can be picked and repeated. A recurrent translator and a Transformer with a cache are driven
alike:

    with torch.no_grad():
        state = model.start(source, lengths)
        sentences = greedy(model.step, state, max_length=40)

N sentences, K beams, V words. A sentence is returned as a list of word ids, without begin and end
marks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnlab.attention import log_softmax, softmax
from attnlab.data.sequences import BOS, EOS

State = Any
Step = Callable[[State, Tensor], tuple[Tensor, State]]
Sentence = list[int]


def select(state: State, rows: Tensor) -> State:
    """The state with other rows: repeated, dropped or in another order."""
    if isinstance(state, Tensor):
        return state.index_select(0, rows)
    if isinstance(state, dict):
        return {name: select(value, rows) for name, value in state.items()}
    if isinstance(state, tuple) and hasattr(state, "_fields"):  # a named tuple
        return type(state)(*(select(value, rows) for value in state))
    if isinstance(state, (tuple, list)):
        return type(state)(select(value, rows) for value in state)
    return state  # numbers, names, None


def first_tensor(state: State) -> Tensor:
    """Any tensor of the state: it knows how many sentences there are, and on which device."""
    if isinstance(state, Tensor):
        return state
    parts = state.values() if isinstance(state, dict) else state
    if isinstance(parts, (tuple, list)) or isinstance(state, dict):
        for part in parts:
            if isinstance(part, (Tensor, tuple, list, dict)):
                return first_tensor(part)
    raise ValueError("the state holds no tensor: the number of sentences cannot be told.")


@torch.no_grad()
def greedy(
    step: Step, state: State, *, max_length: int, bos: int = BOS, eos: int = EOS
) -> list[Sentence]:
    """The likeliest next word, again and again, until all sentences have ended."""
    return _one_by_one(step, state, lambda logits: logits.argmax(-1), max_length, bos, eos)


@torch.no_grad()
def sample(
    step: Step,
    state: State,
    *,
    max_length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    bos: int = BOS,
    eos: int = EOS,
) -> list[Sentence]:
    """Draw each next word at random from `next_word_probabilities`."""

    def draw(logits: Tensor) -> Tensor:
        shares = next_word_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
        return torch.multinomial(shares, 1, generator=generator).squeeze(-1)

    return _one_by_one(step, state, draw, max_length, bos, eos)


def next_word_probabilities(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Softmax of logits / temperature over the words that may be drawn: (..., V) -> (..., V).

    `top_k` keeps the k likeliest words. `top_p` keeps the smallest set of likeliest words whose
    probability, at this temperature, is at least p (nucleus sampling, Holtzman et al. 2020). With
    both, a word must pass both.
    """
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}, but it must be above 0: use greedy for 0.")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}, but at least one word must stay: use 1 or more.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is {top_p}, but it is a probability: use 0 < top_p ≤ 1.")
    logits = logits / temperature
    order = logits.argsort(dim=-1, descending=True, stable=True)
    ranked = softmax(logits.gather(-1, order))  # likeliest first
    keep = torch.ones_like(ranked, dtype=torch.bool)
    if top_k is not None:
        keep[..., top_k:] = False
    if top_p is not None:
        before = ranked.cumsum(-1) - ranked  # probability of the words ahead of this one
        keep &= before < top_p
    keep[..., 0] = True
    return softmax(logits, mask=torch.zeros_like(keep).scatter(-1, order, keep))


@dataclass(frozen=True)
class Hypothesis:
    """A sentence that beam search found. Its score is log p divided by the length penalty."""

    tokens: Sentence
    log_probability: float
    score: float


@dataclass(frozen=True)
class BeamStep:
    """One step of beam search, for whoever watches: row n, slot k of sentence n's K beams.

    `seen` has the up to 2K candidates the beams were chosen from, the likeliest first, in the same
    form; those that end are among them.
    """

    parents: list[list[int]]  # which beam of the step before it continues
    tokens: list[list[int]]
    log_probabilities: list[list[float]]  # of the whole beam; −∞ for an empty slot
    seen: "BeamStep | None" = None


@torch.no_grad()
def beam(
    step: Step,
    state: State,
    *,
    width: int = 5,
    max_length: int,
    length_penalty: float = 0.6,
    bos: int = BOS,
    eos: int = EOS,
    watch: Callable[[BeamStep], None] | None = None,
) -> list[list[Hypothesis]]:
    """Keep the `width` likeliest beginnings of every sentence. Returns up to `width` endings
    each, best first.

    Endings are compared by log p / ((5 + length) / 6)^length_penalty (Wu et al. 2016, §7); with 0
    it is plain log p, which favours short sentences. Finished beams make room for others, and a
    sentence is done when no open beam can still beat its endings. One that has not ended after
    `max_length` words is cut there. `watch` is called with every step; it changes nothing.
    """
    if width < 1 or max_length < 1:
        raise ValueError(
            f"width is {width} and max_length {max_length}, but both must be 1 or more."
        )
    tensor = first_tensor(state)
    count, device = len(tensor), tensor.device
    endings: list[list[Hypothesis]] = [[] for _ in range(count)]
    done = [False] * count
    state = select(state, torch.arange(count, device=device).repeat_interleave(width))
    token = torch.full((count * width,), bos, device=device)
    totals = torch.full((count, width), -torch.inf, device=device)
    totals[:, 0] = 0.0  # all beams start alike: only one of them counts
    words = torch.empty(count, width, 0, dtype=torch.long, device=device)

    for length in range(1, max_length + 1):
        logits, state = step(state, token)
        log_p = log_softmax(logits).view(count, width, -1)  # (N, K, V)
        vocabulary = log_p.shape[-1]
        every = (totals.unsqueeze(-1) + log_p).flatten(1)  # (N, K·V)
        # Of 2K candidates at most K end here, so K open ones are left.
        best, at = every.topk(min(2 * width, every.shape[1]), dim=-1)
        parents, tokens = at // vocabulary, at % vocabulary
        ended = tokens == eos
        seen = BeamStep(parents.tolist(), tokens.tolist(), best.tolist()) if watch else None
        _collect(endings, done, words, parents, best, ended, length, width, length_penalty)
        best = best.masked_fill(ended, -torch.inf)
        totals, kept = _pad_topk(best, width)
        parents, tokens = parents.gather(1, kept), tokens.gather(1, kept)
        if watch is not None:
            watch(BeamStep(parents.tolist(), tokens.tolist(), totals.tolist(), seen))
        words = torch.cat(
            [words.gather(1, parents[..., None].expand_as(words)), tokens[..., None]], -1
        )
        _finish(endings, done, totals, max_length, width, length_penalty)
        if all(done):
            break
        rows = (torch.arange(count, device=device)[:, None] * width + parents).flatten()
        state, token = select(state, rows), tokens.flatten()

    for n in range(count):
        if not endings[n]:  # cut off: the open beams are the best there is
            endings[n] = [
                _hypothesis(tokens, total, len(tokens), length_penalty)
                for tokens, total in zip(words[n].tolist(), totals[n].tolist(), strict=True)
                if total > -torch.inf
            ]
    return [sorted(found, key=lambda h: -h.score)[:width] for found in endings]


def _penalty(length: int, alpha: float) -> float:
    return ((5 + length) / 6) ** alpha


def _hypothesis(tokens: Sentence, total: float, length: int, alpha: float) -> Hypothesis:
    return Hypothesis(tokens, total, total / _penalty(length, alpha))


def _pad_topk(best: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The `width` best candidates; if there are fewer, the first is repeated with weight −∞."""
    totals, kept = best.topk(min(width, best.shape[1]), dim=-1)
    missing = width - totals.shape[1]
    if missing:
        totals = torch.nn.functional.pad(totals, (0, missing), value=-torch.inf)
        kept = torch.nn.functional.pad(kept, (0, missing))
    return totals, kept


def _collect(
    endings: list[list[Hypothesis]],
    done: list[bool],
    words: Tensor,
    parents: Tensor,
    best: Tensor,
    ended: Tensor,
    length: int,
    width: int,
    alpha: float,
) -> None:
    """Note the sentences that end with this word, if they are among the `width` best candidates."""
    for n, k in ended[:, :width].nonzero().tolist():
        total = float(best[n, k])
        if not done[n] and total > -torch.inf:
            tokens = words[n, int(parents[n, k])].tolist()
            endings[n].append(_hypothesis(tokens, total, length, alpha))


def _finish(
    endings: list[list[Hypothesis]],
    done: list[bool],
    totals: Tensor,
    max_length: int,
    width: int,
    alpha: float,
) -> None:
    """A sentence is done when `width` endings are better than any open beam can become."""
    open_best = totals.max(dim=1).values.tolist()
    for n, found in enumerate(endings):
        if len(found) >= width:
            worst_kept = sorted((h.score for h in found), reverse=True)[width - 1]
            # log p only falls, so the best case is the same sum under the largest penalty.
            hope = open_best[n] / _penalty(max_length, alpha)
            done[n] = done[n] or hope <= worst_kept
        done[n] = done[n] or open_best[n] == -torch.inf


def _one_by_one(
    step: Step,
    state: State,
    choose: Callable[[Tensor], Tensor],
    max_length: int,
    bos: int,
    eos: int,
) -> list[Sentence]:
    tensor = first_tensor(state)
    token = torch.full((len(tensor),), bos, device=tensor.device)
    ended = torch.zeros(len(tensor), dtype=torch.bool, device=tensor.device)
    columns = []
    for _ in range(max_length):
        logits, state = step(state, token)
        token = choose(logits)
        columns.append(token)
        ended |= token == eos
        if bool(ended.all()):
            break
    return [
        row[: row.index(eos)] if eos in row else row for row in torch.stack(columns, 1).tolist()
    ]
