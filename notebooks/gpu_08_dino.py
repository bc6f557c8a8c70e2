# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 8
#     title: DINO on real pictures
#     minutes: 40
#     summary: Train DINO on photographs of clothes without their labels, and ask its nearest neighbours what each shows. Then break it on purpose.
#     gpu: true
# ---

# %% [markdown]
# # 8 · GPU exercise: DINO on real pictures
#
# [Chapter 8](08_vit_dino.ipynb) watched a tiny DINO collapse. Here you train a larger one on real pictures, 12,000 photographs of clothes, without looking at a single label, and then ask: are neighbours of one kind?

# %% tags=["setup"]
import math

import matplotlib.pyplot as plt
import torch

from attnlab import figures, palette
from attnlab.data import fashion
from attnlab.data.composed import standard
from attnlab.device import find
from attnlab.inside.outlines import nearest_neighbours
from attnlab.models.dino import DINO, entropies, multi_crop
from attnlab.models.vit import Config, ViT
from attnlab.reproducible import seed
from attnlab.training import Descent, Listener, constant, fit

figures.use_style()

# %% [markdown]
# ## Your device

# %% tags=["nbval-ignore-output"]
gpu = find()
device = gpu.place
width, layers, batch, steps, watch = gpu.choose(
    cuda=(192, 6, 256, 4000, 1000),
    mps=(128, 4, 128, 1500, 500),
    cpu=(64, 3, 32, 60, 200),
    pretended=(12, 1, 2, 2, 6),
)
gpu.banner(
    cuda="width 192, 6 layers, 4,000 steps. Ten minutes, by guess.",
    mps="width 128, 4 layers, 1,500 steps. Some minutes, by guess.",
    cpu="a small version: width 64, 3 layers, 60 steps. Too few to learn much.",
)

# %% [markdown]
# ## Crops
#
# Two large views of 28 pixels and four small ones of 14, cut out, mirrored, lighter and darker. The student sees all six, the teacher the large ones.


# %%
def batches():
    """Views of the next pictures: 2 × (B, 3, 28, 28), 4 × (B, 3, 14, 14)."""
    generator = torch.Generator().manual_seed(0)
    for images, _ in fashion.batches(batch, seed=0):
        colour = images.expand(-1, 3, -1, -1)
        views = multi_crop(colour, generator, large=28, small=14, count=4)
        yield [standard(view).to(device) for view in views]


def ready(split):
    images, kinds = fashion.load(split)
    return standard(images[:watch].expand(-1, 3, -1, -1)).to(device), kinds[
        :watch
    ].to(device)


# %%
bank, test = ready("train"), ready("test")


@torch.no_grad()
def neighbours(vit):
    """The share of new pictures whose nearest neighbours are of their kind."""
    guess = nearest_neighbours(
        vit.describe(bank[0]), bank[1], vit.describe(test[0])
    )
    return (guess == test[1]).float().mean().item()


# %% [markdown]
# ## Training
#
# `balanced=True` is what DINOv2 does instead of centring: within each batch all prototypes are used equally.


# %%
class Follow(Listener):
    """After every step the teacher follows; now and then we look at its answers."""

    def __init__(self, dino):
        self.dino, self.curve = dino, []

    def step(self, model, history):
        self.dino.update()
        if (history.steps - 1) % max(1, steps // 20) == 0:
            found = entropies(self.dino.targets(test[0]))
            self.curve.append((history.steps - 1, *found))


# %%
def learn(**switches):
    """Train; the two entropies on the way, and k-NN before and after."""
    seed(0)
    vit = ViT(
        Config(
            size=28, patch=7, width=width, layers=layers, heads=4, classes=0
        )
    )
    dino = DINO(vit, prototypes=64, momentum=0.99, **switches).to(device)
    before, teacher = neighbours(dino.teacher[0]), Follow(dino)
    adam = torch.optim.AdamW(dino.student.parameters(), lr=5e-4)
    descent = Descent(optimizer=adam, schedule=constant, clip=3.0)
    fit(dino, batches(), steps=steps, descent=descent, listeners=(teacher,))
    return before, neighbours(dino.teacher[0]), teacher.curve


# %% tags=["nbval-ignore-output"]
before, after, curve = learn(balanced=True, teacher_temperature=0.02)
print(
    f"nearest neighbours of the same kind: {before:.2f} before, {after:.2f} after"
)

# %% tags=["hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 3.4))
when, of_mean, mean_of = zip(*curve)
blue, orange = palette.colour("blue"), palette.colour("orange")
ax.plot(when, of_mean, "o-", color=blue, label="entropy of the mean answer")
ax.plot(when, mean_of, "s--", color=orange, label="mean entropy of an answer")
ax.axhline(math.log(64), color="grey", linestyle=":", label="log 64")
ax.set(xlabel="steps", ylabel="nats", title="Is it alive?")
ax.legend()
figures.show(
    fig,
    alt="Two entropies of a teacher's answers against training steps.",
    caption="Healthy: the upper curve near the dotted line, the lower one far below it. Balancing holds the upper one up by itself, so watch the lower one.",
)

# %% [markdown]
# ## Exercise 1 ★ · Break it (10 min)
#
# `learn()` centres and sharpens; `learn(centring=False)` and `learn(sharpening=False)` leave one of them out. Which curve goes where, and what do the neighbours say? Is a collapsed teacher worse than an untrained one?
#
# ## Exercise 2 ★★ · Are small crops worth it? (15 min)
#
# Set `count=0` in `multi_crop`. Compare k-NN at equal *time*, not at equal steps: six views cost more than two.
#
# ## Exercise 3 ★★★ · Your own pictures (30 min)
#
# Replace `fashion.batches` by a folder of your photographs, 56 pixels wide, and `fashion.load` by a few that you sorted by hand. Then the model's `size` and the large views are 56, the small ones 28.
