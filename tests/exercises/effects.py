"""Where many answers are right, a mistake is named by its effect. Is what a message claims true?

Each judge measures the effect by itself, apart from the checker, and returns True when the message
says in words what is wrong and that is so, False when it is not, and None when it gives no more
than a shape, a type or a number.
"""

import math
import re

import torch

from attnlab.checks import exercises


def _numbers(pattern: str, message: str) -> list[float] | None:
    found = re.search(pattern, message)
    return None if found is None else [float(one) for one in found.groups()]


UNSAID = object()


def _shapes(message: str, returned):
    """Of shapes and types: False if they are not as the message says, None if they are.

    UNSAID: the message is about something else.
    """
    true = _as_it_is(message, returned)
    return UNSAID if true is None else None if true else False


def _as_it_is(message: str, returned) -> bool | None:
    """`w_q` has shape (…), the result has shape (…), is a number, two matrices: as it is?"""
    if found := re.search(r"`(w_q|w_k)` has shape (\(.*?\)), expected", message):
        return str(tuple(returned[found[1] == "w_k"].shape)) == found[2]
    if found := re.search(r"the result has shape (\(.*?\)), not", message):
        return str(tuple(returned.shape)) == found[1]
    if found := re.search(r"`(w_q|w_k)` is ", message):
        return not isinstance(returned[found[1] == "w_k"], torch.Tensor)
    if "expected two matrices" in message:
        return not isinstance(returned, tuple | list) or len(returned) != 2
    if "equally wide" in message:
        return returned[0].shape != returned[1].shape
    if "numbers in the result are" in message or "overflow" in message:
        every = returned if isinstance(returned, tuple) else (returned,)
        return "overflow" in message or not all(bool(one.isfinite().all()) for one in every)
    return None


def _table(x, w_q, w_k):
    return (x @ w_q.double() @ (x @ w_k.double()).T / math.sqrt(w_q.shape[1])).softmax(-1)


def looks_back(function, message: str) -> bool | None:
    """03.5: who looks at whom, on the circle of n days."""
    n = int((_numbers(r"n = (\d+)", message) or [7])[0])
    returned = function(n)
    if (known := _shapes(message, returned)) is not UNSAID:
        return known
    angle = torch.arange(n).double() * (2 * math.pi / n)
    table = _table(torch.stack([angle.cos(), angle.sin()], -1), *returned)
    days, most = torch.arange(n), table.argmax(-1)
    before = (days - 1) % n
    if "spreads its attention evenly" in message:
        return bool((table.amax(-1) < 1 / n + 1e-2).all())
    if found := _numbers(r"day (\d+) gives only ([\d.]+)", message):
        day, share = int(found[0]), found[1]
        there = float(table[day, before[day]])
        return bool((most == before).all()) and abs(there - share) < 2e-3
    if found := _numbers(r"(\d+) of \d+ days .* day (\d+) looks at day (\d+)", message):
        right, day, there = map(int, found)
        least = int((most == before).sum())
        tied = int((table[days, before] > table.amax(-1) - 1e-3).sum())
        if (
            not (least <= right <= tied)
            or float(table[day, there]) < float(table[day].max()) - 1e-3
        ):
            return False
        form = returned[0].double() @ returned[1].double().T
        return torch.allclose(form, form.T, atol=1e-4) if "is symmetric" in message else None
    if "every day looks mostly at" in message:
        ahead = (most - days) % n
        words = {0: "itself", 1: "the day after"}.get(int(ahead[0]), "days ahead|days back")
        return bool((ahead == ahead[0]).all()) and re.search(words, message) is not None
    return None


def is_a_polygon(function, message: str) -> bool | None:
    """04.5: lengths and angles of n arrows."""
    n = int((_numbers(r"n = (\d+)", message) or [5])[0])
    w = function(n)
    if (known := _shapes(message, w)) is not UNSAID:
        return known
    w = w.double()
    if found := _numbers(r"length ([\d.]+), not 1", message):
        return bool(((w.norm(dim=0) - found[0]).abs() < 0.01).any())
    if found := _numbers(r"arrows (\d+) and (\d+) have cosine (-?[\d.]+)", message):
        i, j = int(found[0]), int(found[1])
        if abs(float(w[:, i] @ w[:, j]) - found[2]) > 2e-3:
            return False
        if "Two arrows are the same" in message:
            return float(w[:, i] @ w[:, j]) > 0.999
        if "Angles are in radians" in message:
            apart = torch.arange(n).double()[:, None] - torch.arange(n)
            turns = [(apart * 360 / m).cos() for m in (n, n - 1)]
            return any(torch.allclose(w.T @ w, turn, atol=1e-3) for turn in turns)
        if "Half of the plane" in message:
            angles = torch.atan2(w[1], w[0]).sort().values
            gaps = torch.cat([angles.diff(), angles[:1] + 2 * math.pi - angles[-1:]])
            return float(gaps.max()) > math.pi - 0.02
        return None
    return None


def counts_back(function, message: str) -> bool | None:
    """05.5: how far each position looks back."""
    k, width = map(int, _numbers(r"k = (\d+), width = (\d+)", message) or [3, 32])
    first = int((_numbers(r"positions from (\d+)", message) or [0])[0])
    returned = function(k, width)
    if (known := _shapes(message, returned)) is not UNSAID:
        return known
    position = torch.arange(first, first + 60).double()[:, None]
    angles = position * 10_000 ** (-torch.arange(0, width, 2).double() / width)
    table = _table(torch.stack([angles.sin(), angles.cos()], -1).flatten(1), *returned)
    back = torch.arange(60) - table.argmax(-1)
    if "spreads its attention evenly" in message:
        return bool((table.amax(-1) < 0.05).all())
    if found := _numbers(r"position (\d+) looks mostly at the position (-?\d+) back", message):
        row = int(found[0]) - first
        there = float(table[row, row - int(found[1])])
        if there < float(table[row].max()) - 1e-3:  # of two alike, rounding decides
            return False
        return True if bool((back[k:] == back[k]).all()) else None  # all alike: a turn too far
    if "the direction is right" in message:
        return bool((back[k:60] == k).float().mean() > 0.5)
    return None


def trusts(function, message: str) -> bool | None:
    """09.5: which masks are trusted."""
    from oracles import WRONG_MASKS, _shifted

    if "refuses a mask that is right" in message:
        return None if function(_shifted) is False else False
    if "trusts a mask that is wrong" in message:
        return any(function(one) is True for one in WRONG_MASKS)
    if "a test says True or False" in message:
        return any(not isinstance(function(one), bool) for one in (_shifted, *WRONG_MASKS))
    return None


def foretells(id: str):
    """0.6, 1.7, …: which of several predictions does not come true. True: it stays the same."""

    def judge(function, message: str) -> bool | None:
        found = re.search(
            r"With (.+), you predicted (True|False), but .+ (stayed|changed)", message
        )
        if found is None:
            return None
        change, said, happened = found.groups()
        stays = exercises()[id].plain()(change)
        return str(function(change)) == said != str(stays) and (happened == "stayed") == stays

    return judge


EFFECTS = {"03.5": looks_back, "04.5": is_a_polygon, "05.5": counts_back, "09.5": trusts}
EFFECTS |= {id: foretells(id) for id in ("00.6", "01.7", "02.8", "03.8", "05.7")}
