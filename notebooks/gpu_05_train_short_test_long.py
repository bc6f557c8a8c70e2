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
# [Chapter 5](05_positions.ipynb) measured extrapolation on two toy tasks. Here you train small **language models** on real text, each with another encoding, and measure their loss position by position, also beyond the trained length. Then you stretch RoPE, and train a little more.
#
# The notebook chooses its sizes by the device it runs on. On a CPU it stays tiny, and its models learn no more than how frequent each letter is. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %% tags=["setup"]
import math
import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import figures, palette
from attnlab.checks import check
from attnlab.device import find, stopwatch
from attnlab.layers.heads import MultiHead
from attnlab.layers.positions import Rope, Sinusoidal, stretched_base
from attnlab.layers.relative import T5Bias, alibi
from attnlab.reproducible import seed
from attnlab.training import Descent, fit
from attnlab.widgets.diagram import Box, Diagram, Group, Op

figures.use_style()

# %% tags=["hide-input", "nbval-ignore-output"]
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
# Something long that every machine with Python has: the source code of its own library. Brackets, names and indentation reach far back. We read it letter by letter.

# %% tags=["nbval-ignore-output"]
files = sorted(Path(os.__file__).parent.glob("*.py"))
text = "".join(file.read_text(errors="ignore") for file in files)
data = torch.tensor(list(text.encode("ascii", "ignore")))  # bytes, 0 to 127
cut = int(0.9 * len(data))
train_text, test_text = data[:cut], data[cut:]
print(f"{len(train_text):,} letters to train on, {len(test_text):,} to test")
often = torch.bincount(train_text, minlength=128) / len(train_text)  # (128,)
alone = -(often * often.clamp(min=1e-12).log2()).sum()
print(f"their frequencies alone: {alone:.2f} bits per letter")


# %% tags=["plumbing"]
def pieces(text, length, count):
    """Random pieces of the text, one letter longer: (count, length + 1)."""
    start = torch.randint(len(text) - length - 1, (count, 1))
    return text[start + torch.arange(length + 1)].to(device)


# %% [markdown]
# ## The model
#
# A stack of chapter 4's attention layers with a small MLP each, and with the norms and the residual paths that chapter 6 explains. The encoding is the only thing that changes: sinusoids are added to the letters, T5 and ALiBi add a bias to the scores, RoPE turns queries and keys.

# %% tags=["hide-input"]
Diagram(
    [
        Box("letters", "letters", detail="B × L", at=(0, 1)),
        Box("embed", "embed", detail="B × L × E", at=(1, 1)),
        Box("waves", "sinusoids", at=(1, 0), colour="query"),
        Op("add", at=(2, 1)),
        Box("attention", "attention", detail="causal", at=(3, 1), colour="attention"),
        Box("bias", "T5, ALiBi, RoPE", at=(3, 0), colour="query"),
        Box("mlp", "MLP", at=(4, 1)),
        Box("next", "next letter", detail="B × L × 128", at=(5, 1)),
    ],
    arrows=["letters -> embed -> add -> attention -> mlp -> next", "waves -> add", "bias -> attention"],
    groups=[Group("layer", ["attention", "mlp"], "layers")],
    title="Where an encoding comes in",
    caption="Each model has either the sinusoids or one of T5, ALiBi and RoPE. Norms and residual paths are left out of the drawing.",
)  # fmt: skip


