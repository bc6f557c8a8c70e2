"""Chapter 1: its exercises answered plainly, as the chapter does; slips.py changes them."""

import torch


def my_rnn(x, w, u, b):
    """The states of a vanilla RNN along a sentence: (..., T, H)."""
    h = x.new_zeros(*x.shape[:-2], len(b))  # (..., H)
    states = []
    for t in range(x.shape[-2]):
        word = x[..., t, :]  # (..., E)
        h = torch.tanh(word @ w.T + h @ u.T + b)
        states.append(h)
    return torch.stack(states, dim=-2)


def my_gru_step(x, h, w, u, b):
    """The state after one more word: (..., H)."""
    x_r, x_z, x_n = (x @ w.T + b).chunk(3, dim=-1)
    h_r, h_z, h_n = (h @ u.T).chunk(3, dim=-1)
    r = torch.sigmoid(x_r + h_r)
    z = torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + r * h_n)
    return (1 - z) * n + z * h


def my_log_p(logits, target):
    """log p of each sentence: (B, T, V), (B, T) -> (B,)."""
    log_p = logits.log_softmax(dim=-1)  # (B, T, V)
    of_word = log_p.gather(-1, target[..., None])[..., 0]  # (B, T)
    return (of_word * (target != 0)).sum(dim=-1)


def my_beam_step(totals, log_p, width):
    """The best continuations: totals, parents, words, each (width,)."""
    every = totals[:, None] + log_p  # (K, V)
    best, place = every.flatten().topk(width)
    parents = place // log_p.shape[1]
    words = place % log_p.shape[1]
    return best, parents, words


def my_shares(lengths):
    """Lengths (N,) -> shares (N,) that add up to 1."""
    many = torch.bincount(lengths)[lengths]  # (N,)
    shares = 1 / many
    return shares / shares.sum()


def my_teacher(target):
    """Targets (B, T) -> what is read, what is to be said: (B, T + 1) each."""
    one = torch.ones_like(target[:, :1])
    read = torch.cat([1 * one, target], dim=1)  # ⟨bos⟩ first
    say = torch.cat([target, 0 * one], dim=1)  # room for one more
    ends = (target != 0).sum(dim=1, keepdim=True)  # (B, 1): after the words
    return read, say.scatter(1, ends, 2)  # ⟨eos⟩ there


def state_stays(change):
    """Is the last state the same after the change?"""
    return change in (
        "a word of zeros in front",
        "every word doubled, W halved",
        "U = 0, and the first two words swapped",
    )
