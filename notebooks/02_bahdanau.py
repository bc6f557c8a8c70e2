# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 2
#     title: Bahdanau alignment
#     minutes: 120
#     summary: Let the decoder look back. A new context for every word, three ways to score a match, and a translator that learns who belongs to whom without being told.
# ---

# %% [markdown]
# # 2 · Bahdanau alignment
#
# Chapter 1 pressed a whole sentence into one vector, and long sentences did not survive. This chapter changes one thing. The decoder may **look back at the source, anew for every word it writes**. That is
# attention, as Bahdanau, Cho and Bengio invented it in 2014. Everything later in this course grew out of it.
#
# At the end you can
#
# - compute scores, weights and a context vector by hand, and say which shape each has;
# - choose between a dot, a bilinear and an additive score;
# - measure how well attention found out which word belongs to which, and say when *not* to trust such a map;
# - unroll a GRU, find attention inside it, and set it free in four steps.
#
# The chapter has eight parts: a question, the mechanism by hand, live figures, the mechanism in the open, experiments, popular mistakes, exercises, and a summary. Two translators are trained while you read,
# less than a minute each on an idle core.

# %% [markdown] tags=["slide", "slides-only"]
# # Bahdanau alignment
#
# attnlab · chapter 2
#
# A new context for every word: the decoder looks back.

# %% [markdown] tags=["notes"]
# 45 minutes. Why (6 min), by hand (10), live (8), training and alignment (12), GRU to attention (5), sounds and pictures (4). The two training cells take a minute each: start the notebook before the lecture.

# %%
import copy
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
from torch import nn

from attnlab import assets, checkpoints, figures, metrics
from attnlab.attention import attention
from attnlab.checks import check
from attnlab.data import BOS, EOS, batches, lexicon, pronunciation, scenes
from attnlab.data.english_french import EnglishFrench
from attnlab.models.captioning import Teller
from attnlab.models.recurrent import GRUCell, unroll
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.reproducible import seed
from attnlab.training import Descent, Evaluate, Progress, fit
from attnlab.training.coverage import with_even_looks
from attnlab.translator import Translator
from attnlab.widgets import (
    AlignmentExplorer,
    BrowserTranslator,
    CaptionStepper,
    Pronouncer,
    Quiz,
    SoftmaxTemperature,
)

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown]
# ## 1 · The question
#
# Read this sentence once, look away, and translate it into any other language you know:
#
# > *i arrived at a church which was modern yesterday but your small brave white dogs waited for many cars that our child watched*
#
# You want to look back. The translator of chapter 1 may not: its encoder hands over one vector, and the decoder writes all words from that. Train it once more, on the course's own English–French corpus:
# sentences of 3 to 15 English words, made by a grammar, with test sentences built in ways that never occur in training.

# %% [markdown] tags=["slide", "slides-only"]
# ## Translate this, without looking back
#
# *i arrived at a church which was modern yesterday but your small brave white dogs waited for many cars that our child watched*
#
# One vector must hold all of it.

# %%
corpus = EnglishFrench(longest=15)
sentences = corpus.take(40_000)
english, french = corpus.vocabularies()
test = corpus.take(300, "test", seed=1)
longer = EnglishFrench(shortest=16, longest=40).take(100, "test", seed=2)
BUCKETS = [(3, 5), (6, 10), (11, 15), (16, 20), (21, 25), (26, 30), (31, 40)]


def train(kind, even=0.0, *watch):
    """A translator, trained for STEPS batches. `even`: see part 5."""
    seed(2)
    config = Config(
        source_words=len(english),
        target_words=len(french),
        kind=kind,
        hidden=96,
    )
    model = Seq2Seq(config)
    stream = batches(sentences, english, french, size=32, seed=2)
    loss = with_even_looks(model, even) if even else None
    adam = torch.optim.Adam(  # a shorter memory (0.98) suits a short training
        model.parameters(), lr=4e-3, betas=(0.9, 0.98), fused=True
    )
    history = fit(
        model,
        stream,
        steps=STEPS,
        descent=Descent(optimizer=adam),
        loss=loss,
        listeners=(Progress(), *watch),
    )
    return Translator(model, english, french), history


def by_length(translator):
    """BLEU for each bucket of source lengths."""
    pairs = [*test, *longer]
    said = translator.translate([pair.source for pair in pairs])
    return list(metrics.by_length(said, pairs, BUCKETS).values())


# %% [markdown]
# **Guess first:** sentences of 3–5 words get a BLEU near 100. What do those of 11–15 words get? They are as frequent in training as the short ones.

# %% tags=["nbval-ignore-output"]
STEPS = 2100
fixed, fixed_history = train("none")
fixed_curve = by_length(fixed)
for (low, high), score in zip(BUCKETS, fixed_curve):
    print(f"{low:2d}–{high:2d} words: BLEU {score:5.1f}")

# %% tags=["fragment", "slides-only", "hide-input"]
for (low, high), score in zip(BUCKETS[:3], fixed_curve):
    print(f"{low:2d}–{high:2d} words: BLEU {score:5.1f}")

# %% tags=["held"]
assert fixed_curve[0] - fixed_curve[2] >= 40, fixed_curve

# %% tags=["nbval-ignore-output"]
failed = next(
    pair
    for pair in test
    if len(pair.source) == 12
    and tuple(fixed.translate([pair.source])[0]) != pair.target
)
print("English: ", " ".join(failed.source))
print("right:   ", corpus.detokenise(list(failed.target)))
print("it said: ", corpus.detokenise(fixed.translate([failed.source])[0]))

# %% [markdown] tags=["notes"]
# The output is French, and fluent French. It is about other things: the beginning is often right, then the decoder invents. The summary vector has run out of room, not the grammar.

# %% [markdown]
# Read what it said. It is fluent French about something else. The grammar is learned; the *content* got lost on the way through one vector.
#
# So what would you want? For *le*, look at *the*. For *chat*, look at *cat*. Every word you write needs another part of the source. Then do not send one vector. **Keep the encoder's state for every word, and let
# the decoder choose, at every step.**

# %% [markdown]
# ## 2 · By hand
#
# ### Three numbers for every word: e, α, c
#
# *the black cat* becomes *le chat noir*. The encoder has read the English words and left one vector for each, its **annotation** $h_i$. Ours have three entries that you can read: article? adjective? noun?
# The encoder reads in both directions, so *black* also knows a bit about the noun beside it, and the other way round.
#
# $$h_{\text{the}} = (2, 0, 0), \qquad h_{\text{black}} = (0, 2, 1), \qquad h_{\text{cat}} = (0, 1, 2)$$
#
# The decoder is about to write word $t$. Its state $s_t$ says what it needs: first an article, $s_1 = (1, 0, 0)$. In French the noun comes next, $s_2 = (0, 0, 1)$, and then the adjective, $s_3 = (0, 1, 0)$. Three lines make a context:
#
# $$e_{ti} = \operatorname{score}(s_t, h_i), \qquad \alpha_{ti} = \frac{e^{e_{ti}}}{\sum_j e^{e_{tj}}}, \qquad c_t = \sum_i \alpha_{ti}\, h_i$$
#
# | symbol | name | shape | here | it says |
# |---|---|---|---|---|
# | $h$ | annotations | $(S, d_h)$ | $(3, 3)$ | what the encoder knows at each source word |
# | $s$ | decoder states | $(T, d_s)$ | $(3, 3)$ | what the decoder needs at each step |
# | $e$ | scores | $(T, S)$ | $(3, 3)$ | how well need and offer match |
# | $\alpha$ | weights | $(T, S)$ | $(3, 3)$ | shares; every row adds up to 1 |
# | $c$ | contexts | $(T, d_h)$ | $(3, 3)$ | a new vector for every target word |
#
# Take the dot product as the score. **On paper:** for the second word, $e_2 = (0, 1, 2)$. Compute $\alpha_2$ and $c_2$ before you run the cell. ($e^1 \approx 2.72$, $e^2 \approx 7.39$.)

# %% [markdown] tags=["slide", "slides-only"]
# ## Three lines
#
# $$e_{ti} = \operatorname{score}(s_t, h_i), \qquad \alpha_t = \operatorname{softmax}(e_t), \qquad c_t = \sum_i \alpha_{ti} h_i$$
#
# | | shape | |
# |---|---|---|
# | $h$ annotations | $(S, d_h)$ | the, black, cat: $(2,0,0)$, $(0,2,1)$, $(0,1,2)$ |
# | $s_2$ state | $(d_s,)$ | needs a noun: $(0,0,1)$ |
# | $e_2$ scores | $(S,)$ | $(0, 1, 2)$ |
#
# Compute $\alpha_2$ and $c_2$.

# %%
source, target = ["the", "black", "cat"], ["le", "chat", "noir"]
h = torch.tensor([[2.0, 0, 0], [0, 2, 1], [0, 1, 2]])  # (S, d_h) = (3, 3)
s = torch.tensor([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])  # (T, d_s) = (3, 3)

e = s @ h.T  # (T, S): every state with every annotation
alpha = e.exp() / e.exp().sum(dim=-1, keepdim=True)  # (T, S), the softmax
c = alpha @ h  # (T, d_h): one context for each target word
for word, scores, shares, mix in zip(target, e, alpha, c):
    print(f"{word:5} e {scores.int().tolist()}  α", shares, " c", mix)

# %% tags=["fragment", "slides-only", "hide-input"]
print("α₂", alpha[1], "  c₂", c[1])

