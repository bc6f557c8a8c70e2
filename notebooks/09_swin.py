# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 9
#     title: Swin windows
#     minutes: 110
#     summary: Attention in small windows costs in proportion to the picture. Shifting the windows joins them, a mask keeps strangers apart, a table of biases says where things are, and merging builds a pyramid. Built, broken, repaired and measured.
# ---

# %% [markdown]
# # 9 · Swin windows
#
# A ViT lets every patch look at every other one. With small patches that is millions of weights per head. **What if a token looked only at its neighbours, and the neighbourhoods moved from block to block?** Press a token, then drag *Step*.

# %% tags=["setup"]
import json
import math
import time
from itertools import pairwise
from unittest.mock import patch

import matplotlib.pyplot as plt
import plotly.graph_objects as go
import torch
import torch.nn.functional as F
from matplotlib.colors import ListedColormap
from torch import nn

from attnlab import assets, figures, masks, palette
from attnlab.attention import attention, weights
from attnlab.checks import check
from attnlab.data import composed, fashion, photographs
from attnlab.device import seconds
from attnlab.layers import windows
from attnlab.layers.windows import (
    WindowAttention,
    partition,
    relative_index,
    reverse,
    shift,
)
from attnlab.models import vit
from attnlab.models.swin import Block, Swin, swin_t
from attnlab.models.swin_weights import translate
from attnlab.record import record
from attnlab.reproducible import seed
from attnlab.training import Descent, fit
from attnlab.widgets import (
    Quiz,
    RelativeBiasTable,
    WindowCost,
    WindowExplorer,
)
from attnlab.widgets.diagram import Box, Diagram, Step

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False, linewidth=100)
torch.set_num_threads(1)

# %% [markdown] tags=["slide", "slides-only"]
# # Swin windows
#
# attnlab · chapter 9
#
# What if a token looked only at its neighbours, and the neighbourhoods moved?

# %% tags=["slide", "hide-input"]
WindowExplorer(
    image=photographs.square("cat", 240),
    side=24,
    window=6,
    shift=3,
    row=8,
    column=8,
    title="Shifted windows on a photograph",
    caption="Left: the picture at each step. Right: who may see whom, in every window. With shift 0 and six blocks, does the token ever leave its window?",
)

# %% [markdown] tags=["notes"]
# 45 minutes: cost and the pyramid (10), windows that cannot talk (10), shift and mask by hand (10), bias and merging (8), what it is worth, honestly (5), quiz (2).

# %% [markdown]
# At the end you can
#
# - say what windows save, and measure it;
# - show a task that windows cannot do, and the shift that repairs it;
# - build the shift, its mask, the bias table and patch merging, equal to the published Swin;
# - find a mask that masks nothing, before you train with it.

# %% [markdown] tags=["slide"]
# ## 1 · The question
#
# **Objects come in all sizes.** A ViT cuts its picture once and keeps that grid to the end: it is *isotropic*. Train chapter 8's small ViT on clothes that fill the picture, then show it the same clothes smaller. **Guess:** at half the size, how many does it still recognise?


# %% tags=["plumbing"]
def train_vit(steps=1200, rate=2e-3):
    """Chapter 8's ViT on Fashion-MNIST, 28 × 28 pixels, one size only."""
    seed(0)
    sizes = dict(size=28, patch=7, channels=1, width=64, layers=4, heads=4)
    model = vit.ViT(vit.Config(**sizes, classes=10))
    batches, descent = fashion.batches(32, seed=0), Descent(lr=rate)
    fit(model, batches, steps=steps, descent=descent, listeners=())
    return model


def shrunk(images, size):
    """Made smaller, in the middle of black; and enlarged again."""
    small = F.interpolate(
        images, (size, size), mode="bilinear", antialias=True
    )
    left = (28 - size) // 2
    edge = left, 28 - size - left
    return F.pad(small, edge * 2), F.interpolate(
        small, (28, 28), mode="bilinear"
    )


# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
one_size = train_vit()
clothes, kinds = fashion.load("test")
known = {}
with torch.no_grad():
    for size in (28, 24, 20, 16, 14, 12):
        known[size] = [
            (one_size(x).argmax(-1) == kinds).float().mean().item()
            for x in shrunk(clothes, size)
        ]
fig, axes = plt.subplots(
    1, 3, figsize=(6.0, 2.6), gridspec_kw={"width_ratios": [1, 1, 2]}
)
names = "14 pixels", "enlarged"
for ax, picture, name in zip(axes, shrunk(clothes[4:5], 14), names):
    ax.imshow(picture[0].movedim(0, -1).expand(-1, -1, 3))  # grey as RGB
    for line in (6.5, 13.5, 20.5):
        ax.axhline(line, color="white", lw=1)
        ax.axvline(line, color="white", lw=1)
    ax.set_title(name, size=14)
    ax.set(xticks=[], yticks=[])
for i, (name, mark, hue) in enumerate(
    (("small", "o--", "orange"), (names[1], "s-", "blue"))
):
    shares = [known[n][i] for n in known]
    ink = palette.colour(hue)
    axes[2].plot(list(known), shares, mark, color=ink, label=name)
axes[2].set(xlabel="side, pixels", ylim=(0, 1))
axes[2].set_title("share right", size=14)
axes[2].legend(loc="lower right")
figures.show(
    fig,
    alt="Left: a shirt 14 pixels large, in two rows and columns of patches, and the same enlarged. Right: share of right answers against the size of the object. Small ones fall towards chance; the same pixels, enlarged again, stay far above.",
    caption=f"2000 test pictures, one seed: {known[28][0]:.0%} right at full size, {known[14][0]:.0%} at half, {known[14][1]:.0%} when enlarged again. So detail is not what is missing. Lines: the ViT's patches of 7 × 7.",
)

# %% tags=["held"]
assert known[28][0] > 0.75, known
assert known[14][0] < 0.35 < 0.6 < known[14][1], known

# %% [markdown]
# At half the size the ViT of [chapter 8](08_vit_dino.ipynb) loses most, although the pixels are enough: enlarged again, most are known. Training on all sizes may mend that. It does not change the grid. Suppose every patch were labelled object or background, as well as can be: how well could the patches outline an object?


# %% tags=["plumbing"]
def best_outline(gold, patch):
    """Overlap (IoU) of outlines with the best labelling of patches: the k fullest, for the best k."""
    cells = F.avg_pool2d(gold[:, None].float(), patch).flatten(1) * patch**2
    both = cells.sort(descending=True).values.cumsum(1)  # pixels they share
    chosen = patch**2 * torch.arange(1, both.shape[1] + 1)
    either = gold.flatten(1).sum(1, keepdim=True) + chosen - both
    return (both / either).max(1).values.mean().item()


