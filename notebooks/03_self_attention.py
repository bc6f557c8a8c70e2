# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 3
#     title: Self-attention
#     minutes: 120
#     summary: Throw the RNN away and let every word look at every other word. Queries, keys, values, √d and masks, built by hand, measured, and tried on a real encoder.
# ---

# %% [markdown]
# # 3 · Self-attention
#
# Chapter 2 let a decoder look back at the words of a sentence, but the words were still read one after the other, by an RNN. Take the RNN away: **every word looks at every other word, directly, in one step**.
#
# **Question:** *dog bites man*. How can *bites* find out who bites? Step through the picture; the row to watch is the second one.

# %% tags=["setup"]
import math
from itertools import repeat

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attnlab import figures, masks, palette
from attnlab.attention import attention, weights
from attnlab.checks import check
from attnlab.device import seconds
from attnlab.layers import split
from attnlab.models.published import minilm, read
from attnlab.record import record, stack
from attnlab.reproducible import seed
from attnlab.training import Descent, fit
from attnlab.widgets import (
    AttentionHeatmap,
    AttentionWorkbench,
    PathLength,
    Quiz,
    ScaleHistogram,
    SoftmaxTemperature,
)
from attnlab.widgets.diagram import Arrow, Diagram, Matrix, Op, Step

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown] tags=["slide", "slides-only"]
# # Self-attention
#
# attnlab · chapter 3
#
# Every word looks at every other word, directly, in one step.

# %% [markdown] tags=["notes"]
# 45 minutes. Four acts: why (8 min), the mechanism by hand and live (15 min), √d and masks (10 min), real sentences and cost (10 min). Two
# minutes for the quiz at the end. All figures are live: drag them while you talk.

# %% tags=["slide", "hide-input"]
words = ["dog", "bites", "man"]
x = torch.tensor([[1.0, 0, -1], [0, 1, 0], [1, 0, 1]])  # noun? verb? position
ask = torch.tensor([[0.0, 2, 0], [2, 0, -2], [0, 0, 0]])
q, k, v = x @ ask, x, x @ torch.tensor([[0.5, 0.5], [0, 0], [-0.5, 0.5]])
s = q @ k.T / math.sqrt(3)
three = "#step-3-three-matrices-three-jobs"  # each part leads to its section
Diagram(
    [
        Matrix(
            "X", values=x, rows=words, at=(0, 0), link="#one-word-one-vector"
        ),
        Matrix("Q", values=q, at=(1, 0), colour="query", link=three),
        Matrix("K", values=k, at=(1, 1), colour="key", link=three),
        Matrix("V", values=v, at=(3, 1), colour="value", link=three),
        Matrix("S", "scores", values=s, digits=1, at=(2, 0), link="#why-d"),
        Matrix(
            "A",
            "weights",
            values=s.softmax(-1),
            at=(3, 0),
            link="#a-catalogue-with-a-soft-look-up",
        ),
        Matrix("O", values=s.softmax(-1) @ v, at=(4, 0), link="#four-lines"),
    ],
    arrows=[
        "X -> Q: ask",
        "X -> K: be found",
        Arrow("X", "V", "hand over", via=("below", "right")),
        "Q -> S",
        "K -> S",
        "S -> A",
        "A -> O",
        "V -> O",
    ],
    steps=[
        Step(
            "One row per word: is it a noun, is it a verb, where does it stand?",
            lit=["X"],
        ),
        Step(
            "A query says what a word looks for. bites asks for a noun (2) that stands first (−2).",
            lit=["X", "Q"],
        ),
        Step(
            "A key says how a word can be found. Here it is the word's own description.",
            lit=["X", "K"],
        ),
        Step(
            "Each query meets each key: row bites, column dog is the largest score.",
            lit=["Q", "K", "S"],
        ),
        Step(
            "A softmax turns each row of scores into shares that add up to 1.",
            lit=["S", "A"],
        ),
        Step(
            "A value is what a word hands over: (1, 0) for the first noun, (0, 1) for the last.",
            lit=["X", "V"],
        ),
        Step(
            "Each word mixes the values by its shares: bites receives mostly what dog handed over.",
            lit=["A", "V", "O"],
        ),
    ],
    title="Self-attention in one look",
    caption="Queries, keys and values are three views of the same words. The numbers are those of part 2, where one word's vectors are first drawn as arrows.",
)

# %% [markdown] tags=["notes"]
# Step through it, and stop at the scores: who has the largest one in the row of *bites*, and why? Part 2 derives every matrix.

# %% [markdown]
# At the end you can
#
# - write self-attention in four lines, and say why each line is there;
# - explain queries, keys and values without saying "magic", and why the scores are divided by √d;
# - hide the future with a mask, and catch a mask that leaks;
# - say what self-attention costs, and when an RNN or a convolution is cheaper.

# %% [markdown]
# ## 1 · The question
#
# Two things went wrong before this chapter, and both can be measured.
#
# ### One word, one vector
#
# *I sat on the bank of the river.* *I took money to the bank.* An embedding table has one row per word, so the word
# enters the network as the same vector in every sentence. Here is the table of a real encoder, all-MiniLM-L6-v2
# ([Reimers & Gurevych 2019](https://arxiv.org/abs/1908.10084); distilled as in [Wang et al. 2020](https://arxiv.org/abs/2002.10957)).
#
# **Guess first:** what is the cosine between the two vectors of *bank*?

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## Two banks, one vector
#
# - I sat on the **bank** of the river.
# - I took money to the **bank**.
#
# An embedding table has one row per word. How far apart are the two vectors of *bank*?

# %% tags=["plumbing"]
tokenizer, encoder = minilm()
table = encoder.words.weight  # (30522 words, 384)


def word_vector(sentence, word):
    """The row of the table with which `word` enters the encoder: (384,)."""
    tokens, numbers = read(sentence)
    return table[numbers[0, tokens.index(word)]]


river = word_vector("I sat on the bank of the river.", "bank")
money = word_vector("I took money to the bank.", "bank")
print(f"cosine: {F.cosine_similarity(river, money, dim=0):.4f}")

# %% tags=["fragment", "slides-only", "hide-input"]
print(f"cosine: {F.cosine_similarity(river, money, dim=0):.4f}")

# %% [markdown] tags=["notes"]
# Let the room guess the cosine. Exactly 1: it is the same row of the same table. So the meaning must come from the other words.

# %% [markdown]
# Exactly 1. Which *bank* is meant does not show in this vector. It shows in the words around it, so the words must talk to each other.
#
# ### A memory that is one vector
#
# An RNN does let words talk: its state walks through the sentence and carries along what it has seen. Let us see how much it can carry.
#
# A video shop writes down where its films are. The note `F2` says that film F is on shelf 2. After all the notes come
# the questions: `F?` asks for the shelf of F. There are 12 titles and 4 shelves.

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## A video shop
#
# `F2` is a note: film F is on shelf 2. After the notes come the questions: `F?` asks for the shelf of F.
#
# 12 titles, 4 shelves. What are the answers on this tape?

# %% tags=["plumbing"]
TITLES, SHELVES = 12, 4
ASK = SHELVES  # stands in a question where a note has its shelf


def tapes(batch, films):
    """Notes about `films` films, then the questions, in another order."""
    shuffled = torch.rand(batch, TITLES).argsort(dim=-1)
    titles = shuffled[:, :films]  # (B, films), no title twice
    shelves = torch.randint(SHELVES, (batch, films))
    order = torch.rand(batch, films).argsort(dim=-1)
    answers = shelves.gather(1, order)  # (B, films)
    distance = films + torch.arange(films) - order  # note to question
    asked = titles.gather(1, order)
    blank = torch.full_like(shelves, ASK)
    titles = torch.cat([titles, asked], dim=1)  # (B, 2·films)
    shelves = torch.cat([shelves, blank], dim=1)  # (B, 2·films)
    return titles, shelves, answers, distance


def spell(titles, shelves):
    """One tape as a reader sees it: ["F2", "A0", …, "F?"]."""
    pairs = zip(titles[0].tolist(), shelves[0].tolist())
    return ["ABCDEFGHIJKL"[t] + "0123?"[s] for t, s in pairs]


seed(0)
titles, shelves, answers, _ = tapes(1, films=5)
print(*spell(titles, shelves), "  answers:", *answers[0].tolist())

# %% tags=["fragment", "slides-only", "hide-input"]
print(*spell(titles, shelves))

# %% [markdown] tags=["notes"]
# Let the room answer the tape aloud. Ask: where did your eyes go? Straight back to the note. That is the whole chapter.

# %% [markdown]
# You answer such questions by looking back: your eye jumps from `C?` to the note that begins with C. An RNN cannot jump. When the
# questions come, all notes must already sit in its state, a vector of fixed size.
#
# The reader below embeds each token (title plus shelf), hands the sequence to a *mixer*, and reads an answer from every
# position. The mixer is the only part that lets tokens talk. Today it is the GRU of chapter 1.


# %% [markdown]
# **Guess first:** the GRU has a state of 48 numbers and about 15 thousand parameters. It sees 77 thousand tapes. Out of 12 films, how many does it remember?


# %% tags=["plumbing", "nbval-ignore-output"]
class Reader(nn.Module):
    """Embed the tokens, mix them, answer at every position."""

    def __init__(self, width, mixer):
        super().__init__()
        self.title = nn.Embedding(TITLES, width)
        self.shelf = nn.Embedding(SHELVES + 1, width)
        self.mixer = mixer
        self.answer = nn.Linear(width, SHELVES)

    def forward(self, titles, shelves):
        x = self.title(titles) + self.shelf(shelves)  # (B, L, E)
        return self.answer(self.mixer(x))  # (B, L, SHELVES)


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0]  # the state after each token


BATCH = 128  # tapes per step


def stream(films, batch):
    """Tapes without end; each batch of 2 to 12 films, unless said."""
    while True:
        yield tapes(batch, films or int(torch.randint(2, TITLES + 1, ())))


def train(model, steps, rate, films=None, batch=BATCH, start=0):
    """The loss counts the questions only. Returns the loss of each step."""

    def loss(tape):
        titles, shelves, answers, _ = tape
        guesses = model(titles, shelves)[:, answers.shape[1] :]
        return F.cross_entropy(guesses.flatten(0, 1), answers.flatten())

    how = {"descent": Descent(lr=rate), "loss": loss, "listeners": ()}
    tapes_ = stream(films, batch)
    return fit(model, tapes_, steps=steps, seed=start, **how).losses


@torch.no_grad()
def right_answers(model, films, batch=1000):
    """Fresh tapes: was each answer right, and how far away was its note?"""
    titles, shelves, answers, distance = tapes(batch, films)
    guesses = model(titles, shelves)[:, films:].argmax(-1)  # (B, films)
    return (guesses == answers).float(), distance


def curve(model):
    """The share of right answers for each number of films."""
    return [right_answers(model, films)[0].mean().item() for films in SIZES]


SIZES = [2, 4, 6, 8, 10, 12]
STEPS = 600
seed(0)
gru = Reader(48, Recurrent(48))
train(gru, STEPS, rate=1e-2)
gru_curve = curve(gru)
print(f"{sum(p.numel() for p in gru.parameters()):,} parameters")
print(
    f"right answers: {gru_curve[0]:.1f} with 2 films, {gru_curve[-1]:.1f} with 12"
)

# %% [markdown] tags=["slide", "slides-only"]
# ## How many films does a GRU remember?
#
# 48 numbers of state, 15 thousand parameters, 77 thousand tapes. Guess: out of 12?


# %% tags=["fragment", "hide-input"]
def commonest(films, batch=1000):
    """How often a tape's most frequent shelf is the right answer."""
    _, shelves, answers, _ = tapes(batch, films)
    counts = F.one_hot(shelves[:, :films], SHELVES).sum(dim=1)
    favourite = counts.argmax(-1)  # (B,)
    return (favourite[:, None] == answers).float().mean().item()


lazy_curve = [commonest(films) for films in SIZES]
fig, ax = plt.subplots(figsize=(8, 3.1))
ax.plot(SIZES, gru_curve, "s-", color=palette.colour("GRU"), label="GRU")
ax.plot(SIZES, lazy_curve, ":", color="grey", label="commonest shelf")
ax.set(
    xlabel="films on the tape",
    ylabel="right answers",
    ylim=(0, 1.05),
    xticks=SIZES,
)
ax.legend(loc="lower left")
figures.show(
    fig,
    alt="Right answers of the GRU against the number of films: nearly all with two films, "
    "falling steadily to less than two thirds with twelve, above the lazy answer everywhere.",
    caption="The more films, the worse the GRU. The dotted line always says the tape's commonest shelf.",
)

# %% tags=["held"]
assert gru_curve[0] >= 0.9
assert 0.5 <= gru_curve[-1] <= 2 / 3
assert all(gru_curve[i + 1] <= gru_curve[i] + 0.02 for i in range(5))
assert all(g > lazy for g, lazy in zip(gru_curve, lazy_curve))
parameters = sum(p.numel() for p in gru.parameters())
assert abs(parameters - 15_000) < 750
assert abs(STEPS * BATCH - 77_000) < 500
seed(0)  # nearly four times the parameters do far better
large = Reader(96, Recurrent(96))
train(large, STEPS, rate=1e-2)
assert 3.5 < sum(p.numel() for p in large.parameters()) / parameters < 4
assert right_answers(large, 12)[0].mean() >= 0.9

# %% [markdown] tags=["notes"]
# The GRU is not stupid: with two films it is nearly perfect, and it beats the lazy answer everywhere. It has to learn to file notes in one vector that every further
# note rewrites. If asked: a GRU with nearly four times the parameters answers more than nine in ten with 12 films (one seed each).

# %% [markdown]
# Two films are easy. More films make it worse, though for a reader who may look back every question is as easy as before. To be fair to the GRU: 12 notes are few bits, and 48 numbers could hold them. One with nearly four times the parameters gets more than nine in ten right with 12 films (one seed each). What its design makes *hard* is this:
#
# - **One vector for everything.** Each note must be filed without disturbing the others; the tape grows, the state does not.
# - **A long way.** The first note has to survive every later step, and so does its gradient on the way back (chapter 1). On a tape this short that will matter little: see part 5.
# - **A queue.** Step $t$ cannot begin before step $t-1$ has ended, however many cores you own.
#
# Chapter 2 cured this for a *decoder* that looks at an encoder. Now we want it inside one sequence: **every token may look straight at any
# other token**. We come back to the shop in part 5.

# %% [markdown]
# ## 2 · By hand
#
# ### A catalogue with a soft look-up
#
# Here is the whole catalogue of our shop.
#
# | film | space | love | laughs | minutes |
# |---|---|---|---|---|
# | Moon Heist | 2 | 0 | 1 | 90 |
# | Paris in May | 0 | 2 | 0 | 120 |
# | Robot Wedding | 1 | 2 | 1 | 100 |
# | Two Left Feet | 0 | 1 | 2 | 110 |
#
# A **hard look-up** knows the title and gets the row: `minutes["Moon Heist"]` is 90. If you do not know the title you get nothing.
#
# A **soft look-up** has a wish instead: *something funny in space*. Write the wish in the catalogue's own terms, $q = (1, 0, 1)$. Compare it with every
# row, turn the matches into shares, and take that share of every value:
#
# $$\underbrace{s_j}_{\text{number}} = \underbrace{q}_{(3,)} \cdot \underbrace{k_j}_{(3,)}, \qquad \underbrace{\alpha_j}_{\text{number}} = \frac{e^{s_j}}{\sum_i e^{s_i}}, \qquad \underbrace{o}_{(1,)} = \sum_j \alpha_j \underbrace{v_j}_{(1,)} .$$
#
# The wish is a **query** $q$. What the catalogue says about film $j$ is its **key** $k_j$. How well the two match is a **score** $s_j$; the share the film gets is its **weight** $\alpha_j$, and all weights
# add up to 1. What you came for, the minutes, is the **value** $v_j$, and the answer is the **output** $o$.
#
# **Work it out on paper** before you read on: four scores, four powers of $e$, one division each.
#
# Moon Heist matches best. Its share is 0.56, so the answer, 97.0 minutes, leans towards its 90, but all films have a say. The hard look-up is a limit of the soft one. Divide the scores by a temperature $\tau$ before the softmax: a cold softmax ($\tau \ll 1$) picks the winner, a hot one ($\tau \gg 1$) takes the plain mean.
#
# Why not always use the hard look-up? Because a network learns by gradients. Move $q$ a little: the hard answer stays 90, its gradient is zero, and nothing tells
# $q$ in which direction to move. The soft answer changes with every score.

# %% [markdown] tags=["slide", "slides-only"]
# ## Soft look-up
#
# | film | space, love, laughs | minutes |
# |---|---|---|
# | Moon Heist | 2, 0, 1 | 90 |
# | Paris in May | 0, 2, 0 | 120 |
# | Robot Wedding | 1, 2, 1 | 100 |
# | Two Left Feet | 0, 1, 2 | 110 |
#
# The wish $q = (1, 0, 1)$: funny, in space.
#
# $$s_j = q \cdot k_j, \quad \alpha = \operatorname{softmax}(s), \quad o = \sum_j \alpha_j v_j$$

