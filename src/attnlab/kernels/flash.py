"""FlashAttention, forwards and backwards, as Triton kernels (Dao et al. 2022; Dao 2023).

    out = flash_attention(q, k, v, causal=True)        # (B, H, L, D); k and v may have G heads

Each program of the forward kernel owns a block of queries, walks over the keys, and keeps the
running softmax of `online_softmax` in the GPU's fast memory. Only the result and one number for
each query, the logarithm of its sum, are written back. The backward kernels compute the weights
again from that number: more arithmetic, far less traffic.

Without a GPU, TRITON_INTERPRET=1 (set before Python imports this) runs the kernels on the CPU.
Everything is computed in float32.

B batch, H heads, G key/value heads, L queries, S keys, D head width; M and N: block sizes.
"""

from typing import Any

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    raise ImportError(
        "these kernels need Triton, which is not installed: run `pip install attnlab[gpu]` "
        "(Linux only), or use `attnlab.attention`, which is fused as well."
    ) from None

M, N = 32, 32  # queries and keys in a block; powers of two, at least 16 on a GPU


@triton.jit
def _rows(x, head, length, rows, cols, D: tl.constexpr):
    """Some rows of one head (length, D) in float32, zeros beyond its edges."""
    inside = (rows[:, None] < length) & (cols[None, :] < D)
    at = head * length * D + rows[:, None] * D + cols[None, :]
    return tl.load(x + at, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def _keep(x, values, head, length, rows, cols, D: tl.constexpr):
    """Write some rows of one head back."""
    inside = (rows[:, None] < length) & (cols[None, :] < D)
    at = head * length * D + rows[:, None] * D + cols[None, :]
    tl.store(x + at, values, mask=inside)


@triton.jit
def _forward(
    q, k, v, out, log_sum, scale, heads, share, length, keys,
    D: tl.constexpr, WIDE: tl.constexpr, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """A block of M queries of one head against all keys it may see."""
    block, head = tl.program_id(0), tl.program_id(1)  # head counts through batch and heads
    kv = (head // heads) * (heads // share) + (head % heads) // share
    rows, cols = block * M + tl.arange(0, M), tl.arange(0, WIDE)
    qs = _rows(q, head, length, rows, cols, D)
    top = tl.full([M], float("-inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    mixed = tl.zeros([M, WIDE], tl.float32)
    end = keys
    if CAUSAL:  # blocks beyond the last visible key are not even read
        end = tl.minimum(keys, (block + 1) * M + keys - length)
    for start in range(0, end, N):
        places = start + tl.arange(0, N)
        ks = _rows(k, kv, keys, places, cols, D)
        vs = _rows(v, kv, keys, places, cols, D)
        scores = tl.dot(qs, tl.trans(ks), input_precision="ieee") * scale
        sees = places[None, :] < keys
        if CAUSAL:
            sees = sees & (places[None, :] <= rows[:, None] + keys - length)
        scores = tl.where(sees, scores, float("-inf"))
        # the online-softmax update: `online_softmax.take`, line by line
        higher = tl.maximum(top, tl.max(scores, 1))
        anchor = tl.where(higher == float("-inf"), 0.0, higher)
        shrink = tl.exp(top - anchor)
        p = tl.exp(scores - anchor[:, None])
        total = total * shrink + tl.sum(p, 1)
        mixed = mixed * shrink[:, None] + tl.dot(p, vs, input_precision="ieee")
        top = higher
    safe = tl.where(total == 0.0, 1.0, total)  # a query that sees no key gets zeros
    _keep(out, mixed / safe[:, None], head, length, rows, cols, D)
    kept = tl.where(total == 0.0, 0.0, top + tl.log(safe))
    tl.store(log_sum + head * length + rows, kept, mask=rows < length)


@triton.jit
def _weights(
    qs, ks, rows, places, logs, scale, length, keys, CAUSAL: tl.constexpr
):  # fmt: skip
    """The softmax weights of a tile, computed again: exp(score − log of the sum)."""
    scores = tl.dot(qs, tl.trans(ks), input_precision="ieee") * scale
    sees = (places[None, :] < keys) & (rows[:, None] < length)
    if CAUSAL:
        sees = sees & (places[None, :] <= rows[:, None] + keys - length)
    return tl.where(sees, tl.exp(scores - logs[:, None]), 0.0)


@triton.jit
def _backward_q(
    q, k, v, grad, log_sum, delta, grad_q, scale, heads, share, length, keys,
    D: tl.constexpr, WIDE: tl.constexpr, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """The gradient of a block of queries: walk over its keys once more."""
    block, head = tl.program_id(0), tl.program_id(1)
    kv = (head // heads) * (heads // share) + (head % heads) // share
    rows, cols = block * M + tl.arange(0, M), tl.arange(0, WIDE)
    qs = _rows(q, head, length, rows, cols, D)
    gs = _rows(grad, head, length, rows, cols, D)
    logs = tl.load(log_sum + head * length + rows, mask=rows < length, other=0.0)
    deltas = tl.load(delta + head * length + rows, mask=rows < length, other=0.0)
    gathered = tl.zeros([M, WIDE], tl.float32)
    end = keys
    if CAUSAL:
        end = tl.minimum(keys, (block + 1) * M + keys - length)
    for start in range(0, end, N):
        places = start + tl.arange(0, N)
        ks = _rows(k, kv, keys, places, cols, D)
        vs = _rows(v, kv, keys, places, cols, D)
        p = _weights(qs, ks, rows, places, logs, scale, length, keys, CAUSAL)
        grad_p = tl.dot(gs, tl.trans(vs), input_precision="ieee")
        gathered += tl.dot(p * (grad_p - deltas[:, None]), ks, input_precision="ieee") * scale
    _keep(grad_q, gathered, head, length, rows, cols, D)


@triton.jit
def _backward_kv(
    q, k, v, grad, log_sum, delta, grad_k, grad_v, scale, heads, share, length, keys,
    D: tl.constexpr, WIDE: tl.constexpr, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """The gradients of a block of keys and values: walk over all queries that share them."""
    block, kv = tl.program_id(0), tl.program_id(1)
    groups = heads // share
    places, cols = block * N + tl.arange(0, N), tl.arange(0, WIDE)
    ks = _rows(k, kv, keys, places, cols, D)
    vs = _rows(v, kv, keys, places, cols, D)
    to_k = tl.zeros([N, WIDE], tl.float32)
    to_v = tl.zeros([N, WIDE], tl.float32)
    begin = 0
    if CAUSAL:  # the first query that sees a key of this block
        begin = tl.maximum(0, block * N - keys + length) // M * M
    for member in range(0, share):
        head = (kv // groups) * heads + (kv % groups) * share + member
        for start in range(begin, length, M):
            rows = start + tl.arange(0, M)
            qs = _rows(q, head, length, rows, cols, D)
            gs = _rows(grad, head, length, rows, cols, D)
            logs = tl.load(log_sum + head * length + rows, mask=rows < length, other=0.0)
            deltas = tl.load(delta + head * length + rows, mask=rows < length, other=0.0)
            p = _weights(qs, ks, rows, places, logs, scale, length, keys, CAUSAL)
            to_v += tl.dot(tl.trans(p), gs, input_precision="ieee")
            grad_p = tl.dot(gs, tl.trans(vs), input_precision="ieee")
            grad_s = p * (grad_p - deltas[:, None])
            to_k += tl.dot(tl.trans(grad_s), qs, input_precision="ieee") * scale
    _keep(grad_k, to_k, kv, keys, places, cols, D)
    _keep(grad_v, to_v, kv, keys, places, cols, D)


class _Flash(torch.autograd.Function):
    """The kernels with their gradient, for inputs that `flash_attention` has checked."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        out = torch.empty_like(q)
        log_sum = q.new_empty(q.shape[:-1], dtype=torch.float32)  # (B, H, L)
        ctx.sizes = _sizes(q, k, causal)
        grid = (triton.cdiv(q.shape[2], M), q.shape[0] * q.shape[1])
        _forward[grid](q, k, v, out, log_sum, scale, **ctx.sizes)
        ctx.save_for_backward(q, k, v, out, log_sum)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, log_sum = ctx.saved_tensors
        grad = grads[0].contiguous()
        # Softmax's gradient needs Σ p · dp of each row, which is the same as out · grad.
        delta = (out.float() * grad.float()).sum(-1)  # (B, H, L)
        made = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        known = (q, k, v, grad, log_sum, delta)
        grid = (triton.cdiv(q.shape[2], M), q.shape[0] * q.shape[1])
        _backward_q[grid](*known, made[0], ctx.scale, **ctx.sizes)
        grid = (triton.cdiv(k.shape[2], N), k.shape[0] * k.shape[1])
        _backward_kv[grid](*known, made[1], made[2], ctx.scale, **ctx.sizes)
        return *made, None, None


def _sizes(q: Tensor, k: Tensor, causal: bool) -> dict[str, Any]:
    width = q.shape[-1]
    return {
        "heads": q.shape[1], "share": q.shape[1] // k.shape[1], "length": q.shape[2],
        "keys": k.shape[2], "D": width, "WIDE": max(16, triton.next_power_of_2(width)),
        "CAUSAL": causal, "M": M, "N": N,
    }  # fmt: skip


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, scale: float | None = None
) -> Tensor:
    """`attention(q, k, v, causal=causal)`: q (B, H, L, D), k and v (B, G, S, D), G divides H."""
    if q.dim() != 4 or k.shape != v.shape or k.dim() != 4 or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"q, k, v have shapes {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}, but "
            "(B, H, L, D), (B, G, S, D), (B, G, S, D) are expected, where G divides H."
        )
    if q.device.type == "cpu" and not triton.knobs.runtime.interpret:
        raise RuntimeError(
            "the tensors are on the CPU, where Triton only runs in its interpreter: set "
            "TRITON_INTERPRET=1 before you start Python, or move them to a GPU."
        )
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return _Flash.apply(q, k, v, causal, scale)
