# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 6
#     title: The full Transformer
#     minutes: 120
#     summary: Residuals, LayerNorm, dropout, a small network and a decoder turn attention into the Transformer. Built part by part in one picture, trained to translate, and taken apart again.
# ---

# %% [markdown]
# # 6 · The full Transformer
#
# You have attention (chapter 3), heads (chapter 4) and positions (chapter 5). This picture is the whole machine of *Attention Is All You Need* ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)), with one later change: LN stands before each sublayer and at the end of each stack, not after each sublayer. The long straight arrows are two **streams**, one vector per word. Self-attention and FFN read a stream and add to it; cross-attention reads both and adds to the second.
#
# **Question:** which boxes do you know already? Click on any other to see it built.

# %% tags=["setup"]
import copy
import json
import math
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attnlab import assets, decoding, figures, metrics, palette, training
from attnlab.attention import attention
from attnlab.checks import check
from attnlab.data import PAD, Batch, Pair, batches, collate, shakespeare
from attnlab.data.english_french import EnglishFrench
from attnlab.data.sequences import BOS
from attnlab.inside.bertviz_translation import translation_view
from attnlab.inside.rewired import Rewired
from attnlab.layers import DecoderBlock, EncoderBlock, FeedForward, LayerNorm
from attnlab.layers.heads import MultiHead
from attnlab.layers.positions import sinusoidal
from attnlab.models.families import DecoderOnly
from attnlab.models.from_torch import copy_stack
from attnlab.models.transformer import (
    Config,
    Decoder,
    Embedding,
    Encoder,
    Transformer,
    cross_entropy,
    cross_maps,
    initialise,
)
from attnlab.record import record
from attnlab.reproducible import seed
from attnlab.training import Descent
from attnlab.translator import Translator
from attnlab.widgets import NormAxes, Quiz, TokenSampler, TransformerStepper
from attnlab.widgets.diagram import Diagram, Matrix, Op, Step
from attnlab.widgets.machine import machine

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown] tags=["slide", "slides-only"]
# # The full Transformer
#
# attnlab · chapter 6
#
# Attention, and what it takes to make a machine of it.

# %% [markdown] tags=["notes"]
# 60 minutes. The picture and why attention alone fails (10), the parts (25), training and the table (15), the wiring (5), quiz (5).

# %% tags=["slide", "slides-only", "hide-input"]
machine(title="The whole machine")

# %% tags=["hide-input"]
machine(
    title="The whole machine",
    caption="LN: LayerNorm. FFN: a small network. No pads, past only: masks. Every box leads to its section.",
)

# %% [markdown] tags=["notes"]
# Let the room name the boxes it knows: attention, heads inside, positions. New are LN, +, FFN, the generator, and that there are two stacks. We come back to this picture all the time.

# %% [markdown]
# At the end you can
#
# - build every part of this picture, and say what went wrong here without norms, without residuals and without `eval()`;
# - train it to translate, and say what dropout, label smoothing and beam search did, with numbers;
# - tell the Transformer's wiring from the popular wrong drawing, and say what a test of it shows.

# %% [markdown]
# ## 1 · The question
#
# If attention is all you need, stack it. Twelve random tokens, eight layers of multi-head attention with fresh weights, nothing else. **Guess first:** how similar are the twelve vectors at the end? We measure the mean cosine between different tokens: 0 for unrelated vectors, 1 if all point the same way.

# %% [markdown] tags=["slide", "slides-only"]
# ## Stack eight layers of attention
#
# How similar are twelve random tokens at the end?


# %% tags=["plumbing"]
def likeness(x):
    """Mean cosine between different tokens: (1, L, E) -> number."""
    unit = F.normalize(x[0], dim=-1)
    cosines = unit @ unit.T  # (L, L)
    count = len(cosines)
    return ((cosines.sum() - count) / (count * (count - 1))).item()


def through(make, number):
    """The likeness before and after each of eight layers, started alike."""
    seed(number)
    x = torch.randn(1, 12, 64)
    found = [likeness(x)]
    with torch.no_grad():
        for _ in range(8):
            layer = make()
            initialise(layer)
            x = layer(x)
            found.append(likeness(x))
    return found


alone = [through(lambda: MultiHead(64, heads=4), n) for n in range(4)]
whole = [
    through(lambda: EncoderBlock(64, 4, hidden=256), n) for n in range(4)
]

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(8, 2.9))
for rows, mark, ink, name in (
    (alone, "s-", "attention", "attention alone"),
    (whole, "o-", "transformer", "blocks of this chapter"),
):
    for n, row in enumerate(rows):
        ax.plot(range(9), row, mark, color=palette.colour(ink), label=name if n == 0 else None)  # fmt: skip
ax.set(xlabel="layers", ylabel="likeness of tokens", ylim=(-0.1, 1.08))
ax.legend(loc="lower right")
figures.show(
    fig,
    alt="Likeness of twelve tokens against the number of layers. Attention alone reaches 1 after three layers; "
    "with whole blocks it rises more slowly and ends between 0.5 and 0.8.",
    caption="Four seeds each. After three layers of attention alone, all tokens point the same way.",
)

# %% tags=["hide-input"]
for name, rows in (("attention alone", alone), ("whole blocks", whole)):
    ends = [row[-1] for row in rows]
    print(f"after eight layers, {name}: {min(ends):.1f} to {max(ends):.1f}")

# %% tags=["held"]
assert all(row[3] >= 0.99 for row in alone), alone
assert all(0.45 < row[-1] < 0.85 for row in whole), whole
assert all(a > b for one, two in zip(alone, whole) for a, b in zip(one[1:], two[1:]))  # fmt: skip

# %% [markdown] tags=["notes"]
# Ask: why? Attention takes weighted means, and a mean of means of means forgets what it was made of. Dong et al. 2021 prove it for attention without residuals.

# %% [markdown]
# After three layers all tokens point the same way: attention takes weighted means, and means of means forget what they were made of ([Dong et al. 2021](https://arxiv.org/abs/2103.03404) prove how fast tokens become copies of one vector). Through the blocks of this chapter tokens grow more alike, too, but far more slowly. So attention is *not* all you need. What else?

# %% [markdown]
# ## 2 · By hand
#
# A **block** of the encoder does two things to every token, and each of them is an *addition*:
#
# $$x \leftarrow x + \operatorname{Attention}(\operatorname{LN}(x)) \qquad\text{look around}$$
# $$x \leftarrow x + \operatorname{FFN}(\operatorname{LN}(x)) \qquad\text{think}$$
#
# | symbol | shape | it is |
# |---|---|---|
# | $x$ | $(B, L, E)$ | the tokens: the *residual stream*, to which every sublayer adds |
# | LN | $(B, L, E) \to (B, L, E)$ | LayerNorm: every token brought to mean 0 and variance 1 |
# | Attention | $(B, L, E) \to (B, L, E)$ | the only part where tokens meet |
# | FFN | $(B, L, E) \to (B, L, F) \to (B, L, E)$ | $W_2 \max(0, W_1 x + b_1) + b_2$, the same for every token |
#
# Follow three tokens of width 4. To keep the numbers small, attention has fixed weights and passes its input on unchanged. **On paper, before you step:** what does LN make of $(1, 1, 3, 3)$? And of $(4, 0, 4, 0)$?

# %% [markdown] tags=["slide", "slides-only"]
# ## A block is two additions
#
# $$x \leftarrow x + \operatorname{Attention}(\operatorname{LN}(x)), \qquad x \leftarrow x + \operatorname{FFN}(\operatorname{LN}(x))$$


# %% tags=["fragment", "hide-input"]
def normalise(x):
    """Every token (row) to mean 0 and variance 1."""
    spread = x.std(-1, correction=0, keepdim=True)
    return (x - x.mean(-1, keepdim=True)) / spread