# %% [markdown] tags=["deeper"]
# ### The look-up in code

# %% tags=["deeper"]
films = ["Moon Heist", "Paris in May", "Robot Wedding", "Two Left Feet"]
k = torch.tensor([[2.0, 0, 1], [0, 2, 0], [1, 2, 1], [0, 1, 2]])  # (4, 3)
v = torch.tensor([[90.0], [120], [100], [110]])  # (4, 1)
q = torch.tensor([1.0, 0, 1])  # (3,): funny, in space

scores = k @ q  # (4,)
shares = scores.exp() / scores.exp().sum()  # (4,), the softmax
for film, score, share in zip(films, scores, shares):
    power = score.exp()
    print(f"{film:14} score {score:.0f}  e^s {power:5.2f}  share {share:.2f}")
print(f"soft answer: {(shares @ v).item():.1f} minutes")

# %% tags=["fragment", "slides-only", "hide-input"]
print("scores ", scores.int().tolist())
print("weights", [round(share, 2) for share in shares.tolist()])
print(f"soft answer: {(shares @ v).item():.1f} minutes")

# %% [markdown] tags=["notes"]
# Do the first row on the board: e³ ≈ 20, out of about 36. The answer leans to 90 minutes, but every film has a say.

# %% [markdown]
# ### New names: from x, h, s, c, y to q, k, v, o
#
# Chapter 2 did such a look-up as well, with names that came from the RNN. (Bahdanau's score was a small network; here it is a dot product.) Give every part the name of its job, and the RNN is gone from the formula:
#
# | chapter 2 | its job there | here | shape for all at once |
# |---|---|---|---|
# | $s_t$, decoder state | asks: what do I need for the next word? | query $q$ | $Q$: $(L, D)$ |
# | $h_i$, encoder state | is compared with the question | key $k$ | $K$: $(S, D)$ |
# | $h_i$, the same vector again | is what gets copied | value $v$ | $V$: $(S, D_v)$ |
# | $c_t = \sum_i \alpha_{ti} h_i$, context | the mixture | output $o$ | $O$: $(L, D_v)$ |
# | $x$, $y$ | words that come in and go out | $x$, $y$ | $X$: $(L, E)$ |
#
# Two things become visible. The state $h$ had *two* jobs, to be compared and to be copied, and nothing says that one vector must do both.
# And nothing says that queries come from a decoder and keys from an encoder: **they may all come from the same sequence**. That is self-attention.

# %% [markdown] tags=["slide", "slides-only"]
# ## New names
#
# | chapter 2 | its job there | here |
# |---|---|---|
# | $s_t$, decoder state | asks: what do I need for the next word? | query $q$ |
# | $h_i$, encoder state | is compared with the question | key $k$ |
# | $h_i$, the same again | is what gets copied | value $v$ |
# | $c_t$, context | the mixture | output $o$ |
#
# Nothing in the formula says RNN, or that one vector must do two jobs. Queries, keys and values may all come from **one** sequence.

# %% [markdown] tags=["notes"]
# Ask: which vector of chapter 2 had two jobs? (h: compared and copied.) Splitting the jobs is what keys and values are.

# %% [markdown]
# ### Step 1: let the words look at themselves
#
# Three tokens: *dog bites man*. Their vectors, the rows of $X$ in the first picture, have three entries that you can read: is it a noun? is it a verb? and where does it stand (−1 first, 0 middle, 1 last)?
#
# The simplest idea: every token is its own query, key and value.
#
# $$\underbrace{Y}_{(L,\,E)} = \operatorname{softmax}\big(\underbrace{X X^\top}_{(L,\,L)}\big) \underbrace{X}_{(L,\,E)}$$
#
# The softmax works on each row. Row $i$ holds the shares that token $i$ gives to all tokens. Here $L = E = 3$.

# %% [markdown] tags=["slide", "slides-only"]
# ## Step 1: $Y = \operatorname{softmax}(XX^\top)\,X$
#
# *dog bites man*: every token is its own query, key and value. Words mix, with no RNN. But
#
# - there is nothing to learn: the formula has no parameters
# - every word likes itself best: the diagonal wins in each row
# - the scores are symmetric: *bites* scores *dog* exactly as *dog* scores *bites*

# %%
scores = x @ x.T  # (3, 3): every word with every word
y = scores.softmax(dim=-1) @ x  # (3, 3): each word's mixture

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.0))
for ax, title, values in (
    (axes[0], "scores $XX^T$", scores),
    (axes[1], "weights, row by row", scores.softmax(dim=-1)),
):
    figures.heatmap(ax, values, rows=words, columns=words, title=title)
axes[1].set_ylabel("")
figures.show(
    fig,
    alt="Scores and weights of dog bites man when every word is its own query, key and value. Both tables are "
    "largest on the diagonal. The scores are their own mirror image along it, the weights are not.",
    caption="Row looks at column. Where is the largest number of each row?",
)

# %% [markdown]
# Words already mix, with no RNN and in two products. But look at the scores:
#
# 1. **There is nothing to learn.** The formula has no parameters.
# 2. **Every word likes itself best.** The diagonal wins in each row. A longer vector that points the same way could beat it, but among vectors of equal length none matches a vector better than itself.
# 3. **The scores are symmetric.** *bites* scores *dog* exactly as *dog* scores *bites*.
#
# ### Step 2: learn one projection, and fail
#
# The first complaint is easily cured. Project all tokens with a learned matrix $U$ of shape $(E, D)$, and compare the projections:
#
# $$S = (XU)(XU)^\top = X\,U U^\top X^\top, \qquad S^\top = S .$$
#
# *Who looks at whom* has a direction: the verb needs to know who bites; the dog does not need the verb in the same way. Symmetric scores tie the two together: the softmax of each row may still make different weights of them, as above, but not any weights one likes. Trained to let each word look at the word before it (the first at the last), one shared matrix ends at a third each, a pure guess; two matrices solve it (one seed; the fold shows both).

# %% [markdown] tags=["deeper"]
# ### A staircase by Escher
#
# Can any $U$ make the scores unsymmetric? The algebra says no. Let us also ask a thousand random ones.

# %% tags=["deeper"]
seed(0)
U = torch.randn(1000, 3, 3)  # a thousand matrices
S = (x @ U) @ (x @ U).mT  # (1000, 3, 3); .mT swaps the last two axes
print("any unsymmetric?", bool(((S - S.mT).abs() > 1e-4).any()))

# %% [markdown] tags=["deeper"]
# Here is a small case that no shared matrix can solve. Let every word look at the word before it, and the first one at the last: *dog* → *man* → *bites* → *dog*. With symmetric scores this is a staircase by Escher: $s_{dm} > s_{db}$ (the dog prefers the man), $s_{mb} > s_{md}$ and $s_{bd} > s_{bm}$. As $s_{ij} = s_{ji}$, that reads $s_{dm} > s_{db} = s_{bd} > s_{bm} = s_{mb} > s_{md} = s_{dm}$. No numbers do that.
#
# Let gradient descent try, once with a shared matrix and once with two matrices.


# %% tags=["deeper"]
def learn_to_look_back(shared, steps=300):
    """Fit the matrices; return the three weights that should be 1."""
    seed(0)
    matrices = nn.ParameterList([*torch.randn(1 if shared else 2, 3, 3)])
    before = torch.tensor([2, 0, 1])  # dog → man, bites → dog, man → bites

    def scores():
        w_q, w_k = matrices[0], matrices[-1]  # with one matrix: the same
        return (x @ w_q) @ (x @ w_k).T / math.sqrt(3)

    def loss(_):
        return F.cross_entropy(scores(), before)

    how = {"descent": Descent(lr=0.05), "loss": loss, "listeners": ()}
    fit(matrices, repeat(None), steps=steps, **how)
    return scores().softmax(dim=-1)[torch.arange(3), before].detach()


look_shared = learn_to_look_back(shared=True)
look_two = learn_to_look_back(shared=False)
print("one shared matrix:", look_shared)
print("two matrices:     ", look_two)

# %% [markdown] tags=["slide", "slides-only"]
# ## Step 2: one learned matrix
#
# $$S = (XU)(XU)^\top = S^\top$$
#
# Let each word look at the word before it: dog → man → bites → dog.
#
# $$s_{dm} > s_{db} = s_{bd} > s_{bm} = s_{mb} > s_{md} = s_{dm}$$


# %% tags=["fragment", "slides-only", "hide-input"]
print("learned, one shared matrix:", look_shared)
print("learned, two matrices:     ", look_two)

# %% [markdown] tags=["notes"]
# A third each: with a shared matrix the best it can do is to guess. With two matrices it is solved. Exercise 3.5 asks for such matrices on paper, for a week of days.

# %% [markdown]
# ### Step 3: three matrices, three jobs
#
# So every job gets its own learned matrix:
#
# $$\underbrace{Q}_{(L,\,D)} = \underbrace{X}_{(L,\,E)}\underbrace{W_q}_{(E,\,D)}, \qquad \underbrace{K}_{(L,\,D)} = X\underbrace{W_k}_{(E,\,D)}, \qquad \underbrace{V}_{(L,\,D_v)} = X\underbrace{W_v}_{(E,\,D_v)}$$
#
# $$\underbrace{O}_{(L,\,D_v)} = \operatorname{softmax}\!\Big(\underbrace{Q K^\top}_{(L,\,L)} \big/ \sqrt{D}\,\Big)\, V$$
#
# $W_q$ is how to ask, $W_k$ how to be found, $W_v$ what to hand over. Row $i$, column $j$ of $QK^\top$ says how much $i$ wants $j$. Here $L = E = D = 3$ and $D_v = 2$. The √D comes from part 4; take it as given for now. One such attention, with its three matrices, is called a **head**. (Library layers such as `nn.Linear` add a bias to each projection: $q = xW_q + b_q$. By hand we leave it out; the trained heads below have it, and exercise 3.8 shows that the bias of the keys has no effect on the weights.) We choose the matrices by hand, so that we know what they mean.
# Nouns look for a verb. The verb looks for a noun that stands early: it asks *who does it?*

# %% [markdown] tags=["slide", "slides-only"]
# ## Step 3: three matrices, three jobs
#
# $$Q = XW_q,\quad K = XW_k,\quad V = XW_v$$
#
# $$\underbrace{O}_{(L,\,D_v)} = \operatorname{softmax}\Big(\underbrace{QK^\top/\sqrt D}_{(L,\,L)}\Big)\underbrace{V}_{(L,\,D_v)}$$
#
# - $W_q$: how to ask. *bites* asks for a noun that stands first.
# - $W_k$: how to be found. A key says what its word is, and where it stands.
# - $W_v$: what to hand over. A noun says whether it is the first or the last.
#
# All three are learned. $\sqrt D$ comes later.

# %% tags=["plumbing"]
ask = [
    [0.0, 2, 0],  # a noun asks for a verb
    [2, 0, -2],  # a verb asks for a noun, and one that stands first
    [0, 0, 0],  # the position of the asker does not matter
]
hand_over = [[0.5, 0.5], [0, 0], [-0.5, 0.5]]  # which noun am I?

w_q = torch.tensor(ask)  # (3, 3)
w_k = torch.eye(3)  # (3, 3): a key says what its token is
w_v = torch.tensor(hand_over)  # (3, 2)
q, k, v = x @ w_q, x @ w_k, x @ w_v  # (3, 3), (3, 3), (3, 2)

# %% [markdown]
# Look at it as arrows first. **Question:** where does the query of *bites* point, and which key lies that way?


# %% tags=["slide", "hide-input", "layout-figure"]
def arrow(ax, tip, name, sense, at):
    """An arrow from the origin to `tip`, with its name beside the tip."""
    colour = palette.colour(sense)
    ax.annotate(
        "", tip, (0, 0), arrowprops={"arrowstyle": "-|>,head_width=.3,head_length=.6",
        "color": colour, "lw": 2.5, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    ax.annotate(
        name, tip, at, textcoords="offset points", color=colour, va="center"
    )


fig, axes = plt.subplots(1, 2, figsize=(8, 4.0))
arrow(axes[0], q[1, [0, 2]].tolist(), "query of bites", "query", (-118, 0))
arrow(axes[0], k[0, [0, 2]].tolist(), "key of dog", "key", (8, 4))
arrow(axes[0], k[2, [0, 2]].tolist(), "key of man", "key", (8, 4))
arrow(axes[1], v[0].tolist(), "value of dog", "value", (-38, -16))
arrow(axes[1], v[2].tolist(), "value of man", "value", (8, 0))
arrow(axes[1], (weights(q, k) @ v)[1].tolist(), "output of bites", "text", (-60, 16))  # fmt: skip
axes[0].set(
    title="A query looks for keys", aspect="equal", xlabel="noun", ylabel="position: first −1, last 1",
    xlim=(-0.7, 3.1), ylim=(-2.3, 1.5), xticks=[0, 1, 2], yticks=[-2, -1, 0, 1],
)  # fmt: skip
axes[1].set(
    title="The output is made of values", aspect="equal", xlabel="first noun", ylabel="last noun",
    xlim=(-0.2, 1.3), ylim=(-0.25, 1.25), xticks=[0, 1], yticks=[0, 1],
)  # fmt: skip
figures.show(
    fig,
    alt="Left: the query of bites points the same way as the key of dog, twice as far, and stands at a right angle to the key of "
    "man. Right: the output of bites is an arrow that nearly reaches the value of dog.",
    caption="The query of bites runs along the key of dog and stands at a right angle to that of man. So its output is nearly the value of dog.",
)

# %% [markdown]
# Now with numbers. The query of *bites* is $(2, 0, -2)$. Its scores are $2 \cdot 1 + (-2)(-1) = 4$ with *dog*, $0$ with itself, and $2 \cdot 1 + (-2) \cdot 1 = 0$ with *man*.
# Divided by $\sqrt 3$ and put through the softmax:

# %%
scores = q @ k.T  # (3, 3)
alpha = (scores / math.sqrt(3)).softmax(dim=-1)  # (3, 3)
o = alpha @ v  # (3, 2)
print("bites, scores ", scores[1])
print("bites, weights", alpha[1])
print("bites, output ", o[1])

# %% tags=["held"]
assert torch.allclose(look_shared, torch.full((3,), 1 / 3), atol=0.01)
assert look_two.min() > 0.99
assert torch.allclose(o[1], torch.tensor([0.83, 0.08]), atol=0.005)
assert abs(alpha[0, 1] - 0.61) < 0.005
step_1 = x @ x.T  # mirrored scores, and weights that are not
assert torch.equal(step_1, step_1.T)
assert step_1.softmax(-1)[1, 0] > step_1.softmax(-1)[0, 1] + 0.05

# %% [markdown]
# Read the row of *bites*. It gives 0.83 of its attention to *dog*, and its output is (0.83, 0.08): *the first noun does it, the last one does not*. The vector of the verb now
# knows who bites. The other direction is different: *dog* looks at *bites* with a weight of 0.61. The table of scores is no longer its own mirror image.

# %% [markdown] tags=["slide", "slides-only"]
# ## Who looks at whom

# %% tags=["hide-input", "fragment", "slides-only"]
seed(0)
shared = x @ torch.randn(3, 3)
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.0))
tables = [
    ("$XX^T$", x @ x.T),
    ("$XU(XU)^T$, some $U$", shared @ shared.T),
    ("$XW_q(XW_k)^T$", scores),
]
for ax, (title, values) in zip(axes, tables):
    figures.heatmap(
        ax, values, rows=words, columns=words, title=title, low=None, digits=1
    )
figures.show(
    fig,
    alt="Three tables of scores for dog bites man. The first two are mirror images of themselves "
    "along the diagonal; in the third bites scores dog with 4 and dog scores bites with 2.",
    caption="Scores, row looks at column. Look at the mirror image along the diagonal: only the right table breaks it.",
)

# %% [markdown] tags=["deeper"]
# ### From cosine to the scaled dot product
#
# A score should say how well two vectors match. The textbook measure is the cosine, $\cos(q, k) = q \cdot k / (\lVert q \rVert \lVert k \rVert)$. It lies between −1 and 1, and that is its problem inside
# a softmax. Suppose one key is a perfect match (1) and all others are as bad as can be (−1). **Guess:** with 100 keys, which share does the perfect match get?

# %% tags=["deeper"]
for keys in (3, 10, 100, 1000):
    scores = torch.full((keys,), -1.0)
    scores[0] = 1.0  # a perfect match, and the rest as bad as can be
    share = scores.softmax(dim=-1)[0]
    print(f"{keys:5d} keys: the perfect match gets {share:.2f}")

# %% [markdown] tags=["deeper"]
# With scores that cannot leave $[-1, 1]$ no key can be heard in a large crowd. So we drop the division by the lengths and keep the plain dot product. Now the network can
# speak up: a longer query or key makes larger scores. But the lengths grow with the number of dimensions too, whether the network wants it or not.
# The cure is the constant $1/\sqrt{D}$, and part 4 measures why. QK-norm brings the cosine back, with a learned temperature ([Henry et al. 2020](https://arxiv.org/abs/2010.04245)); chapter 10 builds a version of it.

