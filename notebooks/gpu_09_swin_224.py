# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 9
#     title: Swin at 224²
#     minutes: 40
#     summary: Swin against a ViT with the same small patches, as pictures grow to 224² and beyond. Measure a training step, train both for the same number of steps, load published weights.
#     gpu: true
# ---

# %% [markdown]
# # 9 · GPU exercise: Swin at 224²
#
# [Chapter 9](09_swin.ipynb) measured small pictures on a CPU. Here they grow: 224 × 224 on a GPU, where a ViT with 4 × 4 patches has 3136 tokens and a table of 9.8 million weights per head.

# %% tags=["setup"]
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from attnlab import figures, palette
from attnlab.data import fashion
from attnlab.device import find
from attnlab.models import swin, vit
from attnlab.models.swin_weights import published_swin_t
from attnlab.models.vit_weights import FetchError
from attnlab.reproducible import seed
from attnlab.training import Descent, fit

figures.use_style()

# %% [markdown]
# ## Your device

# %% tags=["nbval-ignore-output"]
gpu = find()
device = gpu.place
sides, batch, steps, width = gpu.choose(
    cuda=((56, 112, 224), 32, 600, 96),
    mps=((56, 112, 224), 8, 200, 96),
    cpu=((28, 56), 4, 20, 32),
    pretended=((28, 56), 2, 2, 8),
)
gpu.banner(
    cuda="pictures up to 224², Swin-T's first two widths, 600 steps per model. A few minutes, by guess.",
    mps="pictures up to 224², 200 steps per model. Some minutes, by guess.",
    cpu="a small version: pictures up to 56², 20 steps per model.",
)

# %% [markdown]
# ## A training step as pictures grow
#
# Both have 4 × 4 patches and four blocks; the Swin's last two are twice as wide. **Predict:** from what size of picture is the Swin faster?


# %%
def both(side):
    """A ViT and a Swin with 4 × 4 patches."""
    seed(0)
    plain = vit.Config(
        size=side,
        patch=4,
        channels=1,
        width=width,
        layers=4,
        heads=4,
        classes=10,
    )
    stages = swin.Config(
        classes=10,
        channels=1,
        width=width,
        depths=(2, 2),
        heads=(4, 8),
        window=7,
    )
    return {"ViT/4": vit.ViT(plain), "Swin/4": swin.Swin(stages)}


# %%
def clothes(images, side):
    """Fashion-MNIST, enlarged to side × side."""
    return F.interpolate(images, (side, side), mode="bilinear")


# %% tags=["nbval-ignore-output"]
spent = {"ViT/4": [], "Swin/4": []}
for side in sides:
    images, kinds = next(fashion.batches(batch, seed=0)).to(device)
    images = clothes(images, side)
    for name, model in both(side).items():
        model.to(device)

        def step(model=model, images=images, kinds=kinds):
            model.loss((images, kinds)).backward()

        spent[name].append(1000 * gpu.seconds(step, repeats=3))
        memory = gpu.memory(step) / 1e6
        print(
            f"{side:3d}²  {name:7} {spent[name][-1]:8.1f} ms {memory:8.1f} MB"
        )

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.4))
for (name, ms), mark in zip(spent.items(), ("o--", "s-")):
    hue = palette.colour(name.partition("/")[0])
    ax.plot(sides, ms, mark, color=hue, label=name)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="side in pixels",
    ylabel="ms, forward and backward",
)
ax.set_xticks(sides, [str(side) for side in sides])
ax.xaxis.minorticks_off()
figures.plain_ticks(ax.yaxis)
ax.legend()
figures.show(
    fig,
    alt="Time of forward and backward of a ViT and a Swin against the side of the picture.",
    caption="The same patches. How steep is each line?",
)

# %% [markdown]
# ## Train both

# %% tags=["nbval-ignore-output"]
side = sides[-1]


def feed():
    for images, kinds in fashion.batches(batch, seed=0):
        yield clothes(images, side).to(device), kinds.to(device)


images, kinds = fashion.load("test")
gently = Descent(lr=1e-3)
few = gpu.choose(cuda=2000, mps=2000, cpu=200, pretended=20)
for name, model in both(side).items():
    history = fit(
        model.to(device), feed(), steps=steps, descent=gently, listeners=()
    )
    right = 0
    with torch.no_grad():
        for some, wanted in zip(
            images[:few].split(50), kinds[:few].split(50)
        ):
            guess = model(clothes(some, side).to(device)).argmax(-1).cpu()
            right += int((guess == wanted).sum())
    print(
        f"{name:7} {history.steps} steps, loss {history.smooth():.2f}, {right / few:.1%} right"
    )

# %% [markdown]
# ## Published weights
#
# Swin-T, trained on ImageNet, in our own blocks. Without a network you get one sentence, and an untrained model in its place.

# %% tags=["nbval-ignore-output"]
caption = (
    "Biases by offset, as published. Which offsets does each head favour?"
)
try:
    model = published_swin_t()
except FetchError as offline:
    print(str(offline).replace(str(Path.home()), "~"))
    model = swin.Swin(swin.swin_t())
    caption = (
        "No network, so these are the biases of an untrained Swin-T: noise."
    )
tables = model.stages[0][0].attention.bias.table.detach()  # (13 · 13, heads)
fig, axes = plt.subplots(1, 3, figsize=(8, 2.8))
for head, ax in enumerate(axes):
    ax.imshow(tables[:, head].reshape(13, 13), cmap="signed")
    ax.set(xticks=[0, 6, 12], yticks=[0, 6, 12], title=f"head {head + 1}")
    ax.set_xticklabels([-6, 0, 6])
    ax.set_yticklabels([-6, 0, 6])
figures.show(
    fig,
    alt="The relative-bias tables of three heads of the first block of Swin-T.",
    caption=caption,
)

# %% [markdown]
# ## Exercise 1 ★ · The window (10 min)
#
# Train the Swin with windows of 4, 7 and 14 at the largest side your device can manage. What happens to the time of a step, and what to the accuracy?
#
# <details><summary>What to look for</summary>
#
# The tables grow with $M^2$. By the count of chapter 9 they cost as much as the linear maps where $M^2 = 2E$: at $M = 14$ for a width of 96, at $M = 8$ for a width of 32. Does the step slow down as that says? 4, 7 and 14 all divide the 56 tokens of a side of 224; a side that is not divided is filled up with zeros, and they cost time too.
#
# </details>
#
# ## Exercise 2 ★★ · No shift (10 min)
#
# `swin.Config(shifted=False)` never shifts. Train it beside the shifted one, three seeds each. How much does the shift gain on clothes that fill the picture? Compare with the task of chapter 9, where a whole row hung on it.
#
# <details><summary>What to look for</summary>
#
# Merging also joins windows: after a merge a window covers twice the side, so every second border is gone. So a pyramid without shifts is not quite blind. With two stages and a side of 224, though, the other borders stay until the last tokens are averaged. Liu et al. (2021), table 4, report what the shift adds on ImageNet, COCO and ADE20K.
#
# </details>
#
# ## What to take home
#
# - By the count of chapter 9, with small patches the ViT's tables grow with the square of the area, the Swin's with the area. At what size does your device show it?
# - Equal steps are not equal time. Before you say which one is better, say at which size of the picture, and what a step cost.
