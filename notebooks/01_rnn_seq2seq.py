# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 1
#     title: RNN sequence-to-sequence
#     minutes: 110
#     summary: Before attention there was memory. Build RNN, LSTM and GRU by hand, watch gradients vanish, train an English–French translator in a minute, and measure what one vector for a whole sentence costs.
# ---

# %% [markdown]
# # 1 · RNN sequence-to-sequence
#
# Before attention, a network read a sentence as you hear it: word by word, with a memory. Then a second network wrote the translation from that memory.
#
# **Question:** the whole English sentence passes through one vector. How long can the sentence be?

# %% tags=["setup"]
import copy
import json
import math
from dataclasses import replace
from itertools import product

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import assets, decoding, figures, metrics, palette
from attnlab.checks import check
from attnlab.data import EOS, PAD, batches, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.models.recurrent import (
    GRUCell,
    LSTMCell,
    RNNCell,
    gradient_over_distance,
    unroll,
)
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.reproducible import seed
from attnlab.training import Curve, Descent, Progress, fit
from attnlab.translator import Translator
from attnlab.widgets import BeamTree, GradientThroughTime, Quiz, RNNStepper
from attnlab.widgets.diagram import Box, Diagram, Group, Matrix, Op, Step

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown] tags=["slide", "slides-only"]
# # RNN sequence-to-sequence
#
# attnlab · chapter 1
#
# Before attention there was memory.

# %% [markdown] tags=["notes"]
# 45 minutes. Four acts: reading with a memory (12 min), vanishing gradients (8 min), language models and search (10 min), the translator and its one vector (12 min). The quiz at the end takes three. The training cell takes less than a minute of one core: start it during the break, or show its saved result.

