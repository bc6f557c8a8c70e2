# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     title: Your own model
#     minutes: 150
#     summary: Write attention, mask, RoPE, RMSNorm, SwiGLU, cache and sampling yourself, put them together, load published weights, and tell the same story, token for token.
# ---

# %% [markdown]
# # Capstone · Your own model
#
# Somebody trained this machine and published its numbers. **Can you write the machine around them, so that it tells the same story, token for token?**

# %% tags=["setup"]
import textwrap

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from attnlab import figures
from attnlab.certificate import certificate
from attnlab.checks import check
from attnlab.checks.capstone_suspects import BROKEN, OURS, Notes
from attnlab.checks.capstone_suspects import model as with_parts
from attnlab.data.pieces import EOS
from attnlab.layers.heads import merge, split
from attnlab.models.stories import open_weights, stories15m
from attnlab.widgets import HeadGrid, Quiz, RopeDial, TokenSampler
from attnlab.widgets.diagram import (
    Arrow,
    Box,
    Diagram,
    Group,
    Matrix,
    Op,
    Step,
    Text,
)

figures.use_style()
_ = torch.set_grad_enabled(False)


# %% tags=["plumbing"]
def machine(**traits):
    """The whole model, with what the learner writes lit step by step."""
    return Diagram(
        [
            Text("tokens", "tokens\nL", at=(0, 1)),
            Box("words", "embed", detail="V × E", at=(1, 1), colour="embedding"),
            Box("norm", "RMSNorm", detail="C.1", at=(2, 1), colour="norm", link="#exercise-c-1-rmsnorm-10-min"),
            Box("rope", "RoPE", detail="C.2", at=(3, 1), colour="RoPE"),
            Box("mask", "mask", detail="C.3", at=(3, 2), colour="attention"),
            Box("attention", detail="C.4", at=(4, 1), colour="attention"),
            Box("cache", "KV cache", detail="C.6", at=(4, 2), colour="key"),
            Op("add", at=(5, 1)),
            Text("x", "residual x", at=(5, 3)),
            Box("norm2", "RMSNorm", detail="C.1", at=(4, 3), colour="norm"),
            Box("swiglu", "SwiGLU", detail="C.5", at=(3, 3), colour="feed forward"),
            Op("add2", at=(2, 3)),
            Text("times", "block × 6", detail="C.8", at=(2, 2)),
            Box("last", "RMSNorm", detail="C.1", at=(1, 3), colour="norm"),
            Box("out", "× words", detail="L × V", at=(0, 3), colour="embedding"),
            Box("draw", "sample", detail="C.7", at=(0, 2), colour="chosen"),
        ],
        [
            "tokens -> words -> norm -> rope -> attention -> add -> x -> norm2 -> swiglu -> add2 -> last",
            "last -> out -> draw",
            "mask -> attention",
            "cache -> attention",
            Arrow("words", "add", via=("above", "left")),
            Arrow("x", "add2", via=("below", "left")),
        ],
        [Group("block", ["norm", "rope", "mask", "attention", "cache", "add", "x", "norm2", "swiglu", "add2", "times"])],
        [
            Step("Seven parts are yours to write; they are lit.", ["norm", "rope", "mask", "attention", "cache", "norm2", "swiglu", "last", "draw"]),
            Step("C.8: six of them make a block. It looks back, computes, and remembers.", ["block"]),
            Step("C.9: six blocks, with the same table before and after them, make the model.", ["tokens", "words", "block", "last", "out"]),
            Step("What comes out is drawn, becomes the next token, and goes in again.", ["out", "draw", "tokens", "words"]),
        ],
        tall={
            "tokens": (0, 0), "words": (0, 1), "norm": (0, 2), "rope": (0, 3), "attention": (0, 4),
            "mask": (1, 3), "times": (1, 7), "cache": (1, 4), "add": (0, 5), "x": (0, 6), "norm2": (0, 7),
            "swiglu": (0, 8), "add2": (0, 9), "last": (0, 10), "out": (0, 11), "draw": (0, 12),
        },
        gap=(24, 26),
        **traits,
    )  # fmt: skip


# %% tags=["hide-input"]
machine(
    title="stories15M: 15 million published numbers, and the machine you write",
    caption="Lit: what you write. You know the parts from the chapters; bring your own lines with you.",
)

# %% [markdown] tags=["slide", "slides-only"]
# # Your own model
#
# attnlab · capstone
#
# Seven functions, one block, a loop, and somebody else's numbers.

# %% [markdown] tags=["notes"]
# 20 minutes to introduce the capstone: the machine (3), RoPE with an offset (4), what may be drawn (4), the 36 heads (3), what mistakes sound like (4), quiz (2). The writing is homework.

