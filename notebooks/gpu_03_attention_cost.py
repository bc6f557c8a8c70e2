# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 3
#     gpu: true
#     title: What attention costs on your device
#     minutes: 30
#     summary: Memory and time of attention against the number of tokens, explicit against fused, up to what your device holds.
# ---

# %% [markdown]
# # 3 · GPU exercise: what attention costs on your device
#
# [Chapter 3](03_self_attention.ipynb) counted: the table of weights has $N^2$ entries. Here you find out what that means on a real device. You let $N$ grow until the memory is full, compare explicit attention with a fused
# kernel, and then save memory yourself.
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny and takes seconds. In Colab choose *Runtime → Change runtime type → GPU* for the full size. The minutes it announces for a GPU are guesses.

# %% tags=["setup"]
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from attnlab import figures
from attnlab.checks import check
from attnlab.device import find
from attnlab.reproducible import seed

figures.use_style()

# %% tags=["nbval-ignore-output"]
gpu = find()
dtype, heads, width = gpu.choose(
    cuda=(torch.float16, 8, 64),
    mps=(torch.float16, 8, 64),
    cpu=(torch.float32, 4, 32),
    pretended=(torch.float16, 2, 8),
)
longest, patience = gpu.choose(  # tokens, seconds a run may take
    cuda=(2**17, 20.0), mps=(2**13, 5.0), cpu=(2**11, 1.5)
)
gpu.banner(
    cuda="N doubles until the memory is full. Two minutes, by guess.",
    mps=f"N goes up to {longest}. About a minute.",
    cpu=f"a small version, N goes up to {longest}. A few seconds.",
)

# %% [markdown]
# ## Two ways to write the same thing
#
# Both compute $\operatorname{softmax}(QK^\top/\sqrt D)\,V$. The first one writes the whole table of weights, $(N, N)$ for each head, into memory. The second one is a fused kernel: it walks over the keys in blocks and
# never holds more than a corner of the table ([Dao et al. 2022](https://arxiv.org/abs/2205.14135); chapter 10 builds it by hand). PyTorch picks the kernel by the device, and not every device has a fused one: your printout will tell.


# %%
def explicit(q, k, v):
    """(H, N, D) -> (H, N, D), with the (H, N, N) table in memory."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v


def fused(q, k, v):
    """The same numbers from PyTorch's kernel."""
    return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def inputs(n):
    seed(0)
    shape = (3, heads, n, width)
    return torch.randn(shape, device=gpu.place, dtype=dtype).unbind(0)


def apart(a, b):
    """The largest difference, in steps of the numbers' precision."""
    return float((a - b).abs().max()) / torch.finfo(dtype).eps


q, k, v = inputs(256)
steps_apart = apart(explicit(q, k, v), fused(q, k, v))
print(f"explicit and fused differ by {steps_apart:.0f} rounding steps")

# %% tags=["held"]
assert steps_apart < 20

# %% [markdown]
# ## Measuring
#
# **Time** is easy: the best of a few runs. A GPU works in the background, so wait for it before you read the clock.
#
# **Memory**: a CUDA device keeps a record of its peak. Other devices do not, and there we look at the largest tensor that was made on the way. For explicit attention that is the table. It does not show what a kernel uses inside itself: there the fused number is a lower bound.


# %%
@torch.no_grad()
def seconds(attend, q, k, v):
    """The best of three runs, after one to warm up."""
    return gpu.seconds(lambda: attend(q, k, v), repeats=3)


@torch.no_grad()
def memory(attend, q, k, v):
    """Bytes beyond the inputs: the peak, or the largest tensor."""
    return gpu.memory(lambda: attend(q, k, v))


# %% [markdown]
# ## Until it no longer fits
#
# **Predict first.** One table for all heads has $H N^2$ numbers of 2 bytes (16 bits, on a GPU) or 4 bytes (32 bits, on a CPU). Write down for which $N$ it is as large as the memory of your device.
#
# The loop doubles $N$. It stops a curve when the memory is full or a run gets slow. Running out of memory is not a crash: PyTorch raises an error, we catch it, and go on.


# %%
def measure(attend, name):
    """Rows of (N, bytes, seconds), until memory or patience ends."""
    rows, n, spent = [], 256, 0.0
    with gpu.until_full(name):  # out of memory ends the block
        while n <= longest and spent <= patience:
            q, k, v = inputs(n)
            used = memory(attend, q, k, v)
            spent = seconds(attend, q, k, v)
            rows.append((n, used, spent))
            n *= 2
    return rows