# %% [markdown] tags=["notes"]
# 1 + 2.72 + 7.39 = 11.11, so 0.09, 0.24, 0.67. The context leans to cat but keeps a little black. Ask: which row of α goes against the order of the words? Rows 2 and 3 cross: that is the adjective.

# %% [markdown]
# *chat* takes two thirds of *cat* and a quarter of *black*. Look at the places of the largest weights: 1, 3, 2. **The order of the words is turned round, and nothing in the formula minds.**
#
# ### Three scores, side by side
#
# What is a good score? Three answers are in use.
#
# | score | formula | parameters | in words |
# |---|---|---|---|
# | dot ([Luong et al. 2015](https://arxiv.org/abs/1508.04025)) | $s^\top h$ | none | both sides must speak the same language, $d_s = d_h$ |
# | bilinear (Luong's *general*) | $s^\top M h$, $M$: $(d_s, d_h)$ | $d_s d_h$ | a learned dictionary between the two |
# | additive ([Bahdanau et al. 2015](https://arxiv.org/abs/1409.0473)) | $v^\top \tanh(A s + B h + b)$ | $D(d_s + d_h + 2)$ | a small network looks at each pair; $A$: $(D, d_s)$, $B$: $(D, d_h)$, $b$, $v$: $(D,)$ |
#
# The dot product worked above because we let the decoder use the encoder's coordinates. Suppose it has its own: first article, then *noun*, then adjective, as French likes it. Then "I need a noun" is $(0, 1, 0)$. **Guess:** where does the dot product look now?

# %% [markdown] tags=["slide", "slides-only"]
# ## Three scores
#
# | score | formula | parameters |
# |---|---|---|
# | dot | $s^\top h$ | none |
# | bilinear | $s^\top M h$ | $d_s d_h$ |
# | additive | $v^\top \tanh(As + Bh + b)$ | $D(d_s + d_h + 2)$ |
#
# The decoder has its own coordinates: "I need a noun" is $(0, 1, 0)$. Where does each one look?

# %%
noun = torch.tensor([[0.0, 1, 0]])  # the decoder's way to say it
M = torch.tensor([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])  # noun ↔ third entry


def and_score(s, h):
    """v·tanh(A s + B h + b), with numbers that make it an AND."""
    inner = (2 * s @ M).unsqueeze(-2) + h.unsqueeze(-3) - 3.0  # (T, S, 3)
    return torch.tanh(inner) @ torch.tensor([2.0, 2, 2])


three = {
    "dot": noun @ h.T,
    "bilinear": noun @ M @ h.T,
    "additive": and_score(noun, h),
}
for name, scores in three.items():
    share = scores.softmax(dim=-1)[0]
    best = source[share.argmax()]
    print(f"{name:9} e", scores[0], " α", share, " looks at", best)

# %% tags=["fragment", "slides-only", "hide-input"]
for name, scores in three.items():
    share = scores.softmax(dim=-1)[0]
    print(f"{name:9} α", share, " looks at", source[share.argmax()])

# %% [markdown] tags=["notes"]
# The dot product compares entry by entry: the decoder's noun meets the encoder's adjective. M is a dictionary. The additive score has one too (A), and a threshold: tanh(2s + h − 3) is positive only when need and offer agree.

# %% [markdown]
# The dot product looks at *black*: it compares entry by entry, and the decoder's second entry meets the encoder's. The matrix $M$ is a dictionary between the two. The additive score has a dictionary as well ($A$), and then something more: $\tanh(2s + h - 3)$ is
# positive only where need **and** offer are large. It is a network, so it can learn other rules too.
#
# In practice both sides are trained together and find a common language, so all three work. Part 5 measures them.
#
# One thing to say aloud before that. Our encoder reads both ways, so $h$ is twice as wide as $s$, and a plain dot product does not even fit. The library's *dot* therefore makes the keys narrower first, with a learned matrix $K$: $s^\top (K h) / \sqrt{d_s}$. That is a bilinear score with $M = K / \sqrt{d_s}$: the same parameters, the same functions.
# What differs is the scale, and where the matrix stands: keys are made once for a sentence, $s^\top M$ anew for every word.

# %% [markdown]
# ## 3 · Live
#
# ### Hot and cold
#
# The scores $(0, 1, 2)$ of *chat*. Divide them by a temperature $\tau$ before the softmax. **Guess first:** for $\tau \gg 1$, what does the context become? And for $\tau \ll 1$?

# %% tags=["slide", "hide-input"]
SoftmaxTemperature(
    labels=source,
    scores=e[1].tolist(),
    title="Where does “chat” look?",
    caption="τ ≫ 1: the plain mean of all annotations, one context for every word. τ ≪ 1: a single word, all or nothing.",
)

# %% [markdown] tags=["notes"]
# τ = 10: we are back at one fixed context, the mean of the annotations. τ = 0.1: hard attention. Attention lives between the two.

# %% [markdown]
# A hot softmax gives every word the same share. Then all contexts are the same vector, and we are back in chapter 1. A cold one copies a single annotation. Attention lives between the two, and training finds out where.
#
# ### The alignment explorer
#
# Here are real weights. Three translators were trained by the same recipe, for about a minute each; they differ in the score function alone. Nobody ever told them which word belongs to which. The rings are the **gold links** that our
# grammar knows: solid for links that are required, dashed for links that are right as well. A square marks where the word looks most.
#
# - Read *livre anglais triste* in *two girls wrote a sad english book*: in which order does French look at the English words?
# - In *i do not help them*, two French words look at *not*. Which?
# - Switch the score function. Which one is sharpest? Which makes mistakes, and where?
# - Raise the temperature. The favourite of each row never changes. Why?
#
# The menu holds examples with gold links. To **type** a sentence of your own, go on to the next figure: it has the same map and the same temperature.

# %% tags=["hide-input"]
ALIGNERS = ("additive", "dot", "bilinear")
aligners = {kind: Translator.shipped(f"align_{kind}") for kind in ALIGNERS}
error = {kind: model.aer(test) for kind, model in aligners.items()}
examples = [pair for pair in corpus.examples() if len(pair.source) <= 15]

# %% tags=["slide", "hide-input"]
AlignmentExplorer(
    examples,
    {kind: model.align(examples) for kind, model in aligners.items()},
    aer=error,
    sentence=3,
    title="The alignment explorer",
    caption="Rows: French words as they are written. Columns: English words. AER is the alignment error rate on 300 unseen sentences, 0 is perfect.",
)

# %% [markdown] tags=["notes"]
# Start with the sad English book: the reversal of two adjectives is a staircase going down to the left. Then negation: ne and pas both look at not. Then τ = 10: the map is grey, but the squares stay.

# %% [markdown]
# <details><summary>Answers</summary>
#
# *livre anglais triste* looks at book, english, sad: from right to left. *ne* and *pas* both look at *not* (French needs two words for it). Dividing all scores by the same number keeps their order, so the largest stays the largest.
#
# </details>
#
# ### Type a sentence of your own
#
# These two translators run on your machine, inside this page: the course's shipped checkpoints, one with attention, one with a fixed context. Words appear one by one, with the place each one looks at. Unknown words are named.
#
# - Write a short sentence. Switch attention off: the translation is still right.
# - Take a long example from the menu and switch attention off again. **Before you look:** which part of the sentence goes wrong first?
# - Switch attention on, and heat its looks. Here the temperature acts while it translates: at which $\tau$ do the *words* go wrong, and not only the map?

# %% tags=["slide", "hide-input"]
BrowserTranslator.shipped(
    text="my big mouse did not run",
    title="Two translators, with and without looking back",
    caption="Trained on sentences of 3 to 32 words. Nothing leaves this page.",
)

# %% [markdown] tags=["notes"]
# Let somebody dictate a sentence. Then the longest example, attention off: the beginning survives, the end is invented. Attention on again, and τ slowly up to 10: it goes blind before your eyes.

# %% [markdown]
# ## 4 · In the open
#
# ### The additive score, and a whole step of the decoder
#
# One step of our decoder, as code. $y$ is the word written last, $\mathrm{emb}(y)$ its embedding, $W_o$ and $R$ two linear maps.
#
# $$s_t = \operatorname{GRU}(\mathrm{emb}(y_{t-1}), s_{t-1}), \quad c_t = \sum_i \alpha_{ti} h_i, \quad p(y_t) = \operatorname{softmax}\big(W_o \tanh(R\,[s_t; c_t])\big)$$
#
# Nothing but $c_t$ differs from chapter 1. (Bahdanau's paper asks with $s_{t-1}$, before the last word is read. Ours asks with $s_t$, as Luong does; part 6 compares the two.)
# We write it with the parameters of a trained translator, and compare with the library.


# %%
def our_score(parameters, s, h):
    """v·tanh(A s + B h + b): (T, d_s), (S, d_h) -> (T, S)."""
    left = parameters.query(s).unsqueeze(-2)  # (T, 1, D)
    right = parameters.key(h).unsqueeze(-3)  # (1, S, D)
    return torch.tanh(left + right) @ parameters.out.weight[0]  # (T, S)


def our_step(model, h, s, y):
    """One word: the new state, the weights, and the logits."""
    word = model.embedding(y)  # (1, E)
    s = model.gru(word[None], s[None])[0][0]  # (1, H), reads y first
    alpha = our_score(model.context.score, s, h).softmax(-1)  # (1, S)
    c = alpha @ h  # (1, 2H): the only line that chapter 1 lacks
    read = torch.tanh(model.readout(torch.cat([s, c], dim=-1)))
    return s, alpha, model.out(read)  # (1, H), (1, S), (1, V)