# %% tags=["plumbing"]
class Reader(nn.Module):
    """A causal language model of letters; `kind` says how it knows positions."""

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
        self.attentions = nn.ModuleList(
            MultiHead(width, heads, rope=rope) for _ in range(layers)
        )
        self.mlps = nn.ModuleList(
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
        for norm, attend, mlp in zip(self.norms, self.attentions, self.mlps):
            x = x + attend(norm(x), bias=bias, causal=True)
            x = x + mlp(x)
        return self.next(x)  # (B, L, 128)

    def losses(self, piece):
        """The loss of each letter: (B, L)."""
        said = self(piece[:, :-1]).transpose(1, 2)  # (B, 128, L)
        return F.cross_entropy(said, piece[:, 1:], reduction="none")

    def loss(self, piece):
        return self.losses(piece).mean()


# %% tags=["plumbing"]
def stream(length):
    while True:
        yield pieces(train_text, length, batch)


@torch.no_grad()
def by_position(model, length=longest, count=tested):
    """Mean loss in 16 windows of positions, in bits per letter: (16,).

    Each piece starts a window later than the one before. So all windows hold
    nearly the same letters, and only their positions differ.
    """
    start = torch.arange(count)[:, None] * (length // 16)
    some = test_text[start + torch.arange(length + 1)].to(device)
    losses = torch.cat([model.losses(few) for few in some.split(32)])
    return losses.unflatten(1, (16, -1)).mean((0, 2)).cpu() / math.log(2)


# %% [markdown]
# ## Train short, test long
#
# **Predict first.** Which curves stay flat beyond the trained length? Does one *improve*, since there is more to look back at?

# %% tags=["nbval-ignore-output"]
KINDS = ["sinusoidal", "RoPE", "T5", "ALiBi"]
models, curves = {}, {}
spent = stopwatch(time.perf_counter)
for kind in KINDS:
    seed(0)
    models[kind] = Reader(kind).to(device)
    fit(models[kind], stream(trained), steps=steps, descent=Descent(lr=2e-3))
    curves[kind] = by_position(models[kind])
    inside, last = curves[kind][:4].mean(), curves[kind][-1]
    print(
        f"{kind:11} bits per letter: {inside:.2f} inside, {last:.2f} at the end"
    )
print(f"{spent():.0f} s")

# %% [markdown]
# A letter drawn uniformly from 128 costs 7 bits, and the frequencies alone are printed above: whatever is below *that* was learned from context. (One run each: on a GPU, change `seed(0)` and see what stays.)

# %% tags=["held"]
for kind, curve in curves.items():
    assert curve[:4].mean() < 6, (kind, curve)
    assert curve.isfinite().all(), (kind, curve)
lost = {kind: curve[-1] - curve[:4].mean() for kind, curve in curves.items()}
assert lost["sinusoidal"] > 0.05, lost
assert max(abs(lost[kind]) for kind in KINDS[1:]) < 0.05, lost

# %% tags=["hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7.4, 4.4))
ends = torch.arange(1, 17) * longest / 16
styles = ("^:", "D-.", "P-", "o--")  # marks and colours as in chapter 5
for (kind, curve), style in zip(curves.items(), styles):
    ax.plot(
        ends,
        curve,
        style,
        color=palette.colour(kind),
        label=kind,
        markersize=5,
    )
ax.axvline(trained, color="black", linestyle="--", linewidth=1)
ax.set(
    title="Loss beyond the trained length",
    xlabel="position in the text",
    ylabel="bits per letter",
)
fig.legend(loc="outside lower center", ncols=4)
figures.show(
    fig,
    alt="Bits per letter against the position in the text for four encodings, with the trained length marked.",
    caption="Left of the dashed line was trained. Compare the slopes right of it.",
)

# %% [markdown]
# On a CPU three curves lie on top of each other and are nearly flat right of the dashed line; only the sinusoids get worse. Compare their bits with those of the frequencies alone: such a model has little to lose. On a GPU compare with [Press et al. 2021](https://arxiv.org/abs/2108.12409), figure 1: do you see the same order?
#
# ## Stretch RoPE
#
# Position $p$ turns hand $i$ of a head of width $D$ by $p \cdot b^{-2i/D}$, with base $b$. Chapter 5 stretched it in two ways: squeeze all positions, or raise the base.

# %% [markdown] tags=["exercise"] exercise="05.8"
# ### Exercise 5.8 ★★ · A base for longer texts (15 min)
#
# Write `my_base(factor, width, base)`: the new base with which the **slowest** of the `width / 2` hands turns exactly `factor` times more slowly than with `base`. The fastest one, $i = 0$, turns by 1 radian per position with any base. `width` is even and at least 4.


# %% tags=["stub"] exercise="05.8"
def my_base(factor, width, base):
    """The base with which the slowest hand turns `factor` times more slowly."""
    power = ...  # the slowest hand turns by base ** -power
    return ...


# %% [markdown] tags=["hint"] exercise="05.8"
# The hands have exponents $0, 2/D, 4/D, \dots$ Which one is the last of $D/2$ hands?

# %% [markdown] tags=["hint"] exercise="05.8"
# It is $(D - 2)/D$. Solve $b_\text{new}^{-(D-2)/D} = b^{-(D-2)/D} / \text{factor}$ for $b_\text{new}$.


# %% tags=["solution"] exercise="05.8"
def my_base(factor, width, base):
    """The base with which the slowest hand turns `factor` times more slowly."""
    power = (width - 2) / width  # the slowest hand turns by base ** -power
    return base * factor ** (1 / power)


# %% tags=["check"] exercise="05.8"
check("05.8", my_base)

# %% [markdown]
# ## Three ways to turn
#
# The library calls it `stretched_base`. **Predict:** the same trained weights with three ways to turn. Which is best at the end of a text four times as long, and which inside the trained length?

# %% tags=["nbval-ignore-output"]
d, factor = width // heads, longest // trained
ways = {
    "as trained": Rope(d),
    "squeezed": Rope(d, squeeze=factor),
    "larger base": Rope(d, base=stretched_base(factor, d)),
}
for name, rope in ways.items():
    for attend in models["RoPE"].attentions:
        attend.rope = rope
    bits = by_position(models["RoPE"])
    print(f"{name:12} {bits[:4].mean():.2f} inside,", end=" ")
    print(f"{bits[-1]:.2f} bits per letter at the end")

# %% [markdown]
# ## Try it: and a little training
#
# The model now has the larger base. Train it for a tenth of the steps on pieces of four times the length. **Predict:** what happens to the loss at the end of a long text, and inside the first quarter?

# %% tags=["nbval-ignore-output"]
fit(
    models["RoPE"],
    stream(longest),
    steps=max(5, steps // 10),
    descent=Descent(lr=5e-4),
    listeners=(),
)
longer = by_position(models["RoPE"])
print(f"after it: {longer[:4].mean():.2f} inside,", end=" ")
print(f"{longer[-1]:.2f} bits per letter at the end")

# %% tags=["held"]
assert longer[-1] < bits[-1], (longer, bits)

# %% [markdown]
# ## What to take home
#
# - The sinusoidal model got worse beyond its trained length even in the tiny version. The other three stayed where they were, but in the tiny version they know no more than frequencies: for them your GPU's curves are the answer.
# - Stretching changes no weight, it only swaps the `Rope`. Compare the three rows before you believe that one way is best.
# - A little training on long pieces lowered the loss at the end of the text. In the tiny version that is simply more training; on a GPU compare it with the same number of steps on short pieces. Long-context models stretch *and* train ([Chen et al. 2023](https://arxiv.org/abs/2306.15595), [Peng et al. 2023](https://arxiv.org/abs/2309.00071)).