# %% [markdown]
# ## 3 · Live
#
# Now play. These figures compute in your browser, on the website and in the slides too.
#
# ### The workbench
#
# This is *dog bites man* with the matrices from above. Change anything.
#
# - Change the −2 in the middle row of $W_q$ to 2. **Before you look:** whom does *bites* ask for now?
# - Click a cell of the *masked* table to forbid it. Forbid *bites* → *dog*: where does its attention go?
# - Type *man bites dog*. Whom does *bites* look at, and why is that wrong? (The position is a number in $X$ and moved with the word: swap −1 and 1 yourself. A new word gets numbers made from its letters, without a meaning; write your own.)

# %% [markdown] tags=["slide", "slides-only"]
# ## *dog bites man*, every number

# %% tags=["fragment", "hide-input"]
AttentionWorkbench(
    tokens=words,
    x=x,
    w_q=w_q,
    w_k=w_k,
    w_v=w_v,
    title="The attention workbench",
    caption="Edit any number and follow it from X to the output.",
)

# %% [markdown] tags=["notes"]
# Point at a number: the sum behind it. Forbid bites → dog by clicking its score: where does the attention go? Then the temperature. On the page X and the three W are there to edit, too: flip the sign of the −2 in the verb's row of W_q, and bites asks for the last noun.

# %% [markdown] tags=["deeper"]
# ### Temperature: hot and cold
#
# The four films and the wish *something funny in space*. Drag the temperature from 0.1 to 10, then drag a score. Look for the point where the winner takes
# nearly everything, and for the point where the wish no longer matters.

# %% tags=["deeper"]
matches = torch.tensor([3.0, 0, 2, 2])
minutes = torch.tensor([90.0, 120, 100, 110])
for temperature in (0.1, 1.0, 10.0, 1000.0):
    shares = (matches / temperature).softmax(dim=-1)
    print(
        f"τ = {temperature:6}: best share {shares.max():.2f}, answer {shares @ minutes:.1f}"
    )

# %% tags=["slide", "hide-input", "deeper"]
SoftmaxTemperature(
    labels=films,
    scores=[3.0, 0.0, 2.0, 2.0],
    temperature=1.0,
    title="Soft look-up at a temperature",
    caption="Cold: a hard look-up. Hot: a plain mean.",
)

# %% [markdown]
# ### The spread of a dot product
#
# Queries and keys with random entries (mean 0, variance 1) and $d$ dimensions. **Guess first:** when $d$ grows from 16 to 256, what happens to the spread of $q \cdot k$? Then drag
# $d$, and watch the histogram on one side and the softmax over 16 keys on the other. Switch *scaled* on and drag again.

# %% [markdown] tags=["slide", "slides-only"]
# ## The spread of $q \cdot k$ grows with the width $d$

# %% tags=["fragment", "hide-input"]
ScaleHistogram(
    dims=64,
    scaled=False,
    title="Why √d",
    caption="Unscaled, the softmax becomes winner-take-all as d grows. Scaled, nothing moves.",
)

# %% [markdown] tags=["deeper"]
# ### A real map, and masks
#
# The first layer of the encoder, all 12 heads, on a sentence you know. (Chapter 4 is about having several.) `record` looks over the model's shoulder and keeps the weights of every attention. Temperature and masks act on them in your browser.
#
# - Go through the heads. One of them looks at the word before, and at nothing else. Which one?
# - Choose the *causal* mask. **Question:** why does the first row become a single 1, in every head? And why does the head you just found not care?

# %% tags=["deeper"]
tokens, numbers = read("The cat sat on the mat because it was tired.")
with record(encoder) as maps:
    encoder(numbers)

# %% tags=["hide-input", "deeper"]
AttentionHeatmap(
    maps=maps["encoder.layers.0.self_attention"],
    tokens=tokens,
    title="MiniLM, layer 0",
    caption="Row: the token that looks. Column: the token that is looked at.",
)

# %% [markdown] tags=["deeper"]
# <details><summary>Answers</summary>
#
# Head 2 looks at the word before: the cell below measures it. Under a causal mask the first token may look only at itself, and whatever its score is, a softmax over one key is 1. Head 2 looks back anyway, so the mask takes nothing from it.
#
# </details>

# %% tags=["deeper"]
first = maps["encoder.layers.0.self_attention"][0]  # (12, L, L)
one_back = first.diagonal(offset=-1, dim1=-2, dim2=-1)
share, head = one_back.mean(-1).max(dim=0)  # the best of 12 heads
print(f"head {head} gives {share:.2f} of its attention to the token before")

# %% [markdown]
# ### How far is it from one word to another?
#
# Three ways to let tokens talk: an RNN, a convolution of width 3, self-attention. Pick two tokens and count the arrows from one to the other. Move them apart and see which number
# grows. **Question:** what does *dilated* change, and what does it leave alone?

# %% tags=["held"]
assert int(head) == 2
assert share > 0.99

# %% tags=["hide-input"]
PathLength(
    n=10,
    kernel=3,
    title="Path length",
    caption="Every arrow on the way is a step on which a signal, or a gradient, can fade.",
)

# %% [markdown] tags=["slide", "slides-only"]
# ## How many steps from one word to another?

# %% tags=["fragment", "slides-only", "hide-input"]
PathLength(n=6, kernel=3)

# %% [markdown] tags=["notes"]
# Choose the first and the last token: six steps, a few layers, one step.

# %% [markdown]
# <details><summary>Answer</summary>
#
# The number of layers falls from 9 to 4 (about $\log n$ instead of $n$). The operations per layer stay the same, and so does the rule that one layer sees only $k$ tokens.
#
# </details>

# %% [markdown] tags=["deeper"]
# ### Before you go on
#
# Three questions about what comes next. Guess; you will measure the answers.

# %% tags=["hide-input", "deeper"]
Quiz(
    [
        {
            "question": "Queries and keys have 64 random entries of variance 1. What is the variance of their dot product?",
            "choices": [
                {
                    "text": "1",
                    "why": "That holds for one product of two entries. The dot product adds 64 of them.",
                },
                {
                    "text": "8",
                    "why": "8 is √64, the standard deviation. The variance is its square.",
                },
                {
                    "text": "64",
                    "correct": True,
                    "why": "Each product adds a variance of 1, and independent variances add up.",
                },
            ],
        },
        {
            "question": "A mask must hide a key. What should its score become before the softmax?",
            "choices": [
                {
                    "text": "0",
                    "why": "e⁰ is 1, so the key keeps a share. Part 4 shows a network that exploits this.",
                },
                {
                    "text": "−∞",
                    "correct": True,
                    "why": "e^−∞ is exactly 0, and the other keys share out the whole 1.",
                },
                {
                    "text": "It does not matter, set the *weight* to 0 afterwards",
                    "why": "The hidden key has already been counted in the denominator, so it can still be felt. Part 4 measures it.",
                },
            ],
        },
        {
            "question": "One pass with a causal mask over the first `L` tokens of a text of `L` + 1: how many next-token predictions can be trained with it?",
            "choices": [
                {
                    "text": "1, for the last token",
                    "why": "Every position has seen only its own past, so every position makes an honest prediction.",
                },
                {
                    "text": "`L`",
                    "correct": True,
                    "why": "Position `i` has seen tokens 0 … `i`, just as if the text ended there, and token `i` + 1 is its target.",
                },
                {
                    "text": "`L`²",
                    "why": "There are `L`² scores, but only one prediction for each position.",
                },
            ],
        },
    ],
    title="Guess first",
    key="03-guess",
)

# %% [markdown]
# ## 4 · In the open
#
# ### Four lines
#
# Here is the whole mechanism, the formula of step 3, now for a batch $B$ and for $S$ keys. (`k.mT` swaps the last two axes of `k`, with a batch in front or without.) The libraries compute the same numbers (the fold compares them).

# %% [markdown] tags=["slide", "slides-only", "layout-code"]
# ## Four lines


# %% tags=["fragment"]
def our_attention(q, k, v):
    """q (B, L, D), k (B, S, D), v (B, S, D_v) -> (B, L, D_v)."""
    scores = q @ k.mT  # (B, L, S): every query with every key
    scores = scores / math.sqrt(q.shape[-1])  # spread near 1 for any D
    alpha = scores.softmax(dim=-1)  # each row adds up to 1
    return alpha @ v  # (B, L, D_v): a weighted mean of the values


# %% [markdown] tags=["deeper"]
# ### Is it right?
#
# Compare it with the course's library and with PyTorch's fused kernel, on sizes that are all different, so that no transposition can hide, and with what we did by hand for *dog bites man*.

# %% tags=["deeper"]
seed(0)
q, k, v = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.randn(2, 7, 6)
ours = our_attention(q, k, v)
torch.testing.assert_close(ours, attention(q, k, v))
torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v))
torch.testing.assert_close(our_attention(x @ w_q, x @ w_k, x @ w_v), o)
print("ours = attnlab = PyTorch's fused kernel, shape", tuple(ours.shape))

# %% [markdown]
# ### Why √d
#
# Let the entries of $q$ and $k$ be independent, with mean 0 and variance 1. Each product $q_i k_i$ then has mean 0 and variance $1 \cdot 1 = 1$. The dot product adds $d$ of them, and variances of
# independent terms add up:
#
# $$\operatorname{Var}(q \cdot k) = \sum_{i=1}^{d} \operatorname{Var}(q_i k_i) = d, \qquad \operatorname{Var}\!\left(\frac{q \cdot k}{\sqrt d}\right) = \frac{d}{d} = 1$$
#
# That is the argument of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), footnote 4. Why is a large spread bad? Because of what it does to the softmax. With scores tens apart one key takes everything, and then the
# softmax has no slope left. Its derivative is the matrix
#
# $$J = \frac{\partial \alpha}{\partial s} = \operatorname{diag}(\alpha) - \alpha \alpha^\top, \qquad \text{shape } (S, S),$$
#
# and for $\alpha = (1, 0, \dots, 0)$ it is zero in every entry. No slope, and the scores learn nothing. Measured at $d = 1024$: without the division a sixth of the mean slope is left, and three queries in four have hardly any (below 0.01; the fold has the plots). The division by √d is a temperature: it keeps the ranking of the keys and changes only how far apart the weights are.

# %% [markdown] tags=["deeper"]
# ### Measured: spread, best weight, slope
#
# 2000 random queries with 16 keys each.


# %% tags=["deeper", "plumbing", "nbval-ignore-output"]
def spread(d, scaled, queries=2000, keys=16):
    """Scores' variance; mean best weight; mean ‖J‖; share below 0.01."""
    seed(2)
    q, k = torch.randn(queries, 1, d), torch.randn(queries, keys, d)
    scores = (q @ k.mT).squeeze(1)  # (queries, keys)
    if scaled:
        scores = scores / math.sqrt(d)
    alpha = scores.softmax(dim=-1)
    J = torch.diag_embed(alpha) - alpha[:, :, None] * alpha[:, None, :]
    slope = J.flatten(1).norm(dim=1)  # (queries,)
    best = alpha.amax(-1)  # (queries,)
    flat = (slope < 0.01).float()  # hardly any slope left
    means = (each.mean().item() for each in (best, slope, flat))
    return scores.var().item(), *means


WIDTHS = [4, 16, 64, 256, 1024]
plain = {d: spread(d, scaled=False) for d in WIDTHS}
scaled = {d: spread(d, scaled=True) for d in WIDTHS}
for d in (64, 1024):
    print(f"d = {d:4}: variance {plain[d][0]:.0f}, scaled {scaled[d][0]:.1f}")
flat = plain[1024][3]
print(f"q·k at d = 1024: {flat:.0%} of the queries have a slope below 0.01")

# %% tags=["held", "deeper"]
assert all(abs(plain[d][0] / d - 1) < 0.05 for d in WIDTHS)
for variance, best, slope, none in scaled.values():
    assert abs(variance - 1) < 0.05
    assert best < 0.3
    assert abs(slope - 0.3) < 0.01
    assert none == 0
_, best, slope, none = plain[1024]
assert abs(best - 0.96) < 0.005
assert abs(slope - 0.05) < 0.005
assert abs(none - 0.75) < 0.02
assert abs(slope / scaled[1024][2] - 1 / 6) < 0.01

# %% [markdown] tags=["slide", "slides-only"]
# ## Without √d the softmax saturates: $\operatorname{Var}(q\cdot k)=d$

# %% tags=["hide-input", "fragment", "deeper"]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.3))
for ax, entry, title in (
    (axes[0], 1, "Best of 16 weights, mean"),
    (axes[1], 2, "Mean slope of the softmax, $||J||$"),
):
    for runs, line, hue, label in (
        (plain, "o-", "orange", "$q·k$"),
        (scaled, "s--", "blue", "$q·k/\\sqrt{d}$"),
    ):
        values = [runs[d][entry] for d in WIDTHS]
        ax.plot(WIDTHS, values, line, color=palette.colour(hue), label=label)
    ax.set(
        title=title,
        xscale="log",
        xticks=WIDTHS,
        xticklabels=WIDTHS,
        ylim=(0, None),
    )
    ax.minorticks_off()
axes[0].set_xlabel("width $d$")
axes[1].set_xlabel("width $d$")
axes[0].legend(loc="center right")
figures.show(
    fig,
    alt="Two plots against the width d. Unscaled, the best weight climbs towards 1 and the mean slope of the "
    "softmax falls to a sixth. Divided by the square root of d, both stay where they are.",
    caption="Look at the right plot: at d = 1024 a sixth of the slope is left to an unscaled softmax.",
)

# %% [markdown] tags=["notes"]
# Variance d is one line of algebra. The slope is the point: diag(α) − ααᵀ is zero when one weight is 1.

# %% [markdown] tags=["deeper"]
# The variance is $d$, as promised. Without the division the best of 16 keys takes almost everything at $d = 1024$, a sixth of the slope is left, and three queries in four have a slope below 0.01. Divided by √d, neither number moves.

# %% [markdown]
# ### √d in training
#
# Does it matter? Let one causal head of width $d$ learn the tapes of the video shop (12 films), with the division and without: three seeds, 200 steps, one learning rate (0.003). At $d = 256$ a third head has no division either, but its $W_q$ starts √d times smaller, so that its *first* scores are those of the scaled head. **Guess first:** which of the three fail at $d = 256$?


# %% tags=["plumbing", "nbval-ignore-output"]
class Head(nn.Module):
    """One causal head of width d, with or without the division by √d."""

    def __init__(self, d, scaled, small_start=False, width=64):
        super().__init__()
        self.query, self.key = nn.Linear(width, d), nn.Linear(width, d)
        self.value = nn.Linear(width, width)
        self.scale = 1 / math.sqrt(d) if scaled else 1.0
        if small_start:
            for numbers in self.query.parameters():
                numbers.data /= math.sqrt(d)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return attention(q, k, v, causal=True, scale=self.scale)


HEADS = {
    "$q·k/\\sqrt{d}$": {"scaled": True},
    "$q·k$": {"scaled": False},
    "$q·k$, small start": {"scaled": False, "small_start": True},
}


def spelled(name):
    return name.replace("$", "").replace("\\sqrt{d}", "√d")


def learn(d, how, start, rate=3e-3):
    """The loss of 200 steps, and the share of right answers after them."""
    seed(start)
    model = Reader(64, Head(d, **how))
    losses = train(model, 200, rate, films=12, batch=64, start=start)
    return losses, right_answers(model, 12)[0].mean().item()


learned = {
    (d, name): [learn(d, how, start) for start in range(3)]
    for d in (16, 64, 256)
    for name, how in HEADS.items()
    if d == 256 or "start" not in name
}
print("right answers after 200 steps, three seeds:")
for (d, name), runs in learned.items():
    print(f"d = {d:3} {spelled(name):16}", *(f"{r:.2f}" for _, r in runs))
print("at a higher learning rate, 0.01:")
faster = {}
for name in list(HEADS)[:2]:
    runs = [learn(256, HEADS[name], start, rate=1e-2) for start in range(3)]
    faster[name] = [right for _, right in runs]
    print(f"d = 256 {spelled(name):16}", *(f"{r:.2f}" for r in faster[name]))

# %% tags=["held"]
ended = {key: [right for _, right in runs] for key, runs in learned.items()}
with_root, without, small = HEADS
assert all(min(ended[d, with_root]) >= 0.98 for d in (16, 64, 256))
assert min(ended[16, without]) >= 0.98
assert min(ended[64, without]) < 0.9
assert max(ended[256, without]) < 0.9
assert sum(faster[without]) / 3 < 0.8
assert min(faster[with_root]) >= 0.98
assert min(ended[256, small]) >= 0.9

# %% [markdown] tags=["slide", "slides-only"]
# ## Trained with √d, and without