# %%
additive = aligners["additive"]
with torch.no_grad():
    model = additive.model.eval()
    start, _ = additive.start([["the", "black", "cat", "sleeps"]])
    h, s = start.memory.annotations[0], start.hidden
    y, state = torch.tensor([BOS]), start
    while y.item() != EOS:
        s, alpha, logits = our_step(model, h, s, y)
        library, state = model.step(state, y)  # the same step, theirs
        torch.testing.assert_close(logits, library)
        y = logits.argmax(-1)
        spread = "  ".join(f"{share:.2f}" for share in alpha[0])
        print(f"{french.words[y.item()]:6} looks at  {spread}")
print("every step equal to the library's")

# %% [markdown]
# The columns are *the black cat sleeps* and the end mark. Ten lines, and a translation comes out.
#
# ### From a GRU to attention, in four steps
#
# Attention looks like a new idea. It is also an old one set free. A GRU mixes a candidate $n_t$ into its state, $h_t = (1 - z_t)\, n_t + z_t\, h_{t-1}$, entry by entry. Put the formula into itself, again and again, starting with $h_0 = 0$:
#
# $$h_t = \sum_{i \le t} \underbrace{(1 - z_i) \prod_{j=i+1}^{t} z_j}_{w_{ti}} \; n_i$$
#
# **The state of a GRU is a weighted sum of all past candidates.** Check it with real numbers: run our GRU cell, note its gates and candidates, and add up.

# %% [markdown] tags=["slide", "slides-only"]
# ## A GRU is a weighted sum
#
# $$h_t = (1 - z_t)\, n_t + z_t\, h_{t-1} = \sum_{i \le t} \underbrace{(1 - z_i) \prod_{j=i+1}^{t} z_j}_{w_{ti}} \; n_i$$
#
# Its weights fade with every step. Four steps set it free:
#
# 1. free the weights: $w_{ti} = \operatorname{softmax}(\operatorname{score}(h_t, n_i))$
# 2. free the candidates: $n_i$ no longer waits for $h_{i-1}$
# 3. one vector to be found by, another to hand over: keys and values
# 4. any number of heads


# %%
def gates_and_candidates(cell, x):
    """What a GRU cell does at each step: z and n, (T, H) each."""
    h, gates, candidates = torch.zeros(cell.hidden), [], []
    for now in x:
        of_x = cell.weight_ih @ now + cell.bias_ih
        of_h = cell.weight_hh @ h + cell.bias_hh
        (r_x, z_x, n_x), (r_h, z_h, n_h) = of_x.chunk(3), of_h.chunk(3)
        z = torch.sigmoid(z_x + z_h)
        n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
        h = (1 - z) * n + z * h
        gates.append(z)
        candidates.append(n)
    return torch.stack(gates), torch.stack(candidates)


def unrolled_weights(z):
    """w[t, i] = (1 − z_i) z_{i+1} … z_t, for each entry: (H, T, T)."""
    T = len(z)
    w = torch.zeros(z.shape[1], T, T)
    for t in range(T):
        for i in range(t + 1):
            w[:, t, i] = (1 - z[i]) * z[i + 1 : t + 1].prod(dim=0)
    return w


seed(0)
cell = GRUCell(5, 4)  # inputs of width 5, a state of width 4
x = torch.randn(6, 5)  # (T, 5)
with torch.no_grad():
    states = unroll(cell, x[None])[0]  # (T, H), the library's way
    z, n = gates_and_candidates(cell, x)  # (T, H) each
    w = unrolled_weights(z)  # (H, T, T)
    sums = torch.einsum("hti,ih->th", w, n)
torch.testing.assert_close(sums, states)
print("weighted sum of candidates = state of the GRU")
print("last row of w, first entry:", w[0, -1])

# %% [markdown]
# Equal. Now read it as attention: $w$ are weights, the $n_i$ are values, and a causal mask hides the future. Each entry of the state has its own weights, so a GRU of width 4 is attention with **4 heads of width 1**. The
# library's `attention` can play the GRU, if we hand it $\log w$ as a bias. (The weights add up to 1 when $h_0$ gets its share $\prod_j z_j$, so we put a zero candidate in front.)

# %%
with torch.no_grad():
    T, H = n.shape
    start = z.cumprod(dim=0).T.unsqueeze(-1)  # (H, T, 1): the share of h_0
    log_w = torch.cat([start, w], dim=-1).log()  # (H, T, 1 + T), future: −∞
    values = torch.cat([torch.zeros(1, H), n]).T.unsqueeze(-1)  # (H, 1+T, 1)
    blind = (
        torch.zeros(H, T, 1),
        torch.zeros(H, T + 1, 1),
    )  # q and k say nothing
    as_attention = attention(*blind, values, bias=log_w)  # (H, T, 1)
torch.testing.assert_close(as_attention.squeeze(-1).T, states)
print("attention with 4 heads of width 1 = GRU")

# %% [markdown]
# So the GRU *is* attention, in chains. Four steps take them off. Each new model contains the one before it, and the cell checks that it does.
#
# 1. **Free the weights.** A GRU's weights are products of gates: what is old has faded. Let $w_{ti} = \operatorname{softmax}_i \operatorname{score}(t, i)$ instead, any weights that add up to 1. Far away may be as near as next door.
# 2. **Free the candidates.** $n_i$ waits for $h_{i-1}$. Cut that wire: $n_i = \tanh(W x_i)$. Nothing is recurrent any more, and all steps run at once.
# 3. **Keys and values.** The candidate has two jobs: to be found, and to be handed over. Give it a vector for each.
# 4. **Heads.** The GRU has as many heads as entries, the translators above have one. Choose any number: chapter 4.


# %%
def step_1(w, n):
    """Free weights w (T, T) that add up to 1, the same candidates."""
    return w @ n


def step_2(scores, x, w_x):
    """Candidates without recurrence: all of them at once."""
    return step_1(scores.softmax(-1), torch.tanh(x @ w_x))


def step_3(q, k, v):
    """Scores from queries and keys; values are handed over. Causal."""
    return attention(q, k, v, causal=True, scale=1.0)


def step_4(q, k, v, heads):
    """The same with several heads: (T, E) -> (T, E)."""
    split = [t.unflatten(-1, (heads, -1)).transpose(0, 1) for t in (q, k, v)]
    return step_3(*split).transpose(0, 1).flatten(1)


with torch.no_grad():
    shares = w[0] / w[0].sum(-1, keepdim=True)  # any weights will do
    free = step_1(shares, n)
    quiet = GRUCell(5, 4)  # its candidates cannot hear the past
    quiet.weight_hh[-4:], quiet.bias_hh[-4:], quiet.bias_ih[-4:] = 0, 0, 0
    _, deaf = gates_and_candidates(quiet, x)
    w_x = quiet.weight_ih[-4:].T  # (5, 4)
    torch.testing.assert_close(torch.tanh(x @ w_x), deaf)
    torch.testing.assert_close(
        step_2(shares.log(), x, w_x), step_1(shares, deaf)
    )
    q, k = torch.randn(6, 4), torch.tanh(x @ w_x)
    hidden = torch.ones(6, 6).triu(1).bool()
    scores = (q @ k.T).masked_fill(hidden, -torch.inf)
    torch.testing.assert_close(step_3(q, k, k), step_2(scores, x, w_x))
    v = torch.randn(6, 4)
    torch.testing.assert_close(step_4(q, k, v, heads=1), step_3(q, k, v))
print("each step contains the one before it")

# %% [markdown] tags=["notes"]
# This is the bridge to chapter 3. The lecture version: a GRU is attention whose weights can only fade. Free the weights, the candidates, split keys from values, add heads: that is a Transformer layer.

# %% [markdown]
# After step 4 we hold causal multi-head self-attention, the heart of the Transformer. Chapters 3 and 4 arrive at it from the other side.
#
# ## 5 · At work
#
# ### A look for every word
#
# Softmax makes each *row* of $\alpha$ add up to 1: every French word looks once. Nobody says anything about the *columns*. Take *he sees her*, *il la voit*. The encoder read both ways, so $h_{\text{sees}}$ knows of *her*, and *la* can be said while looking at *sees*. Then nobody ever needs to look at *her*.
#
# So add a wish to the loss: source word $i$ wants $n_i$ looks in all.
#
# $$\text{loss} = -\log p(y \mid x) + \frac{\lambda}{S} \sum_i \Bigl(n_i - \sum_t \alpha_{ti}\Bigr)^2$$
#
# [Xu et al. 2015](https://arxiv.org/abs/1502.03044) (section 4.2.1) take $n_i = 1$ for every place. But *because* is always two words in French, *parce que*: it wants two. [Tu et al. 2016](https://arxiv.org/abs/1601.04811) give each word a number of its own, its *fertility*. Ours is the mean of the looks that the word has received so far.

# %%
looks_at = {  # rows: French words; columns: English words; then n
    "il la voit, la at her": ([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]], [1, 1, 1]),
    "il la voit, la at sees": (
        [[1.0, 0, 0], [0, 1, 0], [0, 1, 0]],
        [1, 1, 1],
    ),
    "parce que, both at because": ([[1.0], [1]], [2]),
}
for name, (rows, wanted) in looks_at.items():
    received = torch.tensor(rows).sum(dim=0)  # (S,): the looks at each word
    penalty = (torch.tensor(wanted) - received).square().mean()
    print(f"{name:27} received", received.int().tolist(), f"{penalty:.2f}")