tokens = torch.tensor([[1.0, 1, 3, 3], [4, 0, 4, 0], [5, 3, 3, 5]])
A = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]])
said = A @ normalise(tokens)
Diagram(
    [
        Matrix("x", values=tokens, rows=["a", "b", "c"], shape="", at=(0, 1)),
        Matrix("LN(x)", values=normalise(tokens), shape="", at=(1, 0)),
        Matrix("A", "weights", values=A, digits=1, shape="", at=(2, 0)),
        Matrix("said", "A · LN(x)", values=said, digits=1, shape="", at=(3, 0)),
        Op("add", at=(3, 1)),
        Matrix("y", "x after", values=tokens + said, digits=1, shape="", at=(4, 1)),
    ],
    arrows=["x -> LN(x)", "LN(x) -> A", "A -> said", "said -> add", "x -> add", "add -> y"],
    steps=[
        Step("Three tokens of width 4: the stream.", lit=["x"]),
        Step("LN looks at one row at a time. Row a has mean 2 and spread 1.", lit=["x", "LN(x)"]),
        Step("b takes half of a and half of b; c half of b and half of c.", lit=["LN(x)", "A", "said"]),
        Step("What attention says is added. The stream itself was never touched.", lit=["x", "said", "add", "y"]),
    ],
    title="Look around: the first addition",
    caption="Compare x before and after: it is what it was, plus what attention said.",
    gap=(14.0, 26.0),
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Do row a on the board: mean 2, spread 1, so (−1, −1, 1, 1). Then ask for token b after attention.

# %% [markdown]
# Then the network, for each token alone. Say it has two hidden units: the first fires when feature 3 is larger than feature 1 and writes into feature 1, the second when it is smaller and writes into feature 3. For token a, LN of $(0, 0, 4, 4)$ is $(-1, -1, 1, 1)$, the units are $\max(0, 1 - (-1)) = 2$ and $0$, so a leaves the block as $(2, 0, 4, 4)$. **Your turn:** which unit fires for c?

# %% tags=["hide-input"]
w1 = torch.tensor([[-1.0, 0, 1, 0], [1, 0, -1, 0]])  # (F, E)
w2 = torch.tensor([[1.0, 0], [0, 0], [0, 1], [0, 0]])  # (E, F)
looked = tokens + said  # (L, E)
hidden = torch.relu(normalise(looked) @ w1.T)  # (L, F)
in_words = lambda row: ", ".join(f"{v:5.2f}" for v in row.tolist())  # noqa: E731
print("   hidden units    after the network")
for name, unit, after in zip("abc", hidden, looked + hidden @ w2.T):
    print(f"{name}  {in_words(unit)}    {in_words(after)}")

# %% [markdown]
# ## 3 · Live
#
# ### LayerNorm: who shares a mean?

# %% tags=["hide-input"]
machine(
    "norms",
    caption="A norm before every sublayer, and one at the end of each stack.",
)

# %% [markdown]
# Here are two ways to bring numbers to mean 0 and variance 1. They differ in *whose* mean it is.
#
# | | BatchNorm ([Ioffe & Szegedy 2015](https://arxiv.org/abs/1502.03167)) | LayerNorm ([Ba et al. 2016](https://arxiv.org/abs/1607.06450)) |
# |---|---|---|
# | mean | $\mu_e = \frac{1}{BL}\sum_{b,l} x_{ble}$, one per feature | $\mu_{bl} = \frac{1}{E}\sum_{e} x_{ble}$, one per token |
# | variance | $\sigma_e^2 = \frac{1}{BL}\sum_{b,l} (x_{ble} - \mu_e)^2$ | $\sigma_{bl}^2 = \frac{1}{E}\sum_{e} (x_{ble} - \mu_{bl})^2$ |
# | result | $\gamma_e\,(x_{ble} - \mu_e)/\sqrt{\sigma_e^2 + \epsilon} + \beta_e$ | $\gamma_e\,(x_{ble} - \mu_{bl})/\sqrt{\sigma_{bl}^2 + \epsilon} + \beta_e$ |
# | in use | stored averages from training | the same formula |
#
# Three sentences of three tokens, five features.
#
# - Pick a number and look at the frame: who shares its mean?
# - Turn up the volume of sentence 1. **Before you look:** in which of the two norms do sentences 2 and 3 change?

# %% [markdown] tags=["slide", "slides-only"]
# ## Whose mean?
#
# | | BatchNorm | LayerNorm |
# |---|---|---|
# | mean of | one feature, over all tokens of the batch | one token, over its own features |
# | neighbours in the batch | change the result | change nothing |
# | a pad | is in the mean of all tokens | is only in its own |
# | in use | stored averages | the same formula |
#
# Live on the page: turn up one sentence and watch the others.

# %% tags=["hide-input"]
seed(1)
NormAxes(
    torch.randn(3, 3, 5) + torch.tensor([0.0, 1, 0, -1, 0]),
    tokens=[
        "the",
        "cat",
        "sleeps",
        "a",
        "bird",
        "sings",
        "we",
        "sing",
        "⟨pad⟩",
    ],
    row=4,
    column=1,
    title="LayerNorm and BatchNorm",
    caption="Turn up sentence 1: with BatchNorm the other sentences change, with LayerNorm they do not. The last token is padding, with some numbers like any other.",
)

# %% [markdown] tags=["notes"]
# Switch to BatchNorm, then volume to 10. A sentence's result depends on its neighbours in the batch. Pick a number of another token: the pad is in its frame. At test time BatchNorm falls back on stored averages.

# %% [markdown]
# With BatchNorm, in training, the result for a sentence depends on what else is in the batch, padding included, unless it is left out on purpose. With LayerNorm every token is normalised on its own.
#
# Why normalise at all? Ioffe and Szegedy's reason was *internal covariate shift*: while lower layers learn, the inputs of the upper ones keep changing, and a fixed mean and variance were meant to calm that. [Santurkar et al. 2018](https://arxiv.org/abs/1805.11604) put that shift back in on purpose, by noise after BatchNorm, and training was about as good as with BatchNorm alone; they credit a smoother loss instead. Both studied BatchNorm in networks for pictures. Here is what can be measured in ours: twelve blocks, untrained, with LayerNorm and without. **Guess first:** how large is the gradient in the first block, compared with the last?

# %% tags=["plumbing"]
letters = shakespeare.vocabulary()
page = next(shakespeare.windows(length=32, size=8))


def deep(layers=12, **changes):
    """A stack of blocks that guesses the next letter."""
    seed(0)
    return DecoderOnly(
        Config(
            words=len(letters), width=32, heads=2, layers=layers, **changes
        )
    )


def gradients(model):
    """The norm of the gradient in each block, for one batch."""
    loss = model.loss(page)
    loss.backward()
    return loss.item(), [
        block.feed_forward.narrow.weight.grad.norm().item()
        for block in model.stack.layers
    ]


with_norm, without = deep(), deep()
for module in without.modules():
    if hasattr(module, "norm"):
        module.norm = nn.Identity()
normed_loss, normed = gradients(with_norm)
bare_loss, bare = gradients(without)

# %% [markdown] tags=["slide", "slides-only"]
# ## Twelve blocks without LayerNorm

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(8, 2.9))
ax.semilogy(range(1, 13), bare, "s-", color=palette.colour("orange"), label="no norm")  # fmt: skip
ax.semilogy(range(1, 13), normed, "o-", color=palette.colour("transformer"), label="LayerNorm")  # fmt: skip
ax.set(xlabel="block", ylabel="size of the gradient", xticks=range(1, 13))
ax.legend(loc="center left")
figures.show(
    fig,
    alt="Size of the gradient in each of twelve blocks, on a logarithmic axis. With LayerNorm it lies between 0.2 and 0.5 in all of them. "
    "Without it runs from below a thousand in the last block to several hundred thousand in the first.",
    caption="One batch, untrained, the same weights; the gradient of each FFN's second matrix. With LayerNorm it has about one size in all blocks.",
)
print("            loss  gradients           first block against last")
print(f"LayerNorm  {normed_loss:5.1f}  {min(normed):.2f} to {max(normed):.2f}        {normed[0] / normed[-1]:5.1f} times")  # fmt: skip
print(f"no norm    {bare_loss:5.0f}  {min(bare):,.0f} to {max(bare):,.0f}      {bare[0] / bare[-1]:5.0f} times")  # fmt: skip

# %% tags=["held"]
assert normed[0] / normed[-1] < 4 < 50 < bare[0] / bare[-1], (normed, bare)
assert bare_loss > 20 * normed_loss
assert 0.2 < min(normed) < max(normed) < 0.5, normed
assert min(bare) < 1000 < 300_000 < max(bare), bare

# %% [markdown]
# Without a norm the first block's gradient is hundreds of times the last one's, and the loss of the fresh model is absurd; with it the two gradients differ by a factor of two. (One batch, one seed.)

# %% [markdown]
# ## 4 · In the open
#
# ### Embeddings, times √E

# %% tags=["hide-input"]
machine("embedding", caption="Words become vectors, and positions are added.")

# %% [markdown]
# A table of words, its entries drawn with variance $1/E$. The table of target words will also serve as the **generator** at the other end, the layer that scores every word of the vocabulary: there it meets vectors whose entries have size 1, and then each score has variance 1. But here, beside positions of size 0.7, entries of $1/\sqrt E$ would be drowned out. The paper multiplies by $\sqrt E$ and does not say why; this is one good reason.


# %%
def our_embedding(ids, table):
    """Word ids (B, L), table (V, E) -> vectors with positions (B, L, E)."""
    x = table[ids] * math.sqrt(table.shape[1])
    return x + sinusoidal(ids.shape[1], table.shape[1])


# %% tags=["plumbing"]
seed(0)
E, V = 64, 500
words = torch.tensor([[7, 42, 3]])  # (B, L)
embedding = Embedding(Config(words=V, width=E), V)
initialise(embedding)
table = embedding.words.weight.detach()  # (V, E)
x = our_embedding(words, table)
torch.testing.assert_close(x, embedding(words))
size_of = lambda t: f"{t.square().mean().sqrt():.2f}"  # noqa: E731
print("size of an entry of the table:", size_of(table[1:]))
print("times √E:", size_of(table[1:] * math.sqrt(E)))
print("of the positions:", size_of(sinusoidal(3, E)))
print("of a score:", size_of(torch.randn(1000, E) @ table[1:].T))

# %% [markdown]
# ### Residuals: why add?

# %% tags=["hide-input"]
machine(
    "residuals",
    caption="Five additions. Each lets the stream pass unchanged.",
)

# %% [markdown]
# A deep network should be able to do at least what a shallow one does: let the extra layers be the identity. **Guess first:** how hard is it for a stack of ReLU layers to learn to do *nothing*, $y = x$?


# %%
def run(layers, x, residual):
    """Linear layers with ReLU between them; with `residual`, x + f(x)."""
    for i, layer in enumerate(layers):
        step = layer(F.relu(x) if i else x)
        x = x + step if residual else step
    return x


# %% tags=["plumbing"]
PLAIN = Descent(lr=3e-3, schedule=training.constant, clip=None)


def learn_nothing(residual, depth=12, width=32, steps=200):
    """Train the layers towards y = x."""
    seed(0)
    layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
    history = training.fit(
        layers,
        (torch.randn(64, width) for _ in range(steps)),
        steps=steps,
        loss=lambda x: F.mse_loss(run(layers, x, residual), x),
        descent=PLAIN,
        listeners=(),
    )
    return layers, history.losses[-1]


@torch.no_grad()
def along(layers, residual, number):
    """The error along a random line through the trained weights."""
    seed(1)
    x = torch.randn(256, 32)
    dice = torch.Generator().manual_seed(number)
    line = [torch.randn(p.shape, generator=dice) for p in layers.parameters()]
    moved, found = copy.deepcopy(layers), []
    for far in STEPS_ALONG:
        for p, was, way in zip(moved.parameters(), layers.parameters(), line):
            p.copy_(was + far * way * was.norm() / way.norm())
        found.append(F.mse_loss(run(moved, x, residual), x).item())
    return found


STEPS_ALONG = torch.linspace(-0.75, 0.75, 25).tolist()
DEPTHS = (2, 6, 12)
errors = {r: [learn_nothing(r, d)[1] for d in DEPTHS] for r in (False, True)}
lines = {
    r: [along(learn_nothing(r)[0], r, number) for number in range(5)]
    for r in (False, True)
}

# %% [markdown] tags=["slide", "slides-only"]
# ## The identity is hard to learn

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, axes = plt.subplots(1, 2, figsize=(8, 2.8))
for residual, name, colour, mark in (
    (False, "plain", palette.colour("orange"), "s-"),
    (True, "residual", palette.colour("transformer"), "o-"),
):
    axes[0].plot(DEPTHS, errors[residual], mark, color=colour, label=name)
    for one in lines[residual]:
        axes[1].plot(STEPS_ALONG, one, color=colour, lw=1.4)
axes[0].set(title="Learning y = x", xlabel="layers", ylabel="error", ylim=(0, 1.1), xticks=DEPTHS)  # fmt: skip
axes[1].set(title="Along five random lines", xlabel="distance", ylabel="error", ylim=(0, 2))  # fmt: skip
axes[0].legend()
figures.show(
    fig,
    alt="Left: error after training against depth; plain layers get worse with depth and end at about 1, residual ones stay low. "
    "Right: the error around the trained twelve layers. Plain: a plateau at 1. Residual: five valleys with their floor in the middle.",
    caption="Right: twelve layers. Error 1 is what “always zero” gets: the plain ones sit on a plateau, the residual ones in a valley. One seed, one rate.",
)
for residual, name in ((False, "plain"), (True, "residual")):
    print(f"{name:9}", *(f"{d} layers: {e:.2f}  " for d, e in zip(DEPTHS, errors[residual])))  # fmt: skip

# %% tags=["held"]
assert errors[False][-1] >= 0.8, errors
assert errors[True][-1] <= 0.2, errors
middle = len(STEPS_ALONG) // 2
near = slice(middle - 6, middle + 7)
assert all(max(one[near]) - min(one[near]) < 0.5 for one in lines[False])
assert all(one[middle - 6] > 3 * one[middle] for one in lines[True])
by_hand = nn.ModuleList(nn.Linear(32, 32) for _ in range(12))
with torch.no_grad():  # up by ten, so that no ReLU cuts, and down again
    for i, layer in enumerate(by_hand):
        layer.weight.copy_(torch.eye(32))
        layer.bias.fill_({0: 10.0, 11: -10.0}.get(i, 0.0))
    anything = torch.randn(256, 32)
    done = run(by_hand, anything, residual=False)
    assert F.mse_loss(done, anything) < 1e-6