# %% tags=["hide-input", "fragment", "nbval-ignore-output"]
HUES, LINES = ("blue", "orange", "green"), ("-", "-.", "--")  # as in HEADS
fig, axes = plt.subplots(1, 3, figsize=(8, 3.3), sharey=True)
for (d, name), runs in learned.items():
    ax, at = axes[(16, 64, 256).index(d)], list(HEADS).index(name)
    for start, (losses, _) in enumerate(runs):
        smooth = torch.tensor(losses).unfold(0, 8, 1).mean(-1)
        ax.plot(smooth, LINES[at], lw=1.6, color=figures.COLOURS[HUES[at]], label=name if start == 0 else None)  # fmt: skip
    ax.set(title=f"$d = {d}$", xlabel="steps", ylim=(0, 1.6), xticks=[0, 100, 200])  # fmt: skip
axes[0].set_ylabel("loss")
names = axes[2].get_legend_handles_labels()
axes[0].legend(*names, loc="upper right", handlelength=1.2)
figures.show(
    fig,
    alt="The loss of three kinds of head over 200 steps, three seeds each, for widths of 16, 64 and 256. Divided by the square root "
    "of d, all fall to nearly 0. Without the division the loss stays high at 256. With a small start it falls there, too.",
    caption="Each line is one seed. With √d the width makes no difference to the end; without it the wide heads learn less.",
)

# %% [markdown] tags=["notes"]
# The dashed head has no division either; its query matrix starts smaller by the same factor. So much of the trouble is the spread at the start. One task, 200 steps: this does not show that an unscaled head never learns.

# %% [markdown]
# At $d = 16$ all six heads solve the tapes. At $d = 64$ and $d = 256$ those with the division still do, and those without it fall behind, some of them far, at a higher learning rate, too. With the small start nearly everything is right, too: so much of the harm comes from the spread of the scores *at the start*. This is one task and 200 steps. It does not say that an unscaled head never learns.
#
# **Try it:** the argument needs independent entries with variance 1. What changes if the entries have variance 4? (Each product then has variance 16. √d no longer suffices, and that is one reason why initialisation and normalisation matter too.)
#
# ### Self and cross
#
# *Self-attention*: one sequence asks itself. Queries, keys and values come from $X$ $(L, E)$, and the table of weights is square, $(L, L)$. *Cross-attention*: one sequence asks, another answers, as in chapter 2. Keys and values come from a context $(S, E_c)$, and the table is a rectangle, $(L, S)$. The function is the same.

# %% [markdown] tags=["slide", "slides-only"]
# ## Self and cross: the function is the same
#
# | | queries from | keys, values from | weights |
# |---|---|---|---|
# | self-attention | $X$ $(L, E)$ | $X$ $(L, E)$ | $(L, L)$ |
# | cross-attention | $X$ $(L, E)$ | context $(S, E_c)$ | $(L, S)$ |
#
# - Self: the sentence asks itself. The table of weights is square.
# - Cross: one sequence asks, another answers, as in chapter 2. The table is a rectangle.

# %% [markdown] tags=["notes"]
# Chapter 2 was cross-attention: the decoder asks, the encoder answers. Exercise 3.4 builds it.

# %% tags=["held"]
seed(0)
french = torch.randn(4, 8)  # 4 tokens of width 8: they ask
english = torch.randn(6, 10)  # 6 tokens of width 10: they answer
to_query, to_key, to_value = torch.randn(8, 5), *torch.randn(2, 10, 5)
q, k, v = french @ to_query, english @ to_key, english @ to_value
assert weights(q, k).shape == (4, 6)  # a row for each French token
assert attention(q, k, v).shape == (4, 5)

# %% [markdown]
# ### Masks: who may look at whom
#
# A mask is a table of yes and no, $(L, S)$. In this course `True` means *may attend*, everywhere. Two masks do most of the work. **Padding.** Short sentences in a batch are padded, and no token may attend to the padding. **Causal.** A language model predicts the next
# token, so a token may look at its past and at itself, not at its future.

# %%
pad = masks.padding([5, 3], S=5)  # sentences of 5 and 3 tokens
past = masks.causal(5)
second = (past & pad).dense()[1, 0]  # (5, 5): both masks, second sentence

# %% [markdown] tags=["slide", "slides-only"]
# ## Masks: who may look at whom

# %% tags=["fragment", "hide-input"]
sentence = ["1 dog", "2 bites", "3 man", "4 pad", "5 pad"]
shown = {
    "padding": pad.dense()[1, 0].expand(5, 5),
    "causal": past.dense(),
    "both": second,
}
Diagram(
    [
        *(
            Matrix(title, values=may.int(), shape="", law="weights", columns="12345",
                   rows="12345" if title == "causal" else sentence, at=(2 * at, 0))
            for at, (title, may) in enumerate(shown.items())
        ),
        Op("and", "&", at=(1, 0)),
        Op("is", "=", at=(3, 0)),
    ],
    tall={"padding": (0, 0), "and": (1, 0), "causal": (2, 0), "is": (1, 1), "both": (2, 1)},
    gap=(48, 18),
    steps=[
        Step("Padding: a sentence of three words in a batch of five positions. Nobody may look at positions 4 and 5.", lit=["padding"]),
        Step("Causal: a word may look at its past and at itself. What lies above the diagonal is its future.", lit=["causal"]),
        Step("Both: a cell is open where both masks are. In rows 4 and 5 the padding asks; nobody reads its outputs."),
    ],
    title="Two masks, and both at once",
    alt="Three masks for dog bites man and two positions of padding, 1 for may attend. Padding: columns 4 and 5 are 0. "
    "Causal: the lower triangle with its diagonal is 1. Both: the triangle without those columns.",
    caption="1: may attend. Rows ask, columns are looked at.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Rows ask, columns are looked at. Right: the second sentence has three words, so columns four and five are empty. Ask: what do rows four and five mean? (Outputs nobody reads.)

# %% [markdown] tags=["deeper"]
# ### Does padding really not matter?
#
# Fill it with enormous numbers and look at the real tokens.

# %% tags=["deeper"]
seed(0)
batch = torch.randn(2, 1, 5, 8)  # (B, H, L, D): two sentences
dirty = batch.clone()
dirty[1, :, 3:] = 1e6  # garbage where the second sentence has no words
short = batch[1:, :, :3]  # the second sentence alone
clean_out = attention(batch, batch, batch, mask=pad)[1:, :, :3]
dirty_out = attention(dirty, dirty, dirty, mask=pad)[1:, :, :3]
torch.testing.assert_close(clean_out, dirty_out, rtol=0, atol=0)
torch.testing.assert_close(clean_out, attention(short, short, short))
print("garbage in the padding changes nothing")
print("and the short sentence could as well be alone")

# %% [markdown]
# ### Why −∞?
#
# There are several ways to "hide" a key, and most of them leak. Before you read on: which of these do you trust? (1) Set its score to 0. (2) Set its *weight* to 0 after the softmax. (3) Set its score to −∞.

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## Hide the future: which ones do you trust?
#
# 1. nothing at all
# 2. set the score to 0, then softmax
# 3. softmax, then multiply the weight by 0
# 4. set the score to −∞, then softmax

# %% [markdown] tags=["notes"]
# Take a vote on the third one.


# %% [markdown] tags=["slide", "slides-only"]
# ## Which of these tables leak?


# %% tags=["hide-input", "fragment"]
def no_mask(scores, may):
    return scores.softmax(-1)


def score_zero(scores, may):
    return scores.masked_fill(~may, 0.0).softmax(-1)


def weight_zero(scores, may):
    return scores.softmax(-1) * may


def score_minus_infinity(scores, may):
    return scores.masked_fill(~may, -torch.inf).softmax(-1)


WAYS = {
    "no mask": no_mask,
    "score 0": score_zero,
    "weight × 0": weight_zero,
    "score −∞": score_minus_infinity,
}
may = masks.causal(3).dense()
alphas = {
    name: hide(x @ w_q @ (x @ w_k).T / math.sqrt(3), may)
    for name, hide in WAYS.items()
}
sums = {
    f"sum {name}": alphas[name].sum(-1, keepdim=True)
    for name in ("weight × 0", "score −∞")
}
Diagram(
    [
        *(
            Matrix(name, values=alpha, shape="", digits=2, at=(at, 0), rows=words if at in (0, 2) else ())
            for at, (name, alpha) in zip((0, 1, 2, 4), alphas.items())
        ),
        *(Matrix(name, "sum", values=total, shape="", digits=2, at=(at, 0)) for at, (name, total) in zip((3, 5), sums.items())),
    ],
    tall={"weight × 0": (0, 1), "sum weight × 0": (1, 1), "score −∞": (0, 2), "sum score −∞": (1, 2)},
    gap=(12, 14),
    steps=[
        Step("No mask: dog gives 0.81 of its weight to the words to come.", lit=["no mask"]),
        Step("Score 0: e⁰ = 1 is a share like any other. Dog still gives two thirds to the future.", lit=["score 0"]),
        Step("Weight × 0: nothing goes to the future, but the hidden scores stay in the denominator. The rows no longer add up to 1.", lit=["weight × 0", "sum weight × 0"]),
        Step("Score −∞: the exponential of −∞ is 0. Nothing goes to the future, and every row adds up to 1.", lit=["score −∞", "sum score −∞"]),
    ],
    title="Four ways to hide the future",
    alt="Four tables of weights of dog bites man, row looks at column, with the sum of each row. No mask and score 0 put weight on the words to come. "
    "Weight times 0 puts none there, but its rows add up to 0.19, 0.92 and 1. Score minus infinity puts none there, and every row adds up to 1.",
    caption="Rows and columns: dog, bites, man. Above the diagonal lies the future: a 0 there, and a sum of 1, is what we want.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Score 0: dog gives two thirds to the future. Weight × 0 looks clean until one reads the sums: the hidden scores still decide how much is left.

# %% [markdown] tags=["deeper"]
# ### The leak test
#
# Change the last token and look at the outputs of all the tokens before it. If the future is hidden, they do not change at all.


# %% tags=["deeper"]
def leak(hide, tokens=6, width=8):
    """Change the last token: the change before it, and the rows' sums."""
    seed(0)
    x = torch.randn(tokens, width)
    # √width keeps queries, keys and values at a spread near 1.
    w_q, w_k, w_v = torch.randn(3, width, width) / math.sqrt(width)
    other = x.clone()
    other[-1] += 1.0  # another future
    may = masks.causal(tokens).dense()
    outputs = []
    for z in (x, other):
        scores = (z @ w_q) @ (z @ w_k).T / math.sqrt(width)
        alpha = hide(scores, may)
        outputs.append(alpha @ (z @ w_v))
    change = (outputs[0] - outputs[1])[:-1].abs().max()
    return change.item(), alpha.sum(-1)


# %% tags=["deeper"]
for name, hide in WAYS.items():
    change, sums = leak(hide)
    print(f"{name:10}  the past changes by {change:.2f}", end="   ")
    print(f"rows add up to {sums.min():.2f} … {sums.max():.2f}")

# %% [markdown] tags=["deeper"]
# With a score of 0 more than half of the leak is still there. Multiplying afterwards hides the *values*, but the hidden *scores* still decide what a row adds up to: the smallest of the three leaks, but still a leak. Only $e^{-\infty} = 0$ takes a key out of numerator and denominator.

# %% [markdown]
# ### Cheating on random digits
#
# Is a leak like that enough to cheat? Give a network the most hopeless task there is: **predict the next digit in a random sequence**. No honest model can do better than
# a loss of $\ln 10 = 2.30$ and 1 right in 10. Anything that does better has seen the future. (One seed each.)


# %% tags=["held"]
changes = {name: leak(hide)[0] for name, hide in WAYS.items()}
assert changes["score −∞"] == 0
assert changes["weight × 0"] > 0.05
assert changes["weight × 0"] < changes["score 0"] < changes["no mask"]
assert changes["score 0"] > changes["no mask"] / 2
scores = x @ w_q @ (x @ w_k).T / math.sqrt(3)
sums = weight_zero(scores, masks.causal(3).dense()).sum(-1)
assert torch.allclose(sums, torch.tensor([0.19, 0.92, 1.0]), atol=0.005)
assert abs(alphas["no mask"][0, 1:].sum() - 0.81) < 0.005
assert torch.allclose(alphas["score 0"][0, 1:].sum(), torch.tensor(2 / 3))
clean = alphas["score −∞"]
assert clean.triu(1).eq(0).all()
assert torch.allclose(clean.sum(-1), torch.ones(3))
assert torch.equal(second, shown["padding"] & shown["causal"])


# %% tags=["plumbing"]
class Guesser(nn.Module):
    """One attention layer that predicts the next digit at every position."""

    def __init__(self, hide, length=8, width=32):
        super().__init__()
        self.digit = nn.Embedding(10, width)
        self.position = nn.Embedding(length, width)  # see chapter 5
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, 10)
        self.hide, self.may = hide, masks.causal(length).dense()

    def forward(self, digits):
        x = self.digit(digits) + self.position.weight  # (B, L, E)
        scores = self.query(x) @ self.key(x).mT  # (B, L, L)
        alpha = self.hide(scores / math.sqrt(x.shape[-1]), self.may)
        return self.out(alpha @ self.value(x))  # (B, L, 10)


def guess(model, batch, length=8):
    """Loss and share of right guesses on fresh random digits."""
    digits = torch.randint(10, (batch, length + 1))
    # The last digit is not in the input: nobody can cheat there.
    guesses = model(digits[:, :-1])[:, :-1].flatten(0, 1)
    target = digits[:, 1:-1].flatten()
    right = (guesses.argmax(-1) == target).float().mean()
    return F.cross_entropy(guesses, target), right


def cheat(hide, steps=200):
    seed(0)
    model = Guesser(hide)
    how = {"descent": Descent(lr=1e-2), "listeners": ()}
    fit(
        model,
        repeat(64),
        steps=steps,
        loss=lambda n: guess(model, n)[0],
        **how,
    )
    with torch.no_grad():
        loss, right = guess(model, batch=4000)
    return loss.item(), right.item()


cheats = {
    name: cheat(hide) for name, hide in WAYS.items()
}  # (loss, share right)

# %% [markdown] tags=["slide", "slides-only"]
# ## Only −∞ cannot predict random digits

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(8, 3.4))
names = list(cheats)[::-1]
hues = [
    palette.colour("attention" if name == "score −∞" else "before")
    for name in names
]
bars = ax.barh(names, [cheats[name][0] for name in names], color=hues)
ax.bar_label(
    bars, [f"{cheats[name][1]:.0%} right" for name in names], padding=4
)
ax.axvline(math.log(10), linestyle=":", color="grey")
ax.set(xlabel="loss (dotted: ln 10, an honest guess)", xlim=(0, 3))
figures.show(
    fig,
    alt="The loss of four ways to mask on random digits. Without a mask it is 0, with a score of 0 and with "
    "a weight of 0 it stays below the honest 2.30; with minus infinity it is 2.30.",
    caption="A loss below the dotted line has seen the future.",
)

# %% tags=["held"]
losses = {name: loss for name, (loss, _) in cheats.items()}
assert losses.pop("score −∞") > math.log(10) - 0.03
assert all(loss < 2.1 for loss in losses.values())
hidden = torch.ones(3, dtype=torch.bool)  # a row hidden completely, with −10⁹
mean = torch.randn(3).masked_fill(hidden, -1e9).softmax(-1)
assert torch.equal(mean, torch.full((3,), 1 / 3))
assert torch.finfo(torch.float16).min > -1e9  # it cannot hold −10⁹

# %% [markdown] tags=["notes"]
# Random digits: the honest loss is ln 10. A loss that is too good to be true is one sign of a leaking mask. The third way is the interesting one: the values are gone, the denominator is not.

# %% [markdown]
# Only −∞ stays at chance. Even the denominator alone tells the network enough to cheat. Remember this when a training loss looks too good to be true.
#
# (A finite number such as −10⁹ works as well, until somebody computes in float16, or until a row is hidden completely: then it quietly becomes a mean of everything. Exercise 3.3 handles such rows.)
#
# ### Many training samples from one text
#
# The causal mask has a benefit, too. Take a text of $L + 1$ tokens. Its first token, its first two, … its first $L$ are training samples: *given these, predict the next*. Without the mask we would run the network on $L$ prefixes. With it, **one pass gives the
# outputs of all prefixes**, because position $i$ cannot tell whether the text goes on after it. (An RNN language model gets its $L$ predictions from one pass as well, but in $L$ steps, one after the other.)

# %% [markdown] tags=["deeper"]
# ### One pass against six

# %% [markdown] tags=["slide", "slides-only", "layout-code"]
# ## One text, many training samples

# %% tags=["fragment", "deeper"]
seed(0)
text = torch.randn(6, 8)  # six tokens
one_pass = attention(text, text, text, causal=True)  # (6, 8)
last = []
for n in range(1, 7):  # six passes, without a mask
    prefix = text[:n]
    last.append(attention(prefix, prefix, prefix)[-1])
torch.testing.assert_close(one_pass, torch.stack(last))
print("one causal pass = the last outputs of all six prefixes")