# %% [markdown]
# A word that always takes two looks pays nothing. One that sometimes lends its look to a neighbour does. No alignment is shown to the model, and no fertility either. The library has it as `attnlab.training.coverage`; a little of it is in the training of every translator with attention from here on.
#
# ### RNNsearch: the length curve flattens
#
# The paper called its model *RNNsearch*. Same corpus, same sizes, same number of steps as the fixed-context model of part 1. **Guess first:** BLEU for 11–15 words? While it trains, we look at the alignment error rate every few hundred steps. (AER: below. 0 is perfect, 1 is all wrong.)

# %% tags=["nbval-ignore-output"]
watched = corpus.take(60, "valid")


def look(model):
    return {"AER": Translator(model, english, french).aer(watched)}


watch = Evaluate(look, every=420)
rnnsearch, history = train("additive", 0.15, watch)
search_curve = by_length(rnnsearch)
fixed_bleu, search_bleu = fixed.bleu(test), rnnsearch.bleu(test)
print("BLEU, 3–15 words:")
print(f"fixed context {fixed_bleu:.1f}, RNNsearch {search_bleu:.1f}")
seconds = fixed_history.seconds, history.seconds
print(f"CPU seconds: {seconds[0]:.0f} and {seconds[1]:.0f}; bar: 60 each")
for score in history.scores:
    print(f"after {score['step']:4d} batches: AER {score['AER']:.3f}")

# %% tags=["held"]
assert search_bleu >= max(97, fixed_bleu + 30), (search_bleu, fixed_bleu)
trained = search_curve[:3]  # the buckets within the trained lengths
assert max(trained) - min(trained) <= 5, trained

# %% [markdown] tags=["slide", "slides-only"]
# ## Both curves, as in Bahdanau's Figure 2

# %% tags=["fragment", "hide-input"]
labels = [f"{low}–{high}" for low, high in BUCKETS]
fig, ax = plt.subplots(figsize=(7.0, 3.7))
ax.axvspan(2.5, 6.3, color="0.93")
ax.plot(labels, search_curve, "o-", label="RNNsearch")
ax.plot(labels, fixed_curve, "s--", label="fixed context")
ax.text(
    2.6, 102, "longer than any sentence in training", color="0.35", size=10
)
ax.set(xlabel="English words", ylabel="BLEU", ylim=(0, 110), xlim=(-0.3, 6.3))
ax.set_title("A new context for every word, or one for all")
ax.legend(loc="lower left")
figures.show(
    fig,
    alt="BLEU against sentence length. Within the trained lengths RNNsearch stays near 100, while the fixed context falls "
    "steeply from the first bucket on. Beyond the trained lengths both fall; RNNsearch stays above.",
    caption="White: lengths seen in training. Grey: longer. Attention flattens the curve where it was trained, and falls later and from higher up beyond.",
)

# %% [markdown] tags=["notes"]
# Bahdanau's Figure 2: RNNenc-30/50 fall, RNNsearch-50 stays. Be honest about the grey part: neither extrapolates in length. The shipped model, trained up to 32 words, is flat to 32.

# %% [markdown]
# Within the trained lengths the curve is flat: the decoder never has to remember the sentence, it can look. In the grey part both fall. Attention is above, but it does **not** extrapolate: the decoder has never seen such long sentences, and neither have
# its looks. We say so, because the picture is often shown without that part. The cure is to train on longer sentences, as the shipped checkpoint below was.
#
# ### Attention learns alignment
#
# Nobody gave RNNsearch a dictionary or a single link. It only saw pairs of sentences. Yet to write the right word it has to look at the right place, and so $\alpha$ becomes an alignment. We draw $\alpha$ for two test sentences, chosen by rule: the first with two adjectives that change
# sides, and the first with a *ne … pas*.


# %%
def reversed_adjectives(pair):
    """A noun and two words after it that look from right to left."""
    at = dict(sorted(pair.sure))
    steps = [at[t] - at[t + 1] for t in at if t + 1 in at]
    return (1, 1) in pairwise(steps)


def negated(pair):
    return {"ne", "pas"} <= {*pair.target} and "not" in pair.source


def first(rule, longest=9):
    fits = (p for p in test if len(p.source) <= longest and rule(p))
    return next(fits)


def draw(ax, pair, alpha, title):
    """α, with rings at the gold links: solid = sure, dotted = possible."""
    figures.heatmap(
        ax,
        alpha,
        rows=[*pair.target, "(end)"],
        columns=[*pair.source, "(end)"],
        title=title,
        row_label="French",
        column_label="English",
        high=1.0,
        numbers=False,
    )
    for links, style in (
        (pair.possible - pair.sure, ":"),
        (pair.sure, "-"),
    ):
        if links:
            t, s = zip(*links)
            ring = {"facecolors": "none", "edgecolors": "#FF8C42"}
            ax.scatter(s, t, s=110, linestyle=style, linewidth=2, **ring)


# %% [markdown] tags=["slide", "slides-only"]
# ## Nobody told it which word belongs to which

# %% tags=["fragment", "hide-input"]
shown = [first(reversed_adjectives), first(negated)]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 4.0))
for ax, pair, alpha, title in zip(
    axes, shown, rnnsearch.align(shown), ("Order reversed", "One to many")
):
    draw(ax, pair, alpha, title)
figures.show(
    fig,
    alt="Two heatmaps of attention weights with rings at the gold links. In the first, a noun and its two adjectives run against the "
    "diagonal. In the second, both ne and pas look at not.",
    caption="Rings: gold links (dotted: right as well). Left: the diagonal runs backwards through the adjectives. Right: two French words share one English word.",
)

# %% [markdown] tags=["notes"]
# Left: anti-diagonal. Right: ne and pas in the same column. The rings come from the grammar, not from the model.

# %% [markdown]
# Is that true of all sentences, or of two? Measure. Each target word makes one link, to the place it looks at most: the set $A$. The grammar gives sure links $S$ and possible links $P \supseteq S$ (*au* belongs to *to* as much as to *the*). The **alignment error rate** ([Och and Ney 2003](https://aclanthology.org/J03-1002/)) is
#
# $$\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|} .$$
#
# To know whether a rate is good, compare it with one who does not read: *word $t$ belongs to place $t \cdot S/T$*, a straight diagonal.

# %% tags=["nbval-ignore-output"]
hard = {
    "all test sentences": test,
    "adjectives reversed": [p for p in test if reversed_adjectives(p)],
    "negated": [p for p in test if negated(p)],
}


def diagonal(pair):
    S, T = len(pair.source), len(pair.target)
    return {(t, round(t * (S - 1) / max(1, T - 1))) for t in range(T)}


print("AER                            RNNsearch   diagonal")
for name, pairs in hard.items():
    found = rnnsearch.aer(pairs)
    straight = metrics.aer(map(diagonal, pairs), pairs)
    print(f"{name:20} {len(pairs):4d}  {found:10.3f} {straight:10.3f}")
live_aer = rnnsearch.aer(test)

# %% tags=["held"]
assert live_aer <= 0.04, live_aer
assert metrics.aer(map(diagonal, test), test) > 0.2

# %% tags=["nbval-ignore-output"]
astray = Counter(
    pair.target[t]
    for pair, alpha in zip(test, rnnsearch.align(test))
    for t, place in metrics.links(alpha, pair) - pair.possible
)
print("looks elsewhere most often:", astray.most_common(6))

# %% [markdown]
# Which words make the errors? Small ones: articles, *de*, the auxiliary of a past tense. They can be said while looking at a neighbour, whose annotation knows enough. Part 6 comes back to this.
#
# ### Content against location, soft against hard
#
# The diagonal is a **location-based** attention: it looks at places, whatever stands there. It gets most of the easy sentences right and cannot reorder. Ours is **content-based**: it looks for a match, wherever it stands. The best of both is *local* attention ([Luong et al. 2015](https://arxiv.org/abs/1508.04025)):
# predict a place, then match within a window around it. Exercise 2.5 builds it.
#
# A **soft** look mixes all annotations. A **hard** look picks one ([Xu et al. 2015](https://arxiv.org/abs/1502.03044)). Hard is cheaper to read and easy to explain. But an argmax has no slope: nothing tells the scores in which direction to move, and such models are trained by trial and
# reward (REINFORCE), which is slow and noisy. Here is a compromise for free: train softly, then look harder. A temperature turns our trained model's softmax into anything between a hard look and the plain mean. **Guess first:** which temperatures does it survive?


# %%
class Tempered(nn.Module):
    """A score function, divided by a temperature."""

    def __init__(self, score, temperature):
        super().__init__()
        self.score, self.temperature = score, temperature

    def forward(self, q, k):
        return self.score(q, k) / self.temperature


def at_temperature(translator, temperature):
    model = copy.deepcopy(translator.model)
    model.context.score = Tempered(model.context.score, temperature)
    return replace(translator, model=model)


# %% tags=["nbval-ignore-output"]
TEMPERATURES = [0.01, 0.3, 1.0, 3.0, 10.0, 100.0]
by_heat = [at_temperature(rnnsearch, t).bleu(test[:60]) for t in TEMPERATURES]
for t, score in zip(TEMPERATURES, by_heat):
    print(f"τ = {t:6}: BLEU {score:5.1f}")

# %% tags=["held"]
assert by_heat[2] - by_heat[0] <= 10, by_heat  # hard
assert by_heat[2] - by_heat[-1] >= 40, by_heat  # the plain mean

