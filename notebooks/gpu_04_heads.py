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
# [Chapter 4](04_multi_head.ipynb) counted operations: the same for any number of heads. Here you see what the count does not: the time and the memory (on an NVIDIA GPU its peak, elsewhere the largest tensor). Then comes the thing that matters most: what is *learned* with 1, 2, 4, 8 … heads when the
# task asks for four things at once.

# %%
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

from attnlab import figures
from attnlab.device import find
from attnlab.reproducible import seed

figures.use_style()

# %% [markdown]
# ## Your device

# %% tags=["nbval-ignore-output"]
gpu = find()
device = gpu.place
width, length, batch, steps = gpu.choose(
    cuda=(1024, 1024, 8, 3000),
    mps=(512, 512, 4, 2000),
    cpu=(128, 128, 2, 300),
    pretended=(8, 6, 2, 3),
)
gpu.banner(
    cuda="width 1024, 1024 tokens, 3000 steps per model. A few minutes.",
    mps="width 512, 512 tokens, 2000 steps per model. A few minutes.",
    cpu="a small version: width 128, 128 tokens, 300 steps per model.",
)

# %% [markdown]
# ## Speed and memory
#
# **Predict first.** From 1 head to 64 at the same width: which of these grows, and how? (a) operations, (b) the memory of the tables of weights, (c) the time of the explicit version, (d) the time of the fused kernel.


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


# %% tags=["nbval-ignore-output"]
HEADS = [h for h in (1, 2, 4, 8, 16, 32, 64) if width // h >= 2]
slow, slow_memory = zip(*(measure(explicit, h) for h in HEADS))
fast, fast_memory = zip(*(measure(fused, h) for h in HEADS))
print("heads  one table   explicit              fused")
for i, h in enumerate(HEADS):
    table = batch * h * length**2 * 4 / 1e6
    print(f"{h:5d} {table:7.1f} MB", end="")
    print(f" {slow[i]:7.2f} ms {slow_memory[i]:7.1f} MB", end="")
    print(f" {fast[i]:7.2f} ms {fast_memory[i]:7.1f} MB")

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.6))
ax.plot(HEADS, slow, "o-", label="explicit")
ax.plot(HEADS, fast, "s-", label="fused")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="heads (same width)",
    ylabel="milliseconds",
    title="Attention at equal width",
)
figures.plain_ticks(ax.yaxis)
ax.set_xticks(HEADS, [str(h) for h in HEADS])
ax.xaxis.minorticks_off()
ax.legend()
figures.show(
    fig,
    alt="Time of explicit and fused attention against the number of heads at equal width.",
    caption="The operations are the same everywhere. What makes the explicit curve rise at its right end?",
)

# %% [markdown]
# <details><summary>Answer</summary>
#
# (a) does not grow. (b) grows in proportion to the heads. On CUDA the measured peak of the explicit version is about two such tables: of scores, scaled scores and weights, two live side by side at any moment. (c) rises as soon as writing and reading the tables takes longer than the products. (d) rises less, because a fused kernel never writes a table; but very narrow heads use
# its tiles badly, so it is not flat either.
#
# </details>
#
# ## What is learned
#
# The video shop again, with orders of **four** films. One row of weights and a linear reader cannot serve four wishes, so how many heads do you need? **Predict** the curve before you run it: how many films out of four does a clerk get right with 1, 2, 4, 8 heads, and what happens when the heads become very narrow?

# %%
TITLES, SHELVES, FILMS, WISHES = 12, 4, 8, 4


def orders(batch):
    """Eight notes, four wishes, four shelves."""
    titles = torch.rand(batch, TITLES, device=device).argsort(-1)[:, :FILMS]
    shelves = torch.randint(SHELVES, (batch, FILMS), device=device)
    wish = torch.rand(batch, FILMS, device=device).argsort(-1)[:, :WISHES]
    return titles, shelves, titles.gather(1, wish), shelves.gather(1, wish)


