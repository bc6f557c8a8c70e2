# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 4
#     title: Multi-head attention
#     minutes: 110
#     summary: One softmax gives one mixture. Several heads keep apart what should stay apart, with no more parameters than one. Built by hand, found in a real encoder, knocked out, and packed tighter than it should fit.
# ---

# %% [markdown]
# # 4 · Multi-head attention
#
# In chapter 3 every word asked one question and got one answer. But a word often needs two things at once: who did it, *and* when.
#
# **Question:** one row of weights gives one mixture. Can two answers be read from one mixture? Step through the picture.

# %% tags=["setup"]
import math
import time

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from einops import rearrange
from IPython.display import display
from matplotlib.colors import ListedColormap
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attnlab import figures
from attnlab.checks import check
from attnlab.data.paraphrases import CHOOSE, TEST
from attnlab.device import seconds
from attnlab.inside import head_roles, superposition
from attnlab.inside.bertviz_views import head_view, model_view
from attnlab.inside.knockout import knock_out, margins
from attnlab.inside.online import OfflineError, decoder_maps
from attnlab.layers.heads import MultiHead
from attnlab.models.published import minilm, read
from attnlab.record import record, stack
from attnlab.reproducible import seed
from attnlab.training import Descent, fit
from attnlab.widgets import HeadGrid, Quiz, Superposition
from attnlab.widgets.diagram import Box, Diagram, Matrix, Step

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown] tags=["slide", "slides-only"]
# # Multi-head attention
#
# attnlab · chapter 4
#
# One softmax, one mixture.
#
# So take several.

# %% [markdown] tags=["notes"]
# 45 minutes: one head fails (10), heads by hand and what they cost (10), a real encoder, roles and knock-out (15), superposition (8), quiz (2).