def outlines(size, canvas=224, count=40):
    """Chapter 8's objects, so many pixels large, somewhere in a picture."""
    gold = composed.draw(count, size=96, split="test", seed=5).gold
    out = torch.zeros(count, canvas, canvas, dtype=torch.bool)
    places = torch.Generator().manual_seed(1)
    for i, one in enumerate(gold):
        rows, columns = one.any(1).nonzero()[:, 0], one.any(0).nonzero()[:, 0]
        cut = one[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        small = F.interpolate(cut[None, None].float(), (size, size))[0, 0]
        r, c = torch.randint(canvas - size + 1, (2,), generator=places)
        out[i, r : r + size, c : c + size] = small > 0.5
    return out


# %% tags=["hide-input"]
print("object    16 × 16 patches    4 × 4 patches")
overlap = {}
for size in (12, 24, 48, 96):
    gold = outlines(size)
    overlap[size] = best_outline(gold, 16), best_outline(gold, 4)
    print(
        f"{size:3d} px        {overlap[size][0]:.2f}              {overlap[size][1]:.2f}"
    )

# %% tags=["held"]
assert overlap[12][0] < 0.3 < 0.6 < overlap[12][1], overlap
assert overlap[96][0] > 0.7, overlap

# %% [markdown]
# Those are the *best* labels of 40 objects, emoji from chapter 8, in pictures of 224 pixels (overlap, IoU). So take small patches. But then there are 56 × 56 of them, and global attention pays for every pair:

# %% tags=["hide-input"]
tokens = (224 // 4) ** 2
print(
    f"4 × 4 patches: {tokens} tokens, 56⁴ = {tokens**2:,} weights per head and layer"
)
print(f"7 × 7 windows: M²·HW       = {7**2 * tokens:,} weights")

# %% [markdown] tags=["slide", "slides-only"]
# ## 56⁴ = 9.8 million weights per head
#
# 4 × 4 patches, 224 × 224 pixels, every token with every token. Windows of 7 × 7: **154 thousand**.

# %% tags=["fragment", "hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6))
blocks = torch.block_diag(*[torch.ones(4, 4)] * 64)
for ax, table, name in zip(
    axes,
    (torch.ones(256, 256), blocks),
    ("global: 9,834,496", "windows: 64 × 49² = 153,664"),
):
    ax.imshow(table, cmap=figures.WEIGHTS, vmin=0, vmax=1.3)
    ax.set_title(name, size=15)
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel("3136 keys", size=15)
    ax.set_ylabel("3136 queries", size=15)
figures.show(
    fig,
    alt="Two square tables of queries and keys. The global one is full; of the other only a thin diagonal of 64 small squares is used.",
    caption="The weights of one head. Windows keep 64 small squares on the diagonal, 1.6 % of the table.",
)

# %% tags=["slide", "hide-input"]
WindowCost(
    title="Cost against picture size",
    caption="Dashed: global attention. Solid: windows. Multiplications of one layer of width 96, by equations 1 and 2 of Liu et al. (2021). Where do the curves part when the window grows?",
)

# %% [markdown]
# $$\begin{aligned} \Omega_{\text{global}} &= 4\,hw\,E^2 + 2\,(hw)^2E \\ \Omega_{\text{windows}} &= 4\,hw\,E^2 + 2\,M^2\,hw\,E \end{aligned}$$
#
# with $h \times w$ tokens of width $E$ and windows of $M \times M$ ([Liu et al. 2021](https://arxiv.org/abs/2103.14030), equations 1 and 2). Quadratic against **linear** in $hw$. That is a count. Here is the clock, the best of 2 to 20 rounds:


# %% tags=["plumbing"]
def fastest(x, rounds, **way):
    """Least CPU time of several rounds, in milliseconds."""
    # 28 MiB taken and given back: from now on Linux leaves smaller blocks with us
    # when they are freed. Else a call may pay for fetching its memory anew.
    torch.empty(7 * 2**20)
    return 1000 * seconds(
        lambda: attention(x, x, x, **way), rounds, time.process_time
    )


def kept(x):
    """MiB that attention keeps for its gradient, with the weights written down."""
    found = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor

    x = x.clone().requires_grad_()
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(keep, lambda tensor: tensor):
        out = attention(x, x, x, fused=False)
    assert out.requires_grad  # it lives until here: no address is used twice
    return sum(found.values()) / 2**20


# %% tags=["nbval-ignore-output", "hide-input"]
times, memory = {}, {}
print("tokens        global   (fused)   windows    kept: global   windows")
for side in (28, 56, 112):
    x = torch.randn(1, side, side, 32)
    line, cut = x.flatten(1, 2)[:, None], partition(x, 7)[:, :, None]
    rounds = {28: 20, 56: 5, 112: 2}[side]
    times[side] = (
        fastest(line, rounds, fused=False),
        fastest(cut, 20, fused=False),
        fastest(line, rounds),
    )
    memory[side] = kept(line), kept(cut)
    print(f"{side:3d} × {side:<3d} {times[side][0]:9.1f}", end="")
    print(f" {times[side][2]:9.1f} {times[side][1]:9.2f} ms", end="")
    print(f"   {memory[side][0]:9.1f} {memory[side][1]:9.2f} MiB")
growth = [times[112][i] / times[28][i] for i in range(3)]
print(f"16 times the tokens: global × {growth[0]:.0f}", end="")
print(f" (fused × {growth[2]:.0f}), windows × {growth[1]:.0f}")
more = [memory[112][i] / memory[28][i] for i in range(2)]
print(f"{' ':20} memory: global × {more[0]:.0f}, windows × {more[1]:.0f}")

# %% tags=["held"]
assert growth[0] > 256, growth  # quadratic and more
assert growth[0] > growth[2] > 120, growth
assert growth[1] < 32, growth
assert 200 < more[0] < 257, more  # the table, and little else
assert 15.9 < more[1] < 16.1, more
assert memory[112][0] > 600 > 3 > memory[28][0], memory
cut = partition(torch.randn(1, 56, 56, 32), 7)
assert weights(cut, cut).numel() == 49 * 56**2

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.2))
sides = [side**2 for side in times]
for i, name, mark, hue in (
    (0, "global", "o--", "orange"),
    (2, "global, fused", "^:", "orange"),
    (1, "windows of 7 × 7", "s-", "blue"),
):
    ink = palette.colour(hue)
    ax.plot(sides, [times[s][i] for s in times], mark, color=ink, label=name)
ax.set(xscale="log", yscale="log", xlabel="tokens", ylabel="milliseconds")
ax.set_title("Time of attention, width 32, one thread")
ax.set_xticks(sides, [f"{s}²" for s in times])
ax.xaxis.minorticks_off()
figures.plain_ticks(ax.yaxis)
ax.legend()
figures.show(
    fig,
    alt="Time of global and window attention against the number of tokens, on log axes. The global lines are about twice as steep, or steeper.",
    caption="On log axes a quadratic cost is a line twice as steep as a linear one. Global and windows write their weights down; the fused kernel never does (chapter 10), and is quadratic all the same.",
)

# %% [markdown]
# Sixteen times the tokens are 256 times the pairs. The fused kernel never writes the table of weights down, and grows about as counted. With the table, which grows from about 2 MiB to 600, global attention grows faster still.
#
# ### Two shapes of network
#
# Cheap attention on many small tokens allows a **pyramid**: begin with 4 × 4 patches, and let four neighbours become one wider token from stage to stage. Its maps have the sizes of a CNN's, fine to coarse, so a detector made for CNNs can read them ([Liu et al. 2021](https://arxiv.org/abs/2103.14030), section 3.1).

# %% tags=["slide", "hide-input"]
Diagram(
    [
        Box("picture", "224 × 224", at=(0, 0)),
        Box("v1", "14 × 14", detail="768 wide", at=(1, 0), colour="key"),
        Box("v2", "14 × 14", detail="768 wide", at=(2, 0), colour="key"),
        Box("v3", "14 × 14", detail="768 wide", at=(3, 0), colour="key"),
        Box("v4", "14 × 14", detail="768 wide", at=(4, 0), colour="key"),
        Box("same", "224 × 224", at=(0, 1)),
        Box("s1", "56 × 56", detail="96 wide", at=(1, 1), colour="attention"),
        Box(
            "s2", "28 × 28", detail="192 wide", at=(2, 1), colour="attention"
        ),
        Box(
            "s3", "14 × 14", detail="384 wide", at=(3, 1), colour="attention"
        ),
        Box("s4", "7 × 7", detail="768 wide", at=(4, 1), colour="attention"),
    ],
    ["picture -> v1 -> v2 -> v3 -> v4", "same -> s1 -> s2 -> s3 -> s4"],
    steps=[
        Step(
            "ViT-B/16: one grid of 14 × 14 tokens from the first block to the last.",
            ["picture", "v1", "v2", "v3", "v4"],
        ),
        Step(
            "Swin-T: 2, 2, 6 and 2 blocks; each stage has a quarter of the tokens, twice as wide.",
            ["same", "s1", "s2", "s3", "s4"],
        ),
    ],
    title="Isotropic (above) and hierarchical (below)",
)

# %% [markdown] tags=["slide"]
# ### But windows cannot talk
#
# A task for neighbours: a picture of 0s and 1s. Every token says whether **the token below it is the same**; in the last row nothing is below, so the answer is no. Two blocks with windows of 4 × 4 on an 8 × 8 picture. **Guess:** which row gets into trouble?

# %% tags=["fragment", "hide-input"]
bits = torch.randint(2, (8, 8), generator=torch.Generator().manual_seed(3))
same = F.pad((bits[1:] == bits[:-1]).long(), (0, 0, 0, 1))
fig, axes = plt.subplots(1, 2, figsize=(8, 3.7))
for ax, grid, name in zip(
    axes, (bits, same), ("the picture", "is the token below the same?")
):
    ax.imshow(grid, cmap=figures.WEIGHTS, vmin=0, vmax=1.6)
    for r, c in torch.cartesian_prod(*[torch.arange(8)] * 2).tolist():
        ax.text(c, r, int(grid[r, c]), ha="center", va="center", size=16)
    ax.axhline(3.5, color="black", lw=3)
    ax.axvline(3.5, color="black", lw=3)
    ax.set_title(name, size=16)
    ax.set(xticks=[], yticks=range(8))
    ax.tick_params(labelsize=16)
    ax.set_ylabel("row", size=16)
figures.show(
    fig,
    alt="Left: 8 by 8 random bits, cut into four windows. Right: the right answers, 1 where the bit below is the same, 0 in the last row.",
    caption="Thick lines: borders of the windows. To answer, a token needs the one below it.",
)


# %%
def pictures(batch, side=8):
    """Bits, and for each whether the one below is the same."""
    grid = torch.randint(2, (batch, side, side))
    same = (grid[:, 1:] == grid[:, :-1]).long()
    return grid, F.pad(same, (0, 0, 0, 1))