# %% tags=["nbval-ignore-output"]
results = {
    "explicit": measure(explicit, "explicit"),
    "fused": measure(fused, "fused"),
}
size = torch.finfo(dtype).bits // 8
for name, rows in results.items():
    print(name)
    for n, used, spent in rows:
        tables = used / (heads * n * n * size)
        print(
            f"  N = {n:6d} {used / 1e6:9.1f} MB {tables:6.2f} tables", end=""
        )
        print(f" {1e3 * spent:9.2f} ms")

# %% [markdown]
# On any device, explicit attention needs at least one whole table. And the fused one, at the largest $N$ that both reach?

# %% tags=["nbval-ignore-output"]
both = min(len(results["explicit"]), len(results["fused"])) - 1
n_both = results["explicit"][both][0]
table = heads * n_both**2 * size
share = {name: rows[both][1] / table for name, rows in results.items()}
for name, tables in share.items():
    print(f"N = {n_both}: {name} needs {tables:.2f} tables")

# %% tags=["held"]
assert share["explicit"] >= 1
assert share["fused"] < 0.5
for n, used, _ in results["explicit"]:
    assert used >= heads * n * n * size
n, used, _ = results["fused"][-1]
assert used < heads * n * n * size / 4
if gpu.kind == "cpu":
    assert used == heads * n * width * size  # nothing larger than the output

# %% tags=["hide-input"]
fig, axes = plt.subplots(2, 1, figsize=(5.8, 6.4), sharex=True)
reached = sorted({n for rows in results.values() for n, *_ in rows})
for (name, rows), marker in zip(results.items(), "os"):
    lengths, used, spent = zip(*rows)
    axes[0].plot(lengths, [b / 1e6 for b in used], marker + "-", label=name)
    axes[1].plot(lengths, [1e3 * s for s in spent], marker + "-", label=name)
axes[0].plot(
    reached,
    [heads * n * n * size / 1e6 for n in reached],
    ":",
    color="grey",
    label="one table, $HN^2$",
)
axes[0].plot(
    reached,
    [heads * n * width * size / 1e6 for n in reached],
    "--",
    color="grey",
    label="one output, $HND$",
)
n_last, _, t_last = results["fused"][-1]
axes[1].plot(
    reached,
    [1e3 * t_last * (n / n_last) ** 2 for n in reached],
    ":",
    color="grey",
    label="$N^2$",
)
axes[0].set(title="Memory beyond the inputs", ylabel="megabytes")
axes[1].set(title="Time", ylabel="milliseconds")
for ax in axes:
    ax.set(xscale="log", yscale="log")
    ax.set_xticks(
        reached, [str(n) if n < 1024 else f"{n // 1024}k" for n in reached]
    )
    ax.minorticks_off()
    ax.legend(fontsize=11)
axes[1].set_xlabel("tokens $N$")
figures.show(
    fig,
    alt="Memory and time of explicit and fused attention against the number of tokens, with theory curves. Explicit "
    "memory follows N squared, fused memory follows N; the times are drawn beside a line for N squared.",
    caption="Above: which theory curve does each follow? Below: does the fused kernel change the slope?",
)

# %% [markdown]
# **Read the figure.** What does the fused kernel change, and what does it not change?
#
# <details><summary>Answer</summary>
#
# It changes the *memory* from $N^2$ to $N$, because the table is never written. It does not change the *number of operations*: every query still meets every key, so expect the time of long texts to keep a slope of about 2. Where the explicit curve rises faster at its end, moving the table has become the larger part of its cost. Where it is faster, it is by a factor:
# it does not move the table to memory and back ([Dao et al. 2022](https://arxiv.org/abs/2205.14135)).
#
# </details>
#
# ## The longest text (5 min)
#
# Your explicit attention stopped at some $N$, or would. A model with 12 layers is *trained*, so every layer keeps its weights for the backward pass. How long may the text be with 16 GB, $H = 12$ heads and 2 bytes per number, if we
# count the tables alone? And with a batch of 8 texts? Guess, then compute it here.

# %%
memory_bytes, layers, heads_each, bytes_each = 16e9, 12, 12, 2
# your turn

# %% tags=["held"]
for texts, answer in ((1, 7450), (8, 2600)):
    one = texts * layers * heads_each * bytes_each
    assert math.isclose(math.sqrt(memory_bytes / one), answer, rel_tol=0.02)

