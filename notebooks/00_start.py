# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 0
#     title: Start here
#     minutes: 85
#     summary: Chop anything into tokens, give each token a vector, and find directions that mean something. Plus a map of the course, its notation, and how to work with it.
# ---

# %% [markdown]
# # 0 · Start here
#
# A Transformer never sees a word, a picture or a sound. It sees a table of numbers.
#
# **Question:** what do a translator, a model that outlines the cat in a photograph, and a storyteller have in common? Step through the map: each stop adds one idea to the ones before it.

# %% tags=["setup"]
from itertools import pairwise

import matplotlib.pyplot as plt
import plotly.graph_objects as go
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from attnlab import figures, palette
from attnlab.checks import check
from attnlab.data import tokens
from attnlab.models.published import minilm
from attnlab.reproducible import seed
from attnlab.widgets import (
    AttentionHeatmap,
    Chopper,
    Quiz,
    Timeline,
    WordDirections,
)
from attnlab.widgets.diagram import Box, Diagram, Matrix, Step

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown] tags=["slide", "slides-only"]
# # Start here
#
# attnlab · chapter 0
#
# Chop anything into chunks. Give each chunk a vector.

# %% [markdown] tags=["notes"]
# 25 minutes. History (5), tokens (8), vectors with meaning (8), how the course works (4). Every figure is live: let somebody from the room choose the words.