# %% tags=["slide", "hide-input"]
reads, writes = ["the", "cat", "sleeps"], ["le", "chat", "dort"]
Diagram(
    [
        *(Box(f"x{i}", word, at=(i, 1)) for i, word in enumerate(reads)),
        *(Box(f"h{i}", f"h{'₁₂₃'[i]}", at=(i, 0), colour="encoder") for i in range(3)),
        Box("c", "c", detail="one vector", at=(3, 0), colour="red"),
        *(Box(f"s{i}", f"s{'₁₂₃'[i]}", at=(4 + i, 0), colour="decoder") for i in range(3)),
        *(Box(f"y{i}", word, at=(4 + i, 1)) for i, word in enumerate(writes)),
    ],
    arrows=[
        "h0 -> h1 -> h2 -> c -> s0 -> s1 -> s2",
        *(f"x{i} -> h{i}" for i in range(3)),
        *(f"s{i} -> y{i}" for i in range(3)),
    ],
    steps=[
        Step("The encoder reads one word at a time. Its state h is a memory of what it has read.", lit=["x0", "x1", "x2", "h0", "h1", "h2"]),
        Step("The last state is all that is left of the sentence: one vector, whatever its length.", lit=["h2", "c"]),
        Step("The decoder starts from that vector and writes one word at a time.", lit=["c", "s0", "s1", "s2", "y0", "y1", "y2"]),
        Step("Every French word has to get its meaning through c. For three words that is easy. For thirty?", lit=["c"]),
    ],
    title="A sentence through the eye of a needle",
    caption="Encoder, one vector, decoder: sequence to sequence, 2014. Part 5 trains it, measures what becomes of long sentences, and asks whether the vector is to blame.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Step through it. The last step is the question of the chapter; let the room guess before part 5 measures it.

# %% [markdown]
# At the end you can
#
# - write an RNN, an LSTM and a GRU from their equations, equal to PyTorch's;
# - measure how fast a gradient vanishes over time, and say how a gate helps;
# - say what a language model is, and tell its three questions apart: modelling, learning, search;
# - train an encoder–decoder with teacher forcing, decode it greedily, by beam search and by sampling;
# - measure how quality falls with length, and what a wider vector and longer training each do about it.

# %% [markdown]
# ## 1 · The question
#
# > *The **film** that my sister and her two friends from Lyon watched yesterday evening **was** boring.*
#
# Why *was* and not *were*? Because of *film*, thirteen words earlier. Whoever reads or writes text needs **context**, and the context can be far away.
#
# There are two classic ways to give a network context, and both bet on **locality**, the idea that what belongs together is close together:
#
# - **Locality in space: the convolution.** Each position sees its neighbours through a window. Stack layers, and the window grows.
# - **Locality in time: the recurrent network.** Each step sees its own word and the step before. But that step has seen the one before it, and so on.
#
# How far does each of them see? A gradient can tell: where $\partial\, \text{output} / \partial x_t$ is exactly zero on random words, word $t$ plays no part in the output. **Guess first:** two layers of width 3, twenty words.
# How many words reach the last output?

# %% [markdown] tags=["slide", "slides-only"]
# ## How far back does it see?
#
# > *The **film** that my sister and her two friends from Lyon watched yesterday evening **was** boring.*
#
# - Locality in **space**: a convolution looks at its neighbours
# - Locality in **time**: an RNN looks at the step before
#
# Two layers of width 3, twenty words: how many words reach the last output?


# %% tags=["plumbing"]
class Window(nn.Module):
    """Two convolutions of width 3 that look to the left."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv1d(width, width, 3)
        self.second = nn.Conv1d(width, width, 3)

    def forward(self, x):  # (B, T, E) -> (B, T, E)
        x = x.transpose(1, 2)  # (B, E, T): time last, as Conv1d wants it
        x = F.pad(x, (2, 0))  # two zeros in front
        x = F.pad(torch.tanh(self.first(x)), (2, 0))
        return self.second(x).transpose(1, 2)


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = RNNCell(width, width)

    def forward(self, x):
        return unroll(self.cell, x)


def words_seen(layer):
    """Which of 20 words have any influence on the last output?"""
    x = torch.randn(1, 20, 8, requires_grad=True)
    layer(x)[0, -1].sum().backward()
    return x.grad[0].abs().sum(-1) > 0  # (20,)


seed(0)
seen = {"window": words_seen(Window(8)), "RNN": words_seen(Recurrent(8))}
for name, row in seen.items():
    picture = "".join("■" if s else "·" for s in row.tolist())
    print(f"{name:7} {picture}  {int(row.sum())} words")

# %% tags=["fragment", "slides-only", "hide-input"]
for name, row in seen.items():
    picture = "".join("■" if s else "·" for s in row.tolist())
    print(f"{name:7} {picture}  {int(row.sum())} words")

# %% [markdown] tags=["notes"]
# Five: each layer adds two. Seeing the film thirteen words back needs seven layers, and the next sentence may need seventy. The RNN reaches everything, in principle. Ask the room to remember the words "in principle".

# %% [markdown]
# The window sees 5 words: each layer adds two.

# %% tags=["slide", "hide-input"]
reach = [range(2, 7), range(4, 7), range(6, 7)]  # lit in each layer
Diagram(
    [
        Box(f"l{layer}w{i}", "■" if i in reach[layer] else "·", at=(i, 2 - layer), colour="key" if i in reach[layer] else "")
        for layer in range(3)
        for i in range(7)
    ],
    arrows=["words -> window", "window -> l2w6"],
    groups=[Group("words", [f"l0w{i}" for i in reach[0]], "five words"), Group("window", [f"l1w{i}" for i in reach[1]], "a window of three")],
    steps=[
        Step("The last output sees three positions of the layer below: its own and two to the left.", lit=["window", "l2w6"]),
        Step("Each of these sees three words, its own and two to the left. The windows overlap: five words in all.", lit=["words", "window"]),
    ],
    tall={f"l{layer}w{i}": (i, 2 - layer) for layer in range(3) for i in range(7)},
    title="Two layers of width 3: five words reach the last output",
    caption="Bottom row: words. Each layer on top reaches two words further back.",
    gap=(14.0, 26.0),
)  # fmt: skip

# %% [markdown]
# For a *film* thirteen words back it needs seven layers, and the next sentence may need seventy. The RNN reaches every word with a single cell, however long the sentence is.
# In principle. Part 4 measures how *strongly* it is reached, and that is another story.

# %% [markdown]
# ## 2 · By hand
#
# ### One unit
#
# A recurrent network keeps a **state** $h$, its memory. At every step it mixes the memory with the new word, by the same rule each time:
#
# $$h_t = f(h_{t-1}, x_t), \qquad \text{for example} \qquad h_t = \tanh(W x_t + U h_{t-1} + b) .$$
#
# | symbol | name | shape | in the toy below |
# |---|---|---|---|
# | $x_t$ | input, the vector of word $t$ | $(E,)$ | one number |
# | $h_t$ | state after word $t$; $h_0 = 0$ | $(H,)$ | one number |
# | $W$ | reads the word | $(H, E)$ | 1 |
# | $U$ | reads the memory | $(H, H)$ | 0.5 |
# | $b$ | bias | $(H,)$ | 0 |
#
# The same cell is used at every step. Unrolled along the sentence, it looks like this:

# %% tags=["slide", "hide-input"]
Diagram(
    [
        Box("h0", "h₀", detail="0", at=(0, 0), colour="encoder"),
        *(Box(f"h{t}", f"h{'₁₂₃₄'[t - 1]}", detail="tanh", at=(t, 0), colour="encoder") for t in range(1, 5)),
        *(Box(f"x{t}", f"x{'₁₂₃₄'[t - 1]}", detail=f"word {t}", at=(t, 1)) for t in range(1, 5)),
    ],
    arrows=[
        *(f"h{t - 1} -> h{t}: U" for t in range(1, 5)),
        *(f"x{t} -> h{t}: W" for t in range(1, 5)),
    ],
    steps=[
        Step("One step: the word comes in through W, the last state through U. Out comes the new state.", lit=["x1", "x1->h1", "h0", "h0->h1", "h1"]),
        Step("The next step: another word, the new state, and the same W, U and b.", lit=["x2", "x2->h2", "h1", "h1->h2", "h2"]),
        Step("As many steps as the sentence has words; the weights stay the same few.", lit=["h1", "h2", "h3", "h4", "x1", "x2", "x3", "x4"]),
        Step("How does word 1 reach the state after word 4? Through W once and through U three times. A gradient comes back by the same road.", lit=["x1", "x1->h1", "h1", "h1->h2", "h2", "h2->h3", "h3", "h3->h4", "h4"]),
    ],
    title="A recurrent network, unrolled",
    caption="x: words; h: states. From one step to the next only the state is handed on.",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# One cell, drawn four times. Ask before the third step: how many weights has it for a sentence of 40 words?

# %% [markdown]
# Let the inputs be 1, 0, 0, 0: something happens, then nothing. **Work it out on paper** (a tanh of a small number is nearly that number): how much of the 1 is left after four steps? And with $U = 1.5$?

# %% [markdown] tags=["slide", "slides-only"]
# ## A memory: $h_t = \tanh(W x_t + U h_{t-1} + b)$
#
# One unit, $W = 1$, $b = 0$; inputs 1, 0, 0, … What is left of the 1 with $U = 0.5$? With $U = 1.5$?


# %%
def remember(word, u, w=1.0):
    """The memory after the word, and after seven words of 0."""
    h, memory = 0.0, []
    for x in (word, *[0.0] * 7):
        h = math.tanh(w * x + u * h)
        memory.append(h)
    return memory


for u in (0.5, 1.5):
    print(f"U = {u}: ", *(f"{h:.2f}" for h in remember(1.0, u)))

# %% tags=["held"]
assert remember(1.0, 0.5)[3] < 0.1
assert all(abs(remember(word, 1.5)[-1] - 0.86) < 0.01 for word in (1.0, 0.5))

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(6.4, 2.5))
curves = {0.5: ("blue", "o"), 1.5: ("orange", "s")}
for u, (ink, marker) in curves.items():
    for word, dash in ((1.0, "-"), (0.5, "--")):
        ax.plot(
            range(1, 9),
            remember(word, u),
            dash,
            marker=marker,
            color=figures.COLOURS[ink],
            label=f"U = {u}, word {word}",
        )
ax.set(xlabel="words read", ylabel="memory h", ylim=(0, 1))
ax.set_title("One word, then nothing")
ax.legend(loc="center right", bbox_to_anchor=(1, 0.45), fontsize=11)
figures.show(
    fig,
    alt="Four curves over eight words. With U = 0.5 both fall to 0. With U = 1.5 the one from 0.76 and the one from 0.46 rise and meet at 0.86.",
    caption="Does the memory still know, at the right end, how large the word was?",
)

# %% [markdown] tags=["notes"]
# The memory halves at every step, since U = 0.5. With U = 1.5 it does not fade: it settles near 0.86, and how large the word was is forgotten. Both are bad memories.

# %% [markdown]
# While the memory is small, every step multiplies it by about $U$. With $U = 0.5$ it fades within a few words. With $U = 1.5$ it does not fade: it grows until it settles near 0.86, and how large the word was is forgotten. Keep this in mind.
#
# ### A language model is a product of conditionals
#
# What is such a memory good for? Guessing the next word. A **language model** gives every sentence $y = (y_1, \dots, y_T)$ a probability. It need not know all sentences: it only guesses the next word, again and again. That is the chain rule, and it is exact:
#
# $$p(y) = \prod_{t=1}^{T} p(y_t \mid y_1, \dots, y_{t-1}), \qquad \log p(y) = \sum_{t=1}^{T} \log p(y_t \mid y_{<t}) .$$
#
# The last word is always the end mark, written ■ here; so the model also decides when to stop. Here is a complete language model with made-up numbers. It can say nine sentences.

# %% tags=["hide-input"]
model = {
    (): {"le": 0.55, "un": 0.44, "la": 0.01},
    ("la",): {"■": 1.0},
    ("le",): {"chat": 0.40, "chien": 0.33, "lit": 0.27},
    ("un",): {"chat": 0.90, "lit": 0.10},
    ("le", "chat"): {"■": 0.70, "dort": 0.30},
    ("le", "chien"): {"■": 0.60, "dort": 0.40},
    ("le", "lit"): {"■": 1.0},
    ("un", "chat"): {"dort": 0.80, "■": 0.20},
    ("un", "lit"): {"■": 1.0},
    ("le", "chat", "dort"): {"■": 1.0},
    ("le", "chien", "dort"): {"■": 1.0},
    ("un", "chat", "dort"): {"■": 1.0},
}


def probability(sentence):
    """The product of conditionals; the sentence ends with ■."""
    p = 1.0
    for t, word in enumerate(sentence):
        p *= model[tuple(sentence[:t])].get(word, 0.0)
    return p


print("p(un chat dort ■) = 0.44 · 0.90 · 0.80 · 1 =", end=" ")
print(f"{probability(['un', 'chat', 'dort', '■']):.3f}")

# %% [markdown]
# **A translator is the same thing with a condition.** Let $x$ be the English sentence. Then a *conditional* language model gives
#
# $$p(y \mid x) = \prod_{t=1}^{T} p(y_t \mid y_{<t},\, x) .$$
#
# Captions are $p(\text{words} \mid \text{picture})$, speech recognition is $p(\text{words} \mid \text{sound})$. All of them ask three questions, and it pays to keep them apart:
#
# | question | it asks | in this chapter |
# |---|---|---|
# | **modelling** | how is $p(y_t \mid y_{<t}, x)$ computed? | two RNNs, an encoder and a decoder |
# | **learning** | which parameters make the training pairs likely? | gradient descent on $-\log p$, with teacher forcing |
# | **search** | which sentence $y$ is the most likely, $\arg\max_y p(y \mid x)$? | greedy, beam search, or sampling instead |

# %% [markdown] tags=["slide", "slides-only"]
# ## A translator is a conditional language model
#
# $$p(y \mid x) = \prod_{t=1}^{T} p(y_t \mid y_{<t},\, x)$$
#
# | question | it asks |
# |---|---|
# | **modelling** | how is $p(y_t \mid y_{<t}, x)$ computed? |
# | **learning** | which parameters make the training pairs likely? |
# | **search** | which $y$ is the most likely? |

# %% [markdown] tags=["notes"]
# Three questions that people mix up. "The translation is bad" can mean: the model cannot express it, it has not learned it, or the search did not find it. Ask which one each later result is about.

# %% [markdown]
# ### Search: greedy is not best
#
# The obvious search takes the most likely word, again and again: **greedy**. **Guess first:** does it find the most likely of the nine sentences?


# %%
def greedy_search():
    sentence = []
    while not sentence or sentence[-1] != "■":
        choices = model[tuple(sentence)]
        sentence.append(max(choices, key=choices.get))
    return sentence


# %% tags=["plumbing"]
words = ["la", "le", "un", "chat", "chien", "lit", "dort"]
every = [
    [*sentence, "■"]
    for length in (1, 2, 3)
    for sentence in product(words, repeat=length)
    if all(sentence[:t] in model for t in range(length + 1))
]
possible = sorted(every, key=probability, reverse=True)
best = possible[0]
print("sentences:", sum(probability(s) > 0 for s in possible))
for name, said in (("greedy", greedy_search()), ("best", best)):
    print(f"{name:7} p = {probability(said):.3f}  {' '.join(said)}")

# %% [markdown]
# Greedy took *le*, since 0.55 is more than 0.44. But after *le* everything is divided among many words. The start that looked worse leads to a sentence that is twice as likely.
#
# **Beam search** keeps not one but $K$ beginnings. At every step it writes down all their continuations, and keeps the $K$ most likely ones. With $K = 1$ it is greedy, with $K = \infty$ it looks at everything.
# The third live figure below runs it on this very table.

# %% [markdown]
# ## 3 · Live
#
# ### An RNN at work
#
# A network with one answer at the end: **sequence → one**. It reads *the film was not really very good* and says whether somebody liked it. The difficulty is the *not*, which may stand several words before the word it negates.
# Here are the data and the network: 16 words, a GRU (built in part 4) with a memory of 6 numbers.

# %% tags=["plumbing"]
GOOD, BAD = ["good", "great", "funny"], ["bad", "dull", "awful"]
FILLERS = ["really", "very", "so"]
THINGS = ["film", "book", "meal"]
VOCABULARY = ["the", "was", "not", "never", *THINGS, *FILLERS, *GOOD, *BAD]


def opinion(generator):  # where torch draws its random numbers from
    """A sentence of 4 to 8 words, and 1 if its author was pleased."""

    def pick(n):
        return int(torch.randint(n, (), generator=generator))

    negation = [[], [], ["not"], ["never"]][pick(4)]
    fillers = [FILLERS[pick(3)] for _ in range(pick(4))]
    good = pick(2)
    words = ["the", THINGS[pick(3)], "was", *negation, *fillers]
    words.append((GOOD if good else BAD)[pick(3)])
    return words, good ^ bool(negation)


generator = seed(3)
for _ in range(4):
    words, pleased = opinion(generator)
    print(f"{' '.join(words):36} {'liked it' if pleased else 'did not'}")


# %% tags=["plumbing", "nbval-ignore-output"]
class Classifier(nn.Module):
    """Sequence → one: read everything, then look at the last state."""

    def __init__(self, hidden=6):
        super().__init__()
        self.embedding = nn.Embedding(len(VOCABULARY), 5)
        self.cell = GRUCell(5, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, words):  # (B, T) -> (B, 2)
        states = unroll(self.cell, self.embedding(words))  # (B, T, H)
        return self.out(states[:, -1])

    def loss(self, batch):
        return F.cross_entropy(self(batch[0]), batch[1])


def opinions(count, generator):
    """Sentences of one length at a time, as numbers."""
    drawn = [opinion(generator) for _ in range(count)]
    for length in range(4, 9):
        same = [(w, y) for w, y in drawn if len(w) == length]
        rows = [[VOCABULARY.index(word) for word in w] for w, _ in same]
        yield torch.tensor(rows), torch.tensor([int(y) for _, y in same])


def endless(generator):
    while True:
        yield from opinions(200, generator)


seed(1)
critic = Classifier()
steeply = Descent(lr=2e-2)
fit(critic, endless(seed(1)), steps=400, descent=steeply, listeners=())
fresh = list(opinions(1000, seed(2)))
right = sum(int((critic(x).argmax(-1) == y).sum()) for x, y in fresh)
print(f"{right / 10:.0f} % of 1000 fresh sentences right")

# %% tags=["held"]
assert right >= 980, right

# %% [markdown]
# Step through it. Every column is the state after one word, and above it stands what the network would answer if you stopped it there.
#
# - Where does the answer turn? What did *not* do to the state *before* any opinion was heard?
# - Press *not* to silence it. Which states change, and by how much (Δ)? Does the change fade while the fillers are read?
# - Type your own: `the meal was never so very really awful`. It was trained with three fillers (*really*, *very*, *so*) at most. Does it remember through twelve? And what does it make of two negations, which it never saw?

# %% tags=["slide", "hide-input"]
RNNStepper(
    critic.cell,
    ["the", "film", "was", "not", "really", "very", "good"],
    vocabulary=VOCABULARY,
    embedding=critic.embedding.weight,
    readout=critic.out,
    labels=["disliked", "liked"],
    step=4,
    title="A GRU reads a review",
    caption="Columns: the state after each word. Above them: the answer if it stopped there.",
)

# %% tags=["hide-input", "nbval-ignore-output"]
liked = {}
for count in (0, 3, 12):
    said = ["the", "film", "was", "not", *["really"] * count, "good"]
    ids = torch.tensor([[VOCABULARY.index(word) for word in said]])
    for silenced in (False, True):
        with torch.no_grad():
            x = critic.embedding(ids)  # (1, T, 5)
            x[:, 3] *= not silenced  # zeros, as the figure does it
            answer = critic.out(unroll(critic.cell, x)[:, -1]).softmax(-1)
        liked[count, silenced] = float(answer[0, 1])
    print(
        f"{count:2} fillers: liked it {liked[count, False]:.2f}, "
        f"with “not” silenced {liked[count, True]:.2f}"
    )

# %% tags=["held"]
for count in (0, 3, 12):
    assert liked[count, False] < 0.1, liked
    assert liked[count, True] > 0.9, liked

# %% [markdown]
# Silence *not*, and the answer flips. The memory of it lasts through twelve fillers, four times as many as in training. (One network, one sentence.)

# %% [markdown] tags=["notes"]
# The figure opens after "not": the state has jumped although nothing was judged yet, since the network has learned to remember a negation. Press Next word three times, to the end. Then silence "not": the final answer flips, and the Δ row shows the memory being carried through the fillers.

# %% [markdown]
# ### A gradient travels back
#
# To learn that *not* matters, the gradient of the loss must travel from the last state back to that word. The figure measures how much of it arrives, $d$ steps back, in a vanilla RNN and in an LSTM with random weights. An LSTM is a cell whose memory passes through gates, numbers between 0 and 1 (part 4 builds it). Its *forget bias* $b$ opens one of them to about $\sigma(b) = 1/(1 + e^{-b})$: half open at $b = 0$.
# The scale is logarithmic.
#
# - Drag $s$, the size of the recurrent weights. **Guess first:** where is the border between vanishing and exploding? Try *linear*, too.
# - Drag the forget bias of the LSTM from 0 to 5. What happens to its curve?
# - Can you find an $s$ for which the vanilla RNN is as good as the LSTM at $d = 40$? What happens when you move $s$ a little?

# %% tags=["slide", "hide-input"]
GradientThroughTime(
    scale=0.9,
    forget=0.0,
    distance=20,
    title="How much gradient is left?",
    caption="Share of the gradient at the last input that still arrives d steps back.",
)

# %% [markdown] tags=["notes"]
# Linear and s = 1 is the knife's edge: below it vanishes, above it explodes, exponentially. The tanh only makes it smaller. Then raise the forget bias: the LSTM's curve lifts, for a whole range of biases. A sigmoid cannot exceed 1; but there is a second road back, through U, and part 4 measures what it does.

# %% [markdown]
# ### A tree of beginnings
#
# The little language model from part 2. Boxes are beginnings with their $\log p$; thick ones are kept, dashed ones dropped.
#
# - Set $K = 1$ and go through it step by step: that is greedy. Then $K = 2$: which decision comes out differently, and when?
# - Raise the length penalty $\alpha$. It divides $\log p$ by $\left(\frac{5 + \text{length}}{6}\right)^{\alpha}$ ([Wu et al. 2016](https://arxiv.org/abs/1609.08144)), since otherwise every further word makes a sentence less likely, and short ones win.

# %% tags=["slide", "hide-input"]
BeamTree.from_table(
    model,
    width=2,
    shown=2,
    title="Beam search on nine sentences",
    caption="K = 1 is greedy. The end mark ■ ends a sentence, and another beginning takes its beam.",
)

# %% [markdown] tags=["notes"]
# First K = 1, to the end: "le chat". Back to start, K = 2: at word 2 "un chat" comes out ahead of everything that begins with "le". Ask: why did greedy not see it? Because it threw "un" away one step before the good news came.

# %% [markdown]
# ## 4 · In the open
#
# ### Three cells
#
# The **vanilla** cell ([Elman 1990](https://doi.org/10.1207/s15516709cog1402_1)) overwrites its memory at every step. The **LSTM** ([Hochreiter & Schmidhuber 1997](https://doi.org/10.1162/neco.1997.9.8.1735); its forget gate came with
# [Gers et al. 2000](https://doi.org/10.1162/089976600300015015)) has a second memory $c$ that is *added to*, through gates between 0 and 1. The **GRU** ([Cho et al. 2014](https://arxiv.org/abs/1406.1078)) does nearly the same with one memory.
#
# | | LSTM | GRU |
# |---|---|---|
# | gates, all $(H,)$ | $i, f, o = \sigma(W x + U h + b)$ | $r, z = \sigma(W x + U h + b)$ |
# | candidate $(H,)$ | $g = \tanh(W x + U h + b)$ | $n = \tanh(W x + b + r \odot (U h + b'))$ |
# | memory $(H,)$ | $c' = f \odot c + i \odot g$ | |
# | state $(H,)$ | $h' = o \odot \tanh(c')$ | $h' = (1 - z) \odot n + z \odot h$ |
#
# Every line has its own rows of $W$ $(H, E)$ and $U$ $(H, H)$; PyTorch stacks them into one matrix, in the order i, f, g, o and r, z, n. $\odot$ multiplies entry by entry, and $\sigma(a) = 1/(1 + e^{-a})$, the *sigmoid*, squeezes any number between 0 and 1: a valve.

# %% tags=["slide", "hide-input"]
memory = torch.tensor([0.9, -0.6, 0.4])
gates = {  # made up: two words, three numbers each
    "f": torch.tensor([[1.0, 0, 0.5], [1, 0.1, 0]]),
    "i": torch.tensor([[0.0, 1, 0.5], [0, 0.2, 1]]),
    "g": torch.tensor([[0.5, 0.8, 0.4], [0.9, 0.5, -0.7]]),
    "o": torch.tensor([[1.0, 0, 0.5], [0, 1, 1]]),
}


def lstm_numbers(word):
    """What the gates of this word are, and what they make of the memory."""
    now = {name: row[word] for name, row in gates.items()}
    c = memory if word == 0 else lstm_numbers(0)["c2"]
    c2 = now["f"] * c + now["i"] * now["g"]
    h2 = now["o"] * c2.tanh()
    return {**now, "c": c, "ig": now["i"] * now["g"], "c2": c2, "h2": h2}


first, second = lstm_numbers(0), lstm_numbers(1)
row = {"shape": "", "digits": 1}
Diagram(
    [
        Matrix("c", "memory c", values=first["c"], **row, at=(0, 0)),
        Op("forget", "×", at=(1, 0)),
        Op("add", "+", at=(2, 0)),
        Matrix("c2", "new c", values=0 * memory, **row, at=(4, 0)),
        Matrix("f", "forget f", values=first["f"], **row, at=(1, 1), colour="red"),
        Matrix("ig", "write i · g", values=first["ig"], **row, at=(2, 1), colour="green"),
        Op("out", "×", at=(3, 1)),
        Matrix("o", "show o", values=first["o"], **row, at=(3, 2), colour="blue"),
        Matrix("h2", "new h", values=0 * memory, **row, at=(4, 1)),
        Box("xh", "x and h", at=(0, 2)),
    ],
    arrows=["c -> forget -> add -> c2", "f -> forget", "ig -> add", "c2 -> out: tanh", "o -> out -> h2", "xh -> f", "xh -> ig", "xh -> o"],
    steps=[
        Step("The new word x and the last state h set three gates: for each number of the memory a number between 0 and 1.", lit=["xh", "f", "ig", "o"]),
        Step("Forget: the memory is multiplied by f. The first number is kept (f = 1), the second is gone (f = 0), the third is halved.", lit=["c", "forget", "f"]),
        Step("Write: what the input gate i lets through of the candidate g is added.", lit=["ig", "add", "c2"], values={"c2": first["c2"]}),
        Step("Show: the output gate decides how much of the memory is seen as the new state h.", lit=["c2", "out", "o", "h2"], values={"h2": first["h2"]}),
        Step("The next word: new c is now the memory, x and h are new, and so the gates move.", lit=["xh", "c", "f", "ig", "o"], values={**{name: second[name] for name in ("c", "f", "ig", "o")}, "c2": 0 * memory, "h2": 0 * memory}),
        Step("The first number is kept a second time. The other two are nearly gone, and written anew.", lit=["forget", "add", "c2", "out", "h2"], values={name: second[name] for name in ("c2", "h2")}),
    ],
    title="An LSTM cell, gate by gate",
    caption="The memory runs straight through: times f, plus something, and no matrix. (Made-up numbers; new c and new h begin as 0.)",
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Follow the top line with a finger: that road is why gradients can survive. Then the GRU: one road, two gates.

# %% tags=["slide", "hide-input"]
state = torch.tensor([0.9, -0.6, 0.4])
word = torch.tensor([[0.0, 1.0, -0.5], [0.2, -1.0, 1.0]])  # W x + b, made up
r = torch.tensor([[1.0, 0, 0.5], [0, 1, 0]])
z = torch.tensor([[1.0, 0, 0.5], [1, 0.8, 0]])
n, states = [], [state]
for t in range(2):
    n.append(torch.tanh(word[t] + r[t] * states[t]))  # U = 1
    states.append((1 - z[t]) * n[t] + z[t] * states[t])
Diagram(
    [
        Matrix("h", "state h", values=states[0], **row, at=(0, 0)),
        Op("keep", "× z", at=(2, 0)),
        Op("sum", "+", at=(3, 0)),
        Matrix("h2", "new h", values=0 * state, **row, at=(4, 0)),
        Matrix("r", "reset r", values=r[0], **row, at=(1, 1), colour="red"),
        Matrix("n", "candidate n", values=0 * state, **row, at=(2, 2), colour="green"),
        Op("new", "× 1−z", at=(3, 2)),
        Matrix("z", "update z", values=z[0], **row, at=(2, 1), colour="blue"),
        Box("x", "word x", at=(0, 2)),
    ],
    arrows=["h -> keep -> sum -> h2", "h -> r", "x -> r", "r -> n", "x -> n", "h -> z", "x -> z", "n -> new -> sum", "z -> keep", "z -> new"],
    steps=[
        Step("Reset: how much of the old state may the candidate see?", lit=["h", "x", "r"]),
        Step("The candidate n is made as in a vanilla cell, from x and what r lets through of h.", lit=["r", "x", "n"], values={"n": n[0]}),
        Step("Update: the share z of the old state, and 1 − z of the candidate: z = 1 copies, z = 0 replaces.", lit=["x", "z", "keep", "new", "sum", "h2", "h", "n"], values={"h2": states[1]}),
        Step("The next word: new h is now the state, and the gates move.", lit=["h", "x", "r", "n", "z"], values={"h": states[1], "r": r[1], "n": n[1], "z": z[1], "h2": 0 * state}),
        Step("The first number is copied a second time, the second mostly; the third is replaced.", lit=["z", "keep", "new", "sum", "h2"], values={"h2": states[2]}),
    ],
    title="A GRU cell: one memory, two gates",
    caption="With z = 1 the state is copied. A vanilla cell has no gate for that. (Made-up numbers; n and new h begin as 0.)",
)  # fmt: skip


# %%
def vanilla_step(x, h, w, u, b, c):
    """(B, E), (B, H) -> (B, H). torch has two biases, b and c."""
    return torch.tanh(x @ w.T + b + h @ u.T + c)


def lstm_step(x, h, memory, w, u, b, c):
    i, f, g, o = (x @ w.T + b + h @ u.T + c).chunk(4, dim=-1)
    keep, write, show = f.sigmoid(), i.sigmoid(), o.sigmoid()
    memory = keep * memory + write * g.tanh()
    return show * memory.tanh(), memory


def gru_step(x, h, w, u, b, c):
    of_x, of_h = (x @ w.T + b).chunk(3, -1), (h @ u.T + c).chunk(3, -1)
    r = (of_x[0] + of_h[0]).sigmoid()  # how much of the past to use
    z = (of_x[1] + of_h[1]).sigmoid()  # how much of the past to keep
    n = (of_x[2] + r * of_h[2]).tanh()
    return (1 - z) * n + z * h


# %% [markdown]
# Are they right? Take PyTorch's cells with their random weights, hand the same weights to ours, and compare. The course's library has the same cells as modules; they must agree as well.

# %% tags=["hide-input"]
seed(0)
x, h, memory = torch.randn(3, 5), torch.randn(3, 7), torch.randn(3, 7)

for step, torchs, librarys, state in (
    (vanilla_step, nn.RNNCell, RNNCell, (h,)),
    (lstm_step, nn.LSTMCell, LSTMCell, (h, memory)),
    (gru_step, nn.GRUCell, GRUCell, (h,)),
):
    theirs, library = torchs(5, 7), librarys(5, 7)
    library.load_state_dict(theirs.state_dict())
    mine = step(x, *state, *theirs.parameters())  # w, u, b, c
    given = state if len(state) > 1 else h  # an LSTM takes both at once
    torch.testing.assert_close(mine, theirs(x, given))
    torch.testing.assert_close(mine, library(x, given))
print("vanilla, LSTM and GRU: ours = torch's = the library's")

# %% [markdown]
# ### Vanishing gradients, measured
#
# Back-propagation walks the same way in reverse. By the chain rule the gradient of $h_T$ at the state $d$ steps back is a product of $d$ matrices:
#
# $$\frac{\partial h_T}{\partial h_{T-d}} = \prod_{k=0}^{d-1} \underbrace{\operatorname{diag}\!\left(1 - h_{T-k}^2\right) U}_{(H,\,H)}, \qquad \Bigl\lVert \frac{\partial h_T}{\partial h_{T-d}} \Bigr\rVert \le \lVert U \rVert^{d} .$$
#
# If $\lVert U \rVert < 1$, it vanishes exponentially; if $U$ stretches, it may explode ([Bengio et al. 1994](https://doi.org/10.1109/72.279181), [Pascanu et al. 2013](https://arxiv.org/abs/1211.5063)). Against explosions the gradient is clipped: it is made shorter when it gets too
# long. That is no help against vanishing: clipping makes nothing longer.
#
# The LSTM's memory has a straight road: between $c_t$ and $c_{t-1}$ there is only the gate $f$, no matrix. With $f \approx 1$ the gradient passes. (There is a second road, through $h$ and $U$, as in the vanilla cell. To tell them apart, two of the cells below have $U = 0$.) **Guess first:** fresh from PyTorch, how much of the gradient is left after 50 steps? (One random start of each cell.)

# %% tags=["plumbing"]
seed(0)
x = torch.randn(16, 101, 32).double()  # float32 would run out of zeros
cells = {
    "vanilla": RNNCell(32, 64),
    "GRU": GRUCell(32, 64),
    "LSTM": LSTMCell(32, 64),
    "LSTM, forget bias 1": LSTMCell(32, 64),
    "LSTM, forget bias 5": LSTMCell(32, 64),
}
with torch.no_grad():
    for name, cell in cells.items():
        if "bias" in name:
            cell.bias_ih[64:128] = float(name[-1])  # rows i, f, g, o
            cell.bias_hh[64:128] = 0.0
    for name in ("LSTM", "LSTM, forget bias 5"):
        cells[f"{name}, U = 0"] = copy.deepcopy(cells[name])
        cells[f"{name}, U = 0"].weight_hh.zero_()  # the straight road alone
arrives = {}
for name, cell in cells.items():
    sizes = gradient_over_distance(cell.double(), x).flip(0)
    arrives[name] = sizes / sizes[0]
for name, share in arrives.items():
    powers = [round(math.log10(share[d])) for d in (10, 50, 100)]
    print(f"{name:26} 10, 50, 100 steps back: 10^", powers)

# %% tags=["held"]
open_gate = arrives["LSTM, forget bias 5"]
straight = arrives["LSTM, forget bias 5, U = 0"]
assert arrives["vanilla"][50] < 1e-8
assert arrives["LSTM"][50] < 1e-6
assert 100 < arrives["LSTM"][50] / arrives["LSTM, U = 0"][50] < 1000
assert open_gate[50] > 0.1
assert 0.15 < open_gate[:51].min() < 0.4
assert open_gate[100] > 1 > open_gate[50]
assert straight[100] < straight[50] < straight[10]
assert straight[1:].max() < 0.6

# %% [markdown] tags=["slide", "slides-only"]
# ## Gradients over distance, measured

# %% tags=["hide-input", "fragment"]
fig, ax = plt.subplots(figsize=(6.2, 3.4))
styles = ["-", "--", "-.", ":", (0, (6, 1, 1, 1))]
whole = [name for name in arrives if "U = 0" not in name]
for name, style in zip(whole, styles):
    ax.plot(arrives[name].clamp(min=1e-30), linestyle=style, label=name)
ax.set(yscale="log", xlabel="steps back", ylabel="gradient that is left")
ax.set_title("Fresh cells, before any training")
ax.legend(loc="lower left", fontsize=11)
figures.show(
    fig,
    alt="Five curves on a logarithmic scale. The vanilla RNN falls fastest, "
    "GRU and LSTM fall too; the LSTM with a large forget bias falls at first and then rises slowly.",
    caption="Straight lines on this scale are exponential decay. Look at the LSTM as it comes: its gradient vanishes, too.",
)

# %% [markdown] tags=["notes"]
# In a fresh LSTM the gradient vanishes as well: its forget gates start near one half. What the gate gives is not immunity but a choice: its value is computed from word and state, so it can be learned. A bias of 1 or more at the start is old advice (Jozefowicz 2015). With bias 5 the curve even rises at the end: that is the other road, through U.

# %% [markdown]
# In a fresh LSTM the gradient vanishes, too. Its forget gates start near $\sigma(0) = 0.5$, and $0.5^{50} \approx 10^{-15}$. The straight road alone ($U = 0$) delivers more than that (the fold below says why). With $U$ it is hundreds of times as much again, and still next to nothing.
# What a gate brings is a *choice*: its value is computed from word and state, so it can be learned. Starting with a larger forget bias helps ([Jozefowicz et al. 2015](https://proceedings.mlr.press/v37/jozefowicz15.html)).

# %% [markdown]
# Now look at bias 5. The straight road falls slowly, as it must: $f < 1$. Yet with both roads the gradient falls to a quarter at first and then *grows*, past 1 before step 100. Without $U$ it goes on falling, so the growth comes through $U$. Here an open gate prevents vanishing; it does not rule out exploding, and LSTMs are trained with clipping as well (Sutskever et al. 2014, below, did).

# %% [markdown] tags=["deeper"]
# ### Dig deeper: why a half-open gate delivers more than 0.5⁵⁰
#
# Each unit starts with a bias of its own, so its gate is open a little more or less than one half *for every word*, and the most open units carry the gradient furthest. To test it, give every unit the mean bias:

# %% tags=["deeper", "hide-input"]
plain = cells["LSTM, U = 0"]
bias = (plain.bias_ih + plain.bias_hh)[64:128].detach()  # of the forget gates
flat = copy.deepcopy(plain)
with torch.no_grad():
    flat.bias_ih[64:128] = bias.mean() / 2
    flat.bias_hh[64:128] = bias.mean() / 2
steady = gradient_over_distance(flat, x).flip(0)
steady = steady / steady[0]
own = arrives["LSTM, U = 0"]
print(
    f"gates by their biases alone: {bias.sigmoid().min():.2f} to {bias.sigmoid().max():.2f}"
)
print(
    f"left after 50 steps: 10^{math.log10(own[50]):.0f}; every unit with the mean bias: 10^{math.log10(steady[50]):.0f}"
)

# %% tags=["deeper", "held"]
assert own[50] > 2 * steady[50], (own[50], steady[50])

# %% [markdown]
# ### Encoder and decoder
#
# [Sutskever et al. 2014](https://arxiv.org/abs/1409.3215) and [Cho et al. 2014](https://arxiv.org/abs/1406.1078) put two RNNs together. The **encoder** reads the source and leaves a vector $c$. The **decoder** is a language model that starts from $c$:
#
# $$h_i = \text{GRU}(x_i, h_{i-1}), \qquad c = h_S,$$
#
# $$s_t = \text{GRU}(y_{t-1}, s_{t-1}), \qquad p(y_t \mid y_{<t}, x) = \operatorname{softmax}(W \tanh(R\,[s_t; c])) .$$
#
# $[s_t; c]$ puts the two side by side, $R$ and $W$ are learned matrices, and the softmax turns scores into probabilities (chapter 0 has it in a fold). Ours reads the source twice, forwards and backwards, and $c$ is both last states together. A linear layer (`bridge` in the code) and a tanh turn it into the first state $s_0$. (Sutskever's network read the source backwards only, to bring the first words closer.)
#
# | | shape | |
# |---|---|---|
# | source words, target words | $(B, S)$, $(B, T)$ | ids of words |
# | $h_i$ | $(B, 2H)$ | both directions |
# | $c$ | $(B, 2H)$ | **the whole sentence, one vector** |
# | $s_t$ | $(B, H)$ | what has been said so far |
# | logits | $(B, T, V)$ | a score for each French word |
#
# **Teacher forcing.** While learning, the decoder reads the *right* last word $y_{t-1}$, not the one it would have said ([Williams & Zipser 1989](https://doi.org/10.1162/neco.1989.1.2.270)). So all steps of a sentence are trained at once, and one early mistake does not spoil the rest:

# %% tags=["slide", "hide-input"]
given, own = ["⟨bos⟩", "le", "chat"], ["⟨bos⟩", "le", "chien"]
Diagram(
    [
        *(Box(f"t{i}", word, at=(i, 0)) for i, word in enumerate(given)),
        *(Box(f"a{i}", "decoder", at=(i, 1), colour="decoder") for i in range(3)),
        *(Box(f"u{i}", word, at=(i, 2)) for i, word in enumerate(["le", "chien", "dort"])),
        *(Box(f"f{i}", word, at=(4 + i, 0)) for i, word in enumerate(own)),
        *(Box(f"b{i}", "decoder", at=(4 + i, 1), colour="decoder") for i in range(3)),
        *(Box(f"v{i}", word, at=(4 + i, 2)) for i, word in enumerate(["le", "chien", "aboie"])),
    ],
    arrows=[
        *(f"t{i} -> a{i} -> u{i}" for i in range(3)),
        *(f"f{i} -> b{i} -> v{i}" for i in range(3)),
        "v0 -> f1",
        "v1 -> f2",
    ],
    groups=[Group("left", [f"{k}{i}" for k in "tau" for i in range(3)], "teacher forcing"), Group("right", [f"{k}{i}" for k in "fbv" for i in range(3)], "free running")],
    steps=[
        Step("Learning: it says chien (wrong), but next it reads the right word, chat. All steps are trained at once.", lit=["left"]),
        Step("When it translates, nobody knows the right word: it reads its own chien, and goes on about a dog.", lit=["right"]),
    ],
    title="Teacher forcing and free running",
    caption="Into the decoder: what it reads. Out of it: what it says.",
)  # fmt: skip

# %% tags=["plumbing"]
corpus = EnglishFrench(longest=15)
english, french = corpus.vocabularies()
seed(0)
config = Config(
    source_words=len(english),
    target_words=len(french),
    kind="none",  # no attention: one fixed context
    hidden=96,
)
translator = Translator(Seq2Seq(config), english, french)


def run(gru, words, h, direction=""):
    """Our own step along time, with the weights of a torch layer."""
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    weights = [getattr(gru, f"{name}_l0{direction}") for name in names]
    states = []
    for word in words.unbind(1):
        h = gru_step(word, h, *weights)
        states.append(h)
    return torch.stack(states, dim=1)  # (B, T, H)


def forward_by_hand(model, batch):
    """Logits (B, T, V) of sentences without padding."""
    x = model.encoder.embedding(batch.source)  # (B, S, E)
    nothing = x.new_zeros(len(x), 96)
    forth = run(model.encoder.gru, x, nothing)[:, -1]
    back = run(model.encoder.gru, x.flip(1), nothing, "_reverse")[:, -1]
    c = torch.cat([forth, back], dim=-1)  # (B, 2H): all that is left
    s0 = torch.tanh(model.bridge(c))  # (B, H)
    s = run(model.gru, model.embedding(batch.target_in), s0)  # (B, T, H)
    c = c[:, None].expand(-1, s.shape[1], -1)  # the same at every step
    return model.out(torch.tanh(model.readout(torch.cat([s, c], -1))))


pair = corpus.take(1)[0]
batch = collate([pair], english, french)
torch.testing.assert_close(
    forward_by_hand(translator.model, batch), translator.model(batch)
)
print("our encoder–decoder = the library's")

# %% [markdown]
# That is the whole model: about 20 lines on top of the GRU step (open the fold to read them).

# %% [markdown]
# ## 5 · At work
#
# ### The corpus
#
# The sentences are made by a grammar of this course (`attnlab.data.english_french`), so there are as many as we like, and for each word we know where it came from. It is small, but it speaks real French:

# %% tags=["hide-input"]
for shown in corpus.examples()[:8]:
    said = corpus.detokenise(list(shown.target))
    print(f"{' '.join(shown.source):42} {said}")
print(len(english), "English and", len(french), "French word forms")

# %% [markdown]
# It is **split by structure**: the grammatical choices behind a sentence, without its words, decide whether it is used for training. So a test sentence has a structure that no training sentence had.

# %% tags=["hide-input"]
pairs = corpus.take(40_000)
test = corpus.take(400, "test", seed=1)
train_shapes = {pair.structure for pair in pairs}
test_shapes = {pair.structure for pair in test}
print("training pairs:", len(pairs), " test pairs:", len(test))
print("structures on both sides:", len(train_shapes & test_shapes))
for low, high in [(3, 5), (6, 8), (9, 11), (12, 15)]:
    share = sum(low <= len(pair.source) <= high for pair in pairs) / len(
        pairs
    )
    each = share / (high - low + 1)  # 12–15 are four lengths, 3–5 three
    print(
        f"{low:2}–{high:2} words: {share:.0%} of the training pairs", end=""
    )
    print(f", {each:.0%} for each length")

# %% [markdown] tags=["deeper"]
# ### Dig deeper: what makes it more than a dictionary
#
# | | English | French |
# |---|---|---|
# | **gender and number** | the, a, my | le/la/les, un/une/des, mon/ma/mes; adjectives agree, too |
# | **elision** | the | *le*, *la* become *l'* before a vowel; *je* becomes *j'*, *ne* becomes *n'* |
# | **order** | the *white* car | la voiture *blanche*; but *petite*, *belle* stand before the noun |
# | **negation** | does *not* eat | *ne* mange *pas*: one word becomes two, around the verb |
# | **pronouns** | sees *them* | *les* voit: the object moves before the verb |
# | **contraction** | to the, of the | *au*, *du*, *aux*, *des* |

# %% [markdown]
# ### Train it
#
# 2,200 steps of 32 sentences, less than a minute on one core. `fit` is the course's training loop: gradient descent by Adam (each number gets a step size of its own), a learning rate that rises and then falls, gradients clipped at length 1. The loss is the mean of $-\log p$ per French word.
#
# **Guess first:** a vector of 192 numbers for a sentence of 3 to 15 words. What share of unseen sentences will be right to the last word?

# %% tags=["nbval-ignore-output"]
size = sum(p.numel() for p in translator.model.parameters())
print(f"{size / 1e3:.0f} thousand parameters")
history = fit(
    translator.model,
    batches(pairs, english, french, size=32, seed=0),
    steps=2200,
    descent=Descent(lr=5e-3),
    listeners=(Progress(), Curve()),
)
print(f"{history.seconds:.0f} CPU seconds, loss {history.smooth():.2f}")

# %% tags=["hide-input", "nbval-ignore-output"]
references = [pair.target for pair in test]
said = translator.translate([pair.source for pair in test])
score, whole = metrics.bleu(said, references), metrics.exact(said, references)
print(f"BLEU {score:.1f}, right to the last word: {whole:.2f}")

# %% [markdown]
# **BLEU** ([Papineni et al. 2002](https://aclanthology.org/P02-1040/)) asks what share of the words, pairs, triples and quadruples that were *said* stand in the reference (a precision), and takes points off translations that are too short: 100 is word for word, and near 0 next to nothing is shared. We compute it with sacrebleu ([Post 2018](https://arxiv.org/abs/1804.08771)).
#
# Read some, from short to long. What changes on the way?

# %% tags=["hide-input", "nbval-ignore-output"]
by_size = sorted(range(len(test)), key=lambda i: len(test[i].source))
for i in by_size[20::125]:
    print("english ", " ".join(test[i].source))
    print("right   ", corpus.detokenise(list(test[i].target)))
    print("machine ", corpus.detokenise(said[i]), "\n")

# %% [markdown]
# Even the shortest of these four swaps a word. The longer ones begin well and stay nearly French, but verbs and whole clauses are replaced: it reads like a French language model that has lost its English sentence.
#
# ### Quality against length
#
# BLEU for sentences of each length, within the trained lengths (3–15 words), and beyond.

# %% tags=["hide-input", "nbval-ignore-output"]
BUCKETS = [(3, 5), (6, 8), (9, 11), (12, 15), (16, 20), (21, 25), (26, 30)]
longer = EnglishFrench(shortest=16, longest=30).take(300, "test", seed=2)
everything = [*test, *longer]
all_said = translator.translate([pair.source for pair in everything])
by_length = metrics.by_length(all_said, everything, BUCKETS)

# %% tags=["held"]
inside = [value for (_, high), value in by_length.items() if high <= 15]
assert inside[0] >= 80, by_length
assert max(inside) - min(inside) >= 40, by_length
assert by_length[26, 30] < 20, by_length

# %% [markdown] tags=["slide", "slides-only"]
# ## Longer sentences, worse translations

# %% tags=["hide-input", "fragment"]
fig, ax = plt.subplots(figsize=(6.2, 3.4))
middles = [(low + high) / 2 for low, high in BUCKETS]
ax.axvspan(15.5, 30, color="0.85")
ax.axvline(15.5, color="0.4", linestyle=":")
red = palette.colour("fixed context")
ax.plot(middles, list(by_length.values()), "o-", color=red)
for place, value in zip(middles, by_length.values()):
    ax.text(place + 0.4, value + 1.5, f"{value:.0f}", fontsize=12)
ax.text(16, 92, "longer than anything\nit was trained on", fontsize=11)
ax.set(xlabel="English words", ylabel="BLEU", ylim=(0, 105), xlim=(3, 30))
ax.set_title("One vector for every sentence")
figures.show(
    fig,
    alt="BLEU against the length of the English sentence: high for 3 to 5 words, falling with "
    "every bucket up to the longest trained length, and close to nothing far beyond it.",
    caption="Look left of the dotted line: it falls within the trained lengths, too.",
)

# %% [markdown] tags=["notes"]
# Cho and others published this curve in 2014 for a real corpus. Right of the dotted line is a second problem: nothing was trained there. Ask about the left part: which of the three questions is it about, modelling or learning? The next slide changes one thing at a time.

# %% [markdown]
# What matters lies left of the dotted line. These lengths were trained, the long ones no less often (8 % of the pairs for each length from 12 to 15 words, on average, and 6 % from 3 to 5); and still quality falls by more than 40 points. [Cho et al. 2014b](https://arxiv.org/abs/1409.1259) saw the same on real text. Right of the line a second problem joins in: the network never saw such lengths.
#
# ### The vector, or the learning?
#
# Is the vector to blame, or was the training too short? Both can make such a curve. So change one at a time. **The vector:** the decoder gets all 192 numbers of $c$, or only 48, the others set to 0. Encoder and decoder stay as wide as they are. **The learning:** half as many steps as above, as many, twice as many; the learning rate rises and falls over all the steps of a run. Everything else is the same, and each run is made with three seeds (recorded by `training/narrow_waist.py`).
#
# **Guess first:** which will do more for the longest sentences, four times as many numbers or four times as many steps?

# %% tags=["plumbing"]
grid = json.loads(assets.find("data/narrow_waist.json").read_text())
bleu_of = {}
for run in grid:
    bleu = torch.tensor(list(run["bleu"].values()))  # one number per length
    bleu_of.setdefault((run["waist"], run["steps"]), []).append(bleu)
bleu_of = {key: torch.stack(bleu) for key, bleu in bleu_of.items()}  # (3, 4)
waists = sorted({waist for waist, _ in bleu_of})
amounts = sorted({steps for _, steps in bleu_of})
print("BLEU, mean of three seeds (lowest to highest)")
for bucket, words in ((0, "3–5"), (3, "12–15")):
    print(f"{words} words" + "".join(f"{n:13} steps" for n in amounts))
    for waist in waists:
        print(f"{waist:5} numbers ", end="")
        for n in amounts:
            seeds = bleu_of[waist, n][:, bucket]
            print(
                f"{seeds.mean():6.1f} ({seeds.min():.0f} to {seeds.max():.0f})",
                end="",
            )
        print()

# %% [markdown] tags=["slide", "slides-only"]
# ## The vector, or the learning?

# %% tags=["hide-input", "fragment"]
fig, axes = plt.subplots(1, len(amounts), figsize=(6.2, 3.4), sharey=True)
ticks = [4, 7, 10, 13.5]  # the middles of the buckets
for ax, steps in zip(axes, amounts):
    for waist, style in zip(waists, ("s--", "o-")):
        seeds = bleu_of[waist, steps]  # (3, 4)
        (line,) = ax.plot(ticks, seeds.mean(0), style, label=waist)
        low, high = seeds.amin(0), seeds.amax(0)
        ax.fill_between(ticks, low, high, color=line.get_color(), alpha=0.25)
    ax.set(title=f"{steps} steps", ylim=(0, 105), xticks=[5, 10, 15])
axes[0].set_ylabel("BLEU")
axes[1].set_xlabel("English words")
axes[0].legend(title="numbers", fontsize=11, title_fontsize=11)
figures.show(
    fig,
    alt="Three panels, for 1100, 2200 and 4400 steps. In each, BLEU falls with the length of the sentence, and the curve of 192 numbers lies above that of 48, but for the shortest sentences after 4400 steps, where they meet. From panel to panel all curves rise.",
    caption="From panel to panel: more training. From curve to curve: more of the vector. Lines: the mean of three seeds. Bands: from the lowest to the highest.",
)

# %% tags=["held"]
long = {key: bleu[:, -1] for key, bleu in bleu_of.items()}  # three seeds
for n in amounts:  # at equal steps, more of the vector is better
    assert (long[192, n] > long[48, n] + 5).all(), bleu_of
for waist in (48, 192):  # with the same vector, more training is better
    few, some, many = (long[waist, n] for n in amounts)
    assert (few < some).all(), bleu_of
    assert (some < many).all(), bleu_of
# from the smallest run, four times the steps do more than the numbers
assert long[48, 4400].min() > long[192, 1100].max() + 5, bleu_of
narrow, wide = bleu_of[48, 4400].mean(0), bleu_of[192, 2200].mean(0)
assert (narrow - wide).abs().max() < 5, bleu_of
fall = {n: bleu_of[192, n][:, 0] - long[192, n] for n in amounts}
assert (fall[1100] < fall[2200]).all(), fall
assert (fall[4400] < fall[2200] - 12).all(), fall

# %% [markdown] tags=["notes"]
# Read it both ways. Down a panel: the vector. Across the panels: the learning. Both help at the right end, so the first curve alone proved nothing about the vector. Three seeds; the bands do not touch at the right end.

# %% [markdown]
# **The learning.** With the same vector, each doubling of the steps lifts the longest sentences: 22, 33, 49 with all 192 numbers (means of three seeds). The fall from the shortest to the longest first grows, from 52 to 60 points, since short sentences are learned first; then it shrinks, to 46. So at least 12 points of our first curve's fall came from too little training, with every seed, and nothing says that 4,400 steps are enough.
#
# **The vector.** At equal steps, with only a quarter of the numbers, the longest sentences lose 12, 14 and 17 points. The shortest lose most at first and then catch up (37, 74, 96 against 74, 93, 95), the longest do not.
#
# **Together.** Both matter. From 48 numbers and 1,100 steps (10), four times as many numbers give 22, four times as many steps 32. And they can stand in for each other: 48 numbers after 4,400 steps give nearly the curve of 192 after 2,200. So a falling curve by itself is no proof that a vector is full. A limit of the vector is what stays when more training no longer helps; this grid does not go that far. Chapter 2 takes another road: it takes the limit away, at the same width and with the same steps, and compares.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: longer sentences
#
# And beyond 15 words? The course comes with the same model at $H = 128$, trained several times as long (`training/translators.py`), on sentences of up to 32 words. Width, training and data differ from ours, among other things, so this curve cannot say which of them helps; it shows how far they get together.

# %% tags=["deeper", "hide-input", "nbval-ignore-output"]
shipped = Translator.shipped("fixed_context")
shipped_said = shipped.translate([pair.source for pair in everything])
shipped_curve = metrics.by_length(shipped_said, everything, BUCKETS)

# %% tags=["deeper", "held"]
first, *_, last = shipped_curve.values()
assert first >= 97, shipped_curve
assert last < 50, shipped_curve

# %% tags=["deeper", "hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.8))
small, large = list(by_length.values()), list(shipped_curve.values())
shipped_as = "H = 128, shipped, up to 32 words"
ax.plot(middles, small, "o-", color=red, label="H = 96, trained above")
ax.plot(middles, large, "s--", color=red, label=shipped_as)
for place, value in zip(middles, large):
    ax.text(place + 0.3, value + 2, f"{value:.0f}", fontsize=12)
ax.set(xlabel="English words", ylabel="BLEU", ylim=(0, 112), xlim=(3, 30))
ax.set_title("The curve moves to the right")
ax.legend(loc="lower left")
figures.show(
    fig,
    alt="BLEU against sentence length for the small and the larger translator. The larger one "
    "starts to fall later, and falls all the same.",
    caption="More practice, longer sentences and a wider vector together move the curve to the right. It still falls.",
)

# %% [markdown] tags=["deeper"]
# All of these lengths were trained, and for longer. It still falls. Is that the vector, or would more training lift it again? One curve cannot tell.

# %% [markdown]
# ### What is in the vector?
#
# Ask the vector. From $c$ alone a linear map guesses which words stood in the sentence (fitted by least squares on 6,000 training sentences). If $n$ different words stood there, we look at the $n$ best guesses: how many are right? For comparison, guess the $n$ commonest English words every time, without looking at $c$.


# %% tags=["plumbing", "nbval-ignore-output"]
@torch.no_grad()
def vectors(pairs):
    """c for each sentence (N, 2H), and which words it has (N, V)."""
    c, has = [], torch.zeros(len(pairs), len(english))
    for i, pair in enumerate(pairs):
        has[i, english.encode(pair.source)] = 1.0
    for start in range(0, len(pairs), 200):
        state, _ = translator.start([p.source for p in pairs[start:][:200]])
        c.append(state.memory.summary)
    c = torch.cat(c)
    return torch.cat([c, torch.ones(len(c), 1)], dim=-1), has


c_train, has_train = vectors(pairs[:6000])
probe = torch.linalg.lstsq(c_train, has_train).solution  # (2H + 1, V)
common = has_train.sum(0)  # (V,): in how many sentences a word stands
recalled, guessed = {}, {}
for low, high in BUCKETS[:4]:
    c, has = vectors([p for p in test if low <= len(p.source) <= high])
    order = (c @ probe).argsort(-1, descending=True)
    ranked = has.gather(-1, order)  # 1 where a guess was right
    first_n = torch.arange(len(english)) < has.sum(-1, keepdim=True)
    recalled[low, high] = float((ranked * first_n).sum() / has.sum())
    blind = has[:, common.argsort(descending=True)]  # the same for all
    guessed[low, high] = float((blind * first_n).sum() / has.sum())

# %% tags=["held"]
short, *_, long = recalled.values()
assert short - long >= 0.05, recalled
assert list(recalled.values()) == sorted(recalled.values(), reverse=True)
assert all(recalled[size] > guessed[size] + 0.2 for size in recalled), guessed

# %% tags=["hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(6.2, 3.0))
labels = [f"{low}–{high}" for low, high in recalled]
places = torch.arange(len(labels))
kinds = [("from the vector", recalled, "blue", None), ("commonest words, always the same", guessed, "orange", "//")]  # fmt: skip
for shift, (kind, shares, ink, hatch) in zip((-0.2, 0.2), kinds):
    bars = ax.bar(
        places + shift,
        [100 * share for share in shares.values()],
        width=0.4,
        color=figures.COLOURS[ink],
        hatch=hatch,
        label=kind,
    )
    ax.bar_label(bars, fmt="%.0f")
ax.set_xticks(places, labels)
ax.set(xlabel="English words", ylabel="found, in %", ylim=(0, 140))
ax.set_title("Words of the sentence that a linear map finds in c")
ax.legend(loc="upper right", ncols=2, fontsize=11)
figures.show(
    fig,
    alt="Pairs of bars for four lengths. The share of a sentence's words that can be found in its vector falls from short to long sentences; the share found by always guessing the commonest words is far lower.",
    caption="Every bar is over the test sentences of that length.",
)

# %% [markdown]
# A linear map is not all a decoder can do, so read the trend and not the value: the vector says far more than blind guessing, and the longer the sentence, the smaller the part of it that can be found (one model). **One vector must hold everything.** What this translator has not put into it, its decoder can only guess.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: teacher forcing and real life
#
# In training the decoder always read right words. When it translates, it reads its own. How much does that matter?

# %% tags=["deeper", "hide-input", "nbval-ignore-output"]
batch = collate(test, english, french)
words = batch.target_out  # (B, T)
real = (words != PAD) & (words != EOS)  # the counts below have no end mark
with torch.no_grad():
    logits = translator.model(batch)  # (B, T, V), reading the right words
best = logits.argmax(-1)  # (B, T)
taught = [
    [french.words[i] for i in row[: len(pair.target)].tolist()]
    for row, pair in zip(best, test)
]


def right_words(sentences):
    """The share that is right: in its place, and by the fewest edits."""
    total = in_place = edits = 0
    for ours, pair in zip(sentences, test):
        total += len(pair.target)
        in_place += sum(a == b for a, b in zip(ours, pair.target))
        edits += metrics.edit_distance(ours, pair.target)
    return in_place / total, 1 - edits / total


forced, free = right_words(taught), right_words(said)
print(f"{'share right':24} in place  by edits")
for name, right in (("the right words", forced), ("its own words", free)):
    print(f"reading {name:16} {right[0]:8.2f}  {right[1]:8.2f}")

# %% tags=["deeper", "held"]
assert forced[0] - free[0] >= 0.1, (forced, free)
assert abs(forced[0] - forced[1]) < 0.01, (forced, free)
assert 0.02 < free[1] - free[0] < (forced[0] - free[0]) / 2, (forced, free)

# %% [markdown] tags=["deeper"]
# Two things are mixed in the first column. One word too many puts everything after it in the wrong place, and the column calls all of it wrong. The second column does not: it counts the fewest words that must be inserted, deleted or replaced. That closes about a third of the gap.
#
# And the rest? A wrong word is read at the next step, and the decoder is in a sentence it was never trained to continue: *exposure bias* ([Ranzato et al. 2016](https://arxiv.org/abs/1511.06732)). To see that by itself, let it read the right words again, all but one: instead of the second French word it reads its own best wrong guess. Every position and every length stays as it is.

# %% tags=["deeper", "hide-input", "nbval-ignore-output"]
guess = logits[:, 1].scatter(1, words[:, 1:2], -torch.inf)  # a wrong one
guess[:, :4] = -torch.inf  # nor a mark, such as the end
read = batch.target_in.clone()  # (B, T): ⟨bos⟩, first word, second word, …
read[:, 2] = guess.argmax(-1)
with torch.no_grad():
    slipped = translator.model(replace(batch, target_in=read)).argmax(-1)
after = {"all words right": best, "one word wrong": slipped}
print(f"{'words later':16}", *(f"{later:4}" for later in range(1, 7)))
for name, out in after.items():
    after[name] = torch.stack(
        [(out == words)[:, t][real[:, t]].float().mean() for t in range(2, 8)]
    )
    print(f"{name:16}", *(f"{share:.2f}" for share in after[name]))

# %% tags=["deeper", "held"]
lost = after["all words right"] - after["one word wrong"]
assert lost[0] > 0.2, lost
assert lost[0] > lost[1] > lost[2] > 0, lost
assert lost[3:].max() < 0.1, lost

# %% [markdown] tags=["deeper"]
# One wrong word costs the next one about thirty points, the one after about twelve, and then the damage fades: the decoder is reading right words again. When it translates, nobody gives it right words. (One model. Some of these changes are no mistakes: after another noun, its adjective *must* change.)
#
# A proposed cure is to read its own words now and then while learning ([Bengio et al. 2015](https://arxiv.org/abs/1506.03099)). And do not judge a translator by its teacher-forced accuracy.

# %% [markdown]
# ### Search, on the real model
#
# Greedy, beam search and sampling drive the same model. Here is a beam search of our translator on a sentence of the test set, all candidates included. Press *Next step*, or *Play*:

# %% tags=["hide-input", "nbval-ignore-output"]
middle = next(
    pair
    for i, pair in enumerate(test)
    if 7 <= len(pair.source) <= 8 and said[i] != list(pair.target)
)
state, _ = translator.start([middle.source])
BeamTree.from_model(
    translator.model.step,
    state,
    french,
    longest=len(middle.target) + 4,
    widest=4,
    width=3,
    shown=1,
    length_penalty=0.6,
    title=f"{' '.join(middle.source)}",
    caption=f"Right would be: {corpus.detokenise(list(middle.target))}",
)

# %% [markdown]
# **Sampling** does not look for the best. It draws each word according to its probability, after dividing the logits by a temperature $\tau$: $p_i \propto e^{z_i/\tau}$. Cold ($\tau \to 0$) is greedy, $\tau = 1$ is the model itself, and the hotter it gets, the closer to pure chance. For a translation you want the best. For a
# story or a dialogue you do not: the likeliest text is dull ([Holtzman et al. 2020](https://arxiv.org/abs/1904.09751)).

# %% tags=["hide-input", "nbval-ignore-output"]
sources = [pair.source for pair in test]
found = {"greedy": said}
for tau in (0.5, 1.0, 2.0):
    state, longest = translator.start(sources)
    drawn = decoding.sample(
        translator.model.step,
        state,
        max_length=2 * longest,
        temperature=tau,
        generator=seed(0),
    )
    found[f"sampled, τ = {tau}"] = [french.decode(row) for row in drawn]
found["beam, K = 5"] = translator.translate(sources, beam=5)
bleus = {name: metrics.bleu(out, references) for name, out in found.items()}
for name, value in bleus.items():
    print(f"{name:18} BLEU {value:5.1f}  ", " ".join(found[name][7]))

# %% tags=["held"]
assert bleus["beam, K = 5"] > bleus["greedy"], bleus
assert bleus["greedy"] - bleus["sampled, τ = 2.0"] > 20, bleus

# %% [markdown] tags=["slide", "slides-only"]
# ## Search on the real model

# %% tags=["fragment", "slides-only", "hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(6.4, 3.0))
bars = ax.barh(list(bleus), list(bleus.values()), color=red)
ax.bar_label(bars, fmt="%.0f", padding=4)
ax.invert_yaxis()
ax.set(xlabel="BLEU", xlim=(0, 70), title="One model, five searches")
figures.show(
    fig,
    alt="Horizontal bars of BLEU: a beam of 5 is a little longer than greedy; sampling is shorter, the hotter the shorter.",
    caption="Every bar is the same model on the same 400 sentences.",
)

# %% [markdown] tags=["notes"]
# Search helps by a few points. It cannot repair the model: the likeliest sentence of a wrong model is still wrong.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: other shapes of the task
#
# The decoder does not care where its vector came from, nor the encoder who reads it. Change one side, and you have another task:
#
# | shape | encoder | decoder | example |
# |---|---|---|---|
# | sequence → sequence | RNN | RNN | translation, summaries, *cat* → K AE T |
# | sequence → one | RNN | a linear layer | the film critic of part 3 |
# | picture → sequence | CNN | RNN | captions: Show and Tell ([Vinyals et al. 2015](https://arxiv.org/abs/1411.4555)) |
# | one → sequence | an embedding | RNN | write a poem about a topic |
# | step → step | RNN, an answer at every step | | language models, tagging |
#
# Here is the third one in five lines: a *picture* of 8 × 8 pixels takes the place of the English sentence. Its eye is not trained, so it speaks French about nothing; the point is that it fits. Chapter 2 trains a captioner that looks.

# %% tags=["deeper"]
seed(0)
picture = torch.rand(1, 8, 8)
eye = nn.Sequential(nn.Flatten(), nn.Linear(64, 2 * config.hidden), nn.Tanh())
state, _ = translator.start([["a"]])  # any state; we put another vector in
c = eye(picture)  # (1, 2H): where a CNN would leave what it saw
state = state._replace(
    hidden=torch.tanh(translator.model.bridge(c)),
    memory=state.memory._replace(summary=c),
)
caption = decoding.greedy(translator.model.step, state, max_length=8)[0]

# %% tags=["deeper", "nbval-ignore-output"]
print("the decoder says:", " ".join(french.decode(caption)))

# %% [markdown]
# ## 6 · Misconceptions
#
# ### “An LSTM has no vanishing gradients”
#
# Part 4 measured it: fresh from PyTorch an LSTM keeps less than a millionth over 50 steps. On the straight road its memory is multiplied by $f$ at each step, and $f < 1$ always. What is true: *with its gates open* that road decays slowly.
#
# How open must they be? If $f$ were constant, $f^d$ would be left after $d$ steps:

# %% tags=["hide-input"]
for f in (0.5, 0.9, 0.99, 0.999):
    half = math.log(0.5) / math.log(f)
    print(f"f = {f:5}: half of the memory is gone after {half:6.1f} steps")

# %% [markdown]
# ### “A wider beam is always better”
#
# A wider beam finds likelier sentences, on average. That is what it is for, and the first column shows it. (No length penalty here; the beam of 5 in part 5 had one.) **Guess first:** and BLEU?

# %% tags=["hide-input", "nbval-ignore-output"]
widths = (1, 2, 5, 20)
likely, good, length = {}, {}, {}
for k in widths:
    state, longest = translator.start(sources)
    hypotheses = decoding.beam(
        translator.model.step,
        state,
        width=k,
        max_length=longest + 8,
        length_penalty=0.0,  # plain log p
    )
    out = [french.decode(found[0].tokens) for found in hypotheses]
    total = sum(found[0].log_probability for found in hypotheses)
    likely[k] = total / len(out)
    good[k] = metrics.bleu(out, references)
    length[k] = sum(map(len, out)) / sum(map(len, references))
    print(f"K = {k:2}: log p {likely[k]:6.2f}", end="")
    print(f"  BLEU {good[k]:5.1f}  length {length[k]:.2f} of the reference")

# %% tags=["held"]
assert likely[20] > likely[5] > likely[1], likely
assert length[20] < length[5] < length[1], length
assert good[20] < good[2] > good[1], good

# %% [markdown] tags=["slide", "slides-only"]
# ## “A wider beam is always better”

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, axes = plt.subplots(1, 3, figsize=(6.4, 2.9), layout="constrained")
shown_now = {"log p": likely, "BLEU": good, "length": length}
for ax, (name, values) in zip(axes, shown_now.items()):
    ax.plot(range(len(widths)), list(values.values()), "o-")
    ax.set_xticks(range(len(widths)), widths)
    ax.set(title=name, xlabel="beams K")
    ax.yaxis.set_major_locator(plt.MaxNLocator(4))
    ax.margins(0.1, 0.2)
figures.show(
    fig,
    alt="Three small charts against the number of beams: log p rises, BLEU rises and then falls again, the length falls.",
    caption="Left: what the search looks for. Middle: what we want. Right: length, as a share of the reference.",
)

# %% [markdown] tags=["notes"]
# The search works perfectly: log p rises. The model is to blame: its likeliest sentences are too short, because every further word costs. A narrow beam finds fewer of them. This is known from real systems; for a strong enough search the best sentence is often the empty one (Stahlberg & Byrne 2019).

# %% [markdown]
# The search gets better and better, the translations do not: BLEU rises with a second beam and is lower again with twenty, and the sentences get shorter. (One model, 400 sentences; a point or two of BLEU is little.) Every further word multiplies $p$ by something below 1, so short sentences have an advantage, and the wider the beam, the more of them it finds. Real systems show the same
# ([Koehn & Knowles 2017](https://arxiv.org/abs/1706.03872)); in the extreme, the likeliest translation of all is often the empty one ([Stahlberg & Byrne 2019](https://arxiv.org/abs/1908.10090)). The length penalty is a patch for it. The *search* did its job; it is the model that rates short sentences too highly.

# %% [markdown]
# ## 7 · Exercises
#
# Fill in the blanks, run the check, read what it says. Hints are folded; open them one at a time. Checks never show the solution.

# %% [markdown] tags=["exercise"] exercise="01.1"
# ### Exercise 1.1 ★ · Unroll a vanilla RNN (10 min)
#
# Write the loop yourself: $h_t = \tanh(W x_t + U h_{t-1} + b)$ with $h_0 = 0$, for all words of a sentence, or of a batch of sentences.
#
# | | shape |
# |---|---|
# | `x` | $(\dots, T, E)$ |
# | `w`, `u`, `b` | $(H, E)$, $(H, H)$, $(H,)$ |
# | result: the state after every word | $(\dots, T, H)$ |


# %% tags=["stub"] exercise="01.1"
def my_rnn(x, w, u, b):
    """The states of a vanilla RNN along a sentence: (..., T, H)."""
    h = x.new_zeros(*x.shape[:-2], len(b))  # (..., H)
    states = []
    for t in range(x.shape[-2]):
        word = x[..., t, :]  # (..., E)
        h = ...
        states.append(h)
    return ...


# %% [markdown] tags=["hint"] exercise="01.1"
# Three things are added inside the tanh: the word through `w`, the last state through `u`, and `b`. Vectors are rows here, so $W x$ is written `word @ w.T`.

# %% [markdown] tags=["hint"] exercise="01.1"
# `torch.stack(states, dim=…)` puts a list of $(\dots, H)$ together. Where must the new axis go, so that time comes second to last?


# %% tags=["solution"] exercise="01.1"
def my_rnn(x, w, u, b):
    """The states of a vanilla RNN along a sentence: (..., T, H)."""
    h = x.new_zeros(*x.shape[:-2], len(b))  # (..., H)
    states = []
    for t in range(x.shape[-2]):
        word = x[..., t, :]  # (..., E)
        h = torch.tanh(word @ w.T + h @ u.T + b)
        states.append(h)
    return torch.stack(states, dim=-2)


# %% tags=["check"] exercise="01.1"
check("01.1", my_rnn)

# %% [markdown] tags=["exercise"] exercise="01.2"
# ### Exercise 1.2 ★★ · One step of a GRU (15 min)
#
# With one bias only, and the weights stacked in the order $r$, $z$, $n$:
#
# $$r = \sigma(W_r x + U_r h + b_r), \qquad z = \sigma(W_z x + U_z h + b_z),$$
#
# $$n = \tanh(W_n x + b_n + r \odot (U_n h)), \qquad h' = (1 - z) \odot n + z \odot h .$$
#
# `x` is $(\dots, E)$, `h` is $(\dots, H)$, `w` is $(3H, E)$, `u` is $(3H, H)$, `b` is $(3H,)$. Return $h'$. Before you run it: which value of $z$ makes the cell ignore the word?


# %% tags=["stub"] exercise="01.2"
def my_gru_step(x, h, w, u, b):
    """The state after one more word: (..., H)."""
    of_x = x @ w.T + b  # (..., 3H)
    of_h = h @ u.T  # (..., 3H)
    r = ...
    z = ...
    n = ...
    return ...


# %% [markdown] tags=["hint"] exercise="01.2"
# `a, b, c = of_x.chunk(3, dim=-1)` cuts the last axis into three blocks, in order.

# %% [markdown] tags=["hint"] exercise="01.2"
# The gates add the blocks of `of_x` and `of_h` and take a sigmoid. The candidate does not just add them: $r$ first decides how much of $U_n h$ comes through.


# %% tags=["solution"] exercise="01.2"
def my_gru_step(x, h, w, u, b):
    """The state after one more word: (..., H)."""
    x_r, x_z, x_n = (x @ w.T + b).chunk(3, dim=-1)
    h_r, h_z, h_n = (h @ u.T).chunk(3, dim=-1)
    r = torch.sigmoid(x_r + h_r)
    z = torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + r * h_n)
    return (1 - z) * n + z * h


# %% tags=["check"] exercise="01.2"
check("01.2", my_gru_step)

# %% [markdown] tags=["exercise"] exercise="01.3"
# ### Exercise 1.3 ★★ · The probability of a sentence (15 min)
#
# A decoder with teacher forcing gives logits for every position of every sentence in a batch, $(B, T, V)$. `target` holds the right words, $(B, T)$, and 0 where a sentence has ended and padding begins. Return $\log p(y \mid x)$ of each sentence, shape $(B,)$.
#
# It should also survive a sentence of 150 words, whose probability is far too small for float32.


# %% tags=["stub"] exercise="01.3"
def my_log_p(logits, target):
    """log p of each sentence: (B, T, V), (B, T) -> (B,)."""
    log_p = ...  # (B, T, V): log-probabilities of all words
    of_word = ...  # (B, T): log p of the right word at each place
    return ...


# %% [markdown] tags=["hint"] exercise="01.3"
# Which axis do the words lie on that compete with each other? `log_softmax` along that one.

# %% [markdown] tags=["hint"] exercise="01.3"
# `log_p.gather(-1, target[..., None])` picks one number at each position; an axis of size 1 remains.

# %% [markdown] tags=["hint"] exercise="01.3"
# `target != 0` is True for real words. Multiply, then sum along the sentence.


# %% tags=["solution"] exercise="01.3"
def my_log_p(logits, target):
    """log p of each sentence: (B, T, V), (B, T) -> (B,)."""
    log_p = logits.log_softmax(dim=-1)  # (B, T, V)
    of_word = log_p.gather(-1, target[..., None])[..., 0]  # (B, T)
    return (of_word * (target != 0)).sum(dim=-1)


# %% tags=["check"] exercise="01.3"
check("01.3", my_log_p)

# %% [markdown] tags=["exercise"] exercise="01.4"
# ### Exercise 1.4 ★★★ · One step of beam search (25 min)
#
# There are $K$ beginnings with their log-probabilities so far, `totals` $(K,)$, and the model has said `log_p` $(K, V)$: how likely each of $V$ words is after each beginning. Find the `width` best continuations of all. Return three tensors of shape `(width,)`, best first: the new totals, the parents (which beginning is continued, $0 \dots K-1$) and the words ($0 \dots V-1$).
#
# Endings play no part here. No loops are needed.


# %% tags=["stub"] exercise="01.4"
def my_beam_step(totals, log_p, width):
    """The best continuations: totals, parents, words, each (width,)."""
    every = ...  # (K, V): the total of every continuation
    best = ...  # (width,): the largest of the flattened table
    place = ...  # (width,): where they stand in it
    parents = ...
    words = ...
    return best, parents, words


# %% [markdown] tags=["hint"] exercise="01.4"
# Logarithms of probabilities add up. `totals[:, None]` is a column that can be added to every column of `log_p`.

# %% [markdown] tags=["hint"] exercise="01.4"
# `table.flatten().topk(width)` gives the largest values and their positions in the flat list, row after row.

# %% [markdown] tags=["hint"] exercise="01.4"
# Every row has $V$ entries. So position 17 with $V = 5$ is in row $17 \,//\, 5$, column $17 \,\%\, 5$.


# %% tags=["solution"] exercise="01.4"
def my_beam_step(totals, log_p, width):
    """The best continuations: totals, parents, words, each (width,)."""
    every = totals[:, None] + log_p  # (K, V)
    best, place = every.flatten().topk(width)
    parents = place // log_p.shape[1]
    words = place % log_p.shape[1]
    return best, parents, words


# %% tags=["check"] exercise="01.4"
check("01.4", my_beam_step)

# %% [markdown] tags=["exercise"] exercise="01.6"
# ### Exercise 1.6 ★★ · Find the bug (15 min)
#
# This function prepares teacher forcing. `target`, shape $(B, T)$, holds French words and 0 where a shorter sentence is filled up with padding; 1 is ⟨bos⟩, the begin mark, 2 is ⟨eos⟩, the end mark. Positions with 0 do not count in the loss.
#
# ```python
# def my_teacher(target):
#     one = torch.ones_like(target[:, :1])
#     read = torch.cat([1 * one, target], dim=1)  # ⟨bos⟩ le chat dort
#     say = torch.cat([target, 2 * one], dim=1)  # le chat dort ⟨eos⟩
#     return read, say
# ```
#
# It raises no error, and its shapes are right. But only the longest sentences of a batch teach the decoder when to stop. Find the bug and write the function without it. (Exercise 1.5 is in the GPU notebook.)


# %% tags=["stub"] exercise="01.6"
def my_teacher(target):
    """Targets (B, T) -> what is read, what is to be said: (B, T + 1) each."""
    one = torch.ones_like(target[:, :1])
    read = ...
    say = ...
    return read, say


# %% [markdown] tags=["hint"] exercise="01.6"
# Call it with `torch.tensor([[5, 6, 7], [8, 0, 0]])`, and write the two rows of `say` below those of `read`. What should the decoder say after it has read 8?

# %% [markdown] tags=["hint"] exercise="01.6"
# `(target != 0).sum(dim=1, keepdim=True)` is the number of words of each sentence, shape $(B, 1)$. Counted from 0, that is also the place right after its last word.

# %% [markdown] tags=["hint"] exercise="01.6"
# Add a column of zeros for room. Then `say.scatter(1, place, 2)` writes a 2 into each row at its own place.


# %% tags=["solution"] exercise="01.6"
def my_teacher(target):
    """Targets (B, T) -> what is read, what is to be said: (B, T + 1) each."""
    one = torch.ones_like(target[:, :1])
    read = torch.cat([1 * one, target], dim=1)  # ⟨bos⟩ first
    say = torch.cat([target, 0 * one], dim=1)  # room for one more
    ends = (target != 0).sum(dim=1, keepdim=True)  # (B, 1): after the words
    return read, say.scatter(1, ends, 2)  # ⟨eos⟩ there


# %% tags=["check"] exercise="01.6"
check("01.6", my_teacher)

# %% [markdown] tags=["exercise"] exercise="01.7"
# ### Exercise 1.7 ★ · Predict, then run (8 min)
#
# A vanilla RNN without a bias, $h_t = \tanh(W x_t + U h_{t-1})$ with $h_0 = 0$, reads five words. Change one thing. Is its **last** state still the same? Predict, then let the checker run each change on random numbers. `state_stays(change)` returns `True` if the state stays. (Where it says $U = 0$, $U$ is 0 before the change as well.)


# %% tags=["stub"] exercise="01.7"
def state_stays(change):
    """Is the last state the same after the change?"""
    return {
        "the words in reverse order": ...,
        "a word of zeros in front": ...,
        "a word of zeros at the end": ...,
        "every word doubled, W halved": ...,
        "the first word said twice": ...,
        "U = 0, and the first two words swapped": ...,
        "U = 0, and the last two words swapped": ...,
    }[change]


# %% [markdown] tags=["hint"] exercise="01.7"
# Put a word of zeros into the formula, once with $h = 0$ and once with another $h$.

# %% [markdown] tags=["hint"] exercise="01.7"
# With $U = 0$ the formula has no $h$ any more. Which words can the last state know then?


# %% tags=["solution"] exercise="01.7"
def state_stays(change):
    """Is the last state the same after the change?"""
    return change in (
        "a word of zeros in front",
        "every word doubled, W halved",
        "U = 0, and the first two words swapped",
    )


# %% tags=["check"] exercise="01.7"
check("01.7", state_stays)

# %% [markdown]
# ### GPU exercise · A real corpus
#
# One more exercise has a notebook of its own: [train on real sentences](gpu_01_real_corpus.ipynb). It reads tab-separated sentence pairs, as Tatoeba and Anki publish them, trains the same classes, and draws a length curve for each width and each amount of training. It runs small on a CPU, and at full
# size on a free Colab GPU.

# %% [markdown] tags=["slide"]
# ## 8 · Takeaways
#
# 1. **An RNN reads with a memory:** $h_t = f(h_{t-1}, x_t)$, one cell for every step and every length.
# 2. **Gradients through time are products**, so they tend to vanish or explode exponentially. Gates let a network *choose* to copy; in a fresh LSTM the gradient vanishes, too.
# 3. **A language model is a product of conditionals**, a translator the same under a condition. Modelling, learning and search are three questions.
# 4. **Teacher forcing** trains all steps at once; greedy, beam and sampling use the model. Likelier is not always better.
# 5. **One vector must hold everything.** BLEU falls with length, also within the trained lengths. Less of the vector makes it worse, more training makes it better: a grid tells them apart, one curve does not.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: shapes and costs
#
# A sentence of $T$ words, input width $E$, state width $H$, vocabulary $V$, $K$ beams:
#
# | | shape | parameters | operations |
# |---|---|---|---|
# | states of an RNN | $(T, H)$ | $HE + H^2 + H$ | $2T(HE + H^2)$ |
# | GRU, LSTM | $(T, H)$; LSTM also $c$: $(T, H)$ | 3 and 4 times as many | 3 and 4 times as many |
# | context $c$ | $(2H,)$, whatever $T$ is | | |
# | output layer | $(T, V)$ | $HV + V$ | $2THV$ |
# | steps that must wait for each other | $T$ | | |
# | longest way from word to answer | $T$ steps | | |
# | greedy, beam search | | | one decoder step per word; $K$ per word |

# %% [markdown]
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "A sentence has 5 words, another 50. How many parameters does the RNN use for each?",
            "choices": [
                {
                    "text": "Ten times as many for the long one",
                    "why": "There are ten times as many *steps*, but all of them use the same W, U and b.",
                },
                {
                    "text": "The same for both",
                    "correct": True,
                    "why": "One cell is used at every step. That is why an RNN can read any length.",
                },
                {
                    "text": "It depends on the longest sentence of the training set",
                    "why": "No size of the cell depends on a length. What it *learned* may.",
                },
            ],
        },
        {
            "question": "The recurrent matrix of a linear RNN makes every vector 0.9 times as long. How much gradient is left after 100 steps?",
            "choices": [
                {
                    "text": "About 10 %",
                    "why": "It is a product, not a sum: 0.9 is multiplied a hundred times.",
                },
                {
                    "text": "About 0.003 %",
                    "correct": True,
                    "why": "0.9¹⁰⁰ ≈ 2.7 · 10⁻⁵. A little below 1 is far below 1, a hundred times over.",
                },
                {
                    "text": "90 %",
                    "why": "That is what is left after one step.",
                },
            ],
        },
        {
            "question": "What protects an LSTM's memory from vanishing?",
            "choices": [
                {
                    "text": "Its memory is copied through a gate, and the gate can be close to 1",
                    "correct": True,
                    "why": "c' = f ⊙ c + i ⊙ g has no matrix on the way. How long it lasts depends on f, which is learned.",
                },
                {
                    "text": "Its gradients are clipped",
                    "why": "Clipping shortens gradients that explode. It makes nothing longer.",
                },
                {
                    "text": "Nothing vanishes in an LSTM",
                    "why": "Part 4 measured less than a millionth after 50 steps, with PyTorch's default initialisation.",
                },
            ],
        },
        {
            "question": "The search finds a sentence with higher log p than the right translation has. What is to blame?",
            "choices": [
                {
                    "text": "The search",
                    "why": "It did its job: it found something likelier.",
                },
                {
                    "text": "The model: it gives a wrong sentence more probability than the right one",
                    "correct": True,
                    "why": "A better search cannot repair that. It may even make things a little worse: K = 20 scored below K = 2.",
                },
                {
                    "text": "The temperature",
                    "why": "Temperature matters when words are drawn. It changes no argmax at a single step.",
                },
            ],
        },
        {
            "question": "What does the decoder read at step t, when it is trained with teacher forcing?",
            "choices": [
                {
                    "text": "The word it said at step t − 1",
                    "why": "That is what it does when it translates, and nobody knows the right words.",
                },
                {
                    "text": "The right word of step t − 1",
                    "correct": True,
                    "why": "So all steps can be trained at once. The price: it never sees its own mistakes.",
                },
                {
                    "text": "The right word of step t",
                    "why": "Then it could copy the answer, and would learn nothing else.",
                },
            ],
        },
        {
            "question": "BLEU falls within the trained lengths, from 3–5 to 12–15 words. What else fell with length in this chapter?",
            "choices": [
                {
                    "text": "The number of training sentences of that length",
                    "why": "No: on average, a length from 12 to 15 has more training pairs than one from 3 to 5.",
                },
                {
                    "text": "The share of a sentence's words that can be found in its vector",
                    "correct": True,
                    "why": "The linear probe on c finds a smaller share, the longer the sentence.",
                },
                {
                    "text": "The width of the beam",
                    "why": "The beam was the same for every length. A beam of 5 gained a few points, not forty.",
                },
            ],
        },
        {
            "question": "The grid changed two things: how much of c the decoder gets, and how long it is trained. What did it show at 12–15 words?",
            "choices": [
                {
                    "text": "The vector alone decides",
                    "why": "With all 192 numbers, BLEU rose with every doubling of the steps, too.",
                },
                {
                    "text": "Training alone decides",
                    "why": "At equal steps, 48 numbers were worse than 192 every time.",
                },
                {
                    "text": "Both help, so a falling curve by itself does not say which is missing",
                    "correct": True,
                    "why": "That is why a grid is needed: change one thing at a time, and look at both.",
                },
            ],
        },
    ],
    title="Self-test: recurrent networks",
    key="01",
)

# %% [markdown]
# ### References
#
# - J. Elman (1990), [Finding Structure in Time](https://doi.org/10.1207/s15516709cog1402_1): the vanilla RNN.
# - S. Hochreiter, J. Schmidhuber (1997), [Long Short-Term Memory](https://doi.org/10.1162/neco.1997.9.8.1735); F. Gers and others (2000), [Learning to Forget](https://doi.org/10.1162/089976600300015015): the forget gate.
# - Y. Bengio and others (1994), [Learning Long-Term Dependencies with Gradient Descent Is Difficult](https://doi.org/10.1109/72.279181); R. Pascanu and others (2013), [On the Difficulty of Training Recurrent Neural Networks](https://arxiv.org/abs/1211.5063).
# - R. Jozefowicz and others (2015), [An Empirical Exploration of Recurrent Network Architectures](https://proceedings.mlr.press/v37/jozefowicz15.html): start with a large forget bias.
# - K. Cho and others (2014), [Learning Phrase Representations using RNN Encoder–Decoder](https://arxiv.org/abs/1406.1078): the GRU; [On the Properties of Neural Machine Translation](https://arxiv.org/abs/1409.1259): the length curve.
# - I. Sutskever and others (2014), [Sequence to Sequence Learning with Neural Networks](https://arxiv.org/abs/1409.3215).
# - Y. Wu and others (2016), [Google's Neural Machine Translation System](https://arxiv.org/abs/1609.08144): beam search with a length penalty. P. Koehn, R. Knowles (2017), [Six Challenges for Neural Machine Translation](https://arxiv.org/abs/1706.03872).
# - F. Stahlberg, B. Byrne (2019), [On NMT Search Errors and Model Errors: Cat Got Your Tongue?](https://arxiv.org/abs/1908.10090). A. Holtzman and others (2020), [The Curious Case of Neural Text Degeneration](https://arxiv.org/abs/1904.09751).
# - O. Vinyals and others (2015), [Show and Tell](https://arxiv.org/abs/1411.4555): captions from a fixed vector.
#
# **Next:** give the decoder a new vector for every word. Chapter 2 invents attention.