# %% [markdown] tags=["slide", "slides-only"]
# ## One trained model, many temperatures

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(7.0, 3.2))
ax.plot(TEMPERATURES, by_heat, "o-")
ax.axvline(1, color="grey", linestyle=":")
ax.set(xscale="log", xlabel="temperature τ", ylabel="BLEU", ylim=(0, 105))
ax.set_title("Cold looks do no harm, hot ones blind it")
ax.text(0.011, 12, "hard: one word", size=11)
ax.text(95, 75, "the plain mean", size=11, ha="right")
figures.show(
    fig,
    alt="BLEU of one trained translator at temperatures from 0.01 to 100. It stays high for all temperatures up to 1 and falls towards nothing above.",
    caption="Trained at τ = 1 (dotted). Cold is harmless: the looks were nearly hard anyway. Hot is fatal: every word gets the same context.",
)

# %% [markdown]
# The trained looks are so sharp that choosing one word loses little. Heat destroys them: at $\tau = 100$ every context is the mean of the sentence, and the decoder is blind.
#
# ### Three scores, measured
#
# The three translators of the explorer, and one number for the eye: how many weights does an additive score need, compared with a dot product?

# %% tags=["nbval-ignore-output"]
print("score      parameters    BLEU    AER")
for kind, model in aligners.items():
    size = sum(p.numel() for p in model.model.context.parameters())
    print(
        f"{kind:9} {size:11,d} {model.bleu(test[:100]):7.1f} {error[kind]:6.3f}"
    )

# %% [markdown]
# Three ways to compare, the same softmax behind them, and all three learn to align. *dot* and *bilinear* have equally many parameters and can compute the same functions (part 2); the one difference is the factor $1/\sqrt{d_s}$. Without it the raw scores grow with the width and saturate the softmax early, and the bilinear score learns more slowly under this recipe: chapter 3 measures why. The
# additive score is bounded by its tanh and needs no such care, but has to hold $(T, S, D)$ numbers on the way.
#
# ### The shipped translator
#
# The checkpoint that comes with the course had more time: sentences of up to 32 words, several times as many steps (`training/translators.py`), and while it trained a quarter of the words $y_{t-1}$ were hidden from it (*word dropout*, [Bowman et al. 2016](https://arxiv.org/abs/1511.06349)): whoever cannot rely on the last word has to ask the source. Is a better translator also a better aligner? **Guess first.**

# %% tags=["nbval-ignore-output"]
shipped = Translator.shipped("rnnsearch")
shipped_fixed = Translator.shipped("fixed_context")
longest_32 = EnglishFrench(longest=32)
draws = [longest_32.take(400, "test", seed=s) for s in (0, 1, 3)]
rates = [shipped.aer(draw) for draw in draws]  # they vary: take the mean
shipped_aer = sum(rates) / len(rates)
up_to_32 = draws[-1][:100]
shipped_bleu, old_bleu = shipped.bleu(up_to_32), shipped_fixed.bleu(up_to_32)
print(f"3–32 words: BLEU {shipped_bleu:.1f}, AER {shipped_aer:.4f}:", end=" ")
print(*(f"{rate:.4f}" for rate in rates))
print(f"its twin with a fixed context: BLEU {old_bleu:.1f}")

# %% tags=["held"]
assert shipped_bleu >= max(97, old_bleu + 30), (shipped_bleu, old_bleu)
assert shipped_aer <= 0.015, shipped_aer

# %% [markdown]
# It translates better, sentences twice as long, and aligns about as well as the live one did on short ones. The one does not follow from the other: a translator that is sure of its next word may look where it likes, as part 6 shows. Both align well because every English word wanted its looks.
#
# ### From letters to sounds
#
# Is this only good for our own grammar? Take a real task of the same shape: spelling to pronunciation. The [CMU Pronouncing Dictionary](http://www.speech.cs.cmu.edu/cgi-bin/cmudict) has more than a hundred thousand English words, from real life, with all their madness: *knight* is `N AY T`. Source: letters. Target: sounds. The same
# classes, not a line changed. The checkpoint was trained for 12,000 batches; here is its error on held-out words. A word has several right pronunciations, and the nearest one counts.

# %% tags=["nbval-ignore-output"]
speaker = Translator.shipped("pronunciation")
unseen = pronunciation.pairs("test")
unseen = unseen[:: len(unseen) // 300][:300]
accepted = [pronunciation.variants(pair.structure) for pair in unseen]
said = speaker.translate([pair.source for pair in unseen])
sound_error = metrics.error_rate(said, accepted)
whole_words = metrics.accuracy(said, accepted)
print(f"{len(unseen)} unseen words: {sound_error:.1%} of the sounds wrong,")
print(f"{whole_words:.0%} of the words right to the last sound")

# %% tags=["held"]
assert sound_error <= 0.08, sound_error

# %% [markdown]
# Now look inside. A silent letter is one that nobody looks at: no sound has it as its favourite. And a *digraph* such as *ph* makes one sound of two letters. We do not hunt for nice words. We take every held-out word with a silent pattern and count how often its letter is nobody's favourite, and do
# the same for the letter beside it, which is spoken.


# %%
held_out = pronunciation.pairs("valid") + pronunciation.pairs("test")


def favourites(letters, sound):
    """Which letters the sounds of a word look at most, for all held-out
    words that begin with these letters and this sound."""
    pairs = [
        pair
        for pair in held_out
        if pair.structure.startswith(letters) and pair.target[0] == sound
    ]
    return [{*a[:-1].argmax(-1).tolist()} for a in speaker.align(pairs)]


# %% tags=["nbval-ignore-output"]
PATTERNS = [
    ("kn", "N", "silent k"),
    ("wr", "R", "silent w"),
    ("ph", "F", "digraph"),
    ("sh", "SH", "digraph"),
    ("th", "TH", "digraph"),
    ("st", "S", "both spoken"),
]
quiet = {}
print("begins with   words   1st letter ignored   2nd letter ignored")
for letters, sound, what in PATTERNS:
    looked = favourites(letters, sound)
    quiet[letters] = [
        sum(place not in at for at in looked) / len(looked)
        for place in (0, 1)
    ]
    one, two = quiet[letters]
    print(
        f"{letters} = {sound:2}  {len(looked):9d} {one:18.0%} {two:18.0%}",
        what,
    )

# %% tags=["held"]
assert min(quiet["kn"][0], quiet["wr"][0]) > 0.8, quiet
assert min(quiet[d][1] for d in ("ph", "sh", "th")) > 0.8, quiet
assert max(quiet["st"]) < 0.1, quiet

# %% [markdown]
# Nobody looks at the *k* of *kn* or at the *w* of *wr*: they are silent. In *ph* and *sh* two letters make one sound, which picks one of them as its favourite, so the other one counts as ignored. In *st* both letters are spoken, and both are looked at. The model has read a dictionary, and found the spelling rules of English in it.
#
# And on whole words. The last one is in no dictionary:

# %% [markdown] tags=["slide", "slides-only"]
# ## Which letters does a sound look at?

# %% tags=["fragment", "hide-input"]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.6))
for ax, word in zip(axes, ("knight", "physics", "bahdanau")):
    (sounds,) = speaker.translate([list(word)])
    pair = replace(unseen[0], source=tuple(word), target=tuple(sounds))
    (alpha,) = speaker.align([pair])
    figures.heatmap(
        ax,
        alpha[:-1],
        rows=sounds,
        columns=[*word, "■"],
        title=word,
        row_label="sounds" if ax is axes[0] else "",
        column_label="letters",
        high=1.0,
        numbers=False,
    )
figures.show(
    fig,
    alt="Attention of sounds over letters for the words knight, physics and bahdanau.",
    caption="A column that stays empty is a silent letter; of a digraph one letter is enough. ■ is the end of the word.",
)

# %% [markdown] tags=["notes"]
# Ask the room for names to type. The model has never been told that gh can be silent: it has read a dictionary.

# %% [markdown]
# **How does it pronounce *your* name?** [Type it in and see which letters each sound looks at](gpu_02_real_corpus.ipynb): the model runs in your browser, at the top of this chapter's GPU exercise. (It has a page of its own, because it is as heavy as the two translators above.)

# %% tags=["slide", "slides-only", "hide-input"]
Pronouncer.shipped(
    text="knight",
    title="How is it pronounced?",
    caption="Each sound, and the letters it looked at.",
)

# %% [markdown]
# And what can you train yourself, in less than a minute? A miniature, honestly reported.

# %% tags=["nbval-ignore-output"]
letters, sounds = pronunciation.vocabularies()
spelling = pronunciation.pairs("train")
seed(0)
sizes = {"source_words": len(letters), "target_words": len(sounds)}
mini = Translator(Seq2Seq(Config(hidden=96, **sizes)), letters, sounds)
stream = batches(spelling, letters, sounds, size=64, seed=0)
mini_history = fit(mini.model, stream, steps=400, descent=Descent(lr=6e-3))
mini_said = mini.translate([pair.source for pair in unseen])
mini_error = metrics.error_rate(mini_said, accepted)
mini_words = metrics.accuracy(mini_said, accepted)
print(f"miniature: {mini_error:.1%} of the sounds wrong,", end=" ")
print(f"{mini_words:.0%} of the words right,", end=" ")
print(f"{mini_history.seconds:.0f} CPU seconds")

# %% tags=["held"]
assert mini_history.seconds <= 60, mini_history.seconds
assert 0.08 < mini_error < 0.30, mini_error

# %% [markdown]
# Many words are right after 400 batches, many have one sound wrong. Getting from there to the checkpoint takes thirty times as many. English spelling has rules, and then it has *colonel*.

# %% [markdown]
# ### The same decoder looks at a picture
#
# Nothing in attention says *words*. Cut a picture into a grid, let a small convolutional network make one vector of each cell, and hand these to the decoder as annotations. The decoder does not notice the difference. That is *Show, Attend and Tell*
# ([Xu et al. 2015](https://arxiv.org/abs/1502.03044)).
#
# | | translator | captioner |
# |---|---|---|
# | source | $S$ words | $8 \times 8 = 64$ cells of a picture |
# | encoder | bi-directional GRU | CNN, each cell sees little more than itself |
# | annotations $h$ | $(S, d_h)$ | $(64, d_h)$ |
# | decoder, score, softmax, context | the same | the same |
#
# The scenes are made by the course: animals and things with known boxes, a relation, a ground. Test captions combine words that were never combined in training. Step through the words. **Before each step:** where would *you* look?

# %% tags=["nbval-ignore-output"]
teller = Teller.shipped()
pictures = scenes.take(200, split="test")
told = teller.tell([scene.picture for scene in pictures])
right = [t.words == s.caption for t, s in zip(told, pictures)]
pointing = teller.pointing(pictures)
print(
    f"{len(pictures)} unseen scenes: {sum(right) / len(right):.0%} of the captions exact"
)
print(f"the largest weight is on the named object: {pointing.nouns:.0%}")
print(f"a cell at random would be: {pointing.chance:.0%}")

# %% tags=["held"]
assert sum(right) >= 0.9 * len(right), sum(right)
assert pointing.nouns >= 0.8, pointing

# %% tags=["slide", "hide-input"]
CaptionStepper.of(
    pictures[:6],
    told[:6],
    title="Show, attend and tell",
    caption="Where it looks before each word. Dashed: where the named object really is.",
)

# %% [markdown] tags=["notes"]
# Step to the animal, the relation, the thing. Ask before "left of": where should one look for a relation? There is no right cell for it, and the weights show that.

# %% [markdown]
# At a noun the weights sit on the object. At *of* or *a* they wander: these words need no look, and the weights have to go *somewhere*, since they must add up to 1.
#
# And its mistakes? Chosen by rule, not by hand: the wrong captions it was **surest** of.

# %% tags=["hide-input", "nbval-ignore-output"]
gallery = teller.mistakes(pictures, 3)
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.3))
for ax in axes:
    ax.set_axis_off()
