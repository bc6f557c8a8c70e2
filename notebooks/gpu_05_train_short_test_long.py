# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 5
#     gpu: true
#     title: Train short, test long
#     minutes: 40
#     summary: Small language models with four encodings on real text, their loss beyond the trained length, and RoPE stretched by your own hands.
# ---

# %% [markdown]
# # 5 · GPU exercise: train short, test long
#
# [Chapter 5](05_positions.ipynb) measured extrapolation on two toy tasks. Here you train small **language models** on real text, each with another encoding, and look at their loss place by place beyond the trained length. Then you stretch RoPE, and train a little more.
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny, and its models learn little more than the letters. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %%
import math
import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import figures
from attnlab.device import find, stopwatch
from attnlab.layers.heads import MultiHead
from attnlab.layers.positions import Rope, Sinusoidal, stretched_base
from attnlab.layers.relative import T5Bias, alibi
from attnlab.reproducible import seed
from attnlab.training import Descent, fit

figures.use_style()

# %% tags=["nbval-ignore-output"]
gpu = find()
device = gpu.place
trained, width, layers, steps, batch, tested = gpu.choose(
    cuda=(256, 256, 4, 3000, 64, 512),
    mps=(128, 128, 2, 600, 32, 512),
    cpu=(32, 32, 1, 40, 16, 512),
    pretended=(32, 16, 1, 2, 2, 4),
)
heads, longest = 4, 4 * trained
gpu.banner(
    cuda="four models, trained on 256 letters and tested on 1024.",
    mps="four small models, trained on 128 letters and tested on 512.",
    cpu="a tiny version: a few seconds, and models that know little.",
)

# %% [markdown]
# ## The text
#
# Something long that every machine has: the source code of Python's own library. Open brackets, names and indentation reach back far. We read it letter by letter.

# %% tags=["nbval-ignore-output"]
files = sorted(Path(os.__file__).parent.glob("*.py"))
text = "".join(file.read_text(errors="ignore") for file in files)
data = torch.tensor(list(text.encode("ascii", "ignore")))  # bytes, 0 to 127
cut = int(0.9 * len(data))
train_text, test_text = data[:cut], data[cut:]
print(f"{len(train_text):,} letters to train on, {len(test_text):,} to test")


# %%
def pieces(text, length, count):
    """Random pieces of the text, one letter longer: (count, length + 1)."""
    start = torch.randint(len(text) - length - 1, (count, 1))
    return text[start + torch.arange(length + 1)].to(device)


# %% [markdown]
# ## The model
#
# A stack of chapter 4's attention layers with a small MLP each. `kind` chooses the encoding, as in chapter 5.