# %% [markdown]
# Twelve plain layers *could* do it (shift every number up by a bias of 10, so that no ReLU cuts it, and down again at the end: set by hand, the error is below a millionth), but 200 steps of training do not get there, and near the place where it stopped the error hardly changes. With $x + f(x)$ doing nothing is free, $f = 0$, and each layer only learns what to change ([He et al. 2016](https://arxiv.org/abs/1512.03385); [Li et al. 2018](https://arxiv.org/abs/1712.09913) drew such surfaces for networks on pictures). The addition is also a road for gradients: $\partial (x + f(x)) / \partial x = 1 + f'(x)$.

# %% [markdown]
# ### The network: features taken apart

# %% tags=["hide-input"]
machine(
    "network",
    caption="The FFN works on each token alone, with the same weights at every position.",
)

# %% [markdown]
# Attention moves information *between* tokens. The network works *inside* each one: wide, a kink, narrow again.
#
# What is the width for? [Chapter 4](04_multi_head.ipynb) packed more features into a vector than it has numbers: **superposition**. To act on one feature, a layer has to take it out of the mixture again. Can it do so without the kink? Try it: 32 features, each present in one vector in twenty, share 16 numbers. What share of their variance does a linear read-out miss, and what share a network? (Our own toy; [Elhage et al. 2022](https://arxiv.org/abs/2209.10652) study such toys, and discuss what they say about real networks.)


# %%
def our_ffn(x, w1, b1, w2, b2):
    """(B, L, E) -> (B, L, E), every token on its own."""
    hidden = torch.relu(x @ w1.T + b1)  # (B, L, F): wide, and a kink
    return hidden @ w2.T + b2  # narrow again


# %% tags=["plumbing"]
seed(0)
network = FeedForward(E, 4 * E)
wide, narrow = network.wide, network.narrow
ours = our_ffn(x, wide.weight, wide.bias, narrow.weight, narrow.bias)
torch.testing.assert_close(ours, network(x))


def features(count):
    """Sparse features, (count, 32)."""
    return torch.rand(count, 32) * (torch.rand(count, 32) < 0.05)


def still_wrong(reader, steps=1200):
    """Train a reader; the share of the features' variance it misses."""
    seed(0)
    packed = F.normalize(torch.randn(32, 16), dim=-1)  # a direction each
    training.fit(
        reader,
        (features(256) for _ in range(steps)),
        steps=steps,
        loss=lambda f: F.mse_loss(reader(f @ packed), f),
        descent=PLAIN,
        listeners=(),
    )
    f = features(5000)
    with torch.no_grad():
        return (F.mse_loss(reader(f @ packed), f) / f.var()).item()


seed(0)
READERS = {
    "one linear layer": nn.Linear(16, 32),
    "two, no ReLU": nn.Sequential(nn.Linear(16, 64), nn.Linear(64, 32)),
    "ReLU, 2 × as wide": nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32)),
    "ReLU, 4 × as wide": nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32)),
}  # fmt: skip
missed = {name: still_wrong(reader) for name, reader in READERS.items()}

# %% [markdown] tags=["slide", "slides-only"]
# ## 32 features in 16 numbers: take them apart

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(8, 2.5))
colours = [palette.colour("orange")] * 2 + [palette.colour("value")] * 2
bars = ax.barh(list(missed), list(missed.values()), color=colours)
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set(
    xlabel="share of the features' variance that is missed", xlim=(0, 0.62)
)
figures.show(
    fig,
    alt="Bars: one linear layer and two linear layers miss about half of the variance, a ReLU network twice as wide as the vector about a sixth, one four times as wide about a tenth.",
    caption="Two linear layers are one linear layer: each misses about half. With a kink and twice the width it is a sixth, with four times a tenth. One seed.",
)

# %% tags=["held"]
assert abs(missed["one linear layer"] - missed["two, no ReLU"]) < 0.02
assert missed["ReLU, 4 × as wide"] < missed["ReLU, 2 × as wide"] < 0.5 * missed["one linear layer"]  # fmt: skip
assert missed["ReLU, 4 × as wide"] < 0.13, missed
assert 0.4 < missed["one linear layer"] < 0.6, missed
assert 0.13 < missed["ReLU, 2 × as wide"] < 0.2, missed

# %% [markdown]
# ### Dropout: learning with holes

# %% tags=["hide-input"]
machine(
    "dropout",
    caption="Lit: where the paper makes holes, and later versions of its code.",
)

# %% [markdown]
# In training, **dropout** sets a random share $p$ of numbers to 0 and multiplies the others by $1/(1-p)$, so that the mean stays ([Srivastava et al. 2014](https://jmlr.org/papers/v15/srivastava14a.html)). The paper does it with $p = 0.1$ to what each sublayer says, before it is added, and to the embeddings with their positions; later settings of [its code](https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/models/transformer.py) (`transformer_base_v2`) do it to the attention weights as well.


# %%
def our_dropout(x, p):
    """(…) -> (…): a share p of the numbers is 0, the others grow."""
    kept = torch.rand(x.shape) >= p
    return x * kept / (1 - p)


# %% tags=["plumbing"]
seed(0)
print("weights of one query:    ", torch.full((5,), 0.2))
print("with holes, they no longer add up to 1:", our_dropout(torch.full((5,), 0.2), 0.4))  # fmt: skip
block = EncoderBlock(E, heads=4, hidden=4 * E, dropout=0.3)
with torch.no_grad():
    for name in ("train", "eval"):
        getattr(block, name)()
        gap = (block(x) - block(x)).abs().max()
        print(f"{name}(): the same tokens twice, results differ by up to {gap:.1f}")  # fmt: skip

# %% [markdown]
# That is why `eval()` matters: it switches the holes off. Forget it, and your model's answers are partly chance.
#
# What is dropout good for? Give the translator of part 5 only 2,000 sentences, few enough to learn by heart. Make holes with $p = 0.2$ in nothing, in the weights, in the sublayers, in both; three seeds each (recorded by `training/recipes.py`). **Guess first:** which loss rises with dropout, which falls?

# %% tags=["plumbing"]
recipes = json.loads(assets.find("data/recipes.json").read_text())


def recorded(kind, name, key):
    """What was measured, one row per seed."""
    runs = [r for r in recipes if (r["kind"], r["name"]) == (kind, name)]
    return torch.tensor([run[key] for run in runs], dtype=torch.float)


def spread(values, digits=1):
    """The mean, and the lowest and highest seed."""
    low, high = values.min(), values.max()
    return f"{values.mean():.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


HOLES = ("nothing", "weights", "sublayers", "both")

# %% [markdown] tags=["slide", "slides-only"]
# ## Dropout: two thousand sentences, holes in …

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(8, 3.1))
for name, colour in zip(HOLES, ("black", "blue", "orange", "green")):  # fmt: skip
    steps, ink = recorded("dropout", name, "steps")[0], palette.colour(colour)
    for side, style in (("known", ":"), ("exam", "-")):
        loss = recorded("dropout", name, side)  # (seeds, points)
        ax.plot(steps, loss.mean(0), style, color=ink)
        ax.fill_between(steps, loss.amin(0), loss.amax(0), color=ink, alpha=0.15, lw=0)  # fmt: skip
    ax.plot([], [], color=ink, label=name)
ax.plot([], [], ":", color="grey", label="trained on")
ax.set(yscale="log", xlabel="step", ylabel="loss (nats)", xlim=(0, 1120))
ax.legend(loc="upper right", title="holes in")
figures.show(
    fig,
    alt="Loss while learning from 2,000 sentences, with holes in nothing, in weights, in sublayers and in both: on sentences it is trained on, and on new ones.",
    caption="Solid: new sentences. Dotted: sentences it was trained on. Bands: three seeds.",
)

# %% tags=["hide-input"]
print("holes in   trained on        new               eval() forgotten  BLEU")
for name in HOLES:
    ends = [
        recorded("dropout", name, key)[:, -1] for key in ("known", "exam")
    ]
    ends.append(recorded("dropout", name, "forgot"))
    line = "".join(f"{spread(one, 2):18}" for one in ends)
    print(f"{name:11}{line}{spread(recorded('dropout', name, 'bleu'))}")

# %% tags=["held"]
known, new, forgot, words_right = (
    {
        name: recorded("dropout", name, key).view(3, -1)[:, -1]
        for name in HOLES
    }
    for key in ("known", "exam", "forgot", "bleu")
)
for name in HOLES[1:]:
    assert known[name].min() > known["nothing"].max(), known
    assert (forgot[name] > new[name] + 0.05).all(), (forgot, new)
    assert words_right[name].min() < words_right["nothing"].max(), words_right
assert new["weights"].max() < new["nothing"].min() - 0.05, new
for name in ("sublayers", "both"):
    assert new[name].max() > new["nothing"].min(), new
    assert words_right[name].mean() < words_right["nothing"].mean(), (
        words_right
    )

# %% [markdown]
# Holes make learning by heart harder: the loss on trained sentences rises in every row, and with every seed. On new sentences, holes in the weights lower the loss: all three seeds end below the three without. Holes in the sublayers do not lower it, and with them the mean BLEU falls. No row gains BLEU beyond the spread of its seeds. 800 steps are few, and other shares were not tried. Wherever there are holes, forgetting `eval()` costs.

# %% [markdown]
# ### The encoder block

# %% tags=["hide-input"]
machine(
    "encoder block",
    caption="All parts are there: norm, look around, add; norm, think, add.",
)


# %%
def our_layer_norm(x, eps=1e-5):
    """(..., E) -> (..., E); gain γ and shift β are left out."""
    mean = x.mean(-1, keepdim=True)  # (..., 1): of this token alone
    variance = x.var(-1, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps)


def pre_norm(x, f):
    return x + f(our_layer_norm(x))


def post_norm(x, f):
    return our_layer_norm(x + f(x))


def our_encoder_block(x, block, wrap=pre_norm, real=None):
    """Look around, then think. (B, L, E) -> (B, L, E)"""
    x = wrap(x, lambda h: block.self_attention(h, mask=real))
    return wrap(x, block.feed_forward)


# %% tags=["plumbing"]
seed(0)
x = torch.randn(2, 5, E)
torch.testing.assert_close(our_layer_norm(x), LayerNorm(E)(x))
torch.testing.assert_close(our_layer_norm(x), nn.LayerNorm(E)(x))
for norm, wrap in (("pre", pre_norm), ("post", post_norm)):
    block = EncoderBlock(E, heads=4, hidden=4 * E, norm=norm)
    torch.testing.assert_close(our_encoder_block(x, block, wrap), block(x))
    print(f"{norm}-norm: equal to the library's block; LN equal to torch's")

# %% [markdown]
# The paper's is `post_norm`: it normalises *after* the addition. [GPT](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf) and [BERT](https://arxiv.org/abs/1810.04805) still did; [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf) and [GPT-3](https://arxiv.org/abs/2005.14165) normalise before. We use pre-norm from here on; `norm="post"` is one switch away. The fold measures what it changes, with and without a **warm-up** (a rate that climbs at first).

# %% [markdown] tags=["deeper"]
# ### Dig deeper: norm before, or after?
#
# Eight blocks, the same start, Adam, letters of Shakespeare. Post-norm runs twice: at full rate from the first step, and with a **warm-up**, the rate climbing during the first half. **Guess first:** which of the three learn? (One seed.)

