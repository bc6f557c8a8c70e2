"""Chapter 7: its exercises answered plainly, as the chapter does; slips.py changes them."""

import torch


def my_masking(tokens, asked, luck, other, mark):
    """All (B, L), mark a number -> what is read (B, L), the answers (B, L)."""
    read = torch.where(asked & (luck < 0.8), mark, tokens)
    swap = asked & (luck >= 0.8) & (luck < 0.9)
    read = torch.where(swap, other, read)
    answers = torch.where(asked, tokens, 0)
    return read, answers


def my_spans(tokens, hidden, first):
    """(L,), (L,), number -> source (S,), target (T,)"""
    source, target = [], []
    sentinel, before = first, False
    for token, gone in zip(tokens.tolist(), hidden.tolist(), strict=False):
        if gone:
            if not before:  # a run begins
                source.append(sentinel)
                target.append(sentinel)
                sentinel += 1
            target.append(token)
        else:
            source.append(token)
        before = gone
    target.append(sentinel)
    return torch.tensor(source), torch.tensor(target)


def ideal_accuracy(shots, letters, digits):
    """Numbers of examples (K,) -> the share of right answers (K,)."""
    seen = 1 - (1 - 1 / letters) ** shots  # (K,)
    return seen + (1 - seen) / digits


def my_induction(x, strength):
    """Tokens (L, V), one-hot -> weights (L, L)."""
    length = len(x)
    previous = torch.eye(length).roll(1, dims=0)  # row i weighs i - 1
    previous[0] = 0  # nothing stands before the first
    written = previous @ x  # (L, V): which token came before
    scores = strength * x @ written.T  # (L, L)
    past = torch.ones(length, length).tril().bool()
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1)


def predict_loss(sizes, losses, larger):
    """(R,), (R,), (M,) -> the losses to expect (M,)."""
    x, y = sizes.log(), losses.log()
    slope = ((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum()
    level = y.mean() - slope * x.mean()
    return torch.exp(level + slope * larger.log())


def my_perplexity(logits, target):
    """(B, L, V), (B, L) padded with 0 -> a number."""
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, target[..., None])[..., 0]  # (B, L)
    real = target != 0
    return (-right[real]).mean().exp()


def my_utilisation(parameters, tokens, seconds, peak):
    """Numbers -> a share between 0 and 1."""
    operations = 6 * parameters * tokens
    return operations / (seconds * peak)
