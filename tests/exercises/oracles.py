"""Judges for exercises with many right answers, written apart from their checkers."""

import math

import torch


def looks_back(function) -> bool:
    """03.5, by the text: at least 0.9 on the day before, any n from 3 to 365."""
    for n in (3, 4, 5, 7, 10, 24, 100, 365):
        w_q, w_k = function(n)
        angle = torch.arange(n).double() * (2 * math.pi / n)
        x = torch.stack([angle.cos(), angle.sin()], -1)
        scores = x @ w_q.double() @ (x @ w_k.double()).T / math.sqrt(w_q.shape[1])
        table = scores.softmax(-1)
        if not bool((table[torch.arange(n), torch.arange(n) - 1] >= 0.9 - 1e-4).all()):
            return False
    return True


def polygon(function) -> bool:
    """04.5: n arrows of length 1 whose largest cosine is that of a regular polygon."""
    for n in (2, 3, 4, 5, 6, 9, 20):
        w = function(n).double()
        if w.shape != (2, n) or float((w.norm(dim=0) - 1).abs().max()) > 1e-3:
            return False
        cosines = w.T @ w - 2 * torch.eye(n).double()
        if float(cosines.max()) > math.cos(2 * math.pi / n) + 2e-3:
            return False
    return True


def counts_back(function) -> bool:
    """05.5: at places 0 to 59 and 5000 to 5059, with the same matrices."""
    for k, width in ((1, 32), (2, 32), (3, 32), (4, 64), (7, 64)):
        w_q, w_k = (w.double() for w in function(k, width))
        for first in (0, 5000):
            place = torch.arange(first, first + 60).double()[:, None]
            angles = place * 10_000 ** (-torch.arange(0, width, 2).double() / width)
            x = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
            table = (x @ w_q @ (x @ w_k).T / math.sqrt(w_q.shape[1])).softmax(-1)
            here = torch.arange(k, 60)
            if not bool((table[here, here - k] >= 0.9 - 5e-3).all()):
                return False
    return True


def _shifted(rows, columns, side, by, *, down=True, across=True):
    """A mask of shifted windows, cell by cell; with `down` alone, only rows are kept apart."""
    cells = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    windows = (cells[:, 0] // side) * (columns // side) + cells[:, 1] // side
    came = torch.stack([cells[:, 0] >= rows - by, cells[:, 1] >= columns - by], -1)
    came &= torch.tensor([down, across])
    tables = []
    for n in range(rows * columns // side**2):
        here = came[windows == n]
        tables.append((here[:, None] == here[None]).all(-1))
    return torch.stack(tables)


WRONG_MASKS = [  # that the text and the hints of 09.5 speak of
    lambda r, c, m, by: _shifted(r, c, m, by, down=False, across=False),
    lambda r, c, m, by: _shifted(r, c, m, by, across=False),
    lambda r, c, m, by: _shifted(r, c, m, by, down=False),
    lambda r, c, m, by: ~_shifted(r, c, m, by),
    lambda r, c, m, by: _shifted(r, c, m, by) & torch.eye(m * m, dtype=torch.bool),
    lambda r, c, m, by: _shifted(r, c, m, m // 2),
    lambda r, c, m, by: _shifted(c, r, m, by),
]


def trusts_the_right_ones(function) -> bool:
    """09.5: True for right masks, False for the wrong ones."""
    return function(_shifted) is True and all(function(one) is False for one in WRONG_MASKS)


def foretells(exercise):
    """A judge of predictions: every one as in the plain answer, a bool where that is one."""
    truth = [(given, exercise.plain()(*given)) for given in exercise.inputs()]

    def judge(function) -> bool:
        said = [(function(*given), true) for given, true in truth]
        return all(a == b and isinstance(a, bool) == isinstance(b, bool) for a, b in said)

    return judge


JUDGES = {
    "03.5": looks_back,
    "04.5": polygon,
    "05.5": counts_back,
    "09.5": trusts_the_right_ones,
}