# %% tags=["plumbing", "deeper"]
WAYS = {
    "post-norm": ("post", training.constant),
    "post-norm, warm-up": ("post", lambda done: min(1.0, 2 * done)),
    "pre-norm": ("pre", training.constant),
}
losses = {}
for name, (norm, schedule) in WAYS.items():
    model = deep(layers=8, norm=norm, final_norm=norm == "pre")
    losses[name] = training.fit(
        model,
        shakespeare.windows(length=32, size=8),
        steps=240,
        descent=Descent(lr=2e-3, schedule=schedule, clip=None),
    ).losses
text = "".join(shakespeare.text())
shares = [text.count(letter) / len(text) for letter in set(text)]
frequencies = -sum(share * math.log(share) for share in shares)

# %% [markdown] tags=["slide", "slides-only"]
# ## Norm before, or after?

# %% tags=["fragment", "hide-input", "nbval-ignore-output", "deeper"]
fig, ax = plt.subplots(figsize=(8, 3.0))
for name, mark, colour in zip(WAYS, ("s--", "^:", "o-"), ("orange", "blue", "green")):  # fmt: skip
    smooth = torch.tensor(losses[name]).unfold(0, 20, 20).mean(-1)
    ax.plot(range(20, 241, 20), smooth, mark, color=palette.colour(colour), label=name)  # fmt: skip
ax.hlines(frequencies, 0, 240, color="grey", lw=1, ls=":")
ax.text(247, frequencies, "letter\nfrequencies", va="center")
ax.set(xlabel="step", ylabel="loss (nats)", xlim=(0, 290))
ax.legend(loc="upper right")
figures.show(
    fig,
    alt="Training loss of three models. Post-norm stays at the entropy of single letters, post-norm with a warm-up rests there, too, and falls below it late; pre-norm is below it from the second mark on.",
    caption="Eight blocks, one seed. Grey line: what one gets by knowing how frequent each letter is.",
)
last = {name: sum(losses[name][-20:]) / 20 for name in WAYS}
print(f"knowing the letters' frequencies: {frequencies:.2f}")
print(
    "last 20 steps:",
    *(f"{name}: {loss:.2f}  " for name, loss in last.items()),
)

# %% tags=["held", "deeper"]
assert last["post-norm"] >= frequencies - 0.1, last
assert last["post-norm"] - last["post-norm, warm-up"] >= 0.2, last
assert last["post-norm"] - last["pre-norm"] >= 0.5, last

# %% [markdown] tags=["notes"]
# Post-norm is stuck at the entropy of single letters. With a warm-up, which the paper has too, it does train. Xiong et al. 2020 explain it by the gradients at the start.

# %% [markdown] tags=["deeper"]
# Post-norm learns how frequent each letter is and no more. With a warm-up it trains here (one rate; a lower one was not tried); [Xiong et al. 2020](https://arxiv.org/abs/2002.04745) show that at the start post-norm has large gradients near the output, and pre-norm does not.

# %% [markdown]
# ### Two masks

# %% tags=["hide-input"]
machine(
    "masks", caption="No pads: for the source. Past only: for the target."
)

# %% [markdown]
# A batch holds sentences of several lengths, filled up with **padding**. No word may attend to it: the mask *no pads* hides those keys. In training the decoder also has the whole right answer in front of it, so the mask *past only* hides what comes later. `True` means *may attend*, as everywhere in this course.

# %% [markdown] tags=["slide", "slides-only"]
# ## Two masks, and both at once

# %% tags=["fragment", "hide-input"]
ids = torch.tensor([[5, 8, 6, 7, 9], [4, 9, 3, PAD, PAD]])
length = ids.shape[1]
real = (ids != PAD)[1]
past = torch.ones(length, length).tril()
pictures = {
    "no pads": real.expand(length, length).float(),
    "past only": past,
    "both": past * real,
}
names = ["we", "eat", "bread", "pad", "pad"]
fig, axes = plt.subplots(1, 3, figsize=(8, 2.6))
for ax, (title, values) in zip(axes, pictures.items()):
    figures.heatmap(ax, values, rows=names, columns=names, title=title, digits=0)  # fmt: skip
    ax.set(xlabel="", ylabel="")
axes[0].set_ylabel("query")
figures.show(
    fig,
    alt="Three masks for a sentence of three words and two pads. No pads: the last two columns are 0. Past only: a lower triangle. Both: a triangle without the last two columns.",
    caption="Row: query, column: key. Filled: may attend. Exercise 6.1 builds the right-hand one.",
)

# %% [markdown]
# ### The decoder block

# %% tags=["hide-input"]
machine("decoder block", caption="Look back, look at the source, think.")

# %% [markdown]
# Queries always come from the target, $(B, T, E)$. In self-attention so do keys and values; in cross-attention they come from the finished encoder output, $(B, S, E)$, without its pads.

# %% [markdown] tags=["slide", "slides-only"]
# ## The decoder block: three additions
#
# | sublayer | asks | answers | mask |
# |---|---|---|---|
# | self-attention | target | target | past only |
# | cross-attention | target | **encoder output** | no pads |
# | network | each word | itself | |
#
# Look back, look at the source, think. Each is added to the target's stream.


# %%
def our_decoder_block(y, encoded, block, wrap=pre_norm, real=None):
    """(B, T, E), (B, S, E) -> (B, T, E)"""
    y = wrap(y, lambda h: block.self_attention(h, causal=True))
    y = wrap(y, lambda h: block.cross_attention(h, encoded, mask=real))
    return wrap(y, block.feed_forward)


# %% tags=["plumbing"]
seed(0)
y, encoded = torch.randn(2, 3, E), torch.randn(2, 5, E)
decoder_block = DecoderBlock(E, heads=4, hidden=4 * E)
ours = our_decoder_block(y, encoded, decoder_block)
torch.testing.assert_close(
    ours, decoder_block(y, decoder_block.read(encoded))
)
later = y.clone()
later[:, 2] += 1.0
same = our_decoder_block(later, encoded, decoder_block)[:, :2]
moved = (same - ours[:, :2]).abs().max()
print(f"the last word changed, the words before it moved by {moved:.1f}")

# %% [markdown]
# ### N copies that share nothing

# %% tags=["hide-input"]
machine(
    "copies", caption="Each frame stands for N blocks, one after the other."
)

# %% [markdown]
# A stack is $N$ blocks of the same kind, each with weights of its own. A trap lies in the code: `[block] * 6` is six names for *one* block. It runs, it even learns (printed). Count the parameters.

# %% tags=["hide-input", "nbval-ignore-output"]
block = EncoderBlock(E, heads=4, hidden=4 * E)
count = lambda m: sum(p.numel() for p in m.parameters())  # noqa: E731
print(f"one block:                   {count(block):9,}")
print(f"[block] * 6:                 {count(nn.ModuleList([block] * 6)):9,}")
copies = nn.ModuleList(copy.deepcopy(block) for _ in range(6))
print(f"six copies:                  {count(copies):9,}")
fresh = nn.ModuleList(EncoderBlock(E, 4, 4 * E) for _ in range(6))
print(f"six new ones:                {count(fresh):9,}")
first, last = (copies[i].feed_forward.wide.weight for i in (0, 5))
print("do the six copies start as equals?", "yes" if first.equal(last) else "no")  # fmt: skip
first, last = (fresh[i].feed_forward.wide.weight for i in (0, 5))
print("and the six new ones?", "yes" if first.equal(last) else "no")
sixfold = deep(layers=6)
sixfold.stack.layers = nn.ModuleList([sixfold.stack.layers[0]] * 6)
shared = training.fit(
    sixfold,
    shakespeare.windows(length=32, size=8),
    steps=100,
    descent=Descent(lr=2e-3, schedule=training.constant, clip=None),
    listeners=(),
).losses
print(f"letters with [block] * 6, 100 steps: loss {shared[0]:.1f} → {sum(shared[-20:]) / 20:.1f}")  # fmt: skip

# %% tags=["held"]
assert count(nn.ModuleList([block] * 6)) == count(block)
assert count(copies) == count(fresh) == 6 * count(block)
assert not first.equal(last)
assert sum(shared[-20:]) / 20 < shared[0] - 1, shared

# %% [markdown]
# `deepcopy` makes six blocks, but with six equal starts; a new one for each $i$, as the library does, gives each a start of its own.

# %% [markdown]
# ### The whole model

# %% tags=["hide-input"]
machine("generator", caption="The last LN, the generator, and what it says.")

# %% [markdown]
# After the last LN, each vector of the target's stream meets the table of target words once more: scores $z = x W^\top$, one per word, with the *same* table that embeds them (**tying**, [Press & Wolf 2017](https://arxiv.org/abs/1608.05859); in the paper the source shares it, too).


# %%
def our_transformer(batch, model):
    """Source (B, S), target so far (B, T) -> scores of each next word."""
    real = (batch.source != PAD)[:, None, None]  # (B, 1, 1, S): no pads
    x = our_embedding(batch.source, model.source.words.weight)
    for block in model.encoder.layers:
        x = our_encoder_block(x, block, real=real)
    encoded = our_layer_norm(x)  # for all decoder blocks
    y = our_embedding(batch.target_in, model.target.words.weight)
    for block in model.decoder.layers:
        y = our_decoder_block(y, encoded, block, real=real)
    return our_layer_norm(y) @ model.target.words.weight.T  # (B, T, V)


# %% tags=["plumbing"]
seed(0)
config = Config(words=500, source_words=400)  # E 64, 4 heads, 2 + 2 blocks
model = Transformer(config)
numbers, said = torch.randint(4, 400, (20, 9)), torch.randint(4, 500, (20, 8))
numbers[0, 6:] = PAD  # the first sentence is shorter
lengths = (numbers != PAD).sum(1)
batch = Batch(source=numbers, source_lengths=lengths,
              target_in=said[:, :-1], target_out=said[:, 1:])  # fmt: skip
torch.testing.assert_close(our_transformer(batch, model), model(batch))
untied = Transformer(replace(config, tied=False))
print("ours and the library's Transformer give the same scores")
print("numbers saved by tying:", count(untied) - count(model), "= 500 · 64")

# %% [markdown] tags=["deeper"]
# #### The same as torch's own
#
# The library's stacks equal `nn.Transformer` on the same weights, in both orders of the norm. Torch wants its masks the other way round: True = must *not* attend.

# %% tags=["deeper"]
x, y = torch.randn(2, 5, E), torch.randn(2, 3, E)
real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])  # (B, S)
future = torch.ones(3, 3, dtype=torch.bool).triu(1)
for norm in ("pre", "post"):
    with warnings.catch_warnings(action="ignore"):  # about a fast path
        theirs = nn.Transformer(
            E, 4, 2, 2, 4 * E, dropout=0.0, batch_first=True,
            norm_first=norm == "pre",
        )  # fmt: skip
    encoder = Encoder(replace(config, norm=norm))
    decoder = Decoder(replace(config, norm=norm))
    copy_stack(encoder, theirs.encoder)
    copy_stack(decoder, theirs.decoder)
    see = real[:, None, None]
    memory = decoder.read(encoder(x, mask=see))
    ours = decoder(y, memory, memory_mask=see)
    expected = theirs(x, y, tgt_mask=future, src_key_padding_mask=~real,
                      memory_key_padding_mask=~real)  # fmt: skip
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)
    print(f"{norm}-norm: equal to torch.nn.Transformer")

