# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 0
#     gpu: true
#     title: Meet your device
#     minutes: 15
#     summary: What machine you have, what it is good at, and from what size on a GPU pays off.
# ---

# %% [markdown]
# # 0 · GPU exercise: meet your device
#
# [Chapter 0](00_start.ipynb) turned everything into a table, and a Transformer multiplies tables. How fast does your machine do that, and from what size does a GPU pay off?
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny and takes seconds. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %% tags=["setup"]
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from attnlab import figures
from attnlab.device import find
from attnlab.reproducible import seed

figures.use_style()

# %% tags=["nbval-ignore-output"]
gpu = find()
largest = gpu.choose(cuda=2**13, mps=2**12, cpu=2**10, pretended=2**6)
gpu.banner(
    cuda=f"matrices up to {largest} × {largest}.",
    mps=f"matrices up to {largest} × {largest}.",
    cpu=f"a small version, up to {largest} × {largest}. A few seconds.",
)

# %% [markdown]
# ## Multiplying
#
# Two matrices of size $n \times n$ take $2n^3$ operations. **Guess first:** at twice the size, by what factor does the work grow? And the time?
#
# A GPU answers before it has finished: it takes orders and works through them ([CUDA semantics](https://pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution) in PyTorch's notes). So a stopwatch has to wait for it; forgetting that is a common mistake in timing. `gpu.seconds` runs once to warm up, waits for the device after each further run, and gives the best time.

# %% tags=["nbval-ignore-output"]
seed(0)
sizes = [2**p for p in range(5, largest.bit_length())]
speed = {}
for where in dict.fromkeys(["cpu", gpu.place]):
    speed[where] = []
    for n in sizes if where != "cpu" else [n for n in sizes if n <= 2048]:
        a, b = torch.randn(2, n, n, device=where)
        took = gpu.seconds(lambda a=a, b=b: a @ b, 5)
        speed[where].append(2 * n**3 / took / 1e9)
for where, values in speed.items():
    best = max(values)
    print(f"{where}: up to {best:,.0f} billion operations a second")

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.4, 3.6))
for (where, values), marker in zip(speed.items(), "os"):
    ax.plot(sizes[: len(values)], values, marker + "-", label=where)
ax.set(
    title="Speed of a matrix product",
    xlabel="size $n$",
    ylabel="billion operations a second",
    xscale="log",
    yscale="log",
)
figures.plain_ticks(ax.yaxis)
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.xaxis.minorticks_off()
ax.legend()
figures.show(
    fig,
    alt="Operations a second against the size of the matrices, for each device found. Small matrices are slow.",
    caption="Small products stay below full speed. With a GPU, look for the size from which its line is above the CPU's.",
)

# %% tags=["nbval-ignore-output"]
small, large = speed[gpu.place][0], max(speed[gpu.place])
print(f"the best size is {large / small:,.0f} times as fast as the smallest")

# %% [markdown]
# ## Looking up
#
# An embedding can be a product with a one-hot matrix, or a look-up of rows. The numbers agree. The work differs: $2LVE$ operations against none.

# %% tags=["nbval-ignore-output"]
vocabulary, width, length = gpu.choose(
    cuda=(30_000, 512, 4096), mps=(30_000, 512, 4096), cpu=(3000, 64, 256)
)
table = torch.randn(vocabulary, width, device=gpu.place)
ids = torch.randint(vocabulary, (length,), device=gpu.place)
one_hot = F.one_hot(ids, vocabulary).float()  # (L, V)
by_product = gpu.seconds(lambda: one_hot @ table, 5)
by_look_up = gpu.seconds(lambda: F.embedding(ids, table), 5)
print(
    f"product {1e6 * by_product:,.0f} µs, look-up {1e6 * by_look_up:.1f} µs"
)

# %% tags=["nbval-ignore-output"]
apart = (one_hot @ table - F.embedding(ids, table)).abs().max()
print(f"largest difference {apart:.0e}")
print(f"the look-up is {by_product / by_look_up:.0f} times as fast")

# %% tags=["held"]
assert apart < 1e-2

# %% [markdown]
# ## Your turn
#
# 1. At which size does your GPU reach half of its top speed? What does that say about batches of one sentence?
# 2. Run the products in half precision (`a.half()`). Does the line rise or fall? Why?
# 3. Time one product yourself, with `time.perf_counter()` before and after it. Then call `gpu.wait()` before you stop the clock. What did you measure the first time?
#
# <details><summary>What to expect</summary>
#
# Twice the size is eight times the work; the time grows by less than that while the line still rises. A small product leaves most of a GPU without work ([NVIDIA's guide to matrix products](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html)); putting sentences together in batches makes the products larger. Half precision moves half the bytes, and GPUs with tensor cores have special units for it ([NVIDIA's guide to mixed precision](https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html)). Without `gpu.wait()` you
# measure how fast Python gives orders. (On a CPU both times are about the same: a CPU has finished when it answers.)
#
# </details>