for ax, (scene, telling) in zip(axes, gallery):
    said, right_one = [*telling.words, "■"], [*scene.caption, "■"]
    wrong = next(i for i, (a, b) in enumerate(zip(said, right_one)) if a != b)
    figures.look(ax, scene.picture, telling.looks[wrong])
    ax.set_title(f"{said[wrong]}, not {right_one[wrong]}", size=11)
    print("said: ", *telling.words)
    print("right:", *scene.caption)
figures.show(
    fig,
    alt="Up to three pictures with wrong captions, the surest first, each with the look before the first wrong word.",
    caption="The look before the first wrong word, and the word it should have been. Did it look at the wrong place, or see the wrong thing there?",
)

# %% [markdown]
# ## 6 · Misconceptions
#
# ### "The weights explain the word"
#
# It is tempting to read a heatmap as a reason: *la* was written **because of** what it looks at. Test it. French articles have a gender: *the cat* is *le chat*, *the cow* is *la vache*. Which English word decides between *le* and *la*? The noun. Where does the article look?
#
# Take all test sentences that begin with *the* and a singular noun. Exchange the noun for one of the other gender, and translate again. If the reason were where it looks, the article would not care.

# %% [markdown] tags=["slide", "slides-only"]
# ## “The weights explain the word”
#
# *the cat* → *le chat*, *the cow* → *la vache*
#
# The article looks at *the*. What decides between *le* and *la*?

# %%
nouns = {
    noun.english[0]: noun
    for noun in lexicon.ALL_NOUNS
    if noun.french[0][0] not in "aeiouhœéêî"
}


def other_gender(noun):
    """A noun of the same kind and the other gender, if there is one."""
    fits = (
        o
        for o in nouns.values()
        if o.kind == noun.kind and o.feminine != noun.feminine
    )
    return next(fits, None)


swapped = []
for pair in corpus.take(900, "test", seed=5):
    one = nouns.get(pair.source[1])
    begins_so = pair.source[0] == "the" and pair.target[0] in ("le", "la")
    new = one and other_gender(one)
    if begins_so and new and pair.target[1] == one.french[0]:
        words = ("the", new.english[0], *pair.source[2:])
        swapped.append((pair, words))

# %% tags=["nbval-ignore-output"]
before = rnnsearch.translate([pair.source for pair, _ in swapped])
after = rnnsearch.translate([words for _, words in swapped])
looks = torch.stack(
    [alpha[0, :2] for alpha in rnnsearch.align([p for p, _ in swapped])]
)
flips = sum(a[0] != b[0] for a, b in zip(before, after)) / len(swapped)
on_article, on_noun = looks.mean(dim=0).tolist()
print(f"{len(swapped)} sentences. The article looks at")
print(f"  “the” with {on_article:.2f}, at the noun with {on_noun:.2f}")
print(f"another noun changes the article in {flips:.0%} of them")

# %% tags=["fragment", "slides-only", "hide-input"]
print(f"weight on “the”: {on_article:.2f}, on the noun: {on_noun:.2f}")
print(f"another noun changes the article: {flips:.0%}")

# %% tags=["held"]
assert on_article >= 0.7, (on_article, flips)
assert flips >= 0.9, (on_article, flips)

# %% [markdown]
# The article looks at *the* and hardly at the noun, and yet the noun decides. How? **An annotation is not a word.** $h_{\text{the}}$ comes from a GRU that read the whole sentence in both directions, so it already knows the noun. Let us prove it: keep the new sentence, but put the *old* annotation of *the*
# into the memory, and nothing else.


# %%
@torch.no_grad()
def first_word(translator, words, patch=None):
    """The first word said, with the annotation of place 0 replaced."""
    start, _ = translator.start([words])
    memory = start.memory
    if patch is not None:
        h = memory.annotations.clone()
        h[:, 0] = patch
        memory = memory._replace(annotations=h, keys=h)
    start = start._replace(memory=memory)
    logits, _ = translator.model.step(start, torch.tensor([BOS]))
    return french.words[logits.argmax().item()]


back = 0
for pair, words in swapped:
    old = rnnsearch.start([pair.source])[0].memory.annotations[:, 0]
    back += first_word(rnnsearch, words, old.detach()) == pair.target[0]

# %% tags=["nbval-ignore-output"]
print(
    f"with the old annotation of “the”, the old article: {back / len(swapped):.0%}"
)

# %% tags=["held"]
assert back / len(swapped) >= 0.5, back

# %% [markdown] tags=["notes"]
# The weight says which vector was read, not what was in it, nor what it was made of. Jain and Wallace 2019, Wiegreffe and Pinter 2019: the debate, both titles worth reading aloud.

# %% [markdown]
# One vector, and the gender comes back. **α says which vector was read. It does not say what was in it.** An attention map is evidence, not an explanation. The debate has two papers with beautiful titles: [Attention is not Explanation](https://arxiv.org/abs/1902.10186) (Jain and Wallace 2019) and [Attention is not not Explanation](https://arxiv.org/abs/1908.04626) (Wiegreffe and
# Pinter 2019).
#
# ### "Attention is alignment, always"
#
# Attention learns to align where that helps to write the next word, and only there. All translators so far were asked to look at every word. Take that wish away: here is a smaller one, trained for some seconds on nothing but the next word. Its nouns: does each look at its own English noun? And *que*: in *parce que* it belongs to *because*, but after *parce* nothing else can follow. Who needs to look?

# %% [markdown] tags=["slide", "slides-only"]
# ## “Attention is alignment, always”
#
# After *parce* nothing but *que* can follow. Does *que* still look at *because*?

# %%
GROUPS = {
    "nouns": {form for noun in lexicon.ALL_NOUNS for form in noun.french},
    "que, qu'": {"que", "qu'"},
}


def at_gold(translator):
    """For each group of words: which share looks at a gold place?"""
    hits = {name: [] for name in GROUPS}
    for pair, alpha in zip(test, translator.align(test)):
        for t, place in metrics.links(alpha, pair):
            for name, words in GROUPS.items():
                if pair.target[t] in words:
                    hits[name].append((t, place) in pair.possible)
    return {name: sum(right) / len(right) for name, right in hits.items()}


# %% tags=["nbval-ignore-output"]
seed(0)
sizes = {"source_words": len(english), "target_words": len(french)}
plain = Translator(Seq2Seq(Config(hidden=64, **sizes)), english, french)
stream = batches(sentences, english, french, size=32, seed=0)
# the loss of the words alone
fit(plain.model, stream, steps=900, descent=Descent(lr=8e-3))
share = {"plain": at_gold(plain), "RNNsearch": at_gold(rnnsearch)}
for name, rates in share.items():
    print(
        f"{name:9}", *(f"{g}: {rate:.0%} right " for g, rate in rates.items())
    )

# %% tags=["fragment", "slides-only", "hide-input"]
for name, rates in share.items():
    print(
        f"{name:9}", *(f"{g}: {rate:.0%} right " for g, rate in rates.items())
    )

# %% tags=["held"]
assert share["plain"]["nouns"] >= 0.93, share
assert share["plain"]["que, qu'"] <= 0.80, share
assert share["RNNsearch"]["que, qu'"] >= 0.9, share

# %% [markdown] tags=["notes"]
# An idle look drifts, often to the word that comes next. Only when every source word wants its looks does que go home to because.