# %% [markdown] tags=["notes"]
# Position i cannot tell whether the text goes on after it. So one pass over the first L of L + 1 tokens trains on L prefixes, for the price of one.

# %% [markdown]
# ## 5 · At work
#
# ### The two banks, again
#
# Part 1 began with a word that has one vector in all sentences. What do the encoder's six layers make of it? Four sentences about rivers, four about money. We take the vector of *bank* as it comes
# out of each layer, and compare all pairs.

# %% tags=["plumbing"]
RIVER = [
    "He sat on the bank of the river and watched the water.",
    "The boat drifted to the muddy bank of the stream.",
    "We had a picnic on the grassy bank beside the lake.",
    "Reeds and willows grow along the bank of the canal.",
]
MONEY = [
    "She walked down the street to the bank to deposit money.",
    "The bank raised the interest rate on my loan.",
    "He opened an account at the bank and got a credit card.",
    "The bank on the main street was robbed of cash.",
]


def vectors(sentence, word):
    """`word` before the first layer and after each one: (7, 384)."""
    tokens, numbers = read(sentence)
    return encoder.states(numbers)[:, 0, tokens.index(word)]


def all_cosines(x):
    """Cosine of every pair of rows: (…, N, E) -> (…, N, N)."""
    unit = F.normalize(x, dim=-1)
    return unit @ unit.mT


banks = [vectors(sentence, "bank") for sentence in RIVER + MONEY]
cosines = all_cosines(torch.stack(banks, dim=1))  # (7, 8, 8)

meaning = torch.tensor([0] * 4 + [1] * 4)
pairs = ~torch.eye(8, dtype=torch.bool)
nearest = cosines.masked_fill(~pairs, -1).argmax(-1)  # (7, 8)
right = (meaning[nearest] == meaning).sum(-1)  # (7,)
print("the nearest bank has the same meaning, of 8 banks:")
print(f"on the way in {right[0]}, after each layer", *right[1:].tolist())

# %% [markdown] tags=["slide", "slides-only"]
# ## Two banks, after six layers

# %% tags=["hide-input", "fragment"]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.7))
labels = [
    *(f"river {n}" for n in range(1, 5)),
    *(f"money {n}" for n in range(1, 5)),
]
for ax, layer, title in (
    (axes[0], 0, "on the way in"),
    (axes[1], -1, "after six layers"),
):
    rows = labels if layer == 0 else None
    figures.heatmap(ax, cosines[layer], rows=rows, low=0.5, high=1.0, title=title,
                    row_label="", column_label="", numbers=False)  # fmt: skip
    ax.set_xticks([])
axes[1].set_yticks([])
figures.show(
    fig,
    alt="Cosines between the vectors of bank in eight sentences. On the way in all are alike; after six layers "
    "the four river sentences are similar to each other, the four money sentences too, the groups less so.",
    caption="Cosines of the eight banks: a shade like the page is 0.5, the strongest 1. Look for the two blocks on the right: river with river, money with money.",
)

# %% [markdown]
# On the way in the vectors differ only by their position in the sentence (the encoder adds a vector for the position; chapter 5), so the nearest *bank* has the same meaning about as often as by chance. After one layer each of the eight has a nearest neighbour of its own
# meaning. (The textbook pair that differs in a single word moves the vector far less: see the fold.)

# %% [markdown] tags=["deeper"]
# ### One word changes little
#
# The textbook pair differs in a single word: *I arrived at the bank after crossing the **river** / **street**.*

# %% tags=["deeper"]
ARRIVED = "I arrived at the bank after crossing the {}."
pair = [vectors(ARRIVED.format(w), "bank")[-1] for w in ("river", "street")]
print(f"cosine of the two banks: {F.cosine_similarity(*pair, dim=0):.2f}")

# %% [markdown] tags=["notes"]
# Then the textbook pair, “I arrived at the bank after crossing the river / street”: nearly the same vector twice (cosine 0.98). One word changes little, perhaps because one may well cross a river to get to one's money. Clear contexts separate well.

# %% [markdown] tags=["deeper"]
# Nearly the same vector. One word changes little here, perhaps because one may well cross a river to get to one's money. The eight sentences above say more clearly which bank they mean, and there the vectors come apart.

# %% [markdown]
# ### What does *it* look at?
#
# A famous picture of self-attention is from Google's blog of 2017 ([Uszkoreit 2017](https://research.google/blog/transformer-a-novel-neural-network-architecture-for-language-understanding/)):
#
# - *The animal didn't cross the street because it was too **tired**.* Here *it* is the animal.
# - *The animal didn't cross the street because it was too **wide**.* Here *it* is the street.
#
# One head of a translation model was shown to look at the right noun in both. Is there such a head in ours? To see the weights of a model there is `record`: while its block runs, every attention in
# the model writes them down. (`[CLS]` and `[SEP]` are two tokens that stand for no word; the encoder puts them before and after every text.)

# %%
tokens, numbers = read("The animal didn't cross the street.")
with record(encoder) as maps:
    encoder(numbers)
for name, table_of_weights in maps.items():
    print(
        name, tuple(table_of_weights.shape)
    )  # (texts, heads, tokens, tokens)

# %% [markdown]
# Now we choose by a rule and not by eye. For all 6 × 12 heads: how much weight goes from *it* to
# *animal* and to *street*? And how far does the balance shift when *tired* becomes *wide*?


# %% tags=["held"]
assert right[0] <= 5
assert right[1:].tolist() == [8] * 6
assert F.cosine_similarity(*pair, dim=0) > 0.95


# %% tags=["plumbing"]
def from_it(sentence, *nouns):
    """Weights from `it` to each noun, in all heads: (nouns, 6, 12)."""
    tokens, numbers = read(sentence)
    with record(encoder) as maps:
        encoder(numbers)
    to = [tokens.index(noun) for noun in nouns]
    return stack(maps)[0, :, :, tokens.index("it"), to].movedim(-1, 0)


FAMOUS = "The animal didn't cross the street because it was too {}."
tired = from_it(FAMOUS.format("tired"), "animal", "street")  # (2, 6, 12)
wide = from_it(FAMOUS.format("wide"), "animal", "street")
shift = (tired[0] - tired[1]) - (wide[0] - wide[1])  # (6, 12)

print("               tired: animal street    wide: animal street   shift")
for position in shift.flatten().topk(3).indices.tolist():
    layer, head = divmod(position, 12)
    (a, b), (c, d) = tired[:, layer, head], wide[:, layer, head]
    print(f"layer {layer}, head {head:2} {a:12.2f} {b:6.2f}", end="")
    print(f" {c:15.2f} {d:6.2f} {shift[layer, head]:7.2f}")

# %% tags=["held"]
assert divmod(int(shift.argmax()), 12) == (3, 1)
first, next_best = shift.flatten().topk(2).values
assert first > 2 * next_best
(a, b), (c, d) = tired[:, 3, 1], wide[:, 3, 1]
assert a > 0.5
assert c < a - 0.2
assert b < d < c

# %% tags=["hide-input"]
LAYER, HEAD = divmod(int(shift.argmax()), 12)
both = [read(FAMOUS.format(adjective)) for adjective in ("tired", "wide")]
with record(encoder) as maps:
    encoder(torch.cat([numbers for _, numbers in both]))
AttentionHeatmap(
    maps=stack(maps)[:, LAYER, HEAD],  # (2 sentences, L, L)
    tokens=[
        "tired/wide" if token == "tired" else token for token in both[0][0]
    ],
    head_names=["tired", "wide"],
    title=f"MiniLM, layer {LAYER}, head {HEAD}: the row of “it”",
    caption="Switch between the two sentences. Look at the row of it: how much goes to animal, how much to street?",
)

# %% [markdown] tags=["slide", "slides-only"]
# ## *… because it was too tired*, or *too wide*

# %% tags=["fragment", "slides-only", "hide-input"]
asking = ("animal", "street", "it", "tired")
rows = [
    position for position, token in enumerate(both[0][0]) if token in asking
]
AttentionHeatmap(
    maps=stack(maps)[:, LAYER, HEAD][:, rows],  # (2 sentences, 4, L)
    tokens=["animal", "street", "it", "tired/wide"],
    key_tokens=both[0][0],
    head_names=["tired", "wide"],
)

# %% [markdown] tags=["notes"]
# Switch between the two sentences and watch the row of it. Ask before you switch: what will move?

# %% [markdown] tags=["slide", "slides-only"]
# ## With *tired*, “it” looks at the animal; with *wide*, less so

# %% tags=["fragment", "slides-only", "hide-input"]
fig, ax = plt.subplots(figsize=(8, 3.5))
for at, seen in enumerate((tired, wide)):
    bars = ax.bar([at - 0.2, at + 0.2], seen[:, LAYER, HEAD], width=0.38,
                  color=[palette.colour("attention"), palette.colour("key")])  # fmt: skip
    ax.bar_label(bars, ["animal", "street"])
ax.set(
    xticks=[0, 1],
    xticklabels=["… it was too tired", "… it was too wide"],
    ylabel="weight from it",
    ylim=(0, 1),
)
figures.show(
    fig,
    alt="Weight from it to animal and to street: with tired the animal has most; with wide it has less, and the street gains.",
)

# %% [markdown] tags=["notes"]
# With tired the head looks at the animal. With wide the animal gets less, but the street does not win. A nudge in the right direction. The next slide tests it on other sentences.

# %% [markdown]
# One head stands out. With *tired* it puts most of its weight on the animal. With *wide* the animal gets less, and the street more. So the adjective does reach *it*. But the street does not win: the effect is weaker than in that picture.
#
# And we chose this head *because* it looked good, out of 72. **Among 72 heads one may look good by chance.** On ten sentences that had no part in the choice it still connects *it* with the nouns, far more than a usual head. But the right noun gets more weight in about half of 20 cases: a coin. The fold has the test.

# %% [markdown] tags=["deeper"]
# ### The fair test: ten other sentences
#
# Each has an adjective for the first noun and one for the second.

# %% tags=["deeper", "hide-input"]
FRESH = [
    "The trophy didn't fit in the suitcase because it was too big/small.",
    "The ball broke the table because it was too heavy/fragile.",
    "The dog didn't catch the car because it was too slow/fast.",
    "The horse didn't jump over the fence because it was too tired/high.",
    "The cat didn't climb the tree because it was too lazy/tall.",
    "The truck didn't pass under the bridge because it was too tall/low.",
    "The bird didn't eat the worm because it was too full/big.",
    "The robot couldn't open the door because it was too weak/heavy.",
    "The lion couldn't bite the turtle because it was too old/hard.",
    "The plant didn't fit in the pot because it was too large/small.",
]


def both_ways(text):
    """Weights from `it`: (2 adjectives, 2 nouns, 6 layers, 12 heads)."""
    words = text.split(" because ")[0].split()
    nouns = words[1], words[-1]  # The NOUN … the NOUN
    start, _, end = text.rpartition("/")
    start, _, first = start.rpartition(" ")
    one, other = f"{start} {first}.", f"{start} {end}"
    return torch.stack([from_it(one, *nouns), from_it(other, *nouns)])


fresh = torch.stack([both_ways(text) for text in FRESH])
print("sentences, adjectives, nouns, layers, heads:", tuple(fresh.shape))

# %% tags=["deeper"]
on_nouns = fresh.sum(2).mean((0, 1))  # (6, 12): both nouns together
lean = fresh[:, :, 0] - fresh[:, :, 1]  # towards the first noun
lean = lean[..., LAYER, HEAD]  # (10 sentences, 2 adjectives), our head
moves = lean[:, 0] - lean[:, 1]
picks = int((lean[:, 0] > 0).sum() + (lean[:, 1] < 0).sum())
moved = int((moves > 0).sum())
print(f"from it to both nouns:        {on_nouns[LAYER, HEAD]:.2f}")
print(f"the same, median of 72 heads: {on_nouns.median():.2f}")
print(f"the balance moves the right way in {moved} of 10 sentences,")
print(f"by {moves.mean():.2f} on average")
print(f"the right noun gets more weight in {picks} of 20 cases")

# %% [markdown] tags=["deeper"]
# What do the numbers allow us to say?
#
# - **The head is real.** On fresh sentences, too, it connects *it* with the nouns, far more than a usual head.
# - **The adjective may nudge it.** 7 of 10, by a little. Ten coins do as well one time in six.
# - **It does not decide.** About half of the cases is what a coin would get.
#
# So this head is one for *pronoun looks at nouns*, not for *what does it mean*; the other 71 were not tested. ([Clark et al. 2019](https://arxiv.org/abs/1906.04341) find a head for coreference in BERT, and measure it on a
# corpus.) The method is the lesson: find a head by a rule, test it on something else, report the number.

# %% [markdown]
# ### Back to the video shop
#
# Now we give the reader of part 1 three other mixers. What is matched: the tapes, 600 steps and about 15 thousand parameters (so the widths differ). What is chosen for each: the best of three learning rates, with one seed and no other tuning.
#
# - **self-attention**: one layer, one head, causal. The library's `attention`, and three matrices;
# - **short convolutions**: four layers of width 3 that look back, *dilated*: what they see lies 1, 2, 4 and 8 tokens apart;
# - **a long convolution**: one filter over the last 24 tokens, the whole tape, between two products, $q \odot \operatorname{conv}(k \odot v)$ ([Poli et al. 2023](https://arxiv.org/abs/2302.10866) build language models from such layers).


# %% tags=["held"]
assert on_nouns[3, 1] == on_nouns.max() > 5 * on_nouns.median()
assert moved == 7
assert 0 < moves.mean() < 0.15
assert 8 <= picks <= 12


# %%
class SelfAttention(nn.Module):
    """Every token looks at itself and at all tokens before it."""

    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return attention(q, k, v, causal=True)  # (B, L, E)


# %% [markdown]
# **Guess first:** the short convolutions reach $2 \cdot (1 + 2 + 4 + 8) = 30$ tokens back, further than any note, the long one 23, just far enough. Do they find them all?


