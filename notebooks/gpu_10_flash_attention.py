# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 10
#     gpu: true
#     title: FlashAttention at full size
#     minutes: 35
#     summary: Our Triton kernel beside PyTorch's, forwards and backwards, time and memory against the number of tokens, on your device.
# ---

# %% [markdown]
# # 10 · GPU exercise: FlashAttention at full size
#
# [Chapter 10](10_transformer_pp.ipynb) built the online softmax and ran our Triton kernel in an interpreter. Here it runs where it belongs, beside PyTorch's SDPA and beside attention that writes its table down.
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU the kernel runs in Triton's interpreter, on tiny sizes, in seconds: times mean nothing there. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %% tags=["setup"]
import os

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from attnlab import figures
from attnlab.attention import attention
from attnlab.checks import check
from attnlab.device import find
from attnlab.reproducible import seed

figures.use_style()

# %% tags=["nbval-ignore-output"]
gpu = find()
os.environ["TRITON_INTERPRET"] = gpu.choose(
    cuda="0", mps="1", cpu="1", pretended="1"
)  # before Triton is imported
heads, kv_heads, width = gpu.choose(
    cuda=(16, 4, 64), mps=(4, 2, 16), cpu=(4, 2, 16), pretended=(4, 2, 16)
)
lengths = gpu.choose(
    cuda=[512, 1024, 2048, 4096, 8192, 16384],
    mps=[32, 64, 96],
    cpu=[32, 64, 96],
    pretended=[16, 32],
)
gpu.banner(
    cuda="up to 16,384 tokens. Two minutes, by guess.",
    mps="a small version in the interpreter. Some seconds.",
    cpu="a small version in the interpreter. Some seconds.",
)

# %% tags=["nbval-ignore-output"]
from attnlab.kernels.flash import flash_attention

# %% [markdown]
# ## Three ways, one result
#
# 16 heads of queries share 4 heads of keys (on a GPU), causal, in float32. All three must give the same numbers, forwards and backwards.


# %%
def explicit(q, k, v):
    """The table is written down."""
    return attention(q, k, v, causal=True, fused=False)


def sdpa(q, k, v):
    """PyTorch's kernel."""
    return F.scaled_dot_product_attention(
        q, k, v, is_causal=True, enable_gqa=True
    )


def ours(q, k, v):
    """Our kernel in Triton."""
    return flash_attention(q, k, v, causal=True)


# %%
WAYS = {"explicit": explicit, "SDPA": sdpa, "our Triton kernel": ours}
place = gpu.place


def inputs(n, grad=False):
    seed(0)
    sizes = ((1, heads, n, width), *[(1, kv_heads, n, width)] * 2)
    made = [torch.randn(size, device=place) for size in sizes]
    return [one.requires_grad_(grad) for one in made]


# %% tags=["nbval-ignore-output"]
def results(attend, n):
    given = inputs(n, grad=True)
    out = attend(*given)
    grads = torch.autograd.grad(out.square().sum(), given)
    return [out.detach(), *grads]


N = lengths[0] - 3  # an odd length
expected = results(explicit, N)
worst = {}
for name, attend in WAYS.items():
    pairs = zip(results(attend, N), expected, strict=True)
    worst[name] = [float((a - b).abs().max()) for a, b in pairs]
    print(f"{name:18}", *(f"{gap:.0e}" for gap in worst[name]))

# %% tags=["held"]
assert max(worst["our Triton kernel"]) < 1e-3

# %% [markdown]
# ## Time and memory against N
#
# **Predict first.** Which of the three curves of memory is the steepest? Does the fused kernel change the slope of the *time*?


# %% tags=["nbval-ignore-output"]
def forth_and_back(attend, n):
    """A call that goes forwards and backwards."""
    given = inputs(n, grad=True)

    def run():
        torch.autograd.grad(attend(*given).sum(), given)

    return run


measured = {name: [] for name in WAYS}
for name, attend in WAYS.items():
    with gpu.until_full(name):  # out of memory ends the block
        for n in lengths:
            run = forth_and_back(attend, n)
            row = (n, gpu.memory(run), gpu.seconds(run, repeats=2))
            measured[name].append(row)
            print(
                f"{name:18} {n:6d} {row[1] / 1e6:9.2f} MB {1e3 * row[2]:9.1f} ms"
            )

# %% tags=["hide-input"]
fig, axes = plt.subplots(2, 1, figsize=(6, 6.6), sharex=True)
for (name, rows), line in zip(measured.items(), ("o-", "s--", "^:")):
    n, memory, seconds = zip(*rows)
    axes[0].plot(n, [m / 1e6 for m in memory], line, label=name)
    axes[1].plot(n, [1e3 * s for s in seconds], line, label=name)
axes[0].set(title="Memory beyond the inputs", ylabel="megabytes")
axes[1].set(title="Time, forwards and backwards", ylabel="milliseconds")
axes[1].set(xlabel="tokens $N$")
for ax in axes:
    ax.set(xscale="log", yscale="log")
    ax.set_xticks(lengths, [str(n) for n in lengths])
    ax.minorticks_off()
    ax.legend(fontsize=11)
figures.show(
    fig,
    alt="Memory and time of explicit attention, SDPA and our Triton kernel against the number of tokens, on logarithmic axes.",
    caption="On a GPU: explicit memory grows with N squared, the kernels' with N. How far is our kernel from PyTorch's?",
)

# %% [markdown]
# <details><summary>Why is ours slower than SDPA on a GPU?</summary>
#
# Ours computes in float32 with fixed blocks of 32 × 32, and goes backwards in two walks, each of which computes the weights again. PyTorch's kernel is tuned: larger blocks, tensor cores, one walk. What both share is the shape of the curves.
#
# </details>
#
# ## How much does a block hold?

# %% [markdown] tags=["exercise"] exercise="10.8"
# ### Exercise 10.8 ★★ · The largest block (10 min)
#
# A program of the forward kernel keeps in fast memory, in float32: a block of queries $(M, D)$, a block of keys and one of values $(N, D)$ each, their scores $(M, N)$, and the running `mixed` $(M, D)$, `top` and `total` $(M)$ each. Write `block_bytes(m, n, d)`: how many bytes are these? Then find out which square blocks fit into the 100 KB of an SM.


# %% tags=["stub"] exercise="10.8"
def block_bytes(m, n, d):
    """Bytes of fast memory for one program of the forward kernel."""
    numbers = ...
    return ...


# %% [markdown] tags=["hint"] exercise="10.8"
# Seven things are kept. Write them down with their shapes: four of them have the width $d$.

# %% [markdown] tags=["hint"] exercise="10.8"
# Queries and `mixed`: $2md$. Keys and values: $2nd$. Scores: $mn$. Two numbers per query: $2m$. A float32 has 4 bytes.


# %% tags=["solution"] exercise="10.8"
def block_bytes(m, n, d):
    """Bytes of fast memory for one program of the forward kernel."""
    numbers = 2 * m * d + 2 * n * d + m * n + 2 * m
    return 4 * numbers


# %% tags=["check"] exercise="10.8"
check("10.8", block_bytes)

# %% [markdown]
# ## What to take home
#
# - The kernel is the online softmax of chapter 10, once per block of queries; its result is exact.
# - Memory goes from $N^2$ to $N$, time keeps its slope and loses a factor.
# - A simple kernel has the right shape; the last factor is tuning.
