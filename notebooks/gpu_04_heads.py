# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 4
#     title: Heads at equal width
#     minutes: 30
#     summary: 1 to 64 heads at the same width. What does it do to speed, to memory, and to what is learned?
#     gpu: true
# ---

# %% [markdown]
# # 4 · GPU exercise: heads at equal width
#
# [Chapter 4](04_multi_head.ipynb) counted the products: the same for any number of heads. Here you measure what the count leaves out: time, and memory (on an NVIDIA GPU its peak, elsewhere the largest tensor). Then comes what matters most: what is *learned* with 1, 2, 4, 8 … heads when the task asks for four things at once.

# %% tags=["setup"]
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from attnlab import figures
from attnlab.checks import check
from attnlab.device import find
from attnlab.reproducible import seed
from attnlab.training import Descent, fit

figures.use_style()

# %% [markdown]
# ## Your device

# %% tags=["hide-input", "nbval-ignore-output"]
gpu = find()
device = gpu.place
width, length, batch, steps = gpu.choose(
    cuda=(1024, 1024, 8, 3000),
    mps=(512, 512, 4, 2000),
    cpu=(128, 128, 2, 300),
    pretended=(8, 6, 2, 3),
)
gpu.banner(
    cuda="width 1024, 1024 tokens, 3000 steps per model. Ten minutes, by guess.",
    mps="width 512, 512 tokens, 2000 steps per model. Ten minutes, by guess.",
    cpu="a small version: width 128, 128 tokens, 300 steps per model.",
)

# %% [markdown]
# ## Time and memory
#
# **Predict first.** From 1 head to 64 at the same width: which of these grows, and how? (a) the products, (b) the memory of the tables of weights, (c) the time of the explicit version, (d) the time of the fused kernel.