# %% tags=["plumbing", "nbval-ignore-output"]
class Convolutional(nn.Module):
    """Layers of three taps that look back, 1, 2, 4 and 8 tokens apart."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv1d(width, width, 3, dilation=gap) for gap in (1, 2, 4, 8)
        )

    def forward(self, x):
        x = x.mT  # (B, E, L)
        for layer in self.layers:
            reach = 2 * layer.dilation[0]
            padded = F.pad(x, (reach, 0))  # on the left only: no future
            x = x + F.relu(layer(padded))
        return x.mT


class Long(nn.Module):
    """One filter over the whole tape, between two products."""

    def __init__(self, width, join=torch.mul, taps=2 * TITLES):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.gather = nn.Conv1d(width, width, taps, groups=width)
        self.join = join

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        past = F.pad(self.join(k, v).mT, (self.gather.kernel_size[0] - 1, 0))
        return self.join(q, self.gather(past).mT)  # (B, L, E)


MIXERS = {
    "self-attention": (64, SelfAttention),
    "GRU": (48, Recurrent),
    "short convolutions": (36, Convolutional),
    "long convolution": (60, Long),
}
readers, scores = {}, {}  # the best of each kind; all shares of right answers
for name, (width, mixer) in MIXERS.items():
    for rate in (1e-2, 5e-3, 2e-2):
        seed(0)
        model = Reader(width, mixer(width))
        if (name, rate) == ("GRU", 1e-2):
            model = gru  # trained in part 1
        else:
            train(model, STEPS, rate)
        share = right_answers(model, 12)[0].mean().item()
        if share > max(scores.get(name, [0])):
            readers[name] = model
        scores.setdefault(name, []).append(share)
curves = {name: curve(model) for name, model in readers.items()}
print("right answers with 12 films, learning rates 0.01, 0.005, 0.02:")
for name, model in readers.items():
    count = sum(p.numel() for p in model.parameters())
    shares = "  ".join(f"{share:.2f}" for share in scores[name])
    print(f"{name:18} {count:6,d} parameters   {shares}")
attentive = readers["self-attention"]

# %% [markdown] tags=["slide", "slides-only"]
# ## The same head on ten other sentences
#
# *The trophy didn't fit in the suitcase because it was too big / small.* …

# %% tags=["fragment", "slides-only", "hide-input"]
print(f"weight from it to both nouns: {on_nouns[LAYER, HEAD]:.2f}", end="  ")
print(f"(the median head: {on_nouns.median():.2f})")
print(f"moves the right way: {moved} of 10")
print(f"picks the right noun: {picks} of 20")

# %% [markdown] tags=["notes"]
# The head is real: from “it” it looks at nouns, far more than a usual head. It may lean the right way a little (ten coins do as well one time in six). It does not decide: a coin would also get about half of 20.

# %% [markdown] tags=["slide", "slides-only"]
# ## Back to the video shop


# %% tags=["hide-input", "fragment"]
def by_distance(
    model, films=12, bins=((1, 4), (5, 8), (9, 12), (13, 16), (17, 23))
):
    """Share of right answers for questions whose note is 1–4, 5–8, … tokens away."""
    right, distance = right_answers(model, films, batch=2000)
    return [
        right[(distance >= low) & (distance <= high)].mean().item()
        for low, high in bins
    ]


LOOK = {  # colour and marker of each architecture
    "self-attention": {"color": palette.colour("attention"), "marker": "o"},
    "GRU": {"color": palette.colour("GRU"), "marker": "s"},
    "short convolutions": {
        "color": palette.colour("convolution"), "marker": "v"
    },
    "long convolution": {
        "color": palette.colour("convolution"), "marker": "D",
        "linestyle": "--", "markersize": 4,
    },
}  # fmt: skip
distances = {name: by_distance(model) for name, model in readers.items()}
fig, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True)
for name, shares in curves.items():
    axes[0].plot(SIZES, shares, **LOOK[name], label=name)
    axes[1].plot(
        ["1–4", "5–8", "9–12", "13–16", "17–23"],
        distances[name],
        **LOOK[name],
    )
axes[0].plot(SIZES, lazy_curve, ":", color="grey", label="commonest shelf")
axes[1].axhline(1 / SHELVES, linestyle=":", color="grey")
axes[0].set(
    title="More films",
    xlabel="films on the tape",
    ylabel="right answers",
    ylim=(0, 1.05),
    xticks=SIZES,
)
axes[1].set(
    title="Longer way (12 films)",
    xlabel="tokens from note to question",
)
fig.legend(loc="outside lower center", ncols=3)
axes[1].text(4, 1 / SHELVES + 0.02, "chance", color="grey", ha="right")
figures.show(
    fig,
    alt="Right answers against the number of films and against the distance between note and question. Self-attention and the long "
    "convolution stay at 1. The GRU falls as films are added. The short convolutions are at the lazy answer from four films on.",
    caption="Left: the more films, the worse the GRU. Right: the distance matters little to any of the four. Self-attention and the long convolution stay at 1.",
)

# %% tags=["held"]
sizes = {
    name: sum(p.numel() for p in model.parameters())
    for name, model in readers.items()
}
assert all(abs(size / 15_000 - 1) < 0.2 for size in sizes.values())
for name in ("self-attention", "long convolution"):
    assert sizes[name] < min(sizes["GRU"], sizes["short convolutions"])
    assert min(curves[name]) >= 0.98
    assert min(distances[name]) >= 0.98
assert curves["self-attention"][-1] - curves["GRU"][-1] >= 0.25
assert max(scores["GRU"]) == scores["GRU"][0]  # the rate of part 1
lazy_gap = [
    c - lazy for c, lazy in zip(curves["short convolutions"], lazy_curve)
]
assert lazy_gap[0] > 0.05
assert all(abs(gap) < 0.06 for gap in lazy_gap[1:])
assert max(distances["GRU"]) - min(distances["GRU"]) < 0.12
short = distances["short convolutions"]
assert max(short) - min(short) < 0.12

# %% [markdown] tags=["notes"]
# About the same number of parameters, the same 600 steps, the best of three learning rates each. A GRU nearly four times as large passes 0.9 with 12 films. The short convolutions can reach every note and hardly use it: reach is not yet look-up. The long one shows that a convolution need not fail.

# %% [markdown]
# Self-attention answers practically everything. The short convolutions reach every note, but from four films on they are no better than the lazy answer: **being able to reach a token is not the same as finding it.** A convolution need not fail, though: the long one answers everything, too. But the length of the tape is built into its filter, and all it has seen is one sum of fixed size. Attention takes any length, and keeps every note. The task is made for it, of course: it *is* a look-up. But language has look-ups, too: think of names, pronouns, quotations.

# %% [markdown] tags=["deeper"]
# ### Four fair remarks
#
# - In the right plot the GRU's line is nearly flat. The way is not its problem here; the number of films is.
# - The short convolutions are small and trained briefly. More parameters or more steps hardly help (measured below, one seed each). The long one does best with products, but with sums and a ReLU in their place it still finds most.
# - The GRU is not beaten for good. With nearly four times as many parameters it passes 0.9 here as well. But its state has a fixed size, and so has the sum of the long convolution: a longer catalogue asks for more width ([Arora et al. 2023](https://arxiv.org/abs/2312.04927) measure this for convolutions between products), while the memory of attention *is* the tape.
# - To our attention layer the past is a bag of notes without an order. That is enough here. Chapter 5 shows where it is not.


# %% tags=["deeper", "nbval-ignore-output"]
def summed(width):
    return Long(width, join=lambda a, b: F.relu(a + b))


others = {}
for what, width, mixer, steps in (
    ("short, over four times the parameters", 76, Convolutional, STEPS),
    ("short, 2.5 times the steps", 36, Convolutional, 1500),
    ("long, sums instead of products", 60, summed, STEPS),
):
    seed(0)
    model = Reader(width, mixer(width))
    train(model, steps, rate=1e-2)
    others[what] = right_answers(model, 12)[0].mean().item()
    print(f"{what}: {others[what]:.2f} with 12 films")
print(f"the commonest shelf: {lazy_curve[-1]:.2f}")

# %% tags=["held", "deeper"]
more, longer, sums = others.values()
assert abs(more - lazy_curve[-1]) < 0.08
assert abs(longer - lazy_curve[-1]) < 0.08
assert 0.7 < sums < 0.97

# %% [markdown] tags=["deeper"]
# ### What did it learn?
#
# Here are its real queries and keys on one tape. **Before you look:** at which column should the row `C?` point?

# %% tags=["hide-input", "deeper"]
seed(0)
titles, shelves, answers, _ = tapes(1, films=5)
tape = spell(titles, shelves)
with torch.no_grad():
    tokens = attentive.title(titles) + attentive.shelf(shelves)  # (1, 10, 64)
    tape_q, tape_k = (
        attentive.mixer.query(tokens)[0],
        attentive.mixer.key(tokens)[0],
    )
AttentionHeatmap(
    q=tape_q,
    k=tape_k,
    tokens=tape,
    mask="causal",
    title="What the trained reader looks at",
    caption="Each question finds the one note with its title. Now raise the temperature: when does a question's own note get less than half?",
)

# %% [markdown]
# ### Three ways of processing a sequence
#
# What sets the three apart, in formulas, is Table 1 of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762) ($n$ tokens, width $d$, kernel $k$, neighbourhood $r$), with one line of ours for comparison, the first:
#
# | layer | operations per layer | sequential steps | longest path |
# |---|---|---|---|
# | fully connected, all tokens as one vector | $O(n^2 \cdot d^2)$ | $O(1)$ | $O(1)$ |
# | self-attention | $O(n^2 \cdot d)$ | $O(1)$ | $O(1)$ |
# | recurrent | $O(n \cdot d^2)$ | $O(n)$ | $O(n)$ |
# | convolutional | $O(k \cdot n \cdot d^2)$ | $O(1)$ | $O(\log_k n)$ with dilation, $O(n/k)$ without |
# | self-attention, restricted to $r$ neighbours | $O(r \cdot n \cdot d)$ | $O(1)$ | $O(n/r)$ |
#
# The table counts only the scores and the mixture. The projections add $O(n \cdot d^2)$, of the same order as the RNN's matrices; the second fold below measures when that matters. (The paper's table gives only the dilated path; its text gives the other.) Read it column by column. No path is shorter than self-attention's, and nothing has to wait. It pays for this in the first column, with $n^2$.

# %% tags=["held"]
found = weights(tape_q, tape_k, causal=True)[5:, :5]  # questions × notes
match = titles[0, 5:, None] == titles[0, None, :5]
assert found[match].min() > 0.8
heated = [
    weights(tape_q, tape_k, causal=True, temperature=t)[5:, :5][match].min()
    for t in (2, 8)
]
assert heated[0] > 0.5 > heated[1]

# %% [markdown] tags=["slide", "slides-only"]
# ## What each kind of layer costs
#
# | layer | operations | sequential steps | longest path |
# |---|---|---|---|
# | fully connected | $O(n^2 d^2)$ | $O(1)$ | $O(1)$ |
# | self-attention | $O(n^2 d)$ | $O(1)$ | $O(1)$ |
# | recurrent | $O(n d^2)$ | $O(n)$ | $O(n)$ |
# | convolutional | $O(k n d^2)$ | $O(1)$ | $O(\log_k n)$ dilated |
# | restricted attention | $O(r n d)$ | $O(1)$ | $O(n/r)$ |
#
# Vaswani et al. 2017, Table 1; the first line is ours. Attention's projections add $O(n d^2)$.

# %% [markdown] tags=["notes"]
# Read it column by column. Self-attention is best or level in two of three, and pays in the first.

# %% [markdown] tags=["deeper"]
# ### Measured: path, waiting, memory
#
# **Path length.** How many layers or steps lie between the first token and the last? For the convolution we ask autograd: stack layers until the gradient of the last output with respect to the first input is no longer zero. For the RNN we count how often its cell runs, one call after the other.


# %% tags=["deeper"]
def conv_layers(n, dilated=False):
    """Convolutions until the last output depends on the first input."""
    x = torch.zeros(1, 1, n, requires_grad=True)
    y, layers, kernel = x, 0, torch.ones(1, 1, 3)
    while True:
        step = 2**layers if dilated else 1
        y = F.conv1d(y, kernel, padding=step, dilation=step)
        layers += 1
        (slope,) = torch.autograd.grad(y[0, 0, -1], x, retain_graph=True)
        if slope[0, 0, 0] != 0:
            return layers


def rnn_steps(n):
    """Calls of an RNN's cell from the first input to the last output."""
    cell, state, calls = nn.RNNCell(4, 4), torch.zeros(1, 4), []
    cell.register_forward_hook(lambda *_: calls.append(1))
    for token in torch.randn(n, 1, 4):
        state = cell(token, state)
    return len(calls)


def attention_layers(n):
    """Attentions until the last output depends on the first input."""
    x = torch.randn(n, 4, requires_grad=True)
    y, layers = x, 0
    while True:
        y, layers = attention(y, y, y), layers + 1
        (slope,) = torch.autograd.grad(y[-1].sum(), x, retain_graph=True)
        if (slope[0] != 0).any():
            return layers


# %% tags=["deeper"]
print("tokens apart:          ", *(f"{n:4d}" for n in (8, 16, 32, 64)))
for name, count in (
    ("RNN, steps", rnn_steps),
    ("convolution, layers", conv_layers),
    ("  dilated 1, 2, 4, …", lambda n: conv_layers(n, dilated=True)),
    ("self-attention, layers", attention_layers),
):
    print(f"{name:23}", *(f"{count(n + 1):4d}" for n in (8, 16, 32, 64)))

# %% [markdown] tags=["deeper"]
# **Parallelism.** How much of a layer has to wait? Autograd remembers which operation needed the result of which. We build one layer of each kind and follow the longest chain of operations in which each one waits for the one before. The numbers include PyTorch's book-keeping (transposes and the like), and a fused kernel has fewer. Look at how they *grow*.

# %% tags=["deeper"]
WIDTH = 64
seed(0)
cell = nn.GRUCell(WIDTH, WIDTH)
conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)
to_q, to_k, to_v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))


def by_recurrence(x):
    state, out = torch.zeros(1, WIDTH), []
    for token in x:  # one after the other
        state = cell(token[None], state)
        out.append(state)
    return torch.cat(out)


def by_convolution(x):
    return conv(x.T).T


def by_attention(x):
    return our_attention(to_q(x), to_k(x), to_v(x))


LAYERS = {
    "RNN": by_recurrence,
    "convolution": by_convolution,
    "self-attention": by_attention,
}


# %% tags=["deeper"]
def chain(layer, n):
    """Operations of the longest chain in which each waits for the last."""
    end = layer(torch.randn(n, WIDTH)).grad_fn
    longest, open_ends = {None: 0}, [end]
    while open_ends:  # no recursion: the RNN's chain is too long for it
        needs = [node for node, _ in open_ends[-1].next_functions]
        unknown = [node for node in needs if node not in longest]
        if unknown:
            open_ends += unknown
        else:
            lengths = [longest[node] for node in needs]
            longest[open_ends.pop()] = 1 + max(lengths, default=0)
    return longest[end]


print("tokens:        ", *(f"{n:5d}" for n in (16, 64, 256, 1024)))
for name, layer in LAYERS.items():
    chains = (chain(layer, n) for n in (16, 64, 256, 1024))
    print(f"{name:15}", *(f"{count:5d}" for count in chains))

# %% [markdown] tags=["deeper"]
# Four times the tokens make the RNN's chain four times as long. The other two have the same chain for any text: more tokens are more work, but no more waiting.
#
# **Memory.** For a training step every layer keeps numbers for the backward pass. PyTorch lets us listen when it puts something aside.


# %% tags=["deeper"]
def kept(layer, n):
    """Megabytes kept for the backward pass over n tokens."""
    sizes = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if not isinstance(tensor, nn.Parameter):  # weights exist anyway
            sizes[storage.data_ptr()] = storage.nbytes()  # each only once
        return tensor

    x = torch.randn(n, WIDTH)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        output = layer(x)  # held until the end: no address is used twice
    del output
    return sum(sizes.values()) / 1e6


for name, layer in LAYERS.items():
    growth = kept(layer, 2048) / kept(layer, 1024)
    print(f"{name:15} twice the tokens: {growth:.1f} times the memory")


# %% [markdown] tags=["deeper"]
# Self-attention's memory grows nearly with $N^2$; the other two grow with $N$. The GPU exercise measures memory and time up to what your device holds, and shows how a fused kernel avoids the square.

# %% [markdown] tags=["deeper"]
# ### Two regimes: N²D and ND²
#
# Is $N^2$ always the problem? Count the multiplications and additions of one layer with $N$ tokens of width $D$, including the output projection that chapter 4 adds:
#
# - four projections, $(N, D) \cdot (D, D)$ each: $4 \cdot 2 N D^2 = 8 N D^2$;
# - scores and mixture, $(N, D) \cdot (D, N)$ and $(N, N) \cdot (N, D)$: $2 \cdot 2 N^2 D = 4 N^2 D$.
#
# They are equal when $4 N^2 D = 8 N D^2$, that is at $N = 2D$. **Guess:** for a Transformer of width 512 and sentences of 30 words, which part costs more? Let PyTorch count.


# %% tags=["deeper", "hide-input"]
def operations(n, d):
    """Operations of the four projections, and of scores and mixture."""
    x, matrices = torch.randn(n, d), torch.randn(4, d, d)
    with FlopCounterMode(display=False) as projections:
        q, k, v, _ = (x @ w for w in matrices)
    with FlopCounterMode(display=False) as mixing:
        our_attention(q, k, v)
    return projections.get_total_flops(), mixing.get_total_flops()


for n, d in [(16, 64), (128, 64), (2048, 64), (30, 512)]:
    project, mix = operations(n, d)
    print(
        f"D = {d:3}, N = {n:4}: scores and mixture are {mix / (project + mix):.0%} of all operations"
    )

# %% [markdown] tags=["slide", "slides-only"]
# ## Short texts pay for projections, long ones for the square

# %% tags=["hide-input", "deeper", "fragment"]
lengths = [16, 64, 256, 1024]
seed(0)
matrices = torch.randn(4, WIDTH, WIDTH) / math.sqrt(WIDTH)
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6))
counted = [operations(n, WIDTH) for n in lengths]
measured = []
with torch.no_grad():
    for n in lengths:
        tokens = torch.randn(n, WIDTH)
        q, k, v, _ = (tokens @ w for w in matrices)
        measured.append(
            (
                1e3
                * seconds(
                    lambda tokens=tokens: [tokens @ w for w in matrices],
                    repeats=5,
                ),
                1e3
                * seconds(
                    lambda q=q, k=k, v=v: our_attention(q, k, v), repeats=5
                ),
            )
        )
for ax, values, unit in (
    (axes[0], counted, "operations"),
    (axes[1], measured, "milliseconds"),
):
    ax.plot(lengths, [one[0] for one in values], "o-", label="projections")
    ax.plot(
        lengths,
        [one[1] for one in values],
        "s-",
        label="scores, mixture",
    )
    ax.axvline(2 * WIDTH, ymin=0.25, linestyle=":", color="grey")
    ax.set(
        ylabel=unit,
        xscale="log",
        yscale="log",
        xticks=lengths,
        xticklabels=lengths,
    )
    ax.minorticks_off()
axes[0].set_xlabel("tokens $N$")
axes[1].set_xlabel("tokens $N$")
axes[0].text(
    2 * WIDTH, counted[-1][1] / 4, "$N = 2D$ ", color="grey", ha="right"
)
axes[0].set_title("Counted, D = 64")
axes[1].set_title("Timed on this machine")
axes[0].legend(loc="lower right", handlelength=1)
figures.show(
    fig,
    alt="Operations and time against the number of tokens. Projections grow in proportion to N, scores and mixture with "
    "N squared; the counted lines cross at N equal to twice D.",
    caption="Left of N = 2D the projections cost more. Timed, they may cross elsewhere: the softmax is counted as no operation, but takes time.",
)