# %% [markdown] tags=["deeper"]
# ### Dig deeper: how the weights start
#
# Matrices start as in [Glorot & Bengio 2010](https://proceedings.mlr.press/v9/glorot10a.html), also called Xavier: uniform within $\pm\sqrt{6 / (\text{in} + \text{out})}$, so that signals keep their size on the way through. Does it matter, with LayerNorm everywhere? Eight blocks on letters once more, one seed, the same rate: Xavier against a start that is too large and one that is too small. **Guess first:** which is worst?

# %% tags=["plumbing", "deeper"]
STARTS = {"Xavier": None, "too large (1)": 1.0, "too small (0.01)": 0.01}
started = {}
for name, size in STARTS.items():
    model = deep(layers=8)
    for module in model.modules():
        if size and isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=size)
    started[name] = training.fit(
        model,
        shakespeare.windows(length=32, size=8),
        steps=160,
        descent=Descent(lr=2e-3, schedule=training.constant, clip=None),
    ).losses

# %% [markdown] tags=["slide", "slides-only"]
# ## How should the weights start?

# %% tags=["fragment", "hide-input", "nbval-ignore-output", "deeper"]
fig, ax = plt.subplots(figsize=(8, 2.9))
for name, mark, colour in zip(STARTS, ("o-", "s--", "^:"), ("green", "orange", "blue")):  # fmt: skip
    smooth = torch.tensor(started[name]).unfold(0, 20, 20).mean(-1)
    ax.plot(range(20, 161, 20), smooth, mark, color=palette.colour(colour), label=name)  # fmt: skip
ax.set(xlabel="step", ylabel="loss (nats)")
ax.legend()
figures.show(
    fig,
    alt="Training loss for three starts of the weights. Xavier falls fastest, the small start follows, the large one stays far above.",
    caption="Normal numbers of that spread instead of Xavier's bounds; everything else is the same.",
)
ends = {name: sum(one[-20:]) / 20 for name, one in started.items()}
print("last 20 steps:", *(f"{name}: {loss:.2f}  " for name, loss in ends.items()))  # fmt: skip

# %% tags=["held", "deeper"]
assert (
    ends["Xavier"] + 0.05 < ends["too small (0.01)"] < ends["too large (1)"]
), ends

# %% [markdown] tags=["deeper"]
# Too large is worst, even with LayerNorm everywhere; too small falls more slowly. (One seed, one rate.)

# %% [markdown]
# ## 5 · At work
#
# The corpus of chapters 1 and 2: English sentences of 3 to 10 words with French translations and gold alignments. They are split by *structure*, so test sentences are built in ways never trained on. Batches hold English sentences of similar length; what padding is left is masked, and the loss skips it.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: batches of similar length
#
# A batch is a rectangle, and its shorter sentences are padded. **Guess first:** how much of it is padding if the sentences come as they are?


# %% tags=["plumbing", "deeper"]
corpus = EnglishFrench(longest=10)
pairs = corpus.take(24_000)
test = corpus.take(200, "test")
source, target = corpus.vocabularies()


def padded_share(chosen):
    """Which share of the English, then of the French is padding."""
    rows = [chosen[i : i + 32] for i in range(0, 3200, 32)]
    made = [collate(row, source, target) for row in rows]
    for side in ("source", "target_out"):
        ids = torch.cat([getattr(one, side).flatten() for one in made])
        yield (ids == PAD).double().mean().item()


by_length = sorted(pairs[:3200], key=lambda pair: len(pair.source))
for name, chosen in (("as they come", pairs), ("sorted", by_length)):
    read, write = padded_share(chosen)
    print(f"padding, {name}: English {read:.1%}, French {write:.1%}")

# %% [markdown] tags=["deeper"]
# As they come, a third of the English ids and two fifths of the French are padding; sorted by English length, hardly any of the English and a fifth of the French. So `batches` sorts them. In the decoder the mask *past only* already hides the pads, because they stand at the end.

# %% [markdown]
# ### Train
#
# Width 64, 4 heads, 2 + 2 blocks, no dropout (it sees each of 24,000 sentences two or three times), about half a minute on one core.

# %% tags=["nbval-ignore-output"]
seed(0)
config = Config(words=len(target), source_words=len(source))
french = Translator(Transformer(config), source, target)
history = training.fit(
    french.model,
    batches(pairs, source, target, size=32, seed=0),
    steps=2000,
    descent=Descent(lr=4e-3),  # up for 3 % of the steps, then a cosine
)
bleu = french.bleu(test)
print(f"{history.seconds:.0f} CPU seconds, BLEU {bleu:.1f}")

# %% tags=["held"]
assert bleu >= 95, bleu

# %% [markdown] tags=["deeper"]
# ### Dig deeper: the cockpit
#
# **Guess first:** at ten times the learning rate, does the loss still fall? And with a quarter of the width? The first cell tries both and the chapter's own settings, 300 steps each.

# %% tags=["hide-input", "nbval-ignore-output", "deeper"]
tried = {}
for name, rate, width in (
    ("as above", 4e-3, 64),
    ("ten times the rate", 4e-2, 64),
    ("a quarter of the width", 4e-3, 16),
):
    seed(0)
    tried[name] = training.fit(
        Transformer(replace(config, width=width)),
        batches(pairs, source, target, size=32, seed=0),
        steps=300,
        descent=Descent(lr=rate),
        listeners=(),
    ).losses
    print(f"{name:23} loss {tried[name][0]:.1f} → {sum(tried[name][-20:]) / 20:.2f}")  # fmt: skip

# %% [markdown] tags=["deeper"]
# Both fall, and both far less than the chapter's own settings in the same steps. (One seed.) In a notebook the controls below are yours: *Start* trains a new model with what they say, *Stop* keeps it as it is (`pilot.model`).

# %% tags=["hide-input", "nbval-ignore-output", "deeper"]
pilot = training.cockpit(
    lambda width: Transformer(replace(config, width=width)),
    lambda: batches(pairs, source, target, size=32, seed=0),
    sizes={"width 64": 64, "width 16": 16, "width 128": 128},
    lr=4e-3,
    steps=300,
    sample=lambda model: " ".join(
        Translator(model, source, target).translate([test[0].source])[0]
    ),
)

# %% tags=["held", "deeper"]
near_end = {name: sum(losses[-20:]) / 20 for name, losses in tried.items()}
best = near_end.pop("as above")
assert all(best + 1 < near_end[name] < tried[name][0] - 1 for name in near_end), near_end  # fmt: skip
assert pilot.history.steps == 300
assert pilot.history.smooth() < 0.5 * pilot.history.losses[0]

# %% [markdown]
# ### Never quite sure: label smoothing

# %% tags=["hide-input"]
machine("smoothing", caption="Smoothing changes the truth that the loss compares with.")  # fmt: skip

# %% [markdown]
# Cross-entropy wants $p = 1$ for the right word, which needs infinite scores. **Label smoothing** asks for $1 - \varepsilon$ on the right word and shares $\varepsilon$ among all ([Szegedy et al. 2016](https://arxiv.org/abs/1512.00567)). Three bare scores, trained with it, end at a probability below 1:

# %% tags=["plumbing"]
for epsilon in (0.0, 0.1):
    scores = nn.ParameterList([torch.zeros(1, 1, 3)])
    training.fit(
        scores,
        [torch.tensor([[1]])] * 400,  # the right word, again and again
        steps=400,
        loss=lambda word, z=scores[0], e=epsilon: cross_entropy(z, word, e),
        descent=replace(PLAIN, lr=0.1),
        listeners=(),
    )
    p = scores[0].softmax(-1)[0, 0].detach()
    print(f"ε = {epsilon}: right word {p[1]:.2f}, another {p[0]:.2f}")

# %% [markdown]
# Now the translator with the paper's ε = 0.1, beside the same without it, three seeds each (recorded). A model is **calibrated** if it is right as often as it says. **Guess first:** is it better calibrated with smoothing or without?

# %% [markdown] tags=["slide", "slides-only"]
# ## Label smoothing: how sure is it, how often right?

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(8, 2.9))
edges = torch.linspace(0.5, 1, 26)
for name, colour in (("0", "green"), ("0.1", "blue")):
    count_ = recorded("smoothing", name, "histogram").mean(0)
    right = recorded("smoothing", name, "right")
    ax.stairs(count_, edges, fill=True, alpha=0.75, color=palette.colour(colour), label=f"ε = {name}: right {right.mean():.1%}")  # fmt: skip
ax.set(xlabel="probability of the likeliest word", ylabel="words")
ax.legend(loc="upper left")
figures.show(
    fig,
    alt="Histograms of the probability of the likeliest word on the test, from 0.5 to 1. Without smoothing nearly all lie at 1, with smoothing at about 0.9.",
    caption="The words of 200 test sentences, with the right words before them given; mean of three seeds. With smoothing, 1 % are below 0.5 and not drawn.",
)

# %% tags=["hide-input"]
print("ε     BLEU              loss              mean p            right")
for name in ("0", "0.1"):
    keys = {"bleu": 1, "loss": 2, "sure": 2, "right": 3}  # digits
    shown = [f"{spread(recorded('smoothing', name, k), n):18}" for k, n in keys.items()]  # fmt: skip
    print(f"{name:6}" + "".join(shown).rstrip())

# %% tags=["held"]
hard, soft = (
    {key: recorded("smoothing", name, key) for key in ("bleu", "loss", "sure", "right")}
    for name in ("0", "0.1")
)  # fmt: skip
assert (soft["right"] - soft["sure"] > 0.05).all(), soft
assert ((hard["right"] - hard["sure"]).abs() < 0.03).all(), hard
assert (soft["loss"] > hard["loss"]).all(), (soft, hard)
assert (soft["right"].mean() - hard["right"].mean()).abs() < 0.005
assert soft["bleu"].mean() < hard["bleu"].max(), (soft, hard)

# %% [markdown]
# With smoothing the model is right about as often, but less sure of it: it was told never to be quite sure, and on a grammar where nearly every word *is* sure that makes it too modest, with all three seeds. Its loss, measured without smoothing, is higher for the same reason. The paper reports a similar trade on real sentences, a worse perplexity for a better BLEU; on ours there is no gain in BLEU to be seen.

# %% [markdown]
# ### Say it: greedy, beam, dice
#
# The model gives a distribution over the next word; `decoding.py` (chapter 1) turns it into a sentence. **Greedy** takes the likeliest word. **Beam search** keeps several beginnings. **Sampling** (dice) draws the next word by its probability. All three on the 200 test sentences, with your model and with a weaker one (2,000 sentences, 800 steps):

# %% tags=["plumbing"]
seed(0)
weaker = Translator(Transformer(config), source, target)
few = training.fit(
    weaker.model,
    batches(pairs[:2000], source, target, size=32, seed=0),
    steps=800,
    descent=Descent(lr=4e-3),
)