class Watcher(nn.Module):
    """Two Swin blocks; every token answers for itself."""

    def __init__(self, shift, width=32):
        super().__init__()
        self.embed = nn.Embedding(2, width)
        blocks = [Block(width, 2, 4, 2 * width, by) for by in (0, shift)]
        self.blocks = nn.Sequential(*blocks)
        self.read = nn.Linear(width, 2)

    def forward(self, grid):  # (B, 8, 8) -> (B, 8, 8, 2)
        return self.read(self.blocks(self.embed(grid)))


# %% tags=["plumbing"]
def train(model, number, steps=600, rate=4e-3):
    """On new pictures at every step; `number` is their seed."""

    def loss(batch):
        grid, same = batch
        return F.cross_entropy(model(grid).flatten(0, 2), same.flatten())

    batches = iter(lambda: pictures(32), None)  # without end
    descent = Descent(lr=rate)
    how = dict(loss=loss, descent=descent, listeners=(), seed=number)
    fit(model, batches, steps=steps, **how)
    return model


@torch.no_grad()
def by_row(model):
    """Share of right answers in each row, on 500 new pictures."""
    seed(9)
    grid, same = pictures(500)
    return (model(grid).argmax(-1) == same).float().mean((0, 2))


# %% tags=["nbval-ignore-output", "hide-input"]
rows = {}
for by in (0, 2):
    rows[by] = []
    for number in range(3):
        seed(number)
        watcher = train(Watcher(shift=by), number)
        rows[by].append(by_row(watcher))
        print(f"shift {by}, seed {number}, right by row:", end=" ")
        print(*(f"{share:.2f}" for share in rows[by][-1]))

# %% tags=["held"]
assert all(0.45 < one[3] < 0.55 for one in rows[0]), rows
assert all(one.min() >= 0.95 for one in rows[2]), rows

# %% tags=["slide", "hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.2))
for by, name, mark, hue in (
    (0, "both blocks plain", "o--", "orange"),
    (2, "second block shifted by 2", "s-", "blue"),
):
    share = torch.stack(rows[by]).mean(0)
    ax.plot(range(8), share, mark, color=palette.colour(hue), label=name)
ax.axvline(3.5, color="grey", lw=1)
ax.set(xlabel="row of the token", ylabel="share right", ylim=(0.4, 1.05))
ax.set_title("Row 3 must ask the next window")
ax.legend(loc="lower right")
figures.show(
    fig,
    alt="Share of right answers by row. Without shift row 3 is at one half, all other rows near one; with shift all rows are near one.",
    caption="Mean of three seeds. The window border lies between rows 3 and 4: without a shift row 3 is at chance, as good as a coin toss.",
)

# %% [markdown] tags=["notes"]
# Row 7 is also the last of its window, but its answer is always no, so "no" at every lower border gives 1.0 there and 0.5 in row 3.

# %% [markdown]
# Row 3 is as good as a coin toss, with every seed, and no training could help: the token below is a fair coin in another window, in both blocks. Move the second block's windows by half a window, and every row is right, or very nearly. That is **Swin**: *s*hifted *win*dows.
#
# ## 2 · By hand
#
# ### Shift, cut, mask
#
# Sixteen tokens, numbered, windows of 2 × 2, shift 1. **Before you run it:** which four numbers meet in the last window?

# %%
number = torch.arange(16).reshape(1, 4, 4, 1)
print("picture          rolled up and left by 1")
for before, after in zip(number[0, ..., 0], shift(number, 1)[0, ..., 0]):
    print(before.tolist(), " ", after.tolist())
cut = partition(shift(number, 1), 2)[0, ..., 0]  # (windows, 4)
print("windows:", cut.tolist())

# %% [markdown]
# The last window holds 15, 12, 3 and 0: **the four corners of the picture.** The second holds 7, 4, 11, 8: two from the right edge, two from the left. The real grid, moved by 1, has nine windows, and those at the edges are *ragged*: 1 × 1, 1 × 2, 2 × 1. Rolling, the paper's *cyclic shift*, packs the ragged pieces into full windows, so that all have the same shape and run as one batch. The mask keeps apart tokens that merely share a box:
#
# $$\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt D} + B + \text{mask}\right) V$$
#
# | symbol | shape | with Swin-T, first stage |
# |---|---|---|
# | tokens of all windows | $(B, W, M^2, E)$, $W = hw/M^2$ | $(B, 64, 49, 96)$ |
# | $Q$, $K$, $V$ | $(B, W, H, M^2, D)$ | $(B, 64, 3, 49, 32)$ |
# | bias $B$ | $(H, M^2, M^2)$, from $(2M-1)^2$ numbers per head | $(3, 49, 49)$ from 169 |
# | mask | $(W, 1, M^2, M^2)$, True = may attend | $(64, 1, 49, 49)$ |

# %% tags=["hide-input"]
mask = masks.shifted_window(4, 4, 2, 1).dense()[:, 0]  # (4, 4, 4)
for tokens, allowed in zip(cut.tolist(), mask):
    print(f"window {tokens!s:16}", end="")
    for query, row in zip(tokens, allowed):
        seen = [key for key, yes in zip(tokens, row) if yes]
        print(f" | {query}:", *seen, end="")
    print()

# %% [markdown] tags=["slide"]
# ### Masked shift = ragged windows, exactly
#
# **Is the trick exact, or nearly?** Attention in the nine ragged windows, one by one, against one batch of rolled, full, masked ones:

# %% tags=["fragment", "hide-input"]
edge = torch.tensor([0, 1, 1, 2])  # which strip of the moved grid
# A colour for each of the nine pieces; two that never meet may share one.
hues = torch.tensor([[1, 5, 2], [6, 0, 5], [3, 6, 4]])
piece = hues[edge][:, edge][None, ..., None]  # (1, 4, 4, 1)
inks = ListedColormap(list(palette.inks().values()))
fig, axes = plt.subplots(1, 2, figsize=(8, 3.7))
for ax, by, name in zip(
    axes, (0, 1), ("9 ragged windows", "rolled: 4 full windows")
):
    grid, cells = shift(piece, by)[0, ..., 0], shift(number, by)[0, ..., 0]
    ax.imshow(grid, cmap=inks, vmin=0, vmax=6, alpha=0.45)
    for r, c in torch.cartesian_prod(*[torch.arange(4)] * 2).tolist():
        ax.text(c, r, int(cells[r, c]), ha="center", va="center", size=15)
    for line in (0.5, 2.5) if by == 0 else (1.5,):
        ax.axhline(line, color="black", lw=3)
        ax.axvline(line, color="black", lw=3)
    ax.set_title(name, size=14)
    ax.set(xticks=[], yticks=[])
figures.show(
    fig,
    alt="Left: the 16 tokens under the moved grid, nine pieces, neighbours in different colours. Right: the rolled picture, four windows; the last holds four colours, one token each.",
    caption="Neighbours of one colour are one ragged window. Rolled, several colours share a box; the mask lets equal colours see each other.",
)


# %%
def ragged(x, M, by):
    """Attention in every piece of a grid moved by `by`, one at a time."""
    out = torch.empty_like(x)
    cuts = [0, *range(by, x.shape[1], M), x.shape[1]]
    for top, bottom in pairwise(cuts):
        for left, right in pairwise(cuts):
            piece = x[:, top:bottom, left:right]
            flat = piece.flatten(1, 2)
            out[:, top:bottom, left:right] = attention(
                flat, flat, flat
            ).view_as(piece)
    return out


def rolled(x, M, by):
    cut = partition(shift(x, by), M)[:, :, None]  # (B, W, 1, M², E)
    allowed = masks.shifted_window(*x.shape[1:3], M, by)
    out = attention(cut, cut, cut, mask=allowed)[:, :, 0]
    return shift(reverse(out, *x.shape[1:3]), -by)


# %% tags=["hide-input"]
seed(0)
for side, M, by in ((4, 2, 1), (15, 5, 2), (21, 7, 3)):
    x = torch.randn(2, side, side, 8, dtype=torch.float64)
    apart = (ragged(x, M, by) - rolled(x, M, by)).abs().max()
    pieces = (math.ceil((side - by) / M) + 1) ** 2
    print(
        f"{side:2d} × {side:<2d} windows {M}: {pieces:2d} ragged pieces, ",
        end="",
    )
    print(
        f"{(side // M) ** 2:2d} full windows, differ by less than 1e-12:",
        bool(apart < 1e-12),
    )

# %% [markdown]
# Exact, up to rounding. (The tests hold it for windows from 2 to 8, with shifts and shapes of the picture drawn at random.)
#
# ### The bias: one number per offset
#
# Attention knows no order, and Swin adds no positions to its tokens. Instead every head learns **one number per offset**, added to the score: the *relative position bias*. In a 3 × 3 window two cells are −2 … 2 rows apart and −2 … 2 columns: $(2 \cdot 3 - 1)^2 = 25$ offsets for 81 pairs. Build the index by hand: row offset plus 2, times 5, plus column offset plus 2.