# %% [markdown] tags=["deeper"]
# For sentences the quadratic part is small change: at width 512 and 30 tokens it is a few percent (last line printed). Where $N$ is far beyond $2D$ it is nearly everything. Windows cut it down (chapter 9); a fused kernel saves the memory, not the operations (chapter 10). Counted in the same way, a GRU takes $12ND^2$ operations, six products for each token, and a convolution of width 3 takes $6ND^2$: the GRU is cheaper beyond $N = D$, the convolution at any length. A picture need not be long: a ViT-B/16 reads 196 patches at width 768 ([Dosovitskiy et al. 2020](https://arxiv.org/abs/2010.11929)), far below the border. And a whole Transformer block has a feed-forward part as well (chapter 6), of $16ND^2$ operations, so its border lies at $N = 6D$. When somebody says "attention is quadratic", ask: *at which N, and which D?*

# %% [markdown] tags=["notes"]
# For sentences the quadratic part is a few percent, for very long texts nearly everything. N = 2D is the border of one layer. A ViT's picture (196 patches, width 768) is below it. The GPU exercise measures up to what the card holds.

# %% [markdown]
# ## 6 · Misconceptions
#
# ### "Attention is a similarity search"
#
# You may read that attention mixes similar token vectors, like a vector database. If so, the word a head attends to most, apart from the word itself, should be the nearest by cosine. Test it on the encoder: 18 sentences, 72 heads, without `[CLS]`, `[SEP]` and the full stop.

# %% tags=["held"]
assert [conv_layers(n + 1) for n in (8, 16)] == [8, 16]
assert conv_layers(10) == 9
assert [conv_layers(n + 1, dilated=True) for n in (8, 16)] == [4, 5]
assert conv_layers(10, dilated=True) == 4
assert rnn_steps(9) == 9
assert attention_layers(65) == 1
assert abs(chain(LAYERS["RNN"], 256) / chain(LAYERS["RNN"], 64) - 4) < 0.04
assert chain(by_convolution, 256) == chain(by_convolution, 64) < 10
assert chain(by_attention, 256) == chain(by_attention, 64) < 10
growth = {
    name: kept(layer, 2048) / kept(layer, 1024)
    for name, layer in LAYERS.items()
}
assert abs(growth["RNN"] - 2) < 0.05
assert abs(growth["convolution"] - 2) < 0.05
assert growth["self-attention"] > 3.3

# %% tags=["held"]
assert operations(128, 64) == (16 * 64**3, 16 * 64**3)
project, mix = operations(30, 512)
assert mix / (project + mix) < 0.05

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## “Attention is a similarity search”
#
# If so, a head's favourite word should be the most *similar* word. Is it?

# %% tags=["plumbing"]
hits, selves, chance, total = 0, 0, 0.0, 0
for text in RIVER + MONEY + FRESH:
    with record(encoder) as maps:
        states = encoder.states(read(text.replace("/", " or "))[1])
    inner = slice(1, -2)  # without [CLS], full stop and [SEP]
    x_in = states[:-1, 0, inner]  # (6, L, 384): what a layer reads
    alpha_in = stack(maps)[0, :, :, inner, inner]  # (6, 12, L, L)
    count = x_in.shape[1]
    itself = torch.eye(count, dtype=torch.bool)
    most_similar = all_cosines(x_in).masked_fill(itself, -1).argmax(-1)
    favourite = alpha_in.masked_fill(itself, -1).argmax(-1)  # (6, 12, L)
    hits += int((favourite == most_similar[:, None]).sum())
    selves += int((alpha_in.argmax(-1) == torch.arange(count)).sum())
    chance += favourite.numel() / (count - 1)
    total += favourite.numel()
print(f"the favourite is the most similar other word: {hits / total:.0%}")
print(f"a random other word would be:                 {chance / total:.0%}")
print(f"the favourite of all is the word itself:      {selves / total:.0%}")

# %% tags=["held"]
assert abs(hits / total - 1 / 7) < 0.01
assert 1.5 * chance < hits < 2 * chance
assert selves / total < 0.25

# %% tags=["fragment", "slides-only", "hide-input"]
print(f"the favourite is the most similar other word: {hits / total:.0%}")
print(f"a random other word would be:                 {chance / total:.0%}")

# %% [markdown]
# About one time in seven: not even twice as often as by chance, and nothing like a search. The formula does not ask for more. With row vectors,
#
# $$q_i \cdot k_j = (x_i W_q)(x_j W_k)^\top = x_i \underbrace{W_q W_k^\top}_{M,\ (E,\,E)} x_j^\top .$$
#
# A search for similar vectors would have $M$ = identity. Attention *learns* $M$. It is a bilinear form: which property of $x_i$ goes looking for which property of $x_j$. Nouns may look for verbs, opening brackets for closing ones. And $M$ is **not symmetric**:
# how much $i$ wants $j$ need not be how much $j$ wants $i$. In the encoder, the median head of the 72 has an $M$ about as symmetric as a random matrix (the fold shows all).

# %% [markdown] tags=["deeper"]
# ### How symmetric are real heads?
#
# Scores of one head in both directions, and the symmetric share of $M$ in all 72 heads.

# %% [markdown] tags=["slide", "slides-only"]
# ## $q_i \cdot k_j = x_i\, W_q W_k^\top x_j^\top$: a learned question

# %% tags=["hide-input", "fragment", "deeper"]
tokens, numbers = read(FAMOUS.format("tired"))
scores = []
for layer, x_in in zip(encoder.encoder.layers, encoder.states(numbers)):
    w = layer.self_attention
    q, k = (split(w_(x_in[0]), 12) for w_ in (w.query, w.key))  # (12, L, 32)
    scores.append(q @ k.mT / math.sqrt(32))
scores = torch.cat(scores)  # (72, L, L)
i, j = torch.triu_indices(len(tokens), len(tokens), offset=1)
there, back = scores[:, i, j], scores[:, j, i]  # (72, pairs)
both = torch.stack([there, back], dim=1)  # (72, 2, pairs)
agreement = torch.stack([torch.corrcoef(pair)[0, 1] for pair in both])

symmetric = []
for layer in encoder.encoder.layers:
    w = layer.self_attention
    by_head = [m.weight.T.unflatten(1, (12, 32)) for m in (w.query, w.key)]
    w_qs, w_ks = (m.transpose(0, 1) for m in by_head)  # (12, 384, 32)
    M = w_qs @ w_ks.mT  # (12, 384, 384)
    part = (M + M.mT) / 2  # the symmetric part of M
    symmetric.append(part.pow(2).sum((1, 2)) / M.pow(2).sum((1, 2)))
symmetric = torch.cat(symmetric)  # (72,)

fig, axes = plt.subplots(1, 2, figsize=(8, 3.7))
ours = LAYER * 12 + HEAD
axes[0].scatter(there[ours], back[ours], s=14, alpha=0.7)
low, high = (
    min(there[ours].min(), back[ours].min()),
    max(there[ours].max(), back[ours].max()),
)
axes[0].plot([low, high], [low, high], ":", color="grey")
axes[0].set(
    title=f"Layer {LAYER}, head {HEAD}",
    xlabel="$s_{ij}$, $i$ looks at $j$",
    ylabel="$s_{ji}$, $j$ looks at $i$",
)
axes[1].hist(symmetric, bins=20, range=(0, 1))
axes[1].axvline(0.5, linestyle=":", color="grey")
axes[1].axvline(1.0, linestyle=":", color="grey")
axes[1].set(
    title="All 72 heads",
    xlabel="symmetric share of $M = W_q W_k^T$",
    ylabel="heads",
)
axes[1].text(
    0.49, axes[1].get_ylim()[1] * 0.93, "random", ha="right", color="grey"
)
axes[1].text(
    0.99, axes[1].get_ylim()[1] * 0.93, "similarity", ha="right", color="grey"
)
figures.show(
    fig,
    alt="Left: scores of word pairs in both directions, scattered far from the diagonal. Right: histogram of how "
    "symmetric the learned form of each of 72 heads is; most lie near the value of a random matrix, none at 1.",
    caption="A similarity would put all points on the dotted diagonal, and all heads at 1. The median of the 72 heads is at 0.56, a random matrix at 0.5.",
)

# %% tags=["held", "deeper"]
assert agreement.min() < -0.3
assert agreement.max() < 0.7
assert symmetric.max() < 0.9
assert abs(symmetric.median() - 0.56) < 0.02

# %% [markdown] tags=["notes"]
# Two facts: the favourite word is seldom the most similar word, and the learned form is about as symmetric as a random matrix. Attention is a learned question, not a distance.

# %% [markdown] tags=["deeper"]
# ### "The values are the keys"
#
# In a vector database you search by a vector and get that vector's document. Chapter 2 did use one vector for both jobs. If values were only keys by another name, both would say the same of a note. In the video shop a note
# has two parts, a title and a shelf. How much of a key's spread over all notes comes from the title, and how much of a value's? **Guess first.**


# %% tags=["deeper", "plumbing", "nbval-ignore-output"]
@torch.no_grad()
def title_share(matrix):
    """How much of the spread comes from the title, not the shelf."""
    tables = attentive.title.weight, attentive.shelf.weight[:SHELVES]
    spreads = [(t @ matrix.weight.T).var(0, unbiased=False) for t in tables]
    title, shelf = (spread.sum() for spread in spreads)
    return (title / (title + shelf)).item()


in_keys = title_share(attentive.mixer.key)
in_values = title_share(attentive.mixer.value)
print(f"spread of the keys that comes from the title:   {in_keys:.0%}")
print(f"spread of the values that comes from the title: {in_values:.0%}")

# %% tags=["held", "deeper"]
assert in_keys >= 0.7
assert in_values <= 0.3
seed(0)  # one vector can do both jobs
mixer = SelfAttention(64)
mixer.value = mixer.key
one_vector = Reader(64, mixer)
train(one_vector, STEPS, rate=1e-2)
assert right_answers(one_vector, 12)[0].mean() >= 0.98

# %% [markdown] tags=["deeper"]
# The keys speak of titles, the values of shelves, and nobody told the model so. One vector *can* do both jobs here (train with $v = k$: it works, too), but two matrices let each do one. **Keys are for being found. Values are for being used.** The film catalogue
# said so from the beginning: you search by mood, and you get minutes.

# %% [markdown]
# ## 7 · Exercises
#
# Write your answer where the dots are, run the cell, then run the check: it tells you in words what it saw. Open one hint at a time.

# %% [markdown] tags=["exercise"] exercise="03.1"
# ### Exercise 3.1 ★ · Attention weights by hand (5 min)
#
# Write `my_weights(q, k)`. It takes queries $q$ of shape $(\dots, L, D)$ and keys $k$ of shape
# $(\dots, S, D)$, and returns the weights
#
# $$\alpha = \operatorname{softmax}\!\left(\frac{q\,k^\top}{\sqrt{D}}\right), \qquad \text{shape } (\dots, L, S).$$
#
# Row $i$ says how query $i$ shares out its attention. The dots stand for any number of leading axes: none,
# a batch, or a batch and heads. Your function should not care which.


# %% tags=["stub"] exercise="03.1"
def my_weights(q, k):
    """(..., L, D) queries and (..., S, D) keys -> (..., L, S) weights."""
    scores = ...  # every query with every key
    scores = ...  # spread near 1 for any D
    return ...  # each query shares out 1 among the keys


# %% [markdown] tags=["hint"] exercise="03.1"
# Think of one number first. The score of query $i$ and key $j$ is the dot product $q_i \cdot k_j$. Which matrix product
# gives all of them at once?

# %% [markdown] tags=["hint"] exercise="03.1"
# `k.T` turns *all* the axes round. `k.transpose(-2, -1)`, or `k.mT` for short, swaps only the last two, so it also works with a batch in front.

# %% [markdown] tags=["hint"] exercise="03.1"
# $D$ is `q.shape[-1]`. The softmax runs over the keys, and the keys lie along the last axis of the scores.


# %% tags=["solution"] exercise="03.1"
def my_weights(q, k):
    """(..., L, D) queries and (..., S, D) keys -> (..., L, S) weights."""
    scores = q @ k.transpose(-2, -1)  # every query with every key
    scores = scores / math.sqrt(q.shape[-1])  # spread near 1 for any D
    return scores.softmax(dim=-1)  # each query shares out 1 among the keys


# %% tags=["check"] exercise="03.1"
check("03.1", my_weights)

# %% [markdown] tags=["exercise"] exercise="03.2"
# ### Exercise 3.2 ★ · A causal mask (8 min)
#
# Write `my_causal_mask(L, S)`. It returns a bool mask of shape $(L, S)$ where `True` means *may attend*.
#
# There are $S$ keys, and the $L$ queries are the **last** $L$ of those tokens ($L \le S$). That is how a
# language model writes: the first tokens have been read before, and only the new ones ask. So the last query
# sees every key, the query before it all but the last, and so on. For `my_causal_mask(2, 5)`:
#
# ```
# ■ ■ ■ ■ ·
# ■ ■ ■ ■ ■
# ```


# %% tags=["stub"] exercise="03.2"
def my_causal_mask(L, S):
    """(L, S) bool mask for the last L of S tokens: True = may attend."""
    query = ...  # (L, 1): where each query stands, from 0 to S - 1
    key = ...  # (1, S): where each key stands
    return ...  # (L, S)


# %% [markdown] tags=["hint"] exercise="03.2"
# Start with $L = S$. Query $i$ may look at key $j$ when $j \le i$: it sees the past and itself.

# %% [markdown] tags=["hint"] exercise="03.2"
# When $L < S$, the first query does not stand at position 0 of the text. How many tokens come before it?

# %% [markdown] tags=["hint"] exercise="03.2"
# The queries stand at positions $S - L, \dots, S - 1$. A column of query positions compared with a row of key positions (`<=`)
# broadcasts to the whole table. `torch.ones(L, S, dtype=torch.bool).tril(diagonal=...)` is another way.


# %% tags=["solution"] exercise="03.2"
def my_causal_mask(L, S):
    """(L, S) bool mask for the last L of S tokens: True = may attend."""
    query = torch.arange(S - L, S)[:, None]  # (L, 1): its position
    key = torch.arange(S)[None, :]  # (1, S): where each key stands
    return key <= query  # (L, S)


# %% tags=["check"] exercise="03.2"
check("03.2", my_causal_mask)

# %% [markdown] tags=["exercise"] exercise="03.3"
# ### Exercise 3.3 ★★ · Masked attention that never breaks (15 min)
#
# Write `my_attention(q, k, v, mask)` for $q$ $(\dots, L, D)$, $k$ $(\dots, S, D)$, $v$ $(\dots, S, D_v)$ and a bool `mask` that
# broadcasts to $(\dots, L, S)$, `True` = may attend. It returns $(\dots, L, D_v)$.
#
# - A hidden key has no influence at all, and the visible ones still share out exactly 1.
# - A query that may look at nothing (all padding) gives **zeros**, not `nan` and not an average of everything.
# - Training goes through it: the gradients are finite, even beside an empty row.


# %% tags=["stub"] exercise="03.3"
def my_attention(q, k, v, mask):
    """Attention over the keys that mask allows; empty rows give zeros."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., L, S)
    scores = ...  # hide what may not be seen
    weights = ...
    weights = ...  # a row with nothing to see: zeros
    return weights @ v  # (..., L, D_v)


# %% [markdown] tags=["hint"] exercise="03.3"
# Hide a key *before* the softmax. Which score $s$ makes $e^{s}$ exactly 0?

# %% [markdown] tags=["hint"] exercise="03.3"
# `masked_fill(where, value)` writes where its mask is `True`. Ours is `True` where a query **may** look, so you need `~mask`.

# %% [markdown] tags=["hint"] exercise="03.3"
# A row of nothing but $-\infty$ becomes $0/0$ in the softmax, so its weights are `nan`. What stands at a hidden position after the softmax
# should be 0 in every case. Write that with a second `masked_fill`.


# %% tags=["solution"] exercise="03.3"
def my_attention(q, k, v, mask):
    """Attention over the keys that mask allows; empty rows give zeros."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., L, S)
    scores = scores.masked_fill(~mask, -torch.inf)  # hide
    weights = scores.softmax(dim=-1)
    weights = weights.masked_fill(~mask, 0.0)  # an empty row: zeros
    return weights @ v  # (..., L, D_v)


# %% tags=["check"] exercise="03.3"
check("03.3", my_attention)

# %% [markdown] tags=["exercise"] exercise="03.4"
# ### Exercise 3.4 ★★ · Cross-attention (10 min)
#
# In cross-attention one sequence asks and another one answers: a French sentence being written looks at
# the English one. Write `my_cross_attention(x, context, w_q, w_k, w_v)`. The tokens `x` $(\dots, L, E)$ ask, with $q = x\,W_q$; the tokens `context` $(\dots, S, E_c)$ are looked at. `w_q` is $(E, D)$, `w_k` $(E_c, D)$ and `w_v` $(E_c, D_v)$.
#
# The result has shape $(\dots, L, D_v)$. There is no mask. Before you run it, decide: if you shuffle the tokens of `context`, what happens to the
# output?