# %% tags=["hide-input", "nbval-ignore-output"]
english, gold = [p.source for p in test], [p.target for p in test]
print("            24,000 sentences         2,000 sentences")
print("          BLEU  right  changed     BLEU  right  changed")
greedy, beams, sure = {}, {}, {}
for width in (1, 2, 4, 8):
    line = "greedy " if width == 1 else f"beam {width} "
    for model in (french, weaker):
        said = model.translate(english, beam=width)
        plain = greedy.setdefault(id(model), said)
        changed = sum(a != b for a, b in zip(plain, said))
        beams[model is french, width] = metrics.bleu(said, gold), metrics.exact(said, gold), changed  # fmt: skip
        line += f"{metrics.bleu(said, gold):7.1f}{metrics.exact(said, gold):7.0%}{changed:9d}  "  # fmt: skip
    print(line)
line = "dice   "
for model in (french, weaker):
    with torch.no_grad():
        state, longest = model.start(english)
        drawn = decoding.sample(model.model.step, state, max_length=2 * longest, generator=seed(0))  # fmt: skip
        exam = collate(test, source, target)
        p = model.model(exam).softmax(-1).amax(-1)[exam.target_out != PAD]
    sure[model is french] = p.mean().item()
    said = [target.decode(tokens) for tokens in drawn]
    changed = sum(a != b for a, b in zip(greedy[id(model)], said))
    beams[model is french, "dice"] = metrics.bleu(said, gold), metrics.exact(said, gold), changed  # fmt: skip
    line += f"{metrics.bleu(said, gold):7.1f}{metrics.exact(said, gold):7.0%}{changed:9d}  "  # fmt: skip
print(line)
print(f"mean p of the likeliest word: {sure[True]:.2f} and {sure[False]:.2f}")

# %% tags=["held"]
assert sure[True] > 0.97 > 0.93 > sure[False], sure
for which in (True, False):
    assert beams[which, "dice"][0] < beams[which, 1][0], beams
    assert beams[which, "dice"][1] < beams[which, 1][1], beams
assert all(beams[True, width][2] <= 5 for width in (2, 4, 8)), beams
assert abs(beams[True, 8][0] - beams[True, 1][0]) < 1, beams
for width in (4, 8):
    assert beams[False, width][2] > max(12, 2 * beams[True, width][2]), beams
    assert beams[False, width][0] - beams[False, 1][0] > -1, beams
    assert abs(beams[False, width][1] - beams[False, 1][1]) <= 0.03, beams

# %% [markdown]
# Your model is sure of nearly every word, and a wider beam changes only a few of 200 sentences; BLEU moves by less than a point. The weaker one is less sure: a wider beam changes many more of its sentences, BLEU does not suffer, and the share of right sentences stays about where it was. Dice make both worse. (One seed.)
#
# Writing word by word would redo the whole past at each step. The **KV cache** keeps the keys and values of what was read, so a step projects one new word only; `model.step` works like that, and exercise 6.7, in the GPU notebook, builds it.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: three knobs for the dice
#
# Three knobs tame the dice: temperature, **top-k** (only the k likeliest) and **top-p** (the smallest set with probability p, [Holtzman et al. 2020](https://arxiv.org/abs/1904.09751)). Here are the next words of the weaker model.
#
# - Draw 50 at temperature 1. Then at 4.
# - At temperature 4, cut with top-p 0.8. **Before you switch the beginning:** where are more words kept?

# %% tags=["slide", "hide-input", "deeper"]
BEGINNINGS = [
    ("the green key is under my chair", "la clé"),
    ("you find him today", ""),
    ("they eat bread", ""),
]
rows = []
with torch.no_grad():
    for english, begun in BEGINNINGS:
        state, _ = weaker.start([english.split()])
        for word in (BOS, *target.encode(begun.split())):
            logits, state = weaker.model.step(state, torch.tensor([word]))
        rows.append(logits[0])
after = torch.stack(rows)
top = after.topk(9).indices.unique()  # words that matter somewhere
TokenSampler(
    after[:, top],
    tokens=[target.words[i] for i in top],
    contexts=[f"{english} → {begun} …" for english, begun in BEGINNINGS],
    title="The next word",
    caption="Bars: what may be drawn, among the likeliest words. Stripes: the distribution before the cut.",
)

# %% [markdown] tags=["notes"]
# Here dice cost BLEU (the last row of the table). Where there are many good ways to go on, they are the point: chapter 7.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: which head aligns?
#
# Chapter 2 measured how well attention agrees with the gold alignments (AER, 0 is perfect). Here there are 2 × 4 cross-attention heads, and nobody told them to align. Choose the best on validation sentences, then measure it on the test.

# %% tags=["plumbing", "deeper"]
valid = corpus.take(200, "valid")
maps = cross_maps(french.model, collate(valid, source, target))


def error(layer, head):
    """AER of one head on the validation sentences."""
    found = [
        metrics.links(
            maps[i, layer, head, : len(p.target) + 1, : len(p.source) + 1], p
        )
        for i, p in enumerate(valid)
    ]
    return metrics.aer(found, valid)


errors = torch.tensor([[error(i, j) for j in range(4)] for i in range(2)])
best = divmod(int(errors.argmin()), 4)
french.model.config = replace(config, alignment_head=best)
transformer_aer = french.aer(test)

# %% [markdown] tags=["slide", "slides-only"]
# ## Eight heads that nobody told to align

# %% tags=["hide-input", "fragment", "nbval-ignore-output", "deeper"]
pair = next(p for p in test if 6 <= len(p.source) <= 8)
look = cross_maps(french.model, collate([pair], source, target))[0]
rows, columns = [*pair.target, "end"], [*pair.source, "end"]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.4))
worst = divmod(int(errors.argmax()), 4)
for ax, (layer, head), name in zip(axes, (best, worst), ("best", "worst")):
    figures.heatmap(
        ax, look[layer, head], rows=rows, columns=columns, digits=1,
        title=f"{name}: AER {errors[layer, head]:.2f}",
    )  # fmt: skip
figures.show(
    fig,
    alt="Cross-attention of two heads on one sentence: the best head follows the words, the worst only some of them.",
    caption="Row: the French word about to be said. Column: the English word it takes from.",
)

# %% tags=["hide-input", "nbval-ignore-output", "deeper"]
print(f"the best head: AER {errors.min():.3f} in validation, {transformer_aer:.3f} on the test")  # fmt: skip

# %% tags=["held", "deeper"]
assert transformer_aer <= 0.25, transformer_aer
assert errors.max() >= 1.5 * errors.min(), errors

# %% [markdown]
# ### Watch it translate
#
# The course carries a Transformer of the same sizes that was trained for longer: sentences of up to 32 words (`training/transformer.py`). Unlike yours it had a quarter of the words so far hidden while it learned, and it was *asked* to align: each head of its last cross-attention had to give every English word its share of weight. Here it runs in your browser, on any sentence of its grammar. Every small square is the attention map of one head. (`TransformerStepper(french)` shows yours.)
#
# - Step through a sentence and watch the best cross-attention head.
# - Knock out that head and translate again. Then another one. Which heads matter?
# - **Question:** where is the next word hard to choose? Look at the bars.

# %% tags=["slide", "hide-input"]
TransformerStepper.shipped(
    title="The whole Transformer at work",
    caption="Every layer, every head, the residual stream and the next word, computed on this page.",
)

# %% [markdown] tags=["notes"]
# Let the room choose a sentence. Step slowly through an adjective that changes sides. Knock out the best head: does the model still find its way?

# %% tags=["hide-input", "nbval-ignore-output"]
shipped = Translator.shipped("transformer")
long_test = EnglishFrench(longest=32).take(200, "test")
shipped_bleu, shipped_aer = shipped.bleu(long_test), shipped.aer(long_test)
print(f"shipped, sentences of up to 32 words: BLEU {shipped_bleu:.1f}, AER {shipped_aer:.3f}")  # fmt: skip
print(f"yours, which has seen no more than ten words at once: BLEU {french.bleu(long_test):.1f}")  # fmt: skip

# %% tags=["held"]
assert shipped_bleu >= 99, shipped_bleu
assert shipped_aer <= 0.05, shipped_aer

# %% [markdown] tags=["deeper"]
# ### Dig deeper: the same translator in bertviz
#
# In bertviz ([Vig 2019](https://arxiv.org/abs/1906.05714)) choose *Encoder*, *Decoder* or *Cross*, a layer, and hover over a word.

# %% tags=["hide-input", "deeper"]
english = ["we", "show", "the", "trains", "to", "them"]
answer = shipped.translate([english])[0]
shown = Pair(source=tuple(english), target=tuple(answer))
translation_view(
    shipped.model,
    collate([shown], shipped.source, shipped.target),
    source=[*english, "end"],
    target=["start", *answer],
    layer=int(shipped.model.config.alignment_head[0]) % 2,
)

# %% [markdown]
# ### The table
#
# The same sentences, the same 2,000 steps, three seeds (recorded): one fixed context (chapter 1), attention (chapter 2), and the Transformer. The recurrent ones have chapter 2's sizes. RNNsearch is also asked to give every word its share of weight, as there; the Transformer is not. AER (0 is perfect) is that of its best head.

# %% [markdown] tags=["slide", "slides-only"]
# ## Three machines, the same sentences, the same steps

# %% tags=["hide-input"]
ROWS = {
    "RNN, fixed context": ("machine", "RNN, fixed context"),
    "RNNsearch": ("machine", "RNNsearch"),
    "Transformer": ("smoothing", "0"),
}
print(f"{'':20}{'BLEU':20}{'AER':20}{'CPU s':>5}{'numbers':>9}")
for name, which in ROWS.items():
    aer = spread(recorded(*which, "aer"), 2) if "fixed" not in name else "–"
    seconds, size = (recorded(*which, key).mean() for key in ("seconds", "parameters"))  # fmt: skip
    print(f"{name:20}{spread(recorded(*which, 'bleu')):20}{aer:20}{seconds:5.0f}{int(size):9,}")  # fmt: skip

# %% tags=["held"]
fixed, search, ours_ = (recorded(*which, "bleu") for which in ROWS.values())
assert min(search.min(), ours_.min()) - fixed.max() >= 15, ROWS
assert search.max() < ours_.min() < ours_.mean() < search.mean() + 2, ROWS
assert recorded("machine", "RNNsearch", "aer").max() < recorded("smoothing", "0", "aer").min()  # fmt: skip
assert count(french.model) == recorded("smoothing", "0", "parameters")[0]
spent = [recorded(*which, "seconds").mean() for which in ROWS.values()]
assert spent[2] > 0.85 * max(spent[:2]), spent

# %% tags=["fragment", "slides-only", "hide-input"]
fig, ax = plt.subplots(figsize=(8, 3.2))
for name, ink in zip(ROWS, ("fixed context", "attention", "transformer")):
    ax.plot(recorded(*ROWS[name], "bleu"), [name] * 3, "o", ms=12, alpha=0.7, color=palette.colour(ink))  # fmt: skip
ax.set(xlabel="BLEU, one dot per seed", xlim=(60, 100), ylim=(2.5, -0.5))
figures.show(
    fig,
    alt="BLEU of three machines, three seeds each: the fixed context at about 65, RNNsearch at about 96, the Transformer at about 98.",
)

# %% [markdown]
# The two with attention beat the fixed context by far, with every seed. On this little grammar RNNsearch comes within two points of the Transformer's mean; their ranges do not overlap. Its weights agree better with the gold alignments, but it was trained to do so ([chapter 2](02_bahdanau.ipynb) measures what that is worth) and the Transformer's heads were not: the AER column does not compare the machines. Nor is the Transformer faster here, by CPU seconds. Its idea is that **no word waits for another** within a layer; how much that is worth shows on hardware that works in parallel, and this table used one core. (One learning rate for all three, not tuned for each.) The paper's own table is in chapter 7; real hardware is the [GPU exercise](gpu_06_base_model.ipynb).