# %%
cells = [(r, c) for r in range(3) for c in range(3)]
index = torch.tensor(
    [
        [(r - a + 2) * 5 + (c - b + 2) for a, b in cells]  # keys
        for r, c in cells  # queries
    ]
)
print(index)
print("entries used:", index.unique().numel(), "of", 5 * 5)
print("equal to the library's:", torch.equal(index, relative_index(3)))

# %% tags=["slide", "hide-input"]
distance = torch.tensor(
    [[1.0 - math.hypot(r - 2, c - 2) for c in range(5)] for r in range(5)]
)
RelativeBiasTable(
    distance,
    row=1,
    column=1,
    key_row=0,
    key_column=2,
    title="3 × 3 cells, 25 offsets",
    caption="A bias made by hand: the nearer, the higher. Move the query: the frame slides over the table. Two pairs with the same offset share one entry.",
)

# %% [markdown]
# **What does a trained one look like?** Here is the table that the watchers' first block learned (shift 2, last seed; start: noise of 0.02). Which offset does the task ask for?

# %% tags=["nbval-ignore-output", "hide-input"]
learned = watcher.blocks[0].attention.bias.table.detach()
learned = learned.reshape(7, 7, 2).movedim(-1, 0)  # (heads, 7, 7)
best = int(learned.flatten(1).max(1).values.argmax())
RelativeBiasTable(
    learned,
    head=best,
    row=1,
    column=1,
    key_row=2,
    key_column=1,
    title="A trained table: 4 × 4 windows, 49 offsets",
    caption="The highest entry is offset (−1, 0): the key one below the query, which the task asks about. Change the head.",
)

# %% tags=["held"]
assert learned[best].argmax() == 2 * 7 + 3, learned
assert learned[best].max() > 0.5, learned

# %% [markdown]
# ## 3 · Live
#
# Go back to the figure at the top and answer with it:
#
# 1. Window 6, shift 3, step 4. How many different masks are there among the 16 windows? (Four: nothing cut, cut below, cut right, both.)
# 2. Press a token in a corner of the picture, step 5. Then switch *Mask* off. Who is lit now?
# 3. Step 6, blocks 1, 2, 3 …: how far does the token see after each? Then the same with shift 0.
#
# The last one, the *receptive field*, we also measure, on real blocks with random weights; as in the figure, the last block is a shifted one. The gradient of one token's output tells which inputs can reach it.


# %% tags=["hide-input"]
def reach(by, blocks, side=24, M=6):
    """Which tokens move the middle one after so many blocks: (side, side)."""
    seed(0)
    shifts = [by * (k % 2) for k in range(blocks, 0, -1)]  # …, 0, by
    stack = [Block(8, 1, M, 16, one) for one in shifts]
    x = torch.randn(1, side, side, 8, requires_grad=True)
    nn.Sequential(*stack)(x)[0, 8, 8].sum().backward()
    return x.grad[0].abs().sum(-1) > 0


print("blocks            1    2    3    4    5    6")
seen = {by: [reach(by, k) for k in range(1, 7)] for by in (3, 0)}
for by, name in ((3, "shifted by 3"), (0, "never shifted")):
    print(
        f"{name:14}",
        *(f"{int(one.sum()):4d}" for one in seen[by]),
        f" of {24 * 24} tokens",
    )

# %% tags=["held"]
assert [int(one.sum()) for one in seen[0]] == [36] * 6
grown = [int(one.sum()) for one in seen[3]]
assert grown == [6**2, 12**2, 15**2, 18**2, 21**2, 24**2], grown
assert len(masks.shifted_window(24, 24, 6, 3).dense().unique(dim=0)) == 4

# %% [markdown] tags=["slide", "slides-only"]
# ## With a shift, each block lets a token see further

# %% tags=["fragment", "hide-input"]
fig, axes = plt.subplots(1, 4, figsize=(8, 2.5))
for ax, k in zip(axes, (1, 2, 4, 6)):
    ax.imshow(seen[3][k - 1], cmap=figures.WEIGHTS, vmin=0, vmax=1.3)
    ax.plot(8, 8, "o", color="white", markeredgecolor="black")
    ax.set_title(f"{k} block{'s' if k > 1 else ''}", size=15)
    ax.set(xticks=[], yticks=[])
figures.show(
    fig,
    alt="Four maps of 24 by 24 tokens. What reaches the chosen token grows from one window to the whole picture.",
    caption="What can reach the marked token (gradients that are not zero). From block to block it grows; through six blocks it is the whole picture.",
)

# %% [markdown]
# ## 4 · In the open
#
# Partition is two reshapes with a swap in between. Write the picture's rows as (window row, row inside), the columns likewise, and bring the two *inside* axes together:


# %%
def my_partition(x, M):
    """(B, R, C, E) -> (B, W, M·M, E)"""
    B, R, C, E = x.shape
    x = x.reshape(B, R // M, M, C // M, M, E)
    return x.transpose(2, 3).reshape(B, -1, M * M, E)


x = torch.randn(2, 6, 9, 5)  # not square, so a swap would show
torch.testing.assert_close(my_partition(x, 3), partition(x, 3))
print(tuple(x.shape), "->", tuple(my_partition(x, 3).shape))

# %% [markdown]
# A whole shifted layer, with the library's multi-head attention of chapter 4 inside. Compare with `WindowAttention` on the same weights:


# %%
def shifted_layer(x, layer):
    """What WindowAttention does, in the open: (B, R, C, E) -> (B, R, C, E)."""
    M, by = layer.window, layer.shift
    cut = partition(shift(x, by), M)  # (B, W, M², E)
    allowed = masks.shifted_window(*x.shape[1:3], M, by)
    table = layer.bias.table  # ((2M−1)², H)
    bias = table[relative_index(M)].permute(2, 0, 1)  # (H, M², M²)
    out = layer.attend(cut, mask=allowed, bias=bias)
    return shift(reverse(out, *x.shape[1:3]), -by)


seed(0)
layer = WindowAttention(12, 3, 4, shift=2)
x = torch.randn(2, 8, 12, 12)
torch.testing.assert_close(shifted_layer(x, layer), layer(x))
print("output", tuple(layer(x).shape), "- equal to the library's layer")

# %% [markdown]
# ### Patch merging
#
# Four neighbours side by side, a norm, a linear map from $4E$ to $2E$: a quarter of the tokens, twice the width. The published order of the four is *column by column*, and weights that were trained with it need it:

# %% tags=["hide-input"]
picture = torch.arange(8).reshape(1, 2, 4, 1)
corners = [picture[:, r::2, c::2] for c in (0, 1) for r in (0, 1)]
print(
    picture[0, ..., 0].tolist(), "->", torch.cat(corners, -1)[0, 0].tolist()
)

# %% [markdown] tags=["deeper"]
# ### Dig deeper: equal to the published model
#
# The whole Swin-T, 28 million weights, random here, in `transformers` and in ours: the scores of a picture that needs padding. (The tests compare every attention map as well. With a network, `translate` reads the published weights in the same way; the GPU exercise does it.)

# %% tags=["nbval-ignore-output", "deeper"]
try:
    from transformers import SwinConfig, SwinForImageClassification

    seed(0)
    theirs = SwinForImageClassification(SwinConfig(num_labels=10)).eval()
    ours = Swin(swin_t(10)).eval()
    ours.load_state_dict(translate(theirs.state_dict()))
    image = torch.randn(1, 3, 224, 250)  # 250 is not a multiple of 4 · 7
    with torch.no_grad(), record(ours) as maps:
        apart = (ours(image) - theirs(image).logits).abs().max().item()
    shapes = {tuple(m.shape) for m in maps.values()}
    print(f"scores differ by {apart:.0e};", end=" ")
    print(f"{len(maps)} maps, such as {max(shapes)}")
except ImportError:
    print(
        "transformers is not installed: pip install transformers, and run this again."
    )

# %% tags=["held", "deeper"]
assert apart < 1e-4, apart
assert len(maps) == 12

# %% [markdown]
# ## 5 · At work
#
# ### A small Swin against chapter 8's ViT, honestly
#
# Equal CPU time, equal batch, equal learning rate, on Fashion-MNIST, with the ViT of [chapter 8](08_vit_dino.ipynb). **Guess:** who wins on pictures of 28 × 28?

# %% tags=["plumbing"]
runs = json.loads(assets.find("data/swin_runs.json").read_text())
seeds = sorted({run["seed"] for run in runs})


def found(name, side, task="sizes"):
    """The runs of one setting, one per seed."""
    wanted = {"model": name, "side": side, "task": task}
    return [run for run in runs if wanted.items() <= run.items()]


def mean(numbers):
    return sum(numbers) / len(numbers)


def scores(name, side):
    """Of every seed: the mean over the sizes of the objects."""
    return [mean(run["by_size"].values()) for run in found(name, side)]


def took(name, side):
    """Milliseconds of a training step, mean of the seeds."""
    task = "time" if side == 112 else "sizes"
    return mean([run["ms"] for run in found(name, side, task)])


def thousands(name, side):
    """Parameters of a model, in thousands."""
    (count,) = {
        r["parameters"]
        for r in runs
        if r["model"] == name and r["side"] == side
    }
    return f"{count / 1000:.0f} k"


def percent(shares):
    return " ".join(f"{100 * share:4.1f}" for share in shares)


# %% tags=["hide-input"]
print(f"60 CPU seconds      steps   % right, seeds {seeds}")
for name in ("vit/7", "swin/2"):
    these = found(name, 28, "plain")
    print(f"{name:7} {these[0]['parameters']:,} weights", end="")
    print(f" {mean([run['steps'] for run in these]):5.0f}", end="   ")
    print(percent(run["accuracy"] for run in these))

# %% tags=["held"]
plain = {name: found(name, 28, "plain") for name in ("vit/7", "swin/2")}
assert min(r["accuracy"] for r in plain["vit/7"]) > max(
    r["accuracy"] for r in plain["swin/2"]
)
assert all(
    6 < v["steps"] / s["steps"] < 7
    for v, s in zip(plain["vit/7"], plain["swin/2"])
)

# %% [markdown]
# The ViT wins with both seeds. It has two thirds of the parameters and takes six to seven times the steps: its 16 patches of 7 × 7 are cheap, the Swin begins with 196 of 2 × 2.
#
# **Where does the order turn?** The same clothes at any size from 14 pixels up, anywhere in larger pictures, **the same 4 × 4 patches for both**, the same 60 seconds. (At 112 pixels we only timed a step.)

# %% tags=["hide-input"]
print(
    f"picture  tokens  ViT/4           % right    Swin/4          % right, seeds {seeds}"
)
for side in (28, 56, 112):
    print(f"{side:4d} px  {(side // 4) ** 2:5d}", end="")
    for name in ("vit/4", "swin/4"):
        print(
            f"  {took(name, side):5.0f} ms {thousands(name, side)}", end="  "
        )
        print(percent(scores(name, side)) if side < 112 else " " * 9, end="")
    print()
coarse = found("vit/14", 56)
print(f"\n56 px, ViT/14: {took('vit/14', 56):.0f} ms", end="  ")
print(percent(scores("vit/14", 56)), "right; by size of the object:")
for size in ("14", "28", "56"):
    print(
        f"{size} px {mean([r['by_size'][size] for r in coarse]):.0%}",
        end="  ",
    )

# %% tags=["held"]
for side in (28, 56):
    pairs = zip(scores("swin/4", side), scores("vit/4", side))
    assert all(swin > vit_ for swin, vit_ in pairs), side
assert min(scores("vit/14", 56)) > max(scores("swin/4", 56))
factors = [
    took("vit/4", side) / took("swin/4", side) for side in (28, 56, 112)
]
assert factors == sorted(factors), factors
assert 1.2 < factors[0] < 1.5, factors
assert 1.8 < factors[1] < 2.2 < 4 < factors[2] < 6, factors
for run in coarse:
    assert run["by_size"]["14"] < run["by_size"]["28"] < run["by_size"]["56"]

# %% tags=["hide-input", "slide"]
fig, ax = plt.subplots(figsize=(7, 3.2))
for name, family, mark in (("vit/4", "ViT", "o--"), ("swin/4", "Swin", "s-")):
    ax.plot(
        (28, 56, 112),
        [took(name, s) for s in (28, 56, 112)],
        mark,
        color=palette.colour(family),
        label=f"{family}, 4 × 4 patches",
    )
ax.set(
    xscale="log",
    yscale="log",
    xlabel="side of the picture in pixels",
    ylabel="ms per training step",
)
ax.set_xticks((28, 56, 112), ("28", "56", "112"))
ax.xaxis.minorticks_off()
figures.plain_ticks(ax.yaxis)
ax.set_title("The same patches, larger pictures")
ax.legend()
figures.show(
    fig,
    alt="Time of a training step of a ViT and a Swin with equal patches against picture size. The ViT's line is steeper.",
    caption="A training step of 32 pictures, CPU time, measured while training (training/swin.py).",
)

# %% [markdown]
# With the same small patches the Swin is ahead at both sizes, with both seeds. Its step is faster at all three, and the factor grows with the picture: about 1.3, 2 and 5. (It also has more parameters, 303 thousand against 205 to 214 thousand: its second stage is wider. And at 112 pixels it is another Swin: a third stage, and 32 wide at the start instead of 48, 571 thousand parameters against 252 thousand.)
#
# But the order does not turn against a ViT that may choose its patches. At 56 pixels, with patches of 14 × 14, it takes about 15 ms per step and beats both in these 60 seconds, though it knows small objects less well than large ones. Windows and a pyramid make small patches cheaper; in a minute on one core they do not pay off here. And with days on GPUs?
#
# ### Speed against accuracy, as published
#
# ImageNet-1K, trained on it alone, pictures per second on one V100 GPU: table 1a of [Liu et al. (2021)](https://arxiv.org/abs/2103.14030). The rows of CNNs, ViT and DeiT are those of table 5 of [DeiT](https://arxiv.org/abs/2012.12877); for the weights that the [authors of Swin](https://github.com/microsoft/Swin-Transformer/blob/main/MODELHUB.md) offer, their list says 0.1 less for T, 0.2 more for S, and the same for B.

# %% tags=["plumbing"]
# name, pictures per second, top-1 %
PUBLISHED = {
    "RegNetY": [
        ("4G", 1156.7, 80.0),
        ("8G", 591.6, 81.7),
        ("16G", 334.7, 82.9),
    ],
    "EfficientNet": [
        ("B3", 732.1, 81.6),
        ("B4", 349.4, 82.9),
        ("B5", 169.1, 83.6),
        ("B6", 96.9, 84.0),
        ("B7", 55.1, 84.3),
    ],
    "ViT": [("B/16, 384²", 85.9, 77.9), ("L/16, 384²", 27.3, 76.5)],
    "DeiT": [("S", 940.4, 79.8), ("B", 292.3, 81.8), ("B, 384²", 85.9, 83.1)],
    "Swin": [
        ("T", 755.2, 81.3),
        ("S", 436.9, 83.0),
        ("B", 278.1, 83.5),
        ("B, 384²", 84.7, 84.5),
    ],
}

# %% tags=["hide-input"]
fig = go.Figure()
LOOKS = {  # two CNNs: one hue, two marks
    "RegNetY": ("CNN", "square", "dot"),
    "EfficientNet": ("CNN", "diamond", "dash"),
    "ViT": ("ViT", "x", "dot"),
    "DeiT": ("DeiT", "triangle-up", "dash"),
    "Swin": ("Swin", "circle", "solid"),
}
for family, points in PUBLISHED.items():
    names, speed, right = zip(*points)
    sense, mark, dash = LOOKS[family]
    fig.add_scatter(
        x=speed,
        y=right,
        name=family,
        mode="lines+markers",
        text=[f"{family} {name}: {r} %" for name, r in zip(names, right)],
        line={"color": palette.colour(sense), "dash": dash},
        marker={"symbol": mark, "size": 10},
    )
fig.update_xaxes(
    type="log",
    title="pictures per second (V100)",
    tickvals=[30, 100, 300, 1000],
)
fig.update_yaxes(title="top-1 accuracy, %")
figures.interactive(
    fig,
    alt="Accuracy on ImageNet against speed for five families. Swin lies above DeiT and RegNetY, level with EfficientNet; plain ViT lies far below.",
    caption="Up and right is better. Hover for names.",
    title="Speed against accuracy, Liu et al. (2021), table 1a",
)


# %% tags=["held"]
def along(family, speed):
    """Accuracy on a family's line, at a speed; None beyond its ends."""
    points = sorted(point[1:] for point in PUBLISHED[family])
    for (slow, a), (fast, b) in pairwise(points):
        if slow <= speed <= fast:
            return a + (b - a) * math.log(speed / slow) / math.log(
                fast / slow
            )
    return None


gaps = {family: [] for family in PUBLISHED}
for family in PUBLISHED:
    for speed in range(85, 756):
        pair = along("Swin", speed), along(family, speed)
        if None not in pair:
            gaps[family].append(pair[0] - pair[1])
assert min(gaps["DeiT"] + gaps["RegNetY"]) > 0, gaps
assert max(map(abs, gaps["EfficientNet"])) < 0.5
assert 6 < 84.5 - 77.9 < 7  # Swin-B and ViT-B/16, both at 384²

# %% [markdown]
# Along the lines of this plot Swin is above DeiT and RegNetY wherever they overlap, and within half a point of EfficientNet. The first ViT, trained on the same data alone, is more than six points below Swin at about the same speed. Most of that is its training, not its shape: DeiT-B at 384² is the same network, trained by another recipe, and only 1.4 points below.
#
# ### A real trained model, looked into
#
# DAT-light ([Chen et al. 2023](https://arxiv.org/abs/2308.03364)) doubles the size of pictures. Nine of its 18 blocks attend in windows of 8 × 32, and four of those are shifted, with Swin's mask. Its bias comes from a tiny network that is asked about every offset. What did that bias learn?

# %% tags=["hide-input"]
dat, about = assets.load("data/dat_light.safetensors")
spread = [
    table.std().item()
    for name, table in dat.items()
    if name.startswith("bias")
]
print(
    f"bias tables: {len(spread)} of 3 heads × 15 × 63 offsets; spread {max(spread):.3f}"
)
print(
    "layer norm of 3.7 alone:", F.layer_norm(torch.tensor([3.7]), (1,)).item()
)

# %% [markdown]
# **Nothing.** Every offset has the same bias, in all nine blocks and all three heads kept here (three more attend in standing windows, 32 × 8), and the softmax does not see a constant. In this small version the network's hidden layer is one number wide (60 channels, halved for two directions, then divided by 4 twice and rounded down: [its code](https://github.com/zhengchen1999/DAT)), and a layer norm of one number is always 0. (Inside a window this attention knows no positions.) Shift and mask are Swin's. Here is its last shifted block at work, one token of each window:

# %% [markdown] tags=["slide", "slides-only"]
# ## A trained model at work, with its mask and without

# %% tags=["fragment", "hide-input"]
high, wide = about["window"]
small = torch.roll(dat["small"], [-by for by in about["shift"]], (1, 2))
fig, axes = plt.subplots(1, 3, figsize=(9, 3.5))
axes[0].imshow(small.movedim(0, -1))
for ax, seen_by in zip(axes[1:], dat["attended"].float()):
    ax.imshow(seen_by.sqrt(), cmap=figures.WEIGHTS)
names = "rolled photograph", "attention, masked", "without the mask"
for ax, name in zip(axes, names):
    for r in range(0, small.shape[1], high):
        ax.axhline(r - 0.5, color="black", lw=0.6)
        for c in range(0, small.shape[2], wide):
            place = c + about["query"][1], r + about["query"][0]
            ax.plot(*place, ".", color=palette.colour("orange"))
    for c in range(0, small.shape[2], wide):
        ax.axvline(c - 0.5, color="black", lw=0.6)
    ax.set_title(name, size=16)
    ax.set(xticks=[], yticks=[])
figures.show(
    fig,
    alt="A cat's face, rolled, in windows of 8 by 32 pixels. In the attention of one token per window the rim of an eye can be made out. With the mask the strip that came round, at the right and at the bottom, is empty; without it is not.",
    caption="What each dot attends to in its window (mean of 3 heads, square root). Right and bottom: pixels that came round from the other side.",
)

# %% tags=["held"]
inside, bare_map = dat["attended"].float()
rolled_in = torch.zeros(96, 96, dtype=torch.bool)
rolled_in[-about["shift"][0] :], rolled_in[:, -about["shift"][1] :] = (
    True,
    True,
)
assert inside[rolled_in].max() == 0
assert bare_map[rolled_in].sum() > 1, bare_map[rolled_in].sum()

# %% [markdown]
# How much does the mask matter to it?

# %% tags=["hide-input"]
print(
    "photograph   bicubic   DAT   without mask   change: border, inside, most"
)
for row in about["rows"]:
    print(
        f"{row['photograph']:11} {row['bicubic']:6.2f} {row['masked']:8.2f}",
        end="",
    )
    print(
        f" {row['without']:9.2f} dB   {row['border']:.2f} {row['inside']:10.2f}",
        end="",
    )
    print(f"    {row['largest']:.0f} of 255")
strangers = [row["outside"] for row in about["rows"]]
print(
    f"attention to strangers without the mask, in windows that have some: {min(strangers):.0%} to {max(strangers):.0%}"
)

# %% tags=["held"]
assert all(row["masked"] > row["bicubic"] + 1 for row in about["rows"])
assert all(
    abs(row["masked"] - row["without"]) < 0.05 for row in about["rows"]
)
assert all(0.25 > row["border"] > row["inside"] for row in about["rows"])
assert len(spread) == 9
assert max(spread) < 1e-5, spread
assert max(row["largest"] for row in about["rows"]) < 8.5
assert len(about["shifted"]) == 4

# %% [markdown]
# Leave its mask out, and in the windows at the edges a good part of the attention goes to strangers from the other side (last line and the picture on the right: the last shifted block). Yet the picture hardly changes: on average by less than a quarter of one grey level, more along the border than inside, in no pixel by more than 8, and the quality stays. So a missing mask can go unnoticed: keep it in mind for exercise 9.5.

# %% [markdown]
# ### Relatives, one idea each
#
# **Swin-V2** ([Liu et al. 2022](https://arxiv.org/abs/2111.09883)): cosine instead of dot product, so that scores stay bounded; the norm *after* the sublayer, before its output is added; and a bias that a small network computes from *log-spaced* offsets, so that a larger window at test time asks for offsets closer to those it knows.


# %% tags=["hide-input"]
def cosine_scores(q, k, temperature=0.1):
    """Swin-V2: scores in −10 … 10, however long the vectors are."""
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return q @ k.mT / temperature


def log_offsets(M):
    """Swin-V2: sign(Δ) · log(1 + |Δ|), from −(M−1) to M−1."""
    offset = torch.arange(1.0 - M, M)
    return offset.sign() * (1 + offset.abs()).log2()


seed(0)
q, k = 30 * torch.randn(2, 5, 16)
print(
    f"largest score: dot {(q @ k.mT).max():.0f}, cosine {cosine_scores(q, k).max():.1f}"
)
print(
    "window 8, then 16: plain offsets grow", f"{15 / 7:.2f} times,", end=" "
)
print(f"log-spaced {log_offsets(16)[-1] / log_offsets(8)[-1]:.2f} times")

# %% [markdown] tags=["deeper"]
# ### Dig deeper: Swin-V2's bias network and norm, and MViT
#
# The other two ideas of Swin-V2, built: one small network answers for windows of any size, and a norm between sublayer and residual bounds what a block may add.


# %% tags=["deeper"]
class LogBias(nn.Module):
    """Swin-V2: a network makes the bias from log-spaced offsets."""

    def __init__(self, heads, hidden=64):
        super().__init__()
        last = nn.Linear(hidden, heads, bias=False)
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), last)

    def forward(self, M):  # any window: -> (H, M·M, M·M)
        line = log_offsets(M)
        table = self.net(torch.cartesian_prod(line, line))  # ((2M−1)², H)
        return table[relative_index(M)].permute(2, 0, 1)


