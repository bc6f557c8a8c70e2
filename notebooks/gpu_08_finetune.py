# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 8
#     title: Fine-tune a published ViT
#     minutes: 30
#     summary: DINOv2 has seen 142 million pictures. What is that worth when you have 200 of your own? Frozen, fine-tuned and from scratch, side by side.
#     gpu: true
# ---

# %% [markdown]
# # 8 · GPU exercise: fine-tune a published ViT
#
# [Chapter 8](08_vit_dino.ipynb) trained a ViT from nothing. Here you begin with one that others trained, on 142 million pictures without labels: DINOv2 ViT-S/14 ([Oquab et al. 2023](https://arxiv.org/abs/2304.07193)), which the course carries. Your own pictures are few, small and grey: clothes.
#
# **Predict first**, with 200 pictures of 10 kinds (more on a GPU): (a) all weights trained from scratch, (b) DINOv2 frozen with a new last layer, (c) DINOv2 with all weights trained on. Which is best, and which is worst?

# %% tags=["setup"]
import copy

import torch
import torch.nn.functional as F
from torch import nn

from attnlab.data import fashion
from attnlab.device import find
from attnlab.models.published import dinov2, imagenet
from attnlab.models.vit import Config, ViT
from attnlab.reproducible import seed
from attnlab.training import Descent, constant, fit

# %% [markdown]
# ## Your device

# %% tags=["nbval-ignore-output"]
gpu = find()
device = gpu.place
count, tested, size, steps, batch = gpu.choose(
    cuda=(2000, 2000, 224, 600, 64),
    mps=(1000, 1000, 112, 300, 32),
    cpu=(200, 100, 56, 30, 20),
    pretended=(4, 2, 28, 1, 2),
)
gpu.banner(
    cuda="2,000 pictures of 224 pixels, 600 steps per model. Some minutes, by guess.",
    mps="1,000 pictures of 112 pixels, 300 steps per model. Some minutes, by guess.",
    cpu="a small version: 200 pictures of 56 pixels, 30 steps per model.",
)

# %% [markdown]
# ## The data
#
# Fashion-MNIST is grey and small: we enlarge it and repeat it in three colours.


# %%
def ready(split, count):
    """(N, 3, size, size) as ImageNet's models read them, and the kinds."""
    images, kinds = fashion.load(split)
    images = F.interpolate(images[:count], size, mode="bilinear")
    images = imagenet(images.clamp(0, 1).expand(-1, 3, -1, -1))
    return images.to(device), kinds[:count].to(device)


train, test = ready("train", count), ready("test", tested)
print(
    "training pictures:",
    tuple(train[0].shape)[1:],
    " kinds:",
    len(fashion.KINDS),
)

# %% [markdown]
# ## Three ways
#
# The backbone gives one vector for each picture, and a linear layer reads it. Trained weights are moved gently (a low learning rate), new ones quickly.


# %%
class Reader(nn.Module):
    """A ViT without a head, and a new last layer."""

    def __init__(self, backbone, frozen):
        super().__init__()
        self.backbone = backbone.requires_grad_(not frozen)
        self.read = nn.Linear(backbone.config.width, len(fashion.KINDS))

    def forward(self, images):
        return self.read(
            F.normalize(self.backbone.describe(images), dim=-1) * 8
        )

    def loss(self, pictures):
        images, kinds = pictures
        return F.cross_entropy(self(images), kinds)


# %%
def batches():
    """A few of the pictures, drawn anew each time."""
    while True:
        chosen = torch.randint(len(train[0]), (batch,)).tolist()
        yield train[0][chosen], train[1][chosen]


def learn(backbone, *, frozen, rate):
    """Train, and give the share of new pictures that are right."""
    seed(0)
    model = Reader(backbone, frozen).to(device)
    groups = [{"params": model.read.parameters(), "lr": 5e-3}]
    if not frozen:
        groups.append({"params": model.backbone.parameters(), "lr": rate})
    adam = torch.optim.AdamW(groups)  # each group at its own rate, to the end
    descent = Descent(optimizer=adam, schedule=constant, clip=None)
    fit(model, batches(), steps=steps, descent=descent, listeners=())
    with torch.no_grad():
        parts = [model(part).argmax(-1) for part in test[0].split(50)]
    return (torch.cat(parts) == test[1]).float().mean().item()


# %% tags=["nbval-ignore-output"]
published = dinov2()
scratch = ViT(
    Config(size=size, patch=14, width=384, layers=12, heads=6, classes=0)
)
shares = {
    "from scratch": learn(scratch, frozen=False, rate=3e-4),
    "frozen": learn(copy.deepcopy(published), frozen=True, rate=0.0),
    "fine-tuned": learn(copy.deepcopy(published), frozen=False, rate=3e-5),
}
for name, share in shares.items():
    print(f"{name:13} {share:.2f} right")

# %% [markdown]
# <details><summary>What to look for</summary>
#
# How far ahead are the two that begin with DINOv2? Fine-tuning moves 22 million weights, so it may need more pictures and steps than the frozen model: with 30 steps on a CPU, does it overtake?
#
# </details>
#
# ## Exercise 1 ★ · How many pictures? (10 min)
#
# Change `count` to 50, 200, 1000, 5000. Where does training from scratch catch up, if it does?
#
# ## Exercise 2 ★★ · Which layers? (15 min)
#
# Freeze the first eight blocks and train the rest: in `learn`, write `model.backbone.blocks[:8].requires_grad_(False)` after the model is made. Is it better than all or nothing?
#
# ## Exercise 3 ★★ · Another beginning (15 min)
#
# Where there is a network: `from attnlab.models.vit_weights import fetch` and `fetch("dino_vits8")`. Its patches are 8 pixels wide, which divides every size above. Compare.