# %% [markdown]
# ## 6 · Misconceptions
#
# ### "Decoder layer 1 reads encoder layer 1, layer 2 reads layer 2"

# %% tags=["hide-input"]
machine("wiring", caption="What leaves the encoder is the last block's output, normed. All decoder blocks read it.")  # fmt: skip

# %% [markdown]
# You may have met a drawing of the two stacks side by side, with an arrow from each floor to the same floor. Is it true of a Transformer? Silence the *last* encoder block: set its weights to 0, so that it adds nothing. A first decoder block that reads the first encoder block cannot notice. We try your translator, and a copy of it rewired as in the drawing: `Rewired(config, reads=[0, 1])` lets decoder block $i$ read encoder block `reads[i]`.

# %% [markdown] tags=["slide", "slides-only"]
# ## “Decoder block 1 reads encoder block 1”
#
# Silence the **last** encoder block. Do the weights of the **first** decoder block change?


# %% tags=["plumbing"]
def noticed(model, batch):
    """How far silence in the last encoder block moves the first weights."""
    silent = copy.deepcopy(model)
    with torch.no_grad():
        for weight in silent.encoder.layers[-1].parameters():
            weight.zero_()
    before, after = cross_maps(model, batch), cross_maps(silent, batch)
    return (after - before)[:, 0].abs().max().item()


some = collate(test[:50], source, target)
drawing = Rewired(french.model.config, reads=[0, 1])
drawing.load_state_dict(french.model.state_dict())
as_built, as_drawn = noticed(french.model, some), noticed(drawing, some)

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
print(f"as built:  a cross-attention weight of the first block moves by up to {as_built:.2f}")  # fmt: skip
print(f"as drawn:  by {as_drawn:.2f}")

# %% tags=["held"]
assert as_built >= 0.05, (as_built, as_drawn)
assert as_drawn == 0, (as_built, as_drawn)

# %% [markdown]
# So the drawing is wrong about the Transformer (ours equals torch's, part 4): the first decoder block does read the *last* encoder block. Would it be a bad machine? That needs an experiment of its own: 4 + 4 blocks, three wirings of **all** decoder blocks, each trained from scratch, alike, with three seeds (recorded by `training/wiring.py` on 400 test sentences). And the right one, rewired *after* its training.

# %% [markdown] tags=["slide", "slides-only"]
# ## Three wirings, trained alike

# %% tags=["hide-input", "fragment"]
WIRED = {
    "all read the last block": ("last", None),
    "floor by floor, trained so": ("floor by floor", None),
    "all read the first, trained so": ("first", None),
    "floor by floor, rewired after": ("last", "floor by floor"),
    "all read the first, rewired after": ("last", "first"),
}
wired = json.loads(assets.find("data/wiring.json").read_text())
points = {
    name: [
        r["rewired"][later] if later else r
        for r in wired
        if r["kind"] == kind
    ]
    for name, (kind, later) in WIRED.items()
}
fig, ax = plt.subplots(figsize=(8, 2.9))
for height, (name, rows) in enumerate(points.items()):
    colour = palette.colour("orange" if "after" in name else "transformer")  # fmt: skip
    ax.plot([r["bleu"] for r in rows], [height] * 3, "o", ms=9, alpha=0.7, color=colour)  # fmt: skip
ax.set(yticks=range(5), yticklabels=list(points), xlabel="BLEU, one dot per seed", xlim=(90, 100), ylim=(4.6, -0.6))  # fmt: skip
figures.show(
    fig,
    alt="BLEU of five ways to wire a Transformer of four and four blocks, three seeds each. The three that were trained in their wiring lie together between 97 and 99.5; "
    "rewired afterwards, floor by floor loses about a point or nothing, and all reading the first block loses four to six.",
    caption="Upper three: trained in this wiring. Lower two: trained in the right one, rewired afterwards.",
)

# %% tags=["hide-input"]
right_one = points["all read the last block"]
for name, rows in points.items():
    reached = torch.tensor([r["bleu"] for r in rows])
    lost = [a["bleu"] - b["bleu"] for a, b in zip(right_one, rows)]
    drop = f"  loses {min(lost):.1f} to {max(lost):.1f}" if "after" in name else ""  # fmt: skip
    print(f"{name:35}{spread(reached)}{drop}".replace("-", "−"))

# %% tags=["held"]
trained = [points[name] for name in list(points)[:3]]
means = [sum(r["bleu"] for r in rows) / 3 for rows in trained]
assert max(means) - min(means) < 1, means
ranges = [(min(b), max(b)) for b in ([r["bleu"] for r in rows] for rows in trained)]  # fmt: skip
assert max(low for low, _ in ranges) < min(high for _, high in ranges), ranges
assert means[0] == min(means), means
drops = [a["bleu"] - b["bleu"] for a, b in zip(points["all read the last block"], points["all read the first, rewired after"])]  # fmt: skip
assert 3.5 < min(drops) <= max(drops) < 6.5, drops
drops = [a["bleu"] - b["bleu"] for a, b in zip(points["all read the last block"], points["floor by floor, rewired after"])]  # fmt: skip
assert max(drops) < 1.2, drops

# %% [markdown] tags=["notes"]
# The sober conclusion: the drawing is wrong about the Transformer, and on this grammar the machine of the drawing works as well. Do not claim more.

# %% [markdown]
# What do the numbers allow? A trained Transformer uses its wiring: let all decoder blocks read the first encoder block afterwards, and it loses 4 to 6 points; floor by floor it loses about a point or nothing (there its last decoder block still reads the last encoder block). But trained from scratch, the wrong wirings are no worse here; the right one even has the lowest mean of the three, by less than a point, and the three ranges overlap. (*All read the first* leaves three encoder blocks unused: it is really a 1 + 4 model.) On this easy grammar one encoder block did as well as four (2,000 steps, three seeds). Nothing here says which wiring is better on real sentences.

# %% [markdown]
# ## 7 · Exercises
#
# Write your answer where the dots are, run the cell, then run the check. The blocks here have one head and no biases, to keep them short: `w` $(3, E, E)$ holds $W_Q, W_K, W_V$; `w1` $(E, F)$ and `w2` $(F, E)$ are the network. You may use `attention(q, k, v, causal=…)` and `F.layer_norm(x, x.shape[-1:])`.

# %% [markdown] tags=["exercise"] exercise="06.1"
# ### Exercise 6.1 ★ · Two masks in one (8 min)
#
# A decoder-only model reads a padded batch. Write `my_mask(lengths, size)`: the sentences have `lengths` $(B,)$ real words each and are padded at the end to `size` $= L$. Return a bool mask $(B, 1, L, L)$: query $i$ may see key $j$ if $j$ is not in its future *and* is a real word. True = may attend.


# %% tags=["stub"] exercise="06.1"
def my_mask(lengths, size):
    """(B,) -> (B, 1, L, L), True = may attend."""
    place = torch.arange(size)  # (L,)
    past = ...  # (L, L): key j, query i
    real = ...  # (B, L)
    return ...


# %% [markdown] tags=["hint"] exercise="06.1"
# `place[:, None]` is a column. Comparing a row with a column gives a table $(L, L)$; which of the two is the query?

# %% [markdown] tags=["hint"] exercise="06.1"
# Padding is a matter of *keys*: `real[:, None, None]` has shape $(B, 1, 1, L)$ and goes along the last axis. Both must hold: `&`.


# %% tags=["solution"] exercise="06.1"
def my_mask(lengths, size):
    """(B,) -> (B, 1, L, L), True = may attend."""
    place = torch.arange(size)  # (L,)
    past = place <= place[:, None]  # (L, L): key j, query i
    real = place < lengths[:, None]  # (B, L)
    return past & real[:, None, None]


# %% tags=["check"] exercise="06.1"
check("06.1", my_mask)

# %% [markdown] tags=["exercise"] exercise="06.2"
# ### Exercise 6.2 ★ · An encoder block (8 min)
#
# Write `my_encoder_block(x, w, w1, w2)`, pre-norm, for a stream $x$ of shape $(\dots, L, E)$.


# %% tags=["stub"] exercise="06.2"
def my_encoder_block(x, w, w1, w2):
    """(..., L, E) -> (..., L, E)"""
    h = ...  # what attention reads
    x = ...  # look around
    h = ...  # what the network reads
    return ...  # think


# %% [markdown] tags=["hint"] exercise="06.2"
# Follow the machine from the left: the stream goes straight on; a branch goes through LN and attention and comes back at a +.

# %% [markdown] tags=["hint"] exercise="06.2"
# `x = x + attention(h @ w[0], …)`. The network is `torch.relu(h @ w1) @ w2`, and its `h` is made from the *new* x.


# %% tags=["solution"] exercise="06.2"
def my_encoder_block(x, w, w1, w2):
    """(..., L, E) -> (..., L, E)"""
    h = F.layer_norm(x, x.shape[-1:])
    x = x + attention(h @ w[0], h @ w[1], h @ w[2])
    h = F.layer_norm(x, x.shape[-1:])
    return x + torch.relu(h @ w1) @ w2


# %% tags=["check"] exercise="06.2"
check("06.2", my_encoder_block)

# %% [markdown] tags=["exercise"] exercise="06.3"
# ### Exercise 6.3 ★★ · A decoder block (10 min)
#
# Write `my_decoder_block(y, encoded, w, u, w1, w2)`, pre-norm: target stream $y$ $(\dots, T, E)$, finished encoder output `encoded` $(\dots, S, E)$. `w` is for the decoder's own attention, `u` $(3, E, E)$ for cross-attention.


# %% tags=["stub"] exercise="06.3"
def my_decoder_block(y, encoded, w, u, w1, w2):
    """(..., T, E), (..., S, E) -> (..., T, E)"""
    h = ...
    y = ...  # look back
    h = ...
    y = ...  # look at the source
    h = ...
    return ...  # think


# %% [markdown] tags=["hint"] exercise="06.3"
# Queries always come from the target. Where do keys and values come from, in each of the two attentions?

# %% [markdown] tags=["hint"] exercise="06.3"
# The encoder's output has had its LN at the end of its stack: use it as it is. Which of the two attentions needs `causal=True`?


# %% tags=["solution"] exercise="06.3"
def my_decoder_block(y, encoded, w, u, w1, w2):
    """(..., T, E), (..., S, E) -> (..., T, E)"""
    h = F.layer_norm(y, y.shape[-1:])
    y = y + attention(h @ w[0], h @ w[1], h @ w[2], causal=True)
    h = F.layer_norm(y, y.shape[-1:])
    y = y + attention(h @ u[0], encoded @ u[1], encoded @ u[2])
    h = F.layer_norm(y, y.shape[-1:])
    return y + torch.relu(h @ w1) @ w2


# %% tags=["check"] exercise="06.3"
check("06.3", my_decoder_block)