# %% tags=["slide", "hide-input"]
CHAPTERS = [
    ("c0", "0 Tokens", "everything a table", (0, 0), "00_start"),
    ("c1", "1 RNN", "read, then write", (1, 0), "01_rnn_seq2seq"),
    ("c2", "2 Alignment", "looks back", (2, 0), "02_bahdanau"),
    ("c3", "3 Self-attention", "all at once", (3, 0), "03_self_attention"),
    ("c4", "4 Heads", "several at once", (3, 1), "04_multi_head"),
    ("c5", "5 Positions", "who bit whom", (2, 1), "05_positions"),
    ("c6", "6 Transformer", "all of it", (1, 1), "06_transformer"),
    ("c7", "7 Families", "GPT, BERT, T5", (0, 1), "07_families"),
    ("c8", "8 ViT, DINO", "patches", (0, 2), "08_vit_dino"),
    ("c9", "9 Swin", "shifted windows", (1, 2), "09_swin"),
    ("c10", "10 Transformer++", "today's upgrades", (2, 2), "10_transformer_pp"),
    ("c11", "Capstone", "your own model", (3, 2), "capstone_your_own_model"),
]  # fmt: skip
Diagram(
    [
        Box(name, label, detail=detail, at=at, link=f"{page}.html")
        for name, label, detail, at, page in CHAPTERS
    ],
    arrows=[f"c{i} -> c{i + 1}" for i in range(11)],
    steps=[
        Step("First: anything becomes a table, one row of numbers per token.", lit=["c0"]),
        Step("A recurrent network translates, and squeezes each sentence into one vector. Attention was invented to help it.", lit=["c1", "c2"]),
        Step("Throw the recurrence away. Queries, keys and values; heads; positions.", lit=["c3", "c4", "c5"]),
        Step("Put together: the Transformer, and the families that came from it.", lit=["c6", "c7"]),
        Step("The same blocks read pictures, whole or in windows.", lit=["c8", "c9"]),
        Step("And the same blocks, upgraded, tell a story in your browser. At the end you build that model yourself.", lit=["c10", "c11"]),
    ],
    tall={f"c{i}": (i % 2 if i // 2 % 2 == 0 else 1 - i % 2, i // 2) for i in range(12)},
    title="The course as a map",
    caption="One set of blocks runs all of it: a translator, a picture model, a storyteller. On the website a click opens the chapter.",
)  # fmt: skip

# %% [markdown]
# At the end of this chapter you can
#
# - chop a text, a picture and a sound into tokens, and say how many there are and how wide;
# - explain what an embedding is, and compute which words lie near each other;
# - find *king − man + woman* on real vectors, and say what is wrong with the famous story;
# - run a chapter, check an exercise, read a heatmap.
#
# Run the cells as you read (`Shift` + `Enter`), and change things. Nothing can break.

# %% [markdown]
# ## How to work
#
# **A chapter** has eight parts: a question, the mechanism by hand, live figures, the mechanism in the open, an experiment, a popular mistake, exercises, and a summary. Allow about two hours. Training takes a minute or two, and a bar shows the time left.
#
# **An exercise** has a stub with dots, hints that you unfold one by one, and a check that says in words what is wrong. Nothing is graded and nothing is sent anywhere. Solutions are in `notebooks/solutions/`, and folded on the website.
#
# **GPU exercises** are notebooks of their own. They run at a small size on any laptop, and at full size in Colab.
#
# **Your work** stays yours: nothing the course does overwrites a notebook you have edited.
#
# **You need** some Python, the idea of a derivative, and a little linear algebra. torch is explained where it comes up. The fold below refreshes three things that every chapter uses.

# %% [markdown] tags=["deeper"]
# ### Five minutes: softmax, matrix product, gradient
#
# **Softmax** turns any numbers into shares that add up to 1: raise $e$ to each, divide by the sum. The largest number gets the largest share, and no finite number gets a share of exactly 0.
#
# **A matrix product** is many dot products: entry $(i, j)$ of $AB$ is row $i$ of $A$ times column $j$ of $B$. So $(n, m)$ times $(m, k)$ is $(n, k)$: the inner sizes must agree.
#
# **A gradient** says how the loss changes when a number changes a little. torch computes all of them at once with `.backward()`; training moves every number a small step against its gradient.

# %% tags=["deeper"]
scores = torch.tensor([2.0, 1.0, 0.0])
print("softmax:", scores.softmax(-1), "sum", scores.softmax(-1).sum())

A, B = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
print(
    "(2, 3) @ (3, 4):", tuple((A @ B).shape), "entry (1, 2):", A[1] @ B[:, 2]
)

w = torch.tensor(3.0, requires_grad=True)
loss = (w - 1) ** 2  # its derivative is 2 (w − 1)
loss.backward()
print("gradient at w = 3:", w.grad)

# %% [markdown] tags=["deeper"]
# ### Notation
#
# The same letters in all chapters:
#
# | letter | meaning | | letter | meaning |
# |---|---|---|---|---|
# | $B$ | sentences in a batch | | $q, k, v, o$ | query, key, value, output |
# | $L$, $S$ | tokens with a query; tokens with a key | | $Q, K, V, O$ | all of them, as rows |
# | $E$ | width of the model | | $\alpha$ | weights, each row adds up to 1 |
# | $H$ | heads | | $s$ or $e$ | scores, before the softmax |
# | $D$ | width of a head, $E/H$ | | $h_t$, $s_t$ | state of an encoder, of a decoder |
# | $V$ | words in the vocabulary | | $W$ | a learned matrix |
# | $T$ | words of a target, steps in time | | $\tau$ | temperature |
#
# Some letters have a second meaning. Recurrent networks (chapters 1 and 2) have no heads: there $H$ is the width of a state, and the target has length $T$. A picture is $C \times H \times W$: colours, height, width. And the $V$ of $Q, K, V$ are values.
#
# Shapes are written in brackets, batch first: $(B, L, E)$. A mask is a table of yes and no, `True` = may attend. A vector is a row.

# %% [markdown]
# ## 1 · The question
#
# A network multiplies and adds. So *cat* must become numbers. Which ones?
#
# The obvious idea: number the words. Sort a dictionary and give each word its position. **Guess first:** with such numbers, which
# words are the neighbours of *king*?
#
# We take the dictionary of a real model, all-MiniLM-L6-v2 (a sentence encoder, [Reimers & Gurevych 2019](https://arxiv.org/abs/1908.10084), trained from the distilled MiniLM of [Wang et al. 2020](https://arxiv.org/abs/2002.10957)): all its entries that are plain words of three letters or more.

# %%
tokenizer, encoder = minilm()
vocabulary = tokenizer.get_vocab()
words = sorted(
    w for w in vocabulary if w.isalpha() and w.isascii() and len(w) > 2
)
number = {word: i for i, word in enumerate(words)}
i = number["king"]
print(f"{len(words):,} words; king is number {i:,}")
print("before it:", words[i - 3 : i])
print("after it: ", words[i + 1 : i + 4])

# %% [markdown]
# A network that thinks in such numbers finds *kinetic* similar to *king*. How bad is that? Take pairs of words that belong together, and 500 random words, the strangers.
# How often is the partner nearer than a stranger? Tossing a coin would be right half the time.

# %% [markdown] tags=["slide", "slides-only"]
# ## Which number is *cat*?
#
# Number the words in alphabetical order. Take twenty pairs like *king* and *queen*: is the partner nearer than a random word?

# %% tags=["hide-input"]
PAIRS = """king queen, cat dog, river lake, doctor nurse, apple banana, paris london,
monday friday, red blue, walk run, happy glad, car truck, teacher student,
guitar piano, bread butter, winter summer, father mother, gold silver, north south,
book novel, hammer nail""".replace("\n", " ").split(", ")
pairs = [tuple(pair.split()) for pair in PAIRS]

seed(0)
strangers = [words[j] for j in torch.randint(len(words), (500,))]


def share_nearer(distance):
    """How often the partner is nearer than a stranger, over all pairs."""
    wins = [
        distance(a, b) < distance(a, stranger)
        for a, b in pairs
        for stranger in strangers
    ]
    return sum(wins) / len(wins)


by_number = share_nearer(lambda a, b: abs(number[a] - number[b]))
print(f"by number: the partner is nearer in {by_number:.0%} of the cases")

# %% tags=["fragment", "slides-only", "hide-input"]
print(f"by number: the partner is nearer in {by_number:.0%} of the cases")

# %% [markdown] tags=["notes"]
# Tossing a coin would be right half the time. Alphabet numbers carry next to no meaning. One number per word is also too little: near in which sense?

# %% [markdown]
# Not much better than a coin. The trouble goes deeper than the alphabet: **one** number puts all words on a line. *king – queen – woman – man – king*: each is one step from the next (the crown, the gender), and the opposite ones are two steps apart. Try to put these four on a line. On a square it is easy:

# %% tags=["slide", "hide-input"]
Diagram(
    [
        Box("king", "king", detail="crown, male", at=(0, 0), colour="query"),
        Box("queen", "queen", detail="crown, female", at=(2, 0), colour="query"),
        Box("man", "man", detail="no crown, male", at=(0, 1), colour="key"),
        Box("woman", "woman", detail="no crown, female", at=(2, 1), colour="key"),
    ],
    arrows=["king -> queen: the same step", "man -> woman: a step", "man -> king: another step", "woman -> queen: the same again"],
    title="Two numbers per word: four words make a square",
    caption="With one number per word, four words on a line, this cannot be drawn: three equal steps fit, the fourth does not, unless two words share a place.",
    gap=(40.0, 90.0),
)  # fmt: skip

# %% [markdown] tags=["notes"]
# Let the room try it on a line first. Then: how many numbers would one need for old and young as well?

# %% [markdown]
# ## 2 · By hand
#
# Give every word several numbers, one for each thing we want to say about it. Three are enough to begin with:
#
# | word | royal | female | young |
# |---|---|---|---|
# | king | 1 | 0 | 0 |
# | queen | 1 | 1 | 0 |
# | man | 0 | 0 | 0 |
# | woman | 0 | 1 | 0 |
# | prince | 1 | 0 | 1 |
#
# A word is now a **vector**, a point in space, and a *direction* has a meaning: from *man* to *woman* is one step along *female*. Take that step from *king*:
#
# $$\underbrace{\text{king}}_{(1,0,0)} - \underbrace{\text{man}}_{(0,0,0)} + \underbrace{\text{woman}}_{(0,1,0)} = (1,1,0) = \text{queen}$$

# %%
names = ["king", "queen", "man", "woman", "prince"]
table = torch.tensor(
    [[1.0, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 1]]
)  # (5 words, 3 numbers)
king, queen, man, woman, prince = table
result = king - man + woman  # (3,)
distance = (table - result).norm(dim=-1)  # (5,)
print("king − man + woman =", result)
print("nearest:", names[distance.argmin()])

# %% [markdown]
# **Try it:** what is *prince − man + woman*? Which row would you add to the table, so that the answer has a name?
#
# ### Looking up is multiplying
#
# The table is called an **embedding**. Choosing row 3 of it (*woman*: we count from 0) can be written as a product: a vector that is 1 at position 3 and 0 elsewhere (*one-hot*), times the table.
#
# $$\underbrace{x}_{(L,\,E)} = \underbrace{\text{onehot}(w)}_{(L,\,V)}\;\underbrace{W}_{(V,\,E)}$$
#
# | symbol | meaning | shape | here |
# |---|---|---|---|
# | $w$ | the ids of the words | $(L,)$ | 2 words |
# | $W$ | the embedding, learned like any other weight | $(V, E)$ | $(5, 3)$ |
# | $x$ | one vector for each word | $(L, E)$ | $(2, 3)$ |

# %% tags=["slide", "hide-input"]
w = torch.tensor([3, 0])  # woman, king
one_hot = F.one_hot(w, num_classes=5).float()  # (2, 5)
Diagram(
    [
        Matrix("hot", "one-hot", values=one_hot, digits=0, rows=["woman", "king"], at=(0, 0)),
        Matrix("W", "table W", values=table, digits=0, rows=names, at=(1, 0)),
        Matrix("x", "x", values=one_hot @ table, digits=0, rows=["woman", "king"], at=(2, 0)),
    ],
    arrows=["hot -> W", "W -> x"],
    steps=[
        Step("Two words. Each is a row of zeros with a single 1, at the word's number.", lit=["hot"]),
        Step("The table has one row per word of the dictionary.", lit=["W"]),
        Step("The product picks rows: the 1 in the first row takes the row of woman, and nothing else.", lit=["hot", "W", "x"]),
    ],
    title="One-hot times table is a row of the table",
    caption="Nobody multiplies by all these zeros: in code it is table[w]. But it shows that an embedding is a linear layer.",
)  # fmt: skip

# %%
w = torch.tensor([3, 0])  # woman, king
one_hot = F.one_hot(w, num_classes=5).float()  # (2, 5)
torch.testing.assert_close(one_hot @ table, table[w])
torch.testing.assert_close(table[w], F.embedding(w, table))
print(one_hot @ table)

# %% [markdown]
# In a real model nobody fills in *royal* and *female*. The numbers are learned, there are hundreds of them per word, and a single column need not mean anything that has a name. Directions can, as part 5 shows.
#
# ## 3 · Live
#
# All arithmetic of these figures runs in your browser: they work on the website and in the slides too.
#
# ### How we got here
#
# Forty years on one line. Move along it with the slider. **Question:** how many years lie between the LSTM and attention, and how many between attention and the Transformer?

# %% tags=["hide-input"]
HISTORY = [
    (1982, "Hopfield network", "associative memory", "Hopfield 1982",
     "A network stores patterns and finds the nearest one from a part of it: a look-up by content. One step of a modern version is attention (Ramsauer et al. 2020)."),
    (1986, "Recurrent networks", "recurrence", "Rumelhart, Hinton & Williams 1986",
     "Back-propagation trains networks that feed their own state back. A sequence is read step by step. Chapter 1."),
    (1997, "LSTM", "recurrence", "Hochreiter & Schmidhuber 1997",
     "Gates protect a memory cell, so that gradients can survive many steps. Chapter 1."),
    (2014, "Sequence to sequence", "recurrence", "Sutskever, Vinyals & Le 2014",
     "One recurrent network reads a sentence into a vector, another writes the translation from it. Chapter 1."),
    (2014, "GRU", "recurrence", "Cho et al. 2014",
     "A simpler cell with two gates, made for translation. Chapter 1."),
    (2014, "Attention", "attention", "Bahdanau, Cho & Bengio 2014",
     "The decoder looks back at every word of the source and learns where to look. Chapter 2."),
    (2015, "Show, Attend and Tell", "attention", "Xu et al. 2015",
     "The same idea looks at the parts of a picture while it writes a caption. Chapter 2."),
    (2017, "Transformer", "attention", "Vaswani et al. 2017",
     "No recurrence at all: every token looks at every other token, in several heads. In 2025 Nature counted its paper among the ten most cited of the century. Chapters 3 to 6."),
    (2018, "GPT and BERT", "language models", "Radford et al. 2018; Devlin et al. 2018",
     "Half a Transformer, trained on plain text first and on the task later: the decoder half, and the encoder half. Chapter 7."),
    (2019, "T5", "language models", "Raffel et al. 2019",
     "Every task becomes text in, text out. Chapter 7."),
    (2020, "Vision Transformer", "vision", "Dosovitskiy et al. 2020",
     "A picture is cut into patches, and patches are read like words. Chapter 8."),
    (2020, "GPT-3", "language models", "Brown et al. 2020",
     "The decoder half again, with 175 billion weights: it learns new tasks from a few examples in its input. Chapter 7."),
    (2021, "DINO", "vision", "Caron et al. 2021",
     "Without labels, attention maps of a vision Transformer outline the objects. Chapter 8."),
    (2021, "Swin", "vision", "Liu et al. 2021",
     "Attention inside small windows that shift from layer to layer. Chapter 9."),
    (2021, "Rotary positions", "attention", "Su et al. 2021",
     "Queries and keys are turned by an angle that grows with their position. Chapter 5, and chapter 10."),
    (2021, "DALL·E", "vision", "Ramesh et al. 2021",
     "Words and pieces of a picture stand in one row of tokens: a decoder reads the words and writes the pieces."),
    (2021, "AlphaFold 2", "science", "Jumper et al. 2021",
     "Attention between the parts of a protein, and between related proteins, predicts how it folds."),
    (2021, "Codex", "language models", "Chen et al. 2021",
     "A GPT trained further on code. It writes programs; tests count how many of them work."),
    (2022, "FlashAttention", "attention", "Dao et al. 2022",
     "The same attention, computed in blocks, so that the big table of weights is never written to slow memory. Chapter 10."),
    (2022, "ChatGPT", "language models", "OpenAI 2022; Ouyang et al. 2022",
     "A GPT trained further on what people ask and which answers they prefer."),
    (2023, "Llama", "language models", "Touvron et al. 2023",
     "The 2017 decoder with a handful of upgrades, and weights that were published, those of Llama 2 for nearly everybody. Chapter 10 builds the upgrades one by one."),
    (2025, "DeepSeek-R1", "language models", "DeepSeek-AI 2025",
     "An open model that learned, by reinforcement learning, to write down its reasoning before it answers."),
]  # fmt: skip
keys = ("year", "name", "thread", "paper", "text")
Timeline(
    [dict(zip(keys, event)) for event in HISTORY],
    selected=5,
    title="From recurrence to attention",
    caption="Show one thread alone: which one stops, and which one begins in 2014?",
)

# %% tags=["slide", "slides-only", "hide-input"]
Timeline(
    [dict(zip(keys, event)) for event in HISTORY],
    selected=5,
    title="How we got here",
)

# %% [markdown] tags=["notes"]
# Start at the LSTM and let the room guess the years. 17 years from LSTM to attention, 3 from attention to the Transformer.

# %% tags=["hide-input"]
year = {name: y for y, name, *_ in HISTORY}
print("LSTM to attention:", year["Attention"] - year["LSTM"], "years")
print("to the Transformer:", year["Transformer"] - year["Attention"], "years")

# %% [markdown]
# ### Chop anything
#
# A sentence, a picture and a sound. The recipe is the same: **chop it into chunks, and project each chunk to a vector**.

# %% tags=["slide", "hide-input"]
Diagram(
    [
        Box("text", "text", at=(0, 0)),
        Box("image", "picture", at=(0, 1)),
        Box("sound", "sound", at=(0, 2)),
        Box("pieces", "pieces of words", detail="ids, looked up", at=(1, 0), colour="query"),
        Box("patches", "patches", detail="P · P · C numbers", at=(1, 1), colour="key"),
        Box("frames", "frames", detail="F samples", at=(1, 2), colour="value"),
        Matrix("X", "X", size=(6, 4), shape="L × E", at=(2, 1)),
    ],
    arrows=["text -> pieces -> X", "image -> patches -> X", "sound -> frames -> X"],
    steps=[
        Step("Three kinds of input.", lit=["text", "image", "sound"]),
        Step("Chop each into chunks.", lit=["pieces", "patches", "frames"]),
        Step("Project each chunk to a vector of the same width: one table, whatever it was.", lit=["pieces", "patches", "frames", "X"]),
    ],
    title="Chop, then project",
    caption="After this step text, picture and sound have one form: a table. Everything in this course happens to X.",
)  # fmt: skip

# %% [markdown]
#
# - *Text.* With no merges every letter is a token. Add merges: the most common neighbours are glued together, and pieces grow, some of them into whole words. Type your own name. Why does it stay in pieces? (The merges come from one little story.)
# - *Picture.* Halve the patch size. **Guess:** by what factor does the number of tokens grow? Chapter 3 measures what that costs: attention pays for every *pair*.
# - *Sound.* Same again, in one dimension.

# %% tags=["hide-input"]
STORY = """the cat sat on the mat and the dog sat on the log and the old cat saw the old dog and
the dog saw the cat and the lowest step of the old tower was lower than the lowest branch of the
oldest tree by the river where the older cat and the younger dog were resting in the shadow of the
tower and watching the water and the birds that were singing in the branches of the tree and
the children were playing and running and jumping and singing and the day was the longest and the
warmest day of the year and nobody was waiting for the evening and everybody was waiting for the
morning and the water was the coldest and the clearest water of the river"""
merges = tokens.learn_merges(STORY, 120)
Chopper(
    "the youngest cat was waiting by the oldest tower",
    merges,
    used=40,
    picture=tokens.landscape(),
    sound=tokens.tune(),
    title="Chop anything",
    caption="Smaller chunks: more tokens, each with less in it.",
)

# %% tags=["slide", "slides-only", "hide-input"]
Chopper(
    "the youngest cat was waiting by the oldest tower",
    merges,
    used=40,
    picture=tokens.landscape(),
    sound=tokens.tune(),
    title="Chop anything into chunks",
)

# %% [markdown] tags=["notes"]
# Merges 0, 20, 120. Then the picture at 16 and at 8 pixels: four times the tokens. Ask what attention will pay: sixteen times the pairs.

# %% [markdown]
# ### A map you can turn
#
# These are the vectors that MiniLM starts from, 384 numbers per word. A screen cannot show 384 dimensions, so this map keeps the three directions in which 46 words differ most. Turn it with the mouse or the buttons, and walk from word to word with the slider.
#
# - **Guess first:** will the four kinds of words lie apart, although nobody told the model about kinds?
# - Turn it until every country lies on the same side of its capital. Is there such a view?

# %% tags=["hide-input"]
W = encoder.words.weight.detach()  # (30522, 384)
KINDS = {
    "people": "king queen man woman boy girl father mother son daughter brother sister",
    "places": "paris france london england berlin germany tokyo japan rome italy madrid spain",
    "doing": "walk walking walked swim swimming swam run running ran go going went",
    "size and warmth": "big bigger biggest small smaller smallest cold colder warm warmer",
}
kinds = {kind: line.split() for kind, line in KINDS.items()}
shown = [word for line in kinds.values() for word in line]
table = F.normalize(
    torch.stack([W[vocabulary[w]] for w in shown]), dim=-1
)  # (46, 384)
centred = table - table.mean(0)
_, spread, directions = torch.linalg.svd(centred, full_matrices=False)
place = dict(zip(shown, (centred @ directions[:3].T).tolist()))  # 3 numbers
fig = go.Figure()
for (kind, line), ink in zip(
    kinds.items(), ("blue", "red", "green", "orange")
):
    x3, y3, z3 = zip(*(place[word] for word in line))
    fig.add_scatter3d(
        x=x3,
        y=y3,
        z=z3,
        text=line,
        name=kind,
        mode="markers+text",
        marker={"size": 4, "color": palette.colour(ink)},
        textfont={"size": 10},
    )
sides = {
    f"{axis}axis": {"title": f"direction {i}", "showticklabels": False}
    for i, axis in enumerate("xyz", start=1)
}
camera = {"eye": {"x": 1.15, "y": 1.15, "z": 0.9}, "center": {"z": -0.15}}
fig.update_layout(scene={**sides, "camera": camera})
figures.interactive(
    fig,
    title="46 words in three of their 384 dimensions",
    alt="A cloud of 46 words in space. People, places, verbs and adjectives of size and warmth lie in four separate heaps.",
    caption="Four kinds of words, four heaps. Within a heap, look for the pairs: a country and its capital, a verb and its past.",
    shape=0.68,
)

# %% tags=["hide-input"]
kept = float(spread[:3].square().sum() / spread.square().sum())
near = table @ table.T - 2 * torch.eye(len(shown))  # not the word itself
kind_of = [kind for kind, line in kinds.items() for _ in line]
same = sum(kind_of[i] == kind_of[j] for i, j in enumerate(near.argmax(-1)))
print(f"three directions keep {kept:.0%} of the differences")
on_map = torch.tensor([place[word] for word in shown])  # (46, 3)
apart = torch.cdist(on_map, on_map).fill_diagonal_(torch.inf)
closest = apart.argmin(-1)  # (46,)
alike = sum(kind_of[i] == kind_of[j] for i, j in enumerate(closest))
print(
    f"nearest word of the same kind: {same} of {len(shown)} in 384 "
    f"dimensions, {alike} of {len(shown)} on the map"
)
rank = 1 + (near > near.gather(1, closest[:, None])).sum(-1)
i = int(rank.argmax())
print(
    f"nearest to {shown[i]} on the map: {shown[closest[i]]}, "
    f"but neighbour {rank[i]} in 384 dimensions"
)
capitals, countries = (
    torch.tensor([place[word][0] for word in kinds["places"][first::2]])
    for first in (0, 1)
)
beyond = int((countries > capitals).sum())  # which way round is chance
side = max(beyond, len(capitals) - beyond)
print(
    f"along direction 1: {side} of {len(capitals)} countries on the same "
    "side of their capital"
)

# %% tags=["held"]
assert rank[i] >= 10, rank
assert 0.2 < kept < 1 / 3, kept
assert same == alike == len(shown), (same, alike)
assert side == len(capitals), side

# %% [markdown]
# The heaps are real: in all 384 dimensions, the nearest of the 46 words is always one of the same kind. Along direction 1, every one of the six countries lies on the same side of its capital. But the map keeps less than a third of the differences, and words that touch on it can be far apart: *going* lies beside *swim*, which in 384 dimensions is only its 20th neighbour.
#
# *Near* is measured by the **cosine** of two vectors: their dot product, divided by both lengths. It is 1 for the same direction, 0 for perpendicular ones and −1 for opposite ones.
#
# ### Real directions
#
# The same vectors. Start at one word and walk in the direction from a second to a third.
#
# - Switch *leave out the three words* off, and drag *amount* from 0 to 2. **Guess first:** does *queen* ever come out on top?
# - Try *paris − france + japan*, and *walking − walk + swim*.

# %% tags=["plumbing"]
vector = {word: W[vocabulary[word]] for word in words}
menu = """king queen man woman prince princess boy girl father mother son daughter uncle aunt
brother sister husband wife actor actress he she paris france london england berlin germany tokyo
japan rome italy madrid spain moscow russia walk walking walked swim swimming swam run running ran
go going went big bigger biggest small smaller smallest cold colder warm warmer cat cats dog dogs
car cars mouse mice house apple river bank money music piano happy sad doctor nurse teacher
student""".split()  # noqa: SIM905
menu_vectors = F.normalize(
    torch.stack([W[vocabulary[w]] for w in menu]), dim=-1
)
print(f"{len(menu)} words of {menu_vectors.shape[1]} numbers each")

# %% tags=["slide", "hide-input"]
WordDirections(
    menu,
    menu_vectors,
    start="king",
    away="man",
    towards="woman",
    title="Word arithmetic on real vectors",
    caption="Solid arrow: the direction. Dashed arrow: the same step, taken from the start. × marks where it ends.",
)

# %% [markdown] tags=["notes"]
# Drag the amount slowly with the three words left in: at 1 the nearest word is still king. Keep that for the misconception.

# %% tags=["hide-input"]
king, man, woman = (
    menu_vectors[menu.index(w)] for w in ("king", "man", "woman")
)
ends = [king + a * (woman - man) for a in torch.linspace(0, 2, 201)]
scores = F.normalize(torch.stack(ends), dim=-1) @ menu_vectors.T  # (201, 79)
ranked = scores.argsort(-1, descending=True)
for step in (0, 50, 100, 150, 200):
    print(f"amount {step / 100}:", *(menu[i] for i in ranked[step, :3]))
print("ever on top:", *dict.fromkeys(menu[i] for i in ranked[:, 0]))

# %% tags=["held"]
assert menu.index("queen") not in ranked[:, 0]
assert menu[ranked[100, 0]] == "king"

# %% [markdown]
# It never does, at any of 201 amounts. You walk from *king* towards *woman*, and pass *queen* at a distance. Part 6 comes back to this.
#
# ### How to read a heatmap
#
# You will meet this figure again and again. **Row: the token that asks. Column: the token that is asked. Dark (or bright, on a dark page): much weight.** Every row adds up to 1.
#
# Here the weights come from the similarity of the vectors alone. Point at a cell, or walk with the arrow keys. The bars on the right are the *entropy* of each row, in bits: how far its weight is spread, 0 if one word gets it all. Then change the **temperature**, a number by which the similarities are divided before the softmax turns them into weights. What happens to a row when it is low, and when it is high?

# %% tags=["hide-input"]
small = ["king", "queen", "paris", "london", "walk", "run"]
chosen = torch.stack([menu_vectors[menu.index(word)] for word in small])
AttentionHeatmap(
    q=6 * chosen,
    k=6 * chosen,
    tokens=small,
    title="Your first heatmap",
    caption="Three pairs of words that belong together. Look for the squares of two: after itself, each word gives most weight to its partner.",
)

# %% tags=["hide-input"]
likeness = chosen @ chosen.T  # (6, 6), the cosines
second = likeness.argsort(-1, descending=True)[:, 1]  # after itself
print("word:         ", *small)
print("second choice:", *(small[j] for j in second))

# %% [markdown]
# ## 4 · In the open
#
# Now the three ways to chop, each in a few lines and equal to the library's (`attnlab.data.tokens`).
#
# ### Text: glue what is common
#
# Whole words as tokens? Then every new word is unknown. Letters? Then a text becomes very long, and a single letter says little. **Byte-pair encoding** ([Sennrich et al. 2016](https://arxiv.org/abs/1508.07909)) learns something in between:
# start with letters, find the most common pair of neighbours, glue it together everywhere, repeat.


# %% tags=["hide-input"]
def glue(parts, pair):
    """Join every neighbouring pair that equals `pair`."""
    out = []
    for part in parts:
        if out and (out[-1], part) == pair:
            out[-1] += part
        else:
            out.append(part)
    return out


def learn(text, count):
    """The `count` most common pairs, one after the other."""
    corpus = [list("▁" + word) for word in text.split()]  # ▁: a word begins
    merges = []
    for _ in range(count):
        counts = {}
        for parts in corpus:
            for pair in pairwise(parts):
                counts[pair] = counts.get(pair, 0) + 1
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        corpus = [glue(parts, best) for parts in corpus]
    return merges


ours = learn(STORY, 60)
assert ours == tokens.learn_merges(STORY, 60)
print("first merges:", *("+".join(pair) for pair in ours[:6]))
print(*tokens.pieces("the older cat was resting by the coldest water", ours))

# %% tags=["slide", "hide-input"]
stages = [list("▁coldest")]
for pair in ours:
    if (now := glue(stages[-1], pair)) != stages[-1]:
        stages.append(now)


def starts(parts):
    """Where each piece begins, counted in letters."""
    return [sum(map(len, parts[:i])) for i in range(len(parts))]


boxes, roads = [], []
for row, parts in enumerate(stages):
    for at, part in zip(starts(parts), parts):
        new = len(part) > 1 and (row == 0 or part not in stages[row - 1])
        ink = "query" if new else ""
        boxes.append(Box(f"r{row}l{at}", part, at=(at, row), colour=ink))
        for before in starts(stages[row - 1]):
            if row and at <= before < at + len(part):
                roads.append(f"r{row - 1}l{before} -> r{row}l{at}")
Diagram(
    boxes,
    arrows=roads,
    title="coldest, letter by letter, then glued",
    caption="From the letters on, one merge after the other. Coloured: the piece that was just glued. ▁ marks the beginning of the word.",
    gap=(22.0, 18.0),
)

# %% [markdown] tags=["notes"]
# Top row: letters. Each row applies the next merge that fits this word. Nobody told it that est is an ending.

# %% [markdown]
# The endings *er*, *ing* and *est* are found without any grammar, because they are common in our little story. Large models use the same idea: GPT-2 has 50,257 pieces ([Radford et al. 2019](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf)).
#
# ### Pictures: cut squares
#
# A picture of $H \times W$ pixels and $C$ colours becomes $N = HW/P^2$ patches of $P \cdot P \cdot C$ numbers. `einops` lets you write down what happens: the name of every axis before and after.

# %%
picture = tokens.landscape()  # (3, 64, 64)
P = 16
cut = rearrange(picture, "c (h p) (w q) -> (h w) (p q c)", p=P, q=P)
torch.testing.assert_close(cut, tokens.patches(picture, P))
print(
    f"{tuple(picture.shape)} -> {tuple(cut.shape)}: 16 tokens of 768 numbers"
)

# %% [markdown]
# Then comes the projection to the width of the model, $E$: one matrix for all patches. The same step is often written as a convolution with stride $P$: a window of $P \times P$ pixels that moves on by $P$ pixels at a time, so that no two windows overlap. The numbers are the same:
#
# $$\underbrace{X}_{(N,\,E)} = \underbrace{\text{patches}}_{(N,\,P^2C)}\;\underbrace{W}_{(P^2C,\,E)}$$

# %% tags=["hide-input"]
seed(0)
E = 8
conv = nn.Conv2d(3, E, kernel_size=P, stride=P, bias=False)
by_convolution = conv(picture[None])[0].flatten(1).T  # (N, E)
matrix = rearrange(conv.weight, "e c p q -> (p q c) e")  # (768, E)
torch.testing.assert_close(cut @ matrix, by_convolution)
print(
    "patches @ matrix = convolution with stride 16:",
    tuple(by_convolution.shape),
)

# %% [markdown]
# ### Sounds: cut frames
#
# Our little tune has 2000 samples. In frames of 100 samples that is a sentence of 20 tokens. (Real systems take overlapping frames and their spectrum, [Radford et al. 2022](https://arxiv.org/abs/2212.04356); the idea is the same.)

# %%
sound = tokens.tune()  # (2000,)
frames = rearrange(sound, "(n f) -> n f", f=100)
torch.testing.assert_close(frames, tokens.frames(sound, 100))
print(f"{tuple(sound.shape)} -> {tuple(frames.shape)}")

# %% [markdown] tags=["slide", "slides-only"]
# ## One table for everything
#
# | input | chunk | tokens | numbers in a chunk |
# |---|---|---|---|
# | text | piece of a word | as many as pieces | an index, then a row of $E$ |
# | picture $C \times H \times W$ | patch $P \times P$ | $HW/P^2$ | $P^2 C$, projected to $E$ |
# | sound of $T$ samples | frame of $F$ | $T/F$ | $F$, projected to $E$ |
#
# From here on everything is $X$: $(L, E)$.

# %% [markdown] tags=["notes"]
# The punch line of the chapter: from here on all three are the same kind of thing, a table.

# %% [markdown]
# From here on everything is a table $X$ of shape $(L, E)$, and all chapters work on that table.
#
# ## 5 · At work
#
# Back to the question of part 1. Does the partner lie nearer than the stranger, if *near* is measured between the real vectors?


# %%
V = F.normalize(
    torch.stack([vector[word] for word in words]), dim=-1
)  # (V, E)


def far(a, b):
    """One minus the cosine: 0 for the same direction."""
    return 1 - float(V[number[a]] @ V[number[b]])


by_vector = share_nearer(far)
print(f"by number {by_number:.0%}, by vector {by_vector:.0%}")

# %% tags=["held"]
assert by_vector > 0.95, (by_vector, by_number)
assert by_number < 0.65, (by_vector, by_number)

# %% [markdown]
# And directions? Here are 24 little puzzles, *a is to b as c is to ?* The answer is the word, among all 21 thousand, whose vector has the largest cosine with $b - a + c$. As usual, we leave the three given words out. (Remember this. Part 6 comes back to it.)

# %% tags=["plumbing"]
PUZZLES = """man king woman queen, man brother woman sister, man actor woman actress,
man prince woman princess, man husband woman wife, man uncle woman aunt,
man son woman daughter, man father woman mother, france paris italy rome,
germany berlin japan tokyo, england london france paris, russia moscow spain madrid,
big bigger small smaller, cold colder warm warmer, walk walked swim swam,
walk walking swim swimming, take took give gave, cat cats dog dogs, mouse mice car cars,
good better bad worse, japan japanese italy italian, france french germany german,
king kingdom prince principality, two second three third"""
puzzles = [line.split() for line in PUZZLES.replace("\n", " ").split(", ")]


# %%


def solve(a, b, c, leave_out=True):
    """The word nearest to b − a + c, by cosine."""
    start, to, other = (V[number[word]] for word in (a, b, c))
    scores = V @ F.normalize(to - start + other, dim=0)  # (V,)
    if leave_out:
        scores[[number[word] for word in (a, b, c)]] = -1
    return words[scores.argmax()]


answers = [solve(a, b, c) for a, b, c, _ in puzzles]
right = sum(given == wanted for given, (*_, wanted) in zip(answers, puzzles))
print(f"right: {right} of {len(puzzles)}")
for given, (a, b, c, wanted) in zip(answers, puzzles):
    if given != wanted:
        print(f"  {a} : {b} = {c} : {given}, not {wanted}")

# %% tags=["held"]
assert right >= len(puzzles) / 2, right

# %% [markdown] tags=["slide", "slides-only"]
# ## 24 puzzles on real vectors
#
# *man* is to *king* as *woman* is to ?

# %% tags=["fragment", "slides-only", "hide-input"]
print(f"right: {right} of {len(puzzles)}")
for given, (a, b, c, wanted) in zip(answers, puzzles):
    if given != wanted:
        print(f"  {a} : {b} = {c} : {given}, not {wanted}")

# %% [markdown] tags=["notes"]
# Nobody told the model about gender or capitals. A guess among 21 thousand words would be right once in 21 thousand. Look at the mistakes: they are near misses.

# %% [markdown]
# A blind guess would be right once in 21 thousand. Nobody told the model what a capital or a plural is. It learned by imitating a larger model that predicts missing words, and then from pairs of sentences; the directions appeared on the way. (Word vectors had shown them before, [Mikolov et al. 2013](https://arxiv.org/abs/1301.3781).) And look at the mistakes:
# they are near misses, not nonsense.
#
# Here are six steps from a male word to its female partner, drawn flat. To the right runs the mean step; upwards runs the one of all other directions in which the words differ most.

# %% tags=["hide-input"]
couples = [("man", "woman"), ("king", "queen"), ("brother", "sister"), ("uncle", "aunt"), ("father", "mother"), ("actor", "actress")]  # fmt: skip
flat_words = [word for couple in couples for word in couple]
cloud = torch.stack([V[number[word]] for word in flat_words])
steps = torch.stack([V[number[b]] - V[number[a]] for a, b in couples])
along = F.normalize(steps.mean(0), dim=0)  # the mean step
rest = (
    cloud - cloud.mean(0) - ((cloud - cloud.mean(0)) @ along)[:, None] * along
)
across = torch.linalg.svd(rest, full_matrices=False).Vh[0]
xs, ys = (cloud @ along).tolist(), (cloud @ across).tolist()
fig, ax = plt.subplots(figsize=(7.4, 4.2))
for j in range(0, len(flat_words), 2):
    ax.annotate(
        "",
        (xs[j + 1], ys[j + 1]),
        (xs[j], ys[j]),
        arrowprops={
            "arrowstyle": "->",
            "color": figures.COLOURS["blue"],
            "lw": 1.8,
        },
    )
lift = {"aunt": 5, "sister": -6, "queen": -7}  # points: out of the way
for j, word in enumerate(flat_words):
    head = j % 2 == 1  # tails are named on their left, heads on their right
    ax.annotate(
        word,
        (xs[j], ys[j]),
        (7 if head else -7, lift.get(word, 0)),
        textcoords="offset points",
        ha="left" if head else "right",
        va="center",
        size=12,
    )
ax.scatter(xs, ys, s=14, color="black", zorder=3)
ax.set(
    xlabel="along the mean step",
    ylabel="across it",
    title="Six steps, from his word to hers",
)
ax.margins(0.18, 0.1)
figures.show(
    fig,
    alt="Six arrows from a male word to its female partner. All point to the right; they differ in length and in slope.",
    caption="That arrows point right proves little: the axis is their own mean. The next cell tests it fairly.",
)

# %% [markdown]
# Six steps always share something with their own mean, even six random ones. A fair test compares each step with the sum of the **other five**, and does the same with steps that are as long but have no relation in common: from a random word to its nearest neighbour, six at a time, a thousand draws.


# %% tags=["hide-input"]
def with_the_others(steps):
    """The cosine of each step with the sum of all others: (..., 6)."""
    others = steps.sum(-2, keepdim=True) - steps
    return F.cosine_similarity(steps, others, dim=-1)


cosines = with_the_others(steps)
print("each step with the other five:", cosines)

seed(0)
begin = V[torch.randperm(len(words))[:1000]]  # (1000, 384)
partner = (begin @ V.T).topk(2).indices[:, 1]  # the first is the word itself
nearby = V[partner] - begin  # (1000, 384)
lengths = (float(s.norm(dim=-1).mean()) for s in (steps, nearby))
print("mean length: {:.2f}, to a neighbour {:.2f}".format(*lengths))
draws = nearby[torch.rand(1000, 1000).argsort(-1)[:, :6]]  # (1000, 6, 384)
chance = with_the_others(draws)  # (1000, 6)
print(f"steps to a neighbour, on average: {chance.mean().abs():.2f}")
together = (chance > 0.2).all(-1)
print("all six above 0.2, in 1000 draws:", int(together.sum()))

# %% tags=["held"]
assert (cosines > 0.2).all(), cosines
assert together.sum() == 0, cosines

# %% [markdown]
# So the direction is real: five of these steps tell you something about the sixth, and five steps to a neighbour tell you, on average, nothing. It is a tendency, not a law: the arrows are neither equally long nor parallel.

# %% [markdown]
# ## 6 · A popular mistake
#
# > *"king − man + woman is queen."*
#
# Is it? Solve the puzzles again, but do not leave the three given words out.

# %%
honest = [solve(a, b, c, leave_out=False) for a, b, c, _ in puzzles]
itself = sum(
    given in (a, b, c) for given, (a, b, c, _) in zip(honest, puzzles)
)
print(
    "king − man + woman, nearest of all:",
    solve("man", "king", "woman", False),
)
print(f"one of the given words wins in {itself} of {len(puzzles)} puzzles")
end = V[number["king"]] - V[number["man"]] + V[number["woman"]]
cosine = F.normalize(end, dim=0) @ V.T  # with every word

# %% tags=["held"]
assert cosine[number["king"]] > cosine[number["queen"]] + 0.05
assert itself > len(puzzles) / 2, itself

# %% [markdown] tags=["slide", "slides-only"]
# ## *king − man + woman = queen*?
#
# All words allowed, the given ones too. What is nearest?

# %% tags=["fragment", "hide-input"]
top = cosine.topk(5)
nearest = [words[j] for j in top.indices]
given_words = ("king", "man", "woman")
fig, ax = plt.subplots(figsize=(6.4, 2.6))
for place, (word, value) in enumerate(zip(nearest, top.values.tolist())):
    ink, hatch = ("orange", "//") if word in given_words else ("blue", None)
    bar = ax.barh(place, value, color=figures.COLOURS[ink], hatch=hatch)
    ax.bar_label(bar, fmt="%.2f", padding=4)
ax.set_yticks(range(5), nearest)
ax.invert_yaxis()
ax.set(xlabel="cosine", xlim=(0, 0.8), title="Nearest to king − man + woman")
figures.show(
    fig,
    alt="Five bars, the words with the largest cosine. King, one of the given words, is first and queen second.",
    caption="Hatched: given words. Leave them out, and queen is the answer.",
)

# %% [markdown] tags=["notes"]
# This was pointed out by Linzen 2016 and Nissim et al. 2020. The direction is real, the equality is not.

# %% [markdown]
# The nearest vector is usually one of the words you started with. *king* is one of the three vectors in the sum, and the result still has more in common with it than with *queen*, which is only the nearest of the **others** ([Linzen 2016](https://arxiv.org/abs/1606.07736), [Nissim et al. 2020](https://arxiv.org/abs/1905.09866)).
#
# So: there are directions with a meaning, and they are measured above. But "equals" claims too much. A second warning from the same place: the directions come from texts that people wrote, with their prejudices in them ([Bolukbasi et al. 2016](https://arxiv.org/abs/1607.06520)).
#
# And one thing no table can do: give *bank* two vectors, one by the river and one with the money. That is the question chapter 3 begins with.

# %% [markdown]
# ## 7 · Exercises
#
# Six, from ★ to ★★★. Make a mistake on purpose and see what the checker says.

# %% [markdown] tags=["exercise"] exercise="00.1"
# ### Exercise 0.1 ★ · The nearest word (5 min)
#
# Write `my_cosines(query, table)`. It takes a vector of shape $(E,)$ and a table of shape $(V, E)$, and returns the cosine of the query with every row:
#
# $$\cos(q, w_i) = \frac{q \cdot w_i}{\lVert q \rVert\,\lVert w_i \rVert}, \qquad \text{shape } (V,).$$


# %% tags=["stub"] exercise="00.1"
def my_cosines(query, table):
    """(E,) query and (V, E) table -> (V,) cosines."""
    dots = ...  # the query with every row
    lengths = ...  # of the query, times that of each row
    return ...


# %% [markdown] tags=["hint"] exercise="00.1"
# One matrix product gives all the dot products at once: $(V, E)$ times $(E,)$ is $(V,)$.

# %% [markdown] tags=["hint"] exercise="00.1"
# `table.norm(dim=-1)` gives the length of every row, shape $(V,)$. `query.norm()` is one number.


# %% tags=["solution"] exercise="00.1"
def my_cosines(query, table):
    """(E,) query and (V, E) table -> (V,) cosines."""
    dots = table @ query  # the query with every row
    lengths = query.norm() * table.norm(dim=-1)  # (V,)
    return dots / lengths


# %% tags=["check"] exercise="00.1"
check("00.1", my_cosines)

# %% [markdown] tags=["exercise"] exercise="00.2"
# ### Exercise 0.2 ★★ · A picture into patches (10 min)
#
# Write `my_patches(picture, size)` without `einops` and without a library function that does it all. It takes a picture of shape $(C, H, W)$ and returns $(N, P \cdot P \cdot C)$: one row per patch, the patches in the order of a page
# (left to right, then down), and inside a row: pixel by pixel, and for each pixel its colours.


# %% tags=["stub"] exercise="00.2"
def my_patches(picture, size):
    """(C, H, W) -> (N, P·P·C), patches in reading order."""
    x = ...  # (C, H/P, P, W/P, P): split both sides
    x = ...  # (H/P, W/P, P, P, C): grid first, then the pixels of a patch
    return ...  # (N, P·P·C)


# %% [markdown] tags=["hint"] exercise="00.2"
# `picture.reshape(colours, height // size, size, width // size, size)` splits the two sides. It moves nothing: axis 1 now counts the patches downwards, axis 2 the pixels inside a patch.

# %% [markdown] tags=["hint"] exercise="00.2"
# `x.permute(1, 3, 2, 4, 0)` puts the axes in a new order. Say aloud what each number stands for.


# %% tags=["solution"] exercise="00.2"
def my_patches(picture, size):
    """(C, H, W) -> (N, P·P·C), patches in reading order."""
    colours, height, width = picture.shape
    x = picture.reshape(
        colours, height // size, size, width // size, size
    )  # (C, H/P, P, W/P, P)
    x = x.permute(1, 3, 2, 4, 0)  # (H/P, W/P, P, P, C)
    return x.reshape(-1, size * size * colours)  # (N, P·P·C)


# %% tags=["check"] exercise="00.2"
check("00.2", my_patches)

# %% [markdown] tags=["exercise"] exercise="00.3"
# ### Exercise 0.3 ★★ · Byte-pair encoding (15 min)
#
# Write `my_glue(parts, pair)`, one step of byte-pair encoding, without looking at part 4. `parts` is a list of pieces, `pair` a tuple of two. Wherever the two stand side by side, they become one piece. Read from left to right, and use every piece once. The result is a new list:
#
# `my_glue(["l", "o", "w", "e", "r"], ("e", "r"))` gives `["l", "o", "w", "er"]`.
#
# **Guess first:** what should become of `["a", "a", "a"]` with the pair `("a", "a")`?


# %% tags=["stub"] exercise="00.3"
def my_glue(parts, pair):
    """Every pair of neighbours becomes one piece, left to right."""
    out, i = [], 0
    while i < len(parts):
        found = ...  # do the two pieces from i on equal the pair?
        step = ...  # how many pieces are used up
        out.append(...)
        i += step
    return out


# %% [markdown] tags=["hint"] exercise="00.3"
# Compare whole pieces, not letters: `("a", "bc")` and `("ab", "c")` spell the same and are different pairs. `tuple(parts[i : i + 2])` is the pair that begins at `i`, and at the end of the list it is too short to be equal to any.

# %% [markdown] tags=["hint"] exercise="00.3"
# In *a a a* two pairs overlap. The first one uses up two pieces, so move on by two: `["aa", "a"]`. One pass is enough: *aa* and *a* are another pair, for another step.


# %% tags=["solution"] exercise="00.3"
def my_glue(parts, pair):
    """Every pair of neighbours becomes one piece, left to right."""
    out, i = [], 0
    while i < len(parts):
        found = tuple(parts[i : i + 2]) == pair
        step = 2 if found else 1
        out.append("".join(parts[i : i + step]))
        i += step
    return out


# %% tags=["check"] exercise="00.3"
check("00.3", my_glue)

# %% [markdown] tags=["exercise"] exercise="00.4"
# ### Exercise 0.4 ★★★ · All puzzles at once (20 min)
#
# `solve` in part 5 takes one puzzle after the other. Write `my_analogy(puzzles, words, table)` for many, with **one** matrix product. It takes a list of $N$ puzzles, each three words *(a, b, c)*; a list of $V$ words; and a table of shape $(V, E)$, one row per word, rows of any length. It returns a list of $N$ words.
#
# As in part 5, scale every row to length 1, and find the word whose row has the largest cosine with $b - a + c$. The three words of the puzzle are left out.


# %% tags=["stub"] exercise="00.4"
def my_analogy(puzzles, words, table):
    """N puzzles (a, b, c), V words, (V, E) table -> N words."""
    row = {word: i for i, word in enumerate(words)}
    given = torch.tensor([[row[w] for w in puzzle] for puzzle in puzzles])
    unit = ...  # (V, E), every row of length 1
    target = ...  # (N, E): b − a + c
    scores = ...  # (N, V)
    scores = ...  # without the given words
    return ...


# %% [markdown] tags=["hint"] exercise="00.4"
# `unit[given]` looks up all rows at once: `given` has shape $(N, 3)$, so the result has shape $(N, 3, E)$. `.unbind(1)` takes it apart along axis 1.

# %% [markdown] tags=["hint"] exercise="00.4"
# $(N, E)$ times $(E, V)$ is $(N, V)$. The length of $b - a + c$ divides a whole row of scores by one number, so it cannot change which is the largest.

# %% [markdown] tags=["hint"] exercise="00.4"
# Each puzzle leaves out its own three words: another puzzle may need them. `scores.scatter(1, given, -torch.inf)` writes $-\infty$ into row $n$ at the three positions `given[n]`. Why not 0? A cosine can be negative.


# %% tags=["solution"] exercise="00.4"
def my_analogy(puzzles, words, table):
    """N puzzles (a, b, c), V words, (V, E) table -> N words."""
    row = {word: i for i, word in enumerate(words)}
    given = torch.tensor([[row[w] for w in puzzle] for puzzle in puzzles])
    unit = F.normalize(table, dim=-1)  # (V, E), every row of length 1
    a, b, c = unit[given].unbind(1)  # (N, 3, E) -> (N, E) each
    target = b - a + c  # (N, E)
    scores = target @ unit.T  # (N, V)
    scores = scores.scatter(1, given, -torch.inf)  # without the given words
    return [words[i] for i in scores.argmax(-1)]


# %% tags=["check"] exercise="00.4"
check("00.4", my_analogy)

# %% [markdown] tags=["exercise"] exercise="00.5"
# ### Exercise 0.5 ★★ · Find the bug (10 min)
#
# A stereo sound has two channels: shape $(C, T)$. This function cuts it into $N = T/F$ frames of $F$ samples, one row per frame. Its shapes are right, it never raises an error, and yet every row sounds like the whole piece.
#
# ```python
# def my_frames(sound, size):
#     x = sound.reshape(len(sound), size, -1)  # (C, F, N)
#     return x.permute(2, 1, 0).flatten(1)  # (N, F·C)
# ```
#
# Find the bug and write the function without it. A row is one stretch of time, the rows in the order of time. Inside a row: moment by moment, and for each moment its channels.


# %% tags=["stub"] exercise="00.5"
def my_frames(sound, size):
    """Stereo sound (C, T) -> (T/F, F·C), one row per stretch of time."""
    x = ...  # split the time
    return ...  # (N, F·C)


# %% [markdown] tags=["hint"] exercise="00.5"
# Feed it `torch.arange(12).reshape(1, 12)` and `size=3`, and read the first row. Which samples are in it?

# %% [markdown] tags=["hint"] exercise="00.5"
# `reshape` moves nothing: numbers that are neighbours stay neighbours along the **last** axis. Which of $N$ and $F$ must be the last one? The order of `permute` changes with it.


# %% tags=["solution"] exercise="00.5"
def my_frames(sound, size):
    """Stereo sound (C, T) -> (T/F, F·C), one row per stretch of time."""
    x = sound.reshape(len(sound), -1, size)  # (C, N, F)
    return x.permute(1, 2, 0).flatten(1)  # (N, F·C)


# %% tags=["check"] exercise="00.5"
check("00.5", my_frames)

# %% [markdown] tags=["exercise"] exercise="00.6"
# ### Exercise 0.6 ★ · Predict, then run (8 min)
#
# A table holds one vector per word. Change the whole table in one of these ways. Do all cosines between its words stay the same? Predict, then let the checker run each change on random numbers. `cosines_stay(change)` returns `True` if they stay.


# %% tags=["stub"] exercise="00.6"
def cosines_stay(change):
    """Are all cosines between words the same after the change?"""
    return {
        "every vector twice as long": ...,
        "every vector scaled to length 1": ...,
        "every sign turned": ...,
        "the columns in another order": ...,
        "the first column doubled": ...,
        "one more column, all 0": ...,
        "one more column, all 1": ...,
        "the same vector added to every word": ...,
    }[change]


# %% [markdown] tags=["hint"] exercise="00.6"
# The cosine is a fraction: $a \cdot b$ above, the two lengths below. What does the change do to each?

# %% [markdown] tags=["hint"] exercise="00.6"
# Draw two arrows from the origin. Which changes turn one against the other? What happens to the angle when you move both tips by the same step?


# %% tags=["solution"] exercise="00.6"
def cosines_stay(change):
    """Are all cosines between words the same after the change?"""
    return change in (
        "every vector twice as long",
        "every vector scaled to length 1",
        "every sign turned",
        "the columns in another order",
        "one more column, all 0",
    )


# %% tags=["check"] exercise="00.6"
check("00.6", cosines_stay)

# %% [markdown]
# ### GPU exercise · Meet your device
#
# One more exercise has a notebook of its own: [meet your device](gpu_00_meet_your_device.ipynb). It shows what machine you have, what it is good at and, if there is a GPU, from what size on it pays off.

# %% [markdown]
# ## 8 · Takeaways
#
# 1. A model sees a table $(L, E)$: $L$ tokens, $E$ numbers each. Text, pictures and sounds become such a table in the same way: chop, then project.
# 2. Subwords lie between letters and words. Byte-pair encoding finds them by gluing together what is common.
# 3. An embedding is a learned table; looking up a row is multiplying by a one-hot vector.
# 4. Real embeddings have directions with a meaning. *Equals* is too strong: unless the given words are left out, one of them wins in 20 of our 24 puzzles.
# 5. One row per word means one meaning per word. The words around it have to come in some other way.
#
# | input | tokens | numbers in each | to width $E$: parameters |
# |---|---|---|---|
# | text of $L$ pieces | $L$ | one index | table: $V \cdot E$ |
# | picture $C \times H \times W$ | $HW/P^2$ | $P^2 C$ | matrix: $P^2 C \cdot E$ |
# | sound of $T$ samples | $T/F$ | $F$ | matrix: $F \cdot E$ |

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "A picture of 224 × 224 pixels, patches of 16. How many tokens?",
            "choices": [
                {
                    "text": "14",
                    "why": "14 patches fit along one side. There are two sides.",
                },
                {
                    "text": "196",
                    "correct": True,
                    "why": "224 / 16 = 14, and 14 × 14 = 196.",
                },
                {
                    "text": "50,176",
                    "why": "That is the number of pixels: patches of size 1.",
                },
            ],
        },
        {
            "question": "You halve the patch size. Attention compares every token with every other. By what factor does the number of pairs grow?",
            "choices": [
                {
                    "text": "2",
                    "why": "Twice along one side, and twice along the other.",
                },
                {
                    "text": "4",
                    "why": "That is the number of tokens. Pairs grow with its square.",
                },
                {
                    "text": "16",
                    "correct": True,
                    "why": "4 times the tokens, 4 × 4 = 16 times the pairs.",
                },
            ],
        },
        {
            "question": "Why do models not use whole words as tokens?",
            "choices": [
                {
                    "text": "Words are too long to store",
                    "why": "The table has a row for each word; the length of its spelling does not matter.",
                },
                {
                    "text": "A word that was not in the training text would have no row",
                    "correct": True,
                    "why": "With pieces every word can be written, if need be letter by letter.",
                },
                {
                    "text": "Pieces have clearer meanings",
                    "why": "Less clear, if anything: what does *er* mean? But a piece is always available.",
                },
            ],
        },
        {
            "question": "What does *one-hot vector times table* compute?",
            "choices": [
                {
                    "text": "The mean of all rows",
                    "why": "Every row would need the same factor for that.",
                },
                {
                    "text": "One row of the table",
                    "correct": True,
                    "why": "All other rows are multiplied by 0.",
                },
                {
                    "text": "The cosine with every row",
                    "why": "That takes a product with another embedding, not with a one-hot vector.",
                },
            ],
        },
        {
            "question": "The vector nearest to *king − man + woman*, among all words, is …",
            "choices": [
                {
                    "text": "queen",
                    "why": "Only after the three given words have been left out.",
                },
                {
                    "text": "king",
                    "correct": True,
                    "why": "It is one of the three vectors in the sum, and the result is still nearest to it.",
                },
                {
                    "text": "woman",
                    "why": "You walk towards it, but after one step *king* is still nearer.",
                },
            ],
        },
    ],
    title="Self-test",
    key="00-quiz",
)