# %% [markdown] tags=["slide", "slides-only"]
# ## Can you write the machine around the numbers?

# %% tags=["fragment", "slides-only", "hide-input"]
machine()

# %% [markdown]
# The numbers are those of **stories15M**, a small Llama that Andrej Karpathy trained on TinyStories ([Eldan and Li 2023](https://arxiv.org/abs/2305.07759)). This is what it says:

# %%
teller = stories15m()
print(textwrap.fill(teller.tell("Once upon a time", length=60), 72))

# %% [markdown]
# ## The numbers you are given
#
# They are plain tensors, with no model around them. A projection is `x @ w.T`, since matrices are stored as (out, in).
#
# | symbol | here | meaning |
# |---|---|---|
# | $L$, $S$ | | new tokens; keys in all, old and new |
# | $E$, $V$ | 288, 32,000 | model width; tokens in the vocabulary |
# | $H$, $G$, $D$ | 6, 6, 48 | heads of queries; heads of keys and values; width of a head |
# | $F$ | 768 | hidden width of the network |

# %%
weights = open_weights()
print("words ", tuple(weights.words.shape), "  heads", weights.heads)
for name, tensor in weights.layers[0]._asdict().items():
    print(f"{name:7}", tuple(tensor.shape))

# %% tags=["held"]
assert weights.words.shape == (32_000, 288)
assert weights.layers[0].gate.shape == (768, 288)
assert len(weights.layers) == weights.heads == 6

# %% [markdown]
# There is one sentence at a time and no batch: $x$ is $(L, E)$, queries are $(H, L, D)$. You write seven parts, then the block, then the model. The checkers of the last two compare **every value on the way** with ours and name the first that differs.
#
# ## The parts
#
# You have written most of these before. Take your own lines from the chapters, and watch for what is new.

# %% [markdown] tags=["exercise"] exercise="C.1"
# ### Exercise C.1 ★ · RMSNorm (10 min)
#
# Chapter 6 normalised with a mean and a variance. RMSNorm ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)) does not subtract the mean. It only sets the size, for each token by itself:
#
# $$y = \frac{x}{\sqrt{\frac1E \sum_i x_i^2 + \varepsilon}} \odot w, \qquad \varepsilon = 10^{-5}$$
#
# `x` is $(…, E)$ and `weight` is $(E)$.


# %% tags=["stub"] exercise="C.1"
def my_rms_norm(x, weight):
    size = ...  # the root of the mean square, one for each token
    return x / size * weight


# %% [markdown] tags=["hint"] exercise="C.1"
# `x.square().mean(...)`: over which axis? `keepdim=True` lets the division broadcast.

# %% [markdown] tags=["hint"] exercise="C.1"
# $\varepsilon$ is added *inside* the root.