# %% [markdown] tags=["exercise"] exercise="06.4"
# ### Exercise 6.4 ★★ · Find the bugs: a block that does not learn (12 min)
#
# Somebody wrote an encoder block. It runs, and the shapes fit. Yet three of its five matrices never change in training, and that is only one of its **three** bugs:
#
# ```python
# h = F.layer_norm(x, x.shape[-1:])
# q, k, v = h @ w[0], h @ w[1], h @ w[2]
# scores = q @ k.mT / math.sqrt(q.shape[-1])
# x = x + (scores.softmax(dim=-2) @ v).detach()
# h = F.layer_norm(x, x.shape[-1:])
# return h + torch.relu(h @ w1) @ w2
# ```
#
# Write `my_mended_block(x, w, w1, w2)` without them. The check names a bug that is left.


# %% tags=["stub"] exercise="06.4"
def my_mended_block(x, w, w1, w2):
    """(..., L, E) -> (..., L, E)"""
    h = F.layer_norm(x, x.shape[-1:])
    q, k, v = h @ w[0], h @ w[1], h @ w[2]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    x = ...
    h = ...
    return ...


# %% [markdown] tags=["hint"] exercise="06.4"
# Three questions, one per bug. What adds up to 1? Which matrices get a gradient? What happens to the stream in the last line?

# %% [markdown] tags=["hint"] exercise="06.4"
# `softmax(dim=-1)` shares out over the keys. `.detach()` gives the same numbers forwards and nothing backwards. The sum at a + has the stream in it, not its normed copy.


# %% tags=["solution"] exercise="06.4"
def my_mended_block(x, w, w1, w2):
    """(..., L, E) -> (..., L, E)"""
    h = F.layer_norm(x, x.shape[-1:])
    q, k, v = h @ w[0], h @ w[1], h @ w[2]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    x = x + scores.softmax(dim=-1) @ v
    h = F.layer_norm(x, x.shape[-1:])
    return x + torch.relu(h @ w1) @ w2


# %% tags=["check"] exercise="06.4"
check("06.4", my_mended_block)

# %% [markdown] tags=["exercise"] exercise="06.5"
# ### Exercise 6.5 ★★ · Predict, then run: how many numbers? (10 min)
#
# Before you look at the last picture: how many numbers does a Transformer of the library learn? Write `my_count(words, source_words, width, blocks)`: `blocks` in each stack, hidden width $4E$, a bias in every linear layer of the blocks, gain and shift in every LN, pre-norm with a final LN per stack, a tied generator, sinusoidal positions. Predict the number of *your* translator on paper, then run it: the table of part 5 has the answer.


# %% tags=["stub"] exercise="06.5"
def my_count(words, source_words, width, blocks):
    """How many numbers a Transformer learns."""
    tables = ...
    attention = ...  # of one: four matrices and their biases
    network = ...
    norm = ...
    encoder = ...  # one block
    decoder = ...  # one block
    return ...


# %% [markdown] tags=["hint"] exercise="06.5"
# An attention has four matrices $E \times E$ (Q, K, V and O). The network has two, $E \times 4E$ and $4E \times E$, with biases of $4E$ and $E$.

# %% [markdown] tags=["hint"] exercise="06.5"
# Count + signs: as many LNs in a block as additions. Which tables are learned, if the generator is tied and positions are waves?


# %% tags=["solution"] exercise="06.5"
def my_count(words, source_words, width, blocks):
    """How many numbers a Transformer learns."""
    tables = (words + source_words) * width
    attention = 4 * width**2 + 4 * width
    network = 8 * width**2 + 5 * width
    norm = 2 * width
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    return tables + blocks * (encoder + decoder) + 2 * norm


# %% tags=["check"] exercise="06.5"
check("06.5", my_count)

# %% [markdown]
# ### GPU exercise · Train a base-size Transformer
#
# [Train the base model](gpu_06_base_model.ipynb) of 2017: width 512, 6 + 6 blocks, dropout, label smoothing and warm-up, in mixed precision, with four more exercises: top-p, the KV cache, a loss scale, and label smoothing by hand. It runs in a small size on any laptop.

# %% [markdown]
# ## 8 · Takeaways
#
# The same picture once more, with what each part of *your* translator learned: how many numbers.

# %% tags=["hide-input"]
net = french.model
encoder, decoder = net.encoder.layers[0], net.decoder.layers[0]
sizes = {
    "embed": net.source, "n1": encoder.add_self, "self": encoder.self_attention,
    "n2": encoder.add_feed, "feed": encoder.feed_forward, "n3": net.encoder.norm,
    "embed'": net.target, "n1'": decoder.add_self, "self'": decoder.self_attention,
    "n2'": decoder.add_cross, "cross": decoder.cross_attention,
    "n3'": decoder.add_feed, "feed'": decoder.feed_forward, "n4'": net.decoder.norm,
}  # fmt: skip
counts = {name: f"{count(part):,}" for name, part in sizes.items()}
machine(
    counts={**counts, "generator": "tied"},
    copies=str(net.config.layers),
    title=f"The whole machine: {count(net):,} numbers",
    caption="With E = 64, each attention has 4E² + 4E numbers and each FFN 8E² + 5E. A fifth of all are the two tables of words.",
)

# %% tags=["held"]
per_block = sum(count(sizes[n]) for n in ("n1", "self", "n2", "feed", "n1'", "self'", "n2'", "cross", "n3'", "feed'"))  # fmt: skip
rest = sum(count(sizes[n]) for n in ("embed", "embed'", "n3", "n4'"))
assert 2 * per_block + rest == count(net) == my_count(len(target), len(source), 64, 2)  # fmt: skip
tables = count(sizes["embed"]) + count(sizes["embed'"])
assert 0.18 < tables / count(net) < 0.22, tables / count(net)

# %% [markdown]
# 1. A block is additions to a **stream**: attention (tokens meet) and a network (each token thinks). Attention alone makes all tokens alike.
# 2. **LayerNorm** takes each token's own mean; in our test (one seed), before the sublayer, it let eight blocks train without a warm-up.
# 3. **Residuals** make doing nothing free; the **FFN** can take apart what was packed into one vector.
# 4. **Dropout** belongs to training and `eval()` switches it off; **masks** hide pads and the future.
# 5. Every decoder block reads the **last** encoder block. Which wiring is best is another question.

# %% [markdown] tags=["slide", "slides-only"]
# ## Takeaways
#
# 1. A block is additions to a **stream**.
# 2. **LayerNorm**: each token's own mean.
# 3. **Residuals** make doing nothing free.
# 4. **Dropout** in training, `eval()` in use.
# 5. **Masks** hide pads and the future.
# 6. Every decoder block reads the **last** encoder block; which wiring is best is another question.

# %% [markdown]
# ### Shapes and costs
#
# One block, $L$ tokens of width $E$, hidden width $F = 4E$, a decoder's source of length $S$:
#
# | part | shape | parameters | operations |
# |---|---|---|---|
# | embedding, tied generator | $(L) \to (L, E)$; $(L, E) \to (L, V)$ | $VE$, once | $2LEV$ |
# | LayerNorm | $(L, E)$ | $2E$ | $O(LE)$ |
# | self-attention | $(L, E)$ | $4E^2 + 4E$ | $8LE^2 + 4L^2E$ |
# | cross-attention | $(L, E), (S, E) \to (L, E)$ | $4E^2 + 4E$ | $4(L + S)E^2 + 4LSE$ |
# | network | $(L, E) \to (L, F) \to (L, E)$ | $8E^2 + 5E$ | $16LE^2$ |

# %% tags=["held"]
L, S = 7, 5
one, far = torch.randn(1, L, E), torch.randn(1, S, E)
V = len(target)
for part, inputs, formula in (
    (nn.Linear(E, V), (one,), 2 * L * E * V),  # the generator
    (decoder.self_attention, (one,), 8 * L * E**2 + 4 * L**2 * E),
    (decoder.cross_attention, (one, far), 4 * (L + S) * E**2 + 4 * L * S * E),
    (decoder.feed_forward, (one,), 16 * L * E**2),
):
    # recorded, attention is computed in the open, where torch can count it
    with FlopCounterMode(display=False) as counter, record(part):
        part(*inputs)
    assert counter.get_total_flops() == formula, (counter, formula)

# %% [markdown]
# Torch's own counter of operations, which counts matrix products only, agrees with these formulas on the blocks of your translator (LayerNorm has no such product).
#
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "Which part of a block lets one token learn about another?",
            "choices": [
                {"text": "The network", "why": "It works on each token alone, with the same weights at every position."},
                {"text": "Attention", "correct": True, "why": "It is the only part where tokens meet."},
                {"text": "LayerNorm", "why": "Its mean runs over one token's own features. BatchNorm would mix tokens."},
            ],
        },
        {
            "question": "Eight attention layers without residuals: what happens to the tokens?",
            "choices": [
                {"text": "They all point nearly the same way", "correct": True, "why": "Means of means. The likeness reached 1 after three layers."},
                {"text": "They become independent", "why": "Averaging pulls vectors together."},
                {"text": "Nothing, attention keeps differences", "why": "Part 1 measured the opposite."},
            ],
        },
        {
            "question": "A model of 6 + 6 blocks. What does decoder block 2 read in its cross-attention?",
            "choices": [
                {"text": "The output of encoder block 2", "why": "That is the popular wrong drawing."},
                {"text": "The output of encoder block 6", "correct": True, "why": "All decoder blocks read the finished encoding."},
                {"text": "The encoder's word embeddings", "why": "They have not seen their neighbours yet."},
            ],
        },
        {
            "question": "Why does training a decoder need the mask “past only”, though decoding does not show it the future anyway?",
            "choices": [
                {"text": "To save time", "why": "Time is not the point: the mask only hides."},
                {"text": "In training all target words are there at once, and without it the answer could be copied", "correct": True, "why": "Teacher forcing puts the right next word one position to the right."},
                {"text": "Because of padding", "why": "It hides padding as well, but a padding mask would do for that."},
            ],
        },
        {
            "question": "You translate one sentence twice and get two results, without sampling. What is likely?",
            "choices": [
                {"text": "The model is still in training mode, and dropout makes holes", "correct": True, "why": "`eval()` switches them off."},
                {"text": "LayerNorm depends on the batch", "why": "BatchNorm does; LayerNorm looks at one token alone."},
                {"text": "Beam search is random", "why": "It is deterministic: the same model and sentence give the same result."},
            ],
        },
        {
            "question": "`nn.ModuleList([block] * 6)` learns, but has too few parameters. Why?",
            "choices": [
                {"text": "It is one block, listed six times", "correct": True, "why": "Six names for the same weights: count the parameters."},
                {"text": "ModuleList forgets the parameters of later blocks", "why": "It registers all it is given; here it is given one."},
                {"text": "LayerNorm is shared by default", "why": "Nothing is shared by default."},
            ],
        },
    ],
    title="Self-test: the Transformer",
    key="06",
)  # fmt: skip

# %% [markdown] tags=["deeper"]
# ### References
#
# Linked where they are used; the three to read first:
#
# - A. Vaswani and others (2017), [Attention Is All You Need](https://arxiv.org/abs/1706.03762).
# - R. Xiong and others (2020), [On Layer Normalization in the Transformer Architecture](https://arxiv.org/abs/2002.04745).
# - Y. Dong, J.-B. Cordonnier, A. Loukas (2021), [Attention is not all you need](https://arxiv.org/abs/2103.03404).
#
# **Next:** chapter 7 takes this machine apart into GPT, BERT and T5, and asks what size and pre-training buy.