class Clerk(nn.Module):
    """As in chapter 4, for any number of wishes."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.wish = nn.Embedding(WISHES * TITLES, width)
        self.title = nn.Embedding(TITLES, width)
        self.shelf = nn.Embedding(SHELVES, width)
        self.read = nn.Linear(width, WISHES * SHELVES)

    def cut(self, x):
        return rearrange(x, "b l (h d) -> b h l d", h=self.heads)

    def forward(self, titles, shelves, asked):
        place = TITLES * torch.arange(WISHES, device=asked.device)
        q = self.wish(asked + place).sum(1, keepdim=True)
        out = explicit(
            self.cut(q),
            self.cut(self.title(titles)),
            self.cut(self.shelf(shelves)),
        )
        out = rearrange(out, "b h 1 d -> b (h d)")
        return self.read(out).unflatten(-1, (WISHES, SHELVES))


def learn(heads, width=64, rate=2e-2):
    """Train a clerk; the share of single films that are right."""
    seed(0)
    clerk = Clerk(width, heads).to(device)
    optimiser = torch.optim.Adam(clerk.parameters(), lr=rate)
    schedule = OneCycleLR(optimiser, rate, total_steps=steps)
    for _ in range(steps):
        titles, shelves, asked, answers = orders(256)
        guess = clerk(titles, shelves, asked).flatten(0, 1)
        loss = F.cross_entropy(guess, answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        titles, shelves, asked, answers = orders(2000)
        guess = clerk(titles, shelves, asked).argmax(-1)
    return (guess == answers).float().mean().item()


# %% tags=["nbval-ignore-output"]
LEARN = gpu.choose(
    cuda=(1, 2, 4, 8, 16, 32, 64),
    mps=(1, 2, 4, 8, 16, 32, 64),
    cpu=(1, 2, 4, 8, 16),
    pretended=(1, 4),
)
shares = {heads: learn(heads) for heads in LEARN}
for heads, share in shares.items():
    print(
        f"{heads:2d} heads of width {64 // heads:2d}: {share:.2f} of the films right"
    )

# %% tags=["held"]
assert shares[4] >= shares[1] + 0.2, shares

# %% [markdown]
# <details><summary>Why these numbers?</summary>
#
# One head serves one wish, and its other three answers are right 1 time in 4: $(1 + 3 \cdot \tfrac14)/4 \approx 0.44$. Two heads serve two: $(2 + 2 \cdot \tfrac14)/4 \approx 0.63$. From four heads on all wishes can be served. A narrow head has a hard time telling 12 titles apart ([Bhojanapalli et al. 2020](https://arxiv.org/abs/2002.07028)), but many narrow heads make up for each other here. Four narrow ones do not: exercise 1.
#
# </details>
#
# ## Exercise 1 ★ · How narrow is too narrow? (10 min)
#
# Keep 4 heads and shrink the width: `learn(4, width=w)` for $w = 64, 32, 16, 8, 4$. At which head width does it break, and does more training help?

# %% tags=["nbval-ignore-output"]
for w in (64, 8):  # your turn: add more widths
    print(f"4 heads of width {w // 4:2d}: {learn(4, width=w):.2f}")

# %% [markdown]
# <details><summary>Answer</summary>
#
# On a CPU, with 300 steps: 1.00, 1.00, 1.00, 0.83 and 0.47 for heads of width 16, 8, 4, 2 and 1. With 1,500 steps (set `steps = 1500`) width 2 reaches 1.00: it was only slow. Width 1 stays at 0.48. There a score is a product of two single numbers, so whatever the wish, the title with the
# largest key wins, or the one with the smallest. Titles in the middle never win, and no training changes that.
#
# </details>
#
# ## Exercise 2 ★★ · A reader that is not linear (15 min)
#
# The proof of chapter 4 needs a linear reader. Give the clerk with one head a hidden layer: replace `clerk.read` by `nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, WISHES * SHELVES))`. How far does it get with two wishes, how far with four? On a GPU, train it ten times as long. Is it as good as four heads?
#
# <details><summary>What to look for</summary>
#
# One mixture with weights such as 8 : 4 : 2 : 1 still tells all $4^4 = 256$ answers apart in principle. In practice the small weights drown: the softmax would have to hold exact ratios for every order, and the reader has to unpick them. Compare the steps each needs.
#
# </details>
#
# ## What to take home
#
# - At equal width heads cost no operations, but tables: memory and time of the explicit version grow with $H$.
# - With a *linear* reader, $k$ things asked for at once need $k$ rows of weights; a reader with a hidden layer can do with fewer (exercise 2, and part 1 of the chapter). In your table: do more heads than wishes help or hurt? Few and narrow breaks.