# %%
class Reader(nn.Module):
    """A causal language model of letters; `kind` says how it knows places."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.embed = nn.Embedding(128, width)
        self.add = (
            Sinusoidal(width) if kind == "sinusoidal" else nn.Identity()
        )
        self.t5 = T5Bias(
            heads, buckets=32, furthest=trained * 3 // 4, both_ways=False
        )
        rope = Rope(width // heads) if kind == "RoPE" else None
        self.looks = nn.ModuleList(
            MultiHead(width, heads, rope=rope) for _ in range(layers)
        )
        self.thinks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width),
                nn.Linear(width, 4 * width),
                nn.GELU(),
                nn.Linear(4 * width, width),
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.next = nn.Linear(width, 128)

    def forward(self, letters):
        x, length = (
            self.add(self.embed(letters)),
            letters.shape[1],
        )  # (B, L, E)
        bias = None
        if self.kind == "ALiBi":
            bias = alibi(heads, length, length, device=x.device)
        if self.kind == "T5":
            bias = self.t5(length, length)
        for norm, look, think in zip(self.norms, self.looks, self.thinks):
            x = x + look(norm(x), bias=bias, causal=True)
            x = x + think(x)
        return self.next(x)  # (B, L, 128)

    def losses(self, piece):
        """The loss of each letter: (B, L)."""
        said = self(piece[:, :-1]).transpose(1, 2)  # (B, 128, L)
        return F.cross_entropy(said, piece[:, 1:], reduction="none")

    def loss(self, piece):
        return self.losses(piece).mean()


def stream(length):
    while True:
        yield pieces(train_text, length, batch)


@torch.no_grad()
def by_place(model, length=longest, count=tested):
    """Mean loss in 16 windows of places, in bits a letter: (16,).

    Each piece starts a window later than the one before. So all windows hold
    nearly the same letters, and only their places differ.
    """
    start = torch.arange(count)[:, None] * (length // 16)
    some = test_text[start + torch.arange(length + 1)].to(device)
    losses = torch.cat([model.losses(few) for few in some.split(32)])
    return losses.unflatten(1, (16, -1)).mean((0, 2)).cpu() / math.log(2)


# %% [markdown]
# ## Train short, test long
#
# **Predict first.** Which curves stay flat beyond the trained length? Which one *improves*, because there is more to look back at?

# %% tags=["nbval-ignore-output"]
KINDS = ["sinusoidal", "RoPE", "T5", "ALiBi"]
models, curves = {}, {}
spent = stopwatch(time.perf_counter)
for kind in KINDS:
    seed(0)
    models[kind] = Reader(kind).to(device)
    fit(models[kind], stream(trained), steps=steps, descent=Descent(lr=2e-3))
    curves[kind] = by_place(models[kind])
    inside, last = curves[kind][:4].mean(), curves[kind][-1]
    print(
        f"{kind:11} bits a letter: {inside:.2f} inside, {last:.2f} at the end"
    )
print(f"{spent():.0f} s")

# %% [markdown]
# A letter chosen among 128 costs 7 bits: what is below that was learned.

# %% tags=["held"]
for kind, curve in curves.items():
    assert curve[:4].mean() < 6, (kind, curve)
    assert curve.isfinite().all(), (kind, curve)

# %% tags=["hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7.2, 3.8))
ends = torch.arange(1, 17) * longest / 16
styles = ("^:", "D-.", "P-", "o--")  # colours and marks as in chapter 5
names = ("green", "purple", "orange", "black")
for (kind, curve), style, name in zip(curves.items(), styles, names):
    ax.plot(
        ends,
        curve,
        style,
        color=figures.COLOURS[name],
        label=kind,
        markersize=5,
    )
ax.axvline(trained, color="black", linestyle="--", linewidth=1)
ax.set(
    title="Loss beyond the trained length",
    xlabel="place in the text",
    ylabel="bits a letter",
)
fig.legend(loc="outside right upper")
figures.show(
    fig,
    alt="Bits a letter against the place in the text for four encodings, with the trained length marked.",
    caption="Left of the dashed line was trained. Compare the slopes right of it.",
)

# %% [markdown]
# On a CPU the models are too small to look far back: three curves lie on top of each other, and only the sinusoids stand out. On a GPU compare with [Press et al. 2021](https://arxiv.org/abs/2108.12409), figure 1: do you see the same order?
#
# ## Exercise 1 ★★ · Stretch RoPE (15 min)
#
# Write `stretch(model, factor)`: give every attention layer of the RoPE model a `Rope` that reaches `factor` times as far, and return the model. Try `squeeze=factor`, then `base=stretched_base(factor, head_width)`. Nothing is trained.


# %%
def stretch(model, factor):
    """The same weights, with hands that turn more slowly."""
    return model  # your turn: nothing is stretched yet


# %% tags=["nbval-ignore-output"]
stretched = by_place(stretch(models["RoPE"], factor=4))
print(
    f"at the end: {curves['RoPE'][-1]:.2f} before, {stretched[-1]:.2f} after"
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The layers are in `model.looks`, and each has an attribute `rope`. The width of a head is `width // heads`.
#
# </details>
#
# <details><summary>One answer</summary>
#
# It is the next cell. (In a notebook its code is collapsed.)
#
# </details>


# %% tags=["hide-input", "nbval-ignore-output"]
def stretch_base(model, factor):
    d = width // heads
    for look in model.looks:
        look.rope = Rope(d, base=stretched_base(factor, d))
    return model


stretched = by_place(stretch_base(models["RoPE"], factor=4))
print(f"larger base, at the end: {stretched[-1]:.2f} bits a letter")
print(f"larger base, inside:     {stretched[:4].mean():.2f} bits a letter")

# %% [markdown]
# ## Exercise 2 ★★★ · And a little training (15 min)
#
# Train the stretched model for a tenth of the steps on pieces of four times the length (with a quarter of the batch, if memory is short). **Predict:** what happens to the loss at the end of a long text, and what to the loss inside the first quarter?

# %% tags=["nbval-ignore-output"]
fit(
    models["RoPE"],
    stream(longest),
    steps=max(5, steps // 10),
    descent=Descent(lr=5e-4),
    listeners=(),
)
longer = by_place(models["RoPE"])
print(
    f"after it: {longer[:4].mean():.2f} inside, {longer[-1]:.2f} at the end"
)

# %% [markdown]
# ## What to take home
#
# - Read your own curves: which encodings get worse after the trained length, and where? On a CPU the models are tiny and the differences may be too; on a GPU, compare with chapter 5's toy tasks.
# - For RoPE, compare your three numbers: as trained, stretched, stretched and trained a little. Long-context models do the third ([Chen et al. 2023](https://arxiv.org/abs/2306.15595), [Peng et al. 2023](https://arxiv.org/abs/2309.00071)).