# %% [markdown]
# Nearly all nouns look at their own. The plain translator's *que* looks elsewhere, often ahead, at the word that comes next, and need not care: the word was certain. **A weight is only as meaningful as the loss that needed it.** RNNsearch was asked to give every English word its looks, and so *que* comes home.
#
# One more choice is often blamed: Bahdanau's decoder asks *before* it has read its last word, with a stale state. We expected it to align worse. Same recipe, other order:

# %% tags=["nbval-ignore-output"]
stale = Translator.shipped("align_before")
by_order = {"after": aligners["additive"], "before": stale}
rates = {name: one.aer(test) for name, one in by_order.items()}
for name, one in by_order.items():
    bleu = one.bleu(test[:100])
    print(f"asks {name:6} reading y: BLEU {bleu:.1f}, AER {rates[name]:.3f}")
took = {}
for name in ("align_additive", "align_before"):
    _, about = checkpoints.load(assets.find(f"weights/{name}.safetensors"))
    took[name] = about["seconds"]  # CPU time of the training
times = took["align_before"] / took["align_additive"]
print(f"its training took {times:.1f} times as long")

# %% tags=["held"]
assert rates["before"] > rates["after"], (rates, times)
assert times > 1, (rates, times)

# %% [markdown]
# It does: the translation is as good, but a state that has not read its last word points less exactly. And it costs time. It has to wait for each context, so its steps cannot run at once.

# %% [markdown]
# ## 7 · Exercises
#
# Write your answer where the dots are, run the cell, then run the check. It tells you in words what it saw. The hints go from a nudge to nearly there: open one at a time.

# %% [markdown] tags=["exercise"] exercise="02.1"
# ### Exercise 2.1 ★ · A context for every word (5 min)
#
# Write `my_context(e, h)`. It takes scores $e$ of shape $(\dots, T, S)$ and annotations $h$ of shape $(\dots, S, d_h)$, and returns the contexts
#
# $$c_t = \sum_i \alpha_{ti}\, h_i, \qquad \alpha = \operatorname{softmax}(e), \qquad \text{shape } (\dots, T, d_h).$$
#
# The dots stand for a batch, or nothing. There is no loop in it.


# %% tags=["stub"] exercise="02.1"
def my_context(e, h):
    """Scores (..., T, S), annotations (..., S, d_h) -> (..., T, d_h)."""
    alpha = ...  # each target word shares out 1 among the source words
    return ...  # the weighted sums


# %% [markdown] tags=["hint"] exercise="02.1"
# Along which axis of `e` do the source words lie? That is where the shares have to add up to 1.

# %% [markdown] tags=["hint"] exercise="02.1"
# A weighted sum of rows, for every row of weights: that is a matrix product.


# %% tags=["solution"] exercise="02.1"
def my_context(e, h):
    """Scores (..., T, S), annotations (..., S, d_h) -> (..., T, d_h)."""
    alpha = e.softmax(dim=-1)  # each target word shares out 1
    return alpha @ h  # (..., T, S) @ (..., S, d_h)


# %% tags=["check"] exercise="02.1"
check("02.1", my_context)

# %% [markdown] tags=["exercise"] exercise="02.2"
# ### Exercise 2.2 ★★ · The additive score (12 min)
#
# Write `my_additive_score(s, h, w, u, v)`: the score of every state with every annotation, with row vectors,
#
# $$e_{ti} = \tanh(s_t W + h_i U) \cdot v .$$
#
# | | shape | |
# |---|---|---|
# | `s` | $(\dots, T, d_s)$ | states of the decoder |
# | `h` | $(\dots, S, d_h)$ | annotations |
# | `w`, `u` | $(d_s, D)$, $(d_h, D)$ | both sides meet in $D$ dimensions |
# | `v` | $(D,)$ | how much each of them counts |
#
# The result has shape $(\dots, T, S)$. No loops: let two axes of size 1 broadcast.


# %% tags=["stub"] exercise="02.2"
def my_additive_score(s, h, w, u, v):
    """tanh(s W + h U) · v for every pair: (..., T, S)."""
    left = ...  # (..., T, 1, D)
    right = ...  # (..., 1, S, D)
    return ...


# %% [markdown] tags=["hint"] exercise="02.2"
# First for one pair: $s_t W$ has $D$ numbers, $h_i U$ too. Add, tanh, dot product with $v$.

# %% [markdown] tags=["hint"] exercise="02.2"
# `unsqueeze(-2)` puts an axis of size 1 before the last one. A tensor $(T, 1, D)$ plus a tensor $(1, S, D)$ is a tensor $(T, S, D)$: every pair.

# %% [markdown] tags=["hint"] exercise="02.2"
# `(s @ w).unsqueeze(-2)` and `(h @ u).unsqueeze(-3)`. Counted from the back, they work with a batch in front as well. A product with a vector, `x @ v`, sums over the last axis.


# %% tags=["solution"] exercise="02.2"
def my_additive_score(s, h, w, u, v):
    """tanh(s W + h U) · v for every pair: (..., T, S)."""
    left = (s @ w).unsqueeze(-2)  # (..., T, 1, D)
    right = (h @ u).unsqueeze(-3)  # (..., 1, S, D)
    return torch.tanh(left + right) @ v


# %% tags=["check"] exercise="02.2"
check("02.2", my_additive_score)

# %% [markdown] tags=["exercise"] exercise="02.3"
# ### Exercise 2.3 ★★ · The alignment error rate (12 min)
#
# Write `my_aer(alpha, sure, possible)`. All three have shape $(\dots, T, S)$: weights, and two bool tables of gold links ($S \subseteq P$). Every target word makes one link, to the place it looks at most. Return
#
# $$\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$
#
# for each sentence, as a tensor of shape $(\dots)$: a single number without a batch, one rate a sentence with one.


# %% tags=["stub"] exercise="02.3"
def my_aer(alpha, sure, possible):
    """Weights and two bool tables, (..., T, S) each -> (...)."""
    found = ...  # (..., T, S), bool: one True in each row
    right = ...
    return 1 - right / ...


# %% [markdown] tags=["hint"] exercise="02.3"
# `alpha.argmax(dim=-1)` says where each word looks most. `torch.nn.functional.one_hot(place, S)` makes a row of zeros with a single 1 of it.

# %% [markdown] tags=["hint"] exercise="02.3"
# Two bool tables meet with `&`. Their size is their sum over the last *two* axes: `.sum((-2, -1))`.


# %% tags=["solution"] exercise="02.3"
def my_aer(alpha, sure, possible):
    """Weights and two bool tables, (..., T, S) each -> (...)."""
    best = alpha.argmax(dim=-1)  # (..., T)
    found = torch.nn.functional.one_hot(best, alpha.shape[-1]).bool()
    right = (found & sure).sum((-2, -1)) + (found & possible).sum((-2, -1))
    return 1 - right / (found.sum((-2, -1)) + sure.sum((-2, -1)))


# %% tags=["check"] exercise="02.3"
check("02.3", my_aer)

# %% [markdown] tags=["exercise"] exercise="02.4"
# ### Exercise 2.4 ★★ · The attention hidden in a GRU (15 min)
#
# Write `my_gru_weights(z)`. It takes the update gates of all steps, shape $(\dots, T, H)$, and returns the weights with which the candidates $n_1, \dots, n_T$ stand in the **last** state, in the same shape:
#
# $$h_T = \sum_i w_i\, n_i + \dots, \qquad w_i = (1 - z_i)\, z_{i+1} z_{i+2} \cdots z_T .$$
#
# A gate may be exactly 0, so do not divide by one.


# %% tags=["stub"] exercise="02.4"
def my_gru_weights(z):
    """Update gates (..., T, H) -> weights of the candidates (..., T, H)."""
    kept = ...  # (..., T, H): the product of all *later* gates
    return (1 - z) * kept


# %% [markdown] tags=["hint"] exercise="02.4"
# Follow one candidate. It enters with $1 - z_i$. What does the next step do to it? And the last candidate, what happens to it afterwards?

# %% [markdown] tags=["hint"] exercise="02.4"
# Nothing comes after the last step, and a product of nothing is 1. Walk from the end to the beginning and multiply as you go.

# %% [markdown] tags=["hint"] exercise="02.4"
# A loop over `reversed(range(T))` will do. Without one: `flip`, `cumprod`, `flip` along axis -2, on the gates shifted by one step with a row of ones at the end.


# %% tags=["solution"] exercise="02.4"
def my_gru_weights(z):
    """Update gates (..., T, H) -> weights of the candidates (..., T, H)."""
    ones = torch.ones_like(z[..., :1, :])
    later = torch.cat([z[..., 1:, :], ones], dim=-2)  # gates of step i + 1
    kept = (
        later.flip(-2).cumprod(-2).flip(-2)
    )  # the product of all later ones
    return (1 - z) * kept


# %% tags=["check"] exercise="02.4"
check("02.4", my_gru_weights)

# %% [markdown] tags=["exercise"] exercise="02.5"
# ### Exercise 2.5 ★★★ · Content and location (20 min)
#
# Local attention ([Luong et al. 2015](https://arxiv.org/abs/1508.04025), section 3.2) knows *about where* to look: around a place $p_t$, which may lie between two words. Write `my_local_weights(e, p, d)` for scores $e$ $(\dots, T, S)$, places $p$ $(\dots, T)$ and a whole number $d$:
#
# 1. only source words with $|i - p_t| \le d$ take part, for $i = 0, \dots, S - 1$;
# 2. among them, a softmax of the scores;
# 3. then every weight is multiplied by $\exp\!\left(-\frac{(i - p_t)^2}{2\sigma^2}\right)$ with $\sigma = d/2$. The rows are *not* brought back to 1.
#
# The result has shape $(\dots, T, S)$. Then ask yourself: what does it cost for a sentence of $S$ words, and for a book?