seed(0)
bias = LogBias(heads=3)
print(
    "one network:", *(f"window {M}: {tuple(bias(M).shape)}" for M in (8, 16))
)


# %% tags=["deeper"]
def add(x, sublayer, norm, after):
    """Swin-V2 norms what is added; Swin norms what the sublayer reads."""
    return x + (norm(sublayer(x)) if after else sublayer(norm(x)))


seed(0)
loud = [nn.Linear(64, 64) for _ in range(24)]
for layer in loud:
    nn.init.normal_(layer.weight, std=1.0)  # sublayers 8 times too loud
with torch.no_grad():
    for after in (False, True):
        x = torch.randn(100, 64)
        for layer in loud:
            x = add(x, layer, nn.LayerNorm(64), after)
        name = (
            "norm after the sublayer" if after else "norm before the sublayer"
        )
        print(f"24 loud layers, {name}: spread {x.std():.0f}")

# %% [markdown] tags=["deeper"]
# **MViT** ([Fan et al. 2021](https://arxiv.org/abs/2104.11227)) builds its pyramid inside attention: keys and values are *pooled* before the look-up, so attention stays global and its table shrinks; pooled queries shrink the output. The improved version ([Li et al. 2022](https://arxiv.org/abs/2112.01526)) adds the pooled query to the output, a residual, and relative positions.


# %% tags=["deeper"]
def pooling_attention(x, stride_q, stride_kv, residual=True):
    """MViT: (B, R, C, E) -> (B, R/stride_q, C/stride_q, E); no weights, for the idea."""

    def pool(x, stride):
        return F.avg_pool2d(x.movedim(-1, 1), stride).movedim(1, -1)

    q, kv = pool(x, stride_q), pool(x, stride_kv)
    flat = kv.flatten(1, 2)
    out = attention(q.flatten(1, 2), flat, flat).view_as(q)
    return out + q if residual else out  # the improved version's residual


x = torch.randn(1, 56, 56, 96)
y = pooling_attention(x, stride_q=2, stride_kv=4)
print(
    tuple(x.shape),
    "->",
    tuple(y.shape),
    f"table {28 * 28} × {14 * 14} instead of 3136 × 3136",
)