# %% [markdown]
# <details><summary>Answer</summary>
#
# One text fills $12 \cdot 12 \cdot 2 \cdot N^2$ bytes, which is 16 GB at $N = \sqrt{16 \cdot 10^9 / 288}$, about 7,450 tokens.
#
# $N$ is squared, so 8 times as many texts make it smaller by a factor of only $\sqrt 8 \approx 2.8$: about 2,600 tokens. The other way round it hurts: twice the length takes four times the memory.
#
# </details>
#
# ## Save memory yourself

# %% [markdown] tags=["exercise"] exercise="03.6"
# ### Exercise 3.6 ★★ · Attention in blocks of queries (20 min)
#
# A row of the softmax needs all keys, but no other row. So take `block` queries at a time: their part of the table has only `block` × $S$ entries, and it is thrown away before the next block comes.
#
# Write `in_blocks(q, k, v, block)` for $q$ $(\dots, L, D)$, $k$ $(\dots, S, D)$ and $v$ $(\dots, S, D_v)$. It returns the numbers of `explicit`, $(\dots, L, D_v)$, and never holds the whole table. $L$ need not be a
# multiple of `block`.


# %% tags=["stub"] exercise="03.6"
def in_blocks(q, k, v, block=128):
    """Attention with at most `block` rows of the table at a time."""
    parts = ...  # the queries, `block` at a time
    outputs = ...  # what each part finds among all the keys
    return ...  # one row for each query again


# %% [markdown] tags=["hint"] exercise="03.6"
# `q.split(block, dim=-2)` gives the blocks of queries, the last one shorter where need be. What must stay whole?

# %% [markdown] tags=["hint"] exercise="03.6"
# Keys and values stay whole: call `explicit(part, k, v)` for each part. Then put the results together along the axis of the queries. Count that axis from the back, so that heads may stand in front.


# %% tags=["solution"] exercise="03.6"
def in_blocks(q, k, v, block=128):
    """Attention with at most `block` rows of the table at a time."""
    outputs = []
    for part in q.split(block, dim=-2):  # (..., block, D)
        table = part @ k.mT / math.sqrt(q.shape[-1])  # (..., block, S)
        outputs.append(table.softmax(dim=-1) @ v)
    return torch.cat(outputs, dim=-2)  # (..., L, D_v)


# %% tags=["check"] exercise="03.6"
check("03.6", in_blocks)

# %% [markdown]
# What does it save on your device? (Until yours is written, `explicit` stands in for it.)

# %%
mine = explicit if in_blocks(*inputs(4)) is ... else in_blocks
q, k, v = inputs(1024)
steps_apart = apart(mine(q, k, v), explicit(q, k, v))
saved = memory(explicit, q, k, v) / memory(mine, q, k, v)
print(f"{steps_apart:.0f} rounding steps apart, {saved:.0f} × less memory")

# %% tags=["held"]
assert steps_apart < 20
assert saved > 4

# %% [markdown]
# ## And in training? (5 min)
#
# Blocks saved memory above, where nothing is kept for a backward pass. **Predict:** with gradients, how much does autograd keep for the three versions?


# %% tags=["nbval-ignore-output"]
def kept(attend, n):
    """How many tables autograd keeps for the backward pass."""
    q, k, v = (one.requires_grad_() for one in inputs(n))
    sizes = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        output = attend(q, k, v)  # held until the end: no address twice
    del output
    return sum(sizes.values()) / (heads * n * n * size)


print(f"explicit keeps {kept(explicit, 1024):.2f} tables")
print(f"blocks   keep  {kept(mine, 1024):.2f} tables")
print(f"fused    keeps {kept(fused, 1024):.2f} tables")

# %% tags=["held"]
assert mine is in_blocks
assert kept(mine, 1024) >= 1
assert kept(fused, 1024) < 1 / 3

# %% [markdown]
# <details><summary>Why do the blocks not help here?</summary>
#
# Autograd keeps the weights of *every* block, because the backward pass needs them, and all blocks together are the whole table. Besides the inputs, the fused kernel keeps only the output and one number per row (the logarithm of the softmax's
# denominator), and computes each block of weights again in the backward pass. To compute again instead of keeping is the second idea of FlashAttention, and you can have it for your own function with
# `torch.utils.checkpoint`.
#
# </details>
#
# ## What to take home
#
# - The table of weights is what fills the memory: $HN^2$ numbers per layer.
# - Blocks of queries cut it where nothing is trained; a fused kernel cuts it in training too, by computing again.
# - None of this changes the number of operations: exact attention stays at $N^2D$.