# %% tags=["stub"] exercise="02.5"
def my_local_weights(e, p, d):
    """Softmax in a window of ±d around p, times a Gaussian: (..., T, S)."""
    away = ...  # (..., T, S): i − p_t
    inside = ...  # bool
    alpha = ...
    return alpha * ...


# %% [markdown] tags=["hint"] exercise="02.5"
# `torch.arange(S)` are the places $i$. `p.unsqueeze(-1)` has shape $(\dots, T, 1)$. Their difference broadcasts.

# %% [markdown] tags=["hint"] exercise="02.5"
# What may not take part has to be gone *before* the softmax: `e.masked_fill(~inside, -torch.inf)`.

# %% [markdown] tags=["hint"] exercise="02.5"
# With $\sigma = d/2$ the exponent is $-2\,(i - p)^2/d^2$.


# %% tags=["solution"] exercise="02.5"
def my_local_weights(e, p, d):
    """Softmax in a window of ±d around p, times a Gaussian: (..., T, S)."""
    away = torch.arange(e.shape[-1]) - p.unsqueeze(-1)  # (..., T, S)
    inside = away.abs() <= d
    alpha = e.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return alpha * torch.exp(-(away**2) / (2 * (d / 2) ** 2))


# %% tags=["check"] exercise="02.5"
check("02.5", my_local_weights)

# %% [markdown]
# ### GPU exercise · A real corpus
#
# One more exercise has a notebook of its own: [RNNsearch on real sentences](gpu_02_real_corpus.ipynb). It trains both translators on sentence pairs that people wrote, draws the length curve, and runs small on a CPU and at full size on a free Colab GPU.

# %% [markdown] tags=["slide"]
# ## 8 · Takeaways
#
# 1. **One context for every word:** $c_t = \sum_i \alpha_{ti} h_i$. The sentence no longer has to fit into one vector.
# 2. **Scores are a choice:** dot, bilinear, additive. The softmax after them is always the same.
# 3. **The length curve flattens** within the trained lengths. Beyond them nobody extrapolates.
# 4. **Alignment is learned without being taught,** because looking at the right place pays. But α says which vector was read, not why.
# 5. **A GRU is attention in chains.** Free the weights, the candidates, keys and values, heads: that is a Transformer layer.

# %% [markdown]
# ### Shapes and costs
#
# One sentence of $S$ source and $T$ target words, annotations of width $d_h$, states of width $d_s$, width $D$ inside the additive score:
#
# | | shape | parameters | operations |
# |---|---|---|---|
# | annotations $h$ | $(S, d_h)$ | | |
# | states $s$ | $(T, d_s)$ | | |
# | dot score, $d_s = d_h$ | $(T, S)$ | 0; to make wider keys fit, $d_s d_h$ | $2TSd_h$; keys $2Sd_s d_h$, once |
# | bilinear score | $(T, S)$ | $d_s d_h$ | $2Td_s d_h + 2TSd_h$ |
# | additive score | $(T, S)$, with $(T, S, D)$ on the way | $D(d_s + d_h + 2)$ | $2D(Td_s + Sd_h) + O(TSD)$ |
# | weights $\alpha$ | $(T, S)$ | 0 | $O(TS)$ |
# | contexts $c$ | $(T, d_h)$ | 0 | $2TSd_h$ |
# | fixed context | $(d_h,)$ | 0 | 0 |
#
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "A sentence has S = 7 source words, T = 5 target words, annotations of width 256. Which shape has α?",
            "choices": [
                {
                    "text": "(5, 7)",
                    "correct": True,
                    "why": "One row for each target word, one share for each source word.",
                },
                {
                    "text": "(7, 5)",
                    "why": "Rows belong to the word that looks: the target. Each row adds up to 1.",
                },
                {
                    "text": "(5, 256)",
                    "why": "That is the shape of the contexts, one vector for each target word.",
                },
            ],
        },
        {
            "question": "What does a temperature τ → ∞ do to RNNsearch?",
            "choices": [
                {
                    "text": "It turns into hard attention",
                    "why": "That is τ → 0. A large τ makes all scores nearly equal.",
                },
                {
                    "text": "It turns into a fixed context",
                    "correct": True,
                    "why": "Every row becomes 1/S each, so every context is the same mean of the annotations.",
                },
                {
                    "text": "Nothing, the favourite of each row stays",
                    "why": "The favourite stays, but its share shrinks to that of all others. BLEU fell to almost nothing.",
                },
            ],
        },
        {
            "question": "The decoder's states have width 128, the annotations 256. Which scores can be used without another matrix?",
            "choices": [
                {
                    "text": "The dot product",
                    "why": "A dot product needs two vectors of the same width.",
                },
                {
                    "text": "The bilinear score",
                    "correct": True,
                    "why": "Its matrix has shape (128, 256) and joins the two.",
                },
                {
                    "text": "The additive score",
                    "correct": True,
                    "why": "Its two matrices bring both sides to a common width D first.",
                },
            ],
        },
        {
            "question": "*la* looks at *the* with 0.95. Why did the model write *la* and not *le*?",
            "choices": [
                {
                    "text": "Because of the word *the*",
                    "why": "*the* has no gender. When we exchanged the noun, the article changed.",
                },
                {
                    "text": "The map does not say: the annotation of *the* already holds the noun's gender",
                    "correct": True,
                    "why": "The encoder reads in both directions. α tells which vector was read, not what is in it.",
                },
                {
                    "text": "By chance",
                    "why": "It was right nearly every time, so it must know the noun.",
                },
            ],
        },
        {
            "question": "An update gate of a GRU is z = 0.9 at every step. With which weight does a candidate of 20 steps ago stand in the state?",
            "choices": [
                {
                    "text": "About 0.012",
                    "correct": True,
                    "why": "It entered with 0.1 and was kept 20 times by 0.9: 0.1 · 0.9²⁰. A GRU's weights can only fade.",
                },
                {
                    "text": "0.1",
                    "why": "That is how it entered. Every later step kept nine tenths of it.",
                },
                {
                    "text": "0.9",
                    "why": "0.9 is the share of the old state that one step keeps.",
                },
            ],
        },
        {
            "question": "Why is hard attention difficult to train?",
            "choices": [
                {
                    "text": "It is slower to compute",
                    "why": "It is cheaper: only one annotation is read.",
                },
                {
                    "text": "An argmax has no gradient: a small change of the scores changes nothing",
                    "correct": True,
                    "why": "So one has to try, and reward what worked (REINFORCE), or train softly and look hard afterwards.",
                },
                {
                    "text": "Its weights do not add up to 1",
                    "why": "They do: one of them is 1, the others 0.",
                },
            ],
        },
        {
            "question": "Both curves fall beyond 15 words. What is the honest reading?",
            "choices": [
                {
                    "text": "Attention solves long sentences",
                    "why": "Within the trained lengths. Beyond them it falls as well, only later.",
                },
                {
                    "text": "Attention is useless for long sentences",
                    "why": "Trained on lengths up to 32, it is flat up to 32.",
                },
                {
                    "text": "Attention removes the bottleneck, but a model still knows only the lengths it was trained on",
                    "correct": True,
                    "why": "Two different problems. Chapter 5 comes back to the second one.",
                },
            ],
        },
    ],
    title="Self-test: alignment",
    key="02",
)

# %% [markdown]
# ### References
#
# - D. Bahdanau, K. Cho, Y. Bengio (2015), [Neural Machine Translation by Jointly Learning to Align and Translate](https://arxiv.org/abs/1409.0473): the additive score, RNNsearch, the length curve (Figure 2), the alignments (Figure 3).
# - M.-T. Luong, H. Pham, C. Manning (2015), [Effective Approaches to Attention-based Neural Machine Translation](https://arxiv.org/abs/1508.04025): dot and bilinear scores, the order of steps we use, local attention.
# - K. Xu and others (2015), [Show, Attend and Tell](https://arxiv.org/abs/1502.03044): captions, soft and hard attention, a look for every word (section 4.2.1).
# - F. Och, H. Ney (2003), [A Systematic Comparison of Various Statistical Alignment Models](https://aclanthology.org/J03-1002/): sure and possible links, the error rate.
# - Z. Tu and others (2016), [Modeling Coverage for Neural Machine Translation](https://arxiv.org/abs/1601.04811): fertility. P. Brown and others (1993), [The Mathematics of Statistical Machine Translation](https://aclanthology.org/J93-2003/), where the word comes from.
# - K. Cho and others (2014), [Learning Phrase Representations using RNN Encoder–Decoder](https://arxiv.org/abs/1406.1078): the GRU.
# - K. Yao, G. Zweig (2015), [Sequence-to-Sequence Neural Net Models for Grapheme-to-Phoneme Conversion](https://arxiv.org/abs/1506.00196): letters to sounds.
# - S. Jain, B. Wallace (2019), [Attention is not Explanation](https://arxiv.org/abs/1902.10186); S. Wiegreffe, Y. Pinter (2019), [Attention is not not Explanation](https://arxiv.org/abs/1908.04626).
#
# **Next:** the decoder looks at the encoder. Why should the words of one sentence not look at each other? Chapter 3 takes the RNN away.