# %% tags=["stub"] exercise="03.4"
def my_cross_attention(x, context, w_q, w_k, w_v):
    """Each token of x takes what it needs from context: (..., L, D_v)."""
    q = ...  # (..., L, D)
    k = ...  # (..., S, D)
    v = ...  # (..., S, D_v)
    weights = ...  # (..., L, S)
    return ...


# %% [markdown] tags=["hint"] exercise="03.4"
# Who asks? Who is looked at? Who is copied from? Three questions, three matrices, but only two sequences.

# %% [markdown] tags=["hint"] exercise="03.4"
# Keys and values belong together: value $j$ is what you get when key $j$ matches. So both come from the same tokens.

# %% [markdown] tags=["hint"] exercise="03.4"
# After the three projections this is exercise 3.1, and one more product with `v`.


# %% tags=["solution"] exercise="03.4"
def my_cross_attention(x, context, w_q, w_k, w_v):
    """Each token of x takes what it needs from context: (..., L, D_v)."""
    q = x @ w_q  # (..., L, D)
    k = context @ w_k  # (..., S, D)
    v = context @ w_v  # (..., S, D_v)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = scores.softmax(dim=-1)  # (..., L, S)
    return weights @ v


# %% tags=["check"] exercise="03.4"
check("03.4", my_cross_attention)

# %% [markdown] tags=["exercise"] exercise="03.5"
# ### Exercise 3.5 ★★★ · Design a head that looks back (25 min)
#
# This time nothing is given and many answers are right. Put $n$ tokens on a circle, like the days of a week:
#
# $$x_i = \left(\cos\frac{2\pi i}{n},\ \sin\frac{2\pi i}{n}\right), \qquad i = 0, \dots, n-1.$$
#
# Write `look_back(n)`. It returns two matrices `w_q` and `w_k`, both of shape $(2, D)$ with a $D$ of your choice, such that
# in $\operatorname{softmax}\!\left(x W_q (x W_k)^\top / \sqrt{D}\right)$ **every day gives at least 0.9 of its attention to the day before it**.
# Day 0 looks at day $n - 1$. It should work for any $n$ from 3 to 365.
#
# Think it out on paper, or let an optimiser search for it. Then ask yourself: could one shared matrix, $W_q = W_k$, do this?


# %% tags=["stub"] exercise="03.5"
def circle(n):
    """n tokens on a circle of radius 1: (n, 2)."""
    angle = torch.arange(n) * (2 * math.pi / n)
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


def look_back(n):
    """w_q and w_k, both (2, D): token i of circle(n) looks at i - 1."""
    step = 2 * math.pi / n  # the angle from one day to the next
    w_q = ...
    w_k = ...
    return w_q, w_k


# %% [markdown] tags=["hint"] exercise="03.5"
# With $W_q = W_k = I$ every day looks mostly at itself: nothing is nearer to $x_i$ than $x_i$. What should
# the *query* of day $i$ point at instead?

# %% [markdown] tags=["hint"] exercise="03.5"
# At $x_{i-1}$. To get from $x_i$ to $x_{i-1}$, turn back by one step. A rotation is a $2 \times 2$ matrix. Mind which side: our vectors are rows, $q = x\,W_q$.
# If every day looks at *tomorrow*, transpose it.

# %% [markdown] tags=["hint"] exercise="03.5"
# Right direction but too blunt? The neighbours of the right day score almost as high: only $1 - \cos(2\pi/n)$ less. Multiplying $W_q$ by a number $c$ widens
# that gap $c$ times, like a low temperature. Larger $n$, smaller gap, larger $c$.


# %% tags=["solution"] exercise="03.5"
def circle(n):
    """n tokens on a circle of radius 1: (n, 2)."""
    angle = torch.arange(n) * (2 * math.pi / n)
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


def look_back(n):
    """w_q and w_k, both (2, D): token i of circle(n) looks at i - 1."""
    step = 2 * math.pi / n  # the angle from one day to the next
    cos, sin = math.cos(step), math.sin(step)
    sharp = 8 / (1 - cos)  # the runner-up scores 1 - cos less
    turn_back = torch.tensor([[cos, -sin], [sin, cos]])  # for row vectors
    w_q = sharp * turn_back
    w_k = torch.eye(2)  # a key says where its token stands
    return w_q, w_k


# %% tags=["check"] exercise="03.5"
check("03.5", look_back)

# %% tags=["held"]
for days in (3, 7, 12, 365):
    turn = circle(days)
    w_q, w_k = look_back(days)
    looks = weights(turn @ w_q, turn @ w_k)
    assert looks[torch.arange(days), torch.arange(days) - 1].min() >= 0.9

# %% [markdown] tags=["exercise"] exercise="03.7"
# ### Exercise 3.7 ★★ · Find the bug (10 min)
#
# This layer subtracts each vector's own mean (chapter 6 will say what that is good for). Then each token looks at itself and at its past. The mask is right, and still the layer fails the leak test: change the last token, and the outputs before it change.
#
# ```python
# def centred_attention(x):
#     x = x - x.mean(dim=-2, keepdim=True)  # each vector's own mean
#     scores = x @ x.mT / math.sqrt(x.shape[-1])
#     future = torch.ones_like(scores, dtype=torch.bool).triu(1)
#     return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ x
# ```
#
# Find the bug and write the function without it. $x$ has shape $(\dots, L, D)$, and so has the result. (Exercise 3.6 is in the GPU notebook.)


# %% tags=["stub"] exercise="03.7"
def centred_attention(x):
    """Causal self-attention of centred vectors: (..., L, D)."""
    x = ...  # each vector without its own mean
    return ...


# %% [markdown] tags=["hint"] exercise="03.7"
# A mask guards the attention alone. In which *other* line do numbers of several tokens meet?

# %% [markdown] tags=["hint"] exercise="03.7"
# What is the shape of `x.mean(dim=-2, keepdim=True)`, and over what was the mean taken? Tokens lie along axis −2, the numbers of one token along axis −1.


# %% tags=["solution"] exercise="03.7"
def centred_attention(x):
    """Causal self-attention of centred vectors: (..., L, D)."""
    x = x - x.mean(dim=-1, keepdim=True)  # each vector's own mean
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ x


# %% tags=["check"] exercise="03.7"
check("03.7", centred_attention)

# %% [markdown] tags=["exercise"] exercise="03.8"
# ### Exercise 3.8 ★ · Predict, then run (8 min)
#
# $Q = XW_q$, $K = XW_k$, and the weights are $\operatorname{softmax}(QK^\top/\sqrt D)$. Change one thing. Are the *weights* still the same? Predict, then let the checker run each change on random numbers. `weights_stay(change)` returns `True` if they stay. The changes: $W_q$ doubled; $W_v$ doubled; $W_q$ doubled and $W_k$ halved; $W_q$ and $W_k$ swapped; the same vector added to every key, or to every query; queries and keys turned by the same rotation.


# %% tags=["stub"] exercise="03.8"
def weights_stay(change):
    """Are the weights the same after the change?"""
    return {
        "W_q doubled": ...,
        "W_v doubled": ...,
        "W_q doubled, W_k halved": ...,
        "W_q and W_k swapped": ...,
        "the same vector added to every key": ...,
        "the same vector added to every query": ...,
        "queries and keys turned by the same rotation": ...,
    }[change]


# %% [markdown] tags=["hint"] exercise="03.8"
# Write one score, $q_i \cdot k_j$, before and after the change. Which new terms come in?

# %% [markdown] tags=["hint"] exercise="03.8"
# A term that is the same for all keys $j$ cancels in the softmax of row $i$. A term that is the same for all queries does not.


# %% tags=["solution"] exercise="03.8"
def weights_stay(change):
    """Are the weights the same after the change?"""
    return change in (
        "W_v doubled",
        "W_q doubled, W_k halved",
        "the same vector added to every key",
        "queries and keys turned by the same rotation",
    )


# %% tags=["check"] exercise="03.8"
check("03.8", weights_stay)

# %% [markdown]
# ### GPU exercise · What does attention cost?
#
# In a notebook of its own, [attention cost on your device](gpu_03_attention_cost.ipynb): memory and time up to what your device holds, explicit against fused. It runs small on a CPU, at full size on a free Colab GPU.

# %% [markdown] tags=["slide"]
# ## 8 · Takeaways
#
# 1. **Self-attention lets every token look straight at every other**, in one step: $O = \operatorname{softmax}(QK^\top/\sqrt D)\,V$.
# 2. **Three matrices, three jobs:** how to ask, how to be found, what to hand over. One shared matrix makes the scores symmetric, and *who looks at whom* is not.
# 3. **√D keeps the spread of the scores near 1** (for entries of variance 1). Without it the softmax of a wide head saturates; the widest of our test, started as usual, learned far less.
# 4. **Masks put −∞ into the scores**, before the softmax. With a causal mask one pass trains on every prefix of a text.
# 5. **It costs $N^2D$ for scores and mixture, and $ND^2$ for the projections**, which Table 1 leaves out. The square matters beyond $N \approx 2D$; below, the projections do.

# %% [markdown] tags=["deeper"]
# ### Shapes and costs
#
# One layer, one head, $N$ tokens of width $E$, head width $D$ (the last column with $E = D$). $W_o$, which leads back to the width $E$, comes in chapter 4; the costs of part 5 include it.
#
# | | shape | parameters | operations |
# |---|---|---|---|
# | tokens $X$ | $(N, E)$ | | |
# | $W_q$, $W_k$, $W_v$ | $(E, D)$ each | $3ED$ | |
# | $Q$, $K$, $V$ | $(N, D)$ each | | $6ND^2$ |
# | scores $QK^\top/\sqrt D$ | $(N, N)$ | | $2N^2D$ |
# | weights $\alpha$ | $(N, N)$ | | $O(N^2)$ |
# | mixture $\alpha V$ | $(N, D)$ | | $2N^2D$ |
# | $W_o$ | $(D, E)$ | $ED$ | |
# | output $\alpha V W_o$ | $(N, E)$ | | $2ND^2$ |
# | **all** | | $4ED$ | $8ND^2 + 4N^2D$ |
#
# **Memory for training:** $O(N^2 + ND)$, with a fused kernel $O(ND)$. **Longest path and sequential steps:** 1 and 1; an RNN needs $N$ and $N$.

# %% [markdown]
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "`q` has shape (2, 5, 8), `k` (2, 7, 8) and `v` (2, 7, 6). What shape does the output of attention have?",
            "choices": [
                {
                    "text": "(2, 5, 6)",
                    "correct": True,
                    "why": "One output for each of the 5 queries, as wide as a value.",
                },
                {
                    "text": "(2, 7, 6)",
                    "why": "That would be one output for each key. It is the queries that ask, and each gets one answer.",
                },
                {
                    "text": "(2, 5, 7)",
                    "why": "That is the shape of the *weights*: 5 queries × 7 keys.",
                },
                {
                    "text": "(2, 5, 8)",
                    "why": "The width 8 is only used for comparing. What comes out is made of values, and they have width 6.",
                },
            ],
        },
        {
            "question": "Why do queries and keys get two *different* matrices?",
            "choices": [
                {
                    "text": "To have more parameters",
                    "why": "A wider shared matrix would have as many, and its scores would still be symmetric.",
                },
                {
                    "text": "So that `i` may want `j` without `j` wanting `i` as much",
                    "correct": True,
                    "why": "With one matrix U the scores are XU(XU)ᵀ, the same in both directions, whatever U is.",
                },
                {
                    "text": "Because queries and keys come from different sequences",
                    "why": "In cross-attention they do. In self-attention they come from the same tokens, and there are still two matrices.",
                },
            ],
        },
        {
            "question": "Queries and keys have D = 1024 random entries of variance 1, and somebody forgets the division by √D. What happens?",
            "choices": [
                {
                    "text": "The weights become nearly equal",
                    "why": "The other way round: scores with a standard deviation of 32 make the softmax pick a winner.",
                },
                {
                    "text": "The softmax saturates and passes hardly any gradient to the scores",
                    "correct": True,
                    "why": "The scores have variance 1024. In part 4 the best of 16 keys then took 0.96 of the weight, and the mean slope was 0.05 instead of 0.30.",
                },
                {
                    "text": "Nothing: the softmax is normalised anyway",
                    "why": "Its outputs add up to 1 either way, but how they are shared out depends on the size of the scores.",
                },
            ],
        },
        {
            "question": "A causal mask is applied by multiplying the *weights* by 0 after the softmax. What is wrong with it?",
            "choices": [
                {
                    "text": "Nothing, the hidden values are gone",
                    "why": "The values are, but the hidden scores still sit in the denominator, and the random digits showed that a network can read them.",
                },
                {
                    "text": "The rows no longer add up to 1, and the future leaks through the denominator",
                    "correct": True,
                    "why": "Both can be seen in part 4: the past changed when the last token changed.",
                },
                {
                    "text": "It is right, but slower",
                    "why": "Speed is not the problem: the result is different.",
                },
            ],
        },
        {
            "question": "Which of these change the *weights* of attention? (Several are right.)",
            "choices": [
                {
                    "text": "Doubling all queries",
                    "correct": True,
                    "why": "The scores double, as at half the temperature: the weights become sharper.",
                },
                {
                    "text": "Doubling all values",
                    "why": "Values are not compared with anything. The output doubles, the weights stay.",
                },
                {
                    "text": "Adding the same number to all scores of a row",
                    "why": "It cancels in the softmax: e^c stands in the numerator and in the denominator.",
                },
                {
                    "text": "Halving the temperature",
                    "correct": True,
                    "why": "Scores divided by a smaller number spread further apart.",
                },
            ],
        },
        {
            "question": "Width D = 512, sentences of N = 40 tokens. Where does a self-attention layer spend most of its operations?",
            "choices": [
                {
                    "text": "In the N² part: attention is quadratic",
                    "why": "Quadratic, but small: 4N²D is below 8ND² as long as N is below 2D = 1024.",
                },
                {
                    "text": "In the projections",
                    "correct": True,
                    "why": "8ND² against 4N²D is D : N/2, here 512 : 20.",
                },
                {
                    "text": "In the softmax",
                    "why": "It touches N² numbers. The projections need more than D times as many operations per token.",
                },
            ],
        },
        {
            "question": "You look through 72 heads and find one that points from *it* to the right noun in your example. What do you know?",
            "choices": [
                {
                    "text": "The model has understood the pronoun",
                    "why": "Among 72 heads one may well fit one example by chance.",
                },
                {
                    "text": "You have a hypothesis, to be tested on sentences that you did not use for choosing",
                    "correct": True,
                    "why": "Ours kept one property on fresh sentences (it looks at nouns) and lost another (it picks the right one).",
                },
                {
                    "text": "Nothing at all, attention maps are meaningless",
                    "why": "Too much: on fresh sentences the head did put far more weight on the nouns than other heads do.",
                },
            ],
        },
        {
            "question": "How many sequential steps does a signal need from token 1 to token 1000 in one layer of each?",
            "choices": [
                {
                    "text": "RNN 1000, self-attention 1000: every token is read",
                    "why": "Self-attention reads all tokens at the same time.",
                },
                {
                    "text": "RNN about 1000, self-attention 1",
                    "correct": True,
                    "why": "The RNN passes the signal on from state to state. In self-attention the two tokens meet in a single dot product.",
                },
                {
                    "text": "RNN 1, self-attention 1000",
                    "why": "The other way round.",
                },
            ],
        },
    ],
    title="Self-test: self-attention",
    key="03",
)

# %% [markdown]
# **Next:** one head averages what should stay apart. Chapter 4 gives it company.

# %% [markdown] tags=["deeper"]
# ### References
#
# - A. Vaswani and others (2017), [Attention Is All You Need](https://arxiv.org/abs/1706.03762): scaled dot-product attention (section 3.2.1), the table of path lengths (section 4).
# - D. Bahdanau, K. Cho, Y. Bengio (2015), [Neural Machine Translation by Jointly Learning to Align and Translate](https://arxiv.org/abs/1409.0473): where the look-back began.
# - A. Parikh and others (2016), [A Decomposable Attention Model](https://arxiv.org/abs/1606.01933): attention without an RNN. Z. Lin and others (2017), [A Structured Self-Attentive Sentence Embedding](https://arxiv.org/abs/1703.03130): self-attention on top of one.
# - N. Reimers, I. Gurevych (2019), [Sentence-BERT](https://arxiv.org/abs/1908.10084), and W. Wang and others (2020), [MiniLM](https://arxiv.org/abs/2002.10957): the encoder of this chapter.
# - K. Clark and others (2019), [What Does BERT Look At?](https://arxiv.org/abs/1906.04341): heads found by a rule and measured on a corpus.
# - M. Poli and others (2023), [Hyena Hierarchy](https://arxiv.org/abs/2302.10866): long convolutions between products.
# - S. Arora and others (2023), [Zoology](https://arxiv.org/abs/2312.04927): recall from the context, where convolutions between products fall behind attention. Our video shop on a larger scale.
# - T. Dao and others (2022), [FlashAttention](https://arxiv.org/abs/2205.14135): exact attention with memory that grows in proportion to $N$.
