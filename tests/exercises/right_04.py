"""Chapter 4: right answers in other hands."""

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from corpus import hand
from einops import rearrange

# 04.1 my_split(x, heads) -------------------------------------------------------------------------


@hand("04.1")
def split_in_numpy(x, heads):
    x = x.numpy()
    return np.moveaxis(x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads), -2, -3)


@hand("04.1")
class Split(torch.nn.Module):
    def forward(self, x, heads):
        return x.view(*x.shape[:-1], heads, -1).swapaxes(-2, -3)


@hand("04.1")
def split_by_chunks(x, heads):
    return torch.stack(x.chunk(heads, dim=-1), dim=-3)


# 04.2 my_multi_head(x, w_q, w_k, w_v, w_o, heads) ------------------------------------------------


@hand("04.2")
def multi_in_numpy(x, w_q, w_k, w_v, w_o, heads):
    x, w_q, w_k, w_v, w_o = (a.double().numpy() for a in (x, w_q, w_k, w_v, w_o))
    out = []
    for part in np.split(np.arange(x.shape[-1]), heads):
        q, k, v = (x @ w[:, part] for w in (w_q, w_k, w_v))
        e = q @ np.swapaxes(k, -1, -2) / math.sqrt(len(part))
        e = np.exp(e - e.max(-1, keepdims=True))
        out.append(e / e.sum(-1, keepdims=True) @ v)
    return np.concatenate(out, -1) @ w_o


@hand("04.2")
def multi_by_einsum(x, w_q, w_k, w_v, w_o, heads):
    q, k, v = (rearrange(x @ w, "... l (h d) -> ... l h d", h=heads) for w in (w_q, w_k, w_v))
    table = torch.einsum("...lhd,...shd->...hls", q, k).div(q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("...hls,...shd->...lhd", table, v).flatten(-2) @ w_o


@hand("04.2")
class Multi(torch.nn.Module):
    def forward(self, x, w_q, w_k, w_v, w_o, heads):
        flat = x.reshape(-1, *x.shape[-2:])
        weight = torch.cat([w_q, w_k, w_v], dim=1).T
        out, _ = F.multi_head_attention_forward(
            flat.transpose(0, 1), flat.transpose(0, 1), flat.transpose(0, 1), x.shape[-1], heads,
            weight, None, None, None, False, 0.0, w_o.T, None, training=False, need_weights=False,
        )  # fmt: skip
        return out.transpose(0, 1).reshape(x.shape)


# 04.3 previous_token_score(attention) ------------------------------------------------------------


@hand("04.3")
def previous_in_numpy(attention):
    return np.diagonal(attention.numpy(), -1, -2, -1).mean(-1)


@hand("04.3")
def previous_by_indices(attention):
    here = torch.arange(1, attention.shape[-1])
    return attention[..., here, here - 1].mean(-1)


@hand("04.3")
class Previous:
    def __call__(self, attention):
        return torch.einsum("...ii->...i", attention[..., 1:, :-1]).double().mean(-1)


# 04.4 my_knock_out(merged, heads, gone) ----------------------------------------------------------


@hand("04.4")
def silent_in_numpy(merged, heads, gone):
    x = merged.numpy().copy()
    x.reshape(*x.shape[:-1], heads, -1)[..., list(gone), :] = 0
    return x


@hand("04.4")
def silent_by_where(merged, heads, gone):
    owner = torch.arange(merged.shape[-1]) // (merged.shape[-1] // heads)
    silent = torch.zeros_like(owner, dtype=torch.bool)
    for head in gone:
        silent |= owner == head
    return torch.where(silent, 0.0, merged)


@hand("04.4")
class Silent(torch.nn.Module):
    def forward(self, merged, heads, gone):
        keep = torch.tensor([float(h not in gone) for h in range(heads)])
        return merged * keep.repeat_interleave(merged.shape[-1] // heads)


# 04.5 arrows(n) ----------------------------------------------------------------------------------


@hand("04.5")
def arrows_in_numpy(n):
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)])


@hand("04.5")
def arrows_by_turning(n):
    step = 2 * math.pi / n
    turn = torch.tensor([[math.cos(step), -math.sin(step)], [math.sin(step), math.cos(step)]])
    out = [torch.tensor([0.0, 1.0])]
    for _ in range(n - 1):
        out.append(turn @ out[-1])
    return torch.stack(out, dim=1)


@hand("04.5")
class Arrows:
    def __call__(self, n):
        pairs = [(math.sin(2 * math.pi * i / n), math.cos(2 * math.pi * i / n)) for i in range(n)]
        return torch.tensor(pairs).T


# 04.7 my_share(heads, wishes, shelves) -----------------------------------------------------------


@hand("04.7")
def share_in_numpy(heads, wishes, shelves):
    return np.where(np.arange(wishes) < heads, 1.0, 1 / shelves).mean()


@hand("04.7")
def share_as_a_tensor(heads, wishes, shelves):
    right = torch.full((wishes,), 1 / shelves)
    right[:heads] = 1
    return right.mean()


@hand("04.7")
def share_by_cases(heads, wishes, shelves):
    if heads >= wishes:
        return 1
    return (heads * shelves + wishes - heads) / (shelves * wishes)


@hand("04.7")
class Share:
    def __call__(self, heads, wishes, shelves):
        missing = max(wishes - heads, 0)
        return 1 - missing / wishes * (1 - 1 / shelves)


# 04.6 times(what) --------------------------------------------------------------------------------


def measured(heads, width=64, length=10):
    """Of multi-head attention with so many heads: counted, not known."""
    part = width // heads
    scores = torch.zeros(heads, length, part) @ torch.zeros(heads, part, length)
    return {
        "parameters": 4 * torch.zeros(width, heads * part).numel(),
        "products": scores.numel() * part,
        "weights": scores.numel(),
        "head width": part,
    }


@hand("04.6")
def times_by_counting(what):
    return measured(8)[what] / measured(4)[what]


@hand("04.6")
class Times:
    def __call__(self, what):
        match what:
            case "weights":
                return 2
            case "head width":
                return 1 / 2
        return 1


@hand("04.6")
def times_as_a_power_of_two(what):
    return np.float64(2.0 ** {"weights": 1, "head width": -1}.get(what, 0))