# %% tags=["solution"] exercise="C.1"
def my_rms_norm(x, weight):
    size = (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return x / size * weight


# %% tags=["check"] exercise="C.1"
check("C.1", my_rms_norm)

# %% [markdown] tags=["exercise"] exercise="C.2"
# ### Exercise C.2 ★★ · RoPE with an offset (15 min)
#
# Turn each pair of **neighbours** $(x_{2i}, x_{2i+1})$ by the angle $p \cdot 10000^{-2i/D}$, where $p$ is the token's position. New here: the first of the $L$ tokens is at position `offset`, because a cache may hold what came before.
#
# $$(a, b) \mapsto (a\cos\theta - b\sin\theta,\; a\sin\theta + b\cos\theta)$$
#
# `x` is $(H, L, D)$.


# %% tags=["slide", "hide-input"]
RopeDial(
    q=[1.0, 0.4, 0.9, -0.3, 0.8, 0.5, 1.0, 0.2],
    k=[0.9, 0.3, 1.0, 0.2, 0.7, 0.6, 0.9, 0.4],
    base=10_000.0,
    query=12,
    key=8,
    title="RoPE with an offset: a head of 8 numbers instead of 48",
    caption="Which clock hardly moves between positions 8 and 12? With a cache the first new token is at position “offset”, not at 0. Tie both positions and drag: the score stays the same. Move only one, as a wrong offset does, and it changes.",
)


# %% tags=["stub"] exercise="C.2"
def my_rope(x, offset):
    positions = ...  # (L,), from offset on
    speeds = ...  # (D/2,)
    turns = positions[:, None] * speeds  # (L, D/2)
    a, b = x[..., 0::2], x[..., 1::2]
    return ...


# %% [markdown] tags=["hint"] exercise="C.2"
# `torch.arange(offset, offset + L)` are the positions, and `10000.0 ** (-torch.arange(0, D, 2) / D)` the speeds.

# %% [markdown] tags=["hint"] exercise="C.2"
# The pairs must go back to where they were: `torch.stack([…, …], dim=-1).flatten(-2)` puts a and b side by side again.


# %% tags=["solution"] exercise="C.2"
def my_rope(x, offset):
    L, D = x.shape[-2:]
    positions = torch.arange(offset, offset + L)
    speeds = 10000.0 ** (-torch.arange(0, D, 2) / D)
    turns = positions[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = turns.cos(), turns.sin()
    return torch.stack(
        [a * cos - b * sin, a * sin + b * cos], dim=-1
    ).flatten(-2)


# %% tags=["check"] exercise="C.2"
check("C.2", my_rope)

# %% [markdown] tags=["exercise"] exercise="C.3"
# ### Exercise C.3 ★ · Who may look where (5 min)
#
# Return a bool mask of shape $(L, S)$, True = may attend. The $L$ queries are the **last** $L$ of the $S$ tokens. So with $L = 1$ the one query sees everything.


# %% tags=["hide-input"]
fig, axes = plt.subplots(
    1, 3, figsize=(7.6, 2.9), gridspec_kw={"width_ratios": [1, 1, 1]}
)
for ax, (queries, keys) in zip(axes, ((5, 5), (2, 5), (1, 5)), strict=True):
    picture = torch.zeros(queries, keys)
    for row in range(queries):
        picture[row, : row + keys - queries + 1] = 1
    figures.heatmap(
        ax, picture, [str(i + keys - queries) for i in range(queries)],
        [str(j) for j in range(keys)], high=1,
        title=f"L = {queries}, S = {keys}",
        row_label="position of the query" if queries == 5 else "",
        column_label="position of the key",
    )  # fmt: skip
figures.show(
    fig,
    alt="Three masks as maps: five queries on five keys, a triangle; the last two queries on five keys, its last two rows; one query on five keys, a full row.",
    caption="Blue: may attend. A whole prompt, two more tokens, one more token: the lower right corner is always blue.",
)


# %% tags=["stub"] exercise="C.3"
def my_mask(L, S):
    return ...


# %% [markdown] tags=["hint"] exercise="C.3"
# Query $i$ is at position $i + S - L$ and sees the keys up to there.

# %% [markdown] tags=["hint"] exercise="C.3"
# `tril` takes a diagonal: `torch.ones(L, S, dtype=torch.bool).tril(…)`.


# %% tags=["solution"] exercise="C.3"
def my_mask(L, S):
    return torch.ones(L, S, dtype=torch.bool).tril(S - L)


# %% tags=["check"] exercise="C.3"
check("C.3", my_mask)

# %% [markdown] tags=["exercise"] exercise="C.4"
# ### Exercise C.4 ★★ · Attention with shared heads (15 min)
#
# $\text{softmax}(QK^\top / \sqrt D)\,V$ where the mask allows, for $H$ heads of queries and $G$ heads of keys and values. Neighbouring heads of queries share: with $H = 4$ and $G = 2$ they read 0 0 1 1. (stories15M has $G = H$; the checker also tries $G < H$.)
#
# `q` is $(H, L, D)$, `k` and `v` are $(G, S, D)$, `mask` is $(L, S)$.


# %% tags=["stub"] exercise="C.4"
def my_attention(q, k, v, mask):
    k, v = ..., ...  # (H, S, D) each
    scores = ...  # (H, L, S)
    return scores.softmax(dim=-1) @ v


# %% [markdown] tags=["hint"] exercise="C.4"
# `repeat_interleave` gives 0 0 1 1, `repeat` gives 0 1 0 1.

# %% [markdown] tags=["hint"] exercise="C.4"
# What may not be seen gets the score −∞: `scores.masked_fill(~mask, -torch.inf)`.


# %% tags=["solution"] exercise="C.4"
def my_attention(q, k, v, mask):
    share = q.shape[0] // k.shape[0]
    k, v = (
        k.repeat_interleave(share, dim=0),
        v.repeat_interleave(share, dim=0),
    )
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1) @ v


# %% tags=["check"] exercise="C.4"
check("C.4", my_attention)

# %% [markdown] tags=["exercise"] exercise="C.5"
# ### Exercise C.5 ★ · SwiGLU (5 min)
#
# The network of a modern block ([Shazeer 2020](https://arxiv.org/abs/2002.05202)): one projection goes through silu and says how much of the other passes.
#
# $$y = \big(\text{silu}(x W_{\text{gate}}^\top) \odot x W_{\text{wide}}^\top\big)\, W_{\text{narrow}}^\top$$


# %% tags=["hide-input"]
Diagram(
    [
        Text("x", "x\nL × 288", at=(0, 1)),
        Box("gate", "gate", detail="768 × 288", at=(1, 0), colour="feed forward"),
        Box("wide", "wide", detail="768 × 288", at=(1, 2), colour="feed forward"),
        Box("silu", "silu", at=(2, 0), colour="chosen"),
        Op("times", "×", at=(3, 1)),
        Box("narrow", "narrow", detail="288 × 768", at=(4, 1), colour="feed forward"),
        Text("y", "y\nL × 288", at=(5, 1)),
    ],
    ["x -> gate -> silu -> times", "x -> wide -> times -> narrow -> y"],
    steps=[
        Step("One way is squashed: it says how much passes, number by number.", ["x", "gate", "silu"]),
        Step("The other way carries what passes.", ["x", "wide"]),
        Step("They meet in a product, and a third matrix makes the result narrow again.", ["times", "narrow", "y"]),
    ],
    gap=(26, 22),
    title="SwiGLU: a gate and what goes through it",
)  # fmt: skip


# %% tags=["stub"] exercise="C.5"
def my_swiglu(x, gate, wide, narrow):
    return ...


# %% [markdown] tags=["hint"] exercise="C.5"
# silu(z) = z · sigmoid(z); torch has it as `F.silu`.

# %% [markdown] tags=["hint"] exercise="C.5"
# Two matrix products with x, one of them through silu, then an elementwise product, and one more matrix product with `narrow.T`.


# %% tags=["solution"] exercise="C.5"
def my_swiglu(x, gate, wide, narrow):
    return (F.silu(x @ gate.T) * (x @ wide.T)) @ narrow.T


# %% tags=["check"] exercise="C.5"
check("C.5", my_swiglu)

# %% [markdown] tags=["exercise"] exercise="C.6"
# ### Exercise C.6 ★ · The KV cache grows (5 min)
#
# `past` holds the keys (or values) of $S$ tokens, $(G, S, D)$; `new` those of $L$ more. $S$ may be 0. Return all of them in order.


# %% tags=["hide-input"]
Diagram(
    [
        Matrix("past", size=(5, 4), shape="G × S × D", at=(0, 0)),
        Matrix("new", size=(1, 4), shape="G × L × D", at=(0, 1)),
        Box("cat", "append", at=(1, 0), colour="key"),
        Matrix("all", size=(6, 4), shape="G × (S + L) × D", at=(2, 0)),
        Box("attend", "attention", at=(3, 0), colour="attention"),
    ],
    ["past -> cat -> all -> attend", "new -> cat"],
    steps=[
        Step("One row for each token that was read, computed once.", ["past"]),
        Step("The new token brings one row.", ["new"]),
        Step("The cache grows downwards. Nothing old is computed again.", ["cat", "all"]),
    ],
    gap=(34, 26),
    title="The cache, one token later",
)  # fmt: skip


# %% tags=["stub"] exercise="C.6"
def my_cache(past, new):
    return ...


# %% [markdown] tags=["hint"] exercise="C.6"
# `torch.cat` joins tensors along an axis. Which one counts the tokens?

# %% [markdown] tags=["hint"] exercise="C.6"
# Counted from the back it is −2, and the past comes first.


# %% tags=["solution"] exercise="C.6"
def my_cache(past, new):
    return torch.cat([past, new], dim=-2)


# %% tags=["check"] exercise="C.6"
check("C.6", my_cache)

# %% [markdown] tags=["exercise"] exercise="C.7"
# ### Exercise C.7 ★★ · What may be drawn (15 min)
#
# From logits $(V)$ to the probabilities one draws from: divide by the temperature, softmax, then keep the smallest set of likeliest tokens that reaches `top_p` ([Holtzman et al. 2020](https://arxiv.org/abs/1904.09751)). What is left adds up to 1.


# %% tags=["plumbing"]
openings = [
    "Once upon a time, there was a",
    "The dragon was",
    "Tom had a blue",
]
rows = torch.stack([teller.model(teller.numbers(o))[0, -1] for o in openings])
likely = rows.softmax(-1).sum(0).topk(20).indices  # of 32,000
names = [teller.pieces.decode([int(i)], first=False).strip() for i in likely]


# %% tags=["slide", "hide-input"]
TokenSampler(
    rows[:, likely],
    tokens=[
        name or f"#{int(i)}" for name, i in zip(names, likely, strict=True)
    ],
    contexts=openings,
    top_p=0.9,
    title="The next word of a story",
    caption="Real scores of stories15M: of 32,000 tokens the 20 likeliest. Bars: what may be drawn; stripes: before the cut. How many are left at top-p 0.5?",
)


# %% tags=["stub"] exercise="C.7"
def my_shares(logits, temperature, top_p):
    shares = ...  # (V,)
    ranked, order = shares.sort(descending=True)
    keep = ...  # (V,) bool, in the order of `ranked`
    kept = torch.zeros_like(shares)
    kept[order[keep]] = ranked[keep]
    return ...


# %% [markdown] tags=["hint"] exercise="C.7"
# A token is kept if the tokens *before* it in the ranking add up to less than `top_p`.

# %% [markdown] tags=["hint"] exercise="C.7"
# `ranked.cumsum(-1) - ranked` is the sum before each. At the end divide by the sum of what is kept.


# %% tags=["solution"] exercise="C.7"
def my_shares(logits, temperature, top_p):
    shares = (logits / temperature).softmax(dim=-1)
    ranked, order = shares.sort(descending=True)
    keep = ranked.cumsum(-1) - ranked < top_p
    kept = torch.zeros_like(shares)
    kept[order[keep]] = ranked[keep]
    return kept / kept.sum()


# %% tags=["check"] exercise="C.7"
check("C.7", my_shares)

# %% [markdown]
# ## Put together
#
# `split(x, heads)` cuts $(L, H \cdot D)$ into $(H, L, D)$ and `merge` undoes it, as in chapter 4. `note(name, value)` writes a value down for the checker and returns it. Leave the notes in: they are how it finds the part that is wrong.

# %% [markdown] tags=["exercise"] exercise="C.8"
# ### Exercise C.8 ★★★ · One block (25 min)
#
# Norm first, then the sublayer, then add: $x + f(\text{norm}(x))$, twice. Keys are turned **before** they enter the cache; values are never turned. Return the new $x$, and all keys and values.


# %% tags=["stub"] exercise="C.8"
def my_block(x, layer, heads, past_k, past_v, note):
    D, offset = x.shape[-1] // heads, past_k.shape[-2]
    h = note("normed", ...)
    q = note("queries", split(h @ layer.query.T, heads))
    k = note("keys", split(h @ layer.key.T, len(layer.key) // D))
    v = note("values", split(h @ layer.value.T, len(layer.value) // D))
    q = note("queries turned", ...)
    k = note("keys turned", ...)
    k = note("all keys", ...)
    v = note("all values", ...)
    y = note("looked up", ...)
    x = note("after attention", ...)
    h = note("normed again", ...)
    y = note("network", ...)
    return ..., k, v


# %% [markdown] tags=["hint"] exercise="C.8"
# Every `...` is a call of one of your own functions, except for two sums: `x + merge(y) @ layer.out.T`, and the last line.

# %% [markdown] tags=["hint"] exercise="C.8"
# The mask has as many rows as x and as many columns as there are keys *after* the cache has grown.


# %% tags=["solution"] exercise="C.8"
def my_block(x, layer, heads, past_k, past_v, note):
    D, offset = x.shape[-1] // heads, past_k.shape[-2]
    h = note("normed", my_rms_norm(x, layer.norm))
    q = note("queries", split(h @ layer.query.T, heads))
    k = note("keys", split(h @ layer.key.T, len(layer.key) // D))
    v = note("values", split(h @ layer.value.T, len(layer.value) // D))
    q = note("queries turned", my_rope(q, offset))
    k = note("keys turned", my_rope(k, offset))
    k = note("all keys", my_cache(past_k, k))
    v = note("all values", my_cache(past_v, v))
    y = note("looked up", my_attention(q, k, v, my_mask(len(x), k.shape[-2])))
    x = note("after attention", x + merge(y) @ layer.out.T)
    h = note("normed again", my_rms_norm(x, layer.norm_2))
    y = note("network", my_swiglu(h, layer.gate, layer.wide, layer.narrow))
    return x + y, k, v


# %% tags=["check"] exercise="C.8"
check("C.8", my_block)

# %% [markdown] tags=["exercise"] exercise="C.9"
# ### Exercise C.9 ★★★ · Your own model (20 min)
#
# Look up the tokens in the table, go through the blocks, normalise once more, and multiply by the same table: logits $(L, V)$. `past` is None at the start; afterwards it is what you returned: one pair of keys and values for each layer. The checker ends
# with the published weights and a story.


# %% tags=["stub"] exercise="C.9"
def my_model(tokens, weights, past, note):
    D = weights.words.shape[1] // weights.heads
    x = note("embedded", ...)
    new = []
    for n, layer in enumerate(weights.layers):
        empty = torch.zeros(len(layer.key) // D, 0, D)
        pair = past[n] if past else (empty, empty)  # keys and values
        x, k, v = ...
        note(f"layer {n + 1}", x)
        new.append((k, v))
    x = note("normed", ...)
    return ..., tuple(new)


# %% [markdown] tags=["hint"] exercise="C.9"
# `weights.words[tokens]` looks up rows. There is no √E here: Llama takes them as they are.

# %% [markdown] tags=["hint"] exercise="C.9"
# Inside the loop: `my_block(x, layer, weights.heads, *pair, lambda name, value: value)`. Its own notes are not wanted here.


# %% tags=["solution"] exercise="C.9"
def my_model(tokens, weights, past, note):
    D = weights.words.shape[1] // weights.heads
    x = note("embedded", weights.words[tokens])
    new = []
    for n, layer in enumerate(weights.layers):
        empty = torch.zeros(len(layer.key) // D, 0, D)
        pair = past[n] if past else (empty, empty)
        x, k, v = my_block(
            x, layer, weights.heads, *pair, lambda name, value: value
        )
        note(f"layer {n + 1}", x)
        new.append((k, v))
    x = note("normed", my_rms_norm(x, weights.norm))
    return x @ weights.words.T, tuple(new)


# %% tags=["check"] exercise="C.9"
check("C.9", my_model)

# %% [markdown]
# ## Look inside
#
# Your notes hold every value on the way. First the attention of all 36 heads, from *your* queries and keys:

# %% tags=["plumbing"]
words_in = "Once upon a time, there was a little girl named Lily."
numbers_in = teller.numbers(words_in)[0]
labels = ["start"] + [
    teller.pieces.decode([int(i)], first=False).strip() or "·"
    for i in numbers_in[1:]
]


def block_notes(tokens):
    """What `my_block` noted in every layer: a list of dicts."""
    x, found = weights.words[tokens], []
    for layer in weights.layers:
        kept = {}
        empty = torch.zeros(weights.heads, 0, 48)
        x, _, _ = my_block(
            x, layer, weights.heads, empty, empty,
            lambda name, value, kept=kept: kept.setdefault(name, value),
        )  # fmt: skip
        found.append(kept | {"x": x})
    return found


# %% tags=["hide-input"]
inside = block_notes(numbers_in)
may = my_mask(len(numbers_in), len(numbers_in))
scores = torch.stack(
    [
        (n["queries turned"] @ n["all keys"].mT / 48**0.5).masked_fill(
            ~may, -50
        )
        for n in inside
    ]
)  # (layers, heads, L, L)

# %% tags=["slide", "hide-input"]
HeadGrid(
    scores[..., :9, :9].numpy(),  # no token looks ahead, so a part will do
    tokens=labels[:9],
    layer=4,
    head=2,
    query=8,
    title="Your model's 36 heads on nine tokens",
    caption="Click through the layers, counted from 0. Which heads look one word back? Which lean on the mark at the start?",
)

# %% [markdown]
# Then the stream that runs through all of it. After each layer, take $x$, normalise it as at the end, and multiply by the table of words, as if the model stopped there. **Guess:** after which layer is the next word known? (This method is called the [logit lens](https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens).)

# %% tags=["hide-input"]
stages = [weights.words[numbers_in], *(n["x"] for n in inside)]
right = torch.stack(
    [
        (my_rms_norm(x, weights.norm) @ weights.words.T)
        .softmax(-1)[:-1]
        .gather(-1, numbers_in[1:, None])[:, 0]
        for x in stages
    ]
)  # (7 stages, L - 1)
fig, ax = plt.subplots(figsize=(7.8, 4.3))
figures.heatmap(
    ax, right, ["embedded", *(f"layer {n}" for n in range(1, 7))], labels[1:],
    high=1, digits=1, row_label="", column_label="the word that comes next",
    title="Share that each stage gives to the right next word",
)  # fmt: skip
figures.show(
    fig,
    alt="A table of seven stages by the words of a sentence. The embeddings and the first layers give nearly nothing to the right next word; the last layers up to 1.",
    caption="Read upwards from the last row: which words are settled early, which only in the last layer, and which never?",
)

# %% tags=["held"]
assert right[0].mean() < 0.1 < right[-1].mean()
assert right[-1].mean() > right[3].mean()

# %% [markdown]
# ## The same story?
#
# The prompt goes in as a whole, then one token at a time, with the cache. `choose` takes the likeliest token, or draws from your `my_shares`.


# %% tags=["plumbing"]
def say(label, opening, tokens):
    """Print a story in lines of a readable length."""
    text = opening + teller.pieces.decode(tokens, first=False).replace(
        "\n", " "
    )
    print(textwrap.fill(f"{label}: {text}", 84, subsequent_indent="    "))


# %%
def tell(model, opening, length, choose=lambda logits: int(logits.argmax())):
    """The tokens that `model` puts after an opening."""
    tokens, past, told = teller.numbers(opening)[0], None, []
    while len(told) < length:
        logits, past = model(tokens, weights, past, Notes())
        told.append(choose(logits[-1]))
        if told[-1] == EOS:
            return told[:-1]
        tokens = torch.tensor(told[-1:])
    return told


# %%
OPENINGS = [
    "Once upon a time",
    "Tom had a blue boat",
    "The dragon was sad",
    "It was",
]
LENGTH = 40
for opening in OPENINGS:
    mine = tell(my_model, opening, LENGTH)
    theirs = teller.continue_(opening, length=LENGTH)
    same = sum(a == b for a, b in zip(mine, theirs, strict=True))
    say(f"{same} of {len(theirs)} tokens", opening, mine)

# %% tags=["held"]
for opening in OPENINGS:
    assert tell(my_model, opening, LENGTH) == teller.continue_(
        opening, length=LENGTH
    )

# %% [markdown]
# All tokens agree, on every line: your code, their numbers, one story. Now draw at random. **Guess first:** what does temperature 1.5 do to a story, and what does top-p undo?


# %% tags=["nbval-ignore-output"]
def draw(temperature, top_p):
    luck = torch.Generator().manual_seed(0)
    return lambda logits: int(
        torch.multinomial(
            my_shares(logits, temperature, top_p), 1, generator=luck
        )
    )


for temperature, top_p in [(0.7, 0.9), (1.5, 1.0), (1.5, 0.6)]:
    mine = tell(my_model, "The dragon", 40, draw(temperature, top_p))
    say(f"temperature {temperature}, top-p {top_p}", "The dragon", mine)

# %% [markdown]
# ## What mistakes sound like
#
# Here are models with one part broken. **Guess first:** which of them still tells the right story? And which begins well?


# %% tags=["plumbing"]
def broken(parts):
    """The model of the checker with other parts: like `my_model`."""
    return lambda tokens, weights, past, note: with_parts(
        tokens, weights, past, note, parts
    )


# %% tags=["nbval-ignore-output"]
for name, parts in BROKEN.items():
    mine = tell(broken(parts), "Once upon a time", 32)
    say(name, "Once upon a time", mine)

# %% tags=["held"]
slipped = tell(broken(BROKEN["cache off by one"]), "Once upon a time", 32)
assert slipped == teller.continue_("Once upon a time", length=32)

# %% [markdown]
# The cache that is off by one gets through: after the prompt every position is one too small, but here the likeliest token stays the same. A story that sounds right is no proof. That is why the checker compares values, not stories.
#
# How surprised is each of them by the right story, token by token?

# %% [markdown] tags=["slide", "slides-only"]
# ## Three mistakes, no error message

# %% tags=["fragment", "hide-input"]
story = torch.tensor(
    teller.numbers("Once upon a time")[0].tolist()
    + teller.continue_("Once upon a time", length=150)
)
surprise = {}
for name, parts in {"all right": OURS, **BROKEN}.items():
    if name in ("norm after", "cache off by one"):
        continue  # off the chart; and no mistake where there is no cache
    logits, _ = broken(parts)(story, weights, None, Notes())
    surprise[name] = F.cross_entropy(logits[:-1], story[1:], reduction="none")

figure, axes = plt.subplots(figsize=(7, 3.5))
for (name, values), style in zip(
    surprise.items(), ["-", "--", "-.", ":"], strict=True
):
    mean = values.unfold(0, 12, 4).mean(-1)
    axes.plot(torch.arange(len(mean)) * 4 + 6, mean, style, label=name)
axes.set(
    xlabel="position in the story",
    ylabel="nats per token",
    ylim=(0, 7),
    title="RoPE on halves begins almost right, then falls apart",
)
axes.legend(ncols=2, loc="upper center")
figures.show(
    figure,
    alt="Loss by position: all right stays near 0.5, RoPE on halves climbs to 4.",
    caption="The surprise at the right story, each point a mean of 12 tokens. With the wrong pairs, and without the scale, the first words are right: where does it turn?",
)

# %%
for name, values in surprise.items():
    first, last = values[:6].mean(), values[-64:].mean()
    print(
        f"{name:15} first 6 tokens {first:.1f} nats, last 64 {last:.1f} nats"
    )

# %% tags=["held"]
assert surprise["all right"].mean() < 0.6
assert surprise["RoPE on halves"][:6].mean() < 0.4
assert surprise["RoPE on halves"][-64:].mean() > 3

# %% [markdown]
# RoPE's two layouts are not interchangeable, and the difference has confused many (see [transformers #25199](https://github.com/huggingface/transformers/issues/25199)). Weights made for pairs of neighbours need neighbours, unless the rows of $W_q$ and $W_k$ are put into the other order.
#
# ## Your certificate
#
# It checks all nine parts once more and writes a page into your folder. Type your name, print it, hang it up. Nothing leaves your machine. (On the website you see the one that our solution earned.)

# %% tags=["nbval-ignore-output"]
ending = teller.pieces.decode(
    tell(my_model, "One day, a learner", 50), first=False
)
certificate(
    {
        "C.1": my_rms_norm,
        "C.2": my_rope,
        "C.3": my_mask,
        "C.4": my_attention,
        "C.5": my_swiglu,
        "C.6": my_cache,
        "C.7": my_shares,
        "C.8": my_block,
        "C.9": my_model,
    },
    story=f"One day, a learner{ending} …",
)

# %% [markdown] tags=["slide"]
# ## Takeaways
#
# - This language model is seven small functions, a block of a dozen lines, and a loop.
# - An architecture is a contract with the weights: order of pairs, place of the norm, scale, gate. Each can be wrong without an error message.
# - A story that reads well proves little; equal values on the way prove much more.
# - With a cache one new token is computed and $S$ old ones are read; the offset says where the new one is.

# %% [markdown]
# | part | shapes | multiplications per new token |
# |---|---|---|
# | projections | $(L, E) \to (H, L, D)$, $2 (G, L, D)$, back to $(L, E)$ | $2E^2 + 2EGD$ |
# | attention | $(H, L, D)$ on $(G, S, D)$ | $2SE$ |
# | SwiGLU | $(L, E) \to (L, F) \to (L, E)$ | $3EF$ |
# | logits | $(L, E) \to (L, V)$ | $EV$ |
#
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "The prompt is in the cache, one token is new. What is the shape of its mask?",
            "choices": [
                {"text": "1 × 1", "why": "It looks back at the whole prompt, not at itself alone."},
                {"text": "1 × S, all True", "correct": True, "why": "The newest token may see everything that is there."},
                {"text": "S × S, a triangle", "why": "Only the new token asks; the old ones have been answered."},
            ],
        },
        {
            "question": "Keys go into the cache …",
            "choices": [
                {"text": "turned by RoPE", "correct": True, "why": "A key's position never changes, so it is turned once."},
                {"text": "unturned; they are turned when they are read", "why": "It would work, but every step would turn the whole past again."},
                {"text": "turned, and so are the values", "why": "Values carry content. Their position is not asked for."},
            ],
        },
        {
            "question": "Your model tells a fluent story, and the checker says layer 1 differs. Who is right?",
            "choices": [
                {"text": "The story: it sounds right", "why": "So did the story of the model whose cache was off by one."},
                {"text": "The checker: it compares every value", "correct": True, "why": "The likeliest token can survive an error for a long time."},
            ],
        },
        {
            "question": "top-p 0.9, and the likeliest token has 0.95. How many tokens may be drawn?",
            "choices": [
                {"text": "None: it is over 0.9", "why": "The smallest set that reaches 0.9 is never empty."},
                {"text": "One", "correct": True, "why": "It reaches 0.9 alone, and gets probability 1."},
                {"text": "All that sum to 0.9", "why": "The set is filled from the likeliest on, and is full at once."},
            ],
        },
        {
            "question": "The published table has 32,000 rows and is used twice. Where?",
            "choices": [
                {"text": "To look tokens up, and to score the next one", "correct": True, "why": "Tied: one table reads and writes."},
                {"text": "In the first and in the last block", "why": "Blocks have matrices of their own; the table is outside of them."},
            ],
        },
    ],
    title="Self-test: your own model",
    key="C",
)  # fmt: skip

# %% [markdown]
# **References.** Touvron et al. 2023, [LLaMA](https://arxiv.org/abs/2302.13971) · Su et al. 2021, [RoFormer](https://arxiv.org/abs/2104.09864) · Ainslie et al. 2023, [GQA](https://arxiv.org/abs/2305.13245) · Karpathy, [llama2.c](https://github.com/karpathy/llama2.c) (the weights, MIT) ·
# Eldan and Li 2023, [TinyStories](https://arxiv.org/abs/2305.07759)