# %% [markdown]
# ## 6 · Misconceptions
#
# ### "The mask is only an optimisation; one can leave it out"
#
# People ask this again and again ([issue 52](https://github.com/microsoft/Swin-Transformer/issues/52); in [issue 245](https://github.com/microsoft/Swin-Transformer/issues/245) somebody reports an accuracy "near 84%" without mask and bias). The super-resolver above hardly minds. The last of our watchers does: **without the mask the last row finds a neighbour below, in the first row.** And if one trains without it from the start?

# %% tags=["nbval-ignore-output"]
with_mask = by_row(watcher)
with patch.object(windows, "_shift_mask", lambda *sizes: None):
    without = by_row(watcher)
    seed(2)
    never = by_row(train(Watcher(shift=2), 2))
print("row               ", *(f"{row:4d}" for row in range(8)))
print("with the mask     ", *(f"{share:.2f}" for share in with_mask))
print("taken out         ", *(f"{share:.2f}" for share in without))
print("trained without it", *(f"{share:.2f}" for share in never))

# %% tags=["held"]
assert with_mask[7] > 0.95, with_mask
assert without[7] < 0.6, without
assert never[3] + never[7] < 1.6, never  # alike to it, but not their answers
assert min(row for k, row in enumerate(never.tolist()) if k % 4 < 3) > 0.9

# %% tags=["hide-input"]
seed(0)
x = torch.randn(1, 4, 4, 8)
cut = partition(shift(x, 1), 2)[0, -1:]  # the last window: the four corners
bare = weights(cut, cut)[0]
kept = weights(cut, cut, mask=masks.shifted_window(4, 4, 2, 1).dense()[-1])[0]
print("corners to corners, no mask          with it")
for one, other in zip(bare.tolist(), kept.tolist()):
    print(*(f"{w:5.2f}" for w in one), "           ", end="")
    print(*(f"{w:5.2f}" for w in other))

# %% [markdown]
# The four corners of the picture attend to each other, as if it were a torus. Rows 3 and 7 look alike on it, so a model trained without the mask (one seed) cannot answer both: what one row gains, the other loses. Whether that hurts depends on the task.
#
# ### "Shifting moves the picture's content"
#
# Tokens are routed to another window and back. On the way nothing is computed but attention. Replace attention by nothing, and the way there and back is the identity, bit for bit:

# %%
x = torch.randn(2, 12, 18, 5)
routed = partition(shift(x, 3), 6)
back = shift(reverse(routed, 12, 18), -3)
print("values that changed:", int((back != x).sum()), "of", x.numel())

# %% [markdown]
# ## 7 · Exercises

# %% [markdown] tags=["exercise"] exercise="09.1"
# ### Exercise 9.1 ★ · Put the windows back (10 min)
#
# `my_partition` cut a picture of $R \times C$ tokens into windows. Write the way back, `my_reverse(windows, rows, columns)`, from $(B, W, M^2, E)$ to $(B, R, C, E)$. Pictures need not be square.


# %% tags=["stub"] exercise="09.1"
def my_reverse(windows, rows, columns):
    """(B, W, M·M, E) -> (B, rows, columns, E)"""
    M = ...  # side of a window
    x = ...  # (B, rows/M, columns/M, M, M, E)
    return ...


# %% [markdown] tags=["hint"] exercise="09.1"
# Undo the steps of `my_partition` from the last to the first: first split $W$ into rows and columns of windows and $M^2$ into $M \times M$, then swap, then flatten.

# %% [markdown] tags=["hint"] exercise="09.1"
# In `(B, rows/M, columns/M, M, M, E)` the picture's rows are axes 1 and 3. Which `transpose` brings them together? A `reshape` alone never moves a number.