# %%
def explicit(q, k, v):
    """(B, H, L, D) -> (B, H, L, D), with (B, H, L, L) in memory."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@torch.no_grad()
def measure(attend, heads):
    """Milliseconds, and megabytes beyond the inputs."""
    seed(0)
    x = torch.randn(3, batch, length, width, device=device)
    q, k, v = rearrange(x, "n b l (h d) -> n b h l d", h=heads)
    spent = gpu.seconds(lambda: attend(q, k, v), repeats=4)
    return 1e3 * spent, gpu.memory(lambda: attend(q, k, v)) / 1e6


# %% tags=["hide-input", "nbval-ignore-output"]
HEADS = [h for h in (1, 2, 4, 8, 16, 32, 64) if width // h >= 2]
slow, slow_memory = zip(*(measure(explicit, h) for h in HEADS))
fast, fast_memory = zip(*(measure(fused, h) for h in HEADS))
print("heads  one table   explicit              fused")
for i, h in enumerate(HEADS):
    table = batch * h * length**2 * 4 / 1e6
    print(f"{h:5d} {table:7.1f} MB", end="")
    print(f" {slow[i]:7.2f} ms {slow_memory[i]:7.1f} MB", end="")
    print(f" {fast[i]:7.2f} ms {fast_memory[i]:7.1f} MB")

# %% tags=["held"]
assert slow_memory[-1] > 0.9 * HEADS[-1] * slow_memory[0], slow_memory
assert fast_memory[-1] < 2 * fast_memory[0], fast_memory

# %% tags=["hide-input", "nbval-ignore-output"]
fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.8))
names = (
    ("milliseconds", slow, fast),
    ("megabytes", slow_memory, fast_memory),
)
for ax, (name, plain, kernel) in zip(axes, names):
    ax.plot(HEADS, plain, "o-", label="explicit")
    ax.plot(HEADS, kernel, "s--", label="fused")
    ax.set(
        xscale="log", yscale="log", xlabel="heads (same width)", title=name
    )
    figures.plain_ticks(ax.yaxis)
    ax.set_xticks(HEADS, [str(h) for h in HEADS])
    ax.xaxis.minorticks_off()
axes[0].legend()
figures.show(
    fig,
    alt="Time and memory of explicit and fused attention against the number of heads at equal width. The memory of the explicit version grows with the heads, that of the fused one stays.",
    caption="The products are the same everywhere. Which curves rise, and from which number of heads on?",
)

# %% [markdown]
# <details><summary>Answer</summary>
#
# (a) does not grow. (b) grows in proportion to the heads. On CUDA expect the explicit version to peak at about two such tables: of scores, scaled scores and weights, two live side by side at any moment. Read (c) and (d) off your own figure. The fused kernel keeps no table, so its memory stays flat. Its time need not: there are more, narrower products to do.
#
# </details>
#
# ## What is learned
#
# The video shop again, with orders of **four** films: eight films stand on four shelves, a customer names four of them, and a linear reader says four shelves.

# %% [markdown] tags=["exercise"] exercise="04.7"
# ### Exercise 4.7 ★★ · Predict the clerk (10 min)
#
# In chapter 4 one head served one wish, and said the same shelf for the other. Suppose this holds for any number of heads: each serves one wish. For a wish that no head serves, the clerk says some other film's shelf, which is right 1 time in `shelves`. Write `my_share(heads, wishes, shelves)`: the share of **single films** that are right, on average, between 0 and 1. There may be more heads than wishes.


# %% tags=["stub"] exercise="04.7"
def my_share(heads, wishes, shelves):
    """The share of single films that are right, 0 to 1."""
    served = ...  # wishes with a head of their own
    lucky = ...  # how many of the others are right, on average
    return ...


# %% [markdown] tags=["hint"] exercise="04.7"
# Two wishes, one head, four shelves: one film is right for certain, the other 1 time in 4. How many of two films is that, on average?

# %% [markdown] tags=["hint"] exercise="04.7"
# Nobody serves more wishes than there are: `min(heads, wishes)`. The rest, `wishes - served`, are right 1 time in `shelves`.


# %% tags=["solution"] exercise="04.7"
def my_share(heads, wishes, shelves):
    """The share of single films that are right, 0 to 1."""
    served = min(heads, wishes)  # wishes with a head of their own
    lucky = (wishes - served) / shelves  # of the others, on average
    return (served + lucky) / wishes


# %% tags=["check"] exercise="04.7"
check("04.7", my_share)

# %% [markdown]
# ## Does training agree?
#
# The clerk is the one of chapter 4, for any number of wishes (`hidden` gives it a reader that is not linear; we need it at the end).

# %% tags=["plumbing"]
TITLES, SHELVES, FILMS, WISHES = 12, 4, 8, 4


def orders(batch):
    """Eight notes, four wishes, four shelves."""
    titles = torch.rand(batch, TITLES, device=device).argsort(-1)[:, :FILMS]
    shelves = torch.randint(SHELVES, (batch, FILMS), device=device)
    wish = torch.rand(batch, FILMS, device=device).argsort(-1)[:, :WISHES]
    return titles, shelves, titles.gather(1, wish), shelves.gather(1, wish)


class Clerk(nn.Module):
    """As in chapter 4, for any number of wishes."""

    def __init__(self, width, heads, hidden=0):
        super().__init__()
        self.heads = heads
        self.wish = nn.Embedding(WISHES * TITLES, width)
        self.title = nn.Embedding(TITLES, width)
        self.shelf = nn.Embedding(SHELVES, width)
        self.read = nn.Linear(width, WISHES * SHELVES)
        if hidden:
            wide = nn.Linear(width, hidden), nn.ReLU()
            self.read = nn.Sequential(
                *wide, nn.Linear(hidden, WISHES * SHELVES)
            )

    def cut(self, x):
        return rearrange(x, "b l (h d) -> b h l d", h=self.heads)

    def forward(self, titles, shelves, asked):
        slot = TITLES * torch.arange(WISHES, device=asked.device)
        q = self.wish(asked + slot).sum(1, keepdim=True)
        k, v = self.title(titles), self.shelf(shelves)
        out = explicit(self.cut(q), self.cut(k), self.cut(v))
        out = rearrange(out, "b h 1 d -> b (h d)")
        return self.read(out).unflatten(-1, (WISHES, SHELVES))


# %% tags=["plumbing"]
def stream():
    while True:
        yield orders(256)


def learn(heads, width=64, hidden=0, steps=steps, number=0):
    """Train a clerk; the share of single films that are right."""
    seed(number)
    clerk = Clerk(width, heads, hidden).to(device)

    def loss(batch):
        *given, answers = batch
        return F.cross_entropy(clerk(*given).flatten(0, 1), answers.flatten())

    descent = Descent(lr=1e-2 if hidden else 2e-2)
    fit(
        clerk,
        stream(),
        steps=steps,
        descent=descent,
        loss=loss,
        listeners=(),
        seed=number,
    )
    with torch.no_grad():
        *given, answers = orders(2000)
        guess = clerk(*given).argmax(-1)
    return (guess == answers).float().mean().item()


# %% tags=["hide-input", "nbval-ignore-output"]
LEARN = gpu.choose(
    cuda=(1, 2, 4, 8, 16, 32, 64),
    mps=(1, 2, 4, 8, 16, 32, 64),
    cpu=(1, 2, 4, 8, 16),
    pretended=(1, 4),
)
shares = {h: [learn(h, number=n) for n in range(3)] for h in LEARN}
print("64 numbers in all, films right in 3 seeds, and the prediction")
for heads, found in shares.items():
    served = min(heads, WISHES)
    predicted = (served + (WISHES - served) / SHELVES) / WISHES
    name = "head " if heads == 1 else "heads"
    print(f"{heads:2d} {name} of width {64 // heads:2d}: ", end="")
    print(*(f"{share:.2f}" for share in found), f"  {predicted:.2f}")

# %% tags=["held"]
assert all(abs(share - 0.4375) < 0.04 for share in shares[1]), shares
assert all(abs(share - 0.625) < 0.04 for share in shares[2]), shares
assert min(min(shares[h]) for h in (4, 8, 16)) > 0.95, shares

# %% [markdown]
# ## Try it: how narrow is too narrow?
#
# Keep 4 heads and shrink the width, so that each head has 16, 8, 4, 2 and 1 numbers. **Predict:** where does it break, and does more training help?

# %% tags=["nbval-ignore-output"]
longer = gpu.choose(cuda=9000, mps=6000, cpu=1500, pretended=4)
narrow = {w: learn(4, width=4 * w) for w in (16, 8, 4, 2, 1)}
patient = {w: learn(4, width=4 * w, steps=longer) for w in (2, 1)}
for w, share in narrow.items():
    print(f"4 heads of width {w:2d}: {share:.2f}", end="")
    print(f", after {longer} steps {patient[w]:.2f}" if w < 4 else "")

# %% tags=["held"]
assert min(narrow[w] for w in (16, 8, 4)) > 0.95, narrow
assert narrow[2] < patient[2], (narrow, patient)
assert patient[2] > 0.9, patient
assert patient[1] < 0.65, patient

# %% [markdown]
# (One seed each.) Width 2 was only slow. Width 1 stays low, and there is a reason: a score is then a product of two single numbers, so whatever the wish, the title with the largest key wins, or the one with the smallest. Titles in the middle never win, and no training changes that.
#
# ## Try it: a reader that is not linear
#
# The proof of chapter 4 needs a linear reader. **Predict:** one head, and a reader with 256 hidden units. How many of the four films does it get right after as many steps?

# %% tags=["nbval-ignore-output"]
clever = [learn(1, hidden=256, number=n) for n in range(3)]
print("1 head, 256 hidden units, 3 seeds:", *(f"{c:.2f}" for c in clever))
print("1 head, linear, 3 seeds:          ", *(f"{c:.2f}" for c in shares[1]))

# %% tags=["held"]
assert min(clever) > max(shares[1]), (clever, shares[1])

# %% [markdown]
# One mixture with weights such as 8 : 4 : 2 : 1 tells all $4^4 = 256$ answers apart in principle. How far does training get with ten times the steps (`learn(1, hidden=256, steps=10 * steps)`)?
#
# ## What to take home
#
# - At equal width, the memory of the explicit version grows in proportion to the heads, and that of the fused kernel does not.
# - With a *linear* reader, $h$ heads serve $h$ wishes: the prediction of exercise 4.7 held for 1, 2, 4 and more heads. A reader with a hidden layer got more out of one head.
# - More heads than wishes did no harm here. Four heads of width 1 did: a head that narrow cannot choose among twelve titles.