# %% [markdown]
# ## References
#
# - [Ramsauer et al. 2020](https://arxiv.org/abs/2008.02217), *Hopfield networks is all you need*: attention as a look-up in memory; [Nature 2025](https://www.nature.com/articles/d41586-025-01125-9), the most-cited papers of the century
# - [Mikolov et al. 2013](https://arxiv.org/abs/1301.3781), *Efficient estimation of word representations in vector space*: directions in word vectors
# - [Sennrich et al. 2016](https://arxiv.org/abs/1508.07909), *Neural machine translation of rare words with subword units*: byte-pair encoding
# - [Dosovitskiy et al. 2020](https://arxiv.org/abs/2010.11929), *An image is worth 16×16 words*: patches as tokens
# - [Radford et al. 2022](https://arxiv.org/abs/2212.04356), *Robust speech recognition via large-scale weak supervision*: frames as tokens
# - [Linzen 2016](https://arxiv.org/abs/1606.07736) and [Nissim et al. 2020](https://arxiv.org/abs/1905.09866) on what analogies show and what they do not
# - [Bolukbasi et al. 2016](https://arxiv.org/abs/1607.06520), *Man is to computer programmer as woman is to homemaker?*: prejudice in directions
# - [Reimers & Gurevych 2019](https://arxiv.org/abs/1908.10084), *Sentence-BERT*: the family of encoders used here; [Wang et al. 2020](https://arxiv.org/abs/2002.10957), *MiniLM*: the small model it started from