# %% tags=["solution"] exercise="09.1"
def my_reverse(windows, rows, columns):
    """(B, W, M·M, E) -> (B, rows, columns, E)"""
    M = math.isqrt(windows.shape[2])  # side of a window
    x = windows.reshape(-1, rows // M, columns // M, M, M, windows.shape[3])
    return x.transpose(2, 3).reshape(-1, rows, columns, windows.shape[3])


# %% tags=["check"] exercise="09.1"
check("09.1", my_reverse)

# %% [markdown] tags=["exercise"] exercise="09.2"
# ### Exercise 9.2 ★★ · The mask of shifted windows (20 min)
#
# Write `my_shift_mask(rows, columns, M, by)`: for a picture that was rolled up and left by `by` and cut into windows, a bool tensor $(W, M^2, M^2)$, True where a query may see a key. You may use `partition`.


# %% tags=["stub"] exercise="09.2"
def my_shift_mask(rows, columns, M, by):
    """(W, M·M, M·M), bool: True = may attend"""
    region = ...  # (rows, columns): which piece a cell belongs to
    cut = ...  # (W, M·M)
    return ...


# %% [markdown] tags=["hint"] exercise="09.2"
# Which cells of the *rolled* picture came round? The last `by` rows came from the top, the last `by` columns from the left. Give each cell a number that says both.

# %% [markdown] tags=["hint"] exercise="09.2"
# `region = 2 * came_from_top + came_from_left` has four values. Cut it into windows like any picture: `partition(region[None, :, :, None], M)[0, :, :, 0]`.

# %% [markdown] tags=["hint"] exercise="09.2"
# Two cells of a window may see each other when their numbers are equal: compare `cut[:, :, None]` with `cut[:, None, :]`.


# %% tags=["solution"] exercise="09.2"
def my_shift_mask(rows, columns, M, by):
    """(W, M·M, M·M), bool: True = may attend"""
    from_top = torch.arange(rows)[:, None] >= rows - by
    from_left = torch.arange(columns)[None, :] >= columns - by
    region = 2 * from_top.long() + from_left.long()  # (rows, columns)
    cut = partition(region[None, :, :, None], M)[0, :, :, 0]  # (W, M·M)
    return cut[:, :, None] == cut[:, None, :]


# %% tags=["check"] exercise="09.2"
check("09.2", my_shift_mask)

# %% [markdown] tags=["exercise"] exercise="09.3"
# ### Exercise 9.3 ★★ · The relative index (10 min)
#
# Write `my_relative_index(M)`: an integer tensor $(M^2, M^2)$ that says which of the $(2M-1)^2$ entries belongs to query $i$ and key $j$; query minus key, rows first, as in part 2. No loops over pairs, please.


# %% tags=["stub"] exercise="09.3"
def my_relative_index(M):
    """(M·M, M·M), whole numbers from 0 to (2M−1)² − 1"""
    cell = torch.arange(M * M)
    row, column = ..., ...  # of each cell
    down = ...  # (M·M, M·M): 0 … 2M−2
    across = ...
    return ...


# %% [markdown] tags=["hint"] exercise="09.3"
# Cell 5 of a 3 × 3 window is in row `5 // 3` and column `5 % 3`. `row[:, None] - row[None, :]` holds all differences at once.

# %% [markdown] tags=["hint"] exercise="09.3"
# Differences go from $-(M-1)$ to $M-1$: add $M-1$ to both. A table row has $2M-1$ entries, so `down` is multiplied by that.


# %% tags=["solution"] exercise="09.3"
def my_relative_index(M):
    """(M·M, M·M), whole numbers from 0 to (2M−1)² − 1"""
    cell = torch.arange(M * M)
    row, column = cell // M, cell % M  # of each cell
    down = row[:, None] - row[None, :] + M - 1  # 0 … 2M−2
    across = column[:, None] - column[None, :] + M - 1
    return down * (2 * M - 1) + across


# %% tags=["check"] exercise="09.3"
check("09.3", my_relative_index)

# %% [markdown] tags=["exercise"] exercise="09.4"
# ### Exercise 9.4 ★ · Merge four neighbours (5 min)
#
# Write `my_merge(x)`: $(B, R, C, E) \to (B, R/2, C/2, 4E)$, the four tokens of every 2 × 2 square side by side in the published order: upper left, *lower* left, upper right, lower right. Sides are even.


# %% tags=["stub"] exercise="09.4"
def my_merge(x):
    """(B, R, C, E) -> (B, R/2, C/2, 4E)"""
    upper_left = x[:, 0::2, 0::2]
    lower_left = ...
    upper_right = ...
    lower_right = ...
    return ...


# %% [markdown] tags=["hint"] exercise="09.4"
# `x[:, 1::2, 0::2]` takes every second row from row 1 and every second column from column 0. Which of the four is that?

# %% [markdown] tags=["hint"] exercise="09.4"
# `torch.cat([...], dim=-1)` puts them side by side; the order of the list is the order of the answer.


# %% tags=["solution"] exercise="09.4"
def my_merge(x):
    """(B, R, C, E) -> (B, R/2, C/2, 4E)"""
    upper_left = x[:, 0::2, 0::2]
    lower_left = x[:, 1::2, 0::2]
    upper_right = x[:, 0::2, 1::2]
    lower_right = x[:, 1::2, 1::2]
    return torch.cat(
        [upper_left, lower_left, upper_right, lower_right], dim=-1
    )


# %% tags=["check"] exercise="09.4"
check("09.4", my_merge)

# %% [markdown] tags=["exercise"] exercise="09.5"
# ### Exercise 9.5 ★★★ · The mask that masked nothing (20 min)
#
# A published project kept its pictures as $(1, 1, R, C)$ and filled its regions on the wrong axes ([issue 81](https://github.com/zsyOAOA/ResShift/issues/81) of ResShift). A reader found it in 2024: the lower windows were split left from right, those at the right edge not at all. The function below makes the same kind of mistake and masks nothing, **and its test passes.** Write a better test: `trustworthy(make_mask)` is given a function `make_mask(rows, columns, M, by)` and returns True if its masks are right, False if not. Do not compare with a finished mask: say what must hold.


# %%
def broken_mask(rows, columns, M, by):
    region = torch.zeros(1, 1, rows, columns)
    cuts = slice(0, -M), slice(-M, -by), slice(-by, None)
    count = 0
    for h in cuts:
        for w in cuts:
            region[h, w] = count  # which axes are these?
            count += 1
    cut = partition(region.movedim(1, -1), M)[0, ..., 0]
    return cut[:, :, None] == cut[:, None, :]


def poor_test(make_mask):
    mask = make_mask(8, 8, 4, 2)
    return (
        mask.shape == (4, 16, 16)
        and mask.dtype == torch.bool
        and torch.equal(mask, mask.mT)  # if i sees j, j sees i
        and bool(mask.diagonal(dim1=1, dim2=2).all())  # all see themselves
    )


print("the poor test is happy:", poor_test(broken_mask))


# %% tags=["stub"] exercise="09.5"
def trustworthy(make_mask):
    """True if make_mask(rows, columns, M, by) makes right masks."""
    mask = make_mask(8, 12, 4, 1)  # not square, not half a window
    ...
    return ...


# %% [markdown] tags=["hint"] exercise="09.5"
# A mask that blocks nothing passes every test that asks only who *may* see whom. Which pairs must *not* see each other? In the last window of all there are four pieces.

# %% [markdown] tags=["hint"] exercise="09.5"
# Roll two pictures of numbers, each cell's row and its column, and cut them into windows. Two tokens of a window really are neighbours only if their true rows differ by less than $M$, and their true columns too. (Is that always enough? Take a picture with at least two windows along each side.)

# %% [markdown] tags=["hint"] exercise="09.5"
# So for a rolled picture `near = (row_i − row_j).abs() < M` and the same for columns; a right mask equals `near_rows & near_columns`. Try a shape with more rows than columns as well.


# %% tags=["solution"] exercise="09.5"
def trustworthy(make_mask):
    """True if make_mask(rows, columns, M, by) makes right masks."""
    for rows, columns, M, by in ((8, 12, 4, 1), (15, 10, 5, 3), (6, 6, 3, 1)):
        place = torch.stack(
            torch.meshgrid(
                torch.arange(rows), torch.arange(columns), indexing="ij"
            ),
            -1,
        )[None]  # (1, rows, columns, 2): where each token really is
        cut = partition(shift(place, by), M)[0]  # (W, M·M, 2)
        apart = (cut[:, :, None] - cut[:, None, :]).abs()  # (W, M·M, M·M, 2)
        near = (apart < M).all(-1)
        mask = make_mask(rows, columns, M, by)
        if mask.shape != near.shape or not torch.equal(mask, near):
            return False
    return True


# %% tags=["check"] exercise="09.5"
check("09.5", trustworthy)

# %% [markdown]
# ### GPU exercise · Swin at 224²
#
# One more exercise has a notebook of its own: [Swin at 224 × 224](gpu_09_swin_224.ipynb). It measures a Swin against a ViT as pictures grow, trains both, and loads the published Swin-T where there is a network.

# %% [markdown] tags=["slide"]
# ## 8 · Takeaways
#
# 1. **Windows make attention linear** in the picture: $M^2 hw$ weights instead of $(hw)^2$.
# 2. **Without a shift, the windows of a stage never talk.** Half a window's shift in every other block joins them all.
# 3. **Rolling is packing.** With its mask it equals ragged windows exactly; without it the picture is a torus.
# 4. **A bias per offset** stands in for positions: $(2M-1)^2$ numbers per head.
# 5. **Merging builds the pyramid.** With equal patches it is faster, and the more so the larger the picture; large patches on small pictures are cheaper still.

# %% [markdown]
# ### Shapes and costs
#
# | | shape | numbers |
# |---|---|---|
# | windows | $(B, hw/M^2, M^2, E)$ | |
# | weights | $(B, hw/M^2, H, M^2, M^2)$ | $H M^2 hw$ instead of $H (hw)^2$ |
# | mask | $(hw/M^2, 1, M^2, M^2)$ | none trained |
# | bias table | $((2M-1)^2, H)$ | 169 per head for $M = 7$ |
# | merging | $(h, w, E) \to (h/2, w/2, 2E)$ | $8E^2$ and a norm |
# | Swin-T | 56² × 96, 28² × 192, 14² × 384, 7² × 768 | 28,288,354 |
#
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "The side of a picture doubles. The cost of the weights of window attention …",
            "choices": [
                {
                    "text": "grows 4 times",
                    "correct": True,
                    "why": "Four times the tokens, and each still sees M² others.",
                },
                {
                    "text": "grows 16 times",
                    "why": "That is global attention: every pair of four times the tokens.",
                },
                {
                    "text": "doubles",
                    "why": "The side doubles, but tokens cover an area.",
                },
                {
                    "text": "stays",
                    "why": "There are four times as many windows.",
                },
            ],
        },
        {
            "question": "Two blocks, both without shift. How far does a token see?",
            "choices": [
                {
                    "text": "Its own window",
                    "correct": True,
                    "why": "The second block asks the same neighbours again. Row 3 stayed at chance.",
                },
                {
                    "text": "Its window and the eight around it",
                    "why": "Only if the second block's windows lay across the borders.",
                },
                {
                    "text": "The whole picture",
                    "why": "Nothing ever crosses a border.",
                },
            ],
        },
        {
            "question": "Which windows of a shifted picture need a mask?",
            "choices": [
                {
                    "text": "All",
                    "why": "Away from the lower and right edge all are real neighbours, and the masks are True everywhere.",
                },
                {
                    "text": "Those in the last row and the last column",
                    "correct": True,
                    "why": "There the roll brought cells from the other side.",
                },
                {
                    "text": "Only the last one",
                    "why": "It is the worst, with four pieces, but the others at the edge have two.",
                },
            ],
        },
        {
            "question": "Windows of 7 × 7. How many biases does one head learn?",
            "choices": [
                {"text": "49", "why": "That would be one per cell."},
                {
                    "text": "2401",
                    "why": "One per pair. Pairs with equal offsets share.",
                },
                {
                    "text": "169",
                    "correct": True,
                    "why": "Offsets −6 … 6 in both directions: 13².",
                },
            ],
        },
        {
            "question": "Your model trains well without the mask. What follows?",
            "choices": [
                {
                    "text": "The mask is not needed",
                    "why": "Our watcher lost a row without it. Another task may not notice.",
                },
                {
                    "text": "Nothing yet: test the mask itself, on pairs that must not meet",
                    "correct": True,
                    "why": "A super-resolver changed by less than a grey level on average without its mask. A test of the mask tells.",
                },
                {
                    "text": "The windows are too small",
                    "why": "Rolled windows of any size meet strangers at the edge.",
                },
            ],
        },
        {
            "question": "What does rolling the picture change about its tokens?",
            "choices": [
                {
                    "text": "Their content",
                    "why": "There and back is the identity, bit for bit.",
                },
                {
                    "text": "Which others they share a window with",
                    "correct": True,
                    "why": "Routing only. Afterwards each is where it was.",
                },
                {
                    "text": "Their positions in the output",
                    "why": "They are rolled back before the next layer.",
                },
            ],
        },
    ],
    title="Self-test: Swin windows",
    key="09",
)

# %% [markdown]
# ### References
#
# - Z. Liu and others (2021), [Swin Transformer](https://arxiv.org/abs/2103.14030): windows, shift, mask, bias, merging; table 1a.
# - Z. Liu and others (2022), [Swin Transformer V2](https://arxiv.org/abs/2111.09883). H. Fan and others (2021), [Multiscale Vision Transformers](https://arxiv.org/abs/2104.11227); Y. Li and others (2022), [MViTv2](https://arxiv.org/abs/2112.01526).
# - Z. Chen and others (2023), [Dual Aggregation Transformer](https://arxiv.org/abs/2308.03364): the super-resolver.
# - H. Touvron and others (2021), [DeiT](https://arxiv.org/abs/2012.12877): a ViT trained on ImageNet alone.
#
# **Next:** chapter 10 takes the Transformer of 2017 and replaces it part by part.