# %% tags=["slide", "hide-input"]
shelf = torch.eye(4)[[2, 0]]  # C is on shelf 2, E on shelf 0
turned = shelf.flip(0)  # C on 0, E on 2
one = torch.tensor([[0.5, 0.5]])
both = torch.eye(2)
Diagram(
    [
        Matrix("V", "shelves", values=shelf, digits=0, rows=["C", "E"], columns=["0", "1", "2", "3"], at=(0, 0), colour="value"),
        Matrix("a1", "one head", values=one, digits=1, columns=["C", "E"], at=(1, 0)),
        Matrix("o1", "what it hands over", values=one @ shelf, digits=1, at=(2, 0)),
        Matrix("a2", "two heads", values=both, digits=0, rows=["first", "second"], columns=["C", "E"], at=(1, 1)),
        Matrix("o2", "what they hand over", values=both @ shelf, digits=0, at=(2, 1)),
    ],
    arrows=["V -> a1 -> o1", "V -> a2 -> o2"],
    steps=[
        Step("Film C is on shelf 2, film E on shelf 0. A customer wants C, and then E.", lit=["V"]),
        Step("One head has one row of weights: half on C, half on E. It hands over the mean.", lit=["a1", "o1"]),
        Step("Two heads have two rows. Each takes one film and hands over its shelf.", lit=["a2", "o2"]),
        Step(
            "Swap the two films. The mean stays what it was: it does not say which film is where. The two heads notice.",
            lit=["V", "o1", "o2"],
            values={"V": turned, "o1": one @ turned, "o2": both @ turned},
        ),
    ],
    title="A mean forgets who was where",
    caption="One row of weights gives one mixture, whatever the width. The cure: cut the width into pieces, and let each piece attend for itself.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Stop at the last step: what changed, and what did not? The rest of part 1 shows that training does not help either.

# %% [markdown]
# At the end you can
#
# - prove that one head fails where two succeed, and show it by training both;
# - cut a width into heads and put it together again, without mixing up tokens;
# - say what $H$ heads cost, before you measure it;
# - find out what the heads of a real model do, which of them matter, and why these are two questions;
# - explain how a layer can keep more features than it has numbers.

# %% [markdown]
# ## 1 · The question
#
# Back to the video shop of chapter 3. The notes say where films are: `C2` means that film C is on shelf 2. A customer now wants **two** films
# in one go: `CE?` asks for the shelf of C, *and then* for the shelf of E. The clerk answers with two digits.

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## Two wishes at once
#
# Notes: `A0 E0 C2 …` Question: `CE?` Answer: `2 0`.
#
# The clerk reads the notes once, with one row of weights: out comes **one** mixture of shelves. Can two answers be read from it?

# %% tags=["plumbing"]
TITLES, SHELVES, FILMS = 12, 4, 6


def orders(batch):
    """Notes of six films, a wish of two of them, and their shelves."""
    titles = torch.rand(batch, TITLES).argsort(dim=-1)[:, :FILMS]
    shelves = torch.randint(SHELVES, (batch, FILMS))  # (B, FILMS)
    wish = torch.rand(batch, FILMS).argsort(dim=-1)[:, :2]
    return titles, shelves, titles.gather(1, wish), shelves.gather(1, wish)


seed(0)
titles, shelves, asked, answers = orders(1)
letters = "ABCDEFGHIJKL"
notes = [f"{letters[t]}{s}" for t, s in zip(titles[0], shelves[0])]
first, second = (letters[t] for t in asked[0])
print(*notes, f"  {first}{second}?  answer:", *answers[0].tolist())

# %% [markdown]
# The clerk is a soft look-up, nothing more. The wish makes a query, the titles make keys, the shelves make values, and a linear layer reads
# the two answers from what comes out. The number of heads is the only thing we change. (`cut` gives each head its share of the width: part 2 explains it. `.mT` swaps the last two axes.)


# %% tags=["plumbing"]
class Clerk(nn.Module):
    """Attention from a wish to the notes; two answers, read linearly."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.wish = nn.Embedding(2 * TITLES, width)  # C first, C second
        self.title = nn.Embedding(TITLES, width)  # keys
        self.shelf = nn.Embedding(SHELVES, width)  # values
        self.read = nn.Linear(width, 2 * SHELVES)

    def look(self, titles, asked):
        """How the wish spreads over the notes: (B, H, 1, FILMS)."""
        slot = torch.tensor([0, TITLES])  # C first is not C second
        q = self.wish(asked + slot).sum(1, keepdim=True)  # (B, 1, E)
        q, k = self.cut(q), self.cut(self.title(titles))
        return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)

    def cut(self, x):
        return rearrange(x, "b l (h d) -> b h l d", h=self.heads)

    def forward(self, titles, shelves, asked):
        out = self.look(titles, asked) @ self.cut(self.shelf(shelves))
        out = rearrange(out, "b h 1 d -> b (h d)")  # (B, E)
        return self.read(out).unflatten(-1, (2, SHELVES))


def stream():
    while True:
        yield orders(256)


def train_clerk(clerk, number, rate=2e-2):
    def loss(batch):
        *given, answers = batch
        guess = clerk(*given).flatten(0, 1)  # (B · 2, SHELVES)
        return F.cross_entropy(guess, answers.flatten())

    descent = Descent(lr=rate)
    fit(
        clerk,
        stream(),
        steps=800,
        descent=descent,
        loss=loss,
        listeners=(),
        seed=number,
    )
    return clerk


@torch.no_grad()
def both_right(clerk, batch=4000):
    """The share of customers who get both films."""
    titles, shelves, asked, answers = orders(batch)
    guess = clerk(titles, shelves, asked).argmax(-1)  # (B, 2)
    return (guess == answers).all(-1).float().mean().item()


# %% [markdown]
# **Guess first:** one head, two heads, the same width, the *same number of parameters*. What share of the customers get both films? Guessing at random would serve 1 in 16.

# %% tags=["nbval-ignore-output"]
clerks = {}
for name, width, heads in (
    ("1 head", 32, 1),
    ("1 head, twice as wide", 64, 1),
    ("2 heads", 32, 2),
):
    shares = []
    for number in range(3):
        seed(number)
        clerk = train_clerk(Clerk(width, heads), number)
        shares.append(both_right(clerk))
    clerks[name] = (clerk, shares)
    size = sum(p.numel() for p in clerk.parameters())
    print(f"{name:22} {size:5d} parameters ", end="")
    print("both right, 3 seeds:", *(f"{share:.2f}" for share in shares))

# %% tags=["held"]
one_head, two_heads = clerks["1 head"][1], clerks["2 heads"][1]
assert min(two_heads) >= 0.97, clerks
assert max(one_head) <= 0.40, clerks
assert min(two_heads) - max(clerks["1 head, twice as wide"][1]) >= 0.30

# %% [markdown] tags=["slide", "slides-only"]
# ## Same width, same parameters
#
# **Guess:** how many customers get both films?

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(7.2, 3))
for share, name in ((1 / 16, "guessing"), (1 / 4, "one shelf,\nsaid twice")):
    ax.axvline(share, color="grey", linestyle="--", linewidth=1.2)
    ax.text(share + 0.01, -0.75, name, va="top", size=11.5, color="dimgrey")
for row, (_, shares) in enumerate(clerks.values()):
    ax.plot(shares, [row] * 3, "o", markersize=13, alpha=0.6)
ax.set_yticks(range(3), list(clerks))
ax.set(
    xlim=(0, 1.04),
    ylim=(2.5, -1),
    xlabel="share of customers with both films",
)
figures.show(
    fig,
    alt="The share of customers who get both films, three seeds each. One head: about a quarter. One head, twice as wide: about a quarter. Two heads: all of them.",
    caption="Three seeds each; the dots overlap. Why would a clerk be right 1 time in 4?",
)

# %% [markdown] tags=["notes"]
# A quarter: one film is right nearly every time, and the clerk says its shelf twice. That serves both when they stand on one shelf, 1 time in 4. More width does not help. Let the room say why before the proof.

# %% [markdown]
# About a quarter against all of them, and twice the width changes nothing. Where do the clerks put their weight?

# %% tags=["hide-input"]
seed(3)
titles, shelves, asked, answers = orders(1)
keys = [f"{letters[t]}{s}" for t, s in zip(titles[0], shelves[0])]
fig, axes = plt.subplots(2, 1, figsize=(7.2, 4.2), height_ratios=[1, 2])
split = []
with torch.no_grad():
    for ax, name in zip(axes, ("1 head", "2 heads")):
        clerk = clerks[name][0]
        look = clerk.look(titles, asked)[0, :, 0]  # (H, FILMS)
        split.append(look[0].sort(descending=True).values[:2].tolist())
        rows = [f"head {h}" for h in range(clerk.heads)]
        figures.heatmap(
            ax, look, rows, keys, row_label="", column_label="", high=1
        )
        ax.set_title(
            f"{name}: the wish is {letters[asked[0, 0]]}, then {letters[asked[0, 1]]}",
            size=12,
        )
figures.show(
    fig,
    alt="Weights of the clerk over six notes. The single head puts about half of its weight on each of the two films that were asked for, a little more on one; of two heads each takes one film.",
    caption=f"The single head splits its weight almost evenly, {split[0][0]:.2f} to {split[0][1]:.2f}. With two heads each takes one film: training shared out the work.",
)

# %% [markdown]
# Here is where the quarter comes from. The clerk finds the shelf of one film, and says it again for the other. That is right when both films stand on one shelf, 1 time in 4. Let us listen to the last clerk with one head:


# %% tags=["plumbing", "nbval-ignore-output"]
@torch.no_grad()
def listen(clerk, batch=4000):
    """Where a clerk with one head puts its weight, and what it says."""
    titles, shelves, asked, answers = orders(batch)
    guess = clerk(titles, shelves, asked).argmax(-1)  # (B, 2)
    look = clerk.look(titles, asked)[:, 0, 0]  # (B, FILMS)
    films = [look[titles == asked[:, [i]]] for i in (0, 1)]  # two of (B,)
    weights = torch.stack(films, -1)  # (B, 2)
    heavy, light = weights.sort(descending=True).values.mT
    winner = weights.argmax(-1, keepdim=True)  # (B, 1)
    right = (guess == answers).gather(1, winner)
    twice = guess[:, 0] == guess[:, 1]
    parts = (heavy, light, right.float(), twice.float())
    return [part.mean().item() for part in parts]


heavy, light, right, twice = listen(clerks["1 head"][0])
print(f"weights of the two films:  {heavy:.2f} and {light:.2f}")
print(f"the heavier film is right: {right:.3f} of all orders")
print(f"one shelf, said twice:     {twice:.3f} of all orders")

# %% tags=["held"]
assert heavy - light < 0.1, (heavy, light)
assert right >= 0.99, (right, twice)
assert twice >= 0.99, (right, twice)
titles, _, asked, _ = orders(4000)
with torch.no_grad():
    look = clerks["2 heads"][0].look(titles, asked)[:, :, 0]  # (B, 2, FILMS)
own = [titles == film for film in asked.mT[..., None]]  # two of (B, FILMS)
took = [[look[:, h][film].mean() for film in own] for h in (0, 1)]
took = torch.tensor(took)  # (heads, films): the mean weight
assert took.argmax(1).sort().values.tolist() == [0, 1], took  # one film each
assert took.amax(1).min() > 0.8, took

# %% [markdown]
# ### Why one head cannot do it: a proof
#
# One softmax makes one row of weights, so the clerk gets **one convex mixture** of the values: weights of at least 0 that add up to 1. Say the first film gets weight $\alpha$ and the second $\beta$. The weights come
# from titles alone, so they stay the same when only the shelves change. Let the first film be on shelf $a$, the second on shelf $b$; the other films stay where they are:
#
# $$o = \alpha\, v(a) + \beta\, v(b) + \text{rest}.$$
#
# A linear reader scores shelf $j$ for the *second* answer by $\alpha M_{ja} + \beta M_{jb} + \rho_j$, with $M_{js}$ the score of $j$ for a value $s$. Take any two shelves, 0 and 1, and write down when the right one wins:
#
# | film 1, film 2 | right second answer | so |
# |---|---|---|
# | 0, 0 | 0 | $\alpha M_{00} + \beta M_{00} + \rho_0 > \alpha M_{10} + \beta M_{10} + \rho_1$ |
# | 0, 1 | 1 | $\alpha M_{10} + \beta M_{11} + \rho_1 > \alpha M_{00} + \beta M_{01} + \rho_0$ |
# | 1, 0 | 0 | $\alpha M_{01} + \beta M_{00} + \rho_0 > \alpha M_{11} + \beta M_{10} + \rho_1$ |
#
# Add the first two lines: $\beta \Delta > 0$ with $\Delta = M_{00} + M_{11} - M_{01} - M_{10}$, so $\Delta > 0$. Add the last two: $(\beta - \alpha) \Delta > 0$. Together: **the second answer is always right only if $\beta > \alpha$.** By the same
# argument the first is always right only if $\alpha > \beta$. One row of weights cannot do both. No width, no training, no luck helps. ∎

# %% [markdown] tags=["slide", "slides-only"]
# ## Why: one softmax = one convex mixture
#
# $$o = \alpha\, v(a) + \beta\, v(b) + \text{rest}$$
#
# A linear reader gets the second answer right for all shelves only if $\beta > \alpha$,
#
# and the first only if $\alpha > \beta$.
#
# Two heads have two rows: $\alpha_1 > \beta_1$ *and* $\beta_2 > \alpha_2$. Done.

# %% [markdown] tags=["notes"]
# Do the three lines of the table on the board. Add lines one and two, then two and three. It takes two minutes.

# %% [markdown]
# Two heads have two rows of weights and simply take $\alpha_1 > \beta_1$ and $\beta_2 > \alpha_2$.
#
# To be fair to the single head: the proof needs a *linear* reader. A mixture of 2 : 1 still tells all 16 pairs of shelves apart, so a reader with a hidden layer may untangle it. **Guess:** does it?

# %% tags=["nbval-ignore-output"]
shares = []
for number in range(3):
    seed(number)
    clever = Clerk(32, heads=1)
    clever.read = nn.Sequential(
        nn.Linear(32, 12), nn.ReLU(), nn.Linear(12, 2 * SHELVES)
    )
    shares.append(both_right(train_clerk(clever, number, rate=1e-2)))
print("1 head, a reader with 12 hidden units, 3 seeds: ", end="")
print(*(f"{share:.2f}" for share in shares))
heavy, light, *_ = listen(clever)
print(f"weights of the two films: {heavy:.2f} and {light:.2f}")

# %% tags=["held"]
assert min(shares) >= 0.9, shares
assert heavy > 1.2 * light, (heavy, light)

# %% [markdown]
# It does, with 12 hidden units, and its weights are no longer nearly equal: the ratio is the message. In a Transformer such a network follows every attention layer (chapter 6), so one head is not the end of the world. But then the ratio has to say whose shelf is whose: with $n$ wishes, the weight that lands on a shelf must tell $2^n$ cases apart, where $n$ heads need $n$ rows.

# %% [markdown]
# ## 2 · By hand
#
# ### From one head to H heads
#
# We could give every head the full width $E$ and pay $H$ times. Instead each head gets a **subspace** of width $D = E/H$ (the paper writes $h$ and $d_k$): its own block of columns of $W_q$, $W_k$ and $W_v$. The heads' outputs are put side by side again, and
# one more matrix $W^O$ mixes them ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.2.2):
#
# $$\operatorname{head}_i = \operatorname{attention}(XW_q^i,\, XW_k^i,\, XW_v^i), \qquad Y = [\operatorname{head}_1; \dots; \operatorname{head}_H]\, W^O .$$
#
# | symbol | shape | with $E = 512$, $H = 8$ |
# |---|---|---|
# | $X$, $Y$ | $(L, E)$ | $(L, 512)$ |
# | $W_q^i$, $W_k^i$, $W_v^i$ | $(E, D)$ each, $D = E/H$ | $(512, 64)$ |
# | $\operatorname{head}_i$ | $(L, D)$ | $(L, 64)$ |
# | all heads side by side | $(L, H \cdot D) = (L, E)$ | $(L, 512)$ |
# | $W^O$ | $(E, E)$ | $(512, 512)$ |
#
# There is no need for $H$ little matrices. All $W_q^i$ side by side are one $(E, E)$ matrix, so we project once and **cut the result**:

# %% [markdown] tags=["slide", "slides-only"]
# ## From one head to H heads
#
# $$\operatorname{head}_i = \operatorname{attention}(XW_q^i, XW_k^i, XW_v^i)$$
#
# $$Y = [\operatorname{head}_1; \dots; \operatorname{head}_H]\, W^O$$
#
# | | shape | $E = 512$, $H = 8$ |
# |---|---|---|
# | $W_q^i, W_k^i, W_v^i$ | $(E, E/H)$ | $(512, 64)$ |
# | $\operatorname{head}_i$ | $(L, E/H)$ | $(L, 64)$ |
# | $W^O$ | $(E, E)$ | $(512, 512)$ |

# %%
x = torch.arange(2 * 6).reshape(1, 2, 6)  # 1 text, 2 tokens, width 6
heads = rearrange(x, "b l (h d) -> b h l d", h=3)
wrong = x.reshape(1, 3, 2, 2)
back = rearrange(heads, "b h l d -> b l (h d)")
print("shapes:", tuple(heads.shape), "and", tuple(wrong.shape))

# %% tags=["held"]
assert torch.equal(back, x)

# %% [markdown]
# Read the pattern aloud: *the width is heads times d; move the heads to the front*. `wrong` has the same shape. Is it the same?

# %% tags=["slide", "hide-input"]
Diagram(
    [
        Matrix("x", "2 tokens, width 6", values=x[0].float(), digits=0, rows=["token 0", "token 1"], at=(0, 1), law="amounts"),
        *(
            Matrix(f"h{h}", f"head {h}", values=heads[0, h].float(), digits=0, at=(1, h), law="amounts", scale=11)
            for h in range(3)
        ),
        *(
            Matrix(f"w{h}", f"by reshape: head {h}", values=wrong[0, h].float(), digits=0, at=(2, h), law="amounts", scale=11)
            for h in range(3)
        ),
    ],
    arrows=["x -> h0", "x -> h1", "x -> h2"],
    steps=[
        Step("Two tokens (rows) of width 6, to be cut for three heads of width 2.", lit=["x"]),
        Step("Right: head 1 has columns 2 and 3 of both tokens.", lit=["x", "h0", "h1", "h2"]),
        Step("A reshape alone has the right shape and the wrong numbers: head 0 sees nothing of token 1, and head 1 mixes the two.", lit=["w0", "w1", "w2"]),
    ],
    title="A width cut into heads, right and wrong",
    caption="A reshape never moves a number. The heads need a transpose as well: rearrange does both.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Ask before the last step: what would `x.reshape(1, 3, 2, 2)` give? It runs without an error and is wrong: an easy mistake to make.

# %% [markdown]
# With `reshape` alone, head 0 gets four of token 0's six numbers and nothing of token 1. There is no error and no warning. Exercise 4.1 has it in the wild.
#
# ### Why $W^O$?
#
# Side by side, each head owns its columns of the output: head 1 could never write where head 0 writes. $W^O$ lifts that. Cut $W^O$ into blocks of $D$ rows, and the product turns into a **sum over heads**:
#
# $$Y = \sum_i \operatorname{head}_i\, W^O_i, \qquad W^O_i \text{ of shape } (D, E).$$
#
# So every head reads a subspace, and writes into the whole width, added to what the others write.

# %% tags=["slide", "hide-input"]
Diagram(
    [
        Box("x", "X", detail="L × E", at=(0, 1)),
        *(
            Box(f"h{i}", f"head {i}", detail="L × D", at=(1, i - 1), colour="attention")
            for i in (1, 2, 3)
        ),
        *(
            Box(f"w{i}", f"W^O, part {i}", detail="D × E", at=(2, i - 1), colour="value")
            for i in (1, 2, 3)
        ),
        Box("sum", "+", at=(3, 0), to=(3, 2)),
        Box("y", "Y", detail="L × E", at=(4, 1)),
    ],
    arrows=[f"x -> h{i} -> w{i} -> sum" for i in (1, 2, 3)] + ["sum -> y"],
    steps=[
        Step("Each head reads all tokens and works in its own D numbers.", lit=["x", "h1", "h2", "h3"]),
        Step("Its block of Wᴼ writes the result into the whole width E.", lit=["h1", "h2", "h3", "w1", "w2", "w3"]),
        Step("The layer's output is the sum of what the heads write.", lit=["w1", "w2", "w3", "sum", "y"]),
        Step("To knock out head 2 means to leave out one term of this sum.", lit=["h1", "w1", "h3", "w3", "sum", "y"]),
    ],
    title="Wᴼ as a sum over heads",
    caption="Side by side and then one matrix, or block by block and then a sum: the same numbers.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# The last step is the one to remember: knocking a head out is leaving out a term. Part 5 does it 72 times.

# %% [markdown]
# ## 3 · Live
#
# Here is a sentence inside a real encoder, all-MiniLM-L6-v2 ([Reimers & Gurevych 2019](https://arxiv.org/abs/1908.10084); [Wang et al. 2020](https://arxiv.org/abs/2002.10957)): 6 layers of 12 heads, $E = 384$, $D = 32$. The 72 softmaxes run in your browser. (`[CLS]` and `[SEP]` stand before and after every text and carry no word.)
#
# - **Find** a head where every word attends to the word before it, and one where it attends to the next.
# - **Heat** one head to $\tau = 10$. Does the mean of its layer notice? Cool it down to 0.1.
# - **Knock out** the rest of a layer. What was hidden in the mean?

# %%
SENTENCE = "The sailor told a story, and the story was about the sea."
_, encoder = minilm()
words, numbers = read(SENTENCE)
with record(encoder) as maps:  # as in chapter 3
    encoder(numbers)
print(len(maps), "maps of shape", tuple(stack(maps)[0, 0].shape))

# %% tags=["slide", "hide-input"]
HeadGrid(
    maps=maps,
    tokens=words,
    layer=2,
    head=9,
    query=8,
    title="All 72 heads of MiniLM on one sentence",
    caption="Click a thumbnail. The second map is the mean of the heads that are still switched on in that layer.",
)

# %% [markdown] tags=["notes"]
# Let the room hunt: previous token (0.2), next token (1.8), same word (2.9). Then: knock out the rest of layer 2 and watch the mean.

# %% [markdown]
# ### bertviz
#
# A well-known tool for this is **bertviz** ([Vig 2019](https://arxiv.org/abs/1906.05714)). Its *head view* draws one layer: words left and right, a colour for each head. Hover over a word on the left to see what it attends to. A click on a coloured square
# switches a head off, a double click leaves only that one. (Here on a shorter sentence.)

# %% [markdown] tags=["slide", "slides-only"]
# ## bertviz: what does each “story” attend to?

# %% tags=["hide-input", "fragment"]
short_words, short = read("She told a story, a sad story.")  # fits a slide
with record(encoder) as short_maps:
    encoder(short)
head_view(
    short_maps,
    short_words,
    layer=2,
    heads=[9],
    caption="bertviz, head view: head 9 of layer 2. What does each “story” attend to?",
)

# %% tags=["held"]
one, other = (i for i, w in enumerate(short_words) if w == "story")
row = stack(short_maps)[0, 2, 9, other]  # of the second story
assert row[one] > 0.7 * (1 - row[0]), row  # without what [CLS] gets

# %% [markdown] tags=["notes"]
# Head 9 of layer 2 alone. Hover over the second “story”: apart from what [CLS] gets, most of its weight goes to the first one. Then double-click the lit square to show all heads.

# %% [markdown]
# Its *model view* shows all layers and heads at a glance. Click a thumbnail to enlarge it, click again to close it.

# %% tags=["hide-input"]
model_view(
    maps,
    words,
    caption="bertviz, model view: one row per layer, one column per head. Which thumbnails have parallel lines?",
)

# %% [markdown]
# (Both run bertviz's own drawing code inside a sandboxed frame, with no network. `attnlab.inside.bertviz_views` shows how.)

# %% [markdown] tags=["deeper"]
# ### Look into GPT-2
#
# Do you have a network connection, and the time to download 500 MB? Then set the switch below and look into **GPT-2**, a decoder: all its maps are lower triangles. The cell counts how many heads rest on the first token.

# %% tags=["deeper", "nbval-ignore-output"]
ONLINE = False  # True: fetch GPT-2 once and look inside

if ONLINE:
    try:
        gpt2_words, gpt2_maps = decoder_maps(SENTENCE)
        gpt2 = stack(gpt2_maps)[0]  # (12, 12, L, L)
        print("GPT-2:", tuple(gpt2.shape), "layers, heads, tokens")
        first = gpt2[..., 1:, 0].mean(-1)  # (12, 12)
        print(f"attention that goes to the first token: {first.mean():.0%}")
        print(
            f"heads that give it half or more: {(first >= 0.5).sum()} of 144"
        )
        display(model_view(gpt2_maps, gpt2_words))
    except OfflineError as problem:
        print(problem)
else:
    print("GPT-2 stays where it is. Set ONLINE = True to fetch it.")

# %% [markdown]
# ## 4 · In the open
#
# Five steps: project, cut, attend, paste, project.

# %% [markdown] tags=["slide", "slides-only", "layout-code"]
# ## Project, cut, attend, paste, project


# %% tags=["fragment"]
def multi_head(x, w_q, w_k, w_v, w_o, heads):
    """(B, L, E) -> (B, L, E), with `heads` heads of width E / heads."""
    q, k, v = (
        rearrange(x @ w, "b l (h d) -> b h l d", h=heads)
        for w in (w_q, w_k, w_v)
    )
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)  # (B, H, L, L)
    heads_out = weights @ v  # (B, H, L, D)
    return rearrange(heads_out, "b h l d -> b l (h d)") @ w_o


# %% [markdown] tags=["notes"]
# The only new things against chapter 3 are the two rearranges and w_o. The scale is the root of the head's width, not of the model's.

# %% [markdown]
# Is it the same as PyTorch's? `nn.MultiheadAttention` keeps its three input matrices stacked in one, and transposed, as every `nn.Linear` does.

# %%
seed(0)
E, H = 48, 4
theirs = nn.MultiheadAttention(E, H, bias=False, batch_first=True)
w_q, w_k, w_v = (w.mT for w in theirs.in_proj_weight.chunk(3))  # (E, E)
w_o = theirs.out_proj.weight.mT

x = torch.randn(2, 7, E)
ours = multi_head(x, w_q, w_k, w_v, w_o, H)
torch.testing.assert_close(ours, theirs(x, x, x)[0])
print("ours = nn.MultiheadAttention:", tuple(ours.shape))

# %% [markdown]
# And the library's `MultiHead`, which later chapters import. It adds masks, rotary positions (chapter 5), a cache (chapter 6) and fewer key heads (chapter 10), and at its heart are the same five steps (`src/attnlab/layers/heads.py`).

# %%
layer = MultiHead(E, H, bias=False)
with torch.no_grad():
    pairs = zip(
        (layer.query, layer.key, layer.value, layer.out), (w_q, w_k, w_v, w_o)
    )
    for linear, w in pairs:
        linear.weight.copy_(w.mT)
torch.testing.assert_close(layer(x), ours)
print("ours = attnlab.layers.heads.MultiHead")

# %% [markdown]
# The sum over heads of part 2, too, as a check of the algebra:

# %%
parts = [
    multi_head(x, w_q, w_k, w_v, w_o * keep[:, None], H)
    for keep in torch.eye(H).repeat_interleave(E // H, dim=1)  # one block
]
torch.testing.assert_close(sum(parts), ours)
print("Y = sum of", len(parts), "heads, each through its own rows of W^O")

# %% [markdown]
# ### What do heads cost?
#
# **Guess first:** width 256, four texts of 512 tokens. How many more multiplications and additions do the *matrix products* need with 16 heads than with one? And does the layer take longer?


# %% tags=["plumbing", "nbval-ignore-output"]
seed(0)
given = torch.randn(4, 512, 256), *(torch.randn(4, 256, 256) / 16)
COUNTS = (1, 2, 4, 8, 16)


def operations(heads):
    """Multiplications and additions in all matrix products, in millions."""
    with FlopCounterMode(display=False) as counter:
        multi_head(*given, heads)
    return counter.get_total_flops() / 1e6


def milliseconds(heads):
    """Of the layer, and of the scaled softmax of its tables alone."""
    tables = torch.randn(4, heads, 512, 512)  # (B, H, L, L)
    whole = seconds(lambda: multi_head(*given, heads), 5, time.process_time)
    alone = seconds(lambda: (tables / 8).softmax(-1), 5, time.process_time)
    return 1e3 * whole, 1e3 * alone


costs = {heads: operations(heads) for heads in COUNTS}
times = {heads: milliseconds(heads) for heads in COUNTS}
for heads, (whole, alone) in times.items():
    name = "head " if heads == 1 else "heads"
    print(f"{heads:2d} {name} of width {256 // heads:3d}: ", end="")
    print(f"products {costs[heads]:.0f} M, ", end="")
    print(f"layer {whole:4.0f} ms, softmax alone {alone:3.0f} ms")

# %% [markdown] tags=["slide", "slides-only"]
# ## What do 16 heads cost?
#
# Width 256, four texts of 512 tokens. **Guess** both curves.

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
left.plot(COUNTS, list(costs.values()), "o-", color=figures.COLOURS["blue"])
left.set(
    title="products: all the same",
    ylabel="million operations",
    ylim=(0, 2600),
)
for i, (name, line) in enumerate(
    (("whole layer", "o-"), ("softmax alone", "s--"))
):
    right.plot(COUNTS, [times[h][i] for h in COUNTS], line, label=name)
right.set(title="time: it grows", ylabel="milliseconds of CPU")
right.set_ylim(0)
right.legend()
for ax in (left, right):
    ax.set_xticks(COUNTS, [str(h) for h in COUNTS])
    ax.set_xlabel("heads")
figures.show(
    fig,
    alt="Left: the operations in matrix products, the same for 1 to 16 heads. Right: milliseconds of the whole layer and of its softmax alone; both rise with the number of heads.",
    caption="Left what is counted, right what the clock says on the machine that built this page.",
)

# %% [markdown] tags=["notes"]
# The products are exactly the same. What grows is the number of tables for the softmax: H times L². The dashed line is that softmax alone.

# %% tags=["held"]
# The same for every number of heads, and what chapter 3 counted for one.
counted = 4 * (8 * 512 * 256**2 + 4 * 512**2 * 256) / 1e6
assert set(costs.values()) == {counted}, costs
(one_whole, one_softmax), (whole, softmax) = times[1], times[16]
assert whole > 2 * one_whole, times
assert softmax > 4 * one_softmax, times

# %% [markdown]
# None: the number of products is the same. The projections are the same $(E, E)$ matrices, and $H$ products with $D = E/H$ columns each are as much work as one with $E$ columns:
#
# $$\underbrace{8LE^2}_{\text{four projections}} + \underbrace{H \cdot 4L^2 \frac{E}{H}}_{\text{scores and mixing}} = 8LE^2 + 4L^2E .$$
#
# The count leaves the softmax out, and the clock does not: 16 heads take several times as long as one, and the softmax alone grows with them. There are $H$ tables of $(L, L)$ instead of one, each to be written, exponentiated and read again. Equal products are not equal time. The [GPU exercise](gpu_04_heads.ipynb) measures it on your device.
#
# ## 5 · At work
#
# ### What do the heads of a real model do?
#
# In the grid you found heads by eye. There are 72 of them, so let us **score** them instead. A head's score for a job is the share of its attention that goes to the positions the job is about, averaged over all tokens that have such positions. Five jobs; all but *same word* were found in BERT by [Clark et al. 2019](https://arxiv.org/abs/1906.04341):
#
# | job | the positions |
# |---|---|
# | previous token | $i - 1$ |
# | next token | $i + 1$ |
# | same word | other positions with the same word |
# | separator | `[CLS]` and `[SEP]` |
# | punctuation | commas, full stops |

# %% tags=["hide-input"]
TEXTS = [
    "The sailor told a story, and the story was about the sea.",
    "When the train stopped at the small station, nobody left the train, and nobody asked why.",
    "She planted a tree behind the house; years later the tree was taller than the house.",
]
found = []
for text in TEXTS:
    tokens, numbers = read(text)
    with record(encoder) as seen:
        encoder(numbers)
    found.append(head_roles.roles(seen, tokens))
for role in head_roles.ROLES:
    mean = sum(scores[role] for scores in found) / len(found)  # (6, 12)
    best = head_roles.rank(mean, most=3)
    print(
        f"{role:15}", *(f"  {h.layer}.{h.head} {h.score:.2f}" for h in best)
    )

# %% [markdown] tags=["slide", "slides-only"]
# ## Roles, found by score, not by eye

# %% tags=["fragment", "slides-only", "hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(6.5, 3.4))
for ax, role in zip(axes, ("previous token", "same word")):
    mean = sum(scores[role] for scores in found) / len(found)
    best = head_roles.rank(mean)[0]
    weights = stack(maps)[0, best.layer, best.head]
    figures.heatmap(
        ax, weights, words, words, row_label="", column_label="", high=1
    )
    ax.set_title(
        f"{role}: head {best.layer}.{best.head}, {best.score:.2f}", size=12
    )
    ax.tick_params(labelsize=11)
    plt.setp(ax.get_xticklabels(), rotation=90, ha="center", va="top")
    plt.setp(ax.get_xticklabels(), rotation_mode="default")
figures.show(
    fig,
    alt="Two attention maps of MiniLM: a line below the diagonal, and spots where the word story meets its twin.",
)

# %% [markdown] tags=["notes"]
# The previous-token head is nearly perfect, on each of three texts. Part 7 counts the heads that give at least half of their weight to [CLS] and [SEP] on each text: 21 of 72. Here it is mostly [CLS]; in BERT mostly [SEP] (Clark et al.).

# %% [markdown]
# Is the first result luck? Rank the previous-token heads on each text alone:

# %% tags=["hide-input"]
winners = [head_roles.rank(scores["previous token"])[0] for scores in found]
for text, winner in zip(TEXTS, winners):
    print(
        f"head {winner.layer}.{winner.head}, score {winner.score:.2f}: {text[:32]}…"
    )

# %% tags=["held"]
assert len({w[:2] for w in winners}) == 1, winners
assert min(w.score for w in winners) >= 0.95, winners

# %% [markdown]
# A nearly perfect previous-token head, in the very first layer, on every text. Positions must be involved, because nothing else says which word is the previous one: that is chapter 5.
#
# The *separator* row deserves a thought, too. Its best heads give at least three quarters of their attention to `[CLS]` and `[SEP]`, which carry no word at all. To which of the two?

# %% tags=["hide-input"]
parked = torch.stack([scores["separator"] for scores in found]).mean(0)
for one in head_roles.rank(parked, most=3):
    map_ = stack(maps)[0, one.layer, one.head, 1:-1]  # the first text's words
    print(
        f"head {one.layer}.{one.head}: [CLS] {map_[:, 0].mean():.2f},",
        end=" ",
    )
    print(f"[SEP] {map_[:, -1].mean():.2f}")

# %% tags=["held"]
assert all(one.score >= 0.7 for one in head_roles.rank(parked, most=3))
assert all(
    stack(maps)[0, one.layer, one.head, 1:-1, 0].mean() > 0.6
    for one in head_roles.rank(parked, most=3)
)

# %% [markdown]
# To `[CLS]`. In BERT it is mostly `[SEP]`, and [Clark et al.](https://arxiv.org/abs/1906.04341) read it as a head with nothing to do: a softmax must spend its 1 somewhere. Chapter 10 gives such heads a way to say *nothing*.
#
# Here are the maps of four winners.

# %% tags=["hide-input"]
fig, axes = plt.subplots(2, 2, figsize=(7.4, 7.6))
names = ("previous token", "next token", "same word", "punctuation")
means = {r: sum(scores[r] for scores in found) / 3 for r in head_roles.ROLES}
for ax, role in zip(axes.flat, names):
    best = head_roles.rank(means[role])[0]
    weights = stack(maps)[0, best.layer, best.head]
    image = figures.heatmap(ax, weights, words, words, high=1)
    ax.set_title(f"{role}: head {best.layer}.{best.head}", size=12)
    ax.tick_params(labelsize=9.5)
    plt.setp(ax.get_xticklabels(), rotation=90, ha="center", va="top")
    plt.setp(ax.get_xticklabels(), rotation_mode="default")
fig.colorbar(image, ax=axes, location="bottom", shrink=0.5, label="weight")
figures.show(
    fig,
    alt="Four attention maps of MiniLM: a line below the diagonal, a line above it, spots where the word story meets its twin, and a column at the full stop.",
    caption="The strongest head for each job over the three texts, shown on the first. Which of them could you have found without a score?",
)

# %% [markdown]
# ### Which heads matter?
#
# A head with a clear job is a good story. Does the model need it? Take it out and see. MiniLM's own job is sentence similarity: paraphrases should be nearer to each other than to anything else. We have two sets of 15 different pairs:

# %%
for sentence, paraphrase in CHOOSE[:3]:
    print(f"{sentence}  ~  {paraphrase}")

# %% [markdown]
# For each sentence, the **margin** is the cosine with its paraphrase minus the cosine with the best wrong candidate. Above 0 the model finds the right one among 15. (Fifteen pairs are few: read the numbers below as a first look.) We knock out each of the 72 heads in turn (its term of the sum over heads becomes 0) and measure how much of the mean
# margin is lost.

# %% tags=["hide-input", "nbval-ignore-output"]
whole = margins(CHOOSE).mean().item()
lost = torch.zeros(6, 12)
for layer in range(6):
    for head in range(12):
        with knock_out(encoder, [(layer, head)]):
            lost[layer, head] = whole - margins(CHOOSE).mean().item()
print(f"margin of the whole model: {whole:.3f}")
worst = head_roles.rank(lost, most=3)
for one in worst:
    print(
        f"without head {one.layer}.{one.head}: {one.score:.3f} less ({one.score / whole:.0%})"
    )
still, gains = lost.abs() < 0.01 * whole, lost <= -0.01 * whole  # (6, 12)
print("heads without which the margin")
print(f"changes by less than 1 %: {int(still.sum())} of 72")
print(f"grows by 1 % or more:     {int(gains.sum())} of 72")
back = winners[0]  # the previous-token head
loss_back = lost[back.layer, back.head].item()
print(
    f"without the previous-token head the margin changes by {-loss_back:+.3f}"
)

# %% tags=["held"]
assert worst[0].layer == 5, worst
assert (lost < 0.01 * whole).sum() >= 40
assert still.sum() > 36, still.sum()
assert gains.any(), lost.min()
assert loss_back / whole < 0.02, loss_back

# %% [markdown] tags=["slide", "slides-only"]
# ## A clear job is not a large effect

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
ROWS, COLUMNS = [f"{n}" for n in range(6)], [f"{h}" for h in range(12)]
jobs = [role for role in head_roles.ROLES if role != "separator"]
means = {r: sum(scores[r] for scores in found) / 3 for r in head_roles.ROLES}
clearest = torch.stack([means[role] for role in jobs]).amax(0)  # (6, 12)
fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.2))
for ax, table, title, law, high in (
    (axes[0], clearest, "score of its clearest job", "weights", 1),
    (axes[1], lost, "margin lost without it", "signed", 0.03),
):
    image = figures.heatmap(
        ax, table, ROWS, COLUMNS, title=title, row_label="layer",
        column_label="head", law=law, high=high, numbers=False,
    )  # fmt: skip
    ax.xaxis.label.set_size(12)
    ax.yaxis.label.set_size(12)
    plt.setp(ax.get_xticklabels(), rotation=0, ha="center")
    marks = [0, 0.2, 0.5, 1] if law == "weights" else [-0.02, 0, 0.02]
    fig.colorbar(image, ax=ax, location="bottom", shrink=0.8, ticks=marks)
    for one, line in ((back, "-"), (worst[0], ":")):
        corner = one.head - 0.5, one.layer - 0.5
        ax.add_patch(
            plt.Rectangle(
                corner, 1, 1, fill=False, linewidth=3, linestyle=line
            )
        )
figures.show(
    fig,
    alt="Two grids of 6 layers by 12 heads. Left, the score of each head's clearest job: head 0.2 is darkest. Right, the margin lost without it: head 0.2 is pale, and the darkest head is in layer 5.",
    caption="Solid frame: the previous-token head, whose job is clearest; without it next to nothing is lost. Dotted frame: the head without which most is lost.",
)

# %% [markdown]
# Two surprises. **Most heads can be removed, one at a time, and hardly anything happens**; without some of them the margin even grows. And the head with the clearest job of all, the previous-token head, is among them. A clear role and a large effect are different things, and only the role can be seen in a map.
#
# ### Pruning
#
# If most heads can be removed one at a time, can they be removed *together*? Remove more and more of them: the least important first, in random order, or the most important first. The order was chosen on 15 pairs, and we now measure on the **other** 15
# ([Michel et al. 2019](https://arxiv.org/abs/1905.10650) and [Voita et al. 2019](https://arxiv.org/abs/1905.09418) did it at scale).

# %% tags=["plumbing", "nbval-ignore-output"]
order = lost.flatten().argsort()  # least important first
dice = torch.Generator().manual_seed(0)
lists = {
    "least important first": [order],
    "random": [torch.randperm(72, generator=dice) for _ in range(3)],
    "most important first": [order.flip(0)],
}
REMOVED = [0, 12, 24, 36, 48, 60, 72]


def pruned(order, count):
    """The mean margin on fresh pairs without the first `count` heads."""
    with knock_out(encoder, [divmod(int(i), 12) for i in order[:count]]):
        return margins(TEST).mean().item()


curves = {
    name: [
        sum(pruned(order, n) for order in orders_) / len(orders_)
        for n in REMOVED
    ]
    for name, orders_ in lists.items()
}
print("heads removed         ", *(f"{n:5d}" for n in REMOVED))
for name, curve in curves.items():
    print(f"{name:22}", *(f"{margin:5.2f}" for margin in curve))

# %% tags=["held"]
least, most = curves["least important first"], curves["most important first"]
assert least[2] >= 0.85 * least[0], curves
assert most[2] <= 0.70 * most[0], curves
assert abs(least[-1] / least[0] - 0.25) < 0.1, curves  # no attention at all

# %% tags=["slide", "hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.6))
for (name, curve), marker in zip(curves.items(), "os^"):
    ax.plot(REMOVED, curve, marker + "-", label=name)
ax.set(
    xlabel="heads removed (of 72)",
    ylabel="mean margin, fresh pairs",
    title="Pruning heads of MiniLM",
)
ax.set_ylim(0)
ax.legend()
figures.show(
    fig,
    alt="The margin against the number of removed heads. Removing the least important first, the curve falls slowly up to two thirds of the heads; most important first, it falls at once.",
    caption="Random: the mean of three orders. Without 24 heads, well chosen, most of the margin is left. What is left at 72 comes without any attention: from the words, their positions and the layers' networks.",
)

# %% [markdown] tags=["notes"]
# The order was chosen on other sentences than those measured here. With no attention at all about a quarter of the margin is left: words, positions and the layers' networks. That is the baseline.

# %% [markdown]
# A third of the heads can go for about a tenth of the margin, if they are well chosen. And notice the right end: with *no* attention left, there is still some margin: about a quarter, from the words, their positions and the layers' networks alone. Without that baseline we would have credited attention with it.
#
# ## 6 · More features than numbers
#
# **Why care?** We asked what each head does, and answered with one job per head. That presumes that a head, or a direction inside it, stands for *one* thing. A head of MiniLM has 32 numbers for a query. If 32 numbers can hold more than 32 features, then directions are shared, and "what does this head do?" need not have one answer. This is called **superposition**.
#
# Can they? The toy model of [Elhage et al. 2022](https://arxiv.org/abs/2209.10652) is small enough to see everything. $n = 5$ features go through $m = 2$ numbers and come back:
#
# $$h = Wx, \qquad x' = \operatorname{ReLU}(W^\top h + b), \qquad \text{loss} = \sum_i I_i\,(x_i - x'_i)^2 .$$
#
# | symbol | shape | meaning |
# |---|---|---|
# | $x$ | $(5,)$ | features in $[0, 1]$; each is 0 with probability $S$, the **sparsity** |
# | $W$ | $(2, 5)$ | column $i$ is the arrow of feature $i$ |
# | $W^\top W$ | $(5, 5)$ | what feature $j$ adds to the read-out of feature $i$: the interference |
# | $I$ | $(5,)$ | importance, here $0.9^i$ |
#
# Step through one that was trained on rare features: 9 of 10 entries were 0.

# %% tags=["plumbing"]
SPARSITY = torch.tensor(
    [0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99]
)
runs = [
    superposition.train(
        features=5,
        hidden=2,
        sparsity=SPARSITY,
        importance=0.9 ** torch.arange(5.0),
        seed=number,
    )
    for number in range(3)
]
toys = runs[0]

# %% tags=["slide", "hide-input", "nbval-ignore-output"]
W, b = toys.weights[8], toys.bias[8]  # trained with 90 % zeros
ring = torch.atan2(W[1], W[0]).argsort()  # features, round the circle
ghost = [int(ring[0]), int(ring[2])]  # two with one between them


def through(*on):
    """x, h, what is read, and what comes back: columns."""
    x = torch.zeros(5)
    x[list(on)] = 1
    read_out = W.mT @ (W @ x)
    parts = x, W @ x, read_out, torch.relu(read_out + b)
    return dict(zip(("x", "h", "r", "y"), (part[:, None] for part in parts)))


begin, both = through(0), through(*ghost)
names = [f"{i + 1}" for i in range(5)]
Diagram(
    [
        Matrix("x", "x", values=begin["x"], digits=0, shape="", rows=names, at=(0, 1)),
        Matrix("W", "W: five arrows", values=W, digits=1, shape="", columns=names, at=(1, 0), law="signed", scale=1.3),
        Matrix("h", "h: two numbers", values=begin["h"], digits=1, shape="", at=(1, 1), law="signed", scale=1.3),
        Matrix("r", "read out", values=begin["r"], digits=1, shape="", at=(2, 1), law="signed", scale=1.3),
        Matrix("y", "ReLU(… + b)", values=begin["y"], digits=1, shape="", at=(3, 1), law="signed", scale=1.3),
    ],
    arrows=["x -> h -> r -> y", "W -> h"],
    steps=[
        Step("Feature 1 is on, the others are off.", lit=["x"]),
        Step("What travels is two numbers: the arrow of feature 1, its column of W.", lit=["x", "W", "h"]),
        Step("Each feature reads them with its own arrow. Feature 1 reads itself, the others read interference: some above 0, some below.", lit=["h", "r"]),
        Step("The ReLU removes what is below 0, and a bias a part of the rest. Feature 1 comes back, with a faint ghost or two.", lit=["r", "y"]),
        Step(f"Now features {ghost[0] + 1} and {ghost[1] + 1} are on, and the one between their arrows comes back instead: a ghost.", lit=["x", "y"], values=both),
    ],
    title="Five features through two numbers",
    caption="What comes back at the right should be what went in at the left.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Stop before the ReLU: what should be removed, and what should stay? The last step is the price: two features at once may show a third one.

# %% [markdown]
# A linear model would keep the two most important features and drop three (Elhage et al.). **Guess first:** how many features does this one keep, as they become rarer?

# %% tags=["hide-input", "nbval-ignore-output"]
print("share of zeros", *(f"{s:4.2f}" for s in SPARSITY))
for number, run in enumerate(runs):
    kept = (run.kept > 0.5).sum(-1)
    print(f"kept, seed {number}  ", *(f"{k:4d}" for k in kept))
kept = torch.stack([(run.kept > 0.5).sum(-1) for run in runs])  # (3, 12)

# %% tags=["held"]
assert (kept[:, 0] == 2).all(), kept
assert (kept[:, 8:] == 5).all(), kept
assert (kept.diff(dim=1) >= 0).all(), kept
assert begin["y"].argmax() == 0, begin
assert both["y"].argmax() == ring[1], both
for run in runs:
    dense, pairs, sparse = (run.weights[i] for i in (0, 5, 8))
    units = F.normalize(dense[:, dense.norm(dim=0) > 0.5], dim=0)
    assert (units[:, 0] @ units[:, 1]).abs() < 0.1, dense  # right angles
    units = F.normalize(pairs[:, pairs.norm(dim=0) > 0.5], dim=0)
    cosines = (units.mT @ units).sort().values  # (4, 4)
    assert (cosines[:, 0] < -0.95).all(), cosines  # each has its opposite
    angles = torch.atan2(sparse[1], sparse[0]).sort().values  # a pentagon
    assert (angles.diff() - 2 * math.pi / 5).abs().max() < 0.1, angles

# %% tags=["slide", "hide-input"]
Superposition(
    toys.weights,
    toys.bias,
    toys.sparsity,
    toys.importance[0],
    model=8,
    title="Five features in two numbers",
    caption="Pull the sparsity from 0 up. In the matrix blue adds and orange takes away, which the ReLU hides. Then switch on two features at a time and look for ghosts. Last, train sparse and test dense.",
)

# %% [markdown] tags=["notes"]
# At 0: two perpendicular arrows. In the middle: pairs of opposite arrows. At 90 %: a pentagon. Switch two neighbours on: both come back. Switch two on with one between them: the one between lights up, the real ones all but vanish. Why is it worth it? Because two at once are rare.

# %% [markdown]
# When all features are dense, two of them get arrows at right angles, and the other three are thrown away. As features become rarer, pairs begin to share a line in opposite directions (the ReLU hides the negative half), and at last all five form a **pentagon**. It has a price. Switch on two neighbours, and both come back. Switch on two with
# one between them: the one between lights up although it is off, and the two that are on all but vanish.

# %% tags=["plumbing", "nbval-ignore-output"]
here = torch.arange(5)


def two_on(gap):
    """Switch on each feature and the one `gap` further round.

    What comes back where it is on, where it is off, and next round.
    """
    x = torch.zeros(5, 5)
    x[here, ring] = x[here, ring.roll(-gap)] = 1
    back = superposition.reconstruct(x[None], W[None], b[None])[0]
    return back[x > 0], back[x == 0], back[here, ring.roll(-1)]


on, off, _ = two_on(gap=1)
print(f"neighbours on: at least {on.min():.1f} comes back,", end=" ")
print(f"at most {off.max():.1f} where nothing was")
apart, _, between = two_on(gap=2)
print(f"one between: at most {apart.max():.1f} comes back,", end=" ")
print(f"and at least {between.min():.1f} between them, a ghost")
dice = torch.Generator().manual_seed(0)
for zeros in (0.9, 0.0):
    some = superposition.draw((1, 4000, 5), torch.tensor([zeros]), dice)
    cost = superposition.error(some, W[None], b[None], toys.importance[8:9])
    print(f"loss on data with {zeros:.0%} zeros: {cost.item():.3f}")
    if zeros:
        sparse_cost = cost.item()

# %% tags=["held"]
assert (on > 0.8).all(), (on, off)
assert (off < 0.1).all(), (on, off)
assert (between > 0.3).all(), (between, apart)
assert (apart < 0.2).all(), (between, apart)
assert cost.item() > 10 * sparse_cost, (cost, sparse_cost)

# %% [markdown]
# When features are rare, two at once are rarer still. Dense data have all five on at once, and there the loss of the same model is more than ten times as large. Uncheck *same in the test* in the figure and see.

# %% [markdown] tags=["deeper"]
# ### A phase change
#
# Take the smallest case, two features and one number. The second feature has importance $r$ relative to the first. There are three things to do with it: drop it, give it the number to itself, or put both on one line in opposite directions. We train $11 \times 11$ models. A single start may get stuck, so each model starts 16 times and the best is kept.

# %% tags=["deeper", "plumbing", "nbval-ignore-output"]
DENSITY, RELATIVE = torch.logspace(0, -2, 11), torch.logspace(-1, 1, 11)
importance = torch.stack([torch.ones(121), RELATIVE.repeat(11)], dim=-1)
small = superposition.train(
    features=2,
    hidden=1,
    sparsity=1 - DENSITY.repeat_interleave(11),
    importance=importance,
    steps=1000,
    batch=128,
    restarts=16,
)
sizes = small.weights[:, 0].abs().unflatten(0, (11, 11))  # (density, r, 2)
phase = (sizes > 0.5).long() @ torch.tensor([1, 2])
WORDS = ["none", "first only", "second only", "both"]
for row in (0, 5):
    print(f"density {DENSITY[row]:.1f}, r = {RELATIVE[3]:.1f}: ", end="")
    print(WORDS[phase[row, 3]])

# %% tags=["deeper", "held"]
assert (phase[0, :5] == 1).all()
assert (phase[0, 6:] == 2).all()
assert (phase[5:] == 3).float().mean() >= 0.97  # density 0.1 or less: both
faint = torch.cat([sizes[:, :5], sizes[:, 6:]], dim=1).amin(-1)  # r ≠ 1
clear = (faint < 0.1) | (faint > 0.6)  # all or nothing
assert clear.float().mean() >= 0.97

# %% tags=["deeper", "hide-input"]
fig, ax = plt.subplots(figsize=(6.4, 4.2))
hues = [figures.COLOURS[name] for name in ("black", "blue", "orange", "sky")]
ax.imshow(phase, cmap=ListedColormap(hues), vmin=0, vmax=3, aspect="auto")
for (i, j), value in zip(
    torch.cartesian_prod(torch.arange(11), torch.arange(11)).tolist(),
    phase.flatten().tolist(),
):
    ax.text(
        j,
        i,
        "·12±"[value],
        ha="center",
        va="center",
        color="white" if value < 2 else "black",
    )
ax.set_xticks(range(0, 11, 5), ["0.1", "1", "10"])
ax.set_yticks(range(0, 11, 5), ["1", "0.1", "0.01"])
ax.set(
    xlabel="importance of the second feature",
    ylabel="density 1 − S",
    title="1: first only, 2: second only, ±: both on one line",
)
figures.show(
    fig,
    alt="A map over importance and density. At the top, dense, the more important feature alone is kept; further down both share one number: first where they matter equally, then, from a density of about 0.16 on, at every importance.",
    caption="The border is sharp: a small change of density, and the model changes what it does altogether. That is why it is called a phase change. (At the top, in the middle, both matter equally: a toss-up.)",
)

# %% [markdown] tags=["deeper"]
# The change is sudden. Above the border the less important feature does not exist for the model: its arrow is shorter than 0.1. Just below the border it is longer than 0.6, with hardly anything in between.

# %% [markdown]
# ## 7 · Misconceptions
#
# ### "Each head has a meaning"
#
# You may read that a head *is* the subject head, or the pronoun head. Is there a name for every head? Call a head *specialised* if one of our five jobs takes at least half of its attention on **each** of the three texts.

# %% tags=["hide-input"]
least = {
    role: torch.stack([scores[role] for scores in found]).amin(0)  # (6, 12)
    for role in head_roles.ROLES
}
resting = least["separator"] >= 0.5
working = [r for r in head_roles.ROLES if r != "separator"]
special = torch.stack([least[r] for r in working]).amax(0) >= 0.5
print("heads that rest on [CLS] and [SEP]:", int(resting.sum()), "of 72")
print("heads with one of the other jobs:  ", int(special.sum()), "of 72")
print(
    "heads with no job of ours:         ",
    int((~resting & ~special).sum()),
    "of 72",
)

# %% [markdown] tags=["slide", "slides-only"]
# ## “Each head has a meaning”

# %% tags=["fragment", "hide-input"]
letter = {
    "previous token": "P",
    "next token": "N",
    "same word": "S",
    "punctuation": ".",
}
kind = resting.long() + 2 * special.long()  # 0 nameless, 1 rests, 2 has a job
fig, ax = plt.subplots(figsize=(7.4, 3.6))
figures.heatmap(
    ax, kind, ROWS, COLUMNS, row_label="layer", column_label="head",
    law="amounts", low=0, high=2, numbers=False,
)  # fmt: skip
for layer, head in torch.cartesian_prod(
    torch.arange(6), torch.arange(12)
).tolist():
    job = max(working, key=lambda role: least[role][layer, head])
    text = {0: "", 1: "r", 2: letter[job]}[int(kind[layer, head])]
    ink = "white" if kind[layer, head] == 2 else "black"
    ax.text(head, layer, text, ha="center", va="center", color=ink, size=13)
ax.set_title(
    f"{int(special.sum())} with a job, {int(resting.sum())} rest (r), {int((kind == 0).sum())} without a name"
)
figures.show(
    fig,
    alt="A grid of 6 layers by 12 heads. Three have a letter for their job, 21 have an r for resting on the special tokens, and 48 are empty.",
    caption="P: previous token, N: next token, full stop: punctuation, r: rests on [CLS] and [SEP]. At least half of its attention, on each of three texts. No head gives that much to the same word.",
)

# %% [markdown] tags=["notes"]
# Three have a name. Most do something we have no name for. The next cell of the notebook knocks out each kind as a whole.

# %% tags=["held"]
assert special.sum() <= 8
assert (least["same word"] < 0.5).all(), least["same word"].max()
assert (~resting & ~special).sum() > 36

# %% [markdown]
# Are the nameless ones idle? Knock out each kind as a whole and measure the margin on the fresh pairs:

# %% tags=["nbval-ignore-output"]
nameless = ~resting & ~special
left = {}
for name, mask in (
    ("none", torch.zeros(6, 12, dtype=torch.bool)),
    ("resting", resting),
    ("named", special),
    ("nameless", nameless),
):
    with knock_out(encoder, mask.nonzero().tolist()):
        left[name] = margins(TEST).mean().item()
    print(f"{int(mask.sum()):2d} heads gone, {name:8}: {left[name]:.3f}")
print(f"48 heads gone, at random: {curves['random'][4]:.3f}")
for name, mask in (("named", special), ("nameless", nameless)):
    each = (left["none"] - left[name]) / int(mask.sum())
    print(f"lost for each {name} head: {each:.4f}")

# %% tags=["held"]
assert left["resting"] >= 0.9 * left["none"], left
assert left["nameless"] <= 0.5 * left["none"], left
assert left["nameless"] < curves["random"][4], (left, curves)
lost_each = [
    (left["none"] - left[name]) / int(mask.sum())
    for name, mask in (("named", special), ("nameless", nameless))
]
assert 0.6 < lost_each[0] / lost_each[1] < 1.6, lost_each

# %% [markdown]
# Three have a name, some rest, and **most do nothing that we have a name for**. They are not idle: without them the model loses more than half of its margin, more than without 48 heads drawn at random. Without the resting heads it loses next to nothing. Per head, losing a named one costs about as much as losing a nameless one. (Three heads are few, and heads knocked out together need not add up.) A name says that we can describe a head, not that it matters more.
#
# ### "More heads cost more"
#
# The four matrices are $(E, E)$ for any $H$, and part 4 counted the same products. (Time is another matter, as the clock showed.) What more heads do cost is *width per head*. The table of scores is a product of two matrices with $D$ columns, so its rank is $D$ at most. With $D = 1$ a head can only multiply single numbers ([Bhojanapalli et al. 2020](https://arxiv.org/abs/2002.07028)):

# %%
seed(0)
for heads in (2, 16, 64):
    q, k = torch.randn(2, 64, 64 // heads)  # 64 tokens, one of the heads
    rank = torch.linalg.matrix_rank(q @ k.mT).item()
    print(
        f"{heads:2d} heads of width {64 // heads:2d}: rank of scores {rank}"
    )

# %% [markdown]
# ## 8 · Exercises
#
# Six exercises, from ★ to ★★★. `check` says in words what is wrong. Open the hints one at a time. A seventh is in the GPU notebook.

# %% [markdown] tags=["exercise"] exercise="04.1"
# ### Exercise 4.1 ★ · Find the bug (10 min)
#
# This function cuts a width into heads. It has run in a model for weeks, without an error:
#
# ```python
# def my_split(x, heads):
#     """(B, L, E) -> (B, heads, L, E / heads)"""
#     B, L, E = x.shape
#     return x.reshape(B, heads, L, E // heads)
# ```
#
# Write it without the bug, for any number of leading axes, also none: $(\dots, L, E) \to (\dots, \text{heads}, L, D)$ with $D = E/\text{heads}$. Head $i$ gets columns $iD$ to $(i+1)D - 1$ of **every** token.


# %% tags=["stub"] exercise="04.1"
def my_split(x, heads):
    """(..., L, E) -> (..., heads, L, E / heads)"""
    blocks = ...  # (..., L, heads, D)
    return ...


# %% [markdown] tags=["hint"] exercise="04.1"
# Feed it `torch.arange(12).reshape(1, 2, 6)` and read head 0: which tokens are in it? Two steps are needed: first cut the last axis into two, then move one of them. `x.unflatten(-1, (a, b))` cuts; which of the two comes first, heads or $D$?

# %% [markdown] tags=["hint"] exercise="04.1"
# After the cut you have $(\dots, L, \text{heads}, D)$. `transpose` swaps two axes. Count them from the back, so that any number of leading axes will do.


# %% tags=["solution"] exercise="04.1"
def my_split(x, heads):
    """(..., L, E) -> (..., heads, L, E / heads)"""
    blocks = x.unflatten(-1, (heads, -1))  # (..., L, heads, D)
    return blocks.transpose(-3, -2)


# %% tags=["check"] exercise="04.1"
check("04.1", my_split)

# %% [markdown] tags=["exercise"] exercise="04.2"
# ### Exercise 4.2 ★★ · Build the sum over heads (15 min)
#
# Build what the figure *Wᴼ as a sum over heads* shows: `my_multi_head(x, w_q, w_k, w_v, w_o, heads)` goes through the heads one by one. Each takes its own $D$ columns of `w_q`, `w_k`, `w_v`, attends, and sends its result through its own $D$ **rows** of `w_o`; the results are added up. Nothing is put side by side. $x$ has shape $(\dots, L, E)$, the matrices $(E, E)$, used as `x @ w`. No mask, no bias. (Any other way to the same numbers passes as well.)


# %% tags=["stub"] exercise="04.2"
def my_multi_head(x, w_q, w_k, w_v, w_o, heads):
    """(..., L, E) -> (..., L, E)"""
    width = ...  # of one head
    total = 0
    for h in range(heads):
        mine = slice(h * width, (h + 1) * width)  # the columns of head h
        q = ...  # (..., L, D)
        k = ...
        v = ...
        out = ...  # (..., L, D)
        total = total + ...  # (..., L, E)
    return total


# %% [markdown] tags=["hint"] exercise="04.2"
# `x @ w_q[:, mine]` is the query of head $h$, shape $(\dots, L, D)$. Then the attention of chapter 3, letter for letter: it does not care about leading axes.

# %% [markdown] tags=["hint"] exercise="04.2"
# Which width goes under the root? A dot product inside a head is a sum of $D$ terms.

# %% [markdown] tags=["hint"] exercise="04.2"
# Columns of $W_q$ say what a head reads, rows of $W^O$ where it writes: `out @ w_o[mine]` has shape $(\dots, L, E)$.


# %% tags=["solution"] exercise="04.2"
def my_multi_head(x, w_q, w_k, w_v, w_o, heads):
    """(..., L, E) -> (..., L, E)"""
    width = x.shape[-1] // heads  # of one head
    total = 0
    for h in range(heads):
        mine = slice(h * width, (h + 1) * width)  # the columns of head h
        q, k, v = x @ w_q[:, mine], x @ w_k[:, mine], x @ w_v[:, mine]
        scores = q @ k.transpose(-2, -1) / math.sqrt(width)
        out = scores.softmax(dim=-1) @ v  # (..., L, D)
        total = total + out @ w_o[mine]  # (..., L, E)
    return total


# %% tags=["check"] exercise="04.2"
check("04.2", my_multi_head)

# %% [markdown] tags=["exercise"] exercise="04.3"
# ### Exercise 4.3 ★ · Find the previous-token head (10 min)
#
# Write `previous_token_score(attention)` for maps of shape $(\dots, L, L)$: how much attention a token gives to the one directly before it, averaged over all tokens that have one. The result has shape $(\dots)$. There are no special tokens here.


# %% tags=["stub"] exercise="04.3"
def previous_token_score(attention):
    """(..., L, L) -> (...)"""
    weights = ...  # (..., L - 1): attention[..., i, i - 1]
    return ...


# %% [markdown] tags=["hint"] exercise="04.3"
# Row $i$ is the query, column $j$ the key. Where in the table are the entries $(1, 0), (2, 1), (3, 2) \dots$?

# %% [markdown] tags=["hint"] exercise="04.3"
# On the diagonal below the main one. `torch.diagonal` takes an `offset`, and says which two axes with `dim1` and `dim2`.


# %% tags=["solution"] exercise="04.3"
def previous_token_score(attention):
    """(..., L, L) -> (...)"""
    weights = attention.diagonal(offset=-1, dim1=-2, dim2=-1)
    return weights.mean(dim=-1)


# %% tags=["check"] exercise="04.3"
check("04.3", previous_token_score)

# %% [markdown] tags=["exercise"] exercise="04.4"
# ### Exercise 4.4 ★★ · Knock a head out (10 min)
#
# Just before $W^O$ the heads lie side by side in `merged`, shape $(\dots, L, E)$. Write `my_knock_out(merged, heads, gone)`: the blocks of the heads in the list `gone` become 0, everything else stays. Leave `merged` itself as it is. The list may be empty.


# %% tags=["stub"] exercise="04.4"
def my_knock_out(merged, heads, gone):
    """(..., L, E) -> (..., L, E), silent where head is in gone"""
    out = ...
    width = ...  # of one head
    for head in gone:
        first = head * ...  # its first column
        out[..., first : first + width] = 0
    return out


# %% [markdown] tags=["hint"] exercise="04.4"
# Which columns belong to head 2 when $E = 12$ and there are 4 heads? Write them down.

# %% [markdown] tags=["hint"] exercise="04.4"
# Columns 6, 7, 8: from `head * D` up to `(head + 1) * D`. Work on `merged.clone()`.


# %% tags=["solution"] exercise="04.4"
def my_knock_out(merged, heads, gone):
    """(..., L, E) -> (..., L, E), silent where head is in gone"""
    out = merged.clone()
    width = merged.shape[-1] // heads  # of one head
    for head in gone:
        first = head * width  # its first column
        out[..., first : first + width] = 0
    return out


# %% tags=["check"] exercise="04.4"
check("04.4", my_knock_out)

# %% [markdown] tags=["exercise"] exercise="04.5"
# ### Exercise 4.5 ★★★ · Room for one more feature (15 min)
#
# Be the toy model. Write `arrows(n)`: it returns $n$ arrows of length 1 in the plane as the columns of a $(2, n)$ tensor, such that the **largest cosine between two different arrows is as small as possible**. Many answers are right. Then ask yourself why the largest cosine counts, and not the
# largest absolute value: what does the ReLU do with a cosine of $-1$?


# %% tags=["stub"] exercise="04.5"
def arrows(n):
    """n unit arrows with as little interference as possible: (2, n)."""
    angles = ...  # (n,)
    return ...


# %% [markdown] tags=["hint"] exercise="04.5"
# Two arrows: opposite, cosine −1. Three: a three-pointed star, cosine −0.5. What did the toy model make of five?

# %% [markdown] tags=["hint"] exercise="04.5"
# A regular polygon: $n$ equal gaps on the full circle. `torch.arange(n)` times which angle? (With `linspace(0, 2π, n)` the first and the last arrow are the same.)


# %% tags=["solution"] exercise="04.5"
def arrows(n):
    """n unit arrows with as little interference as possible: (2, n)."""
    angles = torch.arange(n) * (2 * math.pi / n)  # (n,)
    return torch.stack([angles.cos(), angles.sin()])


# %% tags=["check"] exercise="04.5"
check("04.5", arrows)

# %% [markdown] tags=["exercise"] exercise="04.6"
# ### Exercise 4.6 ★ · Predict, then run (5 min)
#
# A layer has its number of heads **doubled**, at the same width $E$. By what factor does each of these change? `times(what)` returns 0.5, 1, 2 or 4 for `what` one of `"parameters"`, `"products"` (multiplications in all matrix products), `"weights"` (numbers in all tables of weights) and `"head width"`. Predict first; the checker builds both layers and counts.


# %% tags=["stub"] exercise="04.6"
def times(what):
    """The factor by which `what` changes when the heads are doubled."""
    return {
        "parameters": ...,
        "products": ...,
        "weights": ...,
        "head width": ...,
    }[what]


# %% [markdown] tags=["hint"] exercise="04.6"
# $W_q$, $W_k$, $W_v$ and $W^O$ have shape $(E, E)$. Is there an $H$ in it?

# %% [markdown] tags=["hint"] exercise="04.6"
# Every head has a table of weights of its own, $(L, L)$, and each entry of it is a sum of $D = E/H$ products.


# %% tags=["solution"] exercise="04.6"
def times(what):
    """The factor by which `what` changes when the heads are doubled."""
    return {"parameters": 1, "products": 1, "weights": 2, "head width": 0.5}[
        what
    ]


# %% tags=["check"] exercise="04.6"
check("04.6", times)

# %% [markdown]
# ### GPU exercise · How many heads?
#
# One more exercise has a notebook of its own: [heads at equal width](gpu_04_heads.ipynb). It measures the time and memory of 1 to 64 heads on your device, and trains clerks who get orders of four films.

# %% [markdown] tags=["slide"]
# ## 9 · Takeaways
#
# 1. **One softmax is one convex mixture.** With a linear reader, two things asked for at once need two rows of weights: two heads.
# 2. **Heads are blocks of the width**, $D = E/H$. Cut, attend, paste, and $W^O$ adds up what they write.
# 3. **They cost no extra parameters and no extra products**, for any $H$. What multiplies is the tables: the explicit version pays for them in memory and time.
# 4. **A visible role is not importance.** The clearest head of MiniLM can go; a third of its heads can go together for a tenth of the margin, if chosen well.
# 5. **A layer can keep more features than numbers** when features are rare: the toy model does. So a direction need not have one meaning.

# %% [markdown]
# ### Shapes and costs
#
# One layer, $L$ tokens, width $E$, $H$ heads of width $D = E/H$:
#
# | | shape | parameters | operations in products |
# |---|---|---|---|
# | $W_q$, $W_k$, $W_v$ | $(E, E)$ each | $3E^2$ | $6LE^2$ |
# | $Q$, $K$, $V$, cut | $(H, L, D)$ each | | |
# | scores, weights | $(H, L, L)$ | 0 | $2L^2E$ |
# | heads | $(H, L, D)$ | 0 | $2L^2E$ |
# | $W^O$ | $(E, E)$ | $E^2$ | $2LE^2$ |
# | together | | $4E^2$, for any $H$ | $8LE^2 + 4L^2E$, for any $H$ |
# | memory of the tables | $HL^2$ numbers: this grows with $H$, and the softmax over them | | |
#
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "Width 512, 8 heads. What shape do the attention weights of one text with 20 tokens have?",
            "choices": [
                {
                    "text": "(8, 20, 20)",
                    "correct": True,
                    "why": "Each head has a whole table of its own, queries × keys.",
                },
                {
                    "text": "(8, 20, 64)",
                    "why": "That is the output of the heads: 20 tokens of width 64 each.",
                },
                {
                    "text": "(20, 20)",
                    "why": "That would be one head. Eight heads have eight tables.",
                },
                {
                    "text": "(20, 8, 8)",
                    "why": "Heads do not attend to each other. Inside each, tokens attend to tokens.",
                },
            ],
        },
        {
            "question": "Why did the clerk with one head get about a quarter of the orders right?",
            "choices": [
                {
                    "text": "It was too small",
                    "why": "Twice the width changed nothing, and the proof holds for any width.",
                },
                {
                    "text": "It says the shelf of one film twice",
                    "correct": True,
                    "why": "One row of weights can prefer one film only, if by a hair. Its shelf is right for both when they share it: 1 time in 4.",
                },
                {
                    "text": "It guesses the second film",
                    "why": "It does not throw dice. Both answers are the same shelf, in nearly every order.",
                },
                {
                    "text": "It was trained too briefly",
                    "why": "With the same steps two heads get everything right, and the proof does not mention training.",
                },
            ],
        },
        {
            "question": "You go from 8 to 16 heads and keep the width. What doubles?",
            "choices": [
                {
                    "text": "The number of parameters",
                    "why": "The matrices stay (E, E).",
                },
                {
                    "text": "The number of operations",
                    "why": "Twice as many heads, each half as wide: the same products.",
                },
                {
                    "text": "The number of attention tables",
                    "correct": True,
                    "why": "16 tables of (L, L) instead of 8. That is memory, and time for the softmax.",
                },
            ],
        },
        {
            "question": "`x` is (2, 10, 512). What is wrong with `x.reshape(2, 8, 10, 64)`?",
            "choices": [
                {
                    "text": "It raises an error",
                    "why": "The number of entries fits, so it runs. That is what makes the bug so easy to miss.",
                },
                {
                    "text": "It mixes tokens: head 0 gets token 0 and a quarter of token 1, instead of its slice of all ten",
                    "correct": True,
                    "why": "reshape never moves anything. Cut the last axis first, then swap heads and tokens.",
                },
                {
                    "text": "Nothing",
                    "why": "The shape is right and the numbers are not: compare them with rearrange.",
                },
            ],
        },
        {
            "question": "A head attends to the previous token with a score of 0.99. What do you know about its importance?",
            "choices": [
                {
                    "text": "It is important: it is so clear",
                    "why": "Ours was as clear as can be, and knocking it out cost next to nothing.",
                },
                {
                    "text": "Nothing yet: knock it out and measure",
                    "correct": True,
                    "why": "A map shows what a head attends to, not what the model does with it.",
                },
                {
                    "text": "It is useless: it ignores meaning",
                    "why": "It may be a part of something larger. Only an experiment tells.",
                },
            ],
        },
        {
            "question": "In the toy model, when do five features fit into two numbers?",
            "choices": [
                {
                    "text": "When all of them are equally important",
                    "why": "With dense features only two were kept, though the importances differ little (1, 0.9, 0.81 …).",
                },
                {
                    "text": "When they are rarely on at the same time",
                    "correct": True,
                    "why": "Interference hurts most when two arrows are on at once. Of one alone, a ReLU with a bias hides all but faint ghosts.",
                },
                {
                    "text": "Never: two numbers hold two features",
                    "why": "That is true of a linear model. The ReLU makes the difference.",
                },
            ],
        },
        {
            "question": "What is true of $W^O$? (Several are right.)",
            "choices": [
                {
                    "text": "It lets every head write into the whole width",
                    "correct": True,
                    "why": "Cut into blocks of rows, it turns the concatenation into a sum over heads.",
                },
                {
                    "text": "It decides what the heads attend to",
                    "why": "That is settled before, by W_q and W_k.",
                },
                {
                    "text": "Without it, head 1 could never write where head 0 writes",
                    "correct": True,
                    "why": "Side by side, each head owns its own columns.",
                },
            ],
        },
    ],
    title="Self-test: multi-head attention",
    key="04",
)

# %% [markdown]
# ### References
#
# - A. Vaswani and others (2017), [Attention Is All You Need](https://arxiv.org/abs/1706.03762): section 3.2.2, and the row on the number of heads in table 3.
# - J. Vig (2019), [A Multiscale Visualization of Attention](https://arxiv.org/abs/1906.05714): bertviz.
# - K. Clark and others (2019), [What Does BERT Look At?](https://arxiv.org/abs/1906.04341): roles of heads, found by measuring.
# - P. Michel, O. Levy, G. Neubig (2019), [Are Sixteen Heads Really Better than One?](https://arxiv.org/abs/1905.10650), and E. Voita and others (2019), [Analyzing Multi-Head Self-Attention](https://arxiv.org/abs/1905.09418): pruning.
# - N. Elhage and others (2021), [A Mathematical Framework for Transformer Circuits](https://transformer-circuits.pub/2021/framework/index.html): heads as a sum.
# - N. Elhage and others (2022), [Toy Models of Superposition](https://arxiv.org/abs/2209.10652).
# - S. Bhojanapalli and others (2020), [Low-Rank Bottleneck in Multi-head Attention Models](https://arxiv.org/abs/2002.07028): too many heads of too little width.
#
# **Next:** head 0.2 knows which word came before, and nothing in this chapter says how. Chapter 5 does.
